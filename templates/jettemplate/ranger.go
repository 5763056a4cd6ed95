package jettemplate

import (
	"reflect"

	"github.com/CloudyKit/jet/v6"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// A ranger is what a Jet range goes over: the elements of a list, the entries
// of a map in the order of their keys, or integers. Every round is a step.
type ranger struct {
	run  *render.Run
	len  int64
	next int64
	at   func(i int64) (key, value any)
}

var _ jet.Ranger = (*ranger)(nil)

func newRanger(r *render.Run, over any) (*ranger, error) {
	switch v := over.(type) {
	case *ranger:
		return v, nil
	case nil:
		return nil, diag.Faultf("cannot range over nil")
	case map[string]any:
		keys := render.SortedKeys(v)
		return &ranger{run: r, len: int64(len(keys)), at: func(i int64) (any, any) { return keys[i], v[keys[i]] }}, nil
	}
	if !render.IsList(over) {
		return nil, diag.Faultf("cannot range over %s", render.KindName(over))
	}
	list := reflect.ValueOf(over)
	return &ranger{run: r, len: int64(list.Len()), at: func(i int64) (any, any) { return i, list.Index(int(i)).Interface() }}, nil
}

// integers goes over from … to-1.
func integers(r *render.Run, from, to int64) (*ranger, error) {
	if to <= from {
		return nil, diag.Faultf("ints: the first number must be smaller than the second")
	}
	return &ranger{run: r, len: to - from, at: func(i int64) (any, any) { return i, from + i }}, nil
}

// Range is for Jet: the next round.
func (g *ranger) Range() (key, value reflect.Value, end bool) {
	if err := g.run.Step(); err != nil {
		panic(err)
	}
	if g.next >= g.len {
		return key, value, true
	}
	k, v := g.at(g.next)
	g.next++
	return reflected(k), reflected(v), false
}

// ProvidesIndex is for Jet: every round has a key.
func (g *ranger) ProvidesIndex() bool { return true }
