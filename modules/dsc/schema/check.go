package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxSteps limits the work of checking a value against a schema: a schema can refer to itself, and double the work with
// each level. A step is about a keyword of a schema for one value, and takes less than a microsecond.
const maxSteps = 5_000_000

// A budget is the number of remaining steps.
type budget struct{ remaining int }

// spend reports whether that many remained.
func (b *budget) spend(steps int) bool {
	b.remaining = max(b.remaining-steps, -1)
	return b.remaining >= 0
}

// spendEach spends steps on each of n: their product may be beyond an int.
func (b *budget) spendEach(n, steps int) bool {
	if steps > 0 && n > maxSteps/steps {
		n, steps = 1, maxSteps+1
	}
	return b.spend(n * steps)
}

// number returns [numberOf], and spends steps for a long text of the number.
func (b *budget) number(v any) (number, bool) {
	if text, ok := v.(json.Number); ok && !b.spend(len(text)/16) {
		return number{}, false
	}
	return numberOf(v)
}

// maxScopes bounds how deep schemas are applied within each other.
const maxScopes = 10_000

// A check checks one value against a schema.
type check struct{ *budget }

// A scope is a schema that is being applied. Dynamic references are resolved in the surrounding scopes.
type scope struct {
	n      *node
	in     *scope
	value  int // depth of the value below the whole; scopes for the same value have the same depth
	levels int
}

// A frame is a schema applied to a value.
type frame struct {
	check
	n     *node
	v     any
	at    *location
	scope *scope
	seen  evaluated // members and elements evaluated so far; nil if not needed
	out   *faults
	ok    bool
}

// apply checks a value against a schema. Faults are added to out; nil if only the answer counts.
func (c check) apply(n *node, v any, at *location, in *scope, deeper int, seen evaluated, out *faults) bool {
	s := &scope{n: n, in: in}
	if in != nil {
		s.value, s.levels = in.value+deeper, in.levels+1
	}
	if s.levels > maxScopes {
		c.remaining = -1
	}
	if !c.spend(1) {
		return false
	}
	if seen == nil && n.tracksEvaluated() {
		seen = evaluated{}
	}
	f := &frame{check: c, n: n, v: v, at: at, scope: s, seen: seen, out: out, ok: true}
	f.run()
	return f.ok && c.remaining >= 0
}

// done reports that nothing more can change the result or the reported faults.
func (f *frame) done() bool { return !f.ok && f.out.full() || f.remaining < 0 }

func (f *frame) fail(format string, args ...any) {
	f.ok = false
	if !f.out.full() {
		f.out.add(Fault{Path: f.at.path(), Msg: fmt.Sprintf(format, args...)})
	}
}

// refuse is [frame.fail] in the words of most keywords.
func (f *frame) refuse(format string, args ...any) { f.fail("is not allowed: "+format, args...) }

// inPlace applies another schema to the same value. Members that it has evaluated count as evaluated here, too, if the
// value fits.
func (f *frame) inPlace(n *node, out *faults) bool {
	var seen evaluated
	if f.seen != nil {
		seen = evaluated{}
	}
	ok := f.apply(n, f.v, f.at, f.scope, 0, seen, out)
	if ok && seen != nil {
		f.spend(len(seen))
		maps.Copy(f.seen, seen)
	}
	return ok
}

func (f *frame) mustInPlace(n *node) {
	if !f.inPlace(n, f.out) {
		f.ok = false
	}
}

// atChild applies a schema to a member or element of the value.
func (f *frame) atChild(n *node, v any, at *location, out *faults) bool {
	return f.apply(n, v, at, f.scope, 1, nil, out)
}

func (f *frame) mustAtChild(n *node, v any, at *location) {
	if !f.atChild(n, v, at, f.out) {
		f.ok = false
	}
}

func (f *frame) run() {
	n := f.n
	if n.boolean != nil {
		if n.is(false) {
			f.refuse("false schema")
		}
		return
	}
	if f.inCircle() {
		f.refuse("the schema leads back to itself")
		return
	}
	kind := kindOf(f.v)
	if !f.typeAndValue(kind) {
		return
	}
	if n.ref != nil {
		f.mustInPlace(n.ref.to)
	}
	switch v := f.v.(type) {
	case map[string]any:
		f.object(v)
	case []any:
		f.array(v)
	case string:
		f.text(v)
	default:
		if kind == "number" {
			f.inBounds()
		}
	}
	if f.done() {
		return
	}
	f.followDynamicRef()
	f.applicators()
	f.unevaluated()
}

// inCircle reports whether the same schema is already being applied to the same value.
func (f *frame) inCircle() bool {
	for s := f.scope.in; s != nil && s.value == f.scope.value && f.spend(1); s = s.in {
		if s.n == f.n {
			return true
		}
	}
	return false
}

