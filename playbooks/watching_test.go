package playbooks

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/watch"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// A watchedWorld is a world whose hosts are watched, and what is told of them.
type watchedWorld struct {
	*world
	told    chan events.Event
	summary events.Summary
	stop    func()
}

// watchWorld begins to watch hosts. It is over when stop has been called, or when the test ends.
func watchWorld(t *testing.T, hosts map[string]*sshtest.Server, text string, with func(*world)) *watchedWorld {
	w := newWorld(t, hosts, text)
	w.withFull(t)
	rules := watch.Defaults()
	rules.Settle, rules.Poll = 10*time.Millisecond, 200*time.Millisecond
	w.Options.Watch = &Watch{Rules: &rules}
	if with != nil {
		with(w)
	}
	one := &watchedWorld{world: w, told: make(chan events.Event, 1000)}
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
	for e := range w.told {
		if meant, ok := e.(E); ok {
			return meant
		}
	}
	var none E
	require.Fail(t, "it has ended", "before there was a %T\n%s", none, w.text)
	return none
}

// motd is a file below the home of a host.
const motd = `file: ["{{ Data.home }}/motd": {content: "hello\n", mode: "0644", owner: "%d", group: "%d"}]`

func owned(text string) string { return fmt.Sprintf(text, os.Geteuid(), os.Getegid()) }

// edit writes a file as editors do: nobody sees a part of it.
func edit(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path+".new", []byte(text), 0o644))
	require.NoError(t, os.Rename(path+".new", path))
}

func TestWatchTellsDrift(t *testing.T) {
	hosts := servers(t, "web1", "web2")
	w := watchWorld(t, hosts, "name: site\nccm: {resources: ["+owned(motd)+"]}", nil)
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
