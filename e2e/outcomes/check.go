package outcomes

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Violation is a rule that an outcome breaks.
type Violation struct{ Rule, Text string }

func (v Violation) String() string { return v.Rule + ": " + v.Text }

// Check compares what was reported with what happened, and both with the rules.
func Check(o *Outcome) []Violation {
	k := newChecker(o)
	k.calls()
	for _, r := range k.all {
		if r.Kind == Exec {
			k.command(r)
			k.order(r)
		} else {
			k.file(r)
		}
	}
	k.semaphores()
	k.batches()
	k.complete()
	k.undo()
	return k.found
}

// newChecker gathers what the rules are about.
func newChecker(o *Outcome) *checker {
	k := &checker{Outcome: o, chain: map[string]bool{}, byTitle: map[string]placed{}, byName: map[string]placed{}, undoneIn: -1}
	for _, r := range o.Case.resources() {
		k.all = append(k.all, r)
		k.byName[r.Name] = r
		for _, name := range r.names() {
			k.byName[name] = r
			title := name
			if r.Kind == File || r.Kind == Absent {
				title = r.Path()
			}
			k.byTitle[title] = r
		}
	}
	for n, c := range o.Called {
		if c.Do == "undo" && len(c.Runs) > 0 && k.undoneIn < 0 {
			k.undoneIn = n
		}
		for _, r := range c.Runs {
			k.chain[r.ID] = c.Do == "run" || c.Do == "resume"
		}
	}
	k.collect()
	return k
}

type checker struct {
	*Outcome
	all      []placed
	byName   map[string]placed // by the name of the resource or of its element
	byTitle  map[string]placed // by what events call it
	chain    map[string]bool   // whether a run is the first one or a resume of it
	undoneIn int               // the first call that was an undo; -1 if there was none
	reports  []report
	found    []Violation
}

// A report holds the results that a run reported for a resource.
type report struct {
	Event
	element string // the name that the command writes down
	call    int
	untold  bool
}

func (k *checker) wrong(rule, format string, args ...any) {
	k.found = append(k.found, Violation{rule, fmt.Sprintf(format, args...)})
}

// collect gathers the reports of the chain: its own results, and what later runs reported as untold.
func (k *checker) collect() {
	element := func(title string) string { return strings.TrimPrefix(title, Tree+"/") }
	// A run that was cut may not have had the host forget what is untold, so the next one reports it again.
	type key struct{ earlier, host, of, title, status string }
	untold := map[key][]report{}
	for n, c := range k.Called {
		for _, run := range c.Runs {
			again := map[key][]report{}
			for _, e := range run.Events {
				if e.Event == "result" && k.chain[run.ID] && !e.Check {
					if _, is := k.byTitle[e.Name]; is {
						k.reports = append(k.reports, report{e, element(e.Name), n, false})
					}
				}
				if e.Event != "untold" || !k.chain[e.Earlier] {
					continue
				}
				for _, r := range e.Results {
					if _, is := k.byTitle[r.Name]; is {
						id := key{e.Earlier, e.Host, e.For, r.Name, r.Status}
						r.Host, r.For = e.Host, e.For
						again[id] = append(again[id], report{r, element(r.Name), n, true})
					}
				}
			}
			for id, list := range again {
				if len(list) > len(untold[id]) {
					untold[id] = list
				}
			}
		}
	}
	for _, list := range untold {
		k.reports = append(k.reports, list...)
	}
}

