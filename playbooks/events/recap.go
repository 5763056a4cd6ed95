package events

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// manyHosts is the maximum number of hosts with a line of their own in the recap.
const manyHosts = 20

// A recap has the data about a run that is printed at its end.
type recap struct {
	*setting
	hosts        []string          // in the order they were first seen
	seen         map[string]bool   // the same, as a set
	cause        map[string]string // why a host is not ok, in a few words
	unknownHosts []string          // hosts that were not reached because one of their keys is unknown
	restarts     restarts
	fetched      fetchedFiles
	refreshed    refreshed
	unknown      unknownOutcomes
	doubts       doubts
	slow         []HostDone // the slowest hosts
}

func newRecap(s *setting) recap {
	return recap{setting: s, seen: make(map[string]bool), cause: make(map[string]string)}
}

// notRun remembers which plays a host that is incomplete did not get.
func (r *recap) notRun(e HostDone) {
	if e.State != StateIncomplete {
		return
	}
	var missing []string
	for _, play := range e.Plays {
		if play.State == StateNotStarted && play.Number <= len(r.run.Plays) {
			missing = append(missing, r.run.Plays[play.Number-1].Name)
		}
	}
	switch {
	case len(missing) == 0:
		r.blame(e.Host, count(e.PlaysNotRun, "play")+" not run")
	case len(missing) == 1:
		r.blame(e.Host, "play "+quoted(missing)+" not run")
	default:
		r.blame(e.Host, count(len(missing), "play")+" not run, from "+quoted(missing[:1]))
	}
}

// meet remembers the order in which hosts appear.
func (r *recap) meet(host string) {
	if !r.seen[host] {
		r.seen[host] = true
		r.hosts = append(r.hosts, host)
	}
}

// blame remembers why a host is not ok; the first reason counts.
func (r *recap) blame(host, cause string) {
	r.meet(host)
	if r.cause[host] == "" {
		r.cause[host] = shorten(cause, 60)
	}
}

// summary writes the recap: hosts in the order of the inventory, or totals and
// groups if there are many, and the totals in the last line.
func (r *recap) summary(p *page, s Summary) {
	hosts, missing := r.order(s)
	if r.options.Quiet {
		r.totals(p, s)
		return
	}
	if !r.options.AdHoc {
		p.newline()
	}
	if len(hosts) > manyHosts || r.folds() {
		r.inGroups(p, s, hosts)
	} else {
		r.each(p, s, hosts)
	}
	// Without their names, hosts of batches that never began are but a number.
	if len(s.NotStarted) > 0 {
		missing = s.NotStarted
	}
	if n := max(len(missing), r.run.Hosts-len(hosts)); n > 0 {
		p.print(yellow, "not started: ", count(n, "host"))
		p.newline()
		r.names(p, missing)
	}
	if len(s.PlaysNotRun) > 0 {
		p.print(yellow, "not run: ", count(len(s.PlaysNotRun), "play"), ": ", quoted(s.PlaysNotRun))
		p.newline()
	}
	r.unknown.tell(p, r.options.Width)
	r.doubts.print(p)
	r.restart(p)
	r.fetched.tell(p)
	r.trust(p)
	if r.folds() && !r.options.AdHoc {
		r.refreshed.tell(p, s.Check)
		r.slowest(p)
	}
	r.next(p, s)
	r.totals(p, s)
}

// next prints how to continue a recorded run that was not completed.
func (r *recap) next(p *page, s Summary) {
	h := s.Totals.Hosts
	if !r.options.Recorded || s.Check || len(r.run.Manifests) == 0 && r.run.Undoes == "" || r.run.Monitor || h.Failed+h.Unreachable+h.Interrupted+h.Incomplete+h.NotStarted == 0 {
		return
	}
	again := ""
	if len(r.options.Again) > 0 {
		again = ", with " + strings.Join(r.options.Again, ", ") + " as before"
	}
	command := "resume " + s.Run
	if r.run.Undoes != "" {
		command = "undo " + r.run.Undoes
	}
	p.print(plain, "to continue", again, ": ", cmp.Or(r.options.Resume, "ccm-push "+command))
	p.newline()
}

// manySlow is how many of the slowest hosts are named, and leastSlow the minimum duration for that.
const (
	manySlow  = 3
	leastSlow = 5 * time.Second
)

