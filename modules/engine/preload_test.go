package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/enginetest"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// A world holds things, and counts queries for them.
type world struct {
	made   []string // things that are there
	asked  []string // "x": by itself; "x y": at once
	failed error    // error of a query for many
}

// A thing exists or not. A query for it runs a program.
type thing struct {
	Name string `json:"name"`
	w    *world
}

const thingEffect modules.EffectKind = "thing"

func (t *thing) Validate() error { return nil }

func (t *thing) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	there := false
	if state, ok := h.Forecast.Lookup(thingEffect, t.Name); ok {
		there = state.(bool)
	} else if known, ok := h.Preloaded(thingEffect).(map[string]bool); ok {
		there = known[t.Name]
	} else {
		t.w.asked = append(t.w.asked, t.Name)
		if _, err := h.Commands.Probe(ctx, modules.Command{Argv: []string{"true"}, Reads: thingEffect}); err != nil {
			return modules.Plan{}, err
		}
		there = slices.Contains(t.w.made, t.Name)
	}
	if there {
		return modules.Plan{}, nil
	}
	return modules.Plan{Action: "made", Effects: []modules.Effect{{Kind: thingEffect, Key: t.Name, State: true}}}, nil
}

func (t *thing) Apply(context.Context, modules.Host, modules.Plan) error {
	t.w.made = append(t.w.made, t.Name)
	return nil
}

func (t *thing) Preload(_ context.Context, h modules.Host, all []modules.Resource) (any, error) {
	if _, err := h.Commands.Run(context.Background(), modules.Command{Argv: []string{"true"}}); !errors.Is(err, modules.ErrReadOnly) {
		return nil, errors.New("it may change the host")
	}
	names, known := "", map[string]bool{}
	for _, res := range all {
		name := res.(*thing).Name
		names += " " + name
		known[name] = slices.Contains(t.w.made, name)
	}
	t.w.asked = append(t.w.asked, names[1:])
	return known, t.w.failed
}

// run runs a catalog in which "!" stands for a command that succeeds, and
// anything else for a thing.
func (w *world) run(t *testing.T, check, alone bool, names ...string) []wire.Result {
	t.Helper()
	e := enginetest.New()
	decode := e.Decode
	e.Decode = func(entry *wire.Entry) (modules.Resource, error) {
		if entry.Type == "exec" {
			return decode(entry)
		}
		res := &thing{w: w}
		if err := json.Unmarshal(entry.Properties, res); err != nil || !alone {
			return res, err
		}
		return struct{ modules.Resource }{res}, nil // which hides Preload
	}
	cat := wire.Catalog{Check: check}
	for _, name := range names {
		entry := wire.Entry{Type: "thing", Name: name, Properties: json.RawMessage(fmt.Sprintf(`{"name":%q}`, name))}
		if name == "!" {
			entry = command("true", "")
		}
		cat.Entries = append(cat.Entries, entry)
	}
	results, _ := enginetest.Run(t, e, "", cat)
	for _, r := range results {
		if r.Exit != nil {
			r.Exit.Elapsed = 0
		}
	}
	return results
}

func TestPreload(t *testing.T) {
	for _, test := range []struct {
		name    string
		made    []string
		check   bool
		failed  error
		catalog []string
		asked   []string
		want    string
	}{
		{name: "all at once", made: []string{"a", "b", "c"}, catalog: []string{"a", "b", "c"}, asked: []string{"a b c"}, want: "stable stable stable"},
		{name: "one alone asks by itself", made: []string{"a"}, catalog: []string{"a"}, asked: []string{"a"}, want: "stable"},
		{
			name: "what was applied is verified by itself, and so is the next one", made: []string{"b", "c", "d"},
			catalog: []string{"a", "b", "c", "d"}, asked: []string{"a b c d", "a", "b", "c d"}, want: "changed stable stable stable",
		},
		{
			name:    "where all change, nobody asks in vain again",
			catalog: []string{"a", "b", "c"}, asked: []string{"a b c", "a", "b", "b", "c", "c"}, want: "changed changed changed",
		},
		{
			name: "another type applies", made: []string{"a", "b", "c", "d"},
			catalog: []string{"a", "!", "b", "c", "d"}, asked: []string{"a b c d", "b", "c d"}, want: "stable changed stable stable stable",
		},
		{
			name: "what was applied before the first is no matter", made: []string{"a", "b"},
			catalog: []string{"!", "a", "b"}, asked: []string{"a b"}, want: "changed stable stable",
		},
		{
			name: "it fails", made: []string{"a", "b"}, failed: errors.New("no"),
			catalog: []string{"a", "b"}, asked: []string{"a b", "a", "b"}, want: "stable stable",
		},
		{
			name: "a check run applies nothing", check: true, made: []string{"b", "c"},
			catalog: []string{"a", "b", "a", "c"}, asked: []string{"a b a c"}, want: "changed stable? stable? stable?",
		},
		{
			name: "a check run with a command", check: true, made: []string{"a", "b"},
			catalog: []string{"a", "!", "b"}, asked: []string{"a b"}, want: "stable changed? stable?",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := &world{made: slices.Clone(test.made), failed: test.failed}
			results := w.run(t, test.check, false, test.catalog...)
			require.Equal(t, test.asked, w.asked)
			require.Equal(t, test.want, brief(results))
			w = &world{made: slices.Clone(test.made)}
			require.Equal(t, w.run(t, test.check, true, test.catalog...), results, "without asking at once")
		})
	}
}