// calls checks that each call ended, and that its exit status, its output and its record agree.
func (k *checker) calls() {
	for n, c := range k.Called {
		name := fmt.Sprintf("call %d (%s)", n+1, c.Do)
		if c.TimedOut {
			k.wrong("ends", "%s did not end within %s\n%s", name, callLimit, c.Output)
			continue
		}
		if strings.Contains(c.Output, "panic:") || strings.Contains(c.Output, "goroutine ") {
			k.wrong("ends", "%s crashed\n%s", name, c.Output)
		}
		if c.Status < 0 || c.Status == 130 {
			continue
		}
		if c.Status == 1 {
			if n == 0 || c.Do == "close" {
				k.wrong("exit status", "%s ended with status 1\n%s", name, c.Output)
			}
			continue
		}
		want, results := 0, map[string]int{}
		var totals *Event
		for _, run := range c.Runs {
			for _, e := range run.Events {
				switch e.Event {
				case "result":
					results[e.Status]++
					if e.Status == "failed" && !e.Check {
						want |= 2
					}
				case "host_failed":
					want |= 2
				case "unreachable":
					want |= 4
				case "summary":
					totals = &e
					if e.RolloutStopped {
						want |= 32
					}
				}
			}
		}
		if c.Status != want {
			k.wrong("exit status", "%s ended with status %d, and its events mean %d\n%s", name, c.Status, want, c.Output)
		}
		if len(c.Runs) > 0 && totals == nil {
			k.wrong("record", "%s ended with status %d, and its record has no summary", name, c.Status)
		}
		if totals != nil {
			t := totals.Totals.Resources
			for status, count := range map[string]int{"failed": t.Failed, "rescued": t.Rescued, "skipped": t.Skipped} {
				if results[status] != count {
					k.wrong("totals", "%s has %d results that are %s, and its totals say %d", name, results[status], status, count)
				}
			}
		}
		if len(c.Runs) == 1 {
			if printed, recorded := resultLines(c.Printed), resultLines(c.Runs[0].Events); !slices.Equal(printed, recorded) {
				k.wrong("record", "%s printed %q and recorded %q", name, printed, recorded)
			}
		}
	}
}

func resultLines(all []Event) (lines []string) {
	for _, e := range all {
		if e.Event == "result" || e.Event == "untold" {
			lines = append(lines, e.String())
		}
	}
	slices.Sort(lines)
	return lines
}

// began returns the executions of an element of a command; host is whom they are for, empty means all. What an undo
// refreshed is not among them.
func (k *checker) began(element, host string) (all []Began) {
	for _, b := range k.Truth.Began {
		if k.inUndo(b) {
			continue
		}
		if b.Name == element && (host == "" || b.For == host) {
			all = append(all, b)
		}
	}
	return all
}

// inUndo reports whether an undo started a command.
func (k *checker) inUndo(b Began) bool {
	return b.Call < len(k.Called) && k.Called[b.Call].Do == "undo" && (!k.leftOver(b) || k.refreshed(b))
}

// refreshed reports whether a command is the one that the undo itself reported: the last one of its call.
func (k *checker) refreshed(b Began) bool {
	if slices.ContainsFunc(k.Truth.Began, func(o Began) bool {
		return o.Name == b.Name && o.For == b.For && o.Call == b.Call && o.Begin.After(b.Begin)
	}) {
		return false
	}
	for _, run := range k.Called[b.Call].Runs {
		for _, e := range run.Events {
			if e.Event == "result" && (e.Status == "changed" || e.Status == "failed") && strings.TrimPrefix(e.Name, Tree+"/") == b.Name && cmp.Or(e.For, e.Host) == b.For {
				return true
			}
		}
	}
	return false
}

// leftOver reports whether a host started a command before it noticed that the call before had ended, or had given it up.
func (k *checker) leftOver(b Began) bool {
	return b.Call > 0 && k.lost(b.At, b.Call-1) && b.Begin.Sub(k.Called[b.Call].Begin) < noticed && !k.finished(b.For, b.Call-1)
}

// finished reports whether a call was done with a host, in each play that it had begun there.
func (k *checker) finished(host string, call int) (done bool) {
	for _, run := range k.Called[call].Runs {
		for _, e := range run.Events {
			if e.Host == host {
				done = e.Event == "host_done" || done && e.Event == "host_rolled"
			}
		}
	}
	return done
}

// noticed is how long a host may take to notice that ccm-push was killed, or that its connection was lost.
const noticed = 500 * time.Millisecond

// reported returns the reports of an element; host is whom they are for, empty means all.
func (k *checker) reported(element, host string) (all []report) {
	for _, e := range k.reports {
		if e.element == element && (host == "" || cmp.Or(e.For, e.Host) == host) {
			all = append(all, e)
		}
	}
	return all
}

