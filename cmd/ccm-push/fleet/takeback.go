package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/exit"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/flags"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/activity"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/record"
	"github.com/ccm-push/ccm-push/playbooks/rollout"
)

// takesBack refuses a rollout that may have to be taken back where that is not possible.
func takesBack(plays []*manifest.Play, given *flags.All) error {
	if !given.Record.None || given.Mode.Check {
		return nil
	}
	for _, play := range plays {
		if r := play.Rollout; r != nil && (r.OnStop == rollout.UndoAll || r.OnStop == rollout.UndoBatch) {
			return r.At.Errorf("remove --no-record, or set on_stop: end", "on_stop: %s needs the record of the run, and --no-record keeps none", r.OnStop)
		}
	}
	return nil
}

// takeBack undoes the changes of a run on hosts after its rollout has stopped, if the rollout is set to take them back.
// The undo is a separate run, which keeps only the limit of unavailable hosts from the rollout.
func (f *Fleet) takeBack(ctx context.Context, of *playbooks.Runner, p *output.Printer) error {
	store, err := f.App.Records()
	if err != nil {
		return err
	}
	run, err := store.Find(of.Options.Run)
	if err != nil {
		return fmt.Errorf("taking back run %s: %w", of.Options.Run, err)
	}
	plays, err := run.Undo(nil)
	if err != nil {
		return fmt.Errorf("taking back run %s: %w", run.Run, err)
	}
	for _, play := range plays {
		play.Undo.Hosts = slices.DeleteFunc(play.Undo.Hosts, func(h string) bool { return !of.TakeBackAll && !slices.Contains(of.TakeBack, h) })
	}
	plays = slices.DeleteFunc(plays, func(play *manifest.Play) bool { return len(play.Undo.Hosts) == 0 })
	if len(plays) == 0 {
		return nil
	}
	if of.TakeBackAll {
		f.App.Say("taking back run " + run.Run)
	} else {
		f.App.Say(fmt.Sprintf("taking back run %s on hosts of the batch: %s", run.Run, strings.Join(of.TakeBack, ", ")))
	}
	r := *of
	r.Plays, r.TakeBack, r.Step, r.Steer = plays, nil, nil, nil
	r.Options.Run, r.Options.Progress, r.Options.Origin, r.Options.Limit, r.Options.Canary = record.NewID(time.Now()), nil, record.Origin{}, "", ""
	r.Options.Manifests, r.Options.Watch = nil, nil // so that there is no hint to resume it, and no watch of undone changes
	h := record.Header{Command: "undo", What: "undo of " + run.What, Undoes: run.Run}
	if !of.TakeBackAll {
		h.Flags = []record.Flag{{Name: "limit", Words: []string{strings.Join(of.TakeBack, ",")}}} // so that it counts as partial
	}
	to := append([]events.Reporter{p.Reporter(&r, events.TextOptions{Trust: f.TrustCommand})}, f.Record.Reporters(&r, h)...)
	r.Tally = &events.Tally{}
	r.Events = events.NewStream(r.Options.Run, time.Now, append(to, r.Tally)...).WithMask(r.Options.Catalog.Mask)
	r.Activity = &activity.Tracker{}
	end := p.Show(r.Activity, false, nil)
	summary, err := f.Play(ctx, &r, true)
	if err := errors.Join(err, end(ctx)); err != nil {
		return exit.Unwritten(err)
	}
	return p.Status(summary)
}
