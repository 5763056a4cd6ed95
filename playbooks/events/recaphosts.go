package events

import (
	"cmp"
	"fmt"
	"slices"
)

// each prints one line per host.
func (r *recap) each(p *page, s Summary, hosts []string) {
	for _, name := range hosts {
		h := s.Hosts[name]
		if r.options.AdHoc && h.State == StateOK {
			continue
		}
		r.line(p, h, name, r.stateText(name, h))
	}
}

// line is one line of the recap; note goes before the duration.
func (r *recap) line(p *page, h HostSummary, who, note string) {
	p.print(hostColor(h), who)
	p.print(plain, ": ", r.countsText(h.Counts), " (", note, short(h.Duration), ")")
	p.newline()
}

// stateText introduces what follows it if the host is not ok.
func (r *recap) stateText(name string, h HostSummary) string {
	switch cause := r.cause[name]; {
	case h.State == StateOK:
		return ""
	case cause == "":
		return string(h.State) + ", "
	default:
		return string(h.State) + ": " + cause + ", "
	}
}

func hostColor(h HostSummary) color {
	switch {
	case h.State != StateOK && h.State != StateIncomplete:
		return red
	case h.State == StateIncomplete || h.Changed+h.Rescued > 0:
		return yellow
	}
	return green
}

// countsText always names changed and stable, and the others if there are any.
func (r *recap) countsText(c Counts) string {
	changed := "changed"
	if r.run.Check {
		changed = "would change"
	}
	text := fmt.Sprintf("%d %s, %d stable", c.Changed-c.WouldFail, changed+driftText(c), c.Stable) +
		also(counted{c.WouldFail, "would fail"}, counted{c.WouldChange, "would change"}, counted{c.Failed, "failed"}, counted{c.Rescued, "rescued"})
	if c.FailedChanged > 0 {
		text += fmt.Sprintf(" (%d after a change)", c.FailedChanged)
	}
	if c.Unknown > 0 {
		text += fmt.Sprintf(" (%d with unknown outcome)", c.Unknown)
	}
	return text + also(counted{c.Skipped, "skipped"}, counted{c.NotReached, "not reached"})
}

// driftText returns how many changes are due to drift.
func driftText(c Counts) string {
	if c.Drift == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d drift)", c.Drift)
}

// A group is hosts that ended in the same way.
type group struct {
	HostSummary        // summary of each host; Duration is the longest one
	state       string // stateText of each host
	hosts       []string
}

// maxGroups keeps the recap of a large fleet on one screen.
const maxGroups = 8

// inGroups prints the hosts that are not ok or have changed; the last line has the totals. If there are too many
// groups, it prints the worst and most frequent ones, the worst last, since the end of the output stays on the screen.
func (r *recap) inGroups(p *page, s Summary, hosts []string) {
	groups := r.groups(s, hosts)
	if rest := groups[min(maxGroups, len(groups)):]; len(rest) > 0 {
		n := 0
		for _, g := range rest {
			n += len(g.hosts)
		}
		p.print(plain, fmt.Sprintf("%s that ended in other ways are not shown (--output json has all)", count(n, "host")))
		p.newline()
		groups = groups[:maxGroups]
	}
	for _, g := range slices.Backward(groups) {
		r.group(p, g)
	}
}

// groups puts hosts together that had the same counts and cause: worst first,
// then most frequent first.
func (r *recap) groups(s Summary, hosts []string) []*group {
	type key struct {
		Counts
		state string
	}
	known := make(map[key]*group)
	var groups []*group
	for _, name := range hosts {
		h := s.Hosts[name]
		if h.State == StateOK && (h.Changed+h.Rescued == 0 || r.options.AdHoc) {
			continue
		}
		k := key{h.Counts, r.stateText(name, h)}
		g := known[k]
		if g == nil {
			g = &group{HostSummary: h, state: k.state}
			known[k] = g
			groups = append(groups, g)
		}
		g.hosts = append(g.hosts, name)
		g.Duration = max(g.Duration, h.Duration)
	}
	slices.SortStableFunc(groups, func(a, b *group) int {
		return cmp.Or(cmp.Compare(severity(b.State), severity(a.State)), cmp.Compare(len(b.hosts), len(a.hosts)))
	})
	return groups
}

// severity orders states: a failed host may be half changed, an unreachable one
// is unchanged. On an incomplete host nothing failed.
func severity(s State) int {
	return slices.Index([]State{StateOK, StateIncomplete, StateUnreachable, StateInterrupted, StateFailed}, s)
}

func (r *recap) group(p *page, g *group) {
	if len(g.hosts) == 1 {
		r.line(p, g.HostSummary, g.hosts[0], g.state)
		return
	}
	r.line(p, g.HostSummary, count(len(g.hosts), "host"), g.state+"up to ")
	r.names(p, g.hosts)
}

// maxNameLines bounds a list of hosts in the recap, in lines of the terminal.
const maxNameLines = 4

// names writes a pattern of hosts that can be given to --limit: on one line, for a
// terminal breaks it where a copy does not.
func (r *recap) names(p *page, hosts []string) {
	if len(hosts) == 0 {
		return
	}
	pattern, rest := Fold(hosts, maxNameLines*(r.options.Width-len(indent)))
	p.print(plain, indent, pattern)
	p.newline()
	if rest > 0 {
		p.print(plain, indent, fmt.Sprintf("and %d more", rest))
		p.newline()
	}
}
