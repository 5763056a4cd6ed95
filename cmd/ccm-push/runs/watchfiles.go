package runs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/fleet"
	"github.com/ccm-push/ccm-push/inventory/printable"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/events"
)

// lookEvery is the interval at which the files of a watch are checked.
const lookEvery = time.Second

// A watchedRun is one of the runs of a watch: it watches hosts until the files have changed that it is
// made of, and another one follows it.
type watchedRun struct {
	call    *watchCall
	runner  *playbooks.Runner
	paths   []string
	begun   bool              // hosts may have changed
	watches chan struct{}     // closed when hosts are watched
	until   chan struct{}     // closed when another run is to follow
	next    *playbooks.Runner // following runner; nil means none
}

// Report notes how far the run is.
func (r *watchedRun) Report(e events.Event) {
	switch e.(type) {
	case events.RunStart:
		r.begun = true
	case events.WatchStart:
		close(r.watches)
	}
}

// watched reports whether the run got as far as watching hosts.
func (r *watchedRun) watched() bool {
	select {
	case <-r.watches:
		return true
	default:
		return false
	}
}

// run carries out the run, and looks at the files meanwhile.
func (r *watchedRun) run(ctx context.Context, to []events.Reporter) error {
	c := r.call
	looked, cancel := context.WithCancel(ctx)
	var looking sync.WaitGroup
	looking.Go(func() { r.look(looked) })
	err := c.plays.Run(ctx, r.runner, c.printer, fleet.Header("watch", r.paths, r.runner.Plays), append(slices.Clip(to), r)...)
	cancel()
	looking.Wait()
	return err
}

// look takes up files that have changed, once hosts are watched: whether they are valid as they are now,
// and what the run of them would do, or that it follows.
func (r *watchedRun) look(ctx context.Context) {
	select {
	case <-r.watches:
	case <-ctx.Done():
		return
	}
	app := r.call.plays.Fleet.App
	for {
		changed := app.Files.Wait(ctx, lookEvery)
		if len(changed) == 0 {
			return
		}
		text := shownPaths(changed) + ": changed since it was read"
		next, err := r.read(ctx)
		switch {
		case ctx.Err() != nil || app.Stopped():
		case err != nil:
			app.Warn(text + ", and is invalid: watch continues with the old version\n" + err.Error())
		case r.call.follows:
			app.Say(text + ", and is valid: applying it")
			r.next = next
			close(r.until)
			return
		default:
			app.Say(text + ", and is valid: watch continues with the old version; the new one would change this:")
			if err := r.call.plan(ctx, next); err != nil {
				app.Warn("the changes are unknown: " + err.Error())
			}
		}
		if next != nil {
			next.Dialer.Close()
		}
	}
}

// read reads manifests and inventory again, and returns their errors, as validate does.
func (r *watchedRun) read(ctx context.Context) (*playbooks.Runner, error) {
	pl := r.call.plays
	next, err := pl.Runner(ctx, r.paths)
	if err != nil {
		return nil, err
	}
	checked := *next
	checked.Connect.Warn = nil // the run itself prints the warnings
	pl.Fleet.Connection.MentionPasswords(&checked.Connect)
	return next, checked.Validate(ctx, nil, pl.Fleet.Flags.Variables.Facts != "")
}

// plan prints what a run would do. It is not recorded.
func (w *watchCall) plan(ctx context.Context, r *playbooks.Runner) error {
	f := w.plays.Fleet
	if err := errors.Join(f.AddBuilds(r), f.Connection.AddSecrets(ctx, &r.Connect)); err != nil {
		return err
	}
	r.Options.Check = true
	r.Tally = &events.Tally{}
	r.Events = events.NewStream(r.Options.Run, time.Now, r.Tally, w.printer.Reporter(r, events.TextOptions{Trust: f.TrustCommand})).WithMask(r.Options.Catalog.Mask)
	_, err := f.Play(ctx, r, false)
	return errors.Join(err, r.Events.Err())
}

// shownPaths names files for people: below the working folder without that, and of many the first ones.
func shownPaths(paths []string) string {
	const most = 3
	here, _ := os.Getwd() // on an error, paths stay unchanged
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
