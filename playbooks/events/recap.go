package events

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// manyHosts is how many hosts have a line of their own in the recap.
const manyHosts = 20

// summary writes the recap: hosts in the order of the inventory, or totals and
// groups if there are many, and the totals in the last line.
func (t *Text) summary(p *page, s Summary) {
	hosts, missing := t.recapOrder(s)
	if !t.options.AdHoc {
		p.newline()
	}
	if len(hosts) > manyHosts {
		t.recapGroups(p, s, hosts)
	} else {
		t.recapHosts(p, s, hosts)
	}
	// Without their names, hosts of batches that never began are but a number.
	if len(s.NotStarted) > 0 {
		missing = s.NotStarted
	}
	if n := max(len(missing), t.run.Hosts-len(hosts)); n > 0 {
		p.print(yellow, "not started: ", count(n, "host"))
		p.newline()
		t.names(p, missing)
	}
	if len(s.PlaysNotRun) > 0 {
		p.print(yellow, "not run: ", count(len(s.PlaysNotRun), "play"), ": ", quoted(s.PlaysNotRun))
		p.newline()
	}
	t.restart(p)
	t.trust(p)
	t.totals(p, s)
}

// trust says how to trust the keys of several hosts at once. Of one, the hint does.
func (t *Text) trust(p *page) {
	if t.options.Trust == nil || len(t.unknownHosts) < 2 {
		return
	}
	p.print(yellow, "keys unknown: ", count(len(t.unknownHosts), "host"))
	p.print(plain, "; to compare and trust them: ", t.options.Trust(t.unknownHosts))
	p.newline()
}

// recapOrder gives the hosts of the summary in the order they were first seen,
// and those that were seen but had nothing happen to them.
func (t *Text) recapOrder(s Summary) (hosts, missing []string) {
	for name := range s.Hosts {
		if !t.seen[name] {
			hosts = append(hosts, name)
		}
	}
	slices.Sort(hosts)
	seen := make([]string, 0, len(t.hosts)+len(hosts))
	for _, name := range t.hosts {
		if _, ok := s.Hosts[name]; ok {
			seen = append(seen, name)
		} else {
			missing = append(missing, name)
		}
	}
	return append(seen, hosts...), missing
}

func (t *Text) recapHosts(p *page, s Summary, hosts []string) {
	for _, name := range hosts {
		h := s.Hosts[name]
		if t.options.AdHoc && h.State == StateOK {
			continue
		}
		t.recapLine(p, h, name, t.stateText(name, h))
	}
}

// recapLine is one line of the recap; note goes before the duration.
func (t *Text) recapLine(p *page, h HostSummary, who, note string) {
	p.print(hostColor(h), who)
	p.print(plain, ": ", t.countsText(h.Counts), " (", note, short(h.Duration), ")")
	p.newline()
}

// stateText introduces what follows it if the host is not ok.
func (t *Text) stateText(name string, h HostSummary) string {
	switch cause := t.cause[name]; {
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
	case h.State != StateOK:
		return red
	case h.Changed > 0:
		return yellow
	}
	return green
}

// countsText always names changed and stable, and the others if there are any.
func (t *Text) countsText(c Counts) string {
	changed := "changed"
	if t.run.Check {
		changed = "would change"
	}
	text := fmt.Sprintf("%d %s, %d stable", c.Changed, changed, c.Stable)
	if c.WouldChange > 0 {
		text += fmt.Sprintf(", %d would change", c.WouldChange)
	}
	if c.Failed > 0 {
		text += fmt.Sprintf(", %d failed", c.Failed)
	}
	if c.FailedChanged > 0 {
		text += fmt.Sprintf(" (%d after a change)", c.FailedChanged)
	}
	if c.Skipped > 0 {
		text += fmt.Sprintf(", %d skipped", c.Skipped)
	}
	if c.NotReached > 0 {
		text += fmt.Sprintf(", %d not reached", c.NotReached)
	}
	return text
}

// A group is hosts that ended in the same way.
type group struct {
	HostSummary        // of each host; Duration is the longest one
	state       string // stateText of each host
	hosts       []string
}

// maxGroups keeps the recap of a large fleet on one screen.
const maxGroups = 8

