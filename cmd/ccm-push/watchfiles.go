package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/inventory/printable"
)

// lookEvery is how often the files are looked at that a watch is made of.
const lookEvery = time.Second

// watchFiles tells, until end is called, when files have changed that the run of manifests is made of,
// and whether they are valid as they are now. What is watched stays as it was read.
func (w *watchCall) watchFiles(ctx context.Context, paths []string) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var looking sync.WaitGroup
	looking.Go(func() {
		for {
			changed := w.plays.fleet.app.files.Wait(ctx, lookEvery)
			if len(changed) == 0 {
				return
			}
			text := shownPaths(changed) + ": changed since it was read"
			if err := w.readAgain(ctx, paths); ctx.Err() != nil {
				return
			} else if err != nil {
				text += ", and is not valid: what is watched stays as it was\n" + err.Error()
			} else {
				text += ", and valid: what is watched stays as it was, until watch is started again"
			}
			w.plays.fleet.app.warn(text)
		}
	})
	return func() {
		cancel()
		looking.Wait()
	}
}

// readAgain reads manifests and inventory as a run would, and reports what is wrong with them.
func (w *watchCall) readAgain(ctx context.Context, paths []string) error {
	pl := w.plays
	_, err := pl.read(ctx, paths)
	inv, invErr := pl.fleet.inventory.load(ctx, paths...)
	if inv != nil && err == nil {
		_, err = pl.fleet.variables.options(ctx, pl.fleet.app.environ, true)
	}
	return errors.Join(err, invErr)
}

// shownPaths names files for people: below the working folder without that, and of many the first ones.
func shownPaths(paths []string) string {
	const most = 3
	here, _ := os.Getwd() // else they stay as they are
	var names []string
	for i, path := range paths {
		if i == most && len(paths) > most {
			names = append(names, "…")
			break
		}
		if below, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(below) {
			path = below
		}
		names = append(names, printable.Line(path))
	}
	return strings.Join(names, ", ")
}
