// Package buildtest gives tests the host program of the machine they run on, so
// that they need nothing but the go command.
package buildtest

import (
	"compress/gzip"
	"context"
	"sync"
	"testing"

	"github.com/ccm-push/ccm-push/modules/builds"
	"github.com/ccm-push/ccm-push/modules/builds/compile"
)

const pkg = "github.com/ccm-push/ccm-push/cmd/ccm-module"

// own is made at most once per test process: many tests want it, and the go
// command takes a second even if nothing has changed.
var own = sync.OnceValues(func() (builds.Build, error) {
	ctx := context.Background() // shared by all tests of the process
	id, err := compile.ID(ctx, pkg, compile.Own())
	if err != nil {
		return builds.Build{}, err
	}
	return compile.Build(ctx, pkg, compile.Own(), id, gzip.BestSpeed)
})

// Own builds cmd/ccm-module from this tree for this machine.
func Own(tb testing.TB) []builds.Build {
	tb.Helper()
	b, err := own()
	if err != nil {
		tb.Fatalf("building the host program: %v", err)
	}
	return []builds.Build{b}
}
