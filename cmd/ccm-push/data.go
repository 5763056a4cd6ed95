package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/templates"
)

// readExtra reads the values of -e: key=value, whose value is a string, @FILE,
// or a map in YAML.
func readExtra(args []string) ([]templates.Layer, error) {
	var extra []templates.Layer
	for _, arg := range args {
		more, err := readExtraOne(arg)
		if err != nil {
			return nil, err
		}
		extra = append(extra, templates.Layer{Name: "-e", Values: more})
	}
	return extra, nil
}

func readExtraOne(arg string) (map[string]any, error) {
	if path, isFile := strings.CutPrefix(arg, "@"); isFile {
		return readMap(path)
	}
	if strings.HasPrefix(strings.TrimSpace(arg), "{") {
		return parseMap("-e", []byte(arg))
	}
	key, value, ok := strings.Cut(arg, "=")
	if !ok || key == "" {
		return nil, fmt.Errorf("-e %q: write key=value, @file.yaml or a YAML map", arg)
	}
	return map[string]any{key: value}, nil
}

// readFacts reads --facts; without it there are none.
func readFacts(path string) (map[string]any, error) {
	if path == "" {
		return nil, nil
	}
	return readMap(path)
}

// readMap reads a YAML or JSON file that holds one map.
func readMap(path string) (map[string]any, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return parseMap(path, data)
}

func readFile(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if reason, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, fmt.Errorf("reading %s: %w", path, reason.Err)
	}
	return data, err
}

func parseMap(name string, data []byte) (map[string]any, error) {
	doc, err := parseDocument(name, data)
	if err != nil || doc == nil {
		return nil, err
	}
	return doc.Any().(map[string]any), nil
}

// parseDocument reads a file of one document, a map. An empty file gives nil.
func parseDocument(name string, data []byte) (*yamlpos.Node, error) {
	docs, err := yamlpos.Parse(name, data)
	switch {
	case err != nil:
		return nil, err
	case len(docs) == 0 || docs[0].Kind == yamlpos.Scalar && docs[0].Value == nil:
		return nil, nil
	case len(docs) > 1:
		return nil, docs[1].Errorf("", "only one document is expected")
	case docs[0].Kind != yamlpos.Map:
		return nil, docs[0].Errorf("write key: value", "this is no map")
	}
	return docs[0], nil
}

// readHiera reads --hiera: a document with data, hierarchy and overrides of its
// own.
func readHiera(path string) (*templates.Source, error) {
	if path == "" {
		return nil, nil
	}
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	doc, err := parseDocument(path, data)
	if err != nil || doc == nil {
		return nil, err
	}
	for _, pair := range doc.Pairs {
		switch pair.Key.Text {
		case "data", "hierarchy", "overrides":
		default:
			return nil, pair.Key.Errorf("it has data, hierarchy and overrides", "unknown key %q", pair.Key.Text)
		}
	}
	src, err := templates.ParseSource(templates.Parts{
		Data: doc.Get("data"), Hierarchy: doc.Get("hierarchy"), Overrides: doc.Get("overrides"),
	})
	return &src, err
}
