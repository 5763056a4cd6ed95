package playbooks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/rollout"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// A watchedWorld is a world whose hosts are watched, with the reports about them.
type watchedWorld struct {
	*world
	told    chan events.Event
	steer   chan rollout.Request
	summary events.Summary
	stop    func()
}

// watchWorld begins to watch hosts. It is over when stop has been called, or when the test ends.
func watchWorld(t *testing.T, hosts map[string]*sshtest.Server, text string, with func(*world)) *watchedWorld {
	w := newWorld(t, hosts, text)
	w.withFull(t)
	w.Options.Watch = &Watch{}
	if with != nil {
		with(w)
	}
	one := &watchedWorld{world: w, told: make(chan events.Event, 1000), steer: make(chan rollout.Request)}
	w.Steer = one.steer
	w.recorded.watch = func(e events.Event) { one.told <- e }
	stop := make(chan struct{})
	var running sync.WaitGroup
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Minute)
	running.Go(func() {
		defer close(one.told)
		summary, err := w.Run(ctx, stop)
		if err != nil {
			t.Error(err)
		}
		one.summary = summary
	})
	once := sync.OnceFunc(func() {
		close(stop)
		running.Wait()
		cancel()
	})
	one.stop = once
	t.Cleanup(once)
	return one
}

// next waits for the next event of a kind.
func next[E events.Event](t *testing.T, w *watchedWorld) E {
	t.Helper()
	late := time.After(time.Minute)
	for {
		var none E
		select {
		case e := <-w.told:
			if meant, ok := e.(E); ok {
				return meant
			}
			if e != nil {
				continue
			}
			require.Fail(t, "it has ended", "before there was a %T\n%s", none, w.text)
		case <-late:
			w.stop()
			require.Fail(t, "it is late", "there is no %T\n%s", none, w.text)
		}
		return none
	}
}

// motd is a file below the home of a host.
const motd = `file: ["{{ Data.home }}/motd": {content: "hello\n", mode: "0644", owner: "%d", group: "%d"}]`

func owned(text string) string { return fmt.Sprintf(text, os.Geteuid(), os.Getegid()) }

// edit writes a file as editors do: no reader sees a part of it.
func edit(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path+".new", []byte(text), 0o644))
	require.NoError(t, os.Rename(path+".new", path))
}

func TestWatchTellsDrift(t *testing.T) {
	hosts := servers(t, "web1", "web2")
	w := watchWorld(t, hosts, "name: site\nwatch: {settle: 10ms, poll: 1s}\nccm: {resources: ["+owned(motd)+"]}", nil)
	start := next[events.WatchStart](t, w)
	require.Equal(t, 2, start.Hosts)
	for range hosts {
		e := next[events.Watched](t, w)
		require.Equal(t, 1, e.Resources)
		require.Empty(t, e.Unsettled)
	}
	path := filepath.Join(hosts["web2"].Home, "motd")
	edit(t, path, "bye\n")
	drift := next[events.Drifted](t, w)
	require.Equal(t, "web2", drift.Host)
	require.Equal(t, path, drift.Name)
	require.Equal(t, events.Drift, drift.Cause)
	require.Equal(t, "content", drift.Changes[0].Property)
	edit(t, path, "hello\n")
	settled := next[events.Drifted](t, w)
	require.True(t, settled.Settled)
	w.stop()
	require.Equal(t, &events.WatchTotals{Hosts: 2}, w.summary.Watch)
	require.False(t, w.summary.Interrupted)
	require.Equal(t, 8, w.summary.ExitStatus(true))
	require.Contains(t, w.text.String(), "web1: 1 changed, 0 stable")
}

