package events

import (
	"fmt"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/inventory/printable"
)

// rolloutPlan prints the batches of a rollout, and its limits.
func (t *Text) rolloutPlan(p *page, e RolloutPlan) {
	t.unfold(p)
	if t.options.Quiet {
		return
	}
	hosts := 0
	for _, b := range e.Batches {
		hosts += len(b.Hosts)
	}
	size := count(hosts, "host") + " in " + countOf(len(e.Batches), "batch", "batches")
	switch {
	case hosts > 0:
	case len(e.Unreachable)+len(e.Failed)+len(e.Broken) > 0:
		size = "no host will be changed"
	default:
		size = "nothing will change"
	}
	p.inline(plain, fmt.Sprintf("-- rollout of %s: %s, %s stable", Line(e.Play), size, count(len(e.Stable), "host")))
	for i, b := range e.Batches {
		if len(b.Hosts) == 0 { // in a resumed run
			p.block(indent, fmt.Sprintf("batch %d: done", i+1), always(plain))
			continue
		}
		text := fmt.Sprintf("batch %d: %s", i+1, hostsOf(b.Hosts))
		if b.AtOnce < len(b.Hosts) {
			text += fmt.Sprintf(", %d at once", b.AtOnce)
		}
		var restarts []string
		for _, r := range b.Restarts {
			on := fmt.Sprintf("%s on %d", shorten(Line(r.Resource), 60), r.Hosts+r.Likely)
			if r.Likely > 0 {
				on += fmt.Sprintf(" (%d certain, %d likely)", r.Hosts, r.Likely)
			}
			restarts = append(restarts, on)
		}
		if len(restarts) > 0 {
			text += "; restarts " + strings.Join(restarts, ", ")
		}
		p.block(indent, text, always(plain))
	}
	for _, one := range []struct {
		what  string
		hosts []string
	}{
		{"cannot be reached", e.Unreachable},
		{"failed when looking for changes", e.Failed},
		{"not healthy before; counted as out from the beginning", e.Broken},
	} {
		if len(one.hosts) > 0 {
			p.block(indent, one.what+": "+hostsOf(one.hosts), always(yellow))
		}
	}
	if len(e.Rules) > 0 {
		p.block(indent, strings.Join(e.Rules, "; "), always(plain))
	}
	if hosts > 0 {
		p.block(indent, "worst case: "+e.Reckoning, always(plain))
	}
}

// hostsOf is "3 hosts: web[1-3]".
func hostsOf(hosts []string) string {
	names, more := Fold(hosts, 200)
	text := count(len(hosts), "host") + ": " + Line(names)
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func (t *Text) gate(p *page, e Gate) {
	t.unfold(p)
	color := green
	if e.Verdict != "passed" {
		color = red
	} else if t.options.Quiet {
		return
	}
	p.print(plain, "-- gate "+Line(e.Name)+" ")
	p.print(color, e.Verdict)
	if e.Text != "" {
		p.print(plain, ": "+Line(e.Text))
	}
	p.newline()
}

func (t *Text) rolloutStop(p *page, e RolloutStop) {
	t.unfold(p)
	p.print(red, "-- stopped")
	at := ""
	if e.Batch > 0 {
		at = fmt.Sprintf(" in batch %d", e.Batch)
	}
	p.print(plain, fmt.Sprintf("%s by %s: %s", at, Line(e.Rule), Line(e.Text)))
	p.newline()
	if e.Waiting > 0 {
		p.block(indent, count(e.Waiting, "host")+" not started", always(plain))
	}
	if len(e.AtWork) > 0 {
		p.block(indent, "in progress, and finish first: "+hostsOf(e.AtWork), always(plain))
	}
	then := map[string]string{
		"hold":       fmt.Sprintf("held: ccm-push rollout go %[1]s, or end, undo, release; ccm-push rollout status %[1]s", e.Run),
		"end":        fmt.Sprintf("the run ends; to continue it: ccm-push resume %s", e.Run),
		"undo_batch": "the changes of this batch are reverted",
		"undo_all":   "the changes of this run are reverted",
	}[e.Then]
	p.block(indent, then, always(plain))
}

func (t *Text) rolloutPause(p *page, e RolloutPause) {
	t.unfold(p)
	p.inline(plain, fmt.Sprintf("-- batch %d of %d is done; %s in the next", e.Batch, e.Batches, count(e.Next, "host")))
	wait := ""
	if e.WaitMS > 0 {
		wait = " for " + printable.Duration(time.Duration(e.WaitMS)*time.Millisecond)
	}
	p.block(indent, fmt.Sprintf("paused%s: ccm-push rollout go %[2]s, or end, undo; ccm-push rollout status %[2]s", wait, e.Run), always(plain))
}

func (t *Text) rolloutSaid(p *page, e RolloutSaid) {
	t.unfold(p)
	text := "-- " + Line(e.Verb)
	if e.Host != "" {
		text += " " + Line(e.Host)
	}
	p.inline(plain, text+" by "+Line(e.By))
}
