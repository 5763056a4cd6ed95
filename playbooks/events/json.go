package events

import (
	"fmt"
	"io"
	"time"

	"github.com/ccm-push/ccm-push/inventory/printable"
)

// JSON is a reporter that writes JSON Lines: one object per event. A write has whole lines. Invalid UTF-8 becomes
// U+FFFD. Characters that could control a terminal are written as escapes, which mean the same to JSON parsers.
type JSON struct {
	out   sink
	lines []byte // being made
	short bool   // see [NewShortJSON]
	at    clockText
}

// NewJSON makes a reporter that writes to w.
func NewJSON(w io.Writer) *JSON { return &JSON{out: sink{w: w}} }

// NewShortJSON makes one whose lines are for [Decode] alone: most results are half as long.
func NewShortJSON(w io.Writer) *JSON { return &JSON{out: sink{w: w}, short: true} }

// Report writes e.
func (j *JSON) Report(e Event) { j.ReportAll([]Event{e}) }

// ReportAll writes events in one write.
func (j *JSON) ReportAll(all []Event) {
	j.lines = j.lines[:0]
	for _, e := range all {
		j.line(e)
	}
	j.out.write(j.lines)
	if cap(j.lines) > maxLines {
		j.lines = nil
	}
}

// line adds the line of an event. Frequent events are written without reflection.
func (j *JSON) line(e Event) {
	quick := false
	switch e := e.(type) {
	case Result:
		if j.short {
			j.lines, quick = appendShortResult(j.lines, &e, &j.at)
		} else {
			j.lines, quick = appendResult(j.lines, &e, &j.at)
		}
	case HostDone:
		j.lines, quick = appendHostDone(j.lines, &e, &j.at), true
	}
	if !quick {
		j.lines = append(j.lines, jsonLine(e)...)
	}
}

// maxLines bounds the buffer for lines that is kept, in bytes.
const maxLines = 64 << 10

// Err is the first error of the writer; nothing was written after it.
func (j *JSON) Err() error { return j.out.err }

// A sink writes until the first error, which it keeps: a run does not end
// because its output is not read any more.
type sink struct {
	w   io.Writer
	err error
}

func (s *sink) write(b []byte) {
	if s.err != nil || len(b) == 0 {
		return
	}
	if _, err := s.w.Write(b); err != nil {
		s.err = fmt.Errorf("writing events: %w", err)
	}
}

// timeLayout is RFC 3339 with exactly three decimals.
const timeLayout = "2006-01-02T15:04:05.000Z07:00"

// A clockText caches the text of a time: events that arrive together have the same time.
type clockText struct {
	time time.Time
	text []byte // text of time; nil before the first
}

func (c *clockText) append(b []byte, t time.Time) []byte {
	if c.text == nil || t != c.time {
		c.time, c.text = t, t.UTC().AppendFormat(c.text[:0], timeLayout)
	}
	return append(b, c.text...)
}

// jsonLine is the head that all events share, followed by the fields of e.
func jsonLine(e Event) []byte {
	st := e.stamp()
	head := encode(struct {
		Event string `json:"event"`
		Time  string `json:"time"`
		Run   string `json:"run"`
	}{e.name(), st.Time.UTC().Format(timeLayout), st.Run})
	head[len(head)-1] = ','
	line := append(head, encode(fields(e))[1:]...)
	return append(line, '\n')
}

// encode returns a part of an event without a newline.
func encode(v any) []byte {
	b, err := printable.JSON(v)
	if err != nil {
		panic(fmt.Sprintf("event %T: %v", v, err)) // strings, numbers and bools cannot fail
	}
	return b
}

// Encode returns v as JSON on one line, see [printable.JSON].
func Encode(v any) ([]byte, error) { return printable.JSON(v) }

// milliseconds is a duration as a JSON number with up to three decimals.
type milliseconds time.Duration

func (d milliseconds) MarshalJSON() ([]byte, error) {
	return appendMilliseconds(nil, time.Duration(d)), nil
}

// The wire forms of events that are more than their own fields.
type (
	resultFields struct {
		Result
		DurationMS milliseconds `json:"duration_ms" doc:"how long it took"`
		*Command
	}
	// A check result has no changed, which would say something else than its status.
	checkFields struct {
		resultFields
		Changed *bool `json:"changed,omitempty"` // hides the field of the result; always nil
	}
	reconnectFields struct {
		Reconnect
		DurationMS milliseconds `json:"duration_ms" doc:"until there was another connection"`
	}
	hostDoneFields struct {
		HostDone
		DurationMS milliseconds `json:"duration_ms" doc:"how long it took, with waiting"`
		Phases     phasesFields `json:"phases_ms" doc:"of it"`
	}
	phasesFields struct {
		Connect milliseconds `json:"connect" doc:"dial, verify, log in"`
		Start   milliseconds `json:"start" doc:"the host program, until its facts are here"`
		Compile milliseconds `json:"compile" doc:"the catalog"`
		Apply   milliseconds `json:"apply" doc:"from the catalog to its last result"`
	}
	hostSummaryFields struct {
		HostSummary
		DurationMS milliseconds `json:"duration_ms" doc:"how long it took, with waiting"`
	}
	summaryFields struct {
		Summary
		Hosts  map[string]hostSummaryFields `json:"hosts" doc:"each by its name"`
		Totals Totals                       `json:"totals" doc:"sums over all hosts"`
	}
)

// fields returns the fields after the head of e's line. Lists are never null.
func fields(e Event) any {
	switch e := e.(type) {
	case RunStart:
		e.Manifests = list(e.Manifests)
		return e
	case PlayStart:
		e.Hosts = list(e.Hosts)
		return e
	case Result:
		e.Messages, e.Changes = list(e.Messages), list(e.Changes)
		all := resultFields{e, milliseconds(e.Duration), e.Command}
		if e.Check {
			return checkFields{resultFields: all}
		}
		return all
	case Reconnect:
		return reconnectFields{e, milliseconds(e.Duration)}
	case ResourceStart:
		return resourceStartFields{e, milliseconds(e.Within)}
	case Untold:
		e.Results = list(e.Results)
		return e
	case RolloutPlan:
		e.Batches, e.Stable, e.Rules = list(e.Batches), list(e.Stable), list(e.Rules)
		return e
	case RolloutStop:
		e.Hosts = list(e.Hosts)
		return e
	case Armed:
		return armedFields{e, milliseconds(e.Within)}
	case Confirmed:
		e.Over = list(e.Over)
		return confirmedFields{e, milliseconds(e.Duration)}
	case Reverted:
		e.Results = list(e.Results)
		return e
	case Watched:
		e.Unsettled = list(e.Unsettled)
		return e
	case Drifted:
		e.Changes = list(e.Changes)
		return e
	case Fighting:
		e.Values = list(e.Values)
		return e
	case SiteWaits:
		e.Hosts = list(e.Hosts)
		return e
	case RepairWaits:
		e.Using = list(e.Using)
		return e
	case HostDone:
		return hostDoneFields{e, milliseconds(e.Duration), phasesFields{
			milliseconds(e.Phases.Connect), milliseconds(e.Phases.Start), milliseconds(e.Phases.Compile), milliseconds(e.Phases.Apply),
		}}
	case Summary:
		hosts := make(map[string]hostSummaryFields, len(e.Hosts))
		for name, h := range e.Hosts {
			hosts[name] = hostSummaryFields{h, milliseconds(h.Duration)}
		}
		return summaryFields{e, hosts, e.Totals}
	default:
		return e
	}
}

func list[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}
