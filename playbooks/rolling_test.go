package playbooks

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/record"
	"github.com/ccm-push/ccm-push/playbooks/rollout"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// rollingSite makes a file, and fails where a folder called bad is. Nothing is healthy where one
// called sick is.
const rollingSite = `
name: web
ccm:
  resources:
    - exec:
        - touch made:
            cwd: "{{ Data.home }}"
            creates: "{{ Data.home }}/made"
            alias: made
            health_checks: [{name: alive, command: "test ! -e {{ Data.home }}/sick"}]
        - test ! -e bad: {cwd: "{{ Data.home }}", subscribe: [exec#made], refreshonly: true}
`

// newRolling has a world whose play has a rollout.
func newRolling(t *testing.T, rules rollout.Rules, names ...string) (*world, func(host, file string) string) {
	hosts := servers(t, names...)
	w := newWorld(t, hosts, rollingSite)
	rules.OnStop = rollout.End
	w.Plays[0].Rollout = &manifest.Rollout{Rules: rules}
	return w, func(host, file string) string { return filepath.Join(hosts[host].Home, file) }
}

func TestRollout(t *testing.T) {
	w, path := newRolling(t, rollout.Rules{Batches: []rollout.Amount{{Count: 1}, {Rest: true}}}, "web1", "web2", "web3", "web4")
	require.NoError(t, os.WriteFile(path("web2", "made"), nil, 0o600))
	w.Options.Check = true
	require.Equal(t, []string{
		"play web 1/1: web1 web2 web3 web4",
		"web1 exec#touch made changed", "web1 exec#test ! -e bad changed", "web1 done: ok",
		"web2 exec#touch made stable", "web2 exec#test ! -e bad stable", "web2 done: ok",
		"web3 exec#touch made changed", "web3 exec#test ! -e bad changed", "web3 done: ok",
		"web4 exec#touch made changed", "web4 exec#test ! -e bad changed", "web4 done: ok",
		"plan [web1] [web3 web4], stable [web2], unreachable [], failed [], broken []",
	}, w.run(t))
	w.Options.Check = false
	require.Equal(t, []string{
		"play web 0/0: web1 web2 web3 web4",
		"web2 exec#touch made stable", "web2 exec#test ! -e bad stable", "web2 done: ok",
		"plan [web1] [web3 web4], stable [web2], unreachable [], failed [], broken []",
		"play web 1/2: web1",
		"web1 exec#touch made changed", "web1 exec#test ! -e bad changed", "web1 done: ok",
		"play web 2/2: web3 web4",
		"web3 exec#touch made changed", "web3 exec#test ! -e bad changed", "web3 done: ok",
		"web4 exec#touch made changed", "web4 exec#test ! -e bad changed", "web4 done: ok",
	}, w.run(t))
	require.Contains(t, w.text.String(), "batch 2: 2 hosts: web[3-4]\n")
}

func TestRolloutStops(t *testing.T) {
	w, path := newRolling(t, rollout.Rules{Batches: []rollout.Amount{{Count: 1}}}, "web1", "web2", "web3")
	require.NoError(t, os.Mkdir(path("web2", "bad"), 0o700))
	summary, err := w.Run(t.Context(), nil)
	require.NoError(t, err)
	require.True(t, summary.RolloutStopped)
	require.Equal(t, 2+32, summary.ExitStatus(false))
	require.NoFileExists(t, path("web3", "made"))
	lines := w.recorded.lines()
	require.Contains(t, lines, "stop in batch 2 by stop.failed: 1 of 3 hosts have failed or cannot be reached (web2); limit: 1; then end")
	require.Equal(t, []string{"web3"}, summary.NotStarted)
	require.Empty(t, w.TakeBack)
}

func TestRolloutTakesBack(t *testing.T) {
	for _, c := range []struct {
		then  rollout.OnStop
		hosts []string
	}{
		{rollout.UndoAll, []string{"web1", "web2"}},
		{rollout.UndoBatch, []string{"web2"}},
	} {
		t.Run(string(c.then), func(t *testing.T) {
			w, path := newRolling(t, rollout.Rules{Batches: []rollout.Amount{{Count: 1}}}, "web1", "web2", "web3")
			w.Plays[0].Rollout.OnStop = c.then
			require.NoError(t, os.Mkdir(path("web2", "bad"), 0o700))
			w.run(t)
			require.Equal(t, c.hosts, w.TakeBack)
		})
	}
}

