package playbooks

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/events"
)

// TestResultEvent is what the catalog says of a result, and what the host does.
func TestResultEvent(t *testing.T) {
	deep := json.RawMessage(strings.Repeat("[", maxStateDepth+1) + strings.Repeat("]", maxStateDepth+1))
	for _, c := range []struct {
		name   string
		change func(*modules.Catalog, *modules.Result)
		want   func(*events.Result)
	}{
		{"stable", func(*modules.Catalog, *modules.Result) {}, func(*events.Result) {}},
		{"changed", func(_ *modules.Catalog, r *modules.Result) { r.Status = modules.Changed },
			func(e *events.Result) { e.Status, e.Changed = events.Changed, true }},
		{"changed in a check run", func(c *modules.Catalog, r *modules.Result) { c.Check, r.Status = true, modules.Changed },
			func(e *events.Result) { e.Status, e.Check = events.Changed, true }},
		{"changed where it is only looked at", func(c *modules.Catalog, r *modules.Result) { c.Entries[0].Check, r.Status = true, modules.Changed },
			func(e *events.Result) { e.Status, e.Check = events.Changed, true }},
		{"failed after it did something", func(_ *modules.Catalog, r *modules.Result) { r.Status, r.Done, r.Error = modules.Failed, true, "x" },
			func(e *events.Result) { e.Status, e.Changed, e.Error = events.Failed, true, "x" }},
		{"sensitive", func(c *modules.Catalog, _ *modules.Result) { c.Entries[0].Sensitive = true },
			func(e *events.Result) { e.Sensitive = true }},
		{"monitored without health checks", func(c *modules.Catalog, _ *modules.Result) { c.Monitor = true },
			func(e *events.Result) {
				e.Status, e.Message = events.Skipped, "has no health checks, so nothing was looked at"
			}},
		{"a time that runs backwards", func(_ *modules.Catalog, r *modules.Result) { r.Duration = -time.Second },
			func(*events.Result) {}},
		{"output that was not kept whole", func(_ *modules.Catalog, r *modules.Result) {
			r.Exit = &modules.Exit{Code: 3, Stdout: modules.Output{Text: "a[… 7 bytes left out …]\nz\n", Dropped: 7}, Stderr: modules.Output{Text: "b", Dropped: -1}}
		}, func(e *events.Result) {
			e.Command = &events.Command{Stdout: "a[… 7 bytes left out …]\nz\n", Stderr: "b", ExitCode: 3, StdoutDropped: 7}
		}},
		{"a state", func(_ *modules.Catalog, r *modules.Result) {
			r.State = &modules.State{Before: json.RawMessage("{\"a\":\"\xff\"}"), After: json.RawMessage("1")}
		}, func(e *events.Result) {
			e.State = &events.ResourceState{Before: json.RawMessage("{\"a\":\"\ufffd\"}"), After: json.RawMessage("1")}
		}},
		{"a state that is too deep", func(_ *modules.Catalog, r *modules.Result) { r.State = &modules.State{Before: deep} },
			func(e *events.Result) {
				e.Messages = []events.Note{{Level: "warning", Text: "its state is left out: it is nested more than 100 levels deep"}}
			}},
		{"too much to restart", func(_ *modules.Catalog, r *modules.Result) {
			r.State = &modules.State{Restart: []json.RawMessage{json.RawMessage("1"), deep, json.RawMessage("2")}}
		}, func(e *events.Result) {
			e.Restart = []json.RawMessage{json.RawMessage("1")}
			e.Messages = []events.Note{{Level: "warning", Text: "what else it says has to be restarted is left out: it is too much"}}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			catalog := &modules.Catalog{Entries: []modules.Entry{{Type: "exec", Name: "a", Alias: "b"}}}
			r := &modules.Result{Status: modules.Stable}
			c.change(catalog, r)
			want := events.Result{Play: "p", Host: "h", Type: "exec", Name: "a", Alias: "b", Status: events.Stable, Certain: true}
			c.want(&want)
			require.Equal(t, want, resultEvent("p", "h", catalog, r))
		})
	}
}
