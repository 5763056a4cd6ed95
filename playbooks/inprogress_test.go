package playbooks

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/record"
	"github.com/ccm-push/ccm-push/transport/dial"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// An inside is a run of hosts that enter a critical section: each logs B NAME and E NAME in one file, and stays inside
// until a test lets it out.
type inside struct {
	*world
	t     *testing.T
	hosts map[string]*sshtest.Server
	dir   string
	ended chan struct{} // closed at the end of the run
}

// critical returns the command of an exec that enters and leaves the critical section.
func critical(dir string) string {
	return fmt.Sprintf("provider: shell, cwd: %q, command: \"echo B {{ Host.name }} >>log; until test -e go-{{ Host.name }}; do sleep 0.02; done; echo E {{ Host.name }} >>log\"", dir)
}

// newInside makes a run of two hosts, with more as properties of the critical section. Their programs outlive the connection.
func newInside(t *testing.T, more string) *inside {
	sshtest.NeedsOwnLock(t)
	i := &inside{t: t, dir: t.TempDir(), hosts: map[string]*sshtest.Server{}, ended: make(chan struct{})}
	require.NoError(t, os.Chmod(i.dir, 0o777))
	for _, name := range []string{"web1", "web2"} {
		i.hosts[name] = sshtest.Start(t, sshtest.Outlive())
	}
	i.world = newWorld(t, i.hosts, fmt.Sprintf(`
max_fail_percentage: 100
ccm:
  resources:
    - exec:
        - crit: {%s, %s}
`, more, critical(i.dir)))
	i.Options.NoLock, i.Options.LockTimeout, i.Options.Reconnect = false, time.Minute, time.Minute
	return i
}

// begin begins the run, and returns the host that is inside first.
func (i *inside) begin() (first, second string) {
	i.begins()
	require.Eventually(i.t, func() bool { return len(i.log()) > 0 }, time.Minute, 5*time.Millisecond)
	first = strings.Fields(i.log()[0])[1]
	return first, map[string]string{"web1": "web2", "web2": "web1"}[first]
}

// begins begins the run. At the end of the test nothing of it runs any more.
func (i *inside) begins() {
	ended := i.ended
	go func() {
		defer close(ended)
		_, err := i.Run(i.t.Context(), nil)
		if err != nil {
			i.t.Error(err)
		}
	}()
	i.t.Cleanup(func() {
		i.out("web1")
		i.out("web2")
		<-ended
		require.Eventually(i.t, func() bool {
			return len(processesOf(i.hosts["web1"].Home, true))+len(processesOf(i.hosts["web2"].Home, true)) == 0
		}, time.Minute, 20*time.Millisecond)
	})
}

// out lets a host out.
func (i *inside) out(host string) {
	require.NoError(i.t, os.WriteFile(filepath.Join(i.dir, "go-"+host), nil, 0o600))
}

func (i *inside) log() []string {
	text, err := os.ReadFile(filepath.Join(i.dir, "log"))
	if err != nil {
		require.ErrorIs(i.t, err, os.ErrNotExist)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")[:bytes.Count(text, []byte("\n"))]
}

// onlyInside requires that nothing happens in the critical section for a while.
func (i *inside) stays(want ...string) {
	time.Sleep(time.Second)
	require.Equal(i.t, want, i.log())
}

// result returns the result of the critical section on a host.
func (i *inside) result(host string) events.Result {
	for _, e := range i.recorded.list {
		if r, ok := e.(events.Result); ok && r.Host == host {
			return r
		}
	}
	require.Fail(i.t, "no result of "+host, i.text.String())
	return events.Result{}
}

// killProgram kills the host program of a host, and leaves its commands.
func (i *inside) killProgram(host string) {
	for _, folder := range processesAt(i.hosts[host].Home) {
		argv, err := os.ReadFile(filepath.Join(folder, "cmdline"))
		if err != nil || !bytes.Contains(argv, []byte("\x00serve\x00")) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(folder))
		require.NoError(i.t, err)
		require.NoError(i.t, syscall.Kill(pid, syscall.SIGKILL))
		return
	}
	require.Fail(i.t, "no host program of "+host)
}

// TestSemaphoreOutlivesTheConnection loses the connection to a host inside: it keeps its semaphore until it has reported.
func TestSemaphoreOutlivesTheConnection(t *testing.T) {
	i := newInside(t, "sema: [db]")
	first, second := i.begin()
	i.hosts[first].Cut()
	i.stays("B " + first)
	i.out(second)
	i.out(first)
	<-i.ended
	require.Equal(t, []string{"B " + first, "E " + first, "B " + second, "E " + second}, i.log())
	require.Equal(t, events.Changed, i.result(first).Status)
	require.Equal(t, events.Changed, i.result(second).Status)
	require.Contains(t, i.text.String(), "reconnected")
}

