package session_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/modules/engine/session"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// serveKeeping is a session that keeps results below dir.
func serveKeeping(t *testing.T, dir string) *controller {
	t.Helper()
	return serveSession(t, builtin.Types(), func(s *session.Session) { s.Results = fileLog(filepath.Join(dir, "results.jsonl")) })
}

// A fileLog is a log in a file of the test. [system.NewLog] would use the log of the host if root runs the test.
type fileLog string

func (l fileLog) Read() ([]byte, error) {
	text, err := os.ReadFile(string(l))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return text, err
}

func (l fileLog) Append(line []byte, _ bool) error {
	f, err := os.OpenFile(string(l), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(line)
	return errors.Join(err, f.Close())
}

func (l fileLog) Replace(text []byte) error { return os.WriteFile(string(l), text, 0o600) }

// firstRun is the lock of a run, secondRun the lock of the run that resumes it.
var firstRun, secondRun = wire.Lock{Run: "r1", Holder: "ann"}, wire.Lock{Run: "r2", Holder: "ann", First: "r1", Epoch: 1, Again: true}

// apply has a session apply entries, and returns the results up to the end of the catalog.
func (c *controller) apply(lock wire.Lock, entries ...wire.Entry) (results []*wire.Result, untold []*wire.Untold) {
	c.t.Helper()
	c.send(&wire.Message{Catalog: &wire.Catalog{Lock: &lock, Once: &wire.Once{Run: lock.Run, Play: 1}, Entries: entries}})
	for m := c.said(); m.Done == nil; m = c.said() {
		switch {
		case m.Result != nil:
			results = append(results, m.Result)
		case m.Untold != nil:
			untold = append(untold, m.Untold)
		default:
			require.Fail(c.t, "unexpected message", "%+v", m)
		}
	}
	return results, untold
}

// copyOf copies the files of a folder, as a crash at this moment would leave them.
func copyOf(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(to, "x"), os.DirFS(dir)))
	return filepath.Join(to, "x")
}

// cutAt applies entries until a file appears, and returns what the host has kept at that moment. The entries end when
// the file is removed.
func cutAt(t *testing.T, marker string, entries ...wire.Entry) (kept string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "x")
	require.NoError(t, os.Mkdir(dir, 0o700))
	first := serveKeeping(t, dir)
	first.send(&wire.Message{Catalog: &wire.Catalog{Lock: &firstRun, Once: &wire.Once{Run: "r1", Play: 1}, Entries: entries}})
	require.Eventually(t, func() bool { _, err := os.Stat(marker); return err == nil }, time.Minute, time.Millisecond)
	kept = copyOf(t, dir)
	require.NoError(t, os.Remove(marker))
	for m := first.said(); m.Done == nil; m = first.said() {
	}
	return kept
}

