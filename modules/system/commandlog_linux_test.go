package system

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// ann holds the lock in these tests.
var ann = wire.Lock{Holder: "ann@laptop", Run: "r1"}

// TestKilledProgram runs as a process of its own in the tests below: it takes the lock and runs scripts of its
// environment, until it is killed.
func TestKilledProgram(t *testing.T) {
	dir := os.Getenv("FENCE_DIR")
	if dir == "" {
		t.Skip("it is run by others")
	}
	f := &commandLog{}
	unlock, err := lock(t.Context(), ann, dir, "l", f)
	require.NoError(t, err)
	if os.Getenv("FENCE_GAP") != "" {
		n := 0
		f.unnoted = func() {
			if n++; n == 2 {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
		}
	}
	host := newHost(f)
	run := func(script string) {
		_, err := host.Commands.Run(t.Context(), modules.Command{Argv: []string{"/bin/sh", "-c", script}, Dir: dir})
		require.NoError(t, err)
	}
	run(os.Getenv("FENCE_FIRST"))
	var work sync.WaitGroup
	for range max(1, len(os.Getenv("FENCE_AT_ONCE"))) {
		work.Go(func() {
			for range max(1, 1000*len(os.Getenv("FENCE_AT_ONCE"))) {
				run(os.Getenv("FENCE_THEN"))
			}
		})
	}
	work.Wait()
	if os.Getenv("FENCE_UNLOCK") != "" {
		unlock()
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "idle"), nil, 0o600))
	time.Sleep(time.Hour)
}

// killedProgram is a program that a test will kill.
type killedProgram struct {
	t       *testing.T
	dir     string
	program *exec.Cmd
}

// startKilledProgram runs a script to its end, and then another one.
func startKilledProgram(t *testing.T, first, then string, env ...string) *killedProgram {
	t.Helper()
	f := &killedProgram{t: t, dir: t.TempDir()}
	require.NoError(t, os.Chmod(f.dir, 0o700))
	self, err := os.Executable()
	require.NoError(t, err)
	f.program = exec.Command(self, "-test.run=^TestKilledProgram$", "-test.count=1")
	f.program.Env = append(os.Environ(), append(env, "FENCE_DIR="+f.dir, "FENCE_FIRST="+first, "FENCE_THEN="+then)...)
	require.NoError(t, f.program.Start())
	t.Cleanup(func() {
		f.program.Process.Kill()
		f.program.Wait()
		for _, pid := range f.pids() {
			_ = syscall.Kill(-pid, syscall.SIGKILL)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return f
}

// written waits for a file that a script writes.
func (f *killedProgram) written(file string) {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		text, err := os.ReadFile(filepath.Join(f.dir, file))
		return err == nil && (file == "idle" || strings.HasSuffix(string(text), "\n"))
	}, time.Minute, time.Millisecond)
}

// kill waits for a file that a script writes, and kills the program.
func (f *killedProgram) kill(file string) {
	f.t.Helper()
	f.written(file)
	require.NoError(f.t, f.program.Process.Kill())
	f.died()
}

func (f *killedProgram) died() {
	f.t.Helper()
	exit, ok := errors.AsType[*exec.ExitError](f.program.Wait())
	require.True(f.t, ok)
	require.Equal(f.t, syscall.SIGKILL, exit.Sys().(syscall.WaitStatus).Signal())
}

// pids returns the process ids that scripts have written.
func (f *killedProgram) pids() []int {
	var all []int
	files, _ := filepath.Glob(filepath.Join(f.dir, "pid*"))
	for _, file := range files {
		text, _ := os.ReadFile(file)
		for word := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil && pid > 1 {
				all = append(all, pid)
			}
		}
	}
	return all
}

func (f *killedProgram) pid(file string) int {
	f.t.Helper()
	text, err := os.ReadFile(filepath.Join(f.dir, file))
	require.NoError(f.t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(f.t, err)
	return pid
}

// becomes waits until a process is a program.
func (f *killedProgram) becomes(pid int, name string) {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		return string(text) == name+"\n"
	}, time.Minute, time.Millisecond)
}

