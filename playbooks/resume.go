package playbooks

import (
	"cmp"
	"slices"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/share"
)

// recordedHosts keeps those hosts of a play that the run to be resumed had selected for it.
func (r *Runner) recordedHosts(play int, hosts []*inventory.Host) []*inventory.Host {
	p := r.Options.Progress
	if p == nil {
		return hosts
	}
	return among(hosts, setOf(p.Plays[play].Hosts))
}

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// done tells which hosts came through each play in the run that is resumed, so that they
// are not touched again. Where hosts may send values to each other there is none: the
// values have gone with the run.
func (r *Runner) done() []map[string]bool {
	done := make([]map[string]bool, len(r.Plays))
	if r.Options.Progress == nil || share.Any(r.Plays) {
		return done
	}
	for i := range done {
		done[i] = r.Options.Progress.Plays[i].Done
	}
	return done
}

// hasOnce says which resources a host has that run once. What came of one in the run to be resumed, for the same
// batch, holds still, also where the host that ran it is done.
func (f *fleet) hasOnce(s *selection, host string, has map[string]bool) {
	if p := f.runner.Options.Progress; p != nil {
		for at := range has {
			if e, ran := p.Plays[s.number].RanOnce(host, at); ran {
				f.once.Ended(cmp.Or(e.On, e.Host), at, ranOnce(e))
			} else if began := p.Plays[s.number].BeganOnce(host, at); began != "" {
				f.once.Began(began, at)
			}
		}
	}
	f.once.Compiled(host, has)
}

// markRan marks the entries of a catalog that the run to be resumed has run and an undo has left as they are.
func (r *Runner) markRan(s *selection, host string, c *wire.Catalog) {
	p := r.Options.Progress
	if p == nil || s.number >= len(p.Plays) {
		return
	}
	for i := range c.Entries {
		e := &c.Entries[i]
		e.Ran = p.Plays[s.number].LeftBy(host, e.Type, e.Name)
	}
}

// ranOnce is a result of the record.
func ranOnce(e events.Result) *wire.Result {
	r := &wire.Result{Status: wire.Status(e.Status), Message: e.Message}
	if c := e.Command; c != nil {
		r.Exit = &modules.Exit{Code: c.ExitCode, Stdout: modules.Output{Text: c.Stdout, Dropped: c.StdoutDropped}, Stderr: modules.Output{Text: c.Stderr, Dropped: c.StderrDropped}}
	}
	return r
}

// remaining are the hosts of each play that are not done with it.
func remaining(hosts [][]*inventory.Host, done []map[string]bool) [][]*inventory.Host {
	list := make([][]*inventory.Host, len(hosts))
	for i := range hosts {
		list[i] = without(hosts[i], done[i])
	}
	return list
}

func without(hosts []*inventory.Host, set map[string]bool) []*inventory.Host {
	return slices.DeleteFunc(slices.Clone(hosts), func(h *inventory.Host) bool { return set[h.Name] })
}

func among(hosts []*inventory.Host, set map[string]bool) []*inventory.Host {
	return slices.DeleteFunc(slices.Clone(hosts), func(h *inventory.Host) bool { return !set[h.Name] })
}

// batches cuts hosts into the batches of a play. Those that the run to be resumed has begun
// come first, as they were; after them the sizes go on where it had got to.
func (r *Runner) batches(number int, play *manifest.Play, hosts []*inventory.Host) [][]*inventory.Host {
	if r.Options.Progress == nil {
		return r.Step.batches(batches(hosts, hosts, play.Serial))
	}
	var all [][]*inventory.Host
	rest := hosts
	for _, begun := range r.Options.Progress.Plays[number].Batches {
		in := setOf(begun)
		all, rest = append(all, among(hosts, in)), without(rest, in)
	}
	sizes := play.Serial
	if len(sizes) > 0 {
		sizes = sizes[min(len(all), len(sizes)-1):]
	}
	return append(all, batches(rest, hosts, sizes)...)
}
