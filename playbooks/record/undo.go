package record

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/rollout"
)

// Undo gives the plays that take the run back, or of it what is named as type#name: one for
// each user that the host program ran as.
func (r *Run) Undo(only []string) ([]*manifest.Play, error) {
	if r.Check {
		return nil, fmt.Errorf("run %s was a check run, which has changed nothing", r.Header.Run)
	}
	if r.AdHoc {
		return nil, fmt.Errorf("run %s was a command, and nobody knows what that has changed", r.Header.Run)
	}
	c, err := r.changes(only)
	if err != nil {
		return nil, err
	}
	if len(c.missing) > 0 {
		return nil, fmt.Errorf("run %s has not changed %s; ccm-push runs show %s tells what it has", r.Header.Run, strings.Join(c.missing, ", "), r.Header.Run)
	}
	var plays []*manifest.Play
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
				Undo: &manifest.Undo{Run: r.Header.Run, Only: only, Changed: map[string]bool{}}, Rollout: c.rollout,
			})
		}
		u := plays[i].Undo
		for _, h := range hosts {
			if !slices.Contains(u.Hosts, h) {
				u.Hosts = append(u.Hosts, h)
			}
		}
	}
	if len(plays) == 0 {
		return nil, fmt.Errorf("run %s has changed nothing", r.Header.Run)
	}
	if len(plays) == 1 { // else it is not known which user has changed it
		plays[0].Undo.Changed = c.changed
	}
	if c.rollout != nil {
		return c.apart(plays), nil
	}
	all := 100.0
	for _, p := range plays { // what one user cannot take back keeps no other from it
		p.MaxFail = &all
	}
	return plays, nil
}

// apart puts hosts behind the others, in plays of their own, that only resources of others were run on:
// those of a rollout have taken these out of service.
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

// changes are what hosts of a run have told.
type changes struct {
	changed map[string]bool // hosts that were changed
	unsure  map[string]bool // hosts that may have been, and could not tell
	own     map[string]bool // hosts of the plays
	// elsewhere are, by play, hosts that resources of others were run on. The controller keeps nothing
	// that could be found again.
	elsewhere map[string]map[string]bool
	// rollout is how many hosts may be out at once, as in the run; nil is all.
	rollout *manifest.Rollout
	missing []string // resources that are named, and that no host has changed
}

func (r *Run) changes(only []string) (*changes, error) {
	c := &changes{changed: map[string]bool{}, unsure: map[string]bool{}, own: map[string]bool{}, elsewhere: map[string]map[string]bool{}}
	seen, cut := map[string]bool{}, map[string]bool{}
	// What is missing in the record the hosts know.
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
			refs := []string{e.Type + "#" + e.Name, e.Type + "#" + e.Alias}
			named := len(only) == 0
			for _, ref := range only {
				if slices.Contains(refs, ref) {
					named, seen[ref] = true, seen[ref] || e.Changed
				}
			}
			if e.Changed && named {
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

// on notes the host that a result has changed.
func (c *changes) on(e *events.Result) {
	switch e.On {
	case "":
		c.changed[e.Host] = true
	case manifest.Controller:
	default:
		c.changed[e.On] = true
		if c.elsewhere[e.Play] == nil {
			c.elsewhere[e.Play] = map[string]bool{}
		}
		c.elsewhere[e.Play][e.On] = true
	}
}