// TestCutCommand ends the host program while a command runs, and continues the catalog with the host's notes.
func TestCutCommand(t *testing.T) {
	for _, tt := range []struct {
		name    string
		rest    string // properties of the command
		rerun   bool
		status  wire.Status
		unknown bool
		says    string // a message, or the error
		ran     int    // times, also before the cut
	}{
		{"nothing makes it safe", ``, false, wire.Failed, true, "the command had begun when the host program was killed or the host was restarted", 1},
		{"rerun", ``, true, wire.Changed, false, "the command was cut, and runs again: the command had begun", 2},
		{"a guard", `"unless":"test -e $/never"`, false, wire.Changed, false, "the command was cut, and runs again: the command had begun", 2},
		{"creates, which is there", `"creates":"$/log"`, false, wire.Changed, false, "the command was cut, and its guard finds nothing left to do: the command had begun", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			log, marker := filepath.Join(dir, "log"), filepath.Join(dir, "runs")
			c := command("echo x >> "+log+"; if test -e "+dir+"/again; then exit; fi; touch "+marker+"; while test -e "+marker+"; do sleep 0.01; done", strings.ReplaceAll(tt.rest, "$", dir))
			c.Rerun = tt.rerun
			entries := []wire.Entry{command("true", ""), c, with(command("touch "+dir+"/dependent", ""), func(e *wire.Entry) { e.Require = []int{1} })}
			kept := cutAt(t, marker, entries...)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "again"), nil, 0o600))
			require.NoError(t, os.Remove(dir+"/dependent"))
			crashed := copyOf(t, kept)

			results, _ := serveKeeping(t, kept).apply(firstRun, entries...)
			require.Len(t, results, 3)
			r := results[1]
			require.Equal(t, tt.status, r.Status, r.Error)
			require.Equal(t, tt.unknown, r.Unknown)
			said := r.Error
			for _, n := range r.Messages {
				said += n.Text
			}
			require.Contains(t, said, tt.says)
			require.Equal(t, strings.Repeat("x\n", tt.ran), read(t, log))
			dependent := wire.Changed
			if tt.unknown {
				dependent = wire.Skipped
			}
			require.Equal(t, dependent, results[2].Status)

			// Another run that resumes this one leaves it so, as does one after that.
			for _, lock := range []wire.Lock{secondRun, {Run: "r3", Holder: "ann", First: "r1", Epoch: 2}} {
				results, _ = serveKeeping(t, kept).apply(lock, entries...)
				require.Equal(t, tt.status, results[1].Status)
				require.Equal(t, tt.unknown, results[1].Unknown)
				require.Equal(t, strings.Repeat("x\n", tt.ran), read(t, log))
			}

			// A run that resumes one whose host never came back finds the same.
			require.NoError(t, os.WriteFile(log, []byte("x\n"), 0o600))
			results, untold := serveKeeping(t, copyOf(t, crashed)).apply(secondRun, entries...)
			require.Empty(t, untold)
			require.Equal(t, tt.status, results[1].Status, results[1].Error)
			require.Equal(t, tt.unknown, results[1].Unknown)
			require.Equal(t, strings.Repeat("x\n", tt.ran), read(t, log))

			// Any other run reports it, and applies its own manifest.
			_, untold = serveKeeping(t, crashed).apply(wire.Lock{Run: "r9", Holder: "bob"}, command("true", ""))
			require.Len(t, untold, 1)
			require.Equal(t, wire.UntoldResult{Type: "exec", Name: c.Name, Status: wire.Failed, Unknown: true, Error: "the command had begun when the host program was killed or the host was restarted"}, untold[0].Results[1])
		})
	}
}

// TestCutThenSkipped ends the host program while a command with a guard runs. The entry is skipped afterwards, and its
// result reports that the command had begun, also in the run that resumes this one.
func TestCutThenSkipped(t *testing.T) {
	const cut = "the command was cut, and its outcome is unknown: the command had begun when the host program was killed or the host was restarted"
	for _, tt := range []struct {
		name    string
		require []int
		fails   bool // fail_on_error
		block   bool
	}{
		{name: "fail_on_error", fails: true},
		{name: "require", require: []int{0}},
		{name: "ended block", block: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			log, marker := filepath.Join(dir, "log"), filepath.Join(dir, "runs")
			other := command("touch "+dir+"/other; while ! test -e "+dir+"/again; do sleep 0.01; done", "")
			guarded := command("while ! test -e "+dir+"/other; do sleep 0.01; done; echo x >> "+log+"; if test -e "+dir+"/again; then exit; fi; touch "+marker+"; while test -e "+marker+"; do sleep 0.01; done", `"unless":"test -e `+dir+`/never"`)
			if tt.require != nil { // it fails when it is checked again
				require.NoError(t, os.WriteFile(dir+"/other", nil, 0o600))
				other = command("false", `"unless":"test -e `+dir+`/other"`)
			}
			guarded.Require = tt.require
			entries := []wire.Entry{other, guarded}
			if tt.block {
				entries = append(entries, wire.Entry{Type: "block", Name: "b", Scope: &wire.Scope{Entries: 2, Block: &wire.Block{}}})
			}
			catalog := func(c *controller, lock wire.Lock, parallel int) (skipped *wire.Result) {
				c.send(&wire.Message{Catalog: &wire.Catalog{Lock: &lock, Once: &wire.Once{Run: lock.Run, Play: 1}, Entries: entries, Parallel: parallel, FailOnError: tt.fails}})
				for m := c.said(); m.Done == nil; m = c.said() {
					if m.Result != nil && m.Result.Index == 1 {
						skipped = m.Result
					}
				}
				return skipped
			}
			at := filepath.Join(t.TempDir(), "x")
			require.NoError(t, os.Mkdir(at, 0o700))
			ended := make(chan struct{})
			first := serveKeeping(t, at)
			go func() { defer close(ended); catalog(first, firstRun, 2) }()
			require.Eventually(t, func() bool { _, err := os.Stat(marker); return err == nil }, time.Minute, time.Millisecond)
			kept := copyOf(t, at)
			require.NoError(t, os.WriteFile(dir+"/again", nil, 0o600))
			require.NoError(t, os.Remove(marker))
			<-ended
			require.NoError(t, os.WriteFile(log, []byte("x\n"), 0o600))
			if tt.require != nil {
				require.NoError(t, os.Remove(dir+"/other"))
				require.NoError(t, fileLog(kept+"/results.jsonl").Append([]byte(`{"dropped":[0]}`+"\n"), true))
			}
			crashed := copyOf(t, kept)

			r := catalog(serveKeeping(t, kept), firstRun, 1)
			require.Equal(t, wire.Skipped, r.Status)
			require.Len(t, r.Messages, 1)
			require.Equal(t, cut, r.Messages[0].Text)
			for _, kept := range []string{kept, crashed} { // the resumed run has got the result, or has not
				r = catalog(serveKeeping(t, kept), secondRun, 1)
				require.Equal(t, wire.Skipped, r.Status)
				require.Len(t, r.Messages, 1)
				require.Equal(t, cut, r.Messages[0].Text)
			}
			require.Equal(t, "x\n", read(t, log))

			// A run that no other one resumes reports it as untold, since nothing has checked the command.
			_, untold := serveKeeping(t, copyOf(t, kept)).apply(wire.Lock{Run: "r9", Holder: "bob"}, command("true", ""))
			require.Len(t, untold, 1)
			require.Contains(t, untold[0].Results, wire.UntoldResult{Type: "exec", Name: guarded.Name, Status: wire.Failed, Unknown: true, Error: "the command had begun when the host program was killed or the host was restarted"})
			if tt.require == nil {
				return
			}

			// The command runs again when its requirement succeeds.
			require.NoError(t, os.WriteFile(dir+"/other", nil, 0o600))
			r = catalog(serveKeeping(t, kept), wire.Lock{Run: "r3", Holder: "ann", First: "r1", Epoch: 2}, 1)
			require.Equal(t, wire.Changed, r.Status, r.Error)
			require.Equal(t, "the command was cut, and runs again: the command had begun when the host program was killed or the host was restarted", r.Messages[0].Text)
			require.Equal(t, "x\nx\n", read(t, log))
		})
	}
}

