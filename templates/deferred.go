package templates

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

const (
	// maxLinks limits the length of a chain of values that are made from each other.
	maxLinks = 200
	// maxData bounds what all expressions of a host's data give together, in bytes as weigh
	// counts them.
	maxData = 64 << 20
)

// A deferred is a text in the data of one host that is evaluated once, when it is first needed. Its result is a value,
// and never evaluated again.
type deferred struct {
	text   written
	node   *yamlpos.Node
	path   string                 // in its layer
	unread func(path string) bool // see [document]
	known  *textInputs            // remembers what texts read, for all hosts
	bound  *Env                   // has the Item that the text sees; nil for the Item of the scope
	links  int                    // length of the longest chain of values that it is made from

	begun, done bool
	value       any
	order       *render.Order // order of the keys in value
	err         error
}

// Settle implements [render.Pending].
func (d *deferred) Settle(r *render.Run) (any, error) {
	run := r.Env.Settling
	switch {
	case d.done:
	case d.begun:
		return nil, circle(run.Stack[slices.Index(run.Stack, render.Pending(d)):])
	case len(run.Stack) > maxLinks:
		return nil, d.tooDeep()
	default:
		d.begun = true
		run.Stack = append(run.Stack, d)
		d.value, d.err = d.evaluate(r)
		run.Stack = run.Stack[:len(run.Stack)-1]
		d.done = true
	}
	if len(run.Stack) > 0 {
		by := run.Stack[len(run.Stack)-1].(*deferred)
		by.links = max(by.links, d.links+1)
	}
	return d.value, d.err
}

func (d *deferred) evaluate(r *render.Run) (any, error) {
	whole := r.Env
	r.Env = whole.Seeing(d.known.results, d.bound)
	r.Made = nil
	value, err := d.text.Settle(r)
	r.Env = whole
	d.order, r.Made = r.Made, nil
	if err != nil {
		return nil, err
	}
	run := r.Env.Settling
	switch run.Weight += weigh(value); {
	case d.links > maxLinks:
		return nil, d.tooDeep()
	case run.Weight > run.Most:
		r.Dead = d.fault(diag.Faultf("%s grows beyond %d MiB", run.Grown, run.Most>>20))
		return nil, r.Dead
	}
	return value, nil
}

// Result returns the value, if it is evaluated.
func (d *deferred) Result() (value any, done bool) { return d.value, d.done }

// inputs returns what the text can read.
func (d *deferred) inputs() Inputs { return d.known.of(d.text) }

// readsItem reports whether the text names the element of an each, which depends on the scope.
func (d *deferred) readsItem() bool { return d.bound == nil && d.text.Reads().NamesItem() }

// copied returns a copy that is not evaluated yet.
func (d *deferred) copied() *deferred {
	return &deferred{text: d.text, node: d.node, path: d.path, unread: d.unread, known: d.known, bound: d.bound}
}

// textInputs remembers the inputs of the texts of a document. It is safe for concurrent use.
type textInputs struct {
	byText  sync.Map
	results bool // the texts can read the results of resources
}

func (t *textInputs) of(text written) Inputs {
	if known, ok := t.byText.Load(text); ok {
		return known.(Inputs)
	}
	in := text.Reads().WithoutFiles()
	t.byText.Store(text, in)
	return in
}

// isUnread reports whether no play can read the value, so that its errors do not matter.
func (d *deferred) isUnread() bool { return d.unread != nil && d.unread(d.path) }

func (d *deferred) fault(f *diag.Fault) error { return diag.At(diag.PositionOf(d.node), f) }

func (d *deferred) tooDeep() error {
	return d.fault(diag.Faultf("%q refers to data that refers to other data, more than %d levels deep", d.path, maxLinks))
}

// circle returns the error for values that need each other, each the next one and the last one the first. It is the
// same wherever the evaluation begins.
func circle(links []render.Pending) error {
	all := make([]*deferred, len(links))
	for i, link := range links {
		all[i] = link.(*deferred)
	}
	first := 0
	for i, d := range all {
		if comparePlaces(d, all[first]) < 0 {
			first = i
		}
	}
	all = slices.Concat(all[first:], all[:first])
	text := make([]string, 0, len(all)+1)
	for _, d := range all {
		text = append(text, fmt.Sprintf("%s (%s)", d.path, d.node.Pos()))
	}
	if most := 2 * maxShownLinks; len(text) > most {
		text = slices.Concat(text[:maxShownLinks], []string{fmt.Sprintf("%d more", len(text)-most)}, text[len(text)-maxShownLinks:])
	}
	line := strings.Join(append(text, all[0].path), " needs ")
	f := diag.Faultf("data refers to itself: %s", line).
		WithHint("give one of these keys a value that does not need the other keys; -e and the inventory override the values")
	f.Err = errCircle
	return all[0].fault(f)
}

