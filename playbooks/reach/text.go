package reach

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/ccm-push/ccm-push/inventory/pattern"
	"github.com/ccm-push/ccm-push/inventory/printable"
)

// Text shows how hosts are reached. Hosts that are reached alike are shown once, in the
// order of the first of each; {host} then stands for their names.
func Text(all []Reached) string {
	names := map[string][]string{} // of the hosts, by how they are reached
	alone := map[string]string{}   // how the first of them is, with its own name
	var order []string
	for _, one := range all {
		alike := one.text("{host}")
		if names[alike] == nil {
			order = append(order, alike)
			alone[alike] = one.text(one.Host)
		}
		names[alike] = append(names[alike], one.Host)
	}
	var b strings.Builder
	for i, alike := range order {
		if i > 0 {
			b.WriteString("\n")
		}
		text := alike
		if len(names[alike]) == 1 {
			text = alone[alike]
		}
		b.WriteString(printable.Line(pattern.Fold(names[alike])) + "\n" + text)
	}
	return b.String()
}

// text returns a line per value. name replaces the name of the host where its address contains it.
func (r Reached) text(name string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, e := range r.Refused {
		fmt.Fprintf(w, "  refused\t%s\t%s\n", printable.Line(e.Msg), printable.Line(e.Pos()))
	}
	settingLines(w, "  ", r.Settings, func(text string) string { return strings.ReplaceAll(text, r.Host, name) })
	for i, hop := range r.Jump {
		fmt.Fprintf(w, "  %s %s\n", []string{"through", "then through"}[min(i, 1)], printable.Line(hop.Host))
		settingLines(w, "    ", hop.Settings, func(text string) string { return text })
	}
	w.Flush()
	return b.String()
}

func settingLines(w *tabwriter.Writer, indent string, settings []Reason, named func(string) string) {
	last := ""
	for _, s := range settings {
		for _, v := range s.Values {
			setting := s.Setting
			if setting == last { // of a list
				setting = ""
			}
			last = s.Setting
			if s.Setting == "address" {
				v = named(v)
			}
			fmt.Fprintf(w, "%s%s\t%s\t%s\n", indent, setting, printable.Line(v), printable.Line(s.Origin))
		}
	}
}

// JSON shows how a host is reached as one line of JSON, without a newline.
func (r Reached) JSON() ([]byte, error) { return printable.JSON(toJSON(r)) }

type reachedJSON struct {
	Host     string        `json:"host"`
	Settings []reasonJSON  `json:"settings"`
	Jump     []reachedJSON `json:"jump,omitempty"`
	Refused  []refusalJSON `json:"refused,omitempty"`
}

type reasonJSON struct {
	Setting string   `json:"setting"`
	Values  []string `json:"values"`
	Origin  string   `json:"origin"`
}

// refusalJSON is why a host is not reached.
type refusalJSON struct {
	Error  string `json:"error"`
	Hint   string `json:"hint"`
	Origin string `json:"origin"`
}

func toJSON(r Reached) reachedJSON {
	out := reachedJSON{Host: r.Host, Settings: []reasonJSON{}}
	for _, e := range r.Refused {
		out.Refused = append(out.Refused, refusalJSON{e.Msg, e.Hint, e.Pos()})
	}
	for _, s := range r.Settings {
		out.Settings = append(out.Settings, reasonJSON(s))
	}
	for _, hop := range r.Jump {
		out.Jump = append(out.Jump, toJSON(hop))
	}
	return out
}
