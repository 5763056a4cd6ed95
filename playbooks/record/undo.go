package record

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/rollout"
)

// Chain returns the run that r belongs to and all runs that resumed it, the oldest first. An undo, and
// a check run, is alone.
func (s Store) Chain(r *Run) ([]*Run, error) {
	if r.isAlone() {
		return []*Run{r}, nil
	}
	all, err := s.List()
	if err != nil {
		return nil, err
	}
	return chainOf(r, all), nil
}

// isAlone reports whether no run can resume r.
func (r *Run) isAlone() bool { return r.Check || r.Undoes != "" || len(r.Manifests) == 0 }

// chainOf is [Store.Chain] among all runs, the newest first.
func chainOf(r *Run, all []*Run) []*Run {
	if r.isAlone() {
		return []*Run{r}
	}
	first := cmp.Or(r.Origin.First, r.Run)
	var chain []*Run
	for _, other := range slices.Backward(all) {
		if !other.Check && other.Undoes == "" && (other.Run == first || other.Origin.First == first) {
			chain = append(chain, other)
		}
	}
	return chain
}

// Undo returns the plays that take a run back together with the runs of its [Store.Chain], the newest
// first, and the runs that these plays are about, the oldest first. only names resources as type#name;
// empty means all.
func (s Store) Undo(r *Run, only []string) (plays []*manifest.Play, runs []*Run, err error) {
	chain, err := s.Chain(r)
	if err != nil {
		return nil, nil, err
	}
	missing := slices.Clone(only)
	var first error
	for _, one := range slices.Backward(chain) {
		its, notHere, err := one.undo(only)
		if first = cmp.Or(first, err); err != nil && !errors.Is(err, errUnchanged) {
			return nil, nil, err
		}
		missing = slices.DeleteFunc(missing, func(ref string) bool { return !slices.Contains(notHere, ref) })
		if len(its) > 0 {
			plays, runs = append(plays, its...), append(runs, one)
		}
	}
	slices.Reverse(runs)
	switch {
	case len(missing) > 0:
		return nil, nil, errMissing(r, missing)
	case len(plays) == 0:
		return nil, nil, first
	}
	return plays, runs, nil
}

// UndoneBy returns the newest undo of a run that is still in effect; nil means none. A run and the runs that resume it
// are undone together. An undo that changed no host is in effect only if it ended well. An undo that was itself undone
// as a whole is not in effect.
func (s Store) UndoneBy(r *Run) (*Run, error) {
	undos, err := s.undos(r)
	if len(undos) == 0 {
		return nil, err
	}
	return undos[0], err
}

// undos returns the undos of a run that are in effect, the newest first: the undos in its [Store.Chain] that began
// after it.
func (s Store) undos(r *Run) ([]*Run, error) {
	all, err := s.List()
	if err != nil {
		return nil, err
	}
	chain := chainOf(r, all)
	var undos []*Run
	for _, u := range all {
		if u.Run == r.Run {
			break
		}
		if u.Check || !slices.ContainsFunc(chain, func(one *Run) bool { return u.TakesBack(one.Run) }) {
			continue
		}
		c, err := u.changes(nil)
		if err != nil {
			return nil, err
		}
		if len(c.changed)+len(c.unsure) == 0 && u.Outcome() != OK {
			continue
		}
		again := slices.ContainsFunc(all, func(other *Run) bool {
			return !other.Check && other.TakesBack(u.Run) && other.Outcome() == OK && !other.Partial()
		})
		if !again {
			undos = append(undos, u)
		}
	}
	return undos, nil
}

// errUnchanged is wrapped by the error of a run that has changed nothing.
var errUnchanged = errors.New("it changed nothing")

func errMissing(r *Run, missing []string) error {
	return fmt.Errorf("run %s has not changed %s\n  hint: to list its changes: ccm-push runs show %s", r.Header.Run, strings.Join(missing, ", "), r.Header.Run)
}

// Undo returns the plays that take the run back, without the runs that resumed it. only names resources
// as type#name; empty means all.
func (r *Run) Undo(only []string) ([]*manifest.Play, error) {
	plays, missing, err := r.undo(only)
	if err == nil && len(missing) > 0 {
		return nil, errMissing(r, missing)
	}
	return plays, err
}