// TestUndoOfARollout checks that an undo keeps to the limit of unavailable hosts, and checks no host before.
func TestUndoOfARollout(t *testing.T) {
	one := rollout.Amount{Count: 1}
	w, _ := newRolling(t, rollout.Rules{MaxUnavailable: &one}, "web1", "web2")
	w.Plays[0].Undo = &manifest.Undo{Run: "run0", Hosts: []string{"web1", "web2"}}
	lines := w.run(t)
	require.Equal(t, "plan [web1 web2], stable [], unreachable [], failed [], broken []", lines[0])
	require.Equal(t, "play web 1/1: web1 web2", lines[1])
}

// TestRolloutOfTheSick has one host that was not healthy before, which holds the only place.
func TestRolloutOfTheSick(t *testing.T) {
	one := rollout.Amount{Count: 1}
	w, path := newRolling(t, rollout.Rules{MaxUnavailable: &one}, "web1", "web2")
	require.NoError(t, os.Mkdir(path("web1", "sick"), 0o700))
	lines := w.run(t)
	require.Contains(t, lines, "plan [web2], stable [], unreachable [], failed [], broken [web1]")
	require.Contains(t, lines, "stop in batch 1 by max_unavailable: 1 host of the rollout may be unavailable at once; unavailable now: web1 was not healthy before the rollout; 1 host waits; then end")
	require.NoFileExists(t, path("web2", "made"))

	w.Options.IncludeBroken = true // and stays sick
	lines = w.run(t)
	require.Contains(t, lines, "web1 exec#touch made failed")
	require.NoFileExists(t, path("web2", "made"))

	require.NoError(t, os.Remove(path("web1", "sick")))
	w.run(t)
	require.FileExists(t, path("web2", "made"))
}

// TestRolloutBehindAFailure runs a rollout with a host that failed in an earlier play: it counts as unavailable in
// every state, and holds the only place until its health checks succeed.
func TestRolloutBehindAFailure(t *testing.T) {
	hosts := servers(t, "web1", "web2", "web3")
	at := func(host, file string) string { return filepath.Join(hosts[host].Home, file) }
	require.NoError(t, os.Mkdir(at("web1", "bad"), 0o700))
	require.NoError(t, os.Mkdir(at("web1", "sick"), 0o700))
	one := rollout.Amount{Count: 1}
	begin := func() *world {
		w := newWorld(t, hosts, `
- name: before
  ccm: {resources: [exec: [test ! -e bad: {cwd: "{{ Data.home }}"}]]}
- `+strings.ReplaceAll(strings.TrimSpace(rollingSite), "\n", "\n  "))
		w.Plays[1].Rollout = &manifest.Rollout{Rules: rollout.Rules{OnStop: rollout.End, MaxUnavailable: &one}}
		return w
	}
	lines := begin().run(t)
	require.Contains(t, lines, "plan [web2 web3], stable [], unreachable [], failed [], broken [web1]")
	require.Contains(t, lines, "stop in batch 1 by max_unavailable: 1 host of the rollout may be unavailable at once; unavailable now: web1 was not healthy before the rollout; 2 hosts wait; then end")
	require.NoFileExists(t, at("web2", "made"))

	require.NoError(t, os.Remove(at("web1", "sick")))
	begin().run(t)
	require.FileExists(t, at("web3", "made"))
	require.NoFileExists(t, at("web1", "made"))
}

// TestRolloutLeavesOut has one host that was not healthy before: it is skipped, and the run does not succeed.
func TestRolloutLeavesOut(t *testing.T) {
	w, path := newRolling(t, rollout.Rules{}, "web1", "web2")
	require.NoError(t, os.Mkdir(path("web1", "sick"), 0o700))
	summary, err := w.Run(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, 2, summary.ExitStatus(false))
	require.Contains(t, w.recorded.lines(), "web1 failed in soak")
	require.NoFileExists(t, path("web1", "made"))
	require.FileExists(t, path("web2", "made"))
}

