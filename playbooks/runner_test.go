package playbooks

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// owner returns the ID of the user that the host programs of these tests run as.
func owner() int64 { return int64(os.Getuid()) }

// interrupt runs until killed is closed, as a second Ctrl-C does.
func (w *world) interrupt(t *testing.T, killed <-chan struct{}) (events.Summary, []string) {
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	ended := make(chan struct{})
	go func() {
		select {
		case <-killed:
			kill()
		case <-ended:
		}
	}()
	summary, err := w.Run(ctx, nil)
	close(ended)
	require.NoError(t, err)
	return summary, w.recorded.lines()
}

// site converges a file and a guarded command below the home of each host.
const site = `
name: web
ccm:
  pre_message: "hello {{ Data.home != '' }}"
  post_message: bye
  resources:
    - file: ["{{ Data.home }}/dir": {ensure: directory, owner: "{{ string(Data.owner) }}", group: "{{ string(Data.owner) }}", mode: "0700"}]
    - exec: [touch made: {cwd: "{{ Data.home }}", creates: "{{ Data.home }}/made"}]
`

func TestCheckApplyStable(t *testing.T) {
	hosts := servers(t, "web1", "web2")
	w := newWorld(t, hosts, site)
	w.Options.Catalog.Extra = []templates.Layer{{Values: map[string]any{"owner": owner()}}}
	w.Options.Check = true
	changed := []string{
		"play web 1/1: web1 web2",
		"web1 pre: hello true", "web1 file#dir changed", "web1 exec#touch made changed", "web1 post: bye", "web1 done: ok",
		"web2 pre: hello true", "web2 file#dir changed", "web2 exec#touch made changed", "web2 post: bye", "web2 done: ok",
	}
	// A check run omits the messages of a play for its end.
	predicted := slices.DeleteFunc(slices.Clone(changed), func(line string) bool { return strings.HasSuffix(line, "post: bye") })
	require.Equal(t, predicted, w.run(t))
	require.NoFileExists(t, filepath.Join(hosts["web1"].Home, "made"))

	w.Options.Check = false
	require.Equal(t, changed, w.run(t))
	require.FileExists(t, filepath.Join(hosts["web1"].Home, "made"))
	require.DirExists(t, filepath.Join(hosts["web2"].Home, "dir"))

	stable := strings.ReplaceAll(strings.Join(changed, "\n"), "changed", "stable")
	require.Equal(t, stable, strings.Join(w.run(t), "\n"))
}

// plays is a list of three plays for all hosts.
const plays = `
- name: one
  ccm: {resources: [exec: [{"true": }]]}
- name: two
  ccm: {resources: [exec: [{"true": }]]}
- name: three
  ccm: {resources: [exec: [{"true": }]]}
`

func TestSessionsAreKept(t *testing.T) {
	for _, c := range []struct {
		name               string
		keep               int
		connections, execs int64
	}{
		{"kept between plays", 0, 1, 1},
		{"dialled again", -1, 3, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			hosts := servers(t, "web1", "web2")
			w := newWorld(t, hosts, plays)
			w.run(t) // leaves the host program there
			before := hosts["web1"].Stats()
			w.Options.Keep = c.keep
			require.Equal(t, []string{
				"play one 1/1: web1 web2", "web1 exec#true changed", "web2 exec#true changed",
				"play two 1/1: web1 web2", "web1 exec#true changed", "web2 exec#true changed",
				"play three 1/1: web1 web2", "web1 exec#true changed", "web1 done: ok", "web2 exec#true changed", "web2 done: ok",
			}, w.run(t))
			after := hosts["web1"].Stats()
			require.Equal(t, c.connections, after.Connections-before.Connections)
			require.Equal(t, c.execs, after.Execs-before.Execs)
		})
	}
}

func TestFailedHostEntersNoFurtherPlay(t *testing.T) {
	w := newWorld(t, servers(t, "web1", "web2"), `
- name: one
  ccm: {post_message: bye, resources: [exec: [{"test -e bad": {cwd: "{{ Data.home }}"}}, {"true": }]]}
- name: two
  ccm: {resources: [exec: [{"true": }]]}
`)
	require.NoError(t, os.WriteFile(filepath.Join(varOf(w, "web2", "home"), "bad"), nil, 0o600))
	require.Equal(t, []string{
		"play one 1/1: web1 web2", "web1 exec#test -e bad failed", "web1 exec#true changed", "web1 done: failed",
		"web2 exec#test -e bad changed", "web2 exec#true changed", "web2 post: bye",
		"play two 1/1: web2", "web2 exec#true changed", "web2 done: ok",
	}, w.run(t))
}