func TestWatchRepairs(t *testing.T) {
	hosts := servers(t, "web1")
	text := owned(`
name: site
watch: {settle: 10ms, poll: 1s}
ccm:
  resources:
    - exec: ["{{ Data.home }}/count.sh": {command: "sh -c 'echo run >> {{ Data.home }}/count'"}]
    - file: ["{{ Data.home }}/motd": {content: "hello\n", mode: "0644", owner: "%d", group: "%d", alias: motd}]
    - exec: [reload: {command: "sh -c 'echo reloaded >> {{ Data.home }}/reloads'", refreshonly: true, subscribe: ["file#motd"]}]
`)
	w := watchWorld(t, hosts, text, func(w *world) { w.Options.Watch.Repair = true })
	require.Len(t, next[events.Watched](t, w).Unsettled, 1, "a command that always runs")
	home := hosts["web1"].Home
	edit(t, filepath.Join(home, "motd"), "bye\n")
	require.Equal(t, "repair", next[events.Drifted](t, w).Mode)
	repaired := next[events.Repaired](t, w)
	require.Empty(t, repaired.Error)
	require.Equal(t, filepath.Join(home, "motd"), repaired.Name)
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(home, name))
		require.NoError(t, err)
		return string(b)
	}
	require.Equal(t, "hello\n", read("motd"))
	require.Equal(t, "reloaded\nreloaded\n", read("reloads"), "once when it was made, and once when it was mended")
	require.Equal(t, "run\n", read("count"), "what had not drifted is left alone")

	edit(t, filepath.Join(home, "motd"), "bye\n")
	fight := next[events.Fighting](t, w)
	require.Equal(t, 2, fight.Times)
	require.Empty(t, fight.Values[0])
	require.Contains(t, fight.Values[1], "content: ")
	say := func(host, resource string) string {
		answer := make(chan rollout.Reply, 1)
		w.steer <- rollout.Request{Command: rollout.Command{Verb: rollout.ReleaseHost, Host: host, Resource: resource}, Answer: func(r rollout.Reply) { answer <- r }}
		return (<-answer).Error
	}
	require.Equal(t, `no host "web9" is watched`, say("web9", ""))
	require.Equal(t, "file#x of web1 has its desired state, or is not watched", say("web1", "file#x"))
	require.Empty(t, say("web1", "file#motd"), "by its alias")
	require.Empty(t, next[events.Repaired](t, w).Error)
	require.Equal(t, "all resources of web1 have their desired state", say("web1", ""))
	edit(t, filepath.Join(home, "motd"), "bye\n")
	next[events.Drifted](t, w)
	require.Empty(t, next[events.Repaired](t, w).Error)
	edit(t, filepath.Join(home, "motd"), "bye\n")
	next[events.Fighting](t, w)
	w.stop()
	require.Equal(t, &events.WatchTotals{Hosts: 1, Drifted: 1, Fighting: 1}, w.summary.Watch)
	require.Zero(t, w.summary.ExitStatus(false))
	require.Equal(t, "bye\n", read("motd"))
}

// TestWatchRepairsWhatItHadNotHeardOf has files drift whose drift the host has not reported when another file is
// repaired. Files in repair mode are repaired, and their drift is reported; files that are only reported are not
// changed, also in a later stage of the play.
func TestWatchRepairsWhatItHadNotHeardOf(t *testing.T) {
	hosts := servers(t, "web1")
	home := hosts["web1"].Home
	w := watchWorld(t, hosts, `
name: site
watch: {settle: 10ms}
ccm:
  resources:
    - exec: ["echo hello": {readonly: true, register: said}]
    - file: ["{{ Data.home }}/seen": {content: "hello\n", mode: "0644"}]
    - file: ["{{ Data.home }}/unseen": {content: "hello\n", mode: "0644", watch: {settle: 5m}}]
    - file: ["{{ Data.home }}/reported": {content: "{{ Results.said.stdout }}", mode: "0644", watch: {mode: report, settle: 5m}}]
`, func(w *world) {
		w.Options.Watch.Repair, w.Options.NoLock = true, false // so that the host notes their final state
	})
	next[events.Watched](t, w)
	for _, name := range []string{"reported", "unseen", "seen"} {
		edit(t, filepath.Join(home, name), "bye\n")
	}
	var told []string
	for len(told) < 5 {
		select {
		case e := <-w.told:
			switch e := e.(type) {
			case events.Drifted:
				require.Equal(t, "content", e.Changes[0].Property)
				told = append(told, "drift "+filepath.Base(e.Name)+" "+e.Mode)
			case events.Repaired:
				require.Empty(t, e.Error)
				told = append(told, "repaired "+filepath.Base(e.Name))
			}
		case <-time.After(time.Minute):
			require.Fail(t, "it is late", "%v\n%s", told, w.text)
		}
	}
	require.ElementsMatch(t, []string{"drift seen repair", "drift unseen repair", "repaired seen", "repaired unseen", "drift reported report"}, told)
	for name, text := range map[string]string{"seen": "hello\n", "unseen": "hello\n", "reported": "bye\n"} {
		is, err := os.ReadFile(filepath.Join(home, name))
		require.NoError(t, err)
		require.Equal(t, text, string(is), name)
	}
	w.stop()
	require.Equal(t, &events.WatchTotals{Hosts: 1, Drifted: 1}, w.summary.Watch)
}