// TestCommandsOfAnotherCatalog resumes a run with a changed play: commands that have run stay, even if another run has
// changed the host in between.
func TestCommandsOfAnotherCatalog(t *testing.T) {
	dir := t.TempDir()
	log, marker := filepath.Join(dir, "log"), filepath.Join(dir, "runs")
	ran := command("echo ran >> "+log, "")
	cut := command("echo cut >> "+log+"; touch "+marker+"; while test -e "+marker+"; do sleep 0.01; done", "")
	kept := cutAt(t, marker, ran, cut)
	between := copyOf(t, kept)
	changed := []wire.Entry{command("echo new >> "+log, ""), ran, cut, with(ran, func(e *wire.Entry) {
		e.Properties = command("echo ran >> "+log, `"cwd":"/tmp"`).Properties
	})}
	want := []wire.Status{wire.Changed, wire.Changed, wire.Failed, wire.Changed}
	for _, other := range []bool{false, true} {
		if other {
			kept = between
			_, untold := serveKeeping(t, kept).apply(wire.Lock{Run: "r9", Holder: "bob"}, command("true", ""))
			require.Len(t, untold, 1)
		}
		require.NoError(t, os.WriteFile(log, []byte("ran\ncut\n"), 0o600))
		results, _ := serveKeeping(t, kept).apply(secondRun, changed...)
		byIndex := make([]wire.Status, len(changed))
		for _, r := range results {
			byIndex[r.Index] = r.Status
			require.Equal(t, r.Index == 2, r.Unknown)
		}
		require.Equal(t, want, byIndex)
		require.Equal(t, "ran\ncut\nnew\nran\n", read(t, log), "the command with another working directory is another one")
		results, _ = serveKeeping(t, kept).apply(wire.Lock{Run: "r3", Holder: "ann", First: "r1", Epoch: 2}, changed...)
		require.Len(t, results, 4)
		require.Equal(t, "ran\ncut\nnew\nran\n", read(t, log))
	}
}

