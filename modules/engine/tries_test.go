package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/engine/enginetest"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// third is a command that works the third time.
const third = "echo x >> $/tries; test `wc -l < $/tries` -ge 3"

func TestRetry(t *testing.T) {
	change := func(f func(*wire.Entry)) []wire.Entry { return []wire.Entry{with(command(third, ""), f)} }
	for _, test := range []struct {
		name    string
		entries []wire.Entry
		check   bool
		want    string // results, and how often the command ran
		tries   int
		err     string
		notes   string
	}{
		{"not at all", change(func(*wire.Entry) {}), false, "failed x", 0, "failed to reach desired state: exit code 1 not in allowed returns [0]", ""},
		{"not often enough", change(func(e *wire.Entry) { e.Retry = 1 }), false, "failed xx", 2, "failed to reach desired state: exit code 1 not in allowed returns [0]", "try 1 of 2 failed: failed to reach desired state: exit code 1 not in allowed returns [0]"},
		{"often enough", change(func(e *wire.Entry) { e.Retry = 5 }), false, "changed xxx", 3, "", "try 2 of 6 failed: failed to reach desired state: exit code 1 not in allowed returns [0]"},
		{"a secret", change(func(e *wire.Entry) { e.Retry, e.Sensitive = 5, true }), false, "changed xxx", 3, "", ""},
		{"only predicted", change(func(e *wire.Entry) { e.Retry = 5 }), true, "changed? ", 0, "", ""},
		{"what is undone is done", []wire.Entry{with(command("echo x >> $/tries; touch $/made; false", `"unless":"test -e $/made"`), func(e *wire.Entry) { e.Retry = 2 })}, false, "changed x", 2, "", "try 1 of 3 failed: failed to reach desired state: exit code 1 not in allowed returns [0]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			results := play(t, dir, wire.Catalog{Check: test.check, Entries: test.entries}, nil)
			text, _ := os.ReadFile(filepath.Join(dir, "tries"))
			require.Equal(t, test.want, brief(results)+" "+strings.ReplaceAll(string(text), "\n", ""))
			require.Equal(t, test.tries, results[0].Tries)
			require.Equal(t, test.err, results[0].Error)
			note := ""
			if n := len(results[0].Messages); n > 0 {
				note = results[0].Messages[n-1].Text
			}
			require.Equal(t, test.notes, note)
		})
	}
}

func TestRetryRefreshes(t *testing.T) {
	dir := t.TempDir()
	entries := []wire.Entry{
		with(command("echo x >> $/tries; touch $/made; false", `"unless":"test -e $/made"`), func(e *wire.Entry) { e.Retry = 1 }),
		with(command(strings.ReplaceAll(third, "tries", "more"), `"refreshonly":true`), func(e *wire.Entry) { e.Subscribe, e.Retry = []int{0}, 4 }),
	}
	results := play(t, dir, wire.Catalog{Entries: entries}, nil)
	require.Equal(t, "changed changed*", brief(results))
	require.Equal(t, 3, results[1].Tries)
}

// clumsy fails, takes time, and logs its tries.
type clumsy struct {
	guest
	fails int
	takes time.Duration
	at    []time.Time
}

func (c *clumsy) Check(context.Context, modules.Host) (modules.Plan, error) {
	return modules.Plan{Action: "tried"}, nil
}

