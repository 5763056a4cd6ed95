package engine_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// A decider ends its Check with an error.
type decider struct {
	err  error
	asks string // it requests a state
	runs int
}

func (d *decider) Validate() error { return nil }

func (d *decider) Check(_ context.Context, h modules.Host) (modules.Plan, error) {
	d.runs++
	if d.asks != "" {
		if _, known := h.State(d.asks); known {
			return modules.Plan{}, nil
		}
		return modules.Plan{}, modules.StateUnknownError(d.asks)
	}
	return modules.Plan{}, d.err
}

func (d *decider) Apply(context.Context, modules.Host, modules.Plan) error { return nil }

// decided runs entries whose resources are those.
func decided(t *testing.T, cat wire.Catalog, resources ...modules.Resource) []wire.Result {
	t.Helper()
	byName := map[string]modules.Resource{}
	for i := range cat.Entries {
		byName[cat.Entries[i].Name] = resources[i]
	}
	return play(t, t.TempDir(), cat, func(e *engine.Engine) {
		e.Decode = func(e *wire.Entry) (modules.Resource, error) { return byName[e.Name], nil }
	})
}

// TestUnmanaged: a resource that is not wanted on the host is skipped and tried once,
// and what depends on it runs.
func TestUnmanaged(t *testing.T) {
	for _, cat := range []wire.Catalog{{}, {Check: true}, {Parallel: 4}} {
		first, second := &decider{err: modules.SkipError("its condition is false")}, &decider{}
		cat.Entries = []wire.Entry{{Type: "decider", Name: "1", Retry: 3}, {Type: "decider", Name: "2", Require: []int{0}}}
		results := decided(t, cat, first, second)
		require.Equal(t, wire.Skipped, results[0].Status)
		require.Equal(t, "its condition is false", results[0].Message)
		require.Empty(t, results[0].Error)
		require.Equal(t, 1, first.runs)
		require.Empty(t, results[1].Status)
		require.Equal(t, 1, second.runs)
	}
}

// TestNotYet: a check run does not use the current state of a resource that would change.
func TestNotYet(t *testing.T) {
	cat := wire.Catalog{Entries: []wire.Entry{{Type: "diarist", Name: "1"}, {Type: "decider", Name: "2"}, {Type: "decider", Name: "3"}}}
	run := func(check, sensitive bool, first *diarist) []wire.Result {
		cat := cat
		cat.Check, cat.Entries[1].Sensitive = check, sensitive
		return decided(t, cat, first, &decider{asks: "diarist#1"}, &decider{asks: "decider#2"})
	}
	for _, sensitive := range []bool{false, true} {
		results := run(true, sensitive, &diarist{Before: "1", After: "2"})
		for i, of := range []string{"diarist#1", "decider#2"} {
			r := results[i+1]
			require.Equal(t, wire.Changed, r.Status)
			require.Equal(t, "Would have asked for the state of "+of+"; known after apply", r.Message)
			require.NotEqual(t, modules.Certain, r.Grade)
			require.Equal(t, of, r.Because)
			require.Empty(t, r.Error)
		}
	}
	require.Empty(t, run(false, false, &diarist{Before: "1", After: "2"})[1].Status, "it is known once it is applied")
	require.Empty(t, run(true, false, &diarist{After: "2", done: true})[1].Status, "nothing will change it")
	silent := run(false, false, &diarist{Before: "1", After: "2"})[2]
	require.Equal(t, wire.Failed, silent.Status)
	require.Equal(t, "nothing is known yet of decider#2", silent.Error)

	// A resource that only looks does not change what the others find.
	cat.Entries[0].Check = true
	require.Empty(t, run(true, false, &diarist{Before: "1", After: "2"})[1].Status)
}
