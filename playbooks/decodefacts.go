package playbooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/ccm-push/ccm-push/facts"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/weight"
	"github.com/ccm-push/ccm-push/templates"
)

const (
	maxFactsDepth  = 64      // how deep facts may be nested
	maxCustomFacts = 1 << 20 // bytes of all facts files of a host
	// maxCustomItems bounds the lines and items of all facts files of a host: to read YAML
	// takes more than a kilobyte for each.
	maxCustomItems = 20_000
	// maxCustomCopied bounds the values that aliases and merge keys of all facts files of a
	// host copy.
	maxCustomCopied = 100_000
	// maxPartialFacts bounds what a host may say it lacks: it has few collectors, and few
	// facts files.
	maxPartialFacts = 200
)

// A report is a [facts.Report] whose facts are values.
type factsReport struct {
	Facts   map[string]any     `json:"facts"`
	Custom  []facts.CustomFile `json:"custom"`
	Asked   map[string]any     `json:"asked"`
	Partial []string           `json:"partial"`
}

// decodeFacts makes plain values of a host's report; raw is a [facts.Report] as JSON. Custom facts are merged over the
// gathered facts. Facts that plays query replace both. partial lists the facts that could not be gathered.
func decodeFacts(raw json.RawMessage) (tree map[string]any, partial []string, err error) {
	if len(raw) == 0 {
		return map[string]any{}, nil, nil
	}
	told, err := readFactsReport(raw)
	if err != nil {
		return nil, nil, err
	}
	tree = map[string]any{}
	for name, part := range told.Facts {
		if tree[name], err = plainValue(part); err != nil {
			return nil, nil, fmt.Errorf("fact %.64q: %w", name, err)
		}
	}
	size, items, copied := 0, 0, 0
	for _, file := range told.Custom {
		if size += len(file.Text); size > maxCustomFacts {
			return nil, nil, fmt.Errorf("the host's facts files have more than %d KiB together", maxCustomFacts>>10)
		}
		if items += yamlpos.Items([]byte(file.Text)); items > maxCustomItems {
			return nil, nil, fmt.Errorf("the host's facts files have more than %d lines and items together", maxCustomItems)
		}
		more, err := customFacts(file, &copied)
		if err != nil {
			return nil, nil, err
		}
		tree = templates.DeepMerge(tree, more)
	}
	for name, answer := range told.Asked {
		if tree[name], err = plainValue(answer); err != nil {
			return nil, nil, fmt.Errorf("fact %.64q: %w", name, err)
		}
	}
	return tree, told.Partial, nil
}

// readFactsReport decodes a report that is neither too large nor too deep to be decoded.
func readFactsReport(raw json.RawMessage) (told factsReport, err error) {
	const around = 2 // levels of the report, around the facts of a collector
	heavy, depth := weight.Of(raw)
	switch {
	case heavy > weight.Max:
		return told, fmt.Errorf("the host's facts need more than %d MiB of memory", weight.Max>>20)
	case depth > maxFactsDepth+around:
		return told, fmt.Errorf("the host's facts are nested more than %d levels deep", maxFactsDepth)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&told); err != nil {
		return told, fmt.Errorf("the host's facts are not JSON: %w", err)
	}
	if len(told.Partial) > maxPartialFacts {
		return told, fmt.Errorf("the host reports more than %d missing facts", maxPartialFacts)
	}
	return told, nil
}

// customFacts reads a facts file of the host. JSON is YAML. It adds copied values to copied.
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

// plainValue converts values of encoding/json to map[string]any, []any, string, bool, int64, float64 and nil, in place.
func plainValue(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case map[string]any:
		for key, one := range v {
			if v[key], err = plainValue(one); err != nil {
				return nil, err
			}
		}
	case []any:
		for i, one := range v {
			if v[i], err = plainValue(one); err != nil {
				return nil, err
			}
		}
	case json.Number:
		return plainNumber(v)
	}
	return v, nil
}

func plainNumber(n json.Number) (any, error) {
	if i, err := n.Int64(); err == nil && !strings.ContainsAny(n.String(), ".eE") {
		return i, nil
	}
	f, err := n.Float64()
	if err == nil && math.IsInf(f, 0) {
		err = errors.New("a number is too large")
	}
	return f, err
}