func (c *clumsy) Apply(ctx context.Context, _ modules.Host, _ modules.Plan) error {
	c.at = append(c.at, time.Now())
	select {
	case <-time.After(c.takes):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if len(c.at) <= c.fails {
		return errors.New("fell")
	}
	return nil
}

func (c *clumsy) Verify(context.Context, modules.Host, modules.Plan) error { return nil }

func TestPauses(t *testing.T) {
	for _, test := range []struct {
		name  string
		entry wire.Entry
		takes time.Duration
		stop  time.Duration // when the run is stopped
		want  []time.Duration
		err   string
	}{
		{"none", wire.Entry{Retry: 3}, time.Second, 0, []time.Duration{0, time.Second, 2 * time.Second}, ""},
		{"a delay", wire.Entry{Retry: 3, Delay: time.Minute}, time.Second, 0, []time.Duration{0, 61 * time.Second, 122 * time.Second}, ""},
		{"a limit", wire.Entry{Retry: 3, Limit: 0.1}, time.Second, 0, []time.Duration{0, 10 * time.Second, 20 * time.Second}, ""},
		{"a limit that is met anyway", wire.Entry{Retry: 3, Limit: 0.1}, time.Minute, 0, []time.Duration{0, time.Minute, 2 * time.Minute}, ""},
		{"a timeout", wire.Entry{Retry: 1, Timeout: 5 * time.Second}, time.Minute, 0, []time.Duration{0, 5 * time.Second}, "timed out after 5s (timeout)"},
		{"stop", wire.Entry{Retry: 3, Delay: time.Minute}, time.Second, 30 * time.Second, []time.Duration{0}, "fell"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				res := &clumsy{fails: 2, takes: test.takes}
				e := enginetest.New()
				e.Decode = func(*wire.Entry) (modules.Resource, error) { return res, nil }
				e.Stop = func() bool { return test.stop > 0 && time.Since(start) > test.stop }
				test.entry.Type, test.entry.Name = "clumsy", "c"
				results, _ := enginetest.Run(t, e, "", wire.Catalog{Entries: []wire.Entry{test.entry}})
				require.Equal(t, test.err, results[0].Error)
				var at []time.Duration
				for _, when := range res.at {
					at = append(at, when.Sub(start))
				}
				require.Equal(t, test.want, at)
			})
		})
	}
}

func TestTimeoutEndsTheProcessGroup(t *testing.T) {
	dir := t.TempDir()
	// The grandchild would hold a lock for a day.
	entry := command("sleep 86400 & jobs -p > $/pid; wait", "")
	entry.Timeout = 300 * time.Millisecond
	sensitive := entry
	sensitive.Sensitive = true
	guard := command("true", `"unless":"sleep 86400"`)
	guard.Timeout = 50 * time.Millisecond
	results := play(t, dir, wire.Catalog{Entries: []wire.Entry{entry, sensitive, guard}}, nil)
	require.Equal(t, "failed failed failed", brief(results))
	require.Equal(t, "timed out after 300ms (timeout)", results[0].Error)
	require.Equal(t, "timed out after 300ms (timeout)", results[1].Error)
	require.Equal(t, "timed out after 50ms (timeout)", results[2].Error)
	pid, err := os.ReadFile(filepath.Join(dir, "pid"))
	require.NoError(t, err)
	state, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat")
	if err == nil { // it may wait until its end is noticed
		require.Contains(t, string(state), ") Z ")
	}
}

func TestTurn(t *testing.T) {
	sema := func(e *wire.Entry) { e.Sema = []string{"db"} }
	for _, test := range []struct {
		name    string
		entries []wire.Entry
		check   bool
		during  string // created while the entry waits
		err     error
		want    string
		log     string
	}{
		{"nothing to do", []wire.Entry{with(command("true", `"unless":"true"`), sema)}, false, "", nil, "stable", ""},
		{"predicted", []wire.Entry{with(command("true", ""), sema)}, true, "", nil, "changed?", ""},
		{"noop", []wire.Entry{with(command("true", ""), func(e *wire.Entry) { sema(e); e.Check = true })}, false, "", nil, "changed?", ""},
		{"something to do", []wire.Entry{with(command("true", ""), sema)}, false, "", nil, "changed", "turn 0, over 0"},
		{"failed", []wire.Entry{with(command("false", ""), sema)}, false, "", nil, "failed", "turn 0, over 0"},
		{"held until it works", []wire.Entry{with(command(third, ""), func(e *wire.Entry) { sema(e); e.Retry = 3 })}, false, "", nil, "changed", "turn 0, over 0"},
		{"done meanwhile", []wire.Entry{with(command("false", `"creates":"$/made"`), sema)}, false, "made", nil, "stable", "turn 0, over 0"},
		{"stopped", []wire.Entry{command("true", ""), with(command("false", ""), sema), command("true", "")}, false, "", errors.New("gone"), "changed failed changed", "turn 1"},
	} {
		for _, parallel := range []int{0, 1, 2} {
			t.Run(test.name, func(t *testing.T) {
				dir := t.TempDir()
				var log []string
				results := play(t, dir, wire.Catalog{Check: test.check, Parallel: parallel, Entries: test.entries}, func(e *engine.Engine) {
					e.Semaphores = func(_ context.Context, index int, _ string) (func(), error) {
						log = append(log, "turn "+string(rune('0'+index)))
						if test.err != nil {
							return nil, test.err
						}
						if test.during != "" {
							require.NoError(t, os.WriteFile(filepath.Join(dir, test.during), nil, 0o600))
						}
						return func() { log = append(log, "over "+string(rune('0'+index))) }, nil
					}
				})
				require.Equal(t, test.want, brief(results))
				require.Equal(t, test.log, strings.Join(log, ", "))
			})
		}
	}
}

