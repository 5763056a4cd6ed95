package watch_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/engine/enginetest"
	"github.com/ccm-push/ccm-push/modules/engine/watch"
	"github.com/ccm-push/ccm-push/modules/listen"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// An editor is a shell that edits while others work.
type editor struct {
	t    *testing.T
	in   io.Writer
	said *bufio.Reader
}

func startEditor(t *testing.T) *editor {
	t.Helper()
	cmd := exec.Command("/bin/sh")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait() // exit status of its last command
	})
	return &editor{t, in, bufio.NewReader(out)}
}

// begin has it do edits, and does not wait for that.
func (e *editor) begin(edits []string) {
	_, err := fmt.Fprintf(e.in, "{ %s\n} >/dev/null 2>&1\necho done\n", strings.Join(edits, "\n"))
	require.NoError(e.t, err)
}

// end waits until its current edit is complete.
func (e *editor) end() {
	line, err := e.said.ReadString('\n')
	require.NoError(e.t, err)
	require.Equal(e.t, "done\n", line)
}

// someEdit returns a change of a path, as a line of a shell. Mounts need a mount namespace.
func someEdit(r *rand.Rand, dir string, mounts bool) string {
	at := func() string { return filepath.Join(dir, paths[r.IntN(len(paths))]) }
	p, q, n := at(), at(), r.IntN(2)
	edits := []string{
		fmt.Sprintf("printf %d >%s", n, p),
		fmt.Sprintf("printf %d >>%s", n, p),
		fmt.Sprintf("true >%s", p),
		fmt.Sprintf("printf %d >%s.new && chmod 644 %[2]s.new && mv -fT %[2]s.new %[2]s", n, p),
		fmt.Sprintf("chmod %s %s", []string{"600", "644", "755"}[r.IntN(3)], p),
		"rm -rf " + p,
		"mkdir -p " + p,
		fmt.Sprintf("mv -fT %s %s", p, q),
		fmt.Sprintf("mv -T %s %s/swap; mv -T %[3]s %[1]s; mv -T %[2]s/swap %[3]s", p, dir, q),
		fmt.Sprintf("ln -sfnT %s %s", []string{"a", "../c", q, "../outside", "nowhere"}[r.IntN(5)], p),
		"umount -l " + p,
		fmt.Sprintf("mount -t tmpfs tmpfs %s", p),
		fmt.Sprintf("mount --bind %s %s", p, q),
	}
	if !mounts {
		edits = edits[:len(edits)-3]
	}
	return edits[r.IntN(len(edits))]
}

// TestRealEdits listens to real files while another process edits them, also while a catalog is checked and while a run
// applies it. Afterwards, the reports equal a fresh check. Nothing is polled.
func TestRealEdits(t *testing.T) {
	root := os.Getuid() == 0
	if root && os.Getenv("WATCH_NAMESPACE") == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", fmt.Sprintf("-test.short=%t", testing.Short()))
		cmd.Env = append(os.Environ(), "WATCH_NAMESPACE=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS} // with its mounts private
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		return
	}
	rounds := 60
	if testing.Short() {
		rounds = 12
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 20))
	told := 0
	for range rounds {
		told += realEdits(t, r, root)
	}
	t.Logf("%d verdicts were told", told)
	require.NotZero(t, told)
}

func realEdits(t *testing.T, r *rand.Rand, mounts bool) (told int) {
	all := t.TempDir()
	if mounts {
		require.NoError(t, syscall.Mount("tmpfs", all, "tmpfs", 0, ""))
		defer func() { require.NoError(t, syscall.Unmount(all, syscall.MNT_DETACH)) }() // with the mounts below it
	}
	t.Cleanup(func() { // an edit may have removed the permission to read a folder that has to be removed
		_ = filepath.WalkDir(all, func(path string, d fs.DirEntry, _ error) error {
			if d != nil && d.IsDir() {
				return os.Chmod(path, 0o755)
			}
			return nil
		})
	})
	dir := filepath.Join(all, "root") // links lead out of it, too
	require.NoError(t, os.Mkdir(dir, 0o755))
	cat := someCatalog(r, dir)
	cat.Watch.Settle, cat.Watch.Longest = time.Millisecond, 20*time.Millisecond
	for i := range cat.Entries {
		e := &cat.Entries[i]
		if e.Type == "exec" && r.IntN(3) == 0 {
			*e = wire.Entry{Type: "link", Name: dir + "/f", Properties: fmt.Appendf(nil, `{"name":"%s/f","target":"c","force":true}`, dir), Require: e.Require}
		}
	}
	var mu sync.Mutex
	known := make([]verdict, len(cat.Entries))
	loop := watch.New(watch.Config{
		Listen: func() (watch.Listener, error) { return listen.New(func(string) {}) },
		Tell: func(list []*wire.Watched) error {
			mu.Lock()
			defer mu.Unlock()
			for _, w := range list {
				for _, r := range w.Results {
					known[r.Index] = verdictOf(r)
					told++
				}
			}
			return nil
		},
		Now: time.Now,
	})
	ctx, end := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { loop.Serve(ctx) })
	defer work.Wait()
	defer end()
	_, err := loop.Run(t.Context(), enginetest.New(), cat, func(r *wire.Result) error {
		known[r.Index] = verdictOf(r)
		return nil
	})
	require.NoError(t, err)
	loop.Begin()

	repair := *cat
	repair.Check, repair.Rehearsal, repair.Watch = false, false, nil
	by := startEditor(t)
	var log []string
	for range 6 {
		var edits []string
		for range 1 + r.IntN(6) {
			edits = append(edits, someEdit(r, dir, mounts))
		}
		log = append(log, edits...)
		by.begin(edits)
		if r.IntN(2) == 0 {
			log = append(log, "# with a repair")
			_, err := enginetest.New().Run(t.Context(), &repair, func(*wire.Result) error { return nil })
			require.NoError(t, err)
		}
		by.end()
		var want, have []verdict
		assert.Eventually(t, func() bool {
			want = fresh(t, enginetest.New(), cat)
			mu.Lock()
			have = slices.Clone(known)
			mu.Unlock()
			return reflect.DeepEqual(want, have)
		}, 20*time.Second, time.Millisecond)
		require.Equal(t, want, have, "parallel %d\n%s\n%s", cat.Parallel, described(cat), strings.Join(log, "\n"))
	}
	return told
}

// described is a catalog in lines.
func described(cat *wire.Catalog) string {
	var b strings.Builder
	for i, e := range cat.Entries {
		fmt.Fprintf(&b, "%d %s %s require %v subscribe %v after %v check %t scope %+v\n", i, e.Type, e.Properties, e.Require, e.Subscribe, e.After, e.Check, e.Scope)
	}
	return b.String()
}
