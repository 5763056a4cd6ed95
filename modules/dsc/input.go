package dsc

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules/dsc/manifest"
	"github.com/ccm-push/ccm-push/modules/process"
)

// maxArgument is the maximum size of one argument or variable in Linux, with its final zero byte: MAX_ARG_STRLEN.
const maxArgument = 128 << 10

// environment returns the properties as variables, for resources with that input.
func environment(properties map[string]any) ([]string, error) {
	var env []string
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if properties[name] == nil {
			continue
		}
		value, err := variable(properties[name])
		if err != nil {
			return nil, failed("", "the resource takes its properties from the environment, which cannot hold %s: %v", name, err)
		}
		if strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return nil, failed("", "the resource takes its properties from the environment, which cannot hold %s", name)
		}
		if len(name)+len(value)+2 > maxArgument {
			return nil, tooLong(name, len(value))
		}
		env = append(env, name+"="+value)
	}
	return env, nil
}

func tooLong(what string, size int) error {
	return failed("", "%s is %d bytes, but an argument or variable of a program can have only %d KiB; pass it on standard input", what, size, maxArgument>>10)
}

// variable writes a value for the environment: a list as its elements with commas
// between.
func variable(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case json.Number:
		return string(v), nil
	case bool:
		return fmt.Sprint(v), nil
	case []any:
		var texts []string
		for _, item := range v {
			switch item := item.(type) {
			case string:
				texts = append(texts, item)
			case json.Number:
				texts = append(texts, string(item))
			default:
				return "", fmt.Errorf("an element of the list is %s", kindOf(item))
			}
		}
		return strings.Join(texts, ","), nil
	}
	return "", fmt.Errorf("it is %s", kindOf(v))
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case bool:
		return "a boolean"
	case string:
		return "a text"
	}
	return "a number"
}

// options returns the properties as --name value, in the order of their names, for the first design. Lists and objects
// are written as JSON.
func options(properties map[string]any) ([]string, error) {
	var args []string
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		value, ok := properties[name].(string)
		if !ok {
			var err error
			if value, err = process.JSON(properties[name]); err != nil {
				return nil, err
			}
		}
		if strings.ContainsRune(name+value, 0) {
			return nil, failed("", "the resource takes its properties as arguments, which cannot hold the NUL byte in %s", name)
		}
		if len(value)+1 > maxArgument {
			return nil, tooLong(name, len(value))
		}
		args = append(args, "--"+name, value)
	}
	return args, nil
}

// about has the values for the arguments of an operation.
type about struct {
	input   string // JSON; "" means no input
	typ     string
	version string
	path    string
	content string // JSON
	whatIf  bool
}

// arguments returns the arguments of an operation.
func (a about) arguments(list []manifest.Arg) ([]string, error) {
	var args []string
	for _, arg := range list {
		switch arg.Kind {
		case manifest.Literal:
			args = append(args, arg.Text)
		case manifest.JSONInput:
			if a.input != "" || arg.Mandatory {
				args = append(args, arg.Text, a.input)
			}
		case manifest.ResourceType:
			args = append(args, arg.Text, a.typ)
		case manifest.ResourceVersion:
			args = append(args, arg.Text, a.version)
		case manifest.ResourcePath:
			path := a.path
			if arg.Quotes {
				path = `"` + path + `"`
			}
			args = append(args, arg.Text, path)
		case manifest.AdaptedContent:
			args = append(args, arg.Text, a.content)
		case manifest.WhatIf:
			if a.whatIf {
				args = append(args, arg.Text)
			}
		}
	}
	for _, arg := range args {
		if len(arg)+1 > maxArgument {
			return nil, tooLong("the input", len(arg))
		}
		if strings.ContainsRune(arg, 0) {
			return nil, failed("", "an argument would contain a NUL byte")
		}
	}
	return args, nil
}
