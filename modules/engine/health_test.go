package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/wire"
)

func ask(name, script string, tries int) wire.HealthCheck {
	return wire.HealthCheck{Name: name, Argv: []string{"/bin/sh", "-c", script}, Tries: tries, Timeout: 10 * time.Second}
}

func asked(e wire.Entry, checks ...wire.HealthCheck) wire.Entry {
	e.Health = checks
	return e
}

// said returns the health checks of a result.
func said(r wire.Result) string {
	var all []string
	for _, v := range r.Health {
		all = append(all, string(v.Status)+"/"+string(rune('0'+v.Tries))+" "+v.Output)
	}
	return strings.Join(all, "; ")
}

func TestHealth(t *testing.T) {
	const text = `"mode":"0600","content":"x"`
	ok, warn, crit := ask("a", "echo fine", 1), ask("b", "echo hot; echo more; exit 1", 1), ask("c", "echo down >&2; exit 2", 1)
	odd, quiet := ask("d", "exit 77", 1), ask("e", "exit 2", 1)
	missing := wire.HealthCheck{Name: "f", Argv: []string{"/no/such/plugin"}, Tries: 5, Timeout: time.Second}
	require1 := func(e *wire.Entry) { e.Require = []int{0} }
	subscribe1 := func(e *wire.Entry) { e.Subscribe = []int{0} }
	react := with(command("touch $/ran", `"refreshonly":true`), subscribe1)
	for _, test := range []struct {
		name    string
		entries []wire.Entry
		cat     wire.Catalog
		want    string
		said    string // output of the first
		err     string // error of the first
	}{
		{name: "ok", entries: []wire.Entry{asked(file("$/a", text), ok)}, want: "changed", said: "OK/1 fine"},
		{name: "a warning", entries: []wire.Entry{asked(file("$/a", text), ok, warn)}, want: "failed",
			said: "OK/1 fine; WARNING/1 hot\nmore", err: `health check status "WARNING" (b): hot`},
		{name: "all are asked", entries: []wire.Entry{asked(file("$/a", text), crit, odd, quiet)}, want: "failed",
			said: "CRITICAL/1 down; UNKNOWN/1 exit status 77; CRITICAL/1 exit status 2",
			err:  "health check status \"CRITICAL\" (c): down\nhealth check status \"UNKNOWN\" (d): exit status 77\nhealth check status \"CRITICAL\" (e): exit status 2"},
		{name: "one that cannot be run is not tried again", entries: []wire.Entry{asked(file("$/a", text), missing)}, want: "failed",
			said: "UNKNOWN/1 \"/no/such/plugin\" cannot be started: no such file or directory", err: `health check "f" could not be run: "/no/such/plugin" cannot be started: no such file or directory`},
		{name: "rules in the lean program", entries: []wire.Entry{asked(file("$/a", text), wire.HealthCheck{Name: "goss", Rules: json.RawMessage("{}"), Tries: 1})}, want: "failed",
			said: "UNKNOWN/1 rules of goss need the full host program", err: `health check "goss" could not be run: rules of goss need the full host program`},
		{name: "the resource has failed before", entries: []wire.Entry{asked(command("exit 3", ""), ok, quiet)}, want: "failed",
			said: "OK/1 fine; CRITICAL/1 exit status 2", err: "failed to reach desired state: exit code 3 not in allowed returns [0]\nhealth check status \"CRITICAL\" (e): exit status 2"},
		{name: "what requires it is unmet, what subscribes is refreshed", entries: []wire.Entry{asked(file("$/a", text), quiet), with(file("$/b", text), require1), react},
			want: "failed skipped changed*", said: "CRITICAL/1 exit status 2", err: `health check status "CRITICAL" (e): exit status 2`},
		{name: "it ends the catalog", cat: wire.Catalog{FailOnError: true}, entries: []wire.Entry{asked(file("$/a", text), quiet), file("$/b", text)},
			want: "failed skipped", said: "CRITICAL/1 exit status 2", err: `health check status "CRITICAL" (e): exit status 2`},
		{name: "excluded", entries: []wire.Entry{{Type: "file", Excluded: true, Health: []wire.HealthCheck{quiet}}}, want: "skipped"},
		{name: "the second try", entries: []wire.Entry{asked(command("true", `"onlyif":"false"`), ask("a", "test -e $/tried && exit; touch $/tried; exit 2", 3))}, want: "stable", said: "OK/2 "},
		{name: "a check run with nothing to do", cat: wire.Catalog{Check: true}, entries: []wire.Entry{asked(command("true", `"onlyif":"false"`), quiet)},
			want: "failed", said: "CRITICAL/1 exit status 2", err: `health check status "CRITICAL" (e): exit status 2`},
		{name: "a check run that would change something", cat: wire.Catalog{Check: true}, entries: []wire.Entry{asked(file("$/a", text), quiet, ok)}, want: "changed?"},
		{name: "a noop resource", entries: []wire.Entry{with(asked(file("$/a", text), quiet), func(e *wire.Entry) { e.Check = true })}, want: "changed?"},
		{name: "a check run that fails all the same", cat: wire.Catalog{Check: true}, entries: []wire.Entry{asked(file("$/no/a", text), ok)},
			want: "failed", said: "OK/1 fine", err: `the directory "$/no" does not exist (create it with a file resource that has ensure: directory)`},
		{name: "monitor only", cat: wire.Catalog{Monitor: true, FailOnError: true}, entries: []wire.Entry{asked(file("$/a", text), quiet), with(asked(command("touch $/b", ""), ok), require1), asked(file("$/c", text), ok), file("$/d", text)},
			want: "failed skipped stable stable", said: "CRITICAL/1 exit status 2", err: `health check status "CRITICAL" (e): exit status 2`},
		{name: "a nested manifest that is only watched", entries: []wire.Entry{
			with(asked(file("$/a", text), quiet), func(e *wire.Entry) { e.Monitor = true }),
			with(file("$/b", text), func(e *wire.Entry) { e.Monitor = true }),
			{Type: "apply", Name: "child", Scope: &wire.Scope{Entries: 2, FailOnError: true}}, file("$/c", text)},
			want: "failed stable failed changed", said: "CRITICAL/1 exit status 2", err: `health check status "CRITICAL" (e): exit status 2`},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.Chmod(dir, 0o755))
			test.cat.Entries = nil
			for _, e := range test.entries {
				for i, c := range e.Health {
					if len(c.Argv) == 3 {
						e.Health[i].Argv = []string{c.Argv[0], c.Argv[1], strings.ReplaceAll(c.Argv[2], "$", dir)}
					}
				}
				test.cat.Entries = append(test.cat.Entries, e)
			}
			results, _ := runEntries(t, dir, test.cat)
			require.Equal(t, test.want, brief(results), "%+v", results)
			require.Equal(t, test.said, said(results[0]))
			require.Equal(t, test.err, results[0].Error)
			if test.cat.Check || test.cat.Monitor {
				left, err := os.ReadDir(dir)
				require.NoError(t, err)
				require.Empty(t, left)
			}
		})
	}
}

