package workers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/record"
	"github.com/ccm-push/ccm-push/playbooks/workers/keyring"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
)

// coordinatorVariable has the test program be the coordinator of a run: the number of the result at which it
// kills itself, and the folder of the site.
const coordinatorVariable = "CCM_PUSH_TEST_COORDINATOR"

const (
	firstRun  = "01JDXYZ0000000000000000000"
	secondRun = "01JDXYZ0000000000000000001"
)

// resumed kills the coordinator of the run at a result, and resumes it with another one, which has its own state. It
// returns the results that both records have.
func (r *cutRun) resumed(at int) []string {
	s, t := r.site, r.site.t
	s.sharedKeys()
	s.write("hosts.yaml", s.inventory(nil))
	s.write("url", r.url)
	for range 3 {
		s.process(r.url)
	}
	q := connect(t, r.url).(*queue.JetStream)
	first := exec.Command(os.Args[0], "-test.run=^TestCoordinate$")
	first.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s", coordinatorVariable, at, s.dir))
	out, err := first.CombinedOutput()
	var killed *exec.ExitError
	require.ErrorAs(t, err, &killed, string(out))
	require.Equal(t, syscall.SIGKILL, killed.Sys().(syscall.WaitStatus).Signal(), string(out))

	h, said := s.handover(q, "stranger", "coordinator")
	var shared *Shared
	require.Eventually(t, func() bool {
		shared, err = h.Find(t.Context(), firstRun)
		require.NoError(t, err)
		return !shared.Held
	}, wait, 50*time.Millisecond)
	store := record.Store{Folder: filepath.Join(s.dir, "there")}
	require.NoError(t, h.Fetch(t.Context(), shared, store, s.dir))
	lease, err := h.Take(t.Context(), shared)
	require.NoError(t, err)
	was, err := store.Find(firstRun)
	require.NoError(t, err)
	progress, err := was.Progress(store)
	require.NoError(t, err)

	to, got := &forwarder{}, &recorded{}
	header := record.Header{Run: secondRun, Started: time.Now(), What: "site.yaml", Command: "apply", Resumes: firstRun}
	header.Origin, err = store.Next(was)
	require.NoError(t, err)
	run := s.runner(s.inventory(nil), store.Recorder(header, func(text string) { t.Error(text) }).CopyTo(to), got)
	run.Options.Run, run.Options.NoLock, run.Options.Origin = secondRun, false, header.Origin
	var names []string
	for _, play := range run.Plays {
		names = append(names, play.Name)
	}
	run.Options.Progress = progress.For(names)
	c, warned := s.coordinator(q, run)
	c.Key, c.Size = h.Key, 2
	s.shares(c, h, to, lease)
	ctx, cancel := context.WithTimeout(t.Context(), 5*wait)
	defer cancel()
	require.NoError(t, c.Begin(ctx))
	summary, err := run.Run(ctx, to.Lost())
	require.NoError(t, errors.Join(err, c.Close(ctx), to.Close(ctx)))
	require.Zero(t, summary.Totals.Hosts.Failed+summary.Totals.Hosts.Unreachable+summary.Totals.Hosts.Interrupted, "%s\n%s\n%s", warned.all(), said.all(), strings.Join(got.lines(s), "\n"))
	r.requireLogs(warned)

	runs, err := store.List()
	require.NoError(t, err)
	require.Len(t, runs, 2)
	var told []string
	for _, run := range runs {
		for e, err := range run.Events() {
			require.NoError(t, err)
			if e, ok := e.(events.Result); ok {
				told = append(told, toldLine(e))
			}
		}
	}
	slices.Sort(told)
	return told
}

// sharedKeys has the stranger be one who may coordinate, too.
func (s *site) sharedKeys() {
	t := s.t
	both := ""
	for _, who := range []string{"coordinator", "stranger"} {
		key, err := keyring.ReadKey(filepath.Join(s.dir, who))
		require.NoError(t, err)
		both += key.Public() + " " + who + "\n"
	}
	s.write("coordinator.keys", both)
}