// undo returns a play for each user that the host program ran as, and the names in only that the run
// has not changed.
func (r *Run) undo(only []string) (plays []*manifest.Play, missing []string, err error) {
	if r.Check {
		return nil, only, fmt.Errorf("run %s was a check run: %w", r.Header.Run, errUnchanged)
	}
	if r.AdHoc {
		return nil, only, fmt.Errorf("run %s was a command: %w that ccm-push knows of", r.Header.Run, errUnchanged)
	}
	c, err := r.changes(only)
	if err != nil {
		return nil, only, err
	}
	missing = c.missing
	for _, p := range slices.Backward(r.Plays) {
		hosts := slices.DeleteFunc(slices.Concat(p.Hosts, slices.Sorted(maps.Keys(c.elsewhere[p.Name]))), func(h string) bool { return !c.changed[h] && !c.unsure[h] })
		if len(hosts) == 0 {
			continue
		}
		i := slices.IndexFunc(plays, func(other *manifest.Play) bool { return sameUser(other, &p) })
		if i < 0 {
			i = len(plays)
			plays = append(plays, &manifest.Play{
				Name: "undo " + r.Header.Run, Folder: ".", Hosts: &yamlpos.Node{Kind: yamlpos.Scalar, Text: "all", Value: "all"},
				Become: p.Become, BecomeUser: p.BecomeUser, BecomeMethod: p.BecomeMethod,
				Undo: &manifest.Undo{Run: r.Header.Run, Only: only, Changed: map[string]bool{}, Resources: map[string][]string{}}, Rollout: c.rollout,
			})
		}
		u := plays[i].Undo
		for _, h := range hosts {
			if !slices.Contains(u.Hosts, h) {
				u.Hosts = append(u.Hosts, h)
			}
			if r.Resumes == "" { // else some of them may have been changed by the run before
				u.Resources[h] = append(u.Resources[h], c.resources[p.Name][h]...)
			}
		}
	}
	if len(plays) == 0 {
		return nil, missing, fmt.Errorf("run %s has nothing to undo: %w", r.Header.Run, errUnchanged)
	}
	if len(plays) == 1 { // else it is not known which user has changed it
		plays[0].Undo.Changed = c.changed
	}
	if c.rollout != nil {
		return c.apart(plays), missing, nil
	}
	all := 100.0
	for _, p := range plays { // a failure of one user's undo does not stop the others
		p.MaxFail = &all
	}
	return plays, missing, nil
}

// apart moves hosts that only ran other hosts' resources into plays of their own, after the others: resources of a
// rollout on them have taken the other hosts out of service.
func (c *changes) apart(plays []*manifest.Play) (list []*manifest.Play) {
	var behind []*manifest.Play
	for _, p := range plays {
		undo := *p.Undo
		undo.Hosts = slices.DeleteFunc(slices.Clone(undo.Hosts), func(h string) bool { return c.own[h] })
		p.Undo.Hosts = slices.DeleteFunc(p.Undo.Hosts, func(h string) bool { return !c.own[h] })
		others := *p
		others.Undo, others.Rollout = &undo, nil
		for _, one := range []struct {
			play *manifest.Play
			to   *[]*manifest.Play
		}{{p, &list}, {&others, &behind}} {
			if len(one.play.Undo.Hosts) > 0 {
				*one.to = append(*one.to, one.play)
			}
		}
	}
	return append(list, behind...)
}

func sameUser(p *manifest.Play, other *events.SelectedPlay) bool {
	same := p.Become == other.Become || p.Become != nil && other.Become != nil && *p.Become == *other.Become
	return same && p.BecomeUser == other.BecomeUser && p.BecomeMethod == other.BecomeMethod
}