// TestAside has three entries wait for semaphores that only the fourth frees, with two
// places.
func TestAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		cat := guests("a", "b", "c", "d")
		cat.Parallel = 2
		for i := range 3 {
			cat.Entries[i].Sema = []string{"s"}
		}
		held := make(chan struct{}, 1)
		p, results, _ := invite(t, 1, cat, func(e *engine.Engine) {
			decode := e.Decode
			e.Decode = func(entry *wire.Entry) (modules.Resource, error) {
				res, err := decode(entry)
				if entry.Name == "d" {
					return &opener{res.(*guest), free}, nil
				}
				return res, err
			}
			e.Semaphores = func(ctx context.Context, _ int, _ string) (func(), error) {
				<-free
				held <- struct{}{}
				return func() { <-held }, nil
			}
		})
		require.Equal(t, "changed changed changed changed", brief(results))
		require.Equal(t, "d", p.arrived[0])
		require.LessOrEqual(t, p.most, 2)
	})
}

type opener struct {
	*guest
	free chan struct{}
}

func (o *opener) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	defer close(o.free)
	return o.guest.Apply(ctx, h, p)
}

func TestHidden(t *testing.T) {
	entries := []wire.Entry{
		{Type: "file", Name: "$/not/valid", Hidden: true, Properties: json.RawMessage(`{"mode":"no"}`), Receive: []wire.Receive{{Property: "content", From: -1}}},
		with(command("touch $/made", `"creates":"$/made"`), func(e *wire.Entry) { e.Require = []int{0} }),
	}
	for _, parallel := range []int{0, 2} {
		results := play(t, t.TempDir(), wire.Catalog{Parallel: parallel, Entries: entries}, nil)
		require.Equal(t, "skipped changed", brief(results))
		require.Equal(t, "hidden: defined, not run", results[0].Message)
	}
}

func TestQuery(t *testing.T) {
	ask := func(e wire.Entry, query string) wire.Entry {
		e.Query = query
		return e
	}
	for _, test := range []struct {
		name  string
		entry wire.Entry
		state string
		err   string
	}{
		{"an answer", ask(gaugeOf(`"reply":"[1, {\"a\": null}]"`), "get"), `[1,{"a":null}]`, ""},
		{"an error", ask(gaugeOf(`"port":1`), "list"), "", "nothing to list"},
		{"unknown", ask(gaugeOf(`"port":1`), "sing"), "", `type gauge does not answer "sing"`},
		{"not to be asked", ask(command("true", ""), "get"), "", `type exec does not answer "get"`},
		{"no JSON", ask(gaugeOf(`"reply":"{"`), "get"), "", "json: error calling MarshalJSON for type json.RawMessage: unexpected end of JSON input"},
		{"too large", ask(gaugeOf(`"reply":"\"`+strings.Repeat("<", 400_000)+`\""`), "get"), "", "the answer has 2400002 bytes of JSON, more than 2097152"},
		{"as large as may be", ask(gaugeOf(`"reply":"\"`+strings.Repeat("x", 2_000_000)+`\""`), "get"), `"` + strings.Repeat("x", 2_000_000) + `"`, ""},
		{"a secret", with(ask(gaugeOf(`"reply":"1"`), "get"), func(e *wire.Entry) { e.Sensitive = true }), "", ""},
	} {
		for _, check := range []bool{false, true} {
			t.Run(test.name, func(t *testing.T) {
				r := play(t, t.TempDir(), wire.Catalog{Check: check, Entries: []wire.Entry{test.entry}}, nil)[0]
				require.Equal(t, test.err, r.Error)
				if test.state == "" {
					require.Nil(t, r.State)
					return
				}
				require.Empty(t, r.Status)
				require.Equal(t, test.state, string(r.State.Before))
			})
		}
	}
}