func varOf(w *world, host, name string) string {
	return w.Inventory.Host(host).Vars()[name].(string)
}

func TestFailOnError(t *testing.T) {
	w := newWorld(t, servers(t, "web1"), `ccm: {fail_on_error: true, post_message: bye, resources: [exec: [{"false": }, {"true": }]]}`)
	require.Equal(t, []string{"play site 1/1: web1", "web1 exec#false failed", "web1 exec#true skipped", "web1 done: failed"}, w.run(t))
	require.Contains(t, w.text.String(), "web1  skipped  exec#true  because of exec#false")
}

func TestSerial(t *testing.T) {
	hosts := servers(t, "web1", "web2", "web3", "web4")
	for _, c := range []struct {
		name, keys string
		bad        []string
		want       []string
		warnings   []string
		recap      string // recap of the skipped hosts and plays
	}{
		{"batches", "serial: [1, 50%]", nil, []string{
			"play one 1/3: web1", "web1 exec#test ! -e bad changed", "play one 2/3: web2 web3", "web2 exec#test ! -e bad changed", "web3 exec#test ! -e bad changed",
			"play one 3/3: web4", "web4 exec#test ! -e bad changed",
			"play two 1/1: web1 web2 web3 web4", "web1 exec#true changed", "web1 done: ok", "web2 exec#true changed", "web2 done: ok", "web3 exec#true changed", "web3 done: ok", "web4 exec#true changed", "web4 done: ok",
		}, nil, ""},
		{"a whole batch fails", "serial: 1", []string{"web2"}, []string{
			"play one 1/4: web1", "web1 exec#test ! -e bad changed", "play one 2/4: web2", "web1 done: incomplete", "web2 exec#test ! -e bad failed", "web2 done: failed",
		}, []string{`play "one": 1 of 1 hosts of a batch have failed; the run ends here`},
			"not started: 2 hosts\n    web[3-4]\nnot run: 1 play: \"two\"\n"},
		{"too many fail", "serial: 2\n  max_fail_percentage: 49", []string{"web2"}, []string{
			"play one 1/2: web1 web2", "web1 exec#test ! -e bad changed", "web1 done: incomplete", "web2 exec#test ! -e bad failed", "web2 done: failed",
		}, []string{`play "one": 1 of 2 hosts of a batch have failed; the run ends here`},
			"not started: 2 hosts\n    web[3-4]\nnot run: 1 play: \"two\"\n"},
		{"as many as may", "max_fail_percentage: 25", []string{"web2"}, []string{
			"play one 1/1: web1 web2 web3 web4", "web1 exec#test ! -e bad changed", "web2 exec#test ! -e bad failed", "web2 done: failed", "web3 exec#test ! -e bad changed", "web4 exec#test ! -e bad changed",
			"play two 1/1: web1 web3 web4", "web1 exec#true changed", "web1 done: ok", "web3 exec#true changed", "web3 done: ok", "web4 exec#true changed", "web4 done: ok",
		}, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, hosts, "- name: one\n  "+c.keys+"\n  ccm: {resources: [exec: [{\"test ! -e bad\": {cwd: \"{{ Data.home }}\"}}]]}\n- name: two\n  ccm: {resources: [exec: [{\"true\": }]]}\n")
			for _, name := range c.bad {
				bad := filepath.Join(varOf(w, name, "home"), "bad")
				require.NoError(t, os.WriteFile(bad, nil, 0o600))
				defer os.Remove(bad)
			}
			require.Equal(t, c.want, w.run(t))
			require.Equal(t, c.warnings, w.warnings)
			require.Contains(t, w.text.String(), c.recap)
			require.Equal(t, c.recap != "", strings.Contains(w.text.String(), "\nnot "))
		})
	}
}

func TestHostsThatCannotBeReached(t *testing.T) {
	hosts := servers(t, "web1", "web2", "web3")
	require.NoError(t, hosts["web2"].Close())
	require.NoError(t, os.WriteFile(hosts["web3"].KnownHosts, nil, 0o600))
	hosts["web4"] = sshtest.Start(t, sshtest.RejectAuth())
	w := newWorld(t, hosts, plays)
	require.Equal(t, []string{
		"play one 1/1: web1 web2 web3 web4", "web1 exec#true changed", "web2 unreachable", "web2 done: unreachable",
		"web3 unreachable", "web3 done: unreachable", "web4 unreachable", "web4 done: unreachable",
		"play two 1/1: web1", "web1 exec#true changed",
		"play three 1/1: web1", "web1 exec#true changed", "web1 done: ok",
	}, w.run(t))
}