// struck reports whether a fault of one of these kinds came about on a host; host empty means anywhere.
func (k *checker) struck(host string, kinds ...FaultKind) bool {
	return slices.ContainsFunc(k.Struck, func(s Struck) bool {
		return (host == "" || s.Host == host) && slices.Contains(kinds, s.Kind)
	})
}

// command compares how often a command ran with the reports.
func (k *checker) command(r placed) {
	for _, element := range r.names() {
		if r.Once {
			k.once(r, element)
			continue
		}
		for _, host := range r.play.Hosts {
			k.executions(r, element, host, k.began(element, host), k.reported(element, host))
		}
	}
	for _, b := range k.Truth.Began {
		if b.Name == r.Name && r.On != "" && b.At != r.On {
			k.wrong("on", "%s, and it belongs on %s", b, r.On)
		}
		if b.Name == r.Name && r.On == "" && b.At != b.For {
			k.wrong("on", "%s", b)
		}
	}
}

// once checks a resource with once: the reports of all hosts are about one execution.
func (k *checker) once(r placed, element string) {
	began := k.began(element, "")
	batches := 1
	if r.play.Serial > 0 {
		batches = (len(r.play.Hosts) + r.play.Serial - 1) / r.play.Serial
	}
	if n := len(slices.DeleteFunc(slices.Clone(began), func(b Began) bool { return !b.cut() && b.Status != 0 })); n > batches {
		k.wrong("once", "%s ran %d times in %d batches:%s", element, n, batches, list(began))
	}
	var own []report // those of the host that ran it
	for _, e := range k.reported(element, "") {
		if e.On == "" || e.On == e.Host {
			own = append(own, e)
		} else if e.Status == "changed" && !slices.ContainsFunc(began, func(b Began) bool { return b.At == e.On && b.Status == 0 && !b.cut() }) {
			k.wrong("reported", "%s, and it never ended well there:%s", e, list(began))
		} else if bool(e.Unknown) && !slices.ContainsFunc(own, func(o report) bool { return o.call == e.call && o.Host == e.On }) {
			own = append(own, e) // of a host that was lost
		}
	}
	for _, host := range r.play.Hosts {
		var here []report
		for _, e := range own {
			if e.Host == host || e.On == host {
				here = append(here, e)
			}
		}
		k.executions(r, element, host, k.began(element, host), here)
	}
}

// executions compares the executions of one command for one host with its reports.
func (k *checker) executions(r placed, element, host string, began []Began, reports []report) {
	var ok, bad, cut, changed, unknown, killed, failed, exits, warned int
	for _, b := range began {
		switch {
		case b.cut():
			cut++
		case b.Status == 0:
			ok++
		default:
			bad++
		}
	}
	for _, e := range reports {
		if slices.ContainsFunc(e.Messages, func(m Message) bool { return strings.Contains(m.Text, "failed in the run that this one resumes: ") }) {
			failed++ // an earlier try
		}
		if r.guarded() && slices.ContainsFunc(e.Messages, func(m Message) bool { return m.Level == "warning" }) {
			warned++ // it may start again after it was cut, and says so
		}
		switch {
		case e.Status == "changed":
			changed++
		case e.failed() && bool(e.Unknown):
			unknown++
		case e.Status == "skipped" && slices.ContainsFunc(e.Messages, func(m Message) bool { return strings.Contains(m.Text, "its outcome is unknown") }):
			unknown++
		case e.failed() && e.Killed:
			killed++
		case e.failed():
			failed++
			if strings.Contains(e.Error, "exit code 1 ") || strings.Contains(e.Error, "exited with status 1") {
				exits++
			}
		}
	}
	evidence := func() string { return fmt.Sprintf("%s\n  reported:%s", list(began), list(reports)) }
	forgetful := k.forgetful(r, host)
	if ok > changed+unknown+killed+warned && !forgetful { // the host may have been killed before it noted the end
		k.wrong("reported", "%s for %s succeeded %d times, and was reported as changed or unknown %d times:%s", element, host, ok, changed+unknown+killed, evidence())
	}
	if changed > ok && !(forgetful && changed <= ok+warned) {
		k.wrong("true", "%s for %s was reported as changed %d times, and succeeded %d times:%s", element, host, changed, ok, evidence())
	}
	if bad > failed+unknown+killed && !forgetful {
		k.wrong("reported", "%s for %s failed %d times, and was reported as failed %d times:%s", element, host, bad, failed+unknown+killed, evidence())
	}
	if exits > bad {
		k.wrong("true", "%s for %s was reported %d times to have ended with status 1, and did so %d times:%s", element, host, exits, bad, evidence())
	}
	if cut > unknown+killed+warned && !forgetful {
		k.wrong("unknown", "%s for %s was cut %d times, and was reported as unknown or killed %d times:%s", element, host, cut, unknown+killed, evidence())
	}
	if !r.guarded() && !forgetful {
		for i := 1; i < len(began); i++ {
			if before := began[i-1]; before.cut() || before.Status == 0 || began[i].Begin.Before(before.End) {
				k.wrong("at most once", "%s for %s ran again after it succeeded or was cut:%s", element, host, evidence())
				break
			}
		}
	}
	if r.Creates {
		for i := 1; i < len(began); i++ {
			if before := began[i-1]; !before.cut() && before.Status == 0 {
				k.wrong("guard", "%s for %s ran again after it made its mark:%s", element, host, evidence())
				break
			}
		}
	}
}

