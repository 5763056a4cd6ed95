package tracing

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

// maxSpans bounds the spans of a request.
const maxSpans = 256

// maxName bounds the name of a span, in bytes: the name of an exec is a command.
const maxName = 200

// A Trace is a reporter that makes spans of events.
type Trace struct {
	config    Config
	version   string
	file      io.Writer  // nil means none
	collector *collector // nil means none
	err       error      // error of the file

	run       string
	trace     string // its id, in hex
	start     events.RunStart
	addresses map[string]string
	play      int                  // number of the one under way
	since     map[string]time.Time // end of the reported spans of each host in progress
	reason    map[string]string    // failure of each host in progress that has failed as a whole
	spans     []span
}

// New makes the reporter of a run. Spans go to the collector of the configuration, which
// [Trace.Close] gives up, and to file, unless that is nil.
func New(c Config, version string, file io.Writer) *Trace {
	t := &Trace{config: c, version: version, file: file, addresses: map[string]string{}, since: map[string]time.Time{}, reason: map[string]string{}}
	t.config.resource = append(t.config.resource, text("service.version", version))
	return t
}

// Report makes the spans of an event.
func (t *Trace) Report(e events.Event) { t.ReportAll([]events.Event{e}) }

// ReportAll makes the spans of events that came together.
func (t *Trace) ReportAll(all []events.Event) {
	starts := t.startsOf(all)
	for i, e := range all {
		switch e := e.(type) {
		case events.RunStart:
			t.begin(e)
		case events.PlayStart:
			t.play = e.Number
			for _, host := range e.Hosts {
				t.since[host] = e.Time
			}
		case events.Result:
			if !e.Repair { // its host is done
				t.result(e, starts[i])
			}
		case events.Unreachable:
			t.reason[e.Host] = "unreachable"
		case events.HostFailed:
			t.reason[e.Host] = e.Phase
		case events.HostDone:
			t.host(e)
		case events.Summary:
			t.end(e)
		}
	}
}

func (t *Trace) begin(e events.RunStart) {
	t.start, t.run = e, e.Run
	t.trace = t.config.parent.trace
	if t.trace == "" {
		t.trace = t.id("trace")[:32]
	}
	for _, play := range e.Plays {
		for i, host := range play.Hosts {
			t.addresses[host] = host
			if i < len(play.Addresses) && play.Addresses[i] != "" {
				t.addresses[host] = play.Addresses[i]
			}
		}
	}
}