func TestCompileErrorIsTheHostsOwn(t *testing.T) {
	w := newWorld(t, servers(t, "web1", "web2"), `ccm: {resources: [exec: [{"echo {{ Data.home contains Data.only ? 'x' : Facts.host.nope }}": }]]}`)
	w.Options.Catalog.Extra = []templates.Layer{{Values: map[string]any{"only": filepath.Dir(varOf(w, "web1", "home"))}}}
	require.Equal(t, []string{
		"play site 1/1: web1 web2", "web1 exec#echo x changed", "web1 done: ok", "web2 failed in compile", "web2 done: failed",
	}, w.run(t))
}

// long is a play whose command runs until it is killed, after it has left its
// process id.
const long = `
- name: long
  ccm:
    post_message: bye
    resources:
      - exec:
          - "echo $$ > {{ Data.home }}/pid; while test ! -e {{ Data.home }}/go; do sleep 0.05; done": {provider: shell, alias: wait}
          - "true": {refreshonly: true, subscribe: [exec#wait]}
          - "false": {onlyif: "false"}
- name: never
  ccm: {resources: [exec: [{"true": }]]}
`

// pid waits for the process id of the long command.
func pid(t *testing.T, home string) int {
	var process int
	require.Eventually(t, func() bool {
		b, err := os.ReadFile(filepath.Join(home, "pid"))
		n := 0
		for _, c := range strings.TrimSpace(string(b)) {
			n = n*10 + int(c-'0')
		}
		process = n
		return err == nil && n > 0
	}, time.Minute, 5*time.Millisecond)
	return process
}

func TestStop(t *testing.T) {
	hosts := servers(t, "web1")
	w := newWorld(t, hosts, long)
	stop := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		pid(t, hosts["web1"].Home)
		close(stop)
		os.WriteFile(filepath.Join(hosts["web1"].Home, "go"), nil, 0o600)
	}()
	summary, err := w.Run(t.Context(), stop)
	<-ended
	require.NoError(t, err)
	require.True(t, summary.Interrupted)
	lines := w.recorded.lines()
	require.Equal(t, "play long 1/1: web1", lines[0])
	require.Contains(t, lines[1], " changed", "the resource that runs is finished")
	require.Equal(t, []string{`web1 interrupted in long: 2 not reached, due ["exec#true"]`, "web1 done: interrupted"}, lines[2:])
	require.Equal(t, []string{"never"}, summary.PlaysNotRun)
	require.Empty(t, summary.NotStarted)
	require.Equal(t, events.HostTotals{Interrupted: 1}, summary.Totals.Hosts)
	require.Regexp(t, "web1  interrupted  2 resources not reached: exec#true and what follows it\n"+
		"    refresh due: exec#true .for changes of this run; the next one makes up for it.\n\n"+
		"web1: 1 changed, 0 stable, 2 not reached .interrupted, .*\n"+
		"not run: 1 play: \"never\"\n"+
		"interrupted: 1 host: 0 ok, 1 interrupted; 3 resources: 1 changed, 0 stable, 2 not reached; ", w.text.String())
	require.NotContains(t, lines, "web1 post: bye")
	require.NotContains(t, lines, "play never 1/1: web1")
}

func TestKill(t *testing.T) {
	hosts := servers(t, "web1")
	w := newWorld(t, hosts, long)
	var process int
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		process = pid(t, hosts["web1"].Home)
	}()
	summary, lines := w.interrupt(t, killed)
	require.True(t, summary.Interrupted)
	require.Len(t, lines, 4)
	require.Contains(t, lines[1], " failed")
	require.Equal(t, []string{"web1 interrupted in long: 2 not reached, due []", "web1 done: interrupted"}, lines[2:])
	require.Equal(t, events.StateInterrupted, summary.Hosts["web1"].State)
	require.Equal(t, events.HostTotals{Interrupted: 1}, summary.Totals.Hosts)
	require.Equal(t, 1, summary.Totals.Resources.Failed)
	require.Eventually(t, func() bool { return syscall.Kill(process, 0) == syscall.ESRCH }, time.Minute, 5*time.Millisecond, "nothing of it is left")
}