// TestWatchStopsBehindARepair stops a run during a repair: the running command ends, and the outcome of the repair is
// reported.
func TestWatchStopsBehindARepair(t *testing.T) {
	hosts := servers(t, "web1")
	home := hosts["web1"].Home
	w := watchWorld(t, hosts, `
name: site
watch: {settle: 10ms, poll: 1s}
ccm:
  resources:
    - file:
        - "{{ Data.home }}/d": {ensure: directory}
        - "{{ Data.home }}/d/first": {content: "hello\n", mode: "0644", alias: first}
    - exec: [reload: {command: "sh -c 'if test -e slow; then touch begun; until test -e go; do sleep 0.05; done; fi; echo reloaded >>reloads'", cwd: "{{ Data.home }}", refreshonly: true, subscribe: ["file#first"]}]
`, func(w *world) { w.Options.Watch.Repair = true })
	next[events.Watched](t, w)
	require.NoError(t, os.WriteFile(filepath.Join(home, "slow"), nil, 0o600))
	require.NoError(t, os.Rename(filepath.Join(home, "d"), filepath.Join(home, "gone"))) // all of it at once
	require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(home, "begun")); return err == nil }, time.Minute, 10*time.Millisecond)
	over := make(chan struct{})
	go func() {
		defer close(over)
		w.stop()
	}()
	select {
	case <-over:
		require.Fail(t, "it does not wait for the command that is running")
	case <-time.After(300 * time.Millisecond):
	}
	require.NoError(t, os.WriteFile(filepath.Join(home, "go"), nil, 0o600))
	<-over
	reloads, err := os.ReadFile(filepath.Join(home, "reloads"))
	require.NoError(t, err)
	require.Equal(t, "reloaded\nreloaded\n", string(reloads))
	outcomes := map[string]string{}
	for e := range w.told {
		if r, is := e.(events.Repaired); is {
			require.Nil(t, r.Next)
			outcomes[filepath.Base(r.Name)] = r.Error
		}
	}
	require.Equal(t, map[string]string{"d": "", "first": ""}, outcomes)
	require.Zero(t, w.summary.Watch.Drifted)
}

// TestWatchRepairFails has a command that fails until something else is there.
func TestWatchRepairFails(t *testing.T) {
	hosts := servers(t, "web1")
	home := hosts["web1"].Home
	needed, made := filepath.Join(home, "needed"), filepath.Join(home, "made")
	require.NoError(t, os.WriteFile(needed, nil, 0o600))
	w := watchWorld(t, hosts, `
name: site
watch: {mode: repair, settle: 10ms, poll: 1s, repair: {backoff: 300ms, budget: 1000}}
ccm: {resources: [exec: [make: {command: "sh -c 'test -e {{ Data.home }}/needed && touch {{ Data.home }}/made'", creates: "{{ Data.home }}/made"}]]}
`, nil)
	next[events.Watched](t, w)
	require.NoError(t, os.Remove(needed))
	require.NoError(t, os.Remove(made))
	for range 3 {
		r := next[events.Repaired](t, w)
		require.Contains(t, r.Error, "1")
		require.NotNil(t, r.Next)
	}
	require.NoError(t, os.WriteFile(needed, nil, 0o600))
	for next[events.Repaired](t, w).Error != "" {
	}
	require.FileExists(t, made)
	w.stop()
	require.Equal(t, &events.WatchTotals{Hosts: 1}, w.summary.Watch)
	require.Zero(t, w.summary.ExitStatus(false), "the plays were well")
}

// wish is a manifest of one file with a text.
func wish(text string) string {
	return "name: site\nwatch: {settle: 10ms, poll: 1s}\nccm: {resources: [" + owned(strings.Replace(motd, "hello", text, 1)) + "]}"
}

// asSecond makes a world one of another run, which watches as well.
func asSecond(w *world) {
	w.Options.Run = "run2"
	w.Events = events.NewStream("run2", time.Now, w.Tally, w.recorded, events.NewText(w.text, events.TextOptions{}))
}

