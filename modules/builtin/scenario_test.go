package builtin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// A scenario is a catalog in one situation. Texts may use $ROOT.
type scenario struct {
	Tree    []modtest.Node
	Catalog wire.Catalog

	allKnown  bool // every prediction must be certain
	converges bool // nothing fails, and a second run changes nothing
}

// tally counts predictions.
type tally struct{ results, certain int }

// String is the scenario as it can be run again, in JSON.
func (s scenario) String() string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, n := range s.Tree {
		fmt.Fprintf(&b, "%+v\n", n)
	}
	for i, entry := range s.Catalog.Entries {
		fmt.Fprintf(&b, "%d ", i)
		if err := e.Encode(entry); err != nil {
			return err.Error()
		}
	}
	fmt.Fprintf(&b, "fail_on_error: %v\n", s.Catalog.FailOnError)
	return b.String()
}

// try predicts the catalog and runs it, and repeats both on the result. The error describes an incorrect prediction.
func (s scenario) try(t *testing.T) (tally, error) {
	root := modtest.Root(t)
	modtest.Build(t, root, s.Tree)
	var sum tally
	for _, turn := range []string{"the first run", "the second run"} {
		untouched := modtest.Snapshot(t, root)
		predicted := s.run(t, root, true)
		if !reflect.DeepEqual(untouched, modtest.Snapshot(t, root)) {
			return sum, fmt.Errorf("%s: the check run has changed something", turn)
		}
		real := s.run(t, root, false)
		each, err := s.compare(predicted, real)
		if err == nil && s.converges {
			err = settled(real, turn == "the second run")
		}
		if err != nil {
			return sum, fmt.Errorf("%s: %w", turn, err)
		}
		sum.results, sum.certain = sum.results+each.results, sum.certain+each.certain
	}
	return sum, nil
}

// run passes the catalog to an engine on this machine.
func (s scenario) run(t *testing.T, root string, check bool) []*wire.Result {
	e := &engine.Engine{
		Decode: func(e *wire.Entry) (modules.Resource, error) {
			return builtin.Types().Decode(e.Type, e.Properties)
		},
		Host: modtest.Host(),
		Now:  time.Now,
	}
	cat := s.Catalog
	cat.Check, cat.Entries = check, slices.Clone(cat.Entries)
	for i := range cat.Entries {
		properties := &cat.Entries[i].Properties
		*properties = bytes.ReplaceAll(*properties, []byte("$ROOT"), []byte(root))
	}
	var results []*wire.Result
	_, err := e.Run(t.Context(), &cat, func(r *wire.Result) error {
		if r.Status == "" {
			r.Status = wire.Stable
		}
		results = append(results, r)
		return context.Cause(t.Context())
	})
	require.NoError(t, err)
	return results
}

// compare compares the certain predictions of a check run with the run that followed: the status, whether it was a
// refresh, the action and the properties that differed.
func (s scenario) compare(predicted, real []*wire.Result) (tally, error) {
	sum := tally{results: len(predicted)}
	for i, p := range predicted {
		if p.Grade != modules.Certain {
			if s.allKnown {
				return sum, fmt.Errorf("entry %d is uncertain because of %s", i, p.Because)
			}
			continue
		}
		sum.certain++
		if i >= len(real) {
			return sum, fmt.Errorf("entry %d was predicted to be %s and was not reached", i, p.Status)
		}
		if p, r := essence(p), essence(real[i]); p != r {
			return sum, fmt.Errorf("entry %d was predicted to be %s and was %s", i, p, r)
		}
	}
	return sum, nil
}

// essence is the part of a result that a prediction must get right.
func essence(r *wire.Result) string {
	var b strings.Builder
	b.WriteString(string(r.Status))
	if r.Refreshed {
		b.WriteString(", refreshed")
	}
	if r.Status == wire.Changed {
		fmt.Fprintf(&b, " (%s)", strings.TrimPrefix(r.Message, "Would have "))
		for _, c := range r.Changes {
			fmt.Fprintf(&b, ", %s %s -> %s", c.Property, strconv.Quote(c.Have), strconv.Quote(c.Want))
		}
	}
	return b.String()
}

// settled requires that nothing has failed, and in a second run that nothing has
// changed.
func settled(real []*wire.Result, second bool) error {
	for i, r := range real {
		if r.Status == wire.Failed || r.Status == wire.Skipped || second && r.Status == wire.Changed {
			return fmt.Errorf("entry %d is %s: %s%s", i, r.Status, r.Message, r.Error)
		}
	}
	return nil
}

// shrink removes entries and nodes as long as there is an error, and returns the final error.
func (s scenario) shrink(t *testing.T, wrong error) (scenario, error) {
	for smaller := true; smaller; {
		smaller = false
		for i := len(s.Catalog.Entries) - 1; i >= 0; i-- {
			if less := s.without(i); less.fails(t, &wrong) {
				s, smaller = less, true
			}
		}
		for i := len(s.Tree) - 1; i >= 0; i-- {
			less := s
			below := s.Tree[i].Path + "/"
			less.Tree = slices.DeleteFunc(slices.Clone(s.Tree), func(n modtest.Node) bool {
				return n == s.Tree[i] || strings.HasPrefix(n.Path, below)
			})
			if less.fails(t, &wrong) {
				s, smaller = less, true
				break // the indexes have moved
			}
		}
	}
	return s, wrong
}

func (s scenario) fails(t *testing.T, wrong *error) bool {
	_, err := s.try(t)
	if err != nil {
		*wrong = err
	}
	return err != nil
}

// without removes an entry, and every reference to it.
func (s scenario) without(i int) scenario {
	others := func(refs []int) []int {
		var list []int
		for _, j := range refs {
			switch {
			case j < i:
				list = append(list, j)
			case j > i:
				list = append(list, j-1)
			}
		}
		return list
	}
	s.Catalog.Entries = slices.Delete(slices.Clone(s.Catalog.Entries), i, i+1)
	for j := range s.Catalog.Entries {
		e := &s.Catalog.Entries[j]
		e.Require, e.Subscribe = others(e.Require), others(e.Subscribe)
	}
	return s
}
