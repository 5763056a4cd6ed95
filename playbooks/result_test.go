package playbooks

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/events"
)

// TestResultEvent checks which parts of an event come from the catalog, and which from the host.
func TestResultEvent(t *testing.T) {
	deep := json.RawMessage(strings.Repeat("[", maxStateDepth+1) + strings.Repeat("]", maxStateDepth+1))
	for _, c := range []struct {
		name   string
		change func(*wire.Catalog, *wire.Result)
		want   func(*events.Result)
	}{
		{"stable", func(*wire.Catalog, *wire.Result) {}, func(*events.Result) {}},
		{"changed", func(_ *wire.Catalog, r *wire.Result) { r.Status = wire.Changed },
			func(e *events.Result) { e.Status, e.Changed = events.Changed, true }},
		{"changed in a check run", func(c *wire.Catalog, r *wire.Result) { c.Check, r.Status = true, wire.Changed },
			func(e *events.Result) { e.Status, e.Check, e.Grade = events.Changed, true, "certain" }},
		{"changed where it is only looked at", func(c *wire.Catalog, r *wire.Result) { c.Entries[0].Check, r.Status = true, wire.Changed },
			func(e *events.Result) { e.Status, e.Check, e.Grade = events.Changed, true, "certain" }},
		{"failed after it did something", func(_ *wire.Catalog, r *wire.Result) { r.Status, r.Done, r.Error = wire.Failed, true, "x" },
			func(e *events.Result) { e.Status, e.Changed, e.Error = events.Failed, true, "x" }},
		{"sensitive", func(c *wire.Catalog, _ *wire.Result) { c.Entries[0].Sensitive = true },
			func(e *events.Result) { e.Sensitive = true }},
		{"monitored without health checks", func(c *wire.Catalog, _ *wire.Result) { c.Monitor = true },
			func(e *events.Result) {
				e.Status, e.Reason, e.Message = events.Skipped, "no_health_checks", "has no health checks, so nothing was looked at"
			}},
		{"a time that runs backwards", func(_ *wire.Catalog, r *wire.Result) { r.Duration = -time.Second },
			func(*events.Result) {}},
		{"output that was not kept whole", func(_ *wire.Catalog, r *wire.Result) {
			r.Exit = &modules.Exit{Code: 3, Stdout: modules.Output{Text: "a[… 7 bytes left out …]\nz\n", Dropped: 7}, Stderr: modules.Output{Text: "b", Dropped: -1}}
		}, func(e *events.Result) {
			e.Command = &events.Command{Stdout: "a[… 7 bytes left out …]\nz\n", Stderr: "b", ExitCode: 3, StdoutDropped: 7}
		}},
		{"a state", func(_ *wire.Catalog, r *wire.Result) {
			r.State = &modules.State{Before: json.RawMessage("{\"a\":\"\xff\"}"), After: json.RawMessage("1")}
		}, func(e *events.Result) {
			e.State = &events.ResourceState{Before: json.RawMessage("{\"a\":\"\ufffd\"}"), After: json.RawMessage("1")}
		}},
		{"a state that is too deep", func(_ *wire.Catalog, r *wire.Result) { r.State = &modules.State{Before: deep} },
			func(e *events.Result) {
				e.Messages = []events.Note{{Level: "warning", Text: "its state is omitted: it is nested more than 100 levels deep"}}
			}},
		{"too much to restart", func(_ *wire.Catalog, r *wire.Result) {
			r.State = &modules.State{Restart: []json.RawMessage{json.RawMessage("1"), deep, json.RawMessage("2")}}
		}, func(e *events.Result) {
			e.Restart = []json.RawMessage{json.RawMessage("1")}
			e.Messages = []events.Note{{Level: "warning", Text: "further restarts that it reports are omitted: there are too many, or they are too large"}}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			catalog := &wire.Catalog{Entries: []wire.Entry{{Type: "exec", Name: "a", Alias: "b"}}}
			r := &wire.Result{Status: wire.Stable}
			c.change(catalog, r)
			want := events.Result{Play: "p", Host: "h", Type: "exec", Name: "a", Alias: "b", Status: events.Stable, Certain: true}
			c.want(&want)
			require.Equal(t, want, resultEvent("p", "h", catalog, catalog.Entries[r.Index].Health, r))
		})
	}
}

// FuzzJSONDepth compares jsonDepth with the depth of the parsed JSON.
func FuzzJSONDepth(f *testing.F) {
	for _, s := range []string{`{"a":[1,{"b":"]}"}]}`, `"\\\"[["`, `[]`, `5`, `{"[":{}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var v any
		if json.Unmarshal([]byte(text), &v) != nil {
			return
		}
		require.GreaterOrEqual(t, jsonDepth(json.RawMessage(text)), levelsOf(v), text) // of two equal keys one is lost
	})
}

func levelsOf(v any) int {
	deepest := 0
	switch v := v.(type) {
	case map[string]any:
		for _, one := range v {
			deepest = max(deepest, levelsOf(one))
		}
	case []any:
		for _, one := range v {
			deepest = max(deepest, levelsOf(one))
		}
	default:
		return 0
	}
	return 1 + deepest
}

// TestFactsOfADiff checks that the result of a file has the facts that its diff contains, if the play reads them.
func TestFactsOfADiff(t *testing.T) {
	w := newWorld(t, servers(t, "web1"), fmt.Sprintf(`
name: one
data: {owner: "%d", group: "%d"}
ccm: {resources: [file: [{"{{ Data.home }}/a": {content: "on {{ Facts.host.info.hostname }}\n", mode: "0600", owner: "{{ string(Data.owner) }}", group: "{{ string(Data.group) }}"}}]]}
`, os.Getuid(), os.Getgid()))
	w.Options.Diff = true
	_, err := w.Run(t.Context(), nil)
	require.NoError(t, err)
	name, err := os.Hostname()
	require.NoError(t, err)
	found := false
	for _, e := range w.recorded.list {
		if r, ok := e.(events.Result); ok {
			found = true
			require.Equal(t, map[string]string{"host.info.hostname": name}, r.Facts, r.Error)
		}
	}
	require.True(t, found)
}
