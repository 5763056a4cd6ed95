package playbooks

import (
	"cmp"
	"slices"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/record"
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

// done returns which hosts finished each play in the run that is resumed, so that they are not changed again. If hosts
// may send values to each other there is none: the values were lost with the run.
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

// hasOnce notes the entries of a host that run once. A result in the run to be resumed, for the same batch, remains
// valid, also if the host that ran it is done.
func (f *fleet) hasOnce(s *selection, host string, has map[string]bool) {
	for at := range has {
		if e, on := f.runner.onceBefore(s, host, at); e != nil {
			f.once.Ended(on, at, ranOnce(*e))
		} else if on != "" {
			f.once.Began(on, at)
		}
	}
	f.once.Compiled(host, has)
}

// onceBefore returns the result of a resource that runs once, from the run to be resumed, and the host where it ran.
// If it began and has no result, e is nil; if it did not begin, on is empty.
func (r *Runner) onceBefore(s *selection, host, resource string) (e *events.Result, on string) {
	if r.Options.Progress == nil {
		return nil, ""
	}
	p := &r.Options.Progress.Plays[s.number]
	if oneBatch(s.play, p.Batches) && len(p.Batches[0]) > 0 {
		host = p.Batches[0][0]
	}
	if e, ran := p.RanOnce(host, resource); ran {
		return &e, cmp.Or(e.On, e.Host)
	}
	return nil, p.BeganOnce(host, resource)
}

// oneBatch reports whether a play that has begun is one batch, including hosts that had not started.
func oneBatch(play *manifest.Play, begun [][]string) bool {
	return len(play.Serial) == 0 && play.Rollout == nil && len(begun) == 1
}

// markRan marks the entries of a catalog that an earlier run has run, and that an undo has not reverted. A worker
// receives them with the turn of the host.
func (r *Runner) markRan(s *selection, state *hostState, c *wire.Catalog) {
	ran := map[record.ResourceName]string{}
	switch p := r.Options.Progress; {
	case p == nil:
		for _, l := range state.left {
			if l.Play == s.number {
				ran[record.ResourceName{Type: l.Type, Name: l.Name}] = l.Run
			}
		}
	case s.number < len(p.Plays):
		ran = p.Plays[s.number].LeftOn(state.host.Name)
	}
	if len(ran) == 0 {
		return
	}
	for i := range c.Entries {
		e := &c.Entries[i]
		e.Ran = ran[record.ResourceName{Type: e.Type, Name: e.Name}]
	}
}

// left returns the resources of plays of a host that an undo has left as an earlier run had made them.
func (r *Runner) left(host string, plays ...int) (list []Left) {
	p := r.Options.Progress
	if p == nil {
		return nil
	}
	for _, number := range plays {
		if number >= len(p.Plays) {
			continue
		}
		for of, run := range p.Plays[number].LeftOn(host) {
			list = append(list, Left{number, of.Type, of.Name, run})
		}
	}
	return list
}

// ranOnce is a result of the record.
func ranOnce(e events.Result) *wire.Result {
	r := &wire.Result{Status: wire.Status(e.Status), Message: e.Message, Kept: true, Earlier: true}
	if c := e.Command; c != nil {
		r.Exit = &modules.Exit{Code: c.ExitCode, Stdout: modules.Output{Text: c.Stdout, Dropped: c.StdoutDropped}, Stderr: modules.Output{Text: c.Stderr, Dropped: c.StderrDropped}}
	}
	return r
}

// remaining returns the hosts of each play that have not finished it.
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

// batches cuts hosts into the batches of a play. Batches that the run to be resumed has begun are first, unchanged;
// after them the sizes continue from the same position.
func (r *Runner) batches(number int, play *manifest.Play, hosts []*inventory.Host) [][]*inventory.Host {
	if r.Options.Progress == nil {
		return r.Step.batches(batches(hosts, hosts, play.Serial))
	}
	var all [][]*inventory.Host
	rest := hosts
	if oneBatch(play, r.Options.Progress.Plays[number].Batches) {
		return batches(hosts, hosts, nil)
	}
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
