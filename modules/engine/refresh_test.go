package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/engine/enginetest"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// A daemon is a service in memory.
type daemon struct {
	modules.Event
	Name   string `json:"name"`
	Action string `json:"action"`
	Reload bool   `json:"reload"`

	did *[]string
}

func (d *daemon) Validate() error { return nil }

// Check fails for an event: it compares nothing.
func (d *daemon) Check(context.Context, modules.Host) (modules.Plan, error) {
	if d.RefreshOnly {
		return modules.Plan{}, fmt.Errorf("an event was compared")
	}
	return modules.Plan{}, nil
}

func (d *daemon) Refresh(context.Context, modules.Host, modules.Plan) (modules.Plan, error) {
	return modules.Plan{Action: d.RefreshAction(), Serves: d.RefreshAction(), Refreshed: true, Effects: []modules.Effect{{Kind: "daemon", Key: d.Name}}}, nil
}

func (d *daemon) Apply(_ context.Context, _ modules.Host, p modules.Plan) error {
	action, _, _ := strings.Cut(p.Action, ";") // else why it is due
	*d.did = append(*d.did, action)
	return nil
}

func (d *daemon) Subject() string { return "daemon " + d.Name }

func (d *daemon) RefreshAction() string {
	switch {
	case d.Action != "":
		return d.Action
	case d.Reload:
		return modules.ActionReload
	}
	return modules.ActionRestart
}

func (d *daemon) SetRefreshAction(action string) { d.Action = action }

// withDaemons makes an engine that knows daemons. They add their actions to did.
func withDaemons(did *[]string) *engine.Engine {
	e := enginetest.New()
	decode := e.Decode
	e.Decode = func(entry *wire.Entry) (modules.Resource, error) {
		if entry.Type != "daemon" {
			return decode(entry)
		}
		d := &daemon{did: did}
		return d, json.Unmarshal(entry.Properties, d)
	}
	return e
}

// event is an event of the daemon "d"; an empty action is the daemon itself.
func event(action string, targets ...int) wire.Entry {
	e := wire.Entry{Type: "daemon", Name: "d", Alias: action, Action: action, Subscribe: targets}
	e.Properties, _ = json.Marshal(map[string]any{"name": "d", "action": action, "refreshonly": action != ""})
	return e
}

