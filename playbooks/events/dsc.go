package events

import (
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/playbooks/dsc"
)

// DSC is a reporter that writes what dsc prints for a configuration, in one line per
// host once the host is done: of its operation test in a check run, else of set. If
// the run has several hosts, each line has the member host.
type DSC struct {
	out sink
	// Instances and outputs of the configuration documents among the plays.
	instances map[dscKey]dscInstance
	outputs   map[string]any // which are known without a host

	several bool
	check   bool
	hosts   map[string]*dscHost
	at      time.Time // time of the last event
}

// A dscKey identifies an instance in results.
type dscKey struct{ play, entry, name string }

// A dscInstance is the subject of a result, in the words of the document.
type dscInstance struct {
	typ, name string
	desired   json.RawMessage // without secrets; nil if it is not known
	isOutput  bool            // set if it is not an instance: its state has the document's outputs
}

// NewDSC makes a reporter that writes to w.
func NewDSC(w io.Writer) *DSC {
	return &DSC{out: sink{w: w}, instances: map[dscKey]dscInstance{}, outputs: map[string]any{}, hosts: map[string]*dscHost{}}
}

// Add registers the instances of a play that is a configuration document, for its results.
func (d *DSC) Add(play string, document *dsc.Document) {
	maps.Copy(d.outputs, document.Known)
	for _, i := range document.Instances {
		d.instances[dscKey{play, i.Entry, i.Name}] = dscInstance{i.Type, i.Name, i.Desired(), i.Output}
	}
}

// dscHost is the line of one host, being made.
type dscHost struct {
	began   time.Time
	results []dscResult
	notes   []dscMessage
	errors  bool
	restart []json.RawMessage
	outputs map[string]any
}

type (
	dscLine struct {
		Host     string       `json:"host,omitempty"`
		Metadata dscMetadata  `json:"metadata"`
		Results  []dscResult  `json:"results"`
		Messages []dscMessage `json:"messages"`
		Errors   bool         `json:"hadErrors"`
		Outputs  any          `json:"outputs,omitempty"`
	}
	dscMetadata struct {
		DSC dscRun `json:"Microsoft.DSC"`
	}
	dscRun struct {
		Operation string            `json:"operation"`
		Execution string            `json:"executionType"`
		Start     string            `json:"startDatetime"`
		End       string            `json:"endDatetime"`
		Duration  string            `json:"duration"`
		Restart   []json.RawMessage `json:"restartRequired,omitempty"`
	}
	dscResult struct {
		Metadata struct {
			DSC struct {
				Duration string `json:"duration"`
			} `json:"Microsoft.DSC"`
		} `json:"metadata"`
		Name   string `json:"name"`
		Type   string `json:"type"`
		Result any    `json:"result"`
	}
	dscSet struct {
		Before  json.RawMessage `json:"beforeState"`
		After   json.RawMessage `json:"afterState"`
		Changed []string        `json:"changedProperties"` // null if nothing was changed
	}
	dscTest struct {
		Desired   json.RawMessage `json:"desiredState"`
		Actual    json.RawMessage `json:"actualState"`
		InDesired bool            `json:"inDesiredState"`
		Differing []string        `json:"differingProperties"`
	}
	dscMessage struct {
		Name    string `json:"name"`
		Type    string `json:"type"`
		Message string `json:"message"`
		Level   string `json:"level"` // error, warning, information
	}
)

// Report takes an event.
func (d *DSC) Report(e Event) {
	if at := e.stamp().Time; !at.IsZero() {
		d.at = at
	}
	switch e := e.(type) {
	case RunStart:
		d.check, d.several = e.Check, e.Hosts > 1
	case PlayStart:
		for _, host := range e.Hosts {
			d.host(host)
		}
	case Result:
		d.result(e)
	case Unreachable:
		d.problem(e.Host, "", "", e.Error)
	case HostFailed:
		d.problem(e.Host, "", "", e.Phase+": "+e.Error)
	case Interrupted:
		d.problem(e.Host, "", "", "the run was interrupted")
	case HostDone:
		if e.State == StateIncomplete {
			d.problem(e.Host, "", "", "the run ended before this host had all of its plays")
		}
		d.line(e.Host)
	case Summary:
		for _, host := range e.NotStarted {
			d.problem(host, "", "", "the run ended before it started this host")
			d.line(host)
		}
	}
}

// Err is the first error of the writer; nothing was written after it.
func (d *DSC) Err() error { return d.out.err }