// TestRolloutIsHeld stops a rollout, queries its status, releases a place and continues.
func TestRolloutIsHeld(t *testing.T) {
	one := rollout.Amount{Count: 1}
	w, path := newRolling(t, rollout.Rules{MaxUnavailable: &one}, "web1", "web2", "web3")
	w.Plays[0].Rollout.OnStop = rollout.Hold
	require.NoError(t, os.Mkdir(path("web1", "bad"), 0o700))
	w.Plays[0].Resources[0].Health = nil // so that its health is unknown
	steer := make(chan rollout.Request)
	w.Steer, w.Options.Hold = steer, -1
	held := make(chan events.RolloutStop, 10)
	w.recorded.watch = func(e events.Event) {
		if stop, ok := e.(events.RolloutStop); ok {
			held <- stop
		}
	}
	ended := w.begin(t)
	require.Equal(t, "stop.failed", (<-held).Rule)
	status := say(steer, rollout.Command{Verb: rollout.Ask}).Status
	require.Equal(t, []rollout.Held{{Host: "web1", Why: "has failed"}}, status.Held)
	require.Empty(t, say(steer, rollout.Command{Verb: rollout.Go, By: "me"}).Error)
	require.Equal(t, "max_unavailable", (<-held).Rule)
	require.Contains(t, say(steer, rollout.Command{Verb: rollout.ReleaseHost, Host: "web9"}).Error, "is not a host of this rollout")
	require.Empty(t, say(steer, rollout.Command{Verb: rollout.ReleaseHost, Host: "web1", By: "me"}).Error)
	require.Empty(t, say(steer, rollout.Command{Verb: rollout.Go, By: "me"}).Error)
	summary := <-ended
	require.False(t, summary.RolloutStopped)
	require.FileExists(t, path("web3", "made"))
}

// newSlow returns a world whose hosts are in progress until a file called go exists, or fail if a folder called bad
// exists, and the channel for commands to its rollout.
func newSlow(t *testing.T, rules rollout.Rules, names ...string) (w *world, path func(host, file string) string, steer chan rollout.Request) {
	hosts := servers(t, names...)
	w = newWorld(t, hosts, `
ccm:
  resources:
    - exec: [{"until test -e go; do test ! -e bad || exit 1; sleep 0.05; done": {provider: shell, cwd: "{{ Data.home }}", timeout: 1m}}]
`)
	w.Plays[0].Rollout = &manifest.Rollout{Rules: rules}
	steer = make(chan rollout.Request)
	w.Steer = steer
	return w, func(host, file string) string { return filepath.Join(hosts[host].Home, file) }, steer
}

// TestRolloutTellsAtOnceThatItHasStopped has a host in progress that finishes only after the stop by another host was
// reported.
func TestRolloutTellsAtOnceThatItHasStopped(t *testing.T) {
	w, path, steer := newSlow(t, rollout.Rules{OnStop: rollout.UndoAll}, "web1", "web2")
	require.NoError(t, os.Mkdir(path("web1", "bad"), 0o700))
	stops := make(chan events.RolloutStop, 10)
	w.recorded.watch = func(e events.Event) {
		if stop, ok := e.(events.RolloutStop); ok {
			stops <- stop
		}
	}
	ended := w.begin(t)
	stop := <-stops
	require.Equal(t, "stop.failed", stop.Rule)
	require.Equal(t, []string{"web2"}, stop.AtWork)
	require.Equal(t, "undo_all", stop.Then)
	require.Equal(t, rollout.Stopping, say(steer, rollout.Command{Verb: rollout.Ask}).Status.State)
	require.NoError(t, os.WriteFile(path("web2", "go"), nil, 0o600))
	require.True(t, (<-ended).RolloutStopped)
	require.Empty(t, stops, "it is told once")
	require.Contains(t, w.text.String(), "    in progress, and finish first: 1 host: web2\n")
}