// TestSemaphoreOutlivesTheHostProgram kills the host program of a host inside, whose command continues.
func TestSemaphoreOutlivesTheHostProgram(t *testing.T) {
	i := newInside(t, "sema: [db]")
	first, second := i.begin()
	i.killProgram(first)
	i.stays("B " + first)
	i.out(second)
	i.out(first)
	<-i.ended
	log := i.log()
	require.Equal(t, []string{"B " + first, "E " + first}, log[:2])
	require.Equal(t, []string{"B " + second, "E " + second}, log[len(log)-2:])
	require.Equal(t, events.Changed, i.result(second).Status)
}

// TestSemaphoreOfALostHost gives up a host that is inside: hosts that wait for its semaphore fail.
func TestSemaphoreOfALostHost(t *testing.T) {
	i := newInside(t, "sema: [db]")
	i.Options.Reconnect = 0
	first, second := i.begin()
	i.hosts[first].Cut()
	<-i.ended
	require.Equal(t, []string{"B " + first}, i.log())
	r := i.result(second)
	require.Equal(t, events.Failed, r.Status)
	require.False(t, r.Unknown)
	require.True(t, i.result(first).Unknown)
	require.Equal(t, fmt.Sprintf("semaphore db: %s may still hold it\n  hint: check on %[1]s whether exec#crit still runs; if it has ended, start a new run, or bring the host back and use ccm-push resume", first), r.Error)
	require.Contains(t, i.warnings, "the host "+first+" was lost during exec#crit: it may hold the semaphore db until the host is back; a timeout of the resource would free the semaphore")
}

// TestSemaphoreOfALostHostWithATimeout gives up a host that is inside: its semaphore is free when its command was ended.
func TestSemaphoreOfALostHostWithATimeout(t *testing.T) {
	i := newInside(t, "sema: [db], timeout: 2s")
	i.Options.Reconnect, i.Options.IdleTimeout = 0, 2*time.Second
	first, second := i.begin()
	began := time.Now()
	i.hosts[first].Cut()
	i.stays("B " + first)
	i.out(second)
	<-i.ended
	require.Equal(t, []string{"B " + first, "B " + second, "E " + second}, i.log())
	require.Greater(t, time.Since(began), 4*time.Second)
	require.Equal(t, events.Changed, i.result(second).Status)
	require.Contains(t, i.warnings, "the host "+first+" was lost during exec#crit: it may still hold the semaphore db, and the timeout frees the semaphore in 9s")
}

// again continues a run as ccm-push resume does, from the events of that run.
func (i *inside) again() {
	i.resumes()
	_, err := i.Run(i.t.Context(), nil)
	require.NoError(i.t, err)
}

// resumes makes the run one that resumes the one before.
func (i *inside) resumes() {
	store := record.Store{Folder: filepath.Join(i.t.TempDir(), "runs")}
	recorder := store.Recorder(record.Header{Run: "01M843PEQ8WH6MPC87S4Q736YN", Started: time.Now()}, func(text string) { i.t.Error(text) })
	for _, e := range i.recorded.list {
		if _, ends := e.(events.Summary); !ends { // it was killed
			recorder.Report(e)
		}
	}
	recorder.Sync()
	was, err := store.Find("01M843PEQ8WH6MPC87S4Q736YN")
	require.NoError(i.t, err)
	i.Options.Progress, err = was.Progress(store)
	require.NoError(i.t, err)
	i.Options.Run, i.Options.Origin, i.Options.Reconnect = "run2", record.Origin{First: "run1", Epoch: 1}, time.Minute
	i.Tally, i.Dialer, i.ended = &events.Tally{}, &dial.Dialer{}, make(chan struct{})
	i.t.Cleanup(func() { i.Dialer.Close() })
	i.recorded.reset()
	i.Events = events.NewStream("run2", time.Now, i.Tally, i.recorded, events.NewText(i.text, events.TextOptions{}))
}

// TestResumeSettlesSemaphores resumes a run that was killed while a host was inside: no other host enters before it has
// left.
func TestResumeSettlesSemaphores(t *testing.T) {
	i := newInside(t, "sema: [db]")
	i.Options.Reconnect = 0
	first, second := i.begin()
	i.hosts[first].Cut()
	<-i.ended
	i.resumes()
	i.begins()
	i.out(second)
	i.stays("B " + first)
	i.out(first)
	<-i.ended
	require.Equal(t, []string{"B " + first, "E " + first, "B " + second, "E " + second}, i.log())
	require.Equal(t, events.Changed, i.result(first).Status)
	require.Equal(t, events.Changed, i.result(second).Status)
}