// TestHealthIsNotAskedEarly: before the host has its desired state, every answer would be wrong.
func TestHealthIsNotAskedEarly(t *testing.T) {
	const text = `"mode":"0600","content":"x"`
	dir := t.TempDir()
	trap := ask("a", "touch "+dir+"/asked", 1)
	results, _ := runEntries(t, dir, wire.Catalog{Check: true, Entries: []wire.Entry{
		asked(command("true", `"onlyif":"false"`), ask("b", "true", 1)),
		asked(file("$/a", text), trap),
		asked(command("true", `"onlyif":"false"`), trap, trap),
	}})
	require.Len(t, results[0].Health, 1)
	ref := "file#" + dir + "/a"
	for i, want := range []string{"health check not run: it waits for " + ref, "2 health checks not run: they wait for " + ref} {
		r := results[i+1]
		require.Equal(t, []modules.Note{{Level: "info", Text: want}}, r.Messages)
		require.Empty(t, r.Health)
		require.NotEqual(t, modules.Certain, r.Grade)
	}
	require.NoFileExists(t, dir+"/asked")
}

// TestUnhealthyAfterAChange reports exactly the changes that were made.
func TestUnhealthyAfterAChange(t *testing.T) {
	const text = `"mode":"0600","content":"x"`
	bad := ask("a", "exit 1", 1)
	dir := t.TempDir()
	run := func(cat wire.Catalog) wire.Result {
		cat.Entries = []wire.Entry{asked(file("$/a", text), bad)}
		results, _ := runEntries(t, dir, cat)
		return results[0]
	}
	said := func(r wire.Result) []any { return []any{r.Status, r.Done, r.Message, r.Error} }
	const err = `health check status "WARNING" (a): exit status 1`
	require.Equal(t, []any{wire.Changed, false, "Would have created the file", ""}, said(run(wire.Catalog{Check: true})))
	require.Equal(t, []any{wire.Failed, true, "created the file", err}, said(run(wire.Catalog{})))
	require.Equal(t, []any{wire.Failed, false, "", err}, said(run(wire.Catalog{})), "stable, but for the check")
	require.Equal(t, []any{wire.Failed, false, "", err}, said(run(wire.Catalog{Check: true})))
}