// TestRolloutWithoutProgress stops while its only host is in progress, and continues on command: the time starts again,
// however long ago the last host finished.
func TestRolloutWithoutProgress(t *testing.T) {
	w, path, steer := newSlow(t, rollout.Rules{OnStop: rollout.End, ProgressDeadline: time.Second}, "web1")
	stops := make(chan events.RolloutStop, 10)
	w.recorded.watch = func(e events.Event) {
		if stop, ok := e.(events.RolloutStop); ok {
			stops <- stop
		}
	}
	ended := w.begin(t)
	require.Equal(t, "no host has finished for 1s; in progress: web1", (<-stops).Text)
	require.Empty(t, say(steer, rollout.Command{Verb: rollout.Go, By: "me"}).Error)
	require.Nil(t, say(steer, rollout.Command{Verb: rollout.Ask}).Status.Stop, "it has a second again")
	require.Equal(t, "progress_deadline", (<-stops).Rule)
	require.Empty(t, say(steer, rollout.Command{Verb: rollout.Go, By: "me"}).Error)
	require.NoError(t, os.WriteFile(path("web1", "go"), nil, 0o600))
	require.False(t, (<-ended).RolloutStopped)
}

// begin runs the plays, and returns a channel with their summary.
func (w *world) begin(t *testing.T) <-chan events.Summary {
	ended := make(chan events.Summary, 1)
	go func() {
		summary, _ := w.Run(context.WithoutCancel(t.Context()), nil)
		ended <- summary
	}()
	return ended
}

// say sends a command to a rollout.
func say(steer chan<- rollout.Request, c rollout.Command) rollout.Reply {
	reply := make(chan rollout.Reply, 1)
	steer <- rollout.Request{Command: c, Answer: func(r rollout.Reply) { reply <- r }}
	return <-reply
}

// TestRolloutSoaks has a host that is not healthy after the change: it does not count as done.
func TestRolloutSoaks(t *testing.T) {
	w, path := newRolling(t, rollout.Rules{Soak: time.Millisecond, HostDeadline: 3 * time.Second, Batches: []rollout.Amount{{Count: 1}}}, "web1", "web2")
	w.recorded.watch = func(e events.Event) {
		if r, ok := e.(events.Result); ok && r.Host == "web1" && r.Status == events.Changed {
			_ = os.Mkdir(path("web1", "sick"), 0o700)
		}
	}
	w.run(t)
	phase, _ := w.recorded.failure("web1")
	require.Contains(t, []string{"soak", "deadline"}, phase) // a slow machine has not got to the soak by then
	require.NoFileExists(t, path("web2", "made"))
}

// TestRolloutGoesOn resumes from the events of the earlier run.
func TestRolloutGoesOn(t *testing.T) {
	w, path := newRolling(t, rollout.Rules{Batches: []rollout.Amount{{Count: 1}, {Count: 2}}}, "web1", "web2", "web3", "web4")
	require.NoError(t, os.Mkdir(path("web2", "bad"), 0o700))
	w.run(t)
	*w.Tally = events.Tally{}
	require.NoError(t, os.Remove(path("web2", "bad")))
	w.Options.Progress = &record.Progress{Plays: []record.PlayProgress{{
		SelectedPlay: events.SelectedPlay{Name: "web", Hosts: []string{"web1", "web2", "web3", "web4"}},
		Done:         map[string]bool{"web1": true},
		Rollout: &rollout.Past{
			Batch: 2, Batches: [][]string{{"web1"}, {"web2", "web3"}, {"web4"}}, Failed: []string{"web2"}, Left: map[string]bool{"web2": true, "web3": true},
		},
	}}}
	lines := w.run(t)
	require.Contains(t, lines, "plan [] [web2 web3] [web4], stable [], unreachable [], failed [], broken []")
	require.Contains(t, lines, "play web 2/3: web2 web3")
	require.Contains(t, lines, "play web 3/3: web4")
	require.FileExists(t, path("web4", "made"), fmt.Sprint(lines))
}

// TestRunEndsWhenAllHostsHaveFailed has a play for other hosts after a play that has failed on all of its own, and on
// one of two.
func TestRunEndsWhenAllHostsHaveFailed(t *testing.T) {
	for _, c := range []struct {
		name, hosts, key string
		goesOn           bool
	}{
		{"all", "db1", "", false},
		{"all, which they may", "db1", "max_fail_percentage: 100", true},
		{"one of two", "db1,db2", "", true},
		{"one of two is one too many", "db1,db2", "any_errors_fatal: true", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			hosts := servers(t, "db1", "db2", "web1")
			require.NoError(t, os.Mkdir(filepath.Join(hosts["db1"].Home, "bad"), 0o700))
			w := newWorld(t, hosts, `
- name: one
  hosts: `+c.hosts+`
  `+c.key+`
  ccm: {resources: [exec: [test ! -e bad: {cwd: "{{ Data.home }}"}]]}
- name: two
  hosts: web1
  ccm: {resources: [exec: [touch made: {cwd: "{{ Data.home }}"}]]}
`)
			_, err := w.Run(t.Context(), nil)
			require.NoError(t, err)
			if _, err = os.Stat(filepath.Join(hosts["web1"].Home, "made")); c.goesOn {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, os.ErrNotExist)
			require.Contains(t, w.text.String(), "not run: 1 play: \"two\"")
		})
	}
}

