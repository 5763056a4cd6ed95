// Package buildtest provides tests with the host programs of the machine they run on, so that they need nothing but the
// go command.
package buildtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ccm-push/ccm-push/modules/builds"
	"github.com/ccm-push/ccm-push/modules/builds/compile"
)

const pkg = "github.com/ccm-push/ccm-push/cmd/ccm-module"

// Each program is built at most once per test process: many tests need it, and
// the go command takes a second even if nothing has changed.
var (
	lean = sync.OnceValues(func() (builds.Build, error) { return build(compile.Own()) })
	full = sync.OnceValues(func() (builds.Build, error) { return build(compile.Both(compile.Own())[1]) })
	id   = sync.OnceValues(func() (string, error) {
		return compile.ID(context.Background(), pkg, compile.Both(compile.Own())...)
	})
)

func build(t compile.Target) (builds.Build, error) {
	id, err := id()
	if err != nil {
		return builds.Build{}, err
	}
	dir := cached(id, t)
	if b, err := load(dir); err == nil {
		return b, nil
	}
	b, err := compile.Build(context.Background(), pkg, t, id, true) // shared by all tests of the process
	if err == nil && dir != "" {
		_ = store(dir, b) // without it the next process builds the program again
	}
	return b, err
}

// cached returns the folder for a program in the cache of the user; empty if the user has none. To link and pack both programs
// takes four seconds of a processor, and several test processes of a run need them.
func cached(id string, t compile.Target) string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	name := id + "-" + t.OS + "-" + t.Arch
	if t.Full {
		name += "-full"
	}
	return filepath.Join(dir, "ccm-push-tests", name)
}

// load returns the program in a folder, whose hash it verifies.
func load(dir string) (builds.Build, error) {
	list, err := builds.Load(dir)
	if err != nil {
		return builds.Build{}, err
	}
	if len(list) != 1 {
		return builds.Build{}, fmt.Errorf("%s has %d programs", dir, len(list))
	}
	packed, err := list[0].Compressed() // now: another process may remove the folder
	if err != nil {
		return builds.Build{}, err
	}
	b := list[0].WithCompressed(packed)
	_, err = b.Program()
	return b, err
}

// age is how long a program stays in the cache.
const age = 3 * 24 * time.Hour

// store puts a program into a folder, and removes old ones next to it.
func store(dir string, b builds.Build) error {
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return err
	}
	if entries, err := os.ReadDir(parent); err == nil {
		for _, e := range entries {
			if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > age {
				os.RemoveAll(filepath.Join(parent, e.Name()))
			}
		}
	}
	made, err := os.MkdirTemp(parent, "new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(made)
	entry, err := b.Write(made)
	if err == nil {
		err = builds.WriteIndex(made, []builds.Entry{entry})
	}
	if err != nil {
		return err
	}
	return os.Rename(made, dir) // fails if another process was faster
}

// Own builds cmd/ccm-module from this tree for this machine: the lean program.
func Own(tb testing.TB) []builds.Build {
	tb.Helper()
	return []builds.Build{must(tb, lean)}
}

// Both builds the lean program and the full one, at once.
func Both(tb testing.TB) []builds.Build {
	tb.Helper()
	var building sync.WaitGroup
	building.Go(func() { full() })
	defer building.Wait()
	return append(Own(tb), must(tb, full))
}

func must(tb testing.TB, build func() (builds.Build, error)) builds.Build {
	tb.Helper()
	b, err := build()
	if err != nil {
		tb.Fatalf("building the host program: %v", err)
	}
	return b
}

// installed has, for each hash, the program and the last file that Install put it into.
var installed = struct {
	sync.Mutex
	programs map[string][]byte
	files    map[string]string
}{programs: map[string][]byte{}, files: map[string]string{}}

// Install puts programs into the home directory of a host, where an earlier run of a login user leaves them. To receive and
// unpack them takes a host longer than all else in most tests. Hosts share one file, as long as a test keeps it.
func Install(tb testing.TB, home string, list ...builds.Build) {
	tb.Helper()
	dir := filepath.Join(home, ".cache", "ccm-push")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		tb.Fatal(err)
	}
	installed.Lock()
	defer installed.Unlock()
	for _, b := range list {
		file := filepath.Join(dir, b.SHA256)
		if err := os.Link(installed.files[b.SHA256], file); err == nil || errors.Is(err, fs.ErrExist) {
			continue
		}
		if err := write(file, b); err != nil {
			tb.Fatalf("installing the host program: %v", err)
		}
		installed.files[b.SHA256] = file
	}
}

// write unpacks a program into a new file.
func write(file string, b builds.Build) error {
	program := installed.programs[b.SHA256]
	if program == nil {
		var err error
		if program, err = b.Program(); err != nil {
			return err
		}
		installed.programs[b.SHA256] = program
	}
	// A process that another goroutine starts would have the file open for writing, so that the host could not run it.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(file, program, 0o700)
}
