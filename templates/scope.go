package templates

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// A Scope is the data as one part of a play sees it on one host: the play itself, a manifest that it applies, a block, a
// resource, or an element of an each.
//
// A value is evaluated in the scope of the resource that uses it. If the value url is made of the value host, an inner
// scope that sets host has a url of its own, and so has everything that is made of url. All other values are the values
// of the outer scope: they are evaluated once, in the outermost scope that they can be evaluated in, and shared.
//
// [NewScope] makes the scope of a play on a host, and [Scope.Inner] the scopes within it, at any depth. Inner scopes do
// not change the scopes around them, so a resource after a block sees nothing of it. A part of a play that changes values
// for everything that follows makes an inner scope too, and hands it to what follows.
//
// A scope belongs to one goroutine, together with all scopes of its host.
type Scope struct {
	env    *Env // roots that the data can read; its Data is not used
	layers []Layer
	raw    map[string]any // the layers merged, with texts that are not evaluated
	data   map[string]any // raw, evaluated
	own    []string       // keys with values of its own; nil for a scope without a scope around it
	host   *hostData

	readers *readers // texts by their inputs; nil until the first inner scope
	pending bool     // raw has texts to evaluate
	item    bool     // some of them read the element of an each
}

// hostData is common to all scopes of a host.
type hostData struct {
	reads func(path string) bool
	later []string
	items bool
	inner int // size of all values evaluated in inner scopes, in bytes as weigh counts them
}

// ScopeOptions are the settings of a host's scopes.
type ScopeOptions struct {
	// Reads reports whether the play reads a path of the data. Sealed values elsewhere stay closed; nil opens all.
	Reads func(path string) bool
	// Later has the keys that inner scopes may set. A value that is made of them may fail outside of these scopes; it is
	// an error only if a resource uses it there.
	Later []string
	// Items is set if inner scopes may have an Item. Then a value that reads it is an error only if it is used elsewhere.
	Items bool
}

// NewScope merges layers, lowest first, and evaluates the expressions among the values that count. They see env, with the
// merged data in the place of its Data. The error is [yamlpos.Errors].
func NewScope(ctx context.Context, env *Env, layers []Layer, options ScopeOptions) (*Scope, error) {
	s := &Scope{env: env, layers: layers, raw: Merge(layers), host: &hostData{reads: options.Reads, later: options.Later, items: options.Items}}
	s.note()
	if !s.pending {
		s.data = s.raw
		return s, nil
	}
	return s, s.settle(ctx, nil, false)
}

// Inner returns the scope of a part of s. env has what the part sees, such as its Item; its Data is not used. The layers over
// override s. Their expressions see the new scope, so a value that is made of itself is an error, and the Item of env,
// also in scopes within that have another one.
//
// A value that cannot be evaluated is an error only if values are made of each other in a circle. Otherwise it is a
// [Refused], and using it is the error. The error is [yamlpos.Errors].
func (s *Scope) Inner(ctx context.Context, env *Env, over ...Layer) (*Scope, error) {
	var changed []string
	for i, l := range over {
		changed = slices.AppendSeq(changed, maps.Keys(l.Values))
		if l.item {
			over[i] = l.changed(func(d *deferred) *deferred { return d.boundTo(env) })
			over[i].item = false
		}
	}
	other := s.item && !sameItem(s.env, env)
	if len(changed) == 0 && !other {
		same := *s
		same.env, same.own = env, nil
		return &same, nil
	}
	affected, redo := s.follow(changed, other)
	inner := &Scope{env: env, host: s.host, layers: slices.Concat(renewed(s.layers, affected), over)}
	return inner, inner.settleIn(ctx, s, redo, true)
}

// Applied returns the scope of a manifest that a part of s applies and that sees all data of s. The layers below give
// what s does not: s is merged over them deep, as one layer that is called parent. A value that cannot be evaluated is
// an error, as in [NewScope]. env has the Item that the values of s see.
func (s *Scope) Applied(ctx context.Context, env *Env, below []Layer) (*Scope, error) {
	var changed []string
	for _, l := range below {
		for key, value := range l.Values {
			own, there := s.raw[key]
			if !there || mayMerge(own) && mayMerge(value) {
				changed = append(changed, key)
			}
		}
	}
	affected, redo := s.follow(changed, s.item && !sameItem(s.env, env))
	outer := renewed(s.layers, affected)
	if s.item {
		outer = mapLayers(outer, func(d *deferred) *deferred { return d.boundTo(env) })
	}
	parent := Layer{Name: "parent", Values: Merge(outer), Deep: true, From: outer, pending: s.pending}
	inner := &Scope{env: env, host: s.host, layers: append(slices.Clone(below), parent)}
	return inner, inner.settleIn(ctx, s, redo, false)
}