// TestResumeSettlesSemaphoresWhenTheClockJumps is the same if the clock of the controller was set past the deadline.
func TestResumeSettlesSemaphoresWhenTheClockJumps(t *testing.T) {
	i := newInside(t, "sema: [db], timeout: 1h")
	i.Options.Reconnect = 0
	lost := make(chan struct{})
	i.recorded.watch = func(e events.Event) {
		if _, is := e.(events.HostFailed); is {
			close(lost)
		}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = i.Run(t.Context(), lost) // the other host would wait for an hour
	}()
	require.Eventually(t, func() bool { return len(i.log()) > 0 }, time.Minute, 5*time.Millisecond)
	first := strings.Fields(i.log()[0])[1]
	second := map[string]string{"web1": "web2", "web2": "web1"}[first]
	i.hosts[first].Cut()
	<-ended
	i.recorded.watch = nil
	i.resumes()
	i.Now = func() time.Time { return time.Now().Add(24 * time.Hour) }
	i.begins()
	i.out(second)
	i.stays("B " + first)
	i.out(first)
	<-i.ended
	require.Equal(t, []string{"B " + first, "E " + first, "B " + second, "E " + second}, i.log())
}

// TestResumeWithoutTheHostInside is the same while that host cannot be reached.
func TestResumeWithoutTheHostInside(t *testing.T) {
	for _, more := range []string{"sema: [db]", "once: true"} {
		t.Run(more, func(t *testing.T) {
			i := newInside(t, more)
			i.Options.Reconnect = 0
			first, second := i.begin()
			i.hosts[first].Cut()
			<-i.ended
			i.resumes()
			i.Options.Reconnect, i.Options.Limit = 0, second
			i.begins()
			i.out(second)
			<-i.ended
			require.Equal(t, []string{"B " + first}, i.log())
			r := i.result(second)
			require.Equal(t, events.Failed, r.Status)
			require.Equal(t, more == "once: true", r.Unknown)
			require.Contains(t, r.Error, map[bool]string{true: first + " was lost after it had begun this", false: "semaphore db: " + first + " may still hold it"}[r.Unknown])
		})
	}
}

// TestElsewhereIsDialledAgain loses the host on which a resource of another one runs: its result is fetched.
func TestElsewhereIsDialledAgain(t *testing.T) {
	i := newInside(t, "on: web2")
	i.out("web2")
	require.NoError(t, os.WriteFile(filepath.Join(i.dir, "log"), nil, 0o666))
	i.begins()
	require.Eventually(t, func() bool { return slices.Contains(i.log(), "B web1") }, time.Minute, 5*time.Millisecond)
	i.hosts["web2"].Cut()
	time.Sleep(300 * time.Millisecond)
	i.out("web1")
	<-i.ended
	require.Equal(t, []string{"B web2", "E web2", "B web1", "E web1"}, i.log())
	require.Equal(t, events.Changed, i.result("web1").Status, i.text.String())
	require.Equal(t, "web2", i.result("web1").On)
}

// TestElsewhereIsFetchedByResume loses the own host for good, and resumes the run: the other host has kept the result.
func TestElsewhereIsFetchedByResume(t *testing.T) {
	i := newInside(t, "on: web2")
	i.Options.Reconnect = 0
	i.out("web2")
	require.NoError(t, os.WriteFile(filepath.Join(i.dir, "log"), nil, 0o666))
	i.begins()
	require.Eventually(t, func() bool { return slices.Contains(i.log(), "B web1") }, time.Minute, 5*time.Millisecond)
	i.hosts["web2"].Cut()
	<-i.ended
	r := i.result("web1")
	require.Equal(t, events.Failed, r.Status)
	require.True(t, r.Unknown)
	require.Contains(t, r.Error, "web2: the connection was lost; nothing is known of exec#crit")
	i.out("web1")
	i.again()
	require.Equal(t, []string{"B web2", "E web2", "B web1", "E web1"}, i.log())
	require.Equal(t, events.Changed, i.result("web1").Status, i.text.String())
	i.Options.Run, i.Options.Origin = "run3", record.Origin{}
	i.Options.Check = true
	i.recorded.reset()
	_, err := i.Run(t.Context(), nil)
	require.NoError(t, err)
	require.NotContains(t, i.text.String(), "could not report it", "the result was acknowledged")
}

// TestOnceOfALostHost loses the host that runs what runs once: it runs on no other host, and its outcome is unknown for all.
func TestOnceOfALostHost(t *testing.T) {
	i := newInside(t, "once: true")
	i.Options.Reconnect = 0
	first, second := i.begin()
	i.out(second)
	i.hosts[first].Cut()
	<-i.ended
	require.Equal(t, []string{"B " + first}, i.log())
	r := i.result(second)
	require.Equal(t, events.Failed, r.Status)
	require.True(t, r.Unknown)
	require.Equal(t, first, r.On)
	require.Equal(t, first+": the host was lost, and the command may have been running", r.Error)
	require.True(t, slices.ContainsFunc(i.recorded.list, func(e events.Event) bool {
		s, ok := e.(events.ResourceStart)
		return ok && s.Host == first && s.Once != "" && s.Once == r.Once
	}))
}