// TestCommandsAfterAnotherRun resumes a run after another run has changed the host and both were acknowledged: commands
// that have run do not run again. If the host has forgotten them, their outcome is unknown.
func TestCommandsAfterAnotherRun(t *testing.T) {
	dir := t.TempDir()
	log, at := filepath.Join(dir, "log"), filepath.Join(t.TempDir(), "x")
	require.NoError(t, os.Mkdir(at, 0o700))
	entries := []wire.Entry{
		command("echo ran >> "+log, ""), command("false", ""), command("echo guarded >> "+log, `"creates":"`+dir+`/never"`),
		with(command("echo rerun >> "+log, ""), func(e *wire.Entry) { e.Rerun = true }),
	}
	apply := func(lock wire.Lock, entries ...wire.Entry) (results []*wire.Result) {
		c := serveKeeping(t, at)
		results, untold := c.apply(lock, entries...)
		require.Empty(t, untold)
		c.send(&wire.Message{Ack: &wire.Ack{Run: lock.Run, Play: 1}})
		c.send(&wire.Message{Ping: &wire.Empty{}}) // it is answered after the acknowledgement
		for m := c.next(); m.Pong == nil; m = c.next() {
		}
		return results
	}
	other := command("echo other >> "+log, "")
	apply(firstRun, entries...)
	apply(wire.Lock{Run: "r8", Holder: "bob"}, other)
	apply(wire.Lock{Run: "r9", Holder: "bob"}, other)
	require.NoError(t, os.WriteFile(log, nil, 0o600))
	results := apply(secondRun, entries...)
	require.Len(t, results, 4)
	require.Equal(t, wire.Changed, results[0].Status)
	require.True(t, results[0].Kept)
	require.Equal(t, "guarded\n", strings.ReplaceAll(read(t, log), "rerun\n", ""), "commands that have run do not run again")

	require.NoError(t, fileLog(at+"/results.jsonl").Replace([]byte(`{"forgotten":[{"run":"r1","play":1}]}`+"\n")))
	require.NoError(t, os.WriteFile(log, nil, 0o600))
	results = apply(wire.Lock{Run: "r3", Holder: "ann", First: "r1", Epoch: 2}, entries...)
	require.Len(t, results, 4)
	for i, unknown := range []bool{true, true, false, false} {
		require.Equal(t, unknown, results[i].Unknown, i)
		require.Equal(t, unknown, results[i].Status == wire.Failed, i)
	}
	require.Contains(t, results[0].Error, "unknown whether an earlier run has started the command")
	require.Equal(t, "guarded\nrerun\n", read(t, log))
	results = apply(wire.Lock{Run: "r4", Holder: "ann", First: "r1", Epoch: 3}, entries...)
	require.True(t, results[0].Unknown)
}

// TestCutRerunLater sets rerun after the cut: the resumed run starts the command again, and the other results stay.
func TestCutRerunLater(t *testing.T) {
	dir := t.TempDir()
	log, marker := filepath.Join(dir, "log"), filepath.Join(dir, "runs")
	other := command("echo other >> "+log, "")
	c := command("echo x >> "+log+"; if test -e "+dir+"/again; then exit; fi; touch "+marker+"; while test -e "+marker+"; do sleep 0.01; done", "")
	kept := cutAt(t, marker, other, c)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "again"), nil, 0o600))
	results, _ := serveKeeping(t, kept).apply(firstRun, other, c)
	require.True(t, results[1].Unknown)
	c.Rerun = true
	results, _ = serveKeeping(t, kept).apply(secondRun, other, c)
	require.Equal(t, wire.Changed, results[1].Status, results[1].Error)
	require.Equal(t, "other\nx\nx\n", read(t, log))
}

// TestCutBetweenTries ends the host program after a try has failed: that try counts, and its end is known.
func TestCutBetweenTries(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	c := command("echo x >> "+log+"; exit 1", "")
	c.Retry, c.Delay = 2, time.Second
	at := filepath.Join(t.TempDir(), "x")
	require.NoError(t, os.Mkdir(at, 0o700))
	first := serveKeeping(t, at)
	first.send(&wire.Message{Catalog: &wire.Catalog{Lock: &firstRun, Once: &wire.Once{Run: "r1", Play: 1}, Entries: []wire.Entry{c}}})
	var kept string
	require.Eventually(t, func() bool {
		kept = copyOf(t, at)
		text, _ := os.ReadFile(filepath.Join(kept, "results.jsonl"))
		return strings.HasSuffix(string(text), `"tries":1}}`+"\n")
	}, time.Minute, 10*time.Millisecond)
	first.send(&wire.Message{Kill: &wire.Empty{}})
	r := first.said().Result
	require.True(t, r.Killed)
	require.False(t, r.Unknown, "the command had ended")

	results, _ := serveKeeping(t, kept).apply(firstRun, c)
	require.Equal(t, wire.Failed, results[0].Status)
	require.False(t, results[0].Unknown)
	require.Equal(t, 3, results[0].Tries)
	require.Equal(t, "x\nx\nx\n", read(t, log))
}