// next is a run after the program has died.
func (f *killedProgram) next(wait time.Duration) error {
	unlock, err := lock(f.t.Context(), wire.Lock{Holder: "bob@desk", Run: "r2", Wait: wait}, f.dir, "l", &commandLog{})
	if err == nil {
		unlock()
	}
	return err
}

// requireRefused checks the error of a next run while one command still runs.
func (f *killedProgram) requireRefused(err error, name string, pid, group int) {
	f.t.Helper()
	require.ErrorIs(f.t, err, wire.ErrLocked)
	require.Equal(f.t, fmt.Sprintf(`a killed run left commands on this host: ann@laptop, run r1, begun Xs ago; `+
		`still running: %q (pid %d, for Xs); to end them: kill -- -%d (or kill -s KILL)`, name, pid, group),
		regexp.MustCompile(`\b\d+s`).ReplaceAllString(err.Error(), "Xs"))
}

// TestCommandLog kills a program at a command, while what an earlier one has left in the
// background runs.
func TestCommandLog(t *testing.T) {
	f := startKilledProgram(t, "sleep 600 >/dev/null 2>&1 & echo $! >pid-background", "echo $$ >pid; sleep 600; true")
	f.kill("pid")
	pid := f.pid("pid")
	f.requireRefused(f.next(0), "sh", pid, pid)
	f.requireRefused(f.next(lockPoll), "sh", pid, pid)
	waited := make(chan error, 1)
	go func() { waited <- f.next(time.Minute) }()
	require.NoError(t, syscall.Kill(-pid, syscall.SIGKILL), "as the error says")
	require.NoError(t, <-waited)
	require.NoError(t, f.next(0), "what was left in the background does not count")
	require.NoError(t, syscall.Kill(f.pid("pid-background"), 0))
}

// TestCommandLogOfAShellThatDied lets a shell die of its closed output while its child still runs.
func TestCommandLogOfAShellThatDied(t *testing.T) {
	f := startKilledProgram(t, "true", "sleep 600 & echo $! >pid-child; echo $$ >pid; wait")
	f.written("pid")
	pid, child := f.pid("pid"), f.pid("pid-child")
	require.Eventually(t, func() bool { // the marker alone would find only a living shell
		_, notes := f.notes()
		return slices.ContainsFunc(notes, func(n note) bool { return n.pid == pid })
	}, time.Minute, time.Millisecond)
	f.kill("pid")
	f.becomes(child, "sleep")
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	require.Eventually(t, func() bool { return !isAlive(pid) }, time.Minute, time.Millisecond)
	f.requireRefused(f.next(0), "sleep", child, pid)
	require.NoError(t, syscall.Kill(-pid, syscall.SIGKILL))
	require.NoError(t, f.next(time.Minute))
}

// TestCommandLogBetweenStartAndNote kills a program while a command runs that is not recorded yet. Its output does not
// show that it is a command.
func TestCommandLogBetweenStartAndNote(t *testing.T) {
	f := startKilledProgram(t, "sleep 600 >/dev/null 2>&1 & echo $! >pid-background",
		"echo $$ >pid; exec sleep 600 >/dev/null 2>&1 </dev/null", "FENCE_GAP=1")
	f.died()
	require.Eventually(t, func() bool { return len(f.pids()) == 2 }, time.Minute, time.Millisecond)
	pid := f.pid("pid")
	f.becomes(pid, "sleep")
	_, notes := f.notes()
	require.Len(t, notes, 1)
	require.Zero(t, notes[0].pid, "it is not noted")
	f.requireRefused(f.next(0), "sleep", pid, pid)
	require.NoError(t, syscall.Kill(-pid, syscall.SIGKILL))
	require.NoError(t, f.next(time.Minute))
}

// notes returns the contents of the lock file.
func (f *killedProgram) notes() (holder, []note) {
	f.t.Helper()
	file, err := os.Open(filepath.Join(f.dir, "l"))
	require.NoError(f.t, err)
	defer file.Close()
	h, notes, err := readNotes(file)
	require.NoError(f.t, err)
	return h, notes
}

