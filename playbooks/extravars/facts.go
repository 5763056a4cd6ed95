package extravars

import (
	"errors"
	"fmt"
	"strings"
)

// ReadFacts gives the facts of a file and, over them, those of KEY=VALUE pairs, as in the
// documentation of CCM (its program has it the other way round). The values of pairs are
// texts, and dots in a key mean nothing.
func ReadFacts(path string, pairs []string) (map[string]any, error) {
	facts, err := factsFile(path)
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

// factsFile reads --facts; without it there are none.
func factsFile(path string) (map[string]any, error) {
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
