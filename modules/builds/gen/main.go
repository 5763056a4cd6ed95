// Gen fills a folder with host programs: see package builds.
//
//	go run ./modules/builds/gen -out modules/builds/bin [target...]
//
// A target is written as linux/amd64; without one, all of them are made. Two programs are made for each, the lean and
// the full one. An up-to-date program is not made again, and stays in the folder's index even if its target is not
// listed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/ccm-push/ccm-push/modules/builds"
	"github.com/ccm-push/ccm-push/modules/builds/compile"
)

// allTargets are the hosts that ccm-push can drive without further ado.
var allTargets = []string{
	"linux/amd64", "linux/arm64", "linux/arm", "linux/386", "linux/riscv64",
	"darwin/amd64", "darwin/arm64", "freebsd/amd64", "freebsd/arm64",
}

// parallel is low because every go build uses several processors itself.
const parallel = 2

type generator struct {
	out string // folder
	pkg string // main package of the host program
	id  string // id that the programs report; empty means a hash of their sources
	log io.Writer
	// haste packs them as tests do, which is larger and takes no time.
	haste bool
	old   map[compile.Target]builds.Entry // current content of the folder
}

func main() {
	g := generator{log: os.Stderr}
	flag.StringVar(&g.out, "out", "modules/builds/bin", "the `folder` to fill")
	flag.StringVar(&g.pkg, "pkg", "./cmd/ccm-module", "the `package` of the host program")
	flag.StringVar(&g.id, "id", "", "build id that the programs report (default: a hash of their sources)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := g.run(ctx, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func (g *generator) run(ctx context.Context, names []string) error {
	if len(names) == 0 {
		names = allTargets
	}
	systems, err := parseTargets(names)
	if err != nil {
		return err
	}
	targets := compile.Both(systems...)
	if err := g.open(); err != nil {
		return err
	}
	if err := g.identify(ctx, targets); err != nil {
		return err
	}
	entries, err := g.makeAll(ctx, targets)
	if err != nil {
		return err
	}
	return builds.WriteIndex(g.out, slices.Concat(entries, g.others(targets)))
}

func parseTargets(names []string) ([]compile.Target, error) {
	targets := make([]compile.Target, len(names))
	for i, name := range names {
		t, err := compile.ParseTarget(name)
		if err != nil {
			return nil, err
		}
		targets[i] = t
	}
	return targets, nil
}

// identify finds the id of the programs. It is the same for any selection of the usual targets.
func (g *generator) identify(ctx context.Context, asked []compile.Target) (err error) {
	if g.id != "" {
		return nil
	}
	systems, err := parseTargets(allTargets)
	if err != nil {
		return err
	}
	all := compile.Both(systems...)
	for _, t := range asked {
		if !slices.Contains(all, t) {
			all = append(all, t)
		}
	}
	g.id, err = compile.ID(ctx, g.pkg, all...)
	return err
}

// others are the programs in the folder that are up to date but not listed.
func (g *generator) others(asked []compile.Target) []builds.Entry {
	var entries []builds.Entry
	for t, e := range g.old {
		if !slices.Contains(asked, t) && e.ID == g.id && g.holds(e) {
			entries = append(entries, e)
		}
	}
	slices.SortFunc(entries, func(a, b builds.Entry) int { return strings.Compare(a.File(), b.File()) })
	return entries
}

// open makes the folder and reads its content. An index that cannot be read is ignored.
func (g *generator) open() error {
	if err := os.MkdirAll(g.out, 0o755); err != nil {
		return err
	}
	entries, err := builds.ReadIndex(os.DirFS(g.out))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(g.log, "gen: %v; building everything again\n", err)
	}
	g.old = make(map[compile.Target]builds.Entry, len(entries))
	for _, e := range entries {
		g.old[compile.Target{OS: e.OS, Arch: e.Arch, Full: e.Full}] = e
	}
	return nil
}

func (g *generator) makeAll(ctx context.Context, targets []compile.Target) ([]builds.Entry, error) {
	entries := make([]builds.Entry, len(targets))
	eg, ctx := errgroup.WithContext(ctx) // one target that does not compile is enough
	eg.SetLimit(parallel)
	for i := range targets {
		if targets[i].Full {
			continue
		}
		eg.Go(func() (err error) { // the full program has the packages of the lean one, which are compiled by then
			for k := i; k < len(targets) && k <= i+1 && err == nil; k++ {
				entries[k], err = g.make(ctx, targets[k])
			}
			return err
		})
	}
	return entries, eg.Wait()
}

func (g *generator) make(ctx context.Context, t compile.Target) (builds.Entry, error) {
	if e, ok := g.old[t]; ok && e.ID == g.id && g.holds(e) {
		return e, nil
	}
	b, err := compile.Build(ctx, g.pkg, t, g.id, g.haste)
	if err != nil {
		return builds.Entry{}, err
	}
	fmt.Fprintf(g.log, "gen: %s %s: %d KiB, compressed %d KiB\n", t, g.id, b.Size>>10, b.CompressedSize>>10)
	return b.Write(g.out)
}

// holds reports whether the file of e exists and has its size.
func (g *generator) holds(e builds.Entry) bool {
	info, err := os.Stat(filepath.Join(g.out, e.File()))
	return err == nil && info.Size() == e.CompressedSize
}