// TestCommandLogAfterANormalEnd has a program die when its commands have ended.
func TestCommandLogAfterANormalEnd(t *testing.T) {
	f := startKilledProgram(t, "true", "sleep 600 >/dev/null 2>&1 & echo $! >pid-background")
	f.kill("idle")
	h, notes := f.notes()
	require.Equal(t, "r1", h.Run)
	require.Empty(t, notes)
	require.NoError(t, f.next(0))
	text, err := os.ReadFile(filepath.Join(f.dir, "l"))
	require.NoError(t, err)
	require.Empty(t, text)
}

// TestCommandsAfterTheLock has commands run when the lock is free: nothing is noted.
func TestCommandsAfterTheLock(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	f := &commandLog{}
	unlock, err := lock(t.Context(), ann, dir, "l", f)
	require.NoError(t, err)
	host := newHost(f)
	env := modules.Command{Argv: []string{"env"}}
	exit, err := host.Commands.Run(t.Context(), env)
	require.NoError(t, err)
	require.Contains(t, exit.Stdout.Text, "\n"+marker+"="+dir+"/l:0\n")
	exit, err = host.Commands.Probe(t.Context(), env)
	require.NoError(t, err)
	require.NotContains(t, exit.Stdout.Text, marker)
	_, err = host.Commands.Run(t.Context(), modules.Command{Argv: []string{"/etc/hosts"}})
	require.Error(t, err)
	unlock()
	exit, err = host.Commands.Run(t.Context(), env)
	require.NoError(t, err)
	require.NotContains(t, exit.Stdout.Text, marker)
	text, err := os.ReadFile(filepath.Join(dir, "l"))
	require.NoError(t, err)
	require.Empty(t, text)
}

// TestCommandLogAgainstOthers is about notes that are not about what runs.
func TestCommandLogAgainstOthers(t *testing.T) {
	f := &killedProgram{t: t, dir: t.TempDir()}
	require.NoError(t, os.Chmod(f.dir, 0o700))
	before := ticks()
	p := exec.Command("sleep", "600")
	p.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	p.Env = []string{marker + "=" + f.dir + "/l:0"}
	require.NoError(t, p.Start())
	t.Cleanup(func() {
		p.Process.Kill()
		p.Wait()
	})
	after, pid := ticks(), p.Process.Pid
	for _, test := range []struct {
		name    string
		slot    int
		note    note
		boot    string
		refused bool
	}{
		{"the command", 0, note{pid: pid, from: before, until: after}, boot(), true},
		{"its number was that of another process", 0, note{pid: pid, from: before - 200, until: before - 100}, boot(), false},
		{"its number is that of an older process", 0, note{pid: pid, from: after + 100, until: after + 200}, boot(), false},
		{"in another start of the host", 0, note{pid: pid, from: before, until: after}, "another", false},
		{"in a version without notes", 0, note{pid: pid, from: before, until: after}, "", false},
		{"about to be started", 0, note{from: before}, boot(), true},
		{"about to be started later", 0, note{from: after + 100}, boot(), false},
		{"about to be started in another slot", 1, note{from: before}, boot(), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := &killedProgram{t: t, dir: f.dir}
			file, err := os.Create(filepath.Join(f.dir, "l"))
			require.NoError(t, err)
			defer file.Close()
			start, err := sign(file, holder{Holder: ann.Holder, Run: ann.Run, Since: time.Now(), Boot: test.boot})
			require.NoError(t, err)
			_, err = file.WriteAt(padded(test.note.String(), slotSize), start+slotSize*int64(test.slot))
			require.NoError(t, err)
			if err = f.next(0); test.refused {
				f.requireRefused(err, "sleep", pid, pid)
			} else {
				require.NoError(t, err)
			}
		})
	}
}

