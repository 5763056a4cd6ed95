package explain

import (
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/printable"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/templates"
)

// A tracer follows an expression of a resource to the values that it can read, and from data made by expressions to the
// values that those can read. It lists each value once.
type tracer struct {
	*explainer
	one  *catalog.RenderedResource
	told map[string]bool // listed inputs, by name
}

// inputs returns the values that an expression can read, with their origins. withheld reports that the result is
// withheld, so its inputs must be, too.
func (t *tracer) inputs(in templates.Inputs, withheld bool) []Input {
	var all []Input
	add := func(i Input) {
		if !t.told[i.Name] {
			t.told[i.Name] = true
			all = append(all, i)
		}
	}
	for _, name := range in.Templates() {
		add(Input{Kind: "template", Name: name})
	}
	if in.Item() {
		add(Input{Kind: "item", Name: "Item", Value: t.one.Env.Item, Withheld: withheld || withheldItem(t.one)})
	}
	paths, anything := in.Data()
	if anything {
		add(Input{Kind: "data", Name: "Data", Whole: true})
	}
	for _, path := range paths {
		add(t.data(path, withheld))
	}
	paths, anything = in.Facts()
	if anything {
		add(Input{Kind: "fact", Name: "Facts", Whole: true})
	}
	for _, path := range paths {
		add(t.fact(path, withheld))
	}
	// The expression's own inputs come first.
	for i := range all {
		one := &all[i]
		if path, isData := strings.CutPrefix(one.Name, "Data."); isData && one.Kind == "data" {
			for _, o := range t.origins(path) {
				one.Inputs = append(one.Inputs, t.inputs(o.Reads, one.Withheld)...)
			}
		}
		if one.Withheld {
			one.Value = nil
		}
	}
	return all
}

func (t *tracer) origins(path string) []templates.Origin {
	return templates.Origins(t.one.Layers, strings.Split(path, "."))
}

func (t *tracer) data(path string, withheld bool) Input {
	input := Input{Kind: "data", Name: "Data." + path}
	var found bool
	if input.Value, found = value(t.one.Env.Data, strings.Split(path, ".")); !found {
		input.Missing = true
	}
	input.Value = templates.WithoutRefused(input.Value)
	input.Withheld = withheld || maySecret(path, input.Value) || t.one.Secrets.ReadBy([]string{path}, false)
	for _, o := range t.origins(path) {
		origin := Origin{Layer: o.Layer}
		if o.Node != nil {
			origin.At = o.Node.Pos()
		}
		if !input.Withheld { // a literal in it may be a part of the secret
			origin.Expression = o.Shown(longestExpression)
		}
		input.From = append(input.From, origin)
	}
	return input
}

func (t *tracer) fact(path string, withheld bool) Input {
	input := Input{Kind: "fact", Name: "Facts." + path, From: []Origin{{Layer: "facts of " + t.host}}}
	keys := strings.Split(path, ".")
	if _, given := value(t.rendered.Given, keys); given {
		input.From[0].Layer = "--facts or --fact"
	}
	var found bool
	if input.Value, found = value(t.one.Env.Facts, keys); !found {
		input.Missing, input.From = true, nil
	}
	input.Withheld = withheld || maySecret(path, input.Value)
	return input
}

// withheldItem reports whether the element of an each is not shown.
func withheldItem(one *catalog.RenderedResource) bool {
	return one.Entry.Sensitive || !one.Item.None() || maySecret("", one.Env.Item)
}

// maySecret reports whether the name of a value, or a name in it, looks like the name of a secret.
func maySecret(name string, v any) bool {
	text, err := printable.JSON(v)
	return err != nil || printable.MaySecret(name) || printable.MaySecret(string(text))
}

// value returns the value at keys below a map; keys of lists are indexes.
func value(in map[string]any, keys []string) (v any, found bool) {
	v = in
	for _, key := range keys {
		switch below := v.(type) {
		case map[string]any:
			if v, found = below[key]; !found {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(below) {
				return nil, false
			}
			v = below[i]
		default:
			return nil, false
		}
	}
	return v, in != nil
}