// host is the line of a host.
func (d *DSC) host(name string) *dscHost {
	h := d.hosts[name]
	if h == nil {
		h = &dscHost{began: d.at}
		d.hosts[name] = h
	}
	return h
}

func (d *DSC) problem(host, typeName, name, text string) {
	h := d.host(host)
	h.errors = true
	h.notes = append(h.notes, dscMessage{Name: name, Type: typeName, Message: text, Level: "error"})
}

// result adds the result of one resource.
func (d *DSC) result(r Result) {
	name := r.Name
	if r.Alias != "" {
		name = r.Alias
	}
	i, ok := d.instances[dscKey{r.Play, r.Type, name}]
	if !ok {
		i = dscInstance{typ: r.Type, name: name}
	}
	h := d.host(r.Host)
	levels := map[string]string{"warning": "warning", "error": "error"}
	for _, n := range r.Messages {
		level := cmp.Or(levels[n.Level], "information") // below which dsc has none here
		h.notes = append(h.notes, dscMessage{i.name, i.typ, n.Text, level})
	}
	if r.Check && !r.Certain {
		text := "this prediction is " + cmp.Or(r.Grade, "uncertain")
		if r.Because != "" {
			text += ": it depends on " + r.Because
		}
		h.notes = append(h.notes, dscMessage{i.name, i.typ, text, "information"})
	}
	h.restart = append(h.restart, r.Restart...)
	switch {
	case r.Status.HasFailed():
		d.problem(r.Host, i.typ, i.name, r.Error)
		return
	case r.Status == Skipped:
		text := "skipped"
		if reason := strings.TrimSpace(r.Message + " " + r.Because); reason != "" {
			text += ": " + reason
		}
		h.notes = append(h.notes, dscMessage{i.name, i.typ, text, "information"})
		return
	case i.isOutput:
		h.output(r)
		return
	}
	one := dscResult{Name: i.name, Type: i.typ, Result: d.state(r, i)}
	one.Metadata.DSC.Duration = isoDuration(r.Duration)
	h.results = append(h.results, one)
}

// output takes the outputs out of the state of the instance that stands for them.
func (h *dscHost) output(r Result) {
	var state struct {
		Output map[string]any `json:"output"`
	}
	if r.State != nil && json.Unmarshal(firstOf(r.State.After, r.State.Before), &state) == nil {
		h.outputs = state.Output
	}
}

// firstOf is the first document that is there, or null.
func firstOf(documents ...json.RawMessage) json.RawMessage {
	for _, doc := range documents {
		if len(doc) > 0 {
			return doc
		}
	}
	return json.RawMessage("null")
}

// state returns the state of a resource before and after, in the form of set or test.
func (d *DSC) state(r Result, i dscInstance) any {
	var before, after json.RawMessage
	if r.State != nil {
		before, after = r.State.Before, r.State.After
	}
	var changed []string
	for _, c := range r.Changes {
		property, _, _ := strings.Cut(c.Property, ".")
		if !slices.Contains(changed, property) {
			changed = append(changed, property)
		}
	}
	slices.Sort(changed)
	if r.Check {
		if changed == nil {
			changed = []string{}
		}
		return dscTest{firstOf(i.desired), firstOf(before), r.Status == Stable, changed}
	}
	if r.Status == Stable {
		return dscSet{firstOf(before), firstOf(after, before), nil}
	}
	return dscSet{firstOf(before), firstOf(after), changed}
}

// line writes the line of a host that is done, and forgets the host.
func (d *DSC) line(host string) {
	h := d.host(host)
	delete(d.hosts, host)
	l := dscLine{Results: list(h.results), Messages: list(h.notes), Errors: h.errors}
	if d.several {
		l.Host = host
	}
	l.Metadata.DSC = dscRun{
		Operation: "set", Execution: "actual", Start: rfc3339(h.began), End: rfc3339(d.at),
		Duration: isoDuration(d.at.Sub(h.began)), Restart: h.restart,
	}
	if d.check {
		l.Metadata.DSC.Operation = "test"
	}
	outputs := maps.Clone(d.outputs)
	maps.Copy(outputs, h.outputs)
	if len(outputs) > 0 && !d.check {
		l.Outputs = outputs
	}
	d.out.write(append(encode(l), '\n'))
}

func rfc3339(t time.Time) string { return t.UTC().Format(timeLayout) }

// isoDuration is a duration in the form of ISO 8601: PT1.5S.
func isoDuration(t time.Duration) string {
	return "PT" + strconv.FormatFloat(max(0, t).Round(time.Microsecond).Seconds(), 'f', -1, 64) + "S"
}
