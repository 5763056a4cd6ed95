package modules

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Type is an entry of the registry.
type Type struct {
	Name string          // as written in manifests: "file"
	Doc  string          // one paragraph for `ccm-push doc`
	New  func() Resource // a pointer to zero properties
	// Family, if set, returns types of foreign programs, by a name with a slash. These types cannot be listed. r is the
	// calling registry.
	Family func(r Registry, name string) (Type, bool)
	// Below, if set, is the property that contains all keys of a resource in a manifest, except the keys that all types
	// have.
	Below string
	// ReportsState declares that the resources report their state, by [Reporter].State, so that others can receive it
	// and its members.
	ReportsState bool
	// Idle declares that the resources never change anything, so that no other resource can subscribe to them.
	Idle bool
	// CommandLine, if set, returns the properties for the words of a command line: the resources are commands. Ad hoc,
	// all arguments are the command line, its output is shown, and it does not wait for other runs.
	CommandLine func(words []string) (map[string]any, error)
	// QueryLine, if set, lets the resources, which are [Querier]s, be queried from the command line. It returns the
	// properties of the queried resources, from the words after the query. input reads the argument of an option that
	// takes a map: JSON or YAML, or - for standard input.
	QueryLine func(query string, words []string, input func(word string) (map[string]any, error)) ([]map[string]any, error)
}

// A Registry lists the resource types a program knows. modules/builtin has the
// only one.
type Registry []Type

// Lookup finds a type by name.
func (r Registry) Lookup(name string) (Type, bool) {
	i := slices.IndexFunc(r, func(t Type) bool { return t.Name == name })
	if i >= 0 {
		return r[i], true
	}
	if !strings.Contains(name, "/") {
		return Type{}, false
	}
	for _, t := range r {
		if t.Family == nil {
			continue
		}
		if of, ok := t.Family(r, name); ok {
			return of, true
		}
	}
	return Type{}, false
}

// Names lists the types in the order of the registry.
func (r Registry) Names() []string {
	names := make([]string, len(r))
	for i, t := range r {
		names[i] = t.Name
	}
	return names
}

// Decode creates a resource of the type name from JSON properties. It refuses unknown properties, sets defaults, and
// checks tags and Validate: data of the wire are not trusted.
func (r Registry) Decode(name string, properties json.RawMessage) (Resource, error) {
	t, ok := r.Lookup(name)
	if !ok {
		return nil, fmt.Errorf("unknown resource type %q (known: %s)", name, strings.Join(r.Names(), ", "))
	}
	res := t.New()
	if err := decodeResource(properties, res); err != nil {
		return nil, err
	}
	SetDefaults(res)
	if err := errors.Join(CheckTags(res), res.Validate()); err != nil {
		return nil, err
	}
	return res, nil
}