func TestEventsOfOneThing(t *testing.T) {
	conf := func(name string) wire.Entry { return file("$/"+name, `"content":"x"`) }
	failing := command("false", "")
	for name, tc := range map[string]struct {
		entries []wire.Entry
		did     string // actions of the run
		results string
		says    string
	}{
		"nothing has notified it":              {[]wire.Entry{failing, event("restart", 0), event("stop", 0)}, "", "failed stable stable", ""},
		"two notifications":                    {[]wire.Entry{conf("a"), conf("b"), event("restart", 0, 1)}, "restart", "changed changed changed*", ""},
		"a restart and then a reload":          {[]wire.Entry{conf("a"), event("restart", 0), event("reload", 0)}, "restart", "changed changed* stable", "not reloaded, because daemon#restart restarts it in this run"},
		"a reload and then a restart":          {[]wire.Entry{conf("a"), event("reload", 0), event("restart", 0)}, "restart", "changed stable changed*", "not reloaded, because daemon#restart restarts it in this run"},
		"two restarts":                         {[]wire.Entry{conf("a"), event("", 0), event("restart", 0)}, "restart", "changed changed* stable", "not restarted, because daemon#d restarts it in this run"},
		"two reloads":                          {[]wire.Entry{conf("a"), event("reload", 0), event("reload", 0)}, "reload", "changed changed* stable", "not reloaded, because daemon#reload reloads it in this run"},
		"a reload and then a service":          {[]wire.Entry{conf("a"), event("reload", 0), event("", 0)}, "restart", "changed stable changed*", "not reloaded, because daemon#d restarts it in this run"},
		"three":                                {[]wire.Entry{conf("a"), event("reload", 0), event("", 0), event("restart", 0)}, "restart", "changed stable changed* stable", "not reloaded, because daemon#d restarts it in this run; not restarted, because daemon#d restarts it in this run"},
		"a change after the restart":           {[]wire.Entry{conf("a"), event("restart", 0), conf("b"), event("reload", 1, 2)}, "restart reload", "changed changed* changed changed*", ""},
		"a restart that is due only later":     {[]wire.Entry{conf("a"), event("reload", 0), conf("b"), event("restart", 2)}, "reload restart", "changed changed* changed changed*", ""},
		"another thing":                        {[]wire.Entry{conf("a"), event("reload", 0), with(event("restart", 0), func(e *wire.Entry) { e.Properties = []byte(`{"name":"other","refreshonly":true}`) })}, "reload restart", "changed changed* changed*", ""},
		"stop and start":                       {[]wire.Entry{conf("a"), event("stop", 0), event("start", 0)}, "stop start", "changed changed* changed*", ""},
		"a stop does not merge":                {[]wire.Entry{conf("a"), event("reload", 0), event("stop", 0), event("restart", 0)}, "stop restart", "changed stable changed* changed*", "not reloaded, because daemon#restart restarts it in this run"},
		"a restart that control excludes":      {[]wire.Entry{conf("a"), event("reload", 0), with(event("restart", 0), func(e *wire.Entry) { e.Excluded = true })}, "reload", "changed changed* skipped", ""},
		"a restart that is only predicted":     {[]wire.Entry{conf("a"), event("reload", 0), with(event("restart", 0), func(e *wire.Entry) { e.Check = true })}, "reload", "changed changed* changed*", ""},
		"a restart whose requirement failed":   {[]wire.Entry{conf("a"), failing, event("reload", 0), with(event("restart", 0), func(e *wire.Entry) { e.Require = []int{1} })}, "reload", "changed failed changed* skipped", ""},
		"a restart that belongs to the rescue": {[]wire.Entry{conf("a"), event("reload", 0), event("restart", 0), {Type: "block", Name: "b", Scope: &wire.Scope{Entries: 3, Block: &wire.Block{Rescue: 1}}}}, "reload", "changed changed* skipped changed", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var did []string
			cat := enginetest.In(dir, wire.Catalog{Entries: tc.entries})
			check := cat
			check.Check = true
			predicted, _ := enginetest.Run(t, withDaemons(&did), dir, check)
			require.Empty(t, did)
			results, _ := enginetest.Run(t, withDaemons(&did), dir, cat)
			require.Equal(t, tc.did, strings.Join(did, " "))
			require.Equal(t, tc.results, brief(results))
			if !strings.Contains(tc.results, "failed") { // the prediction of a command is uncertain
				require.Equal(t, tc.results, brief(predicted), "the check run")
			}
			var says []string
			for i, r := range results {
				for _, m := range r.Messages {
					says = append(says, m.Text)
				}
				if !strings.Contains(tc.results, "failed") {
					require.Equal(t, len(r.Messages), len(predicted[i].Messages))
				}
			}
			require.Equal(t, tc.says, strings.Join(says, "; "))

			did = nil
			again, _ := enginetest.Run(t, withDaemons(&did), dir, cat)
			require.Empty(t, did)
			require.NotContains(t, brief(again), "*")
		})
	}
}

// TestEventsInAGraph runs the events at once: whatever the order, the daemon is restarted once and not reloaded after that.
func TestEventsInAGraph(t *testing.T) {
	dir := t.TempDir()
	for range 20 {
		var did []string
		require.NoError(t, os.RemoveAll(dir+"/a"))
		cat := wire.Catalog{Parallel: 4, Entries: []wire.Entry{file("$/a", `"content":"x"`), event("restart", 0), event("reload", 0), event("restart", 0)}}
		enginetest.Run(t, withDaemons(&did), dir, enginetest.In(dir, cat))
		require.Equal(t, []string{"restart"}, did)
	}
}

