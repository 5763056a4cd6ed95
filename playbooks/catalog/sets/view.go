package sets

import (
	"maps"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/playbooks/secret"
	"github.com/ccm-push/ccm-push/templates"
)

// A View is the data of a manifest or a block as its next resource sees it. The zero View has seen no values.
type View struct {
	base    Base
	changes int            // [Values].changes that it has seen
	own     map[string]int // keys that it has values of its own for, and [Values].changes then: later values override them
	reads   *reads         // dependencies between values in the layers of base; nil until first needed
}

// A Base is data without the values that were set on the way.
type Base struct {
	Values  *templates.Scope
	Secrets secret.Paths
}

// Inner returns the view of a part of the play, with layers of its own. They override values that were set before.
func (w View) Inner(v *Values, over ...templates.Layer) View {
	inner := View{changes: -1, own: maps.Clone(w.own)} // it has not seen any value
	for _, l := range over {
		inner.takes(v, l.Values)
	}
	return inner
}

// Applied returns the view of a manifest that gets data, and no other data of the manifest that applies it.
func Applied(v *Values, data map[string]any) View {
	w := View{changes: -1}
	w.takes(v, data)
	return w
}

// takes adds values that override those set before.
func (w *View) takes(v *Values, data map[string]any) {
	if w.own == nil {
		w.own = map[string]int{}
	}
	for key := range data {
		w.own[key] = v.changes
	}
}

// See returns the values that count now, as a layer over base, and all secrets. now returns the data as it is without them;
// it is called once. changed reports whether there are new values.
func (w *View) See(v *Values, now func() Base) (base Base, over templates.Layer, secrets secret.Paths, changed bool) {
	if w.changes == v.changes || v.changes == 0 {
		return base, over, secrets, false
	}
	if w.base.Values == nil {
		w.base = now()
	}
	w.changes = v.changes
	over, hidden := v.over(w.own)
	secrets.Add(w.base.Secrets)
	secrets.Add(hidden)
	return w.base, over, secrets, true
}

// Doubts returns what decides the data among inputs, as far as it is not known. now is the data.
func (w *View) Doubts(v *Values, inputs templates.Inputs, now *templates.Scope) (d Doubt) {
	if len(v.doubts) == 0 {
		return d
	}
	paths, all := inputs.Data()
	if all {
		for _, one := range v.doubts {
			d = d.And(one)
		}
		return d
	}
	if w.reads == nil {
		if w.base.Values != nil {
			now = w.base.Values
		}
		w.reads = readsOf(now.Layers())
	}
	seen := map[string]bool{}
	var follow func(key string)
	follow = func(key string) {
		if seen[key] {
			return
		}
		seen[key] = true
		if one, doubted := v.doubts[key]; doubted {
			d = d.And(one)
		} else if v.values[key].made > w.own[key] { // its expression does not matter
			return
		}
		for _, other := range w.reads.byKey[key] {
			follow(other)
		}
		for other := range v.doubts {
			if w.reads.all[key] {
				follow(other)
			}
		}
	}
	for _, path := range paths {
		follow(FirstKey(path))
	}
	return d
}

// FirstKey returns the first key of a path.
func FirstKey(path string) string {
	key, _, _ := strings.Cut(path, ".")
	return key
}

// reads has the keys of the data that the values of other keys are made of.
type reads struct {
	byKey map[string][]string
	all   map[string]bool // keys with values that may be made of all data
}

func readsOf(layers []templates.Layer) *reads {
	r := &reads{byKey: map[string][]string{}, all: map[string]bool{}}
	for _, l := range layers {
		l.EachExpression(func(path []string, in templates.Inputs) {
			paths, all := in.Data()
			r.all[path[0]] = r.all[path[0]] || all
			for _, other := range paths {
				if key := FirstKey(other); !slices.Contains(r.byKey[path[0]], key) {
					r.byKey[path[0]] = append(r.byKey[path[0]], key)
				}
			}
		})
	}
	return r
}