// kinded is an error of a kind.
type kinded struct{ error }

func (kinded) Kind() modules.ErrorKind { return modules.ErrorForbidden }

// diarist reports a state in each of its calls.
type diarist struct {
	Before, After string
	fail          bool
	saw           modules.State
	of            string
	done          bool
}

func (d *diarist) Validate() error { return nil }

func (d *diarist) Check(_ context.Context, h modules.Host) (modules.Plan, error) {
	d.saw, _ = h.State(d.of)
	if d.done {
		h.Report.State(modules.State{Before: json.RawMessage(d.After)})
		return modules.Plan{}, nil
	}
	h.Report.State(modules.State{Before: json.RawMessage(d.Before)})
	if d.fail {
		return modules.Plan{}, kinded{errors.New("no")}
	}
	return modules.Plan{Action: "wrote"}, nil
}

func (d *diarist) Apply(_ context.Context, h modules.Host, _ modules.Plan) error {
	h.Report.State(modules.State{Restart: []json.RawMessage{json.RawMessage(`{"service":"sshd"}`)}})
	d.done = true
	return nil
}

func TestState(t *testing.T) {
	large := `"` + strings.Repeat("x", 128<<10) + `"`
	for _, test := range []struct {
		name       string
		first      diarist
		check      bool
		sensitive  bool
		want       string // state of the result
		note, kept string
	}{
		{"before and after", diarist{Before: "1", After: "2"}, false, false, `{"before":1,"after":2,"restart":[{"service":"sshd"}]}`, "", "2"},
		{"predicted", diarist{Before: "1", After: "2"}, true, false, `{"before":1}`, "", ""}, // the later state is unknown
		{"failed", diarist{Before: "1", fail: true}, false, false, `{"before":1}`, "", "1"},
		{"a secret", diarist{Before: "1", After: "2"}, false, true, "null", "", "2"},
		{"too large", diarist{Before: "1", After: large}, false, false, "null", "its state is not reported: 131126 bytes of JSON exceed the limit of 131072", large},
		{"no JSON", diarist{Before: "1", After: "{"}, false, false, "null", "its state is not reported: json: error calling MarshalJSON for type json.RawMessage: unexpected end of JSON input", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			second := diarist{of: "diarist#1", Before: "0", After: "0"}
			resources := map[string]*diarist{"1": &test.first, "2": &second}
			results := play(t, t.TempDir(), wire.Catalog{Check: test.check, Entries: []wire.Entry{
				{Type: "diarist", Name: "1", Sensitive: test.sensitive}, {Type: "diarist", Name: "2"},
			}}, func(e *engine.Engine) {
				e.Decode = func(e *wire.Entry) (modules.Resource, error) { return resources[e.Name], nil }
			})
			b, err := json.Marshal(results[0].State)
			require.NoError(t, err)
			require.Equal(t, test.want, string(b))
			require.Equal(t, test.kept, string(second.saw.Last()))
			note := ""
			if len(results[0].Messages) > 0 {
				note = results[0].Messages[0].Text
			}
			require.Equal(t, test.note, note)
			if test.first.fail {
				require.Equal(t, modules.ErrorForbidden, results[0].ErrorKind)
			}
		})
	}
}

func TestStatesAreBounded(t *testing.T) {
	e := enginetest.New()
	var last *diarist
	e.Decode = func(entry *wire.Entry) (modules.Resource, error) {
		last = &diarist{of: "diarist#0", Before: `"` + strings.Repeat("x", 1<<20) + `"`, done: true}
		last.After = last.Before
		return last, nil
	}
	var notes []string
	run := func(name string) {
		results, _ := enginetest.Run(t, e, "", wire.Catalog{Entries: []wire.Entry{{Type: "diarist", Name: name}}})
		for _, n := range results[0].Messages {
			notes = append(notes, name+": "+n.Text)
		}
	}
	for i := range 9 {
		run(string(rune('0' + i)))
		run("0") // again and again: takes no more room
	}
	require.Contains(t, notes, "8: its state is not kept for others: all together are too large")
	require.NotEmpty(t, last.saw.Last())
}