// TestRolloutWithoutCanary checks that no host begins if the canary will show nothing. A person may override that, but
// not for a host whose state is unknown.
func TestRolloutWithoutCanary(t *testing.T) {
	hosts := servers(t, "web1", "web2", "web3")
	hosts["web4"] = sshtest.Start(t, sshtest.RejectAuth())
	require.NoError(t, os.WriteFile(filepath.Join(hosts["web2"].Home, "made"), nil, 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(hosts["web3"].Home, "sick"), 0o700))
	for _, c := range []struct {
		canary, why string
		yes         bool
	}{
		{"web2", "nothing will change on web2", false},
		{"web3", "web3 was not healthy before", false},
		{"web3", "web3 was not healthy before", true},
		{"web4", "web4 cannot be reached", true},
		{"web2", "", true},
	} {
		t.Run(fmt.Sprint(c.canary, c.yes), func(t *testing.T) {
			w := newWorld(t, hosts, rollingSite)
			w.Plays[0].Rollout = &manifest.Rollout{Rules: rollout.Rules{OnStop: rollout.UndoAll, Stop: rollout.Limits{Failed: &rollout.Amount{Count: 3}}}}
			w.Options.Canary, w.Options.Yes = c.canary, c.yes
			lines := w.run(t)
			made := filepath.Join(hosts["web1"].Home, "made")
			if c.why == "" {
				require.FileExists(t, made)
				return
			}
			require.Contains(t, lines, "stop in batch 0 by canary: "+c.why+", so the canary has no result; then end")
			require.NoFileExists(t, made)
		})
	}
}

// TestUnreachableCountsAsFailed has one host of a batch that cannot be reached, where none may fail
// (ansible#56265): the next batch does not begin.
func TestUnreachableCountsAsFailed(t *testing.T) {
	hosts := servers(t, "web2", "web3", "web4")
	hosts["web1"] = sshtest.Start(t, sshtest.RejectAuth())
	w := newWorld(t, hosts, "serial: 2\nmax_fail_percentage: 0\nccm: {resources: [exec: [touch made: {cwd: \"{{ Data.home }}\"}]]}")
	summary, err := w.Run(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, 4, summary.ExitStatus(false))
	require.Equal(t, []string{"web3", "web4"}, summary.NotStarted)
	require.FileExists(t, filepath.Join(hosts["web2"].Home, "made"))
	require.NoFileExists(t, filepath.Join(hosts["web3"].Home, "made"))
}

// TestRolloutOfNothing finds all hosts as they should be: the play has run.
func TestRolloutOfNothing(t *testing.T) {
	w, _ := newRolling(t, rollout.Rules{}, "web1", "web2")
	w.run(t)
	*w.Tally = events.Tally{}
	summary, err := w.Run(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, summary.PlaysNotRun)
	require.Equal(t, 0, summary.ExitStatus(false))
	require.Contains(t, w.text.String(), "-- rollout of web: nothing will change, 2 hosts stable\n")
}

// TestRolloutCheckUnreachable names a host that a check run could not reach.
func TestRolloutCheckUnreachable(t *testing.T) {
	hosts := servers(t, "web2")
	hosts["web1"] = sshtest.Start(t, sshtest.RejectAuth())
	w := newWorld(t, hosts, rollingSite)
	w.Plays[0].Rollout = &manifest.Rollout{}
	w.Options.Check = true
	require.Contains(t, w.run(t), "plan [web2], stable [], unreachable [web1], failed [], broken []")
}

