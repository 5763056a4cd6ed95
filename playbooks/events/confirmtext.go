package events

import (
	"cmp"
	"fmt"
	"strings"
)

// armed prints that a host will change its login path next.
func (t *Text) armed(p *page, e Armed) {
	t.recap.meet(e.Host)
	if t.options.Quiet {
		return
	}
	t.who(p, e.Host)
	p.pad(plain, "armed", t.statusColumn())
	p.inline(plain, fmt.Sprintf("%s, since %s: taken back unless a new login confirms it within %s",
		reference(Result{Type: e.Type, Name: e.Name, Alias: e.Alias}), e.Why, e.Within))
}

// watchdog prints a warning that the watchdog of a host has ended.
func (t *Text) watchdog(p *page, e Watchdog) {
	t.recap.meet(e.Host)
	what := "the watchdog, which takes back changes that are not confirmed, had ended and was started again"
	if e.Error != "" {
		what = "the watchdog, which reverts unconfirmed changes, has ended and cannot be started again; without a confirmation, the next run reverts the changes: " + e.Error
	}
	t.who(p, e.Host)
	p.pad(yellow, "warning", t.statusColumn())
	p.inline(yellow, what)
}

// confirmed prints that a host is still reachable.
func (t *Text) confirmed(p *page, e Confirmed) {
	t.recap.meet(e.Host)
	if t.options.Quiet {
		return
	}
	t.who(p, e.Host)
	p.pad(green, "confirmed", t.statusColumn())
	p.inline(plain, "by a new login at "+strings.Join(e.Over, " and "))
}

// reverted prints the changes that a host has reverted.
func (t *Text) reverted(p *page, e Reverted) {
	what := e.Why
	if e.OfThisRun() {
		t.recap.blame(e.Host, "taken back: "+cmp.Or(e.Because, e.Why))
	} else {
		t.recap.meet(e.Host)
		what = fmt.Sprintf("changes of run %s of %s: %s", e.Earlier, e.Holder, e.Why)
	}
	t.who(p, e.Host)
	p.pad(red, "reverted", t.statusColumn())
	p.inline(red, what+", "+count(len(e.Results)+e.More, "resource")+", at "+e.At.Local().Format("2006-01-02 15:04:05"))
	if e.Because != "" {
		p.block(indent, "because: "+e.Because, always(red))
	}
	for _, r := range e.Results {
		of, word := yellow, "taken back"
		switch {
		case r.Status.HasFailed():
			of, word = red, "not taken back"
		case r.Status == Skipped:
			word = "left"
		}
		text := word + "  " + r.Type + "#" + shorten(r.Name, 100)
		if said := cmp.Or(r.Error, r.Message); said != "" {
			text += "  " + shorten(said, 200)
		}
		p.block(indent, text, always(of))
	}
	if e.More > 0 {
		p.block(indent, fmt.Sprintf("and %d more", e.More), always(yellow))
	}
	if e.Error != "" {
		p.block(indent, "now: "+e.Error, always(red))
	}
	t.refreshDue(p, e.Rest)
}
