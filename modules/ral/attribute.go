package ral

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// attribute is the metadata of one attribute.
type attribute struct {
	Type    string   `json:"type,omitempty"`    // "" is string
	Options []string `json:"options,omitempty"` // options of an enum
	Kind    string   `json:"kind,omitempty"`    // "" is rw
	Desc    string   `json:"desc,omitempty"`
}

// The types of attributes. An enum also has options.
const (
	typeString = ""
	typeBool   = "boolean"
	typeArray  = "array[string]"
	typeEnum   = "enum"
)

// The kinds of attributes.
const (
	kindBoth  = ""  // reported, and can be set
	kindRead  = "r" // reported
	kindWrite = "w" // can be set, and is never reported
)

var (
	attributeName = lazily(`^[A-Za-z_][A-Za-z0-9_-]*$`)
	enumType      = lazily(`^enum\s*\[([^\]]*)\]$`)
	arrayType     = lazily(`^array\s*\[\s*string\s*\]$`)
	enumOption    = lazily(`^[a-z0-9]+$`)
)

func parseAttribute(name string, text json.RawMessage) (attribute, error) {
	switch {
	case reserved(name):
		return attribute{}, errors.New("the name is reserved")
	case !attributeName().MatchString(name):
		return attribute{}, errors.New("the name has a character other than letters, digits, - and _")
	}
	var doc struct {
		Desc any     `json:"desc"`
		Type *string `json:"type"`
		Kind *string `json:"kind"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return attribute{}, shapeError(err)
	}
	var a attribute
	a.Desc, _ = doc.Desc.(string)
	if doc.Kind != nil {
		switch *doc.Kind {
		case "rw":
		case kindRead, kindWrite:
			a.Kind = *doc.Kind
		default:
			return a, fmt.Errorf("kind %q is not one of r, w, rw", *doc.Kind)
		}
	}
	if doc.Type == nil {
		return a, nil
	}
	var err error
	a.Type, a.Options, err = parseType(strings.TrimSpace(*doc.Type))
	return a, err
}

func parseType(text string) (name string, options []string, err error) {
	switch enum := enumType().FindStringSubmatch(text); {
	case text == "string":
		return typeString, nil, nil
	case text == typeBool:
		return typeBool, nil, nil
	case arrayType().MatchString(text):
		return typeArray, nil, nil
	case enum != nil:
		for option := range strings.SplitSeq(enum[1], ",") {
			option = strings.TrimSpace(option)
			if !enumOption().MatchString(option) {
				return "", nil, fmt.Errorf("type %q: an option has only lower-case letters and digits, and at least one character", text)
			}
			options = append(options, option)
		}
		return typeEnum, options, nil
	}
	return "", nil, fmt.Errorf("type %q is not one of string, boolean, array[string], enum[...]", text)
}

// spelt returns the type in the spelling of metadata.
func (a attribute) spelt() string {
	switch a.Type {
	case typeString:
		return "string"
	case typeEnum:
		return "enum[" + strings.Join(a.Options, ", ") + "]"
	}
	return a.Type
}

// convert converts a value of a manifest or an answer to the attribute's type: a string, a bool, a []string, or nil for
// unset. Text takes every scalar.
func (a attribute) convert(v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	switch a.Type {
	case typeBool:
		if b, ok := v.(bool); ok {
			return b, nil
		}
		return nil, fmt.Errorf("%s is not true or false", inWords(v))
	case typeArray:
		return texts(v)
	}
	s, ok := scalar(v)
	if !ok {
		return nil, fmt.Errorf("%s is not a single value", inWords(v))
	}
	if a.Type == typeEnum && !slices.Contains(a.Options, s) {
		return nil, fmt.Errorf("%q is not one of %s", s, strings.Join(a.Options, ", "))
	}
	return s, nil
}

// texts takes a list of scalars.
func texts(v any) (any, error) {
	switch list := v.(type) {
	case []string:
		return list, nil
	case []any:
		all := []string{}
		for i, e := range list {
			s, ok := scalar(e)
			if !ok {
				return nil, fmt.Errorf("element %d is not a single value", i+1)
			}
			all = append(all, s)
		}
		return all, nil
	}
	return nil, fmt.Errorf("%s is not a list", inWords(v))
}

// read is convert for values that a provider reports, which may differ from values that it accepts: a version for
// ensure, the text "true" for a boolean.
func (a attribute) read(v any) (any, error) {
	if s, ok := v.(string); ok {
		switch {
		case a.Type == typeBool && (s == "true" || s == "false"):
			return s == "true", nil
		case a.Type == typeArray:
			return splitList(s), nil
		}
	}
	if a.Type == typeEnum {
		a.Type = typeString
	}
	return a.convert(v)
}
