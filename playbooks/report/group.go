package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/inventory/printable"
	"github.com/ccm-push/ccm-push/playbooks/events"
)

// A group has hosts with the same report.
type group struct {
	outcome // outcome of the first host; with marks for names if there are several
	hosts   []string
}

// groups groups hosts whose outcomes have the same key, the largest group first. It omits outcomes without a key.
func (r *Run) groups(key func(o *outcome) string) []*group {
	var all []*group
	known := map[string]*group{}
	of := make([]*group, len(r.outcomes))
	for i, o := range r.outcomes {
		k := key(o)
		if k == "" {
			continue
		}
		k = events.WithoutHost(k, o.of.name, o.of.address)
		if known[k] == nil {
			known[k] = &group{outcome: *o}
			all = append(all, known[k])
		}
		of[i] = known[k]
	}
	for _, h := range r.hosts {
		for _, one := range h.happened {
			g := of[one.outcome]
			if g != nil && (len(g.hosts) == 0 || g.hosts[len(g.hosts)-1] != h.name) {
				g.hosts = append(g.hosts, h.name)
			}
		}
	}
	for _, g := range all {
		if len(g.hosts) > 1 && g.named {
			for _, text := range g.texts() {
				*text = events.WithoutHost(*text, g.of.name, g.of.address)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *group) int { return cmp.Compare(len(b.hosts), len(a.hosts)) })
	return all
}

// failures are the causes for which hosts or resources failed.
func (r *Run) failures() []*group {
	return r.groups(func(o *outcome) string {
		switch o.kind {
		case unreachable:
			return string(o.kind) + "\x00" + events.MainCause(o.text)
		case failed, hostFailed, rescued:
			return string(o.kind) + "\x00" + o.what + "\x00" + firstLine(o.text)
		case interrupted:
			return string(o.kind)
		}
		return ""
	})
}

// changes returns the changes, real or predicted.
func (r *Run) changes() []*group {
	return r.groups(func(o *outcome) string {
		if o.kind != changed && o.kind != wouldChange {
			return ""
		}
		return string(o.kind) + "\x00" + o.what + "\x00" + o.detail
	})
}

// diffs are the distinct ones, and of ad-hoc commands the outputs.
func (r *Run) diffs() []*group {
	return r.groups(func(o *outcome) string {
		if o.shown() == "" {
			return ""
		}
		return o.what + "\x00" + o.shown()
	})
}

// shown returns the diff and the output of a command; a failure shows these next to its error.
func (o *outcome) shown() string {
	if o.kind == failed || o.kind == rescued {
		return o.diff
	}
	return o.diff + o.output
}

// cause names the cause of a failure, in a few words.
func (g *group) cause() string {
	what := g.what
	if g.written != nil {
		what += " (" + g.written.String() + ")"
	}
	switch g.kind {
	case failed:
		return what + " failed"
	case rescued:
		return what + " failed and was rescued"
	case hostFailed:
		return "failed in phase " + g.what
	}
	return string(g.kind)
}

// set is the hosts as a pattern that --limit takes, of at most so many columns, and how many there
// are.
func set(hosts []string, columns int) (pattern, note string) {
	pattern, rest := events.Fold(hosts, columns)
	switch {
	case rest > 0:
		note = fmt.Sprintf(" and %d more (%d)", rest, len(hosts))
	case len(hosts) > 1:
		note = fmt.Sprintf(" (%d)", len(hosts))
	}
	return printable.Line(asRecorded(pattern)), note
}

// stateOf returns the outcome of a host.
func (h *host) stateOf() string {
	switch {
	case h.finished:
		return string(h.done.State)
	case h.seen:
		return "unfinished"
	}
	return "not started"
}

// A number is one of several, such as 3 failed.
type number struct {
	N    int
	What string
}

// numbers returns the numbers that are not 0.
func numbers(all ...number) []number {
	return slices.DeleteFunc(all, func(n number) bool { return n.N == 0 })
}

// hostNumbers counts the hosts by outcome.
func (r *Run) hostNumbers() []number {
	h := r.summary().Totals.Hosts
	return numbers(number{h.OK, "ok"}, number{h.Failed, "failed"}, number{h.Unreachable, "unreachable"},
		number{h.Interrupted, "interrupted"}, number{h.Incomplete, "incomplete"}, number{h.NotStarted, "not started"})
}

// resourceNumbers counts the resources by outcome.
func (r *Run) resourceNumbers() []number {
	c := r.summary().Totals.Resources
	word := "changed"
	if r.start.Check {
		word = "would change"
	}
	return numbers(number{c.Changed, word}, number{c.Stable, "stable"}, number{c.Failed, "failed"}, number{c.Rescued, "rescued"}, number{c.Skipped, "skipped"},
		number{c.WouldChange, "would change (noop)"}, number{c.NotReached, "not reached"}, number{c.Drift, "of the changes drift"}, number{c.Unknown, unknownOutcomes})
}

// unknownOutcomes names [events.Counts.Unknown].
const unknownOutcomes = "with unknown outcome"

func numbersText(all []number) string {
	var parts []string
	for _, n := range all {
		parts = append(parts, fmt.Sprintf("%d %s", n.N, n.What))
	}
	return strings.Join(parts, ", ")
}

// outcomeText returns the outcome of the run, as a word.
func (r *Run) outcomeText() string {
	s := r.summary()
	h := s.Totals.Hosts
	switch {
	case r.end == nil:
		return "not ended"
	case s.Interrupted:
		return "interrupted"
	case h.Failed > 0 || s.Totals.Resources.Failed > 0:
		return "failed"
	case h.Unreachable > 0:
		return "unreachable hosts"
	case h.NotStarted+h.Incomplete > 0 || len(s.PlaysNotRun) > 0:
		return "incomplete"
	}
	return "ok"
}

// foot identifies the run.
func (r *Run) foot() string {
	return fmt.Sprintf("run %s of %s, %s, ccm-push %s", r.start.Run, r.began.UTC().Format("2006-01-02 15:04:05 UTC"), short(r.last.Sub(r.began)), r.start.Version)
}

// short is a duration as precise as a person wants it.
func short(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// shorten keeps at most n characters.
func shorten(s string, n int) string {
	if runes := []rune(s); len(runes) > n {
		return string(runes[:n]) + "…"
	}
	return s
}
