package events

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// TextOptions say what a [Text] shows. The zero value suits a file: changes and
// failures, no colours.
type TextOptions struct {
	Verbose int  // 1 and more: also what is stable or skipped, values, all that is kept of output
	Diff    bool // show diffs and the values of changes
	Color   bool // use colours; see [WantColor]
	Width   int  // columns of the terminal; 0 means 80
	Timing  bool // show what the time of each host was spent on
	AdHoc   bool // one resource from the command line: its output is the point
	// Trust gives the command that trusts the keys of several hosts; nil has none.
	Trust func(hosts []string) string
}

// Text is a reporter for people. Changes and failures come as they happen, a
// line each that begins with the host, so that hosts may interleave; the
// [Summary] ends it with a recap. Each event is one write.
type Text struct {
	out     sink
	options TextOptions
	run     RunStart
	column  int // width of the hosts' column

	hosts []string          // in the order they were first seen
	seen  map[string]bool   // the same, as a set
	cause map[string]string // why a host is not ok, in a few words
	jumps map[string]bool   // errors of jump hosts that have been told

	unknownHosts []string // that were not reached since a key of theirs is unknown
	restarts     restarts
}

// NewText makes a reporter that writes to w.
func NewText(w io.Writer, o TextOptions) *Text {
	if o.Width <= 0 {
		o.Width = 80
	}
	return &Text{out: sink{w: w}, options: o, seen: make(map[string]bool), cause: make(map[string]string), jumps: make(map[string]bool)}
}

// Err is the first error of the writer; nothing was written after it.
func (t *Text) Err() error { return t.out.err }

// Report writes e, if it is worth a person's attention.
func (t *Text) Report(e Event) {
	p := &page{colors: t.options.Color}
	switch e := e.(type) {
	case RunStart:
		t.runStart(p, e)
	case PlayStart:
		t.playStart(p, e)
	case Result:
		t.result(p, e)
	case Message:
		t.message(p, e)
	case Unreachable:
		t.unreachable(p, e)
	case HostFailed:
		t.blame(e.Host, e.Phase)
		// The errors of a connection begin with the step, which is the phase then.
		t.hostProblem(p, e.Host, "failed", e.Phase+": "+strings.TrimPrefix(e.Error, e.Phase+" "), e.Hint)
		t.refreshDue(p, e.Rest)
	case Interrupted:
		t.meet(e.Host)
		t.interrupted(p, e)
	case Reconnect:
		t.reconnect(p, e)
	case Untold:
		t.untold(p, e)
	case HostDone:
		t.hostDone(p, e)
	case Summary:
		t.summary(p, e)
	}
	t.out.write([]byte(p.b.String()))
}

func (t *Text) runStart(p *page, e RunStart) {
	t.run = e
	if t.options.Verbose == 0 {
		return
	}
	p.print(plain, fmt.Sprintf("run %s, ccm-push %s, %s", e.Run, e.Version, count(e.Hosts, "host")))
	if len(e.Manifests) > 0 {
		p.print(plain, ": ", strings.Join(e.Manifests, ", "))
	}
	p.newline()
}

// maxColumn bounds the column of host names: one long name shall not push
// everything to the right.
const maxColumn = 24

func (t *Text) playStart(p *page, e PlayStart) {
	t.column = 0
	for _, h := range e.Hosts {
		t.meet(h)
		t.column = min(maxColumn, max(t.column, utf8.RuneCountInString(Line(h))))
	}
	if t.options.AdHoc {
		return
	}
	p.print(bold, "== ", e.Play)
	if e.Batches > 1 {
		p.print(bold, fmt.Sprintf(", batch %d of %d", e.Batch, e.Batches))
	}
	p.print(bold, ": ", count(len(e.Hosts), "host"))
	switch {
	case t.run.Monitor:
		p.print(bold, " (health checks only: nothing is changed)")
	case t.run.Check:
		p.print(bold, " (check: nothing is changed)")
	}
	p.newline()
}

// hostDone says what the time of a host was spent on, if that is asked for.
func (t *Text) hostDone(p *page, e HostDone) {
	t.meet(e.Host)
	if !t.options.Timing {
		return
	}
	p.pad(plain, e.Host, t.column)
	p.pad(plain, "timing", t.statusColumn())
	p.print(plain, fmt.Sprintf("connect %s, start %s, compile %s, apply %s", short(e.Phases.Connect), short(e.Phases.Start),
		short(e.Phases.Compile), short(e.Phases.Apply)))
	p.newline()
}

// meet remembers the order in which hosts appear.
func (t *Text) meet(host string) {
	if !t.seen[host] {
		t.seen[host] = true
		t.hosts = append(t.hosts, host)
	}
}

// blame remembers why a host is not ok; the first reason counts.
func (t *Text) blame(host, cause string) {
	t.meet(host)
	if t.cause[host] == "" {
		t.cause[host] = shorten(cause, 60)
	}
}

