package ral

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The conventions.
const (
	invokeJSON   = "json"
	invokeSimple = "simple"
)

// metadata is a provider's description of itself.
type metadata struct {
	Type       string               `json:"type"`
	Name       string               `json:"name"`
	Invoke     string               `json:"invoke"`
	Desc       string               `json:"desc,omitempty"`
	Actions    []string             `json:"actions,omitempty"` // nil: all of them
	Suitable   suitable             `json:"suitable"`
	Attributes map[string]attribute `json:"attributes"`
	// NoopSafe reports that set with ral.noop changes nothing. It is an addition of ours: libral does not know which
	// providers respect the flag.
	NoopSafe bool `json:"noop_safe,omitempty"`
}

// full returns type::name.
func (m *metadata) full() string { return m.Type + "::" + m.Name }

// does reports whether the provider has one of these actions.
func (m *metadata) does(actions ...string) bool {
	return m.Actions == nil || slices.ContainsFunc(actions, func(a string) bool { return slices.Contains(m.Actions, a) })
}

// writes reports whether it can change anything. Old documents of libral use the action names of simple for json.
func (m *metadata) writes() bool { return m.does("set", "update") }

// suitable has the requirements of the provider on a host.
type suitable struct {
	Never    bool     `json:"never,omitempty"`
	Commands []string `json:"commands,omitempty"` // "a" has to be there, "not a" must not
}

// parseMetadata reads the document of a provider. name is the name of its file without .prov.
func parseMetadata(text json.RawMessage, name string) (*metadata, error) {
	var doc struct {
		Provider *struct {
			Type       string                     `json:"type"`
			Name       *string                    `json:"name"`
			Invoke     string                     `json:"invoke"`
			Desc       any                        `json:"desc"`
			Actions    []string                   `json:"actions"`
			Suitable   json.RawMessage            `json:"suitable"`
			Attributes map[string]json.RawMessage `json:"attributes"`
			NoopSafe   bool                       `json:"noop_safe"`
		} `json:"provider"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, shapeError(err)
	}
	p := doc.Provider
	if p == nil {
		return nil, errors.New("no map called provider")
	}
	m := &metadata{Type: p.Type, Name: name, Invoke: p.Invoke, Actions: p.Actions, NoopSafe: p.NoopSafe}
	m.Desc, _ = p.Desc.(string)
	if p.Name != nil {
		m.Name = *p.Name
	}
	var err error
	if m.Suitable, err = parseSuitable(p.Suitable); err != nil {
		return nil, err
	}
	if m.Attributes, err = parseAttributes(p.Attributes); err != nil {
		return nil, err
	}
	return m, m.validate()
}

// shapeError words an error of decoding without the names of Go.
func shapeError(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		what := map[string]string{"array": "list", "object": "map", "bool": "boolean"}[wrong.Value]
		return fmt.Errorf("%s is a %s, which it cannot be", cmp.Or(wrong.Field, "it"), cmp.Or(what, wrong.Value))
	}
	return err
}

func (m *metadata) validate() error {
	switch {
	case m.Type == "":
		return errors.New("provider.type is missing")
	case !plainName().MatchString(m.Type):
		return fmt.Errorf("provider.type: %q has a character other than letters, digits, - and _", m.Type)
	case !plainName().MatchString(m.Name):
		return fmt.Errorf("provider.name: %q has a character other than letters, digits, - and _", m.Name)
	case m.Invoke != invokeJSON && m.Invoke != invokeSimple:
		return fmt.Errorf("provider.invoke: %q is not one of json, simple", m.Invoke)
	}
	for _, a := range m.Actions {
		if !slices.Contains([]string{"get", "set", "list", "find", "update", "describe"}, a) {
			return fmt.Errorf("provider.actions: unknown action %q", a)
		}
	}
	return nil
}

func parseSuitable(text json.RawMessage) (suitable, error) {
	wrong := errors.New("provider.suitable is neither true nor false nor {commands: [...]}")
	if len(text) == 0 {
		return suitable{}, errors.New("provider.suitable is missing")
	}
	switch strings.Trim(string(text), `"`) {
	case "true":
		return suitable{}, nil
	case "false":
		return suitable{Never: true}, nil
	}
	var doc struct {
		Commands *[]string `json:"commands"`
	}
	if json.Unmarshal(text, &doc) != nil || doc.Commands == nil {
		return suitable{}, wrong
	}
	s := suitable{}
	for _, c := range *doc.Commands {
		c = strings.Join(strings.Fields(c), " ")
		if name := strings.TrimPrefix(c, "not "); name == "" || strings.ContainsAny(name, " \x00") {
			return suitable{}, fmt.Errorf("provider.suitable.commands: %q is not a valid command name", c)
		}
		s.Commands = append(s.Commands, c)
	}
	return s, nil
}

func parseAttributes(texts map[string]json.RawMessage) (map[string]attribute, error) {
	if _, ok := texts["name"]; !ok {
		return nil, errors.New("provider.attributes has no name")
	}
	all := map[string]attribute{}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		a, err := parseAttribute(name, texts[name])
		if err != nil {
			return nil, fmt.Errorf("provider.attributes.%s: %w", name, err)
		}
		all[name] = a
	}
	return all, nil
}

// reserved reports names that belong to libral itself.
func reserved(name string) bool {
	return name == "ral" || strings.HasPrefix(name, "ral_") || strings.HasPrefix(name, "__")
}
