package events

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ccm-push/ccm-push/modules/excerpt"
)

// TextOptions select the output of a [Text]. The zero value suits a file: changes and failures, no colours.
type TextOptions struct {
	Verbose  int  // 1 and more: also stable or skipped resources, values, all kept output
	Diff     bool // show diffs and the values of changes
	DiffStat bool // show only the number of changed lines of diffs
	Color    bool // use colours; see [WantColor]
	Width    int  // columns of the terminal; 0 means 80
	Timing   bool // show what the time of each host was spent on
	AdHoc    bool // one resource from the command line: its output is the point
	Quiet    bool // failures and the totals alone
	// Recorded is set if the run can be resumed by its id.
	Recorded bool
	// Again names flags that have to be given again then, since their values are not recorded.
	Again []string
	// Resume is the command that continues the run; empty means the command for a whole run.
	Resume string
	// Fold is the number of hosts from which equal outcomes are printed once, at the end of a batch; failures are
	// printed at once. 0 disables folding.
	Fold int
	// Source returns the text of an error with the lines of the files that it names; nil disables it.
	Source func(error) string
	// Trust returns the command that trusts the keys of several hosts; nil means none.
	Trust func(hosts []string) string
}

// Text is a reporter for people. Changes and failures come as they happen, a
// line each that begins with the host, so that hosts may interleave; the
// [Summary] ends it with a recap. Each event is one write.
type Text struct {
	setting
	out       sink
	results   resultLines
	recap     recap
	addresses map[string]string // addresses of hosts, if they differ from the names
	jumps     map[string]bool   // printed errors of jump hosts
	tally     Tally
	applies   Tally // tally of the results of apply alone
	watching  bool  // the plays are finished and printed
}

// A setting is the state that lines depend on, in addition to their event.
type setting struct {
	options  TextOptions
	run      RunStart
	column   int             // width of the hosts' column
	folding  *folding        // folding of the current batch; nil if outcomes are not folded
	followed map[string]bool // hosts whose commands' output was printed while they ran
}

// NewText makes a reporter that writes to w.
func NewText(w io.Writer, o TextOptions) *Text {
	if o.Width <= 0 {
		o.Width = 80
	}
	t := &Text{out: sink{w: w}, setting: setting{options: o, followed: make(map[string]bool)}, jumps: make(map[string]bool)}
	t.results, t.recap = resultLines{&t.setting}, newRecap(&t.setting)
	return t
}

// folds reports whether equal outcomes are printed once.
func (s *setting) folds() bool { return s.options.Fold > 0 && s.run.Hosts >= s.options.Fold }

// who prints the host at the begin of a line. If outcomes are folded, the host is added later.
func (s *setting) who(p *page, host string) {
	if s.folding == nil {
		p.pad(plain, host, s.column)
	}
}

// Err is the first error of the writer; nothing was written after it.
func (t *Text) Err() error { return t.out.err }

// Report writes e, if it is worth a person's attention.
func (t *Text) Report(e Event) {
	p := &page{colors: t.options.Color}
	t.tally.Report(e)
	if r, ok := e.(Result); !ok || r.Type == "apply" {
		t.applies.Report(e)
	}
	t.tell(p, e)
	if host := HostOf(e); t.folding != nil && host != "" && !p.direct {
		r, ok := e.(Result)
		t.folding.facts = r.Facts
		if ok && r.Status == Failed && r.Command != nil {
			t.folding.brief(p, host)
		}
		t.folding.collect(p, host, fails(e))
	}
	t.out.write([]byte(p.b.String()))
}

// fails reports whether an event is shown at once.
func fails(e Event) bool {
	switch e := e.(type) {
	case Result:
		return e.Status == Failed
	case Unreachable, HostFailed, Interrupted, Reverted:
		return true
	}
	return false
}

