package pkg_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/pkg"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// asking counts the queries to the package manager.
type asking struct {
	modules.Commands
	questions [][]string
}

func (a *asking) Probe(ctx context.Context, c modules.Command) (modules.Exit, error) {
	a.questions = append(a.questions, c.Argv)
	return a.Commands.Probe(ctx, c)
}

// checked runs a catalog on a host with these packages, and returns its results and the queries that it needed.
func (a *archive) checked(t *testing.T, status string, cat *wire.Catalog, singly bool) ([]wire.Result, [][]string) {
	t.Helper()
	root := modtest.Root(t)
	modtest.Build(t, root, dpkgTree(status))
	h := a.host(root)
	asked := &asking{Commands: h.Commands}
	h.Commands = asked
	e := &engine.Engine{Host: h, Now: time.Now}
	e.Decode = func(entry *wire.Entry) (modules.Resource, error) {
		res, err := modules.Registry{pkg.Type()}.Decode("package", entry.Properties)
		if singly {
			res = single{res}
		}
		return res, err
	}
	var results []wire.Result
	_, err := e.Run(t.Context(), cat, func(r *wire.Result) error {
		r.Duration = 0
		results = append(results, *r)
		return nil
	})
	require.NoError(t, err)
	return results, asked.questions
}

func TestPreloadAsksOnce(t *testing.T) {
	a := newArchive(t)
	status := has(ok, "demo", "2.0", "") + has(ok, "tool", "1.0", "") + has(ok, "left", "1.0", "")
	results, asked := a.checked(t, status, &wire.Catalog{Entries: []wire.Entry{
		entry("demo", "latest"), entry("tool", "present"), entry("left", "latest"), entry("tool", "1.0"), entry("nosuch", "absent"),
	}}, false)
	require.Equal(t, "stable stable stable stable stable", ending{results: pointers(results)}.brief())
	require.Len(t, asked, 2, "%q", asked)
	require.Equal(t, []string{"--", "demo", "left", "nosuch", "tool"}, asked[0][4:])
	require.Equal(t, []string{"apt-cache", "-o", "Dir::Log::Planner=/dev/null", "-o", "Dir::Log::Solver=/dev/null", "-o", "Dir::Cache::pkgcache=/proc/none/pkgcache.bin",
		"policy", "--", "demo", "left"}, asked[1])
}

func pointers(results []wire.Result) []*wire.Result {
	var list []*wire.Result
	for i := range results {
		list = append(list, &results[i])
	}
	return list
}

// TestPreloadChangesNoPrediction generates catalogs, and runs each check twice: one check queries all packages at once,
// the other queries one after the other. The predictions must be equal.
func TestPreloadChangesNoPrediction(t *testing.T) {
	a := newArchive(t)
	r := rand.New(rand.NewPCG(8, 8))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	fewer, catalogs := 0, 30
	if testing.Short() {
		catalogs /= 5
	}
	for n := range catalogs {
		status := ""
		for _, p := range []string{"demo", "tool", "left", "multi"} {
			if r.IntN(2) == 0 {
				status += has(pick(ok, ok, hold, "install ok half-configured"), p, pick("1.0", "2.0"), "")
			}
		}
		cat := &wire.Catalog{Check: true}
		for range 2 + r.IntN(6) {
			cat.Entries = append(cat.Entries, entry(
				pick("demo", "demo", "tool", "left", "right", "epoch", "mta", "solo", "nosuch", "multi:"+native(t), "needy"),
				pick("present", "present", "latest", "latest", "absent", "1.0"),
			))
		}
		together, asked := a.checked(t, status, cat, false)
		alone, askedAlone := a.checked(t, status, cat, true)
		require.Equal(t, alone, together, "catalog %d: %s", n, names(cat.Entries))
		if len(asked) < len(askedAlone) {
			fewer++
		}
	}
	require.Greater(t, fewer, catalogs/2, "hardly anything was asked at once")
}