// TestWatchLeavesOtherRunsAlone has another run, which takes the lock of the host, want a file otherwise.
func TestWatchLeavesOtherRunsAlone(t *testing.T) {
	hosts := servers(t, "web1")
	locks := func(w *world) {
		w.Options.NoLock, w.Options.LockTimeout, w.Options.Watch.Repair = false, time.Minute, true // root uses the lock of the machine
	}
	one := watchWorld(t, hosts, wish("one"), locks)
	next[events.Watched](t, one)
	two := watchWorld(t, hosts, wish("two"), func(w *world) {
		locks(w)
		asSecond(w)
	})
	next[events.Watched](t, two)
	told := next[events.Drifted](t, one)
	require.Equal(t, events.ByRun, told.Cause)
	require.Equal(t, "run2", told.Writer.By)
	one.stop()
	two.stop()
	require.Equal(t, &events.WatchTotals{Hosts: 1, Drifted: 1}, one.summary.Watch)
	b, err := os.ReadFile(filepath.Join(hosts["web1"].Home, "motd"))
	require.NoError(t, err)
	require.Equal(t, "two\n", string(b), "it is not mended")
}

// TestWatchTwoWishes repairs the same file from two controllers with different desired states. Each takes the changes
// of the other for drift, since their notes are in different places. The first controller that detects the fight stops
// repairing.
func TestWatchTwoWishes(t *testing.T) {
	home := t.TempDir()
	begin := func(text, settle string, with func(*world)) *watchedWorld {
		hosts := servers(t, "web1")
		manifest := strings.NewReplacer("{{ Data.home }}", home, "10ms", settle).Replace(wish(text))
		return watchWorld(t, hosts, manifest, func(w *world) {
			w.Options.Watch.Repair = true
			with(w)
		})
	}
	one := begin("one", "3s", func(*world) {}) // so that it repairs nothing until the other one is watched
	next[events.Watched](t, one)
	two := begin("two", "10ms", asSecond)
	require.Empty(t, next[events.Watched](t, two).Unsettled)
	told := 0
	for fights := false; !fights; told++ {
		var e events.Event
		select {
		case e = <-one.told:
		case e = <-two.told:
		}
		require.NotNil(t, e, "it has ended before there was a fight\n%s\n%s", one.text, two.text)
		_, fights = e.(events.Fighting)
	}
	one.stop()
	two.stop()
	require.Less(t, told, 40, "a repair has a few events")
	require.Equal(t, 1, one.summary.Watch.Fighting+two.summary.Watch.Fighting, "the other one has what it wants")
}

// TestWatchMendsFewHosts has all hosts drift at once: at most a share of them is repaired.
func TestWatchMendsFewHosts(t *testing.T) {
	var names []string
	for i := range 10 {
		names = append(names, fmt.Sprintf("web%d", i))
	}
	hosts := servers(t, names...)
	w := watchWorld(t, hosts, "name: site\nwatch: {mode: repair, settle: 10ms, repair: {fleet: 25%}}\nccm: {resources: ["+owned(motd)+"]}", nil)
	for range hosts {
		next[events.Watched](t, w)
	}
	for _, srv := range hosts {
		edit(t, filepath.Join(srv.Home, "motd"), "wrong\n")
	}
	drifted, repaired := 0, 0
	for drifted < len(hosts) || repaired < 2 {
		switch e := (<-w.told).(type) {
		case events.Drifted:
			drifted++
		case events.Repaired:
			require.Empty(t, e.Error)
			repaired++
		case nil:
			require.Fail(t, "it has ended", "%s", w.text)
		}
	}
	w.stop()
	require.Equal(t, &events.WatchTotals{Hosts: 10, Drifted: 8}, w.summary.Watch)
	wrong := 0
	for _, srv := range hosts {
		b, err := os.ReadFile(filepath.Join(srv.Home, "motd"))
		require.NoError(t, err)
		if string(b) == "wrong\n" {
			wrong++
		}
	}
	require.Equal(t, 8, wrong)
}

// TestWatchOnce distinguishes drifted resources from resources with a new desired state.
func TestWatchOnce(t *testing.T) {
	hosts := servers(t, "web1", "web2")
	once := func(text string) *watchedWorld {
		w := watchWorld(t, hosts, text, func(w *world) {
			w.Options.Check, w.Options.Watch.Once = true, true
			w.Options.Watch.FailOn = []FailOn{FailOnDrift}
		})
		for range w.told {
		}
		return w
	}
	text := "name: site\nccm: {resources: [" + owned(motd) + "]}"
	w := once(text)
	require.Equal(t, &events.WatchTotals{Hosts: 2}, w.summary.Watch, "that it is asked for is no drift")
	require.Zero(t, w.summary.ExitStatus(false))
	require.Empty(t, w.summary.NotStarted)
	path := filepath.Join(hosts["web1"].Home, "motd")
	require.NoFileExists(t, path)
	converge := newWorld(t, hosts, text)
	converge.Options.NoLock, converge.Options.LockTimeout = false, time.Minute // without it nothing is noted
	converge.Options.Forks = 1                                                 // root uses the lock of the machine
	converge.run(t)
	require.Equal(t, &events.WatchTotals{Hosts: 2}, once(text).summary.Watch)
	edit(t, path, "bye\n")
	w = once(text)
	require.Equal(t, &events.WatchTotals{Hosts: 2, Drifted: 1, Failed: 8}, w.summary.Watch)
	require.Equal(t, 8, w.summary.ExitStatus(false))
	require.FileExists(t, path)
	hosts["web2"].Close()
	w = once(text)
	require.Equal(t, 4+8, w.summary.ExitStatus(false))
}