// TestCommandLogAtAnyMoment kills programs at random moments while they start commands. Each
// that runs then is named to the next run, which gets the lock when none does. On a busy
// machine it may take more than a few until one does.
func TestCommandLogAtAnyMoment(t *testing.T) {
	seen := 0
	for round := 0; round < 15 || seen == 0 && round < 150; round++ {
		f := startKilledProgram(t, "echo 0 >ready", "exec sleep 0.0$(($$ % 10))", "FENCE_AT_ONCE=xxx")
		require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(f.dir, "ready")); return err == nil }, time.Minute, time.Millisecond)
		time.Sleep(time.Duration(rand.IntN(60_000)) * time.Microsecond)
		require.NoError(t, f.program.Process.Kill())
		f.died()
		// Recorded commands are stopped, so that they can be examined. A command that was just exiting is not stopped.
		running := f.commands()
		for _, pid := range running {
			_ = syscall.Kill(-pid, syscall.SIGSTOP)
		}
		running = slices.DeleteFunc(running, func(pid int) bool { return !stops(t, pid) })
		seen += len(running)
		var err error
		require.Eventually(t, func() bool { // a process before its exec holds the lock itself
			err = f.next(0)
			return err == nil || !strings.HasPrefix(err.Error(), wire.ErrLocked.Error())
		}, time.Minute, time.Millisecond)
		for _, pid := range running {
			require.ErrorIs(t, err, wire.ErrLocked)
			require.Contains(t, err.Error(), fmt.Sprintf("(pid %d,", pid))
			require.Contains(t, err.Error(), fmt.Sprintf(" -%d", pid))
		}
		for _, pid := range running {
			_ = syscall.Kill(-pid, syscall.SIGKILL)
		}
		require.NoError(t, f.next(time.Minute))
	}
	require.Positive(t, seen)
}

// stops waits until a process to which SIGSTOP was sent is stopped, and reports false if it ended before.
func stops(t *testing.T, pid int) (stopped bool) {
	t.Helper()
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, after, _ := strings.Cut(string(text), ") ")
		stopped = strings.HasPrefix(after, "T ")
		return stopped || err != nil || strings.HasPrefix(after, "Z ") || strings.HasPrefix(after, "X ")
	}, time.Minute, time.Millisecond)
	return stopped
}

// commands returns the session leaders in the folder of the test, except processes before their exec.
func (f *killedProgram) commands() []int {
	f.t.Helper()
	self, err := os.Executable()
	require.NoError(f.t, err)
	all, ok := processes()
	require.True(f.t, ok)
	var found []int
	for _, p := range all {
		dir, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", p.pid))
		program, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", p.pid))
		if dir == f.dir && program != self && p.pid == p.session && !p.dead {
			found = append(found, p.pid)
		}
	}
	return found
}

// isAlive reports whether a process runs.
func isAlive(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	p, ok := parseStat(string(text))
	return err == nil && ok && !p.dead
}

func TestParseStat(t *testing.T) {
	const rest = " 1 42 41 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 8812345 1000 1 2 3\n"
	for _, test := range []struct {
		name, text string
		want       process
		ok         bool
	}{
		{"a process", "43 (sleep) S" + rest, process{43, 42, 41, 8812345, "sleep", false}, true},
		{"a name with parentheses", "43 (a) R 1 (b c) S" + rest, process{43, 42, 41, 8812345, "a) R 1 (b c", false}, true},
		{"a zombie", "43 (sleep) Z" + rest, process{43, 42, 41, 8812345, "sleep", true}, true},
		{"nothing", "", process{}, false},
		{"no name", "43 S 1", process{}, false},
		{"cut short", "43 (sleep) S 1 42 41", process{}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, ok := parseStat(test.text)
			require.Equal(t, test.ok, ok)
			require.Equal(t, test.want, p)
		})
	}
}

// TestManyOrphans is about an error that would be too long.
func TestManyOrphans(t *testing.T) {
	e := &LockedError{Holder: "ann", Run: "r1", Age: time.Minute, Kill: "kill -- -2"}
	for i := range 10 {
		e.Running = append(e.Running, Orphan{Name: "a\x1b", PID: i + 2, Age: time.Second})
	}
	require.Contains(t, e.Error(), `"a\x1b" (pid 9, for 1s), 2 more; to end them: kill -- -2 (or kill -s KILL)`)
	require.Equal(t, "pid 7", Orphan{PID: 7}.String())
}

func BenchmarkCommand(b *testing.B) {
	dir := b.TempDir()
	require.NoError(b, os.Chmod(dir, 0o700))
	f := &commandLog{}
	unlock, err := lock(context.Background(), ann, dir, "l", f)
	require.NoError(b, err)
	defer unlock()
	for name, host := range map[string]modules.Host{"noted": newHost(f), "plain": New()} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, err := host.Commands.Run(context.Background(), modules.Command{Argv: []string{"/bin/true"}})
				require.NoError(b, err)
			}
		})
	}
}