// TestKilledCommand kills a command together with its run, as the second Ctrl-C does: a resumed run does not start it
// again.
func TestKilledCommand(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	c := command("echo x >> "+log+"; sleep 1000", "")
	at := filepath.Join(t.TempDir(), "x")
	require.NoError(t, os.Mkdir(at, 0o700))
	first := serveKeeping(t, at)
	first.send(&wire.Message{Catalog: &wire.Catalog{Lock: &firstRun, Once: &wire.Once{Run: "r1", Play: 1}, Entries: []wire.Entry{c}}})
	require.Eventually(t, func() bool { text, _ := os.ReadFile(log); return len(text) > 0 }, time.Minute, time.Millisecond)
	first.send(&wire.Message{Kill: &wire.Empty{}})
	r := first.said().Result
	require.True(t, r.Killed)
	require.True(t, r.Unknown)
	results, _ := serveKeeping(t, at).apply(secondRun, c)
	require.Equal(t, wire.Failed, results[0].Status)
	require.True(t, results[0].Unknown)
	require.Equal(t, "x\n", read(t, log))
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

// TestFailedBefore resumes a run that ended before it could report a command that failed: the result of the next try
// reports that failure, too.
func TestFailedBefore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x")
	require.NoError(t, os.Mkdir(dir, 0o700))
	fails := command("exit 3", "")
	results, _ := serveKeeping(t, dir).apply(firstRun, fails)
	require.Empty(t, results[0].Messages)
	results, _ = serveKeeping(t, copyOf(t, dir)).apply(secondRun, fails)
	require.Equal(t, wire.Failed, results[0].Status)
	require.Len(t, results[0].Messages, 1)
	require.Contains(t, results[0].Messages[0].Text, "the command failed in the run that this one resumes: failed to reach desired state: ")
	require.Contains(t, results[0].Messages[0].Text, "3")

	thirdRun := wire.Lock{Run: "r3", Holder: "ann", First: "r1", Epoch: 2, Again: true}
	for _, acknowledged := range []bool{false, true} {
		dir := copyOf(t, dir)
		c := serveKeeping(t, dir)
		c.apply(secondRun, fails)
		if acknowledged {
			c.send(&wire.Message{Ack: &wire.Ack{Run: "r2", Play: 1}})
			c.apply(secondRun) // after the acknowledgement
		}
		results, _ = serveKeeping(t, dir).apply(thirdRun, fails)
		require.Len(t, results[0].Messages, map[bool]int{false: 2, true: 1}[acknowledged])
	}
}

// TestChangedManifestReportsOnce resumes a run, whose results were not reported, with another manifest: they are
// reported as results of the earlier run, results that stay are marked, and later runs do not report them.
func TestChangedManifestReportsOnce(t *testing.T) {
	for _, of := range []string{"", "web2 0"} {
		t.Run("for "+of, func(t *testing.T) {
			dir := t.TempDir()
			stays, leaves, comes := command("true", ""), command("true ; true", ""), command("true;true;true", "")
			send := func(lock wire.Lock, acknowledge bool, entries ...wire.Entry) (reported []string) {
				c := serveKeeping(t, dir)
				once := wire.Once{Run: lock.Run, Play: 1, For: of}
				c.send(&wire.Message{Catalog: &wire.Catalog{Lock: &lock, Once: &once, Entries: entries}})
				var acks []*wire.Message
				for m := c.said(); m.Done == nil; m = c.said() {
					switch {
					case m.Result != nil:
						reported = append(reported, fmt.Sprintf("%s, earlier: %t", entries[m.Result.Index].Name, m.Result.Earlier))
					case m.Untold != nil:
						for _, r := range m.Untold.Results {
							reported = append(reported, "untold "+r.Name)
						}
						acks = append(acks, &wire.Message{Ack: &wire.Ack{Run: m.Untold.Run, Play: m.Untold.Play, For: m.Untold.For}})
					}
				}
				if acknowledge {
					for _, ack := range append(acks, &wire.Message{Ack: &wire.Ack{Run: once.Run, Play: once.Play, For: once.For}}) {
						c.send(ack)
					}
				}
				require.NoError(t, c.input.Close())
				require.NoError(t, <-c.ended) // it has read the acknowledgements
				return reported
			}
			send(firstRun, false, stays, leaves)
			require.ElementsMatch(t, []string{"untold " + stays.Name, "untold " + leaves.Name, stays.Name + ", earlier: true", comes.Name + ", earlier: false"}, send(secondRun, true, stays, comes))
			require.Equal(t, []string{comes.Name + ", earlier: false"}, send(wire.Lock{Run: "r9", Holder: "ann"}, true, comes))
		})
	}
}
