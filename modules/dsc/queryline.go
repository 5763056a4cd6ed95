package dsc

import (
	"errors"
	"fmt"

	"github.com/ccm-push/ccm-push/modules"
)

// QueryLine implements [modules.Asker]: get TYPE --input JSON --version RANGE --adapter
// TYPE. Those that export take the input for a filter.
func (d *DSC) QueryLine(query string, words []string, input func(string) (map[string]any, error)) ([]map[string]any, error) {
	w, err := modules.TakeApart(words, []string{"input", "version", "adapter"})
	switch {
	case err != nil:
		return nil, err
	case len(w.Rest) == 0:
		return nil, errors.New("say which type, as in dsc " + query + " Owner/Thing")
	case len(w.Rest) > 1:
		return nil, fmt.Errorf("%q is one word too many: dsc %s TYPE [--input JSON|-] [--version RANGE] [--adapter TYPE]", w.Rest[1], query)
	}
	properties := map[string]any{"name": w.Rest[0], "type": w.Rest[0]}
	for _, key := range []string{"version", "adapter"} {
		if value, given := w.Options[key]; given {
			properties[key] = value
		}
	}
	if word, given := w.Options["input"]; given {
		values, err := input(word)
		if err != nil {
			return nil, err
		}
		properties["properties"] = values
	}
	return []map[string]any{properties}, nil
}

// BringsPrograms implements [modules.Bringer].
func (*DSC) BringsPrograms() {}
