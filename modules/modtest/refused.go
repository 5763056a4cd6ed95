package modtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

// refused refuses each step of Apply once: each command that it runs, each change of a file, and each directory that it
// opens to change entries, such as /proc/sys. A refused step does nothing; all other steps run. Afterwards the next
// boot must not find refused content:
//   - each path that the type itself has written is as it was before;
//   - otherwise the refused step was not a command, and the error names the path.
//
// Files that commands have written count as accepted.
func (f *Fixture) refused(t *testing.T, typ modules.Type, before, after map[string]Seen) {
	for n := 1; ; n++ {
		root, res := f.build(t, typ)
		h := Host()
		plan, err := modules.Compare(t.Context(), res, modules.ReadOnly(h))
		require.NoError(t, err)
		steps := &refusing{at: n, written: map[string]bool{}}
		err = res.Apply(t.Context(), steps.host(h), plan)
		if steps.refused == "" {
			return // there are no more
		}
		if err == nil {
			continue // a step that may fail
		}
		step := fmt.Sprintf("step %d, %s, was refused, and Apply failed: %v", n, strings.ReplaceAll(steps.refused, root, ""), err)
		state := f.state(t, root)
		for name := range union(before, state) {
			if !f.lasts(name) || state[name].Mode.IsDir() || before[name].Mode.IsDir() || state[name] == before[name] || !steps.written[path.Join(root, name)] {
				continue
			}
			if !steps.command {
				require.True(t, after[name] == state[name], "%s: %s has neither the earlier nor the desired state", step, name)
			} else {
				require.Fail(t, "something refused is left", "%s: %s is %.200q, and was %.200q", step, name, state[name].Text, before[name].Text)
			}
			if pieceByPiece[typ.Name] {
				continue
			}
			require.Contains(t, err.Error(), name, "%s: the error does not name what is left", step)
		}
	}
}

// killed ends Apply after a step, as a kill or a power failure does: no later step runs, so no file is
// restored. Lasting files must not have content that the kernel or a program has not accepted: while a
// command or an opened directory follows, each path that the type has written itself is unchanged.
func (f *Fixture) killed(t *testing.T, typ modules.Type, before map[string]Seen) {
	if writesFirst[typ.Name] != "" || writesFirst[typ.Name+": "+f.Name] != "" {
		return
	}
	root, res := f.build(t, typ)
	h := Host()
	plan, err := modules.Compare(t.Context(), res, modules.ReadOnly(h))
	require.NoError(t, err)
	whole := &refusing{written: map[string]bool{}}
	require.NoError(t, res.Apply(t.Context(), whole.host(h), plan))
	for n, step := range whole.steps {
		later := slices.IndexFunc(whole.steps[n+1:], func(s taken) bool { return s.command })
		if step.command || later < 0 || !f.lasts(strings.TrimPrefix(step.path, root)) {
			continue
		}
		root, res := f.build(t, typ)
		plan, err := modules.Compare(t.Context(), res, modules.ReadOnly(h))
		require.NoError(t, err)
		steps := &refusing{kill: n + 1, written: map[string]bool{}}
		_ = res.Apply(t.Context(), steps.host(h), plan)
		state := f.state(t, root)
		for name := range union(before, state) {
			if writesFirst[typ.Name+" /"+name] == "" && f.lasts(name) && !state[name].Mode.IsDir() && !before[name].Mode.IsDir() && steps.written[path.Join(root, name)] {
				require.True(t, state[name] == before[name], "%s has changed already (%.200q, was %.200q) if Apply is killed after step %d, before %s: write lasting files last",
					name, state[name].Text, before[name].Text, n+1, strings.ReplaceAll(whole.steps[n+1+later].what, root, ""))
			}
		}
	}
}

// writesFirst lists types, fixtures and paths that write lasting files before the last command has accepted
// them, with the reason. If a step fails, the type restores the files (see refused); after a kill they stay.
var writesFirst = map[string]string{
	"container":  "systemd makes the service from the file, so the file is there before the service can start",
	"swap /swap": "mkswap and swapon need the file; no boot uses it before fstab has its line, which is written last",
	"kmod: now, with other parameters than before": "modprobe adds the earlier parameters of the file to its arguments, so they are removed first; none is added before the kernel has taken it",
}

// pieceByPiece are types of whole trees, whose files are changed one after the other: the changed files stay, and the
// error names the file that was not changed.
var pieceByPiece = map[string]bool{"scaffold": true}