// typeAndValue checks the type and the conditions on the whole value. After a fault here no other fault of the value is
// reported.
func (f *frame) typeAndValue(kind string) bool {
	n := f.n
	switch {
	case n.types != nil && !f.ofType(kind):
		f.fail("must be %s, not %s", strings.Join(n.types, " or "), kind)
	case n.equals != nil && !n.equals.has(f.v, f.budget):
		f.fail("must be %s", listed(n.equals.list))
	case n.enum != nil && !n.enum.has(f.v, f.budget):
		f.fail("must be one of %s", listed(n.enum.list))
	case n.format != "" && !f.ofFormat():
		f.refuse("not a valid %s", n.format)
	}
	return f.ok
}

func (f *frame) ofType(kind string) bool {
	if slices.Contains(f.n.types, kind) {
		return true
	}
	if !slices.Contains(f.n.types, "integer") {
		return false
	}
	number, ok := f.number(f.v)
	return ok && number.isWhole()
}

func (f *frame) ofFormat() bool {
	text, ok := f.v.(string)
	return !ok || f.spend(len(text)/64) && ofFormat(f.n.format, text)
}

func (f *frame) text(v string) {
	n := f.n
	if n.counts != nil {
		f.spend(len(v) / 64)
		f.inLimits("Length", utf8.RuneCountInString(v))
	}
	if n.pattern != nil && !n.pattern.matches(v, f.budget) {
		f.fail("does not match %s", n.pattern.text)
	}
}

// inLimits checks a length or a number of parts.
func (f *frame) inLimits(what string, got int) {
	if least, ok := f.n.counts["min"+what]; ok && got < least {
		f.refuse("min%s: got %d, want %d", what, got, least)
	}
	if most, ok := f.n.counts["max"+what]; ok && got > most {
		f.refuse("max%s: got %d, want %d", what, got, most)
	}
}

// bounds are the accepted results of comparing a number with its bound.
var bounds = [...]struct {
	name string
	fits func(int) bool
}{
	{"minimum", func(c int) bool { return c >= 0 }},
	{"maximum", func(c int) bool { return c <= 0 }},
	{"exclusiveMinimum", func(c int) bool { return c > 0 }},
	{"exclusiveMaximum", func(c int) bool { return c < 0 }},
}

// inBounds checks the size of a number.
func (f *frame) inBounds() {
	n := f.n
	if n.bounds == nil && n.multipleOf == nil {
		return
	}
	got, ok := f.number(f.v)
	if !ok {
		return
	}
	for _, b := range bounds {
		if bound, ok := n.bounds[b.name]; ok && !b.fits(got.compare(bound)) {
			f.refuse("%s: got %v, want %s", b.name, f.v, bound)
		}
	}
	if n.multipleOf != nil && f.spendDivision(got, *n.multipleOf) && !got.multipleOf(*n.multipleOf) {
		f.refuse("multipleOf: got %v, want %s", f.v, n.multipleOf)
	}
}

// followDynamicRef follows a reference whose target depends on the surrounding scopes.
func (f *frame) followDynamicRef() {
	r := f.n.dynamicRef
	if r == nil {
		return
	}
	to := r.to
	if r.anchor != "" && to.dynamicAnchor == r.anchor {
		for s := f.scope; s != nil && f.spend(1); s = s.in { // the outermost has the last word
			if n := s.n.res.dynamic[r.anchor]; n != nil {
				to = n
			}
		}
	}
	f.mustInPlace(to)
}

func (f *frame) applicators() {
	n := f.n
	if n.not != nil && f.inPlace(n.not, nil) {
		f.refuse("'not' failed")
	}
	for _, one := range n.allOf {
		if f.done() {
			return
		}
		f.mustInPlace(one)
	}
	if n.anyOf != nil && !f.done() {
		f.alternatives(n.anyOf, f.seen == nil)
	}
	if n.oneOf != nil && !f.done() {
		if fit := f.alternatives(n.oneOf, false); fit > 1 {
			f.fail("fits more than one of the alternatives")
		}
	}
	if n.condition != nil {
		branch := n.otherwise
		if f.inPlace(n.condition, nil) {
			branch = n.then
		}
		if branch != nil {
			f.mustInPlace(branch)
		}
	}
}

// alternatives counts the alternatives that fit, and fails if none does. The reasons are reported if they are short.
func (f *frame) alternatives(all []*node, first bool) (fit int) {
	const most, long = 3, 400
	var why []string
	for _, one := range all {
		var out *faults
		if !f.out.full() && fit == 0 && len(why) < most {
			out = &faults{most: 1}
		}
		if f.inPlace(one, out) {
			if fit++; first {
				return fit
			}
		}
		if text := out.first(); text != "" {
			why = append(why, text)
		}
	}
	if fit > 0 {
		return fit
	}
	text := strings.Join(why, "; ")
	if text == "" || len(text) > long {
		f.fail("fits none of the alternatives")
	} else {
		f.fail("fits none of the alternatives (%s)", text)
	}
	return 0
}