// forgetful reports whether the host where a command runs could not keep what it could not report.
func (k *checker) forgetful(r placed, host string) bool {
	if r.On != "" {
		host = r.On
	}
	// No later run asks the controller what it has kept, except a resume.
	return k.struck(host, FullNotes) || host == "controller" && k.undoneIn >= 0
}

// list lists values, a line each.
func list[T fmt.Stringer](all []T) string {
	if len(all) == 0 {
		return " never"
	}
	var b strings.Builder
	for _, one := range all {
		b.WriteString("\n    " + one.String())
	}
	return b.String()
}

func (r report) String() string {
	text := fmt.Sprintf("call %d: %s", r.call+1, r.Event)
	if r.untold {
		text += " (untold)"
	}
	return text
}

// file checks whether a file is as it was reported.
func (k *checker) file(r placed) {
	if k.Truth.After == nil {
		return
	}
	for _, host := range r.play.Hosts {
		reports := k.reported(r.Name, host)
		before, there := k.Truth.Before[host][r.Path()], k.Truth.After[host][r.Path()]
		var right bool
		switch r.Kind {
		case File:
			content := r.Name + " " + host + "\n"
			if r.Uses != "" {
				content = r.Uses + " " + host + "\n"
			}
			right = there == fmt.Sprintf("-rw-r--r-- 0:0 %q", content)
		case Absent:
			right = there == ""
		case Line:
			right = strings.Contains(there, "line "+r.Name+`\n`)
			before, there = "", map[bool]string{true: "line"}[right]
		}
		evidence := fmt.Sprintf("it is %q and was %q\n  reported:%s", there, before, list(reports))
		done := func(e report) bool { return e.Status == "changed" || e.Status == "stable" }
		if slices.ContainsFunc(reports, done) && !right {
			k.wrong("true", "%s on %s was reported as done: %s", r.Title(), host, evidence)
		}
		if !right && there != before {
			k.wrong("whole", "%s on %s was changed in part: %s", r.Title(), host, evidence)
		}
		changed := 0
		for _, e := range reports {
			if e.Status == "changed" {
				changed++
			}
		}
		if changed > 1 {
			k.wrong("true", "%s on %s was reported as changed %d times: %s", r.Title(), host, changed, evidence)
		}
		if !right || there == before || k.struck(host, FullNotes) {
			continue
		}
		if !slices.ContainsFunc(reports, func(e report) bool { return done(e) || e.failed() }) {
			k.wrong("reported", "%s on %s was changed, but not reported: %s", r.Title(), host, evidence)
		} else if changed == 0 && !k.struck(host, KillProgram, Reboot) && !slices.ContainsFunc(reports, func(e report) bool { return e.failed() }) {
			k.wrong("true", "%s on %s was changed, and was reported as stable: %s", r.Title(), host, evidence)
		}
	}
}

