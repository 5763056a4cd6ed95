package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// givenFacts are those of --facts and, over them, of --fact, as in the documentation of CCM
// (its program has it the other way round). The values of --fact are texts, and dots in a
// key mean nothing.
func givenFacts(path string, pairs []string) (map[string]any, error) {
	facts, err := readFacts(path)
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			err = errors.Join(err, fmt.Errorf("--fact %q: write KEY=VALUE; --facts FILE takes facts with types and levels", pair))
			continue
		}
		if facts == nil {
			facts = map[string]any{}
		}
		facts[key] = value
	}
	return facts, err
}

// readFacts reads --facts; without it there are none.
func readFacts(path string) (map[string]any, error) {
	if path == "" {
		return nil, nil
	}
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	doc, err := parseDocument(path, data)
	facts := plainMap(doc)
	// One line of ccm-push facts --output json is {"host": …, "facts": …}.
	if inner, ok := facts["facts"].(map[string]any); ok && len(facts) == 2 && facts["host"] != nil {
		return inner, err
	}
	return facts, err
}

func readFile(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if reason, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, fmt.Errorf("reading %s: %w", path, reason.Err)
	}
	return data, err
}

// parseDocument reads YAML or JSON of one document, a map. Nothing at all gives
// nil.
func parseDocument(name string, data []byte) (*yamlpos.Node, error) {
	docs, err := yamlpos.Parse(name, yamlOfJSON(data))
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