func (t *Text) tell(p *page, e Event) {
	switch e := e.(type) {
	case RunStart:
		t.runStart(p, e)
	case PlayStart:
		t.playStart(p, e)
	case Result:
		if e.Command != nil {
			c := *e.Command
			c.Stdout, c.Stderr = unixLines(c.Stdout), unixLines(c.Stderr)
			e.Command = &c
		}
		t.result(p, e)
	case Message:
		t.message(p, e)
	case Output:
		e.Text = unixLines(e.Text)
		t.written(p, e)
	case Unreachable:
		t.unreachable(p, e)
	case HostFailed:
		t.recap.blame(e.Host, e.Phase)
		// The errors of a connection begin with the step, which is the phase then.
		text := e.Error
		if e.Cause != nil && t.options.Source != nil {
			text = t.options.Source(e.Cause)
		}
		t.hostProblem(p, e.Host, "failed", e.Phase+": "+strings.TrimPrefix(text, e.Phase+" "), e.Hint)
		t.refreshDue(p, e.Rest)
	case Interrupted:
		t.recap.meet(e.Host)
		t.interrupted(p, e)
	case Reconnect:
		t.reconnect(p, e)
	case Untold:
		t.untold(p, e)
	case RolloutPlan:
		t.rolloutPlan(p, e)
	case Gate:
		t.gate(p, e)
	case RolloutStop:
		t.rolloutStop(p, e)
	case RolloutPause:
		t.rolloutPause(p, e)
	case RolloutSaid:
		t.rolloutSaid(p, e)
	case Armed:
		t.armed(p, e)
	case Watchdog:
		t.watchdog(p, e)
	case Confirmed:
		t.confirmed(p, e)
	case Reverted:
		t.reverted(p, e)
	case WatchStart:
		t.watchStart(p, e)
	case Watched:
		t.watched(p, e)
	case Drifted:
		t.drift(p, e)
	case Repaired:
		t.repaired(p, e)
	case Fighting:
		t.fighting(p, e)
	case RepairWaits:
		t.repairWaits(p, e)
	case Unwatched:
		t.unwatched(p, e)
	case HostDone:
		t.hostDone(p, e)
	case Summary:
		t.unfold(p)
		t.end(p, e)
	}
}

// unixLines returns the output of a command without the carriage returns that end lines, as sshd
// writes them.
func unixLines(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

func (t *Text) runStart(p *page, e RunStart) {
	t.run = e
	t.addresses = map[string]string{}
	for _, play := range e.Plays {
		for i, address := range play.Addresses {
			t.addresses[play.Hosts[i]] = address
		}
	}
	if t.options.Verbose == 0 {
		return
	}
	p.print(plain, fmt.Sprintf("run %s, ccm-push %s, %s", e.Run, e.Version, count(e.Hosts, "host")))
	if len(e.Manifests) > 0 {
		p.print(plain, ": ", strings.Join(e.Manifests, ", "))
	}
	p.newline()
}

// maxColumn bounds the column of host names: one long name must not push everything to the right.
const maxColumn = 24

func (t *Text) playStart(p *page, e PlayStart) {
	t.unfold(p)
	t.column = 0
	for _, h := range e.Hosts {
		t.recap.meet(h)
		t.column = min(maxColumn, max(t.column, utf8.RuneCountInString(Line(h))))
	}
	// A single host cannot be folded with others: its events are printed as they happen.
	if t.folds() && (len(e.Hosts) > 1 || t.options.Fold == 1) {
		t.folding = newFolding(slices.Clone(e.Hosts), &t.setting, t.addresses)
	}
	if t.options.AdHoc || t.options.Quiet {
		return
	}
	p.print(bold, "== ", e.Play)
	if e.Batches > 1 {
		p.print(bold, fmt.Sprintf(", batch %d of %d", e.Batch, e.Batches))
	}
	p.print(bold, ": ", count(len(e.Hosts), "host"))
	switch {
	case e.Batch == 0:
		p.print(bold, " (what will change: nothing is changed yet)")
	case t.run.Monitor:
		p.print(bold, " (health checks only: nothing is changed)")
	case t.run.Check:
		p.print(bold, " (check: nothing is changed)")
	}
	p.newline()
}

// unfold prints the collected output of a batch.
func (t *Text) unfold(p *page) {
	if batch := t.folding; batch != nil {
		t.folding = nil
		batch.unfold(p)
	}
}

// hostDone prints how a host's time was spent, if that is requested.
func (t *Text) hostDone(p *page, e HostDone) {
	t.recap.meet(e.Host)
	t.recap.note(e)
	t.recap.notRun(e)
	if !t.options.Timing || t.options.Quiet {
		return
	}
	t.who(p, e.Host)
	p.pad(plain, "timing", t.statusColumn())
	p.print(plain, fmt.Sprintf("connect %s, start %s, compile %s, apply %s", short(e.Phases.Connect), short(e.Phases.Start),
		short(e.Phases.Compile), short(e.Phases.Apply)))
	p.newline()
}

// result prints a result, and remembers it for the recap.
func (t *Text) result(p *page, r Result) {
	if r.Repair {
		if t.options.Verbose > 0 {
			t.results.tell(p, r)
		}
		return
	}
	t.recap.meet(r.Host)
	t.recap.restarts.add(r)
	t.recap.fetched.add(r)
	t.recap.unknown.add(r)
	t.recap.doubts.add(r, cmp.Or(t.addresses[r.Host], r.Host))
	t.recap.refreshed.add(r, cmp.Or(t.addresses[r.Host], r.Host))
	if r.Status == Failed {
		t.recap.blame(r.Host, reference(r))
	}
	t.results.tell(p, r)
}

// mainCause returns the common part of the errors of hosts with the same problem: the error after its step and address,
// without the details that follow.
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
		t.recap.meet(e.Host)
		t.who(p, e.Host)
	}
	p.print(bold, "message")
	p.print(plain, ": ")
	p.inline(plain, e.Text)
}