// TestKillAtTheLastResource interrupts a host that is done: a killed resource there has not failed by itself.
func TestKillAtTheLastResource(t *testing.T) {
	hosts := servers(t, "web1")
	w := newWorld(t, hosts, `ccm: {resources: [exec: [{"echo $$ > {{ Data.home }}/pid; sleep 600": {provider: shell}}]]}`)
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		pid(t, hosts["web1"].Home)
	}()
	summary, lines := w.interrupt(t, killed)
	require.True(t, summary.Interrupted)
	require.Contains(t, lines[1], " failed")
	require.Equal(t, []string{"web1 done: interrupted"}, lines[2:])
	require.Equal(t, events.HostTotals{Interrupted: 1}, summary.Totals.Hosts)
}

// TestKillAfterAFailure checks that a failure before the interruption remains a failure.
func TestKillAfterAFailure(t *testing.T) {
	hosts := servers(t, "web1")
	w := newWorld(t, hosts, `ccm: {resources: [exec: [{"false": }, {"echo $$ > {{ Data.home }}/pid; sleep 600": {provider: shell}}]]}`)
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		pid(t, hosts["web1"].Home)
	}()
	summary, lines := w.interrupt(t, killed)
	require.Equal(t, "web1 done: failed", lines[len(lines)-1])
	require.Equal(t, events.HostTotals{Failed: 1}, summary.Totals.Hosts)
}

func TestContentsTravelOnce(t *testing.T) {
	hosts := servers(t, "web1")
	w := newWorld(t, hosts, `
ccm:
  resources:
    - file:
        - defaults: {owner: "{{ string(Data.owner) }}", group: "{{ string(Data.owner) }}", mode: "0600", source: large}
        - "{{ Data.home }}/a":
        - "{{ Data.home }}/b":
        - "{{ Data.home }}/c":
`)
	w.Options.Catalog.Extra = []templates.Layer{{Values: map[string]any{"owner": owner()}}}
	const size = 300_000
	large := make([]byte, size) // of noise, which the wire cannot press together
	for i, x := 0, uint32(1); i < size; i++ {
		x = x*1664525 + 1013904223
		large[i] = byte(x >> 24)
	}
	require.NoError(t, os.WriteFile(filepath.Join(w.dir, "large"), large, 0o600))
	w.Options.Check = true
	w.run(t) // installs the host program
	w.Options.Check = false
	received := func() int64 {
		before := hosts["web1"].Stats().Received
		w.run(t)
		return hosts["web1"].Stats().Received - before
	}
	first := received()
	require.Greater(t, first, int64(size))
	require.Less(t, first, int64(2*size), "three files, one content")
	require.Less(t, received(), int64(size/2), "a converged host gets hashes")
	for _, name := range []string{"a", "b", "c"} {
		b, err := os.ReadFile(filepath.Join(hosts["web1"].Home, name))
		require.NoError(t, err)
		require.Equal(t, large, b)
	}
}

func TestLock(t *testing.T) {
	hosts := servers(t, "web1")
	locking := func(text string) *world {
		w := newWorld(t, hosts, text)
		w.Options.NoLock = false
		return w
	}
	first := locking(long)
	first.Options.LockTimeout = time.Minute
	home := hosts["web1"].Home
	ended := make(chan error)
	go func() {
		_, err := first.Run(context.WithoutCancel(t.Context()), nil)
		ended <- err
	}()
	pid(t, home)

	second := locking(plays)
	second.Options.Run = "run2"
	require.Equal(t, []string{"play one 1/1: web1", "web1 failed in lock", "web1 done: failed"}, second.run(t))
	_, text := second.recorded.failure("web1")
	require.Contains(t, text, "tester")
	require.Contains(t, second.text.String(), "hint: to wait for the other run, pass --lock-timeout 10m")

	for _, free := range []func(*world){
		func(w *world) { w.Options.Check = true },
		func(w *world) { w.Options.NoLock = true },
	} {
		w := locking(plays)
		free(w)
		require.NotContains(t, w.run(t), "web1 failed in lock")
	}

	patient := locking(plays)
	patient.Options.LockTimeout = time.Minute
	require.NoError(t, os.WriteFile(filepath.Join(home, "go"), nil, 0o600))
	require.NotContains(t, patient.run(t), "web1 failed in lock")
	require.NoError(t, <-ended)
}

