package events

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// watchColumn is as wide as the longest word of a watch that is usual.
const watchColumn = len("unwatched")

// watchWho begins the lines about a watched host: with the time, since hours may pass between two lines.
func (t *Text) watchWho(p *page, host string, at time.Time) {
	p.print(plain, at.Local().Format("15:04:05"), "  ")
	t.who(p, host)
}

// watchStart ends the output of the plays in the same way as a run without watching ends.
func (t *Text) watchStart(p *page, e WatchStart) {
	t.unfold(p)
	if plays := t.tally.Summary(false); len(plays.Hosts) > 0 { // else none was carried out
		plays.Stamp = e.Stamp
		t.recap.summary(p, plays)
		p.newline()
	}
	t.watching = true
	for _, name := range t.recap.hosts {
		t.column = min(maxColumn, max(t.column, utf8.RuneCountInString(Line(name))))
	}
	if !t.options.Quiet {
		p.print(bold, "== watching: ", count(e.Hosts, "host"))
		p.newline()
	}
}

// end prints the end of a run. If the run has watched, its plays are printed already, and end prints how watching
// ended.
func (t *Text) end(p *page, e Summary) {
	if !t.watching || e.Watch == nil {
		t.recap.summary(p, e.without(t.applies.SoFar()))
		return
	}
	w := e.Watch
	p.print(plain, "watched: ", count(w.Hosts, "host"))
	for _, one := range []struct {
		n    int
		text string
		c    color
	}{
		{w.Unwatched, fmt.Sprintf("%d of them not watched at the end", w.Unwatched), red}, {w.Drifted, count(w.Drifted, "resource") + " drifted", yellow},
		{w.Fighting, fmt.Sprintf("%d of them fighting", w.Fighting), red},
	} {
		if one.n > 0 {
			p.print(one.c, ", ", one.text)
		}
	}
	p.newline()
}

func (t *Text) watched(p *page, e Watched) {
	if t.options.Quiet {
		return
	}
	t.watchWho(p, e.Host, e.Time)
	p.pad(green, "watched", watchColumn)
	text := count(e.Resources, "resource")
	if e.Polled > 0 {
		text += fmt.Sprintf(", of which %d are checked only at intervals", e.Polled)
	}
	if len(e.Unsettled) > 0 {
		text += "; never in their desired state, which does not count as drift: " + strings.Join(e.Unsettled, ", ")
	}
	p.inline(plain, shorten(text, 400))
}

func (t *Text) drift(p *page, e Drifted) {
	r := Result{Type: e.Type, Name: e.Name, Alias: e.Alias, Status: e.Status, Message: e.Message, Changes: e.Changes, Certain: true}
	t.watchWho(p, e.Host, e.Time)
	if e.Settled {
		p.pad(green, "settled", watchColumn)
		p.inline(plain, reference(r)+"  in its desired state again, after "+short(e.Time.Sub(e.Since)))
		return
	}
	p.pad(yellow, "drift", watchColumn)
	text := reference(r)
	switch what := whatChanged(r); {
	case e.Status == Failed:
		text += "  cannot be checked: " + shorten(e.Error, 200)
	case what != "":
		text += "  " + what
	}
	switch {
	case e.Cause == ByRun:
		text += "; as another run has left it"
	case e.Cause == "" && e.Status == Changed:
		text += "; because of a resource that it depends on"
	}
	p.inline(plain, text+byWriter(e.Writer))
}

// byWriter returns the text for the writer of a change, or "" if it is unknown.
func byWriter(w *Writer) string {
	switch {
	case w == nil:
		return ""
	case w.By != "":
		return fmt.Sprintf("; by run %s of %s", w.By, w.Holder)
	}
	who := []string{fmt.Sprintf("pid %d", w.PID)}
	if w.User != "" {
		who = append(who, w.User)
	}
	if w.Package != "" {
		who = append(who, "package "+w.Package)
	}
	if w.Program == "" {
		return "; by " + strings.Join(who, ", ")
	}
	return "; by " + w.Program + " (" + strings.Join(who, ", ") + ")"
}

func (t *Text) repaired(p *page, e Repaired) {
	ref := reference(Result{Type: e.Type, Name: e.Name, Alias: e.Alias})
	t.watchWho(p, e.Host, e.Time)
	if e.Error == "" {
		p.pad(green, "repaired", watchColumn)
		p.inline(plain, ref+"  after "+short(e.Time.Sub(e.Since)))
		return
	}
	p.pad(red, "not fixed", watchColumn)
	p.inline(plain, ref+"  "+shorten(e.Error, 200)+"; "+nextTry(e.Next, e.Time))
}

func nextTry(next *time.Time, now time.Time) string {
	if next == nil {
		return "not tried again"
	}
	wait := next.Sub(now).Round(time.Second)
	if wait <= 0 {
		return "tried again at once"
	}
	return "tried again in " + short(wait)
}

func (t *Text) fighting(p *page, e Fighting) {
	ref := reference(Result{Type: e.Type, Name: e.Name, Alias: e.Alias})
	t.watchWho(p, e.Host, e.Time)
	p.pad(red, "fighting", watchColumn)
	within := short(time.Duration(e.WithinMS) * time.Millisecond)
	if len(e.Values) == 0 {
		p.inline(plain, fmt.Sprintf("%s  repaired %d times within %s, which is its limit; %s", ref, e.Times, within, strings.Replace(nextTry(e.Next, e.Time), "tried", "repaired", 1)))
		return
	}
	p.inline(plain, fmt.Sprintf("%s  drifted %d times within %s: it is not repaired until the next catalog%s", ref, e.Times, within, byWriter(e.Writer)))
	for i, value := range e.Values {
		text := value
		if text == "" {
			text = "the desired state"
		}
		p.block(indent, []string{"one: ", "other: "}[min(i, 1)]+shorten(text, 200), always(yellow))
	}
	p.block(indent, "hint: after you have fixed the cause: ccm-push watch release "+e.Run+" "+shorten(e.Host, 100), always(cyan))
}

func (t *Text) repairWaits(p *page, e RepairWaits) {
	ref := reference(Result{Type: e.Type, Name: e.Name, Alias: e.Alias})
	t.watchWho(p, e.Host, e.Time)
	p.pad(yellow, "waits", watchColumn)
	const most = 5
	using := strings.Join(e.Using[:min(most, len(e.Using))], ", ")
	if more := len(e.Using) - most; more > 0 {
		using += fmt.Sprintf(" and %d more", more)
	}
	p.inline(plain, fmt.Sprintf("%s  not repaired before %s: the budget of the fleet is %s of %d within %s, used by %s",
		ref, e.Next.Local().Format("15:04:05"), count(e.Limit, "host"), e.Hosts, short(time.Duration(e.WithinMS)*time.Millisecond), shorten(using, 200)))
}

func (t *Text) unwatched(p *page, e Unwatched) {
	t.watchWho(p, e.Host, e.Time)
	p.pad(red, "unwatched", watchColumn)
	text := fmt.Sprintf("since %s: %s", e.Since.Local().Format("15:04:05"), e.Error)
	if e.Next != nil {
		text += "; " + nextTry(e.Next, e.Time)
	}
	p.inline(plain, text)
	if e.Hint != "" {
		p.block(indent, "hint: "+e.Hint, always(cyan))
	}
}