// written prints the output of a command at once, each line after its host.
func (t *Text) written(p *page, e Output) {
	p.direct = true
	t.recap.meet(e.Host)
	t.followed[e.Host] = true
	host := &page{}
	host.pad(plain, e.Host, t.column)
	prefix, c := host.b.String(), plain
	if e.Stream == Stderr {
		prefix, c = prefix+"stderr ", yellow
	}
	p.block(prefix+"| ", e.Text, always(c))
	if e.Dropped > 0 {
		p.block(host.b.String()+"| ", excerpt.Mark(int64(e.Dropped), "line"), always(cyan))
	}
}

// unreachable prints a dead jump host once; the recap has all hosts that need it.
func (t *Text) unreachable(p *page, e Unreachable) {
	if e.UnknownKey {
		t.recap.unknownHosts = append(t.recap.unknownHosts, e.Host)
	}
	if e.Via == "" {
		t.recap.blame(e.Host, mainCause(e.Error))
		t.hostProblem(p, e.Host, "unreachable", e.Error, e.Hint)
		return
	}
	who := "jump host " + e.Via
	t.recap.blame(e.Host, who)
	if t.jumps[e.Error] {
		return
	}
	t.jumps[e.Error] = true
	batch := t.folding
	t.folding, p.direct = nil, true // the jump host is not a host of the batch
	defer func() { t.folding = batch }()
	t.hostProblem(p, e.Via, "jump host", strings.TrimPrefix(e.Error, who+": ")+"; hosts behind this jump host are unreachable", e.Hint)
}

// hostProblem prints the problem of a host as a whole.
func (t *Text) hostProblem(p *page, host, what, err, hint string) {
	t.who(p, host)
	p.pad(red, what, t.statusColumn())
	p.inline(red, strings.TrimPrefix(err, host+": ")) // errors of one host begin with its name
	if hint != "" {
		p.block(indent, "hint: "+hint, always(plain))
	}
}

// interrupted prints how far a host got with a play.
func (t *Text) interrupted(p *page, e Interrupted) {
	t.who(p, e.Host)
	p.pad(yellow, "interrupted", t.statusColumn())
	switch {
	case e.Phase != "":
		p.print(plain, "in its "+Line(e.Phase))
	case e.NotReached == 0:
		p.print(plain, fmt.Sprintf("before play %q", e.Play))
	default:
		p.print(plain, notReached(e.Rest))
	}
	p.newline()
	t.refreshDue(p, e.Rest)
}

// reconnect prints that a connection was lost, and the catalog that it carried.
func (t *Text) reconnect(p *page, e Reconnect) {
	t.recap.meet(e.Host)
	t.who(p, e.Host)
	p.pad(yellow, "reconnected", t.statusColumn())
	told := "no work had started"
	if e.Reported+e.Remaining > 0 {
		told = fmt.Sprintf("%s received before, %d still missing", count(e.Reported, "result"), e.Remaining)
	}
	p.inline(plain, fmt.Sprintf("after %s; %s; reason: %s", short(e.Duration), told, e.Error))
}

// untold prints the results of an earlier run on a host that were never reported.
func (t *Text) untold(p *page, e Untold) {
	t.recap.meet(e.Host)
	t.who(p, e.Host)
	p.pad(yellow, "untold", t.statusColumn())
	n := len(e.Results) + e.More
	did := "did this"
	if e.For != "" {
		did += " for " + shorten(e.For, 100)
	}
	p.inline(plain, fmt.Sprintf("run %s of %s, started %s, %s and could not report it: %s", e.Earlier, e.Holder, e.Since.Local().Format("2006-01-02 15:04:05"), did, count(n, "result")))
	for _, r := range e.Results {
		of := yellow
		text := string(r.Status) + "  " + r.Type + "#" + shorten(r.Name, 100)
		if r.Message != "" {
			text += "  " + shorten(r.Message, 200)
		}
		if r.Unknown {
			text += "  outcome unknown"
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

// maxDue bounds the number of resources with a due refresh that are named.
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
	return countOf(n, what, what+"s")
}

// countOf is count for words with an irregular plural.
func countOf(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
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
