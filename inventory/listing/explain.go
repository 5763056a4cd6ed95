package listing

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/ansible"
	"github.com/ccm-push/ccm-push/inventory/printable"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// Explain lists, for each variable of a host, every place that sets it. Connection settings come last. With a key it
// lists only that variable or that connection setting, whose key may be written with or without the prefix connect. A
// key that is set nowhere is an error.
func Explain(h *inventory.Host, key string) ([]Explanation, error) {
	list := explanations(h)
	if key == "" {
		return list, nil
	}
	return explanationOf(list, h.Name, key)
}

// An Explanation is one variable, or one connection setting, with every place
// that sets it. It is also the JSON of a line.
type Explanation struct {
	Host   string   `json:"host"`
	Key    string   `json:"key"`
	Kind   string   `json:"kind"` // variable, connection
	Value  any      `json:"value"`
	Places []Origin `json:"places"` // lowest first
}

// An Origin is a place that sets a value.
type Origin struct {
	Position string `json:"position"` // file:line:column
	Layer    string `json:"layer"`
	Source   string `json:"source"` // inventory, group_vars, host_vars
	Name     string `json:"name"`   // as it is written there
	Value    any    `json:"value"`
	Wins     bool   `json:"wins"` // the last one if maps are merged
}

// explanations explains all variables, sorted by name, and then the connection.
func explanations(h *inventory.Host) []Explanation {
	places := map[string][]Origin{}
	layers := h.Layers()
	vars := inventory.MergeLayers(layers)
	for _, l := range layers {
		for _, p := range l.Node.Pairs {
			places[p.Key.Text] = append(places[p.Key.Text], Origin{p.Key.Pos(), l.Name, l.Source, p.Key.Text, jsonable(p.Value.Shown(secret).Any()), false})
		}
	}
	var list []Explanation
	for _, key := range slices.Sorted(maps.Keys(places)) {
		places[key][len(places[key])-1].Wins = true
		list = append(list, Explanation{h.Name, key, "variable", jsonable(vars[key].Shown(secret).Any()), places[key]})
	}
	return append(list, connectionExplanations(h)...)
}

// connectionExplanations explains the settings of the connection that the inventory has.
func connectionExplanations(h *inventory.Host) []Explanation {
	var list []Explanation
	index := map[string]int{}
	for _, s := range h.Settings() {
		i, known := index[s.Key]
		if !known {
			i = len(list)
			index[s.Key] = i
			list = append(list, Explanation{Host: h.Name, Key: "connect." + s.Key, Kind: "connection"})
		}
		value := jsonable(s.Value)
		if s.Secret {
			value = Withheld
		}
		if s.Wins {
			list[i].Value = value
		}
		list[i].Places = append(list[i].Places, Origin{s.Pos, s.Layer, s.Source, s.Name, value, s.Wins})
	}
	slices.SortFunc(list, func(a, b Explanation) int { return strings.Compare(a.Key, b.Key) })
	return list
}

// explanationOf finds a variable, or a setting of the connection with or without
// connect. before its name.
func explanationOf(list []Explanation, host, key string) ([]Explanation, error) {
	var names []string
	for _, wanted := range []string{key, "connect." + key} {
		for _, e := range list {
			if e.Key == wanted {
				return []Explanation{e}, nil
			}
			names = append(names, strings.TrimPrefix(e.Key, "connect."))
		}
	}
	hint := ""
	if meant := yamlpos.Suggest(key, names); meant != "" {
		hint = fmt.Sprintf("; did you mean %q?", meant)
	}
	return nil, fmt.Errorf("nothing sets %q for %s in the inventory%s", key, host, hint)
}

// ExplanationText returns explanations for people: a table for each.
func ExplanationText(list []Explanation) string {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, e := range list {
		fmt.Fprintf(table, "%s = %s\n", printable.Line(e.Key), shown(e.Value))
		for _, p := range e.Places {
			mark := " "
			if p.Wins {
				mark = "*"
			}
			fmt.Fprintf(table, "%s %s\t%s\t%s\n", mark, printable.Line(p.Position), printable.Line(p.layer(e.Kind)), shown(p.Value))
		}
		table.Flush() // each variable has columns of its own
	}
	return b.String()
}

// layer names the group or host, then the kind of file unless it is the inventory, and
// for a setting of the connection the name that it is written under.
func (o Origin) layer(kind string) string {
	text := o.Layer
	if o.Source != "inventory" {
		text += ", " + o.Source
	}
	if kind == "connection" {
		text += ", " + o.Name
	}
	return text
}

// jsonable replaces floats that JSON does not have by texts.
func jsonable(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			v[key] = jsonable(value)
		}
	case []any:
		for i, value := range v {
			v[i] = jsonable(value)
		}
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return ansible.Float(v)
		}
	}
	return v
}

// shown returns a value on one line, as JSON.
func shown(v any) string {
	text, err := printable.JSON(v)
	if err != nil { // never for a result of [jsonable]
		return printable.Line(fmt.Sprint(v))
	}
	return string(text)
}