func union(all ...map[string]Seen) map[string]bool {
	names := map[string]bool{}
	for _, one := range all {
		for name := range one {
			names[name] = true
		}
	}
	return names
}

// lasts reports whether a path below the root is there after a boot. Directories are of no consequence.
func (f *Fixture) lasts(name string) bool {
	top, _, _ := strings.Cut(strings.TrimPrefix(name, "/"), "/")
	for _, live := range []string{"proc", "sys", "dev", "run", "bin", "tmp"} {
		if top == live {
			return false
		}
	}
	if f.Passing == "" {
		return true
	}
	passing, _ := path.Match(f.Passing, strings.TrimPrefix(name, "/"))
	return !passing
}

// refusing counts steps, and refuses one of them, or all after one.
type refusing struct {
	at      int // the step that is refused; 0 refuses none
	kill    int // the last step that runs; 0 means all run
	steps   []taken
	refused string
	command bool
	written map[string]bool // paths that the type itself has written, not only their owner and mode
}

// A taken is a step of Apply.
type taken struct {
	what    string
	path    string // changed file; empty for other steps
	command bool   // or a directory that was opened
}

const attributes = "set attributes of"

var errRefused = errors.New("refused by the test")

// next counts a step, and reports whether it is refused.
func (r *refusing) next(what, path string, command bool) bool {
	r.steps = append(r.steps, taken{strings.TrimSpace(what + " " + path), path, command})
	switch n := len(r.steps); {
	case n == r.at:
		r.refused, r.command = r.steps[n-1].what, command
		return true
	case r.kill > 0 && n > r.kill:
		return true
	}
	return false
}

func (r *refusing) host(h modules.Host) modules.Host {
	h.Files.FileWriter = refusingWriter{h.Files.FileWriter, r}
	h.Files.DirectoryOpener = refusingOpener{h.Files.DirectoryOpener, r}
	h.Commands = refusingCommands{h.Commands, r}
	return h
}

type refusingCommands struct {
	modules.Commands
	r *refusing
}

func (c refusingCommands) Run(ctx context.Context, command modules.Command) (modules.Exit, error) {
	if c.r.next(strings.Join(command.Argv, " "), "", true) {
		return modules.Exit{Code: 1, Stderr: modules.Output{Text: errRefused.Error()}}, nil
	}
	return c.Commands.Run(ctx, command)
}

type refusingOpener struct {
	modules.DirectoryOpener
	r *refusing
}

func (o refusingOpener) OpenDirectory(path string) (*os.Root, error) {
	if o.r.next("open "+path, "", true) {
		return nil, fmt.Errorf("open %s: %w", path, errRefused)
	}
	return o.DirectoryOpener.OpenDirectory(path)
}

func (o refusingOpener) Within(dir string) modules.FileWriter {
	return refusingWriter{o.DirectoryOpener.Within(dir), o.r}
}

type refusingWriter struct {
	modules.FileWriter
	r *refusing
}

func (w refusingWriter) do(what, path string, do func() error) error {
	if w.r.next(what, path, false) {
		return fmt.Errorf("%s %s: %w", what, path, errRefused)
	}
	w.r.written[path] = w.r.written[path] || what != attributes
	return do()
}

func (w refusingWriter) Write(ctx context.Context, path string, r io.Reader, a modules.Attributes) error {
	return w.do("write", path, func() error { return w.FileWriter.Write(ctx, path, r, a) })
}

func (w refusingWriter) WriteIf(ctx context.Context, path string, r io.Reader, a modules.Attributes, approve func(temp string) error) error {
	return w.do("write", path, func() error { return w.FileWriter.WriteIf(ctx, path, r, a, approve) })
}

func (w refusingWriter) Copy(ctx context.Context, path, to string) error {
	return w.do("copy", path, func() error { return w.FileWriter.Copy(ctx, path, to) })
}

func (w refusingWriter) MakeDir(ctx context.Context, path string, a modules.Attributes) error {
	return w.do("mkdir", path, func() error { return w.FileWriter.MakeDir(ctx, path, a) })
}

func (w refusingWriter) Symlink(ctx context.Context, path, target string) error {
	return w.do("link", path, func() error { return w.FileWriter.Symlink(ctx, path, target) })
}

func (w refusingWriter) SetAttributes(ctx context.Context, path string, a modules.Attributes) error {
	return w.do(attributes, path, func() error { return w.FileWriter.SetAttributes(ctx, path, a) })
}

func (w refusingWriter) Remove(ctx context.Context, path string, tree bool) error {
	return w.do("remove", path, func() error { return w.FileWriter.Remove(ctx, path, tree) })
}