// TestHealthOfWhatIsSensitive shows nothing that a check has written.
func TestHealthOfWhatIsSensitive(t *testing.T) {
	e := asked(command("echo hunter2; exit 3", ""), ask("spy", "echo hunter2; exit 2", 1), wire.HealthCheck{Name: "m", Argv: []string{"/no/hunter2"}, Tries: 1})
	e.Sensitive = true
	results, _ := runEntries(t, t.TempDir(), wire.Catalog{Entries: []wire.Entry{e}})
	results[0].Exit = nil
	text, err := json.Marshal(results)
	require.NoError(t, err)
	require.NotContains(t, string(text), "hunter2")
	require.Equal(t, "exit code 3 not in allowed returns [0]\nhealth check status \"CRITICAL\" (spy)\nhealth check \"m\" could not be run", results[0].Error)
}

// slow answers badly, and takes as long as it is given.
type slow struct {
	modules.Commands
	starts int
}

func (s *slow) Probe(_ context.Context, c modules.Command) (modules.Exit, error) {
	s.starts++
	if s.starts == 2 {
		return modules.Exit{}, modules.ErrTimeout
	}
	return modules.Exit{Code: 2}, nil
}

// TestHealthIsTriedAgain runs on a clock that advances only during waits.
func TestHealthIsTriedAgain(t *testing.T) {
	check := wire.HealthCheck{Name: "a", Argv: []string{"x"}, Tries: 4, TrySleep: 10 * time.Second, Timeout: time.Minute}
	run := func(t *testing.T, stopAfter time.Duration) (wire.Result, time.Duration, int) {
		s := &slow{}
		start := time.Now()
		e := &engine.Engine{
			Host:   modules.Host{Commands: s},
			Now:    time.Now,
			Stop:   func() bool { return time.Since(start) > stopAfter },
			Decode: func(*wire.Entry) (modules.Resource, error) { return nil, errors.New("not looked at") },
		}
		var result wire.Result
		_, err := e.Run(t.Context(), &wire.Catalog{Monitor: true, Entries: []wire.Entry{{Type: "apply", Scope: &wire.Scope{}, Health: []wire.HealthCheck{check}}}}, func(r *wire.Result) error {
			result = *r
			return nil
		})
		require.NoError(t, err)
		return result, time.Since(start), s.starts
	}
	synctest.Test(t, func(t *testing.T) {
		result, took, starts := run(t, time.Hour)
		require.Equal(t, `health check status "CRITICAL" (a): exit status 2`, result.Error)
		require.Equal(t, []int{4, 4}, []int{starts, result.Health[0].Tries})
		require.Equal(t, 30*time.Second, took)
		result, took, starts = run(t, 15*time.Second)
		require.Equal(t, `health check status "UNKNOWN" (a): no answer within 1m0s`, result.Error)
		require.Equal(t, 2, starts)
		require.Less(t, took, 16*time.Second)
	})
}

// TestHealthIsBounded has checks that write without end.
func TestHealthIsBounded(t *testing.T) {
	var checks []wire.HealthCheck
	for range 100 {
		checks = append(checks, ask("loud", "head -c 100000 /dev/zero | tr '\\0' x; exit 2", 1))
	}
	results, _ := runEntries(t, t.TempDir(), wire.Catalog{Entries: []wire.Entry{asked(command("true", ""), checks...)}})
	const mark = len("[… 100000 bytes left out …]")
	total := 0
	for _, v := range results[0].Health {
		total += len(v.Output)
		require.LessOrEqual(t, len(v.Output), 4<<10+mark)
	}
	require.LessOrEqual(t, total, 64<<10+100*mark)
	require.LessOrEqual(t, len(results[0].Error), 8<<10)
}