// TestLockOfThisRun has two names for one host: waiting for the run would be of no use,
// since it is this one.
func TestLockOfThisRun(t *testing.T) {
	hosts := servers(t, "web1")
	hosts["web2"] = hosts["web1"]
	w := newWorld(t, hosts, `- name: one
  ccm:
    resources:
      - exec:
          - "touch first":
              cwd: "{{ Data.home }}"
- name: two
  ccm:
    resources:
      - exec:
          - "true": {}
`)
	w.Options.NoLock, w.Options.Forks = false, 1
	loser := "web2" // if web1 was there first, which is the rule
	if ran := w.run(t); slices.Contains(ran, "web1 failed in lock") {
		loser = "web1"
	} else {
		require.Contains(t, ran, "web2 failed in lock")
	}
	_, text := w.recorded.failure(loser)
	require.Contains(t, text, "another run is in progress on this host: tester, run run1, for ")
	require.Contains(t, w.text.String(), "hint: another host of this inventory has the same machine and user, and this run uses both hosts: remove one host, or exclude one with --limit")
	require.NotContains(t, w.text.String(), "--lock-timeout")
}

func TestFacts(t *testing.T) {
	hosts := servers(t, "web1", "web2")
	require.NoError(t, hosts["web2"].Close())
	w := newWorld(t, hosts, plays)
	answers := map[string]HostFacts{}
	w.Facts(t.Context(), w.Inventory.Hosts(), []string{"host.info.os"}, func(f HostFacts) { answers[f.Host] = f })
	require.Len(t, answers, 2)
	require.Contains(t, answers["web1"].Facts, "host")
	require.NotContains(t, answers["web1"].Facts, "memory")
	require.Nil(t, answers["web1"].Err)
	require.IsType(t, events.Unreachable{}, answers["web2"].Err)
}

func TestLimitMayLeaveAPlayWithoutHosts(t *testing.T) {
	hosts := servers(t, "web1", "web2")
	w := newWorld(t, hosts, `
- {name: one, hosts: web1, ccm: {resources: [{exec: ["true": {}]}]}}
- {name: two, hosts: web2, ccm: {resources: [{exec: ["true": {}]}]}}
`)
	w.Options.Limit = "web2"
	require.Equal(t, []string{"play two 1/1: web2", "web2 exec#true changed", "web2 done: ok"}, w.run(t))

	w.Options.Limit = "nosuch"
	_, err := w.Run(t.Context(), nil)
	require.ErrorContains(t, err, "selects no host")
}

func TestKeptConnectionThatDiedIsDialledAgain(t *testing.T) {
	hosts := servers(t, "web1")
	w := newWorld(t, hosts, `
- {name: one, ccm: {resources: [{exec: ["true": {}]}]}}
- {name: two, ccm: {resources: [{exec: ["true": {}]}]}}
`)
	f := &fleet{runner: w.Runner, states: map[string]*hostState{}}
	state := &hostState{host: w.Inventory.Host("web1")}
	defer state.close()
	first, second := f.playOn((&selection{play: w.Plays[0]}).whole(), state), f.playOn((&selection{play: w.Plays[1]}).whole(), state)
	require.NoError(t, first.start(t.Context()))
	state.client.Close()
	require.NoError(t, second.start(t.Context()))
	require.NotSame(t, first.program, second.program)
}

// TestCheckSeesEarlierPlays has a play of a check run need what the one before it
// would have made, with the same program and with a new one.
func TestCheckSeesEarlierPlays(t *testing.T) {
	const plays = `
- name: one
  ccm: {resources: [file: ["{{ Data.home }}/dir": {ensure: directory, owner: "{{ string(Data.owner) }}", group: "{{ string(Data.owner) }}", mode: "0700"}]]}
- name: two
  ccm: {resources: [file: ["{{ Data.home }}/dir/f": {content: x, owner: "{{ string(Data.owner) }}", group: "{{ string(Data.owner) }}", mode: "0600"}]]}
`
	for keep, certain := range map[int]bool{0: true, -1: false} {
		w := newWorld(t, servers(t, "web1"), plays)
		w.Options.Catalog.Extra = []templates.Layer{{Values: map[string]any{"owner": owner()}}}
		w.Options.Check, w.Options.Keep = true, keep
		require.Equal(t, []string{"play one 1/1: web1", "web1 file#dir changed", "play two 1/1: web1", "web1 file#f changed", "web1 done: ok"}, w.run(t))
		require.Equal(t, !certain, strings.Contains(w.text.String(), "unless an earlier play fixes this first"), w.text.String())
	}
}
