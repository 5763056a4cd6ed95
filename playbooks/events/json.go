package events

import (
	"fmt"
	"io"
	"time"

	"github.com/ccm-push/ccm-push/inventory/printable"
)

// JSON is a reporter that writes JSON Lines: one object per event. A write holds
// whole lines.
// Invalid UTF-8 becomes U+FFFD. Characters that could act on a terminal are
// written as escapes, which mean the same to whoever parses them.
type JSON struct {
	out    sink
	lines  []byte // being made
	append func([]byte, *Result) (line []byte, ok bool)
}

// NewJSON makes a reporter that writes to w.
func NewJSON(w io.Writer) *JSON { return &JSON{out: sink{w: w}, append: appendResult} }

// NewShortJSON makes one whose lines are for [Decode] alone: most results are half as long.
func NewShortJSON(w io.Writer) *JSON { return &JSON{out: sink{w: w}, append: appendShortResult} }

// Report writes e.
func (j *JSON) Report(e Event) { j.ReportAll([]Event{e}) }

// ReportAll writes events in one write.
func (j *JSON) ReportAll(all []Event) {
	j.lines = j.lines[:0]
	for _, e := range all {
		r, ok := e.(Result)
		if ok {
			j.lines, ok = j.append(j.lines, &r)
		}
		if !ok {
			j.lines = append(j.lines, jsonLine(e)...)
		}
	}
	j.out.write(j.lines)
	if cap(j.lines) > maxLines {
		j.lines = nil
	}
}

// maxLines is how large a buffer for lines is kept, in bytes.
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

// encode gives a part of an event without a newline.
func encode(v any) []byte {
	b, err := printable.JSON(v)
	if err != nil {
		panic(fmt.Sprintf("event %T: %v", v, err)) // strings, numbers and bools cannot fail
	}
	return b
}

// Encode gives v as JSON on one line, see [printable.JSON].
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
		DurationMS milliseconds `json:"duration_ms"`
		*Command
	}
	reconnectFields struct {
		Reconnect
		DurationMS milliseconds `json:"duration_ms"`
	}
	hostDoneFields struct {
		HostDone
		DurationMS milliseconds `json:"duration_ms"`
		Phases     phasesFields `json:"phases_ms"`
	}
	phasesFields struct {
		Connect milliseconds `json:"connect"`
		Start   milliseconds `json:"start"`
		Compile milliseconds `json:"compile"`
		Apply   milliseconds `json:"apply"`
	}
	hostSummaryFields struct {
		HostSummary
		DurationMS milliseconds `json:"duration_ms"`
	}
	summaryFields struct {
		Summary
		Hosts  map[string]hostSummaryFields `json:"hosts"`
		Totals Totals                       `json:"totals"`
	}
)

// fields is what follows the head of e's line. Lists are never null.
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
		return resultFields{e, milliseconds(e.Duration), e.Command}
	case Reconnect:
		return reconnectFields{e, milliseconds(e.Duration)}
	case Untold:
		e.Results = list(e.Results)
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