// note remembers the slowest hosts.
func (r *recap) note(e HostDone) {
	if e.Duration < leastSlow {
		return
	}
	i, _ := slices.BinarySearchFunc(r.slow, e, func(a, b HostDone) int { return cmp.Compare(b.Duration, a.Duration) })
	r.slow = slices.Insert(r.slow, i, e)
	r.slow = r.slow[:min(manySlow, len(r.slow))]
}

// slowest names the hosts that took longest, and what most of their time went to.
func (r *recap) slowest(p *page) {
	var parts []string
	for _, e := range r.slow {
		name, most := "apply", e.Phases.Apply
		for _, other := range []struct {
			name string
			took time.Duration
		}{{"connect", e.Phases.Connect}, {"start", e.Phases.Start}, {"compile", e.Phases.Compile}} {
			if other.took > most {
				name, most = other.name, other.took
			}
		}
		parts = append(parts, fmt.Sprintf("%s %s (%s %s)", e.Host, short(e.Duration), name, short(most)))
	}
	if len(parts) > 0 {
		p.print(plain, "slowest: ", strings.Join(parts, ", "))
		p.newline()
	}
}

// trust prints how to trust the keys of several hosts at once. For a single host, the hint has the command.
func (r *recap) trust(p *page) {
	if r.options.Trust == nil || len(r.unknownHosts) < 2 {
		return
	}
	p.print(yellow, "keys unknown: ", count(len(r.unknownHosts), "host"))
	p.print(plain, "; to compare and trust them: ", r.options.Trust(r.unknownHosts))
	p.newline()
}

// order returns the hosts of the summary in the order they were first seen, and the hosts without any result.
func (r *recap) order(s Summary) (hosts, missing []string) {
	for name := range s.Hosts {
		if !r.seen[name] {
			hosts = append(hosts, name)
		}
	}
	slices.Sort(hosts)
	seen := make([]string, 0, len(r.hosts)+len(hosts))
	for _, name := range r.hosts {
		if _, ok := s.Hosts[name]; ok {
			seen = append(seen, name)
		} else {
			missing = append(missing, name)
		}
	}
	return append(seen, hosts...), missing
}

// totals is the last line of a run.
func (r *recap) totals(p *page, s Summary) {
	parts := []string{hostTotalsText(s.Totals.Hosts)}
	if !r.options.AdHoc {
		parts = append(parts, r.resourceTotalsText(s))
	}
	if c := s.Totals.Resources.HealthChecks; c != nil {
		parts = append(parts, healthText(*c))
	}
	if r := s.Totals.Resources; s.Check && r.Sum() > 0 {
		parts = append(parts, "predictions: "+gradesText(r))
	}
	if !r.run.Time.IsZero() {
		parts = append(parts, short(s.Time.Sub(r.run.Time)))
	}
	if s.Interrupted {
		p.print(red, "interrupted: ")
	}
	p.print(bold, strings.Join(parts, "; "))
	p.newline()
}

// gradesText is "31 certain, 8 likely, 2 unknown".
func gradesText(r ResourceTotals) string {
	return fmt.Sprintf("%d certain", r.Sum()-r.Uncertain) + also(counted{r.Likely, "likely"}, counted{r.Uncertain - r.Likely, "unknown"})
}

func hostTotalsText(h HostTotals) string {
	return fmt.Sprintf("%s: %d ok", count(h.Sum(), "host"), h.OK) +
		also(counted{h.Failed, "failed"}, counted{h.Unreachable, "unreachable"}, counted{h.Interrupted, "interrupted"}, counted{h.Incomplete, "incomplete"})
}

// A counted is a number of things with their name.
type counted struct {
	n    int
	what string
}

// also lists the counts that are not 0, each after a comma.
func also(all ...counted) string {
	text := ""
	for _, c := range all {
		if c.n > 0 {
			text += fmt.Sprintf(", %d %s", c.n, c.what)
		}
	}
	return text
}

func (r *recap) resourceTotalsText(s Summary) string {
	c := s.Totals.Resources.Counts
	return count(c.Sum()+c.NotReached, "resource") + ": " + r.countsText(c)
}

func healthText(c HealthCounts) string {
	return fmt.Sprintf("%s: %d ok", count(c.Sum(), "health check"), c.OK) +
		also(counted{c.Warning, "warning"}, counted{c.Critical, "critical"}, counted{c.Unknown, "unknown"})
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
