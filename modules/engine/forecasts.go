package engine

import (
	"context"
	"fmt"
	"path"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/forecast"
	"github.com/ccm-push/ccm-push/modules/engine/schedule"
)

// forecasts predict the host after the jobs of a run, and the part that a job sees.
type forecasts struct {
	pair  *forecast.Pair
	order *schedule.Order
}

// of returns the forecast that a predicted job is checked against.
func (f *forecasts) of(j *job) *forecast.Forecast { return f.pair.For(j.mode == modeNoop) }

// view returns the plans that precede a job. Resources that have left the manifest come after all others.
func (f *forecasts) view(j *job) forecast.View {
	of := f.of(j)
	if of.Pending() == "" || !f.order.IsGraph() || j.entry.Reversal {
		return of.Everything()
	}
	return of.Behind(f.order.Before(j.index).Has)
}

// host is the Host that a job sees that is predicted.
func (f *forecasts) host(ctx context.Context, j *job, report modules.Reporter) modules.Host {
	return f.of(j).Host(ctx, f.view(j), j.prediction, report)
}

// probed records that a job has read the output of a program that reads such things.
func (f *forecasts) probed(j *job, reads modules.EffectKind) {
	f.of(j).Probed(f.view(j), j.prediction, reads)
}

// record adds the plan of a job. because names the cause of doubt for predictions that depend on it.
func (f *forecasts) record(j *job, because string, plan modules.Plan) {
	j.prediction.Recorded()
	f.pair.Record(forecast.Plan{
		Entry: j.index, Ref: because, Effects: plan.Effects, Doubt: j.prediction.Because,
		Noop: j.mode == modeNoop, Applied: !j.predicts(),
	})
}

// things returns the things that a plan concerns. User and group databases are files that are read, changed and written
// as a whole. A path includes its target, which may have other names through links.
func (f *forecasts) things(plan modules.Plan) []string {
	var keys []string
	for _, e := range plan.Effects {
		switch e.Kind {
		case modules.AnyEffect, modules.ElsewhereEffect, modules.BelowEffect, modules.RereadEffect:
		case modules.UserEffect, modules.GroupEffect:
			keys = append(keys, "accounts")
		case modules.PathEffect, modules.DiffersEffect:
			keys = append(keys, f.pair.Will.Canonical(e.Key, false), f.pair.Will.Canonical(e.Key, true))
		default:
			keys = append(keys, string(e.Kind)+" "+e.Key)
		}
	}
	return keys
}

// thing splits a subject into its thing and the part of it. It resolves the symbolic links of a path's directories, so
// that one file has one name.
func (f *forecasts) thing(subject string) (thing, part string) {
	thing, part, _ = strings.Cut(subject, "\n")
	if path.IsAbs(thing) {
		thing = f.pair.Will.Canonical(thing, false)
	}
	return thing, part
}

// place is the path that a subject is about, without the symbolic links of its
// directories; "" if it is about no path.
func (f *forecasts) place(subject string) string {
	if thing, _ := f.thing(subject); path.IsAbs(thing) {
		return thing
	}
	return ""
}

// spare is the space of a file system that names, inodes and temporary files need in addition to the contents of a
// plan, in bytes.
const spare = 64 << 10

// rooms counts what the plans of a check run need in each file system, in bytes.
type rooms struct {
	mu     sync.Mutex
	needed map[uint64]int64
}

// lacks returns a warning if a plan may not find enough room, after all plans before it, or "".
func (r *rooms) lacks(files modules.Files, plan modules.Plan) string {
	if files.Room == nil {
		return ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range plan.Effects {
		state, ok := e.State.(modules.PathState)
		if !ok || e.Kind != modules.PathEffect || state.Kind == modules.Absent {
			continue
		}
		if _, err := files.Stat(e.Key); err == nil && state.Content.IsZero() {
			continue // owner or mode only
		}
		in, free, ok := files.Room(e.Key)
		if !ok {
			continue
		}
		if r.needed == nil {
			r.needed = map[uint64]int64{}
		}
		r.needed[in] += max(state.Content.Size(), state.Size)
		if needed := r.needed[in] + spare; needed > free {
			return fmt.Sprintf("only %d KiB are free in the file system of %s, and the run needs up to %d KiB there", free>>10, path.Dir(e.Key), (needed+1023)>>10)
		}
	}
	return ""
}