// succeeded reports whether a resource was right for a host before a moment, by the truth where it has it.
func (k *checker) succeeded(r placed, host string, before time.Time) bool {
	if r.Kind != Exec {
		return slices.ContainsFunc(k.reported(r.Name, host), func(e report) bool { return e.Status == "changed" || e.Status == "stable" || e.untold }) || !k.struck("")
	}
	if r.Once {
		host = ""
	}
	for _, element := range r.names() {
		if !slices.ContainsFunc(k.began(element, host), func(b Began) bool { return !b.cut() && b.Status == 0 && b.End.Before(before) }) {
			return false
		}
	}
	return true
}

// order checks what must have happened before a command began, and what must not.
func (k *checker) order(r placed) {
	for _, element := range r.names() {
		for _, b := range k.began(element, "") {
			for _, name := range r.Require {
				if q := k.byName[name]; !q.RefreshOnly && q.Kind == Exec && !k.succeeded(q, b.For, b.Begin) {
					k.wrong("require", "%s, and %s, which it requires, had not succeeded:%s", b, name, list(k.began(name, "")))
				}
			}
			if r.block != nil && r.part == "rescue" && !slices.ContainsFunc(r.block.Main, func(m Resource) bool { return k.hasFailed(m, b.For) }) {
				k.wrong("rescue", "%s, and nothing in the block of %s failed", b, r.block.Name)
			}
			for _, e := range k.all {
				if e.play != r.play || e.order >= r.order || e.Kind != Exec || e.play.Graph {
					continue
				}
				if e.block == r.block && r.part == "block" && e.block != nil && !e.RefreshOnly && !e.Once && !k.succeeded(e, b.For, b.Begin) {
					k.wrong("block", "%s after %s of the same block, which had not succeeded:%s", b, e.Name, list(k.began(e.Name, "")))
				}
				if r.play.FailOnError && e.block == nil && k.failedIn(e, b.For, b.Call, b.Begin) {
					k.wrong("fail_on_error", "%s after %s failed in the same call:%s", b, e.Name, list(k.began(e.Name, b.For)))
				}
			}
			for _, e := range k.all {
				if e.index < r.index && e.Kind == Exec && (e.block == nil || len(e.block.Rescue) == 0) && k.failedIn(e, b.For, b.Call, b.Begin) {
					k.wrong("next play", "%s after %s of an earlier play failed for the host in the same call:%s", b, e.Name, list(k.began(e.Name, b.For)))
				}
			}
		}
		if r.RefreshOnly {
			k.refresh(r, element)
		}
	}
}

// hasFailed reports whether a resource failed for a host, or may have.
func (k *checker) hasFailed(r Resource, host string) bool {
	for _, element := range r.names() {
		if slices.ContainsFunc(k.began(element, host), func(b Began) bool { return b.cut() || b.Status != 0 }) ||
			slices.ContainsFunc(k.reported(element, host), func(e report) bool { return e.failed() }) {
			return true
		}
	}
	return false
}

// failedIn reports whether a command failed for a host in a call before a moment.
func (k *checker) failedIn(r placed, host string, call int, before time.Time) bool {
	for _, element := range r.names() {
		if slices.ContainsFunc(k.began(element, host), func(b Began) bool {
			return b.Call == call && !b.cut() && b.Status != 0 && b.End.Before(before)
		}) {
			return true
		}
	}
	return false
}

// refresh checks that a command with refreshonly ran only after its target changed.
func (k *checker) refresh(r placed, element string) {
	target := k.byName[r.Subscribe]
	for _, b := range k.began(element, "") {
		if target.Kind != Exec {
			if !slices.ContainsFunc(k.reported(target.Name, b.For), func(e report) bool { return e.Status != "skipped" }) && !k.struck("", FullNotes) {
				k.wrong("refresh", "%s, and %s was not changed", b, target.Name)
			}
			continue
		}
		host := b.For
		if target.Once {
			host = ""
		}
		changed := false
		for _, name := range target.names() {
			changed = changed || slices.ContainsFunc(k.began(name, host), func(t Began) bool { return t.Begin.Before(b.Begin) })
		}
		if !changed {
			k.wrong("refresh", "%s, and %s had not run", b, target.Name)
		}
	}
}

