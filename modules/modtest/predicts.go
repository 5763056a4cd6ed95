package modtest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// A Step is an entry of a catalog in a test. Texts may use $ROOT, $UID and $GID.
type Step struct {
	Type       string
	Properties string // in JSON
	Require    []int
	Subscribe  []int
	Noop       bool
}

// A Scenario is a catalog in one situation, with its expected predictions.
type Scenario struct {
	Name        string
	Tree        []Node
	Steps       []Step
	FailOnError bool
	// Want has the expected prediction of each step: its status, "refreshed" if it applies, and its grade unless that is certain. Nil accepts
	// anything.
	Want []string
}

// A Tally counts predictions.
type Tally struct{ All, Certain int }

// Predicts makes a check run of the scenario, which must change nothing, and then the real run. Every certain
// prediction must come true: status and refresh, and unless it fails also the action and the properties that differed.
func Predicts(t *testing.T, types modules.Registry, s Scenario) Tally {
	t.Helper()
	root := Root(t)
	Build(t, root, s.Tree)
	untouched := Snapshot(t, root)
	predicted := s.runOn(t, types, root, true)
	require.Equal(t, untouched, Snapshot(t, root), "the check run has changed something")
	if s.Want != nil {
		require.Equal(t, s.Want, summaries(predicted))
	}
	return comeTrue(t, predicted, s.runOn(t, types, root, false), s.String())
}

// comeTrue requires that every certain prediction has come true.
func comeTrue(t *testing.T, predicted, real []*wire.Result, of string) Tally {
	t.Helper()
	tally := Tally{All: len(predicted)}
	for i, p := range predicted {
		if p.Grade != modules.Certain {
			continue
		}
		tally.Certain++
		if i >= len(real) {
			t.Fatalf("step %d was predicted to be %q and is not reached", i, p.Status)
		}
		require.Equal(t, essence(p), essence(real[i]), "step %d of:\n%s", i, of)
	}
	return tally
}

// String shows a scenario that a test has failed on.
func (s Scenario) String() string {
	var b strings.Builder
	for _, n := range s.Tree {
		fmt.Fprintf(&b, "%+v\n", n)
	}
	for i, step := range s.Steps {
		fmt.Fprintf(&b, "%d %+v\n", i, step)
	}
	return b.String()
}

func (s Scenario) runOn(t *testing.T, types modules.Registry, root string, check bool) []*wire.Result {
	t.Helper()
	decode := func(e *wire.Entry) (modules.Resource, error) { return types.Decode(e.Type, e.Properties) }
	return carriedOut(t, decode, s.catalog(root, check))
}

// carriedOut returns the results of a catalog, which may be a check run.
func carriedOut(t *testing.T, decode func(*wire.Entry) (modules.Resource, error), cat *wire.Catalog) []*wire.Result {
	t.Helper()
	e := &engine.Engine{Decode: decode, Host: Host(), Now: time.Now, Hand: func(context.Context, *wire.Part) error { return nil }}
	var results []*wire.Result
	_, err := e.Run(t.Context(), cat, func(r *wire.Result) error {
		results = append(results, r)
		return context.Cause(t.Context())
	})
	require.NoError(t, err)
	return results
}

func (s Scenario) catalog(root string, check bool) *wire.Catalog {
	cat := &wire.Catalog{Check: check, FailOnError: s.FailOnError}
	for _, step := range s.Steps {
		cat.Entries = append(cat.Entries, wire.Entry{
			Type:       step.Type,
			Name:       step.Properties,
			Properties: json.RawMessage(expand(step.Properties, root)),
			Require:    step.Require,
			Subscribe:  step.Subscribe,
			Check:      step.Noop,
		})
	}
	return cat
}

// summaries describes in words how each result ended.
func summaries(results []*wire.Result) []string {
	var all []string
	for _, r := range results {
		words := []string{string(status(r))}
		if r.Refreshed {
			words = append(words, "refreshed")
		}
		if r.Grade != modules.Certain {
			words = append(words, r.Grade.String())
		}
		all = append(all, strings.Join(words, " "))
	}
	return all
}

func status(r *wire.Result) wire.Status {
	if r.Status == "" {
		return wire.Stable
	}
	return r.Status
}

// prediction has the parts of a result that a check run must predict.
type prediction struct {
	Status    wire.Status
	Refreshed bool
	Message   string
	Changes   []modules.Change
}

func essence(r *wire.Result) prediction {
	p := prediction{Status: status(r), Refreshed: r.Refreshed}
	if p.Status == wire.Changed {
		p.Message = strings.ReplaceAll(strings.TrimPrefix(r.Message, "Would have "), ". Would have ", ". ")
		p.Changes = r.Changes
	}
	return p
}