// Changed calls yield with each resource that the run has changed, as type#name, and the host that was
// changed.
func (r *Run) Changed(only []string, yield func(ref, host string)) error {
	for e, err := range r.Events() {
		if err != nil {
			return err
		}
		result, ok := e.(events.Result)
		if !ok || !result.Changed {
			continue
		}
		ref := result.Type + "#" + result.Name
		if len(only) == 0 || slices.Contains(only, ref) || slices.Contains(only, result.Type+"#"+result.Alias) {
			yield(ref, cmp.Or(result.On, result.Host))
		}
	}
	return nil
}

// changes are the changes that hosts of a run have reported.
type changes struct {
	changed map[string]bool // hosts that were changed
	unsure  map[string]bool // hosts that may have been changed, and could not report it
	own     map[string]bool // hosts of the plays
	// elsewhere are, by play, hosts that resources of others were run on. The controller keeps nothing
	// that could be found again.
	elsewhere map[string]map[string]bool
	// resources that a host keeps something of, as type#name, by play and host
	resources map[string]map[string][]string
	// rollout limits how many hosts may be out of service at once, as in the run; nil means all.
	rollout *manifest.Rollout
	missing []string // resources that are named, and that no host has changed
}

func (r *Run) changes(only []string) (*changes, error) {
	c := &changes{changed: map[string]bool{}, unsure: map[string]bool{}, own: map[string]bool{}, elsewhere: map[string]map[string]bool{}, resources: map[string]map[string][]string{}}
	seen, cut := map[string]bool{}, map[string]bool{}
	// Hosts know the results that the record lacks.
	gap := func() {
		for _, h := range r.selected() {
			cut[h] = true
		}
	}
	for e, err := range r.readable(gap) {
		if err != nil {
			return nil, err
		}
		switch e := e.(type) {
		case events.PlayStart:
			for _, h := range e.Hosts {
				c.own[h], c.unsure[h] = true, c.unsure[h] || e.Batch > 0
			}
		case events.RolloutPlan:
			if most, err := rollout.ParseAmount(e.MaxUnavailable); err == nil {
				all := rollout.Limits{Failed: &rollout.Amount{Percent: 100}} // one that cannot be taken back keeps no other from it
				c.rollout = &manifest.Rollout{Rules: rollout.Rules{By: e.By, MaxUnavailable: &most, Stop: all, OnStop: rollout.End}}
			}
		case events.HostDone:
			delete(c.unsure, e.Host)
		case events.HostFailed:
			if e.Phase == "lost" || e.Phase == "deadline" {
				cut[e.Host] = true
			}
		case events.Interrupted:
			cut[e.Host] = true
		case events.Result:
			did := e.Changed || e.Status == events.Changed && !e.Check
			refs := []string{e.Type + "#" + e.Name, e.Type + "#" + e.Alias}
			named := len(only) == 0
			for _, ref := range only {
				if slices.Contains(refs, ref) {
					named, seen[ref] = true, seen[ref] || did
				}
			}
			if did && named {
				c.on(&e)
			}
		}
	}
	maps.Copy(c.unsure, cut)
	for _, ref := range only {
		if !seen[ref] && len(c.unsure) == 0 {
			c.missing = append(c.missing, ref)
		}
	}
	return c, nil
}

// keeps reports whether a host remembers a changed resource. It remembers nothing of an apply or a block, of a fetch,
// and of changes that another run or host has requested.
func keeps(e *events.Result) bool {
	return !slices.Contains([]string{"apply", "block", "fetch"}, e.Type) && !e.Left && !e.Repair && e.Once == "" && e.Fetched == "" && !strings.Contains(e.Name, events.Withheld)
}

// on notes the host that a result has changed.
func (c *changes) on(e *events.Result) {
	switch e.On {
	case "":
		c.changed[e.Host] = true
		if keeps(e) {
			if c.resources[e.Play] == nil {
				c.resources[e.Play] = map[string][]string{}
			}
			c.resources[e.Play][e.Host] = append(c.resources[e.Play][e.Host], e.Type+"#"+e.Name)
		}
	case manifest.Controller:
	default:
		c.changed[e.On] = true
		if c.elsewhere[e.Play] == nil {
			c.elsewhere[e.Play] = map[string]bool{}
		}
		c.elsewhere[e.Play][e.On] = true
	}
}