// errCircle is the cause of errors about values that need each other.
var errCircle = errors.New("data refers to itself")

// maxShownLinks is the number of links of a long circle that are named at either end.
const maxShownLinks = 10

func comparePlaces(a, b *deferred) int {
	errs := yamlpos.Errors{b.node.Errorf("", ""), a.node.Errorf("", "")}
	if sorted := errs.Err().(yamlpos.Errors); sorted[0] == errs[0] {
		return 1
	}
	return -1
}

// weigh returns the approximate size of a plain value, in bytes.
func weigh(v any) int {
	const each = 16
	switch v := v.(type) {
	case string:
		return each + len(v)
	case []any:
		n := each
		for _, item := range v {
			n += weigh(item)
		}
		return n
	case map[string]any:
		n := each
		for key, value := range v {
			n += each + len(key) + weigh(value)
		}
		return n
	}
	return each
}

// A joint is a value over another one, of which one is pending: only then is it known whether
// both are maps, or lists.
type joint struct {
	base, over any
	merged     any
	done       bool
}

// Settle implements [render.Pending].
func (j *joint) Settle(r *render.Run) (any, error) {
	if j.done {
		return j.merged, nil
	}
	over, err := shallow(r, j.over)
	if err != nil {
		return nil, err
	}
	j.merged = over
	switch over.(type) {
	case map[string]any, []any:
		base, err := shallow(r, j.base)
		if err != nil {
			return nil, err
		}
		j.merged = mergeValue(base, over)
	}
	j.done = true
	return j.merged, nil
}

// shallow evaluates a value, but not its elements.
func shallow(r *render.Run, v any) (any, error) {
	for {
		p, pending := v.(render.Pending)
		if !pending {
			return v, nil
		}
		var err error
		if v, err = p.Settle(r); err != nil {
			return nil, err
		}
	}
}

// Settle returns the data of [NewScope], for expressions that see only facts, the inventory and the data. A nil reads opens
// all sealed values.
func Settle(ctx context.Context, facts map[string]any, inventory *Inventory, layers []Layer, reads func(path string) bool) (map[string]any, error) {
	s, err := NewScope(ctx, &Env{Facts: facts, Inventory: inventory}, layers, ScopeOptions{Reads: reads})
	if err != nil {
		return nil, err
	}
	return s.Data(), nil
}

// A settler evaluates all of a value, and collects the errors.
type settler struct {
	run  *render.Run
	errs *yamlpos.Errors
	said map[string]bool // errors already reported: every value made from a failed value fails with the same error
	// reads reports whether a play reads a path; nil means that plays read every path.
	reads func(path string) bool
	// usable reports whether a value that cannot be evaluated is a [Refused] instead of an error.
	usable func(v any, err error) bool
}

func (s settler) value(v any) any {
	switch v := v.(type) {
	case render.Pending:
		if d, isText := v.(*deferred); isText && d.sealed() != nil && !d.done && s.reads != nil && !s.reads(d.path) {
			return unread
		}
		value, err := shallow(s.run, v)
		if d, isText := v.(*deferred); isText && err != nil && s.run.Dead == nil && d.isUnread() {
			return d.node.Value
		}
		if err != nil && s.usable(v, err) {
			return refusedValue(v, err)
		}
		if err != nil {
			if ended := s.run.Dead != nil && len(*s.errs) > 0; !ended && !s.said[err.Error()] {
				s.errs.Add(err)
				s.said[err.Error()] = true
			}
			return nil
		}
		if _, isText := v.(*deferred); isText {
			return value
		}
		return s.value(value)
	case map[string]any:
		m := make(map[string]any, len(v))
		for _, key := range render.SortedKeys(v) {
			m[key] = s.value(v[key])
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = s.value(item)
		}
		return list
	}
	return v
}