// follow returns the texts that read what changes in an inner scope, and the keys of the data that these texts and the
// changes are in. With item the element of an each is among the changes.
func (s *Scope) follow(changed []string, item bool) (affected map[*deferred]bool, redo map[string]bool) {
	redo = map[string]bool{}
	for _, key := range changed {
		redo[key] = true
	}
	affected = s.reading().follow(changed, item)
	for d := range affected {
		redo[firstKey(s.readers.paths[d])] = true
	}
	return affected, redo
}

// settleIn evaluates the values of keys, and takes all others from the scope around s.
func (s *Scope) settleIn(ctx context.Context, outer *Scope, keys map[string]bool, lazy bool) error {
	s.raw, s.data = maps.Clone(outer.raw), maps.Clone(outer.data)
	for key := range keys {
		if value, there := mergedKey(s.layers, key); there {
			s.raw[key] = value
		}
	}
	s.note()
	return s.settle(ctx, keys, lazy)
}

// Data returns the evaluated data, which must not be changed.
func (s *Scope) Data() map[string]any { return s.data }

// Own returns the keys whose values differ from the values in the scope around s, sorted.
func (s *Scope) Own() []string { return s.own }

// ReadsItem reports whether some of the data is made of the element of an each.
func (s *Scope) ReadsItem() bool { return s.item }

// Layers returns the layers of the scope and of the scopes around it, lowest first. [Origins] finds in them the place
// that decides a value.
func (s *Scope) Layers() []Layer { return s.layers }

// note notes whether the layers have texts to evaluate.
func (s *Scope) note() {
	for _, l := range s.layers {
		s.pending, s.item = s.pending || l.pending, s.item || l.item
	}
}

// mayMerge reports whether a value is a map or a list, or may turn out to be one.
func mayMerge(v any) bool {
	_, pending := v.(render.Pending)
	return pending || isContainer(v)
}

// sameItem reports whether two environments have equal elements of each.
func sameItem(a, b *Env) bool {
	return a.HasItem == b.HasItem && a.HasOuter == b.HasOuter && reflect.DeepEqual(a.Item, b.Item) && reflect.DeepEqual(a.Outer, b.Outer)
}

// maxInner bounds what the expressions of all inner scopes of a host give together, in bytes as weigh counts them.
const maxInner = 512 << 20

// settle evaluates the values of keys, or all if keys is nil. With lazy, a value that cannot be evaluated is a [Refused].
func (s *Scope) settle(ctx context.Context, keys map[string]bool, lazy bool) error {
	env := s.shallowEnv()
	settling := &render.Settling{Most: maxData, Grown: "the data of one host"}
	if keys != nil {
		settling = &render.Settling{Weight: s.host.inner, Most: maxInner, Grown: "the data of all blocks, elements and resources of one host"}
	}
	if env.Inventory != nil {
		settling.Results = env.Inventory.Results
	}
	env.Data, env.Settling, env.Order = s.raw, settling, s.KeyOrder
	r := render.New(ctx, env)
	var errs yamlpos.Errors
	set := settler{run: r, errs: &errs, said: map[string]bool{}, reads: s.host.reads}
	set.usable = func(v any, err error) bool {
		return r.Dead == nil && !errors.Is(err, errCircle) && (lazy || s.mayComeLater(v))
	}
	if keys == nil {
		openAll(s.raw, s.host.reads)
		s.data = set.value(s.raw).(map[string]any)
	} else {
		s.own = slices.Sorted(maps.Keys(keys))
		for _, key := range s.own {
			if value, there := s.raw[key]; there {
				openAll(value, s.host.reads)
				s.data[key] = set.value(value)
			}
		}
		s.host.inner = settling.Weight
	}
	return errs.Err()
}

// shallowEnv returns a new environment with the values that data can read.
func (s *Scope) shallowEnv() *Env {
	e := s.env
	return &Env{Facts: notNil(e.Facts), Inventory: e.Inventory, Item: e.Item, HasItem: e.HasItem, ItemOrder: e.ItemOrder, Outer: e.Outer, HasOuter: e.HasOuter}
}