// TestCoordinate is the coordinator that is killed, as a process of its own.
func TestCoordinate(t *testing.T) {
	number, dir, called := strings.Cut(os.Getenv(coordinatorVariable), " ")
	if !called {
		t.Skip("it is called by TestCuts")
	}
	at, err := strconv.Atoi(number)
	require.NoError(t, err)
	authority, err := os.ReadFile(filepath.Join(dir, "authority"))
	require.NoError(t, err)
	s := &site{t: t, dir: dir}
	s.authority, err = ssh.ParsePrivateKey(authority)
	require.NoError(t, err)
	its, err := givenBuilds(dir)
	require.NoError(t, err)
	s.buildID, s.builds, s.full = its.id, its.lean, its.full
	url, err := os.ReadFile(filepath.Join(dir, "url"))
	require.NoError(t, err)
	inv, err := os.ReadFile(filepath.Join(dir, "hosts.yaml"))
	require.NoError(t, err)
	q := connect(t, string(url)).(*queue.JetStream)
	to, got, results := &forwarder{}, &recorded{}, 0
	got.hook = func(e events.Event) {
		if _, ok := e.(events.Result); !ok {
			return
		}
		if results++; results == at {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	r := s.runner(string(inv), recorder(t, record.Store{Folder: filepath.Join(dir, "here")}, to), got)
	r.Options.NoLock = false
	c, _ := s.coordinator(q, r)
	c.Size = 2
	h, _ := s.handover(q, "coordinator", "stranger")
	s.shares(c, h, to, nil)
	require.NoError(t, c.Begin(t.Context()))
	_, err = r.Run(t.Context(), to.Lost())
	require.NoError(t, err)
	t.Fatal("the run has ended")
}

// TestLeftByAnUndo continues a run that was undone: a worker does not run again what the undo left.
func TestLeftByAnUndo(t *testing.T) {
	s := newSite(t, `
name: one
ccm:
  resources:
    - exec: ["echo migrated >> log": {provider: shell, cwd: "{{ Data.home }}"}]
    - exec: ["echo other >> log": {provider: shell, cwd: "{{ Data.home }}"}]
`, "web1")
	store := record.Store{Folder: filepath.Join(t.TempDir(), "runs")}
	hosts, at := []string{"web1"}, time.Now()
	past := func(h record.Header, all ...events.Event) {
		h.Started, h.Manifests = at, []record.Manifest{{Path: "site.yaml"}}
		r := store.Recorder(h, func(text string) { t.Error(text) })
		r.ReportAll(append([]events.Event{events.RunStart{Hosts: 1, Plays: []events.SelectedPlay{{Name: "one", Hosts: hosts}}}, events.PlayStart{Play: "one", Number: 1, Batch: 1, Batches: 1, Hosts: hosts}}, all...))
		r.ReportAll([]events.Event{events.Summary{}})
	}
	result := func(status events.Status, name string) events.Result {
		return events.Result{Play: "one", Host: "web1", Type: "exec", Name: name, Status: status, Changed: status == events.Changed}
	}
	past(record.Header{Run: firstRun}, result(events.Changed, "echo migrated >> log"), result(events.Changed, "echo other >> log"))
	past(record.Header{Run: secondRun, Undoes: firstRun}, result(events.Skipped, "echo migrated >> log"), result(events.Changed, "echo other >> log"))
	was, err := store.Find(firstRun)
	require.NoError(t, err)
	progress, err := was.Progress(store)
	require.NoError(t, err)

	q := connect(t, serve(t, t.TempDir()).ClientURL())
	s.work(q, "worker", "")
	got := &recorded{}
	run := s.runner(s.inventory(nil), got)
	run.Options.Progress = progress.For([]string{"one"})
	run.Options.NoLock = false
	c, warned := s.coordinator(q, run)
	summary := s.run(c)
	require.Equal(t, 1, summary.Totals.Hosts.OK, "%s\n%s", warned.all(), strings.Join(got.lines(s), "\n"))
	log, err := os.ReadFile(filepath.Join(s.hosts["web1"].Home, "log"))
	require.NoError(t, err)
	require.Equal(t, "other\n", string(log), strings.Join(got.lines(s), "\n"))
}