func TestWatchEndsWhenNothingChanges(t *testing.T) {
	hosts := servers(t, "web1")
	w := watchWorld(t, hosts, "name: site\nwatch: {mode: repair, settle: 10ms}\nccm: {resources: ["+owned(motd)+"]}", func(w *world) {
		w.Options.Watch.Converged = 2 * time.Second
	})
	next[events.Watched](t, w)
	edit(t, filepath.Join(hosts["web1"].Home, "motd"), "bye\n")
	repaired := next[events.Repaired](t, w)
	end := next[events.Summary](t, w)
	require.GreaterOrEqual(t, end.Time.Sub(repaired.Time), 2*time.Second)
	require.Zero(t, end.ExitStatus(false))
}

// TestWatchEndsForWhatFollows starts the run of other plays while a host is being repaired: the repair ends, and
// nothing else is begun.
func TestWatchEndsForWhatFollows(t *testing.T) {
	hosts := servers(t, "web1")
	home := hosts["web1"].Home
	until := make(chan struct{})
	w := watchWorld(t, hosts, `
name: site
watch: {mode: repair, settle: 10ms}
ccm: {resources: [exec: [make: {command: "sh -c 'touch {{ Data.home }}/begun; sleep 1; touch {{ Data.home }}/made'", creates: "{{ Data.home }}/made"}]]}
`, func(w *world) { w.Options.Watch.Until = until })
	next[events.Watched](t, w)
	require.NoError(t, os.Remove(filepath.Join(home, "begun")))
	require.NoError(t, os.Remove(filepath.Join(home, "made")))
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(home, "begun"))
		return err == nil
	}, time.Minute, 10*time.Millisecond)
	close(until)
	end := next[events.Summary](t, w)
	require.FileExists(t, filepath.Join(home, "made"))
	require.Equal(t, 1, end.Watch.Hosts)
	require.False(t, end.Interrupted)
}

// TestWatchOnly watches hosts without applying the plays: resources that drift later are repaired, and resources that
// were never in their desired state are not.
func TestWatchOnly(t *testing.T) {
	hosts := servers(t, "web1")
	home := hosts["web1"].Home
	watchOnly := func(text string, only bool) *watchedWorld {
		return watchWorld(t, hosts, "name: site\nwatch: {mode: repair, settle: 10ms}\nccm: {resources: ["+text+"]}", func(w *world) { w.Options.Watch.Only = only })
	}
	w := watchOnly(owned(motd), false)
	next[events.Watched](t, w)
	w.stop()
	w = watchOnly(owned(motd)+`, {exec: [never: {command: "touch {{ Data.home }}/made", creates: "{{ Data.home }}/made"}]}`, true)
	require.Equal(t, []string{"exec#never"}, next[events.Watched](t, w).Unsettled)
	edit(t, filepath.Join(home, "motd"), "bye\n")
	require.Empty(t, next[events.Repaired](t, w).Error)
	w.stop()
	require.NoFileExists(t, filepath.Join(home, "made"))
	require.Empty(t, w.summary.PlaysNotRun)
}

// TestWatchLosesHosts cuts a connection, and changes the host meanwhile.
func TestWatchLosesHosts(t *testing.T) {
	hosts := servers(t, "web1")
	w := watchWorld(t, hosts, "name: site\nwatch: {settle: 10ms}\nccm: {resources: ["+owned(motd)+"]}", func(w *world) {
		w.Options.NoLock, w.Options.LockTimeout = false, time.Minute // root uses the lock of the machine
	})
	next[events.Watched](t, w)
	for _, text := range []string{"while it was away\n", "and again\n"} {
		before := hosts["web1"].Stats()
		edit(t, filepath.Join(hosts["web1"].Home, "motd"), text)
		hosts["web1"].Cut()
		lost := next[events.Unwatched](t, w)
		require.Equal(t, "web1", lost.Host)
		require.LessOrEqual(t, lost.Next.Sub(lost.Time), firstWatch)
		back := next[events.Watched](t, w)
		require.Equal(t, "web1", back.Host)
		require.Equal(t, 1, back.Resources)
		require.Equal(t, int64(1), hosts["web1"].Stats().Connections-before.Connections)
	}
	w.stop()
	require.Contains(t, w.text.String(), "drift")
	require.Equal(t, 1, w.summary.Watch.Drifted)
	require.Equal(t, 0, w.summary.Watch.Unwatched)
	require.Zero(t, w.summary.ExitStatus(false))
}