// end is when a command was over. One that was killed was over when its host rebooted, or after its time.
func (k *checker) end(b Began) time.Time {
	if !b.cut() {
		return b.End
	}
	end := b.Begin.Add(time.Duration(k.byName[b.Name].Millis) * time.Millisecond)
	for _, s := range k.Struck {
		if (s.Kind == Reboot && s.Host == b.At || s.Kind == Interrupt) && s.At.After(b.Begin) && s.At.Before(end) {
			end = s.At
		}
	}
	return end
}

// semaphores checks that no more commands than its slots were in a semaphore at once.
func (k *checker) semaphores() {
	for _, r := range k.all {
		if r.Sema == "" {
			continue
		}
		var inside []Began
		slots := r.Slots
		for _, b := range k.Truth.Began {
			if o := k.byName[b.Name]; o.Sema == r.Sema {
				inside, slots = append(inside, b), min(slots, o.Slots)
			}
		}
		for _, b := range inside {
			at := slices.DeleteFunc(slices.Clone(inside), func(o Began) bool {
				return o.Begin.After(b.Begin) || !k.end(o).After(b.Begin)
			})
			if len(at) > slots {
				k.wrong("semaphore", "%d commands were in %s:%d at once:%s", len(at), r.Sema, slots, list(at))
				return
			}
		}
	}
}

// batches checks that no more hosts than allowed were worked on at once.
func (k *checker) batches() {
	for n := range k.Case.Plays {
		p := &k.Case.Plays[n]
		limit, what := p.Serial, "serial"
		if p.Unavailable > 0 {
			limit, what = p.Unavailable, "max_unavailable"
		}
		if limit == 0 {
			continue
		}
		for call := range k.Called {
			if k.Called[call].Do == "undo" {
				continue
			}
			type span struct{ first, last time.Time }
			spans := map[string]span{}
			for _, b := range k.Truth.Began {
				r := k.byName[b.Name]
				if b.Call != call || r.play != p || r.Once || r.On != "" || k.leftOver(b) {
					continue
				}
				s, is := spans[b.For]
				if !is {
					s.first = b.Begin
				}
				if end := k.end(b); end.After(s.last) {
					s.last = end
				}
				spans[b.For] = s
			}
			for host, s := range spans {
				var at []string
				for _, other := range slices.Sorted(maps.Keys(spans)) {
					o := spans[other]
					if !o.first.After(s.first) && o.last.After(s.first) && (what != "serial" || !k.lost(other, call)) || other == host {
						at = append(at, other)
					}
				}
				if len(at) > limit {
					k.wrong(what, "in play %s, call %d, %v ran at once when %s began, and %s is %d:%s", p.Name, call+1, at, host, what, limit, list(k.inPlay(p, call)))
					break
				}
			}
		}
	}
}

func (k *checker) inPlay(p *Play, call int) (all []Began) {
	for _, b := range k.Truth.Began {
		if b.Call == call && k.byName[b.Name].play == p {
			all = append(all, b)
		}
	}
	return all
}

// lost reports whether a host was given up in a call, or the call itself came to no end: what it still does is not in
// the hands of the run.
func (k *checker) lost(host string, call int) bool {
	for _, run := range k.Called[call].Runs {
		for _, e := range run.Events {
			if e.Host == host && (e.Event == "host_failed" || e.Event == "unreachable" || e.Event == "interrupted") {
				return true
			}
		}
	}
	return k.Called[call].Status < 0
}