// recapGroups shows the hosts that are not ok or have changed; how many there are of each
// stands in the last line. If there are too
// many ways in which hosts ended, it shows the worst and most frequent ones,
// worst last: that is what still stands on the screen.
func (t *Text) recapGroups(p *page, s Summary, hosts []string) {
	groups := t.groups(s, hosts)
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
		t.group(p, g)
	}
}

// groups puts hosts together that had the same counts and cause: worst first,
// then most frequent first.
func (t *Text) groups(s Summary, hosts []string) []*group {
	type key struct {
		Counts
		state string
	}
	known := make(map[key]*group)
	var groups []*group
	for _, name := range hosts {
		h := s.Hosts[name]
		if h.State == StateOK && (h.Changed == 0 || t.options.AdHoc) {
			continue
		}
		k := key{h.Counts, t.stateText(name, h)}
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
// is as it was.
func severity(s State) int {
	return slices.Index([]State{StateOK, StateUnreachable, StateInterrupted, StateFailed}, s)
}

func (t *Text) group(p *page, g *group) {
	if len(g.hosts) == 1 {
		t.recapLine(p, g.HostSummary, g.hosts[0], g.state)
		return
	}
	t.recapLine(p, g.HostSummary, count(len(g.hosts), "host"), g.state+"up to ")
	t.names(p, g.hosts)
}

// maxNameLines bounds a list of hosts in the recap, in lines of the terminal.
const maxNameLines = 4

// names writes a pattern of hosts that can be given to --limit: on one line, for a
// terminal breaks it where a copy does not.
func (t *Text) names(p *page, hosts []string) {
	if len(hosts) == 0 {
		return
	}
	pattern, rest := Fold(hosts, maxNameLines*(t.options.Width-len(indent)))
	p.print(plain, indent, pattern)
	p.newline()
	if rest > 0 {
		p.print(plain, indent, fmt.Sprintf("and %d more", rest))
		p.newline()
	}
}

// totals is the last line of a run.
func (t *Text) totals(p *page, s Summary) {
	parts := []string{hostTotalsText(s.Totals.Hosts)}
	if !t.options.AdHoc {
		parts = append(parts, t.resourceTotalsText(s))
	}
	if c := s.Totals.Resources.HealthChecks; c != nil {
		parts = append(parts, healthText(*c))
	}
	if r := s.Totals.Resources; s.Check && r.Sum() > 0 {
		// Rounded down: 100 % means every one.
		parts = append(parts, fmt.Sprintf("%d%% of predictions certain", 100*(r.Sum()-r.Uncertain)/r.Sum()))
	}
	if !t.run.Time.IsZero() {
		parts = append(parts, short(s.Time.Sub(t.run.Time)))
	}
	if s.Interrupted {
		p.print(red, "interrupted: ")
	}
	p.print(bold, strings.Join(parts, "; "))
	p.newline()
}

func hostTotalsText(h HostTotals) string {
	text := fmt.Sprintf("%s: %d ok", count(h.Sum(), "host"), h.OK)
	if h.Failed > 0 {
		text += fmt.Sprintf(", %d failed", h.Failed)
	}
	if h.Unreachable > 0 {
		text += fmt.Sprintf(", %d unreachable", h.Unreachable)
	}
	if h.Interrupted > 0 {
		text += fmt.Sprintf(", %d interrupted", h.Interrupted)
	}
	return text
}

func (t *Text) resourceTotalsText(s Summary) string {
	c := s.Totals.Resources.Counts
	return count(c.Sum()+c.NotReached, "resource") + ": " + t.countsText(c)
}

func healthText(c HealthCounts) string {
	text := fmt.Sprintf("%s: %d ok", count(c.Sum(), "health check"), c.OK)
	for _, other := range []struct {
		n    int
		word string
	}{{c.Warning, "warning"}, {c.Critical, "critical"}, {c.Unknown, "unknown"}} {
		if other.n > 0 {
			text += fmt.Sprintf(", %d %s", other.n, other.word)
		}
	}
	return text
}

// short is a duration for people: 0ms, 312ms, 1.2s, 1m3s.
func short(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Truncate(100*time.Millisecond).Seconds())
	}
	return d.Truncate(time.Second).String()
}