func notNil(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

// mayComeLater reports whether an inner scope may be able to evaluate a value.
func (s *Scope) mayComeLater(v any) bool {
	if len(s.host.later) == 0 && !(s.item && s.host.items) {
		return false
	}
	affected := s.reading().follow(s.host.later, s.host.items)
	found := false
	eachDeferred(v, func(d *deferred) { found = found || affected[d] })
	return found
}

// reading returns the texts in the scope's layers by their inputs.
func (s *Scope) reading() *readers {
	if s.readers == nil {
		s.readers = &readers{byKey: map[string][]*deferred{}, paths: map[*deferred]string{}}
		s.readers.layers(s.layers)
	}
	return s.readers
}

// readers has the texts of data by their inputs.
type readers struct {
	byKey map[string][]*deferred // texts by first keys of their inputs
	all   []*deferred            // texts that may read any key
	item  []*deferred            // texts that read the element of an each
	paths map[*deferred]string   // where they are in the data; a text in a list has the path of the list
}

func (x *readers) layers(layers []Layer) {
	for _, l := range layers {
		switch {
		case !l.pending:
		case len(l.From) > 0:
			x.layers(l.From)
		default:
			for key, value := range l.Values {
				x.value(value, key)
			}
		}
	}
}

func (x *readers) value(v any, path string) {
	switch v := v.(type) {
	case *deferred:
		if _, known := x.paths[v]; !known {
			x.text(v, path)
		}
	case map[string]any:
		for key, value := range v {
			x.value(value, readPath(path, key))
		}
	case []any:
		for _, item := range v {
			x.value(item, path)
		}
	}
}

func (x *readers) text(d *deferred, path string) {
	x.paths[d] = path
	in := d.inputs()
	paths, all := in.Data()
	if all {
		x.all = append(x.all, d)
	}
	last := ""
	for _, path := range paths { // sorted
		if key := firstKey(path); key != last {
			x.byKey[key], last = append(x.byKey[key], d), key
		}
	}
	if d.readsItem() {
		x.item = append(x.item, d)
	}
}

// follow returns the texts that read one of the paths, directly or through others. With item, texts that read the element
// of an each are among them.
func (x *readers) follow(paths []string, item bool) map[*deferred]bool {
	affected := map[*deferred]bool{}
	seen := map[string]bool{}
	work := slices.Clone(paths)
	add := func(d *deferred) {
		if !affected[d] {
			affected[d] = true
			work = append(work, x.paths[d])
		}
	}
	if item {
		for _, d := range x.item {
			add(d)
		}
	}
	for len(work) > 0 {
		path := work[len(work)-1]
		work = work[:len(work)-1]
		if seen[path] {
			continue
		}
		seen[path] = true
		for _, d := range x.all {
			add(d)
		}
		for _, d := range x.byKey[firstKey(path)] {
			if !affected[d] && d.inputs().ReadsData(path) {
				add(d)
			}
		}
	}
	return affected
}

// firstKey returns the first key of a path.
func firstKey(path string) string {
	key, _, _ := strings.Cut(path, ".")
	return key
}

// renewed returns layers in which the affected texts are not evaluated yet.
func renewed(layers []Layer, affected map[*deferred]bool) []Layer {
	if len(affected) == 0 {
		return layers
	}
	return mapLayers(layers, func(d *deferred) *deferred {
		if affected[d] {
			return d.copied()
		}
		return d
	})
}

// mapLayers returns layers with other texts. Everything without other texts is shared.
func mapLayers(layers []Layer, other func(*deferred) *deferred) []Layer {
	list := make([]Layer, len(layers))
	for i, l := range layers {
		list[i] = l.changed(other)
	}
	return list
}

// changed returns the layer with other texts.
func (l Layer) changed(other func(*deferred) *deferred) Layer {
	switch {
	case !l.pending:
	case len(l.From) > 0:
		l.From = mapLayers(l.From, other)
		l.Values = Merge(l.From)
	default:
		if values, is := mapTexts(l.Values, other); is {
			l.Values = values.(map[string]any)
		}
	}
	return l
}

// mapTexts returns a value with other texts. changed reports whether there is any.
func mapTexts(v any, other func(*deferred) *deferred) (value any, changed bool) {
	switch v := v.(type) {
	case *deferred:
		d := other(v)
		return d, d != v
	case map[string]any:
		m := v
		for key, value := range v {
			if one, is := mapTexts(value, other); is {
				if !changed {
					m, changed = maps.Clone(v), true
				}
				m[key] = one
			}
		}
		return m, changed
	case []any:
		list := v
		for i, item := range v {
			if one, is := mapTexts(item, other); is {
				if !changed {
					list, changed = slices.Clone(v), true
				}
				list[i] = one
			}
		}
		return list, changed
	}
	return v, false
}

// boundTo returns the text for an element of an each that stays the same in inner scopes.
func (d *deferred) boundTo(env *Env) *deferred {
	if !d.readsItem() {
		return d
	}
	bound := *d
	bound.bound = env
	return &bound
}

// mergedKey returns the value of a key of [Merge]'s result.
func mergedKey(layers []Layer, key string) (merged any, there bool) {
	for _, l := range layers {
		value, has := l.Values[key]
		switch {
		case !has:
		case l.Deep && there:
			merged = mergeValue(merged, value)
		default:
			merged, there = value, true
		}
	}
	return merged, there
}

// refusedValue returns the replacement of a value that cannot be evaluated in a scope.
func refusedValue(v any, err error) Refused {
	var placed *diag.Error
	if !errors.As(err, &placed) {
		return Refused{Fault: diag.Faultf("%v", err)}
	}
	name := "the value"
	if d, is := v.(*deferred); is {
		name = "Data." + d.path
	}
	where := Position{File: placed.File, Line: placed.Line, Column: placed.Column}
	return Refused{Fault: diag.Faultf("%s has no value here: %s (%s)", name, placed.Msg, where).WithHint("%s", placed.Hint)}
}
