package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
)

// queryPlay is the play of an ad-hoc call that asks a query of a type: dsc get TYPE,
// ral list PROVIDER.
func (a *app) queryPlay(pattern string, t modules.Type, words []string) (*manifest.Play, error) {
	asker := t.New().(modules.Asker) // which has said that it knows the query
	all, err := asker.QueryLine(words[0], words[1:], a.readInput)
	if err != nil {
		return nil, err
	}
	return load.AdHocQuery(pattern, t, words[0], all)
}

// readInput reads a map that an option takes: as it is, or - from standard input.
func (a *app) readInput(word string) (map[string]any, error) {
	text := []byte(word)
	if word == "-" {
		var err error
		if text, err = io.ReadAll(io.LimitReader(a.in, modules.MaxParse+1)); err != nil {
			return nil, fmt.Errorf("reading standard input: %w", err)
		}
	}
	document, err := catalog.JSONOfYAML("--input", text)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(document))
	d.UseNumber()
	var values map[string]any
	if err := d.Decode(&values); err != nil || values == nil {
		return nil, errors.New(`--input: write a map, such as {"name": "value"}`)
	}
	return values, nil
}

// answers prints what hosts are asked for: the answers on standard output, and what is
// wrong on standard error.
func (a *app) answers() []events.Reporter {
	if a.flags.output == "json" {
		return []events.Reporter{a.reporter(events.TextOptions{})}
	}
	problems := events.NewText(a.err, events.TextOptions{AdHoc: true, Trust: a.trustCall})
	return []events.Reporter{events.NewAnswers(a.out), events.Problems{Reporter: problems}}
}