// mainCause is what hosts that suffer from the same thing have in common: what
// an error says after its step and address, without the details that follow.
func mainCause(err string) string {
	first, _, _ := strings.Cut(err, "\n")
	_, cause, found := strings.Cut(first, ": ")
	if !found {
		return first
	}
	cause, details, _ := strings.Cut(cause, ": ")
	// A certificate counts more than that its bare key is in no file either.
	if strings.Contains(details, ": its certificate ") {
		return "its certificate was refused"
	}
	return cause
}

func (t *Text) message(p *page, e Message) {
	if e.Host != "" {
		t.meet(e.Host)
		p.pad(plain, e.Host, t.column)
	}
	p.print(bold, "message")
	p.print(plain, ": ")
	p.inline(plain, e.Text)
}

// unreachable tells of a dead jump host once; the recap has all hosts behind it.
func (t *Text) unreachable(p *page, e Unreachable) {
	if e.UnknownKey {
		t.unknownHosts = append(t.unknownHosts, e.Host)
	}
	if e.Via == "" {
		t.blame(e.Host, mainCause(e.Error))
		t.hostProblem(p, e.Host, "unreachable", e.Error, e.Hint)
		return
	}
	who := "jump host " + e.Via
	t.blame(e.Host, who)
	if t.jumps[e.Error] {
		return
	}
	t.jumps[e.Error] = true
	t.hostProblem(p, e.Via, "jump host", strings.TrimPrefix(e.Error, who+": ")+"; what lies behind it is unreachable", e.Hint)
}

// hostProblem says what is wrong with a host as a whole.
func (t *Text) hostProblem(p *page, host, what, err, hint string) {
	p.pad(plain, host, t.column)
	p.pad(red, what, t.statusColumn())
	p.inline(red, strings.TrimPrefix(err, host+": ")) // errors of one host begin with its name
	if hint != "" {
		p.block(indent, "hint: "+hint, always(plain))
	}
}

// interrupted says how far a host got with a play.
func (t *Text) interrupted(p *page, e Interrupted) {
	p.pad(plain, e.Host, t.column)
	p.pad(yellow, "interrupted", t.statusColumn())
	if e.NotReached == 0 {
		p.print(plain, fmt.Sprintf("before play %q", e.Play))
	} else {
		p.print(plain, notReached(e.Rest))
	}
	p.newline()
	t.refreshDue(p, e.Rest)
}

// reconnect says that a connection was lost, and what it was about.
func (t *Text) reconnect(p *page, e Reconnect) {
	t.meet(e.Host)
	p.pad(plain, e.Host, t.column)
	p.pad(yellow, "reconnected", t.statusColumn())
	p.inline(plain, fmt.Sprintf("after %s; %s told before, %d to come: %s", short(e.Duration), count(e.Reported, "result"), e.Remaining, e.Error))
}

// untold says what an earlier run did on a host that nobody has heard of.
func (t *Text) untold(p *page, e Untold) {
	t.meet(e.Host)
	p.pad(plain, e.Host, t.column)
	p.pad(yellow, "untold", t.statusColumn())
	n := len(e.Results) + e.More
	p.inline(plain, fmt.Sprintf("run %s of %s, begun %s, did this and could not tell: %s", e.Earlier, e.Holder, e.Since.Local().Format("2006-01-02 15:04:05"), count(n, "result")))
	for _, r := range e.Results {
		of := yellow
		text := string(r.Status) + "  " + r.Type + "#" + shorten(r.Name, 100)
		if r.Message != "" {
			text += "  " + shorten(r.Message, 200)
		}
		if r.Error != "" {
			of = red
			text += "  " + shorten(r.Error, 200)
		}
		p.block(indent, text, always(of))
	}
	if e.More > 0 {
		p.block(indent, fmt.Sprintf("and %d more", e.More), always(yellow))
	}
}

// notReached is "2 resources not reached: exec#a and what follows it".
func notReached(r Rest) string {
	text := count(r.NotReached, "resource") + " not reached: " + shorten(r.Next, 100)
	if r.NotReached > 1 {
		text += " and what follows it"
	}
	return text
}

// maxDue is how many resources whose refresh is due are named.
const maxDue = 5

func (t *Text) refreshDue(p *page, r Rest) {
	if len(r.RefreshDue) == 0 {
		return
	}
	var refs []string
	for _, ref := range r.RefreshDue[:min(maxDue, len(r.RefreshDue))] {
		refs = append(refs, shorten(ref, 100))
	}
	text := strings.Join(refs, ", ")
	if more := len(r.RefreshDue) - len(refs); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	p.block(indent, "refresh due: "+text+" (for changes of this run; the next one makes up for it)", always(yellow))
}

// quoted is a list of names that may hold anything.
func quoted(names []string) string {
	var all []string
	for _, name := range names {
		all = append(all, fmt.Sprintf("%q", shorten(name, 60)))
	}
	return strings.Join(all, ", ")
}

// count is "1 host", "2 hosts".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// shorten keeps the first line of s and at most n runes of it.
func shorten(s string, n int) string {
	s = strings.TrimSuffix(s, "\n")
	line, _, more := strings.Cut(s, "\n")
	if runes := []rune(line); len(runes) > n {
		return string(runes[:n]) + "…"
	}
	if more {
		return line + " …"
	}
	return line
}