// TestRolloutGoesOnByAllHosts resumes with one host of two left: half of all is one, and so is the limit of two in
// three quarters of all.
func TestRolloutGoesOnByAllHosts(t *testing.T) {
	share := rollout.Amount{Percent: 75}
	w, _ := newRolling(t, rollout.Rules{Batches: []rollout.Amount{{Count: 1}}, Stop: rollout.Limits{Failed: &share}}, "web1", "web2", "web3", "web4")
	w.Options.Progress = &record.Progress{Plays: []record.PlayProgress{{
		SelectedPlay: events.SelectedPlay{Name: "web", Hosts: []string{"web1", "web2", "web3", "web4"}},
		Done:         map[string]bool{"web1": true, "web2": true},
		Rollout:      &rollout.Past{Batch: 3, Batches: [][]string{{"web1"}, {"web2"}, {"web3"}, {"web4"}}},
	}}}
	w.run(t)
	require.Contains(t, w.text.String(), "2 of 2 hosts fail before the rollout stops: 2 may fail without a stop (stop.failed: 75%), plus 1 in progress at the same time")
	require.Contains(t, w.text.String(), "    batch 2: done\n")
	require.Contains(t, w.text.String(), "2 hosts in 4 batches, 0 hosts stable")
}

// TestRolloutAsks prompts between batches: once for each valid answer, and after the reports of the batch.
func TestRolloutAsks(t *testing.T) {
	w, path := newRolling(t, rollout.Rules{Batches: []rollout.Amount{{Count: 1}}, Pause: true}, "web1", "web2", "web3")
	answers := []string{"what", "g", "e"}
	var questions []string
	w.Ask = func(_ context.Context, question string) (string, error) {
		questions = append(questions, question)
		require.Contains(t, w.text.String(), fmt.Sprintf("web%d  changed", max(1, len(questions)-1)))
		answer := answers[0]
		answers = answers[1:]
		return answer, nil
	}
	lines := w.run(t)
	require.Equal(t, []string{
		"continue with batch 2? [g]o, [e]nd, [u]ndo: ", "  write one of go, end, undo: ", "continue with batch 3? [g]o, [e]nd, [u]ndo: ",
	}, questions)
	require.Contains(t, lines, "pause behind batch 1")
	require.FileExists(t, path("web2", "made"))
	require.NoFileExists(t, path("web3", "made"))
}

// TestRolloutCompilesFirst changes nothing if a host cannot be made ready, whatever the rollout allows.
func TestRolloutCompilesFirst(t *testing.T) {
	hosts := servers(t, "web2")
	hosts["web1"] = sshtest.Start(t, sshtest.RejectAuth())
	w := newWorld(t, hosts, rollingSite)
	w.Plays[0].Rollout = &manifest.Rollout{Rules: rollout.Rules{OnStop: rollout.End, Stop: rollout.Limits{Failed: &rollout.Amount{Count: 2}}}}
	w.Options.CompileFirst = true
	w.run(t)
	require.Equal(t, []string{`play "web": 1 of 2 hosts could not be prepared; nothing was applied, and the run ends here`}, w.warnings)
	require.NoFileExists(t, filepath.Join(hosts["web2"].Home, "made"))
	w.Options.CompileFirst = false
	*w.Tally = events.Tally{}
	w.run(t)
	require.FileExists(t, filepath.Join(hosts["web2"].Home, "made"))
}

// TestRolloutHeldByNobody stops without a terminal: it reports that the run ends.
func TestRolloutHeldByNobody(t *testing.T) {
	w, path := newRolling(t, rollout.Rules{Batches: []rollout.Amount{{Count: 1}}}, "web1", "web2")
	w.Plays[0].Rollout.OnStop = rollout.Hold
	require.NoError(t, os.Mkdir(path("web1", "bad"), 0o700))
	require.Contains(t, w.run(t), "stop in batch 1 by stop.failed: 1 of 2 hosts have failed or cannot be reached (web1); limit: 1; then end")
}

// TestRolloutHostDeadline has a host take longer than the host deadline of the rollout, and expects that reason in the
// report.
func TestRolloutHostDeadline(t *testing.T) {
	hosts := servers(t, "web1")
	w := newWorld(t, hosts, "ccm: {resources: [exec: [sleep 600: {}]]}")
	w.Plays[0].Rollout = &manifest.Rollout{Rules: rollout.Rules{OnStop: rollout.End, HostDeadline: 2 * time.Second}}
	w.run(t)
	_, text := w.recorded.failure("web1")
	require.Contains(t, text, "the host took longer than 2s")
}
