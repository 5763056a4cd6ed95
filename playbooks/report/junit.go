package report

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/inventory/printable"
	"github.com/ccm-push/ccm-push/playbooks/events"
)

// JUnit writes the run as JUnit XML, as GitLab, GitHub and Jenkins read it: a test suite per host,
// a test case per resource. A host that failed as a whole is an error of a case of its own.
func (r *Run) JUnit(w io.Writer) error {
	var all suiteCounts
	for _, h := range r.hosts {
		all.add(r.countsOf(h))
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", " ")
	root := xml.StartElement{Name: xml.Name{Local: "testsuites"}, Attr: []xml.Attr{
		attribute("name", printable.Line(fmt.Sprintf("%s, run %s", r.title(), r.start.Run))),
		attribute("tests", fmt.Sprint(all.Tests)), attribute("failures", fmt.Sprint(all.Failures)),
		attribute("errors", fmt.Sprint(all.Errors)), attribute("skipped", fmt.Sprint(all.Skipped)),
		attribute("time", seconds(r.last.Sub(r.began))),
	}}
	if err := enc.EncodeToken(root); err != nil {
		return err
	}
	for _, h := range r.hosts {
		if err := enc.Encode(r.suite(h)); err != nil {
			return err
		}
	}
	if err := enc.EncodeToken(root.End()); err != nil {
		return err
	}
	if err := enc.Close(); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func attribute(name, value string) xml.Attr {
	return xml.Attr{Name: xml.Name{Local: name}, Value: value}
}

type suiteCounts struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
	Skipped  int `xml:"skipped,attr"`
}

func (c *suiteCounts) add(other suiteCounts) {
	c.Tests += other.Tests
	c.Failures += other.Failures
	c.Errors += other.Errors
	c.Skipped += other.Skipped
}

type testSuite struct {
	XMLName xml.Name `xml:"testsuite"`
	Name    string   `xml:"name,attr"`
	suiteCounts
	Time      string `xml:"time,attr"`
	Timestamp string `xml:"timestamp,attr"`
	Hostname  string `xml:"hostname,attr"`
	// Properties is nil unless the host has results with unknown outcomes.
	Properties *properties `xml:"properties"`
	Cases      []testCase  `xml:"testcase"`
}

type properties struct {
	All []property `xml:"property"`
}

type property struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type testCase struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Time    string   `xml:"time,attr"`
	File    string   `xml:"file,attr,omitempty"` // file of the manifest, if the resource failed
	Line    int      `xml:"line,attr,omitempty"`
	Skipped *problem `xml:"skipped"`
	Error   *problem `xml:"error"`
	Failure *problem `xml:"failure"`
	Output  string   `xml:"system-out,omitempty"`
}

type problem struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// countsOf counts the cases of a host.
func (r *Run) countsOf(h *host) suiteCounts {
	var c suiteCounts
	for _, one := range h.happened {
		if r.outcomes[one.outcome].kind == told {
			continue // not a test
		}
		c.Tests++
		switch r.outcomes[one.outcome].kind {
		case failed:
			c.Failures++
		case unreachable, hostFailed, interrupted:
			c.Errors++
		case skipped:
			c.Skipped++
		}
	}
	if !h.seen {
		c.Tests, c.Skipped = 1, 1
	}
	missed := len(r.missed(h))
	c.Tests, c.Skipped = c.Tests+missed, c.Skipped+missed
	return c
}

// missed names the plays that a host did not enter, and that another one of its plays came before.
func (r *Run) missed(h *host) (names []string) {
	for _, play := range h.done.Plays {
		if play.State == events.StateNotStarted && play.Number <= len(r.start.Plays) {
			names = append(names, r.start.Plays[play.Number-1].Name)
		}
	}
	return names
}

func (r *Run) suite(h *host) testSuite {
	name := printable.Line(asRecorded(h.name))
	s := testSuite{
		Name: name, Hostname: name, suiteCounts: r.countsOf(h), Time: seconds(h.done.Duration),
		Timestamp: r.began.UTC().Format("2006-01-02T15:04:05"),
	}
	if n := h.done.Counts.Unknown; n > 0 {
		s.Properties = &properties{[]property{{Name: "results " + unknownOutcomes, Value: fmt.Sprint(n)}}}
	}
	for _, one := range h.happened {
		if r.outcomes[one.outcome].kind != told {
			s.Cases = append(s.Cases, r.testCase(h, one))
		}
	}
	if !h.seen {
		s.Cases = []testCase{{Class: name, Name: "not started", Time: seconds(0), Skipped: &problem{Message: "the run ended before it started this host"}}}
	}
	for _, play := range r.missed(h) {
		s.Cases = append(s.Cases, testCase{
			Class: name, Name: printable.Line(asRecorded(play)) + ": not started", Time: seconds(0), Skipped: &problem{Message: "the run ended for this host before this play"},
		})
	}
	return s
}

func (r *Run) testCase(h *host, one happening) testCase {
	o := r.outcomes[one.outcome].on(h)
	c := testCase{Class: printable.Line(asRecorded(h.name)), Name: o.what, Time: seconds(one.took)}
	text := printable.Block(strings.TrimSuffix(o.text, "\n"))
	message := printable.Line(firstLine(o.text))
	if at := o.written; at != nil {
		c.File, c.Line = printable.Line(asRecorded(at.File)), at.Line
		text += "\n" + printable.Line(asRecorded(at.String())) + ": the resource is defined here"
	}
	long := text
	if o.hint != "" {
		long += "\nhint: " + printable.Block(o.hint)
	}
	switch o.kind {
	case failed:
		c.Failure = &problem{Message: message, Type: string(failed), Text: long}
	case unreachable:
		c.Name = string(unreachable)
		c.Error = &problem{Message: message, Type: string(unreachable), Text: long}
	case hostFailed:
		c.Name = string(hostFailed) + ": " + o.what
		c.Error = &problem{Message: message, Type: printable.Line(o.what), Text: long}
	case interrupted:
		c.Name = string(interrupted)
		c.Error = &problem{Message: printable.Line(cmp.Or(notReached(o.what), "before the play")), Type: string(interrupted)}
	case skipped:
		c.Skipped = &problem{Message: printable.Line(o.detail)}
	}
	if len(r.plays) > 1 {
		c.Name = o.play + ": " + c.Name
	}
	c.Name = printable.Line(asRecorded(c.Name))
	c.Output = caseOutput(o)
	return c
}

func notReached(next string) string {
	if next == "" {
		return ""
	}
	return "not reached: " + next
}

// caseOutput returns the further texts of an outcome.
func caseOutput(o outcome) string {
	var parts []string
	if o.kind == changed || o.kind == wouldChange {
		parts = append(parts, strings.TrimSuffix(string(o.kind)+": "+printable.Line(o.detail), ": "))
	}
	if o.kind == rescued {
		parts = append(parts, "rescued: "+printable.Block(strings.TrimSuffix(o.text, "\n")))
		if o.hint != "" {
			parts = append(parts, "hint: "+printable.Block(o.hint))
		}
	}
	for _, text := range []string{o.notes, o.diff, o.output} {
		if text != "" {
			parts = append(parts, printable.Block(strings.TrimSuffix(text, "\n")))
		}
	}
	return strings.Join(parts, "\n")
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

var _ events.Reporter = (*Run)(nil)
