// Package hostfacts reads what a host reports about itself. None of it is believed to be
// small, shallow or well formed.
package hostfacts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/ccm-push/ccm-push/facts"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/templates"
)

const (
	maxFactsDepth = 64      // how deep facts may be nested
	maxCustom     = 1 << 20 // bytes of all facts files of a host: YAML takes many times that to read
)

// Decode makes plain values of what a host reports about itself, with its
// custom facts merged over the gathered ones; raw is a [facts.Report] as JSON. partial
// says which could not be gathered.
func Decode(raw json.RawMessage) (tree map[string]any, partial []string, err error) {
	tree = map[string]any{}
	if len(raw) == 0 {
		return tree, nil, nil
	}
	var report facts.Report
	if err := json.Unmarshal(raw, &report); err != nil {
		return nil, nil, fmt.Errorf("the host's facts are no JSON: %w", err)
	}
	for name, part := range report.Facts {
		value, err := plain(part)
		if err != nil {
			return nil, nil, fmt.Errorf("fact %.64q: %w", name, err)
		}
		tree[name] = value
	}
	size, copied := 0, 0
	for _, file := range report.Custom {
		if size += len(file.Text); size > maxCustom {
			return nil, nil, fmt.Errorf("the host's facts files have more than %d KiB together", maxCustom>>10)
		}
		more, err := customFacts(file, &copied)
		if err != nil {
			return nil, nil, err
		}
		tree = templates.DeepMerge(tree, more)
	}
	return tree, report.Partial, nil
}

// maxCustomCopied bounds the values that aliases and merge keys of all facts files of a
// host copy.
const maxCustomCopied = 100_000

// customFacts reads a facts file of the host. JSON is YAML. What it copies is added to
// copied.
func customFacts(file facts.CustomFile, copied *int) (map[string]any, error) {
	docs, err := yamlpos.Parse(file.Path, []byte(file.Text), yamlpos.MaxCopies(maxCustomCopied-*copied, copied))
	if err != nil {
		return nil, fmt.Errorf("a facts file of the host: %w", err)
	}
	if len(docs) == 0 {
		return nil, nil
	}
	tree, ok := docs[0].Any().(map[string]any)
	if !ok {
		return nil, docs[0].Errorf("", "a facts file is a map")
	}
	return tree, nil
}

var errTooDeep = errors.New("is nested too deep")

// plain decodes JSON into map[string]any, []any, string, bool, int64, float64
// and nil.
func plain(raw json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return plainValue(v, 0)
}

func plainValue(v any, depth int) (any, error) {
	if depth > maxFactsDepth {
		return nil, errTooDeep
	}
	var err error
	switch v := v.(type) {
	case map[string]any:
		for key, one := range v {
			if v[key], err = plainValue(one, depth+1); err != nil {
				return nil, err
			}
		}
	case []any:
		for i, one := range v {
			if v[i], err = plainValue(one, depth+1); err != nil {
				return nil, err
			}
		}
	case json.Number:
		return number(v)
	}
	return v, nil
}

func number(n json.Number) (any, error) {
	if i, err := n.Int64(); err == nil && !strings.ContainsAny(n.String(), ".eE") {
		return i, nil
	}
	f, err := n.Float64()
	if err == nil && math.IsInf(f, 0) {
		err = errors.New("a number is too large")
	}
	return f, err
}