// complete checks that a chain that ended with status 0 did everything.
func (k *checker) complete() {
	last := -1
	for n, c := range k.Called {
		if len(c.Runs) > 0 && (c.Do == "run" || c.Do == "resume") {
			last = n
		}
	}
	if last < 0 || k.undoneIn >= 0 || k.Called[last].Status != 0 {
		return
	}
	for _, r := range k.all {
		if r.Kind != Exec || r.RefreshOnly || r.block != nil {
			continue
		}
		for _, element := range r.names() {
			for _, host := range r.play.Hosts {
				if r.Once {
					host = ""
				}
				excused := slices.ContainsFunc(k.reported(element, host), func(e report) bool { return e.failed() || e.Status == "skipped" })
				if !excused && !slices.ContainsFunc(k.began(element, host), func(b Began) bool { return !b.cut() && b.Status == 0 }) {
					k.wrong("complete", "call %d ended with status 0, and %s did not run for %q:%s", last+1, element, host, list(k.reported(element, host)))
				}
			}
		}
	}
	for _, r := range k.all {
		if !r.RefreshOnly || r.block != nil || k.struck("", FullNotes) {
			continue
		}
		target := k.byName[r.Subscribe]
		for _, host := range r.play.Hosts {
			changed := slices.ContainsFunc(k.reported(target.Name, host), func(e report) bool { return e.Status == "changed" })
			if changed && target.Each == 0 && len(k.began(r.Name, host)) == 0 {
				k.wrong("refresh lost", "call %d ended with status 0, %s changed on %s, and %s never ran:%s", last+1, target.Name, host, r.Name, list(k.reported(r.Name, host)))
			}
		}
	}
}

// undo checks that the tree is as before the run, or that each difference is named, and that nothing applied the run
// again.
func (k *checker) undo() {
	if k.undoneIn < 0 {
		return
	}
	for _, b := range k.Truth.Began {
		if k.inUndo(b) && !k.byName[b.Name].RefreshOnly {
			k.wrong("undone", "%s: an undo started it", b)
		}
		if b.Call > k.undoneIn && k.Called[b.Call].Do == "resume" {
			k.wrong("undone", "%s, after the run was undone in call %d", b, k.undoneIn+1)
		}
	}
	last := -1
	for n, c := range k.Called {
		if c.Do == "undo" && len(c.Runs) > 0 {
			last = n
		}
	}
	if c := k.Called[last]; c.Status < 0 || c.Status == 130 || c.Status == 1 {
		return // it was cut, and the case has no further one
	}
	for _, host := range k.Case.Hosts {
		before, after := k.Truth.Before[host], k.Truth.Undone[host]
		for _, path := range slices.Sorted(maps.Keys(union(before, after))) {
			if before[path] == after[path] {
				continue
			}
			var events []Event
			named := false
			for n, c := range k.Called {
				if c.Do != "undo" {
					continue
				}
				for _, run := range c.Runs {
					for _, e := range run.Events {
						r, is := k.byTitle[e.Name]
						switch {
						case e.Host != host:
						case (e.Event == "host_failed" || e.Event == "unreachable") && n == last:
							named = true
							events = append(events, e)
						case e.Event == "result" && is && r.Path() == path:
							events = append(events, e)
							named = named || e.failed() || e.Status == "skipped" || strings.Contains(fmt.Sprint(e.Messages), path)
							if r.Kind != Line && n == last && (e.Status == "changed" || e.Status == "stable") {
								k.wrong("undone", "%s on %s is %q and was %q before the run; the undo reported: %s", path, host, after[path], before[path], e)
							}
						}
					}
				}
			}
			if !named {
				k.wrong("undone", "%s on %s is %q and was %q before the run; the undo did not name it:%s\n  the run:%s", path, host, after[path], before[path], list(events), list(k.ofPath(path, host)))
			}
		}
	}
}

// ofPath returns the reports of the chain about a path.
func (k *checker) ofPath(path, host string) (all []report) {
	for _, e := range k.reports {
		if r := k.byTitle[e.Name]; r.Path() == path && e.Host == host {
			all = append(all, e)
		}
	}
	return all
}

func union(a, b Snapshot) Snapshot {
	all := maps.Clone(a)
	if all == nil {
		all = Snapshot{}
	}
	maps.Copy(all, b)
	return all
}