// id returns the id of a part of the run, in hex; its first 16 digits are the id of a span.
func (t *Trace) id(parts ...string) string {
	sum := sha256.New()
	io.WriteString(sum, t.run)
	for _, part := range parts {
		io.WriteString(sum, "\x00"+part)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func (t *Trace) span(parent, name string, start, end time.Time, parts ...string) span {
	return span{TraceID: t.trace, SpanID: t.id(parts...)[:16], ParentID: parent, Name: cut(name), Kind: kindInternal, Start: unixNano(start), End: unixNano(end)}
}

// cut shortens a name.
func cut(name string) string {
	if len(name) <= maxName {
		return name
	}
	end := maxName
	for !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end] + "…"
}

// failed marks a span as one of a failure, of a sort that has no text of a host in it.
func (s *span) failed(sort string) {
	s.Status = &status{statusError}
	s.Attributes = append(s.Attributes, text("error.type", sort))
}

// startsOf returns the times at which the resources of results began, by their index. Results that arrived together
// have the time of the last one. They count as run one after the other since the earlier ones, unless that is
// impossible.
func (t *Trace) startsOf(all []events.Event) map[int]time.Time {
	starts := map[int]time.Time{}
	sums := map[string]time.Duration{}
	for _, e := range all {
		if r, ok := e.(events.Result); ok {
			sums[r.Host] += r.Duration
		}
	}
	next := map[string]time.Time{}
	for i := len(all) - 1; i >= 0; i-- {
		r, ok := all[i].(events.Result)
		if !ok {
			continue
		}
		end, later := next[r.Host]
		if !later || r.Time.Sub(t.since[r.Host]) < sums[r.Host] {
			end = r.Time
		}
		starts[i] = end.Add(-r.Duration)
		next[r.Host] = starts[i]
	}
	return starts
}

func (t *Trace) result(e events.Result, start time.Time) {
	parent := t.id("step", e.Host, "apply", strconv.Itoa(t.play))[:16]
	// A resource may have results in several plays, and twice in one that refreshes it.
	s := t.span(parent, e.Type+"#"+e.Name, start, start.Add(e.Duration), "resource", e.Host, strconv.Itoa(t.play), e.Type, e.Name, strconv.FormatInt(start.UnixNano(), 10))
	s.Attributes = []attribute{
		text("ccm_push.play", e.Play), text("ccm_push.host", e.Host), text("ccm_push.resource.type", e.Type), text("ccm_push.resource.name", cut(e.Name)),
		text("ccm_push.resource.status", string(e.Status)), truth("ccm_push.check", e.Check),
	}
	if e.Cause != "" {
		s.Attributes = append(s.Attributes, text("ccm_push.resource.cause", string(e.Cause)))
	}
	if e.Status == events.Failed {
		sort := e.ErrorKind
		if sort == "" {
			sort = "failed"
		}
		s.failed(sort)
	}
	t.add(s)
	t.since[e.Host] = e.Time
}

// host makes the spans of a host and its phases.
func (t *Trace) host(e events.HostDone) {
	start := e.Time.Add(-e.Duration)
	for i, step := range e.Steps {
		if i == 0 || step.Began.Before(start) {
			start = step.Began
		}
	}
	s := t.span(t.id("run")[:16], "host "+e.Host, start, e.Time, "host", e.Host)
	s.Kind = kindClient
	address := t.addresses[e.Host]
	if address == "" {
		address = e.Host
	}
	s.Attributes = []attribute{
		text("ccm_push.host", e.Host), text("server.address", address), text("ccm_push.host.state", string(e.State)),
		number("ccm_push.resources.stable", e.Stable), number("ccm_push.resources.changed", e.Changed),
		number("ccm_push.resources.skipped", e.Skipped), number("ccm_push.resources.failed", e.Failed), number("ccm_push.resources.rescued", e.Rescued),
	}
	if e.State != events.StateOK {
		sort := t.reason[e.Host]
		if sort == "" {
			sort = string(e.State)
		}
		s.failed(sort)
	}
	t.add(s)
	within := ""
	seen := map[string]int{}
	for _, step := range slices.Backward(e.Steps) { // a login comes before the connect that it is a part of
		parent := s.SpanID
		if step.Phase == "login" && within != "" {
			parent = within
		}
		parts := []string{"step", e.Host, step.Phase, strconv.Itoa(step.Play)}
		if key := step.Phase + strconv.Itoa(step.Play); seen[key] > 0 { // again, after a lost connection
			parts = append(parts, strconv.Itoa(seen[key]))
		}
		seen[step.Phase+strconv.Itoa(step.Play)]++
		one := t.span(parent, step.Phase, step.Began, step.Began.Add(step.Took), parts...)
		one.Attributes = []attribute{text("ccm_push.host", e.Host), number("ccm_push.play.number", step.Play)}
		if within = ""; step.Phase == "connect" {
			within = one.SpanID
		}
		t.add(one)
	}
	delete(t.since, e.Host)
	delete(t.reason, e.Host)
}

// end makes the span of the run, and hands on what there is.
func (t *Trace) end(e events.Summary) {
	s := t.span(t.config.parent.span, "ccm-push run", t.start.Time, e.Time, "run")
	h := e.Totals.Hosts
	s.Attributes = []attribute{
		text("ccm_push.run.id", t.run), truth("ccm_push.check", t.start.Check), texts("ccm_push.manifests", t.start.Manifests),
		number("ccm_push.hosts.ok", h.OK), number("ccm_push.hosts.failed", h.Failed), number("ccm_push.hosts.unreachable", h.Unreachable),
		number("ccm_push.hosts.interrupted", h.Interrupted), number("ccm_push.hosts.incomplete", h.Incomplete), number("ccm_push.hosts.not_started", h.NotStarted),
		number("ccm_push.resources.changed", e.Totals.Resources.Changed),
	}
	switch {
	case e.Interrupted:
		s.failed("interrupted")
	case h.Failed > 0:
		s.failed("failed")
	case h.Unreachable > 0:
		s.failed("unreachable")
	}
	t.add(s)
	t.flush()
}

func (t *Trace) add(s span) {
	if t.spans = append(t.spans, s); len(t.spans) >= maxSpans {
		t.flush()
	}
}

// flush hands the spans on.
func (t *Trace) flush() {
	if len(t.spans) == 0 {
		return
	}
	body, err := encode(resource{t.config.resource}, t.version, t.spans)
	if err == nil && t.file != nil && t.err == nil {
		_, err = t.file.Write(append(body[:len(body):len(body)], '\n'))
	}
	t.err = errors.Join(t.err, err)
	if t.collector != nil {
		t.collector.take(batch{body, len(t.spans)})
	}
	t.spans = nil
}

// Err is the first error of the file.
func (t *Trace) Err() error { return t.err }
