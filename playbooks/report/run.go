package report

import (
	"cmp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

// A Run collects the data for reports. It is a reporter; the zero Run is ready for use.
type Run struct {
	// Stable also keeps the stable resources of each host. JUnit XML needs them.
	Stable bool

	start       events.RunStart
	began, last time.Time
	plays       []string // in the order in which they began
	stops       []string // last stops of rollouts
	hosts       []*host  // in the order of the inventory
	byName      map[string]*host
	outcomes    []*outcome // distinct, in the order in which they came
	known       map[string]int
	size        int // size of the kept texts, in bytes
	tally       events.Tally
	end         *events.Summary // nil if the run has not ended, or was killed
}

// A host has the outcomes of one host.
type host struct {
	name, address string
	seen          bool // something happened to it
	happened      []happening
	done          events.HostDone
	finished      bool // the host is done
}

// A happening is an outcome on a host.
type happening struct {
	outcome int // its index
	took    time.Duration
}

// A kind is a sort of outcome.
type kind string

const (
	stable      kind = "stable"
	changed     kind = "changed"
	wouldChange kind = "would change"
	skipped     kind = "skipped"
	failed      kind = "failed" // a resource
	rescued     kind = "rescued"
	unreachable kind = "unreachable"
	hostFailed  kind = "host failed"
	interrupted kind = "interrupted"
	told        kind = "told" // about a connection, or an earlier run
)

// An outcome is the outcome of a resource on one host or several. Its texts come from the first host.
type outcome struct {
	kind
	play   string
	what   string // the resource as TYPE#NAME, or the phase in which a host failed
	detail string // action, in a few words
	text   string // the error
	hint   string // next step for the user
	notes  string // warnings
	diff   string
	output string // output of a command

	written *events.Place // the resource in its manifest, if it failed

	of    *host // the first
	named bool  // the texts name the host, or its address
}

// maxKept bounds the kept texts, in bytes: above it, diffs and outputs are dropped.
const maxKept = 64 << 20

// Report collects e.
func (r *Run) Report(e events.Event) {
	if r.end != nil {
		return
	}
	r.tally.Report(e)
	switch e := e.(type) {
	case events.RunStart:
		r.begin(e)
	case events.PlayStart:
		r.last = e.Time
		if len(r.plays) == 0 || r.plays[len(r.plays)-1] != e.Play {
			r.plays = append(r.plays, e.Play)
		}
		for _, name := range e.Hosts {
			r.host(name)
		}
	case events.Result:
		r.last = e.Time
		if !e.Repair { // events after the plays are not part of their report
			r.result(e)
		}
	case events.Unreachable:
		r.last = e.Time
		r.add(e.Host, outcome{kind: unreachable, play: e.Play, text: e.Error, hint: e.Hint}, "", 0)
	case events.HostFailed:
		r.last = e.Time
		r.add(e.Host, outcome{kind: hostFailed, play: e.Play, what: e.Phase, text: e.Error, hint: e.Hint}, "", 0)
	case events.Interrupted:
		r.last = e.Time
		r.add(e.Host, outcome{kind: interrupted, play: e.Play, what: e.Next}, "", 0)
	case events.Reconnect:
		r.last = e.Time
		r.add(e.Host, outcome{kind: told, play: e.Play, what: "reconnected", notes: e.Error}, "", 0)
	case events.Untold:
		r.last = e.Time
		what := "untold by run " + e.Earlier
		if e.For != "" {
			what += " for " + e.For
		}
		r.add(e.Host, outcome{kind: told, play: e.Play, what: what, notes: untold(e)}, "", 0)
	case events.Watchdog:
		r.last = e.Time
		r.add(e.Host, outcome{kind: told, play: e.Play, what: "watchdog ended", notes: cmp.Or(e.Error, "it was started again")}, "", 0)
	case events.Confirmed:
		r.last = e.Time
		r.add(e.Host, outcome{kind: told, play: e.Play, what: "confirmed", notes: "by a new login at " + strings.Join(e.Over, " and ")}, "", 0)
	case events.Reverted:
		r.last = e.Time
		r.add(e.Host, reverted(e), "", 0)
	case events.RolloutStop:
		r.last = e.Time
		r.stopped(e)
	case events.HostDone:
		r.last = e.Time
		h := r.host(e.Host)
		h.seen, h.finished, h.done = true, true, e
		h.done.Duration = recorded(e.Duration)
		p := &h.done.Phases
		p.Connect, p.Start, p.Compile, p.Apply = recorded(p.Connect), recorded(p.Start), recorded(p.Compile), recorded(p.Apply)
	case events.Summary:
		r.last, r.end = e.Time, &e
	}
}

// recorded returns a duration with the precision of a record, so that the reports of a run and of its record are equal.
func recorded(d time.Duration) time.Duration { return d.Truncate(time.Microsecond) }

func (r *Run) begin(e events.RunStart) {
	r.start, r.began, r.last = e, e.Time, e.Time
	for _, play := range e.Plays {
		for i, name := range play.Hosts {
			h := r.host(name)
			if i < len(play.Addresses) && play.Addresses[i] != "" {
				h.address = play.Addresses[i]
			}
		}
	}
}

func (r *Run) host(name string) *host {
	h := r.byName[name]
	if h == nil {
		h = &host{name: name, address: name}
		if r.byName == nil {
			r.byName = map[string]*host{}
		}
		r.byName[name] = h
		r.hosts = append(r.hosts, h)
	}
	return h
}

func (r *Run) result(e events.Result) {
	var notes strings.Builder
	for _, n := range e.Messages {
		if n.Level == "warning" || n.Level == "error" {
			notes.WriteString(n.Level + ": " + n.Text + "\n")
		}
	}
	if e.Status == events.Stable && notes.Len() == 0 && !r.Stable {
		r.host(e.Host).seen = true
		return
	}
	o := outcome{kind: kind(e.Status), play: e.Play, what: events.Reference(e), detail: events.Detail(e), text: events.PlainError(e.Error), notes: events.PlainError(notes.String()), diff: e.Diff}
	if e.Status == events.Changed && e.Check {
		o.kind = wouldChange
	}
	if e.Status.HasFailed() {
		o.written, o.hint = e.Written, e.Hint
	}
	if e.Unknown {
		o.text = strings.TrimSuffix("outcome unknown: "+o.text, ": ")
	}
	if c := e.Command; c != nil && (e.Status.HasFailed() || r.adHoc()) {
		o.output = output(c)
	}
	r.add(e.Host, o, e.Type+"\x00"+e.Name, e.Duration)
}

// adHoc reports whether the run is one resource of the command line.
func (r *Run) adHoc() bool { return len(r.start.Manifests) == 0 && r.start.Undoes == "" }

// untold describes results of an earlier run that were not reported.
func untold(e events.Untold) string {
	var b strings.Builder
	for _, one := range e.Results {
		unknown := ""
		if one.Unknown {
			unknown = "outcome unknown: "
		}
		b.WriteString(string(one.Status) + " " + one.Type + "#" + one.Name + " " + unknown + one.Message + one.Error + "\n")
	}
	if e.More > 0 {
		b.WriteString("and " + strconv.Itoa(e.More) + " more\n")
	}
	return b.String()
}

// output returns the output of a command.
func output(c *events.Command) string {
	var b strings.Builder
	for _, text := range []string{c.Stdout, c.Stderr} {
		b.WriteString(text)
		if text != "" && !strings.HasSuffix(text, "\n") {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// add adds an outcome of a host. id has the other parts that distinguish it.
func (r *Run) add(name string, o outcome, id string, took time.Duration) {
	h := r.host(name)
	h.seen = true
	if r.size > maxKept {
		o.diff, o.output = "", ""
	}
	for _, text := range o.texts() {
		*text = asRecorded(*text)
	}
	var b strings.Builder
	b.WriteString(string(o.kind) + "\x00" + o.play + "\x00" + id)
	for _, text := range o.texts() {
		b.WriteString("\x00" + *text)
	}
	whole := b.String()
	key := events.WithoutHost(whole, h.name, h.address)
	i, known := r.known[key]
	if !known {
		i = len(r.outcomes)
		if r.known == nil {
			r.known = map[string]int{}
		}
		r.known[key] = i
		o.of, o.named = h, key != whole
		r.outcomes = append(r.outcomes, &o)
		r.size += 2 * len(whole)
	}
	h.happened = append(h.happened, happening{i, recorded(took)})
}

// texts returns the texts that may contain the name of a host.
func (o *outcome) texts() []*string {
	return []*string{&o.what, &o.detail, &o.text, &o.hint, &o.notes, &o.diff, &o.output}
}

// asRecorded is a text as a record has it: a byte that is not UTF-8 becomes U+FFFD.
func asRecorded(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

// on is the outcome in the words of one of its hosts.
func (o *outcome) on(h *host) outcome {
	own := *o
	if o.named && o.of != h {
		for _, text := range own.texts() {
			*text = events.ForHost(events.WithoutHost(*text, o.of.name, o.of.address), h.name, h.address)
		}
	}
	return own
}

// summary returns the final counts of the run, or the current ones.
func (r *Run) summary() events.Summary {
	if r.end != nil {
		return *r.end
	}
	return r.tally.SoFar()
}

// title names the run in a line.
func (r *Run) title() string {
	what := strings.Join(r.start.Manifests, " ")
	if what == "" {
		what = strings.Join(r.plays, ", ")
	}
	what = cmp.Or(what, "run")
	if r.start.Check {
		what += " (check: nothing is changed)"
	}
	return what
}