// TestDueEventKeepsItsAction cuts a run between the change and the events.
func TestDueEventKeepsItsAction(t *testing.T) {
	conf := file("$/conf", `"content":"x"`)
	for name, tc := range map[string]struct {
		before, after []wire.Entry // events in the run that is cut, and in the next one
		did           string
		says          string // messages of the next run
	}{
		"the same":             {[]wire.Entry{event("reload", 0)}, []wire.Entry{event("reload", 0)}, "reload", ""},
		"of three":             {[]wire.Entry{event("", 0), event("reload", 0), event("stop", 0)}, []wire.Entry{event("stop", 0), event("reload", 0), event("", 0)}, "stop restart", "not reloaded"},
		"the restart is new":   {[]wire.Entry{event("reload", 0)}, []wire.Entry{event("restart", 0), event("reload", 0)}, "reload", ""},
		"a stop is new":        {[]wire.Entry{event("reload", 0)}, []wire.Entry{event("stop", 0), event("reload", 0)}, "reload", ""},
		"a reload now":         {[]wire.Entry{event("restart", 0)}, []wire.Entry{event("reload", 0)}, "restart", ""},
		"a restart now":        {[]wire.Entry{event("reload", 0)}, []wire.Entry{event("restart", 0)}, "restart", ""},
		"a service now":        {[]wire.Entry{event("restart", 0)}, []wire.Entry{event("", 0)}, "restart", ""},
		"an event now":         {[]wire.Entry{event("", 0)}, []wire.Entry{event("reload", 0)}, "reload", ""},
		"a stop is no restart": {[]wire.Entry{event("stop", 0)}, []wire.Entry{event("restart", 0)}, "", "a refresh was due, but its resource is no longer in the manifest or no longer subscribes: daemon#d (stop)"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			j := &mortalJournal{m: &mortal{}}
			catalog := func(events []wire.Entry) wire.Catalog {
				return enginetest.In(dir, wire.Catalog{
					Whole: true, Lock: &wire.Lock{Run: "R"}, Entries: append([]wire.Entry{conf}, events...),
				})
			}
			var did []string
			cut := withDaemons(&did)
			cut.Refreshes = j
			turns := 0
			cut.Stop = func() bool { turns++; return turns > 1 }
			_, stopped := enginetest.Run(t, cut, dir, catalog(tc.before))
			require.True(t, stopped)
			require.Empty(t, did)
			require.NotEmpty(t, j.text)

			check := catalog(tc.after)
			check.Check = true
			e := withDaemons(&did)
			e.Refreshes = j
			predicted, _ := enginetest.Run(t, e, dir, check)
			require.Empty(t, did)
			e = withDaemons(&did)
			e.Refreshes = j
			results, _ := enginetest.Run(t, e, dir, catalog(tc.after))
			require.Equal(t, tc.did, strings.Join(did, " "))
			require.Equal(t, brief(results), brief(predicted))
			says := ""
			for _, r := range results {
				for _, m := range r.Messages {
					says += m.Text + "\n"
				}
			}
			require.Contains(t, says, tc.says)
			require.Empty(t, string(j.text), "nothing is due any more")
		})
	}
}

// TestDamagedNotesStopNothing has the record of due refreshes damaged: restarts and reloads are done to be safe, and no
// daemon is stopped or started.
func TestDamagedNotesStopNothing(t *testing.T) {
	var did []string
	e := withDaemons(&did)
	e.Refreshes = &mortalJournal{m: &mortal{}, text: []byte("{")}
	dir := t.TempDir()
	cat := wire.Catalog{Entries: []wire.Entry{file("$/d", `"ensure":"absent"`), event("stop", 0), event("start", 0), event("reload", 0), event("", 0)}}
	enginetest.Run(t, e, dir, enginetest.In(dir, cat))
	require.Equal(t, []string{"restart"}, did)
}
