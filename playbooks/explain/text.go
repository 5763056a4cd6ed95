package explain

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/ccm-push/ccm-push/inventory/printable"
)

// Limits of a shown value, in runes, and of a list, in lines.
const (
	maxValue = 60
	maxLines = 12
)

// Text is the explanation for people.
func (e *Explanation) Text() string {
	t := newTable()
	title := e.Resource
	if e.Alias != "" {
		title += " (" + e.Alias + ")"
	}
	title += " on " + e.Host + ", play " + e.Play
	switch {
	case e.Of == 0 || !e.Runs:
		title += ": not in this run"
	default:
		title += fmt.Sprintf(": number %d of %d", e.Place, e.Of)
	}
	t.heading(title)
	for _, r := range e.Because {
		t.row(append([]string{r.Key}, slices.DeleteFunc([]string{r.Text, r.At}, func(s string) bool { return s == "" })...)...)
	}
	if len(e.Properties) > 0 {
		t.heading("properties")
		for i := range e.Properties {
			t.property(&e.Properties[i])
		}
	}
	if e.Of > 0 {
		t.relations("waits for", e.WaitsFor)
		t.relations("followed by", e.Triggers)
		if len(e.Others) > 0 {
			t.heading("other hosts")
			for _, line := range e.Others {
				t.row(line)
			}
		}
		t.past(e)
	}
	return t.String()
}

// A table is text in columns, in parts with a heading each.
type table struct {
	out strings.Builder
	*tabwriter.Writer
}

func newTable() *table {
	t := &table{}
	t.Writer = tabwriter.NewWriter(&t.out, 0, 0, 2, ' ', 0)
	return t
}

func (t *table) String() string {
	t.Flush()
	lines := strings.Split(t.out.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// heading begins a part, whose columns have widths of their own.
func (t *table) heading(text string) {
	t.Flush()
	fmt.Fprintln(&t.out, printable.Line(text))
}

func (t *table) row(cells ...string) {
	for i := range cells {
		cells[i] = printable.Line(cells[i])
	}
	fmt.Fprintf(t, "  %s\n", strings.Join(cells, "\t"))
}

func (t *table) property(p *Property) {
	value, from := shown(p.Value, false), p.At
	switch {
	case p.From == "received":
		value, from = "(not known yet)", "received from "+p.Expression
	case p.From == "type":
		from = "default of the type"
	case p.Withheld:
		value = "(withheld)"
	}
	if p.From == "defaults" {
		from = "defaults, " + from
	}
	if p.From != "received" && p.Expression != "" {
		from += "  " + p.Expression
	}
	t.row(p.Name, value, from)
	all := steps(p.Inputs, 1)
	for i, one := range all {
		if i == maxLines {
			t.row("", fmt.Sprintf("  and %d more: -o json has all", len(all)-i))
			break
		}
		t.input(one)
	}
}

// A step is an input, and how far it is from the property that is made of it.
type step struct {
	*Input
	depth int
}

// steps lists inputs, each followed by its own inputs.
func steps(inputs []Input, depth int) (all []step) {
	for i := range inputs {
		all = append(all, step{&inputs[i], depth})
		all = append(all, steps(inputs[i].Inputs, depth+1)...)
	}
	return all
}

func (t *table) input(in step) {
	value := " = " + shown(in.Value, in.Withheld)
	var from []string
	for _, o := range in.From {
		text := o.Layer
		if o.At != "" {
			text += ", " + o.At
		}
		if o.Expression != "" {
			text += "  " + o.Expression
		}
		from = append(from, text)
	}
	last := strings.Join(from, "; ")
	switch {
	case in.Kind == "template":
		value, last = "", "template"
	case in.Kind == "item":
		last = "the element of each"
	case in.Whole:
		value, last = "", "any of it may be read"
	case in.Missing:
		value, last = "", "not set"
	}
	t.row("", strings.Repeat("  ", in.depth)+in.Name+value, last)
}

func (t *table) relations(heading string, all []Relation) {
	if len(all) == 0 {
		return
	}
	t.heading(heading)
	for i, r := range all {
		if i == maxLines {
			t.row(fmt.Sprintf("and %d more: -o json has all", len(all)-i))
			return
		}
		why := r.Why
		if r.At != "" {
			why += ", " + r.At
		}
		if r.Through != "" {
			why += ", as " + r.Through + " does"
		}
		t.row(r.How+" "+r.Resource, why)
	}
}

// past adds the outcomes of the resource in recorded runs.
func (t *table) past(e *Explanation) {
	t.heading("recorded runs")
	if e.LastRun == nil {
		t.row("no recorded run has processed it")
		return
	}
	if c := e.LastChange; c != nil {
		t.row("last change", c.when(), c.what())
	} else {
		t.row("last change", "none")
	}
	if e.LastChange == nil || e.LastChange.Run != e.LastRun.Run {
		t.row("last run", e.LastRun.when(), e.LastRun.what())
	}
}

func (p *Past) when() string { return p.Started.Local().Format("2006-01-02 15:04:05") + "  " + p.Run }

// what returns the outcome of the resource, and for a change the properties that differed.
func (p *Past) what() string {
	text := string(p.Status)
	if p.Cause != "" {
		text += " (" + string(p.Cause) + ")"
	}
	if p.Error != "" {
		text += ": " + cut(p.Error)
	}
	var changes []string
	for i, c := range p.Changes {
		if i == maxLines {
			changes = append(changes, "…")
			break
		}
		changes = append(changes, fmt.Sprintf("%s %s -> %s", c.Property, cut(c.Have), cut(c.Want)))
	}
	if len(changes) > 0 {
		text += "  " + strings.Join(changes, "; ")
	}
	return text
}

// shown is a value on one line, as JSON.
func shown(v any, withheld bool) string {
	if withheld {
		return "(withheld)"
	}
	text, err := printable.JSON(v)
	if err != nil { // such as a number that JSON does not have
		text = []byte(fmt.Sprint(v))
	}
	return cut(string(text))
}

func cut(text string) string {
	if runes := []rune(text); len(runes) > maxValue {
		return string(runes[:maxValue-1]) + "…"
	}
	return text
}
