// Package buildtest gives tests the host programs of the machine they run on, so
// that they need nothing but the go command.
package buildtest

import (
	"context"
	"sync"
	"testing"

	"github.com/ccm-push/ccm-push/modules/builds"
	"github.com/ccm-push/ccm-push/modules/builds/compile"
)

const pkg = "github.com/ccm-push/ccm-push/cmd/ccm-module"

// Each program is made at most once per test process: many tests want it, and
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
	return compile.Build(context.Background(), pkg, t, id, true) // shared by all tests of the process
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