// TestWatchAgain has a host that is lost fifty times wait for times up to a minute, and for a second at most once it was watched.
func TestWatchAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var waits []time.Duration
		tell := func(_ context.Context, n WatchNews) {
			lost := n.Lost.Failure.Event.(events.HostFailed)
			require.Equal(t, []string{"site", "web1", "gone"}, []string{lost.Play, lost.Host, lost.Error})
			waits = append(waits, n.Lost.Wait)
		}
		of, state := &selection{play: &manifest.Play{Name: "site"}}, &hostState{host: &inventory.Host{Name: "web1"}}
		times, ended, slept := 0, time.Now(), time.Duration(0)
		watchAgain(ctx, of, state, tell, func() (stood bool, err error) {
			slept += time.Since(ended)
			defer func() { ended = time.Now() }()
			time.Sleep(time.Hour)
			if times++; times == 52 {
				cancel()
			}
			return times == 51, errors.New("gone")
		})
		require.Len(t, waits, 51, "the end is told as a loss")
		longest, whole := firstWatch, time.Duration(0)
		for _, wait := range waits[:50] {
			require.Less(t, wait, longest)
			longest, whole = min(2*longest, longestWatch), whole+wait
		}
		require.Greater(t, slices.Max(waits[:50]), longestWatch/2)
		require.Less(t, waits[50], firstWatch)
		require.Equal(t, whole+waits[50], slept)
	})
}

// TestWatchWaitsForHosts watches hosts that could not be reached when the plays were applied.
func TestWatchWaitsForHosts(t *testing.T) {
	hosts := servers(t, "web1", "web2")
	port := hosts["web2"].Port
	hosts["web2"].Close()
	w := watchWorld(t, hosts, "name: site\nccm: {resources: ["+owned(motd)+"]}", func(w *world) {
		w.Options.Watch.FailOn = []FailOn{FailOnUnwatched}
	})
	require.Equal(t, "web1", next[events.Watched](t, w).Host)
	lost := next[events.Unwatched](t, w)
	require.Equal(t, "web2", lost.Host)
	require.Contains(t, lost.Error, fmt.Sprint(port))
	w.stop()
	require.Equal(t, &events.WatchTotals{Hosts: 2, Unwatched: 1, Failed: 4}, w.summary.Watch)
	require.Equal(t, 4, w.summary.ExitStatus(false))
}

// TestWatchRepairsNothingInQuietTimes makes a file stop repairs on a host when the drift is already known.
func TestWatchRepairsNothingInQuietTimes(t *testing.T) {
	hosts := servers(t, "web1")
	home := hosts["web1"].Home
	needed, made, quiet := filepath.Join(home, "needed"), filepath.Join(home, "made"), filepath.Join(home, "quiet")
	require.NoError(t, os.WriteFile(needed, nil, 0o600))
	w := watchWorld(t, hosts, `
name: site
watch: {mode: repair, settle: 10ms, repair: {backoff: 300ms, budget: 1000}, quiet: [{file: "`+quiet+`"}]}
ccm: {resources: [exec: [make: {command: "sh -c 'test -e {{ Data.home }}/needed && touch {{ Data.home }}/made'", creates: "{{ Data.home }}/made"}]]}
`, nil)
	next[events.Watched](t, w)
	require.NoError(t, os.Remove(needed))
	require.NoError(t, os.Remove(made))
	require.NotEmpty(t, next[events.Repaired](t, w).Error)
	require.NoError(t, os.WriteFile(quiet, nil, 0o600))
	require.NoError(t, os.WriteFile(needed, nil, 0o600))
	for next[events.Repaired](t, w).Error != quiet+" is there" { // one was under way, perhaps
	}
	require.NoFileExists(t, made)
	require.NoError(t, os.Remove(quiet))
	for next[events.Repaired](t, w).Error != "" {
	}
	require.FileExists(t, made)
}
