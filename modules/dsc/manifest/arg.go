package manifest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// An ArgKind is the kind of value that an argument is replaced by.
type ArgKind string

// The kinds of argument, by the key of their objects. The text of each is the name
// of the option that comes first.
const (
	Literal         ArgKind = ""                   // the text itself
	JSONInput       ArgKind = "jsonInputArg"       // the properties as JSON
	ResourceType    ArgKind = "resourceTypeArg"    // the type
	ResourceVersion ArgKind = "resourceVersionArg" // its version
	ResourcePath    ArgKind = "resourcePathArg"    // path of the manifest, or the path that the manifest of an adapted resource names
	AdaptedContent  ArgKind = "adaptedContentArg"  // content for the adapter in the manifest of an adapted resource
	WhatIf          ArgKind = "whatIfArg"          // only the option, and only if nothing may be changed
)

// An Arg is one element of args.
type Arg struct {
	Kind      ArgKind
	Text      string
	Mandatory bool // JSONInput only: also passed without input
	Quotes    bool // ResourcePath only: with " around it

	unknown []string // unknown keys of the object, while a manifest is read
}

// MarshalJSON writes the argument as manifests of DSC 3 have it.
func (a Arg) MarshalJSON() ([]byte, error) {
	if a.Kind == Literal {
		return json.Marshal(a.Text)
	}
	object := map[string]any{string(a.Kind): a.Text}
	if a.Mandatory {
		object["mandatory"] = true
	}
	if a.Quotes {
		object["includeQuotes"] = true
	}
	return json.Marshal(object)
}

// UnmarshalJSON reads an argument as manifests of DSC 3 have it.
func (a *Arg) UnmarshalJSON(b []byte) error {
	*a = Arg{}
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &a.Text)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(b, &object); err != nil || object == nil {
		return fmt.Errorf("an argument is a text or an object such as {%q: \"--input\"}, not %s", JSONInput, b)
	}
	for _, kind := range []ArgKind{JSONInput, ResourceType, ResourceVersion, ResourcePath, AdaptedContent, WhatIf} {
		raw, given := object[string(kind)]
		switch {
		case !given:
			continue
		case a.Kind != Literal:
			return fmt.Errorf("an argument has both %q and %q", a.Kind, kind)
		}
		a.Kind = kind
		if err := json.Unmarshal(raw, &a.Text); err != nil {
			return fmt.Errorf("%q must be a text, not %s", kind, raw)
		}
		delete(object, string(kind))
	}
	if a.Kind == Literal {
		return fmt.Errorf("an argument is a text or an object such as {%q: \"--input\"}, not %s", JSONInput, b)
	}
	return a.options(object)
}

// options reads the other keys in the object of an argument.
func (a *Arg) options(object map[string]json.RawMessage) error {
	for _, key := range sorted(object) {
		into := &a.Mandatory
		switch {
		case key == "mandatory" && a.Kind == JSONInput:
		case key == "includeQuotes" && a.Kind == ResourcePath:
			into = &a.Quotes
		default:
			a.unknown = append(a.unknown, key)
			continue
		}
		if err := json.Unmarshal(object[key], into); err != nil {
			return fmt.Errorf("%q must be true or false, not %s", key, object[key])
		}
	}
	return nil
}

// check reports an argument that no program can be given, or that has no meaning in
// this operation.
func (a Arg) check(operation string) error {
	switch {
	case strings.ContainsRune(a.Text, 0):
		return fmt.Errorf("an argument of %q contains a NUL byte", operation)
	case a.Kind != Literal && a.Text == "":
		return fmt.Errorf("an argument of %q has an empty %q", operation, a.Kind)
	case a.Kind == WhatIf && operation != "set" && operation != "delete":
		return fmt.Errorf("%q has no meaning in %q", a.Kind, operation)
	case operation == "schema" && a.Kind != Literal && a.Kind != ResourceType && a.Kind != ResourceVersion:
		return fmt.Errorf("%q has no meaning in %q", a.Kind, operation)
	}
	return nil
}
