package jinja

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// Values are nil, bool, int64, *big.Int, float64, string, and the types below. Values of the environment are wrapped
// when they are read.

// A list is a list of Python, which templates can change. Views are the results of items(), keys() and values().
type list struct {
	items []any
	view  string // name of the type of a view
}

type tuple []any

// A dict is a dict of Python: its keys keep their order.
type dict struct {
	src  map[string]any // values of the environment that are not copied yet; nil after that
	seen map[string]any // wrapped values of src
	x    *exec          // reads src
	path string         // path of src, in errors
	at   *place         // place of src; nil if it is not known

	partial *partial // set if not all keys are known

	keys []any
	vals map[any]any // by hash
}

// A span is range(…).
type span struct{ start, stop, step int64 }

// An undefined is a value that does not exist. Using it is an error.
type undefined struct {
	fault *diag.Fault
	soft  bool // result of an if without else, which is false and prints nothing
}

// A space is namespace().
type space struct{ attrs *dict }

// A function is a builtin, or a method with its object.
type function struct {
	name string
	call func(c *call) any
}

// A module is an imported template.
type module struct{ names map[string]any }

// maxBits bounds whole numbers: Python prints numbers of 4300 digits at most.
const maxBits = 14284

// maxItems bounds a list.
const maxItems = 1 << 20

func whole(n *big.Int) any {
	if n.IsInt64() {
		return n.Int64()
	}
	return n
}

func newDict() *dict { return &dict{vals: map[any]any{}} }

type hashedBig string
type hashedTuple string

// hash returns a key of Go that is equal for equal values of Python.
func (x *exec) hash(v any) any {
	switch v := v.(type) {
	case nil, string, int64:
		return v
	case bool:
		return toInt(v)
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<63 {
			return int64(v)
		}
		return v
	case *big.Int:
		return hashedBig(v.String())
	case tuple:
		return hashedTuple(x.repr(v))
	case *undefined:
		x.use(v)
	}
	x.failf("%s cannot be a key", typeName(v))
	return nil
}

func (d *dict) get(x *exec, key any) (any, bool) {
	if d.src != nil {
		name, isText := key.(string)
		if !isText {
			return nil, false
		}
		v, ok := d.fromSource(name)
		if !ok {
			d.partial.missing(x, name)
		}
		return v, ok
	}
	v, ok := d.vals[x.hash(key)]
	if name, isText := key.(string); !ok && isText {
		d.partial.missing(x, name)
	}
	return v, ok
}

// fromSource reads a value of the environment.
func (d *dict) fromSource(name string) (any, bool) {
	if v, ok := d.seen[name]; ok {
		return v, true
	}
	if _, ok := d.src[name]; !ok {
		return nil, false
	}
	path := strings.TrimPrefix(d.path+"."+name, ".")
	raw, err := d.x.run.Member(d.src, name, render.Fallback|render.Inner, path)
	if err != nil {
		d.x.throw(err)
	}
	if raw == render.Absent {
		return nil, false
	}
	v := d.x.wrap(raw, path, d.at.below(name))
	if d.seen == nil {
		d.seen = map[string]any{}
	}
	d.seen[name] = v
	return v, true
}

// load copies the values of the environment.
func (d *dict) load() {
	if d.partial != nil {
		d.x.throw(diag.Faultf("ccm-push does not know all keys of %s; use single keys", d.partial.name))
	}
	if d.src == nil {
		return
	}
	src := d.src
	root, path := d.at.path()
	names := render.KeysOf(d.x.run.Env, src, root, path)
	d.keys, d.vals = make([]any, 0, len(src)), make(map[any]any, len(src))
	for _, name := range names {
		v, _ := d.fromSource(name)
		d.keys = append(d.keys, name)
		d.vals[name] = v
	}
	d.src, d.seen = nil, nil
}

func (d *dict) set(x *exec, key, value any) {
	d.load()
	h := x.hash(key)
	if _, ok := d.vals[h]; !ok {
		if len(d.keys) >= maxItems {
			x.die("a dict of more than %d keys", maxItems)
		}
		x.grow(64)
		d.keys = append(d.keys, key)
	}
	d.vals[h] = value
}

func (d *dict) remove(x *exec, key any) {
	d.load()
	h := x.hash(key)
	delete(d.vals, h)
	for i, k := range d.keys {
		if x.hash(k) == h {
			d.keys = append(d.keys[:i:i], d.keys[i+1:]...)
			return
		}
	}
}

func (d *dict) len() int {
	if d.src != nil {
		return len(d.src)
	}
	return len(d.keys)
}

// each visits the entries, in order.
func (d *dict) each(x *exec, visit func(key, value any)) {
	d.load()
	for _, key := range d.keys {
		visit(key, d.vals[x.hash(key)])
	}
}

func (d *dict) copy(x *exec) *dict {
	c := newDict()
	d.each(x, func(key, value any) { c.set(x, key, value) })
	return c
}

// A place is where a value of the environment is: a root, or a key or an index of another place.
type place struct {
	up   *place
	root string // set if up is nil
	key  string
}

// below returns the place of a key.
func (p *place) below(key string) *place {
	if p == nil {
		return nil
	}
	return &place{up: p, key: key}
}

// path returns the root of a place and the keys below it; "" if the place is not known.
func (p *place) path() (root string, keys []string) {
	if p == nil {
		return "", nil
	}
	for p.up != nil {
		keys = append(keys, p.key)
		p = p.up
	}
	slices.Reverse(keys)
	return p.root, keys
}

// wrap returns a value of the environment as a value of templates. path is its path in errors.
func (x *exec) wrap(v any, path string, at *place) any {
	switch v := v.(type) {
	case nil, bool, int64, string, float64, *big.Int, *dict, *list:
		return v
	case int:
		return int64(v)
	case resultMap:
		return x.resultDict(v, path)
	case map[string]any:
		return &dict{src: v, x: x, path: path, at: at}
	case []any:
		l := &list{items: make([]any, len(v))}
		x.step(len(v))
		for i := range v {
			item, err := x.run.Member(v, int64(i), render.Fallback|render.Inner, path)
			if err != nil {
				x.throw(err)
			}
			below := at
			switch item.(type) {
			case map[string]any, []any:
				below = at.below(strconv.Itoa(i))
			}
			l.items[i] = x.wrap(item, path, below)
		}
		return l
	}
	plain, err := render.PlainCopy(x.run, v)
	if err != nil {
		x.throw(err)
	}
	switch plain.(type) {
	case map[string]any, []any:
		return x.wrap(plain, path, at)
	}
	return plain
}

// plain returns a value for the environment.
func (x *exec) plain(v any) any {
	x.step(1)
	switch v := v.(type) {
	case nil, bool, int64, string:
		return v
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			x.failf("the result is not a finite number")
		}
		return v
	case *big.Int:
		return v.String() // no type of manifests has room for it
	case *dict:
		defer x.deeper()()
		m := make(map[string]any, v.len())
		v.each(x, func(key, value any) { m[x.str(key)] = x.plain(value) })
		return m
	case *undefined:
		x.use(v)
	}
	if items, ok := x.sequence(v); ok {
		defer x.deeper()()
		l := make([]any, len(items))
		for i, item := range items {
			l[i] = x.plain(item)
		}
		return l
	}
	x.failf("%s cannot be a value", typeName(v))
	return nil
}

// order returns the order of the keys in a value.
func (x *exec) order(v any) *render.Order {
	d, isDict := v.(*dict)
	if isDict {
		o := &render.Order{}
		d.each(x, func(key, value any) {
			o.Add(x.str(key))
			o.Set(x.str(key), x.order(value))
		})
		return o
	}
	if _, isText := v.(string); isText {
		return nil
	}
	items, _ := x.sequence(v)
	var o *render.Order
	for i, item := range items {
		if below := x.order(item); below != nil {
			if o == nil {
				o = &render.Order{}
			}
			o.Set(strconv.Itoa(i), below)
		}
	}
	return o
}

// sequence returns the elements of a list, a tuple, a view or a range.
func (x *exec) sequence(v any) ([]any, bool) {
	switch v := v.(type) {
	case *list:
		return v.items, true
	case tuple:
		return v, true
	case span:
		n := v.len()
		x.room(n)
		items := make([]any, n)
		for i := range items {
			items[i] = v.start + int64(i)*v.step
		}
		return items, true
	}
	return nil, false
}

func (s span) len() int {
	n := int64(0)
	switch {
	case s.step > 0 && s.stop > s.start:
		n = (s.stop-s.start-1)/s.step + 1
	case s.step < 0 && s.stop < s.start:
		n = (s.start-s.stop-1)/-s.step + 1
	}
	return int(n)
}

// iterate returns the elements over which Python iterates.
func (x *exec) iterate(v any) []any {
	if items, ok := x.sequence(v); ok {
		return items
	}
	switch v := v.(type) {
	case *dict:
		v.load()
		return v.keys
	case string:
		x.room(utf8.RuneCountInString(v))
		items := make([]any, 0, len(v))
		for _, c := range v {
			items = append(items, string(c))
		}
		return items
	case *undefined:
		if v.soft {
			return nil
		}
		x.use(v)
	}
	x.failf("%s has no elements", typeName(v))
	return nil
}

// newList returns a list of items, which it owns.
func (x *exec) newList(items []any) *list {
	x.room(len(items))
	return &list{items: items}
}

// truth returns bool(v) of Python.
func (x *exec) truth(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case *list:
		return len(v.items) > 0
	case tuple:
		return len(v) > 0
	case *dict:
		return v.len() > 0
	case span:
		return v.len() > 0
	case *undefined:
		if !v.soft {
			x.use(v)
		}
		return false
	}
	return true
}

func toInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// number returns a number as *big.Int or float64; bools are numbers.
func number(v any) (n *big.Int, f float64, isFloat, ok bool) {
	switch v := v.(type) {
	case bool:
		return big.NewInt(toInt(v)), 0, false, true
	case int64:
		return big.NewInt(v), 0, false, true
	case *big.Int:
		return v, 0, false, true
	case float64:
		return nil, v, true, true
	}
	return nil, 0, false, false
}

// small returns an int64 of an int or bool.
func small(v any) (int64, bool) {
	switch v := v.(type) {
	case bool:
		return toInt(v), true
	case int64:
		return v, true
	}
	return 0, false
}

func asFloat(v any) (float64, bool) {
	n, f, isFloat, ok := number(v)
	if !ok || isFloat {
		return f, ok
	}
	f, _ = new(big.Float).SetInt(n).Float64()
	return f, true
}

// compareNumbers returns -1, 0 or 1; false for NaN.
func compareNumbers(a, b any) (int, bool) {
	x, f, xf, _ := number(a)
	y, g, yf, _ := number(b)
	if !xf && !yf {
		return x.Cmp(y), true
	}
	if xf && math.IsNaN(f) || yf && math.IsNaN(g) {
		return 0, false
	}
	toBig := func(n *big.Int, f float64, isFloat bool) *big.Float {
		if isFloat {
			return new(big.Float).SetFloat64(f)
		}
		return new(big.Float).SetPrec(maxBits + 64).SetInt(n)
	}
	return toBig(x, f, xf).Cmp(toBig(y, g, yf)), true
}

func isNumber(v any) bool { _, _, _, ok := number(v); return ok }

// equal is == of Python.
func (x *exec) equal(a, b any) bool {
	x.step(1)
	left, leftIs := a.(*undefined)
	right, rightIs := b.(*undefined)
	switch {
	case leftIs && !left.soft:
		x.use(left)
	case rightIs && !right.soft:
		x.use(right)
	case leftIs || rightIs:
		return leftIs && rightIs
	}
	if isNumber(a) && isNumber(b) {
		c, ok := compareNumbers(a, b)
		return ok && c == 0
	}
	switch a := a.(type) {
	case nil:
		return b == nil
	case string:
		s, ok := b.(string)
		return ok && a == s
	case *list:
		other, ok := b.(*list)
		return ok && a.view == "" && other.view == "" && x.equalItems(a.items, other.items)
	case tuple:
		other, ok := b.(tuple)
		return ok && x.equalItems(a, other)
	case span:
		other, ok := b.(span)
		return ok && a == other
	case *dict:
		other, ok := b.(*dict)
		if !ok || a.len() != other.len() {
			return false
		}
		defer x.deeper()()
		same := true
		a.each(x, func(key, value any) {
			v, found := other.get(x, key)
			same = same && found && x.equal(value, v)
		})
		return same
	}
	return identical(a, b)
}

func identical(a, b any) bool {
	switch a.(type) {
	case tuple:
		return false
	}
	switch b.(type) {
	case tuple:
		return false
	}
	return a == b
}

func (x *exec) equalItems(a, b []any) bool {
	if len(a) != len(b) {
		return false
	}
	defer x.deeper()()
	for i := range a {
		if !x.equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

// compare orders two values like Python; what cannot be ordered is an error.
func (x *exec) compare(a, b any) int {
	x.step(1)
	if isNumber(a) && isNumber(b) {
		c, _ := compareNumbers(a, b)
		return c
	}
	switch a := a.(type) {
	case string:
		if s, ok := b.(string); ok {
			return strings.Compare(a, s) // UTF-8 keeps the order of characters
		}
	case *list:
		if other, ok := b.(*list); ok && a.view == "" && other.view == "" {
			return x.compareItems(a.items, other.items)
		}
	case tuple:
		if other, ok := b.(tuple); ok {
			return x.compareItems(a, other)
		}
	case *undefined:
		x.use(a)
	}
	if u, ok := b.(*undefined); ok {
		x.use(u)
	}
	x.failf("%s and %s cannot be ordered", typeName(a), typeName(b))
	return 0
}

func (x *exec) compareItems(a, b []any) int {
	defer x.deeper()()
	for i := range a {
		if i >= len(b) {
			return 1
		}
		if !x.equal(a[i], b[i]) {
			return x.compare(a[i], b[i])
		}
	}
	return len(a) - len(b)
}

// contains is `item in v`.
func (x *exec) contains(v, item any) bool {
	switch c := v.(type) {
	case *dict:
		if c.src != nil {
			x.hash(item)
		}
		_, ok := c.get(x, item)
		return ok
	case string:
		s, ok := item.(string)
		if !ok {
			if u, is := item.(*undefined); is {
				x.use(u)
			}
			x.failf("\"in\" needs a str left of a str, not %s", typeName(item))
		}
		return strings.Contains(c, s)
	case span:
		n, ok := small(item)
		return ok && c.len() > 0 && (n-c.start)%c.step == 0 && (n-c.start)/c.step >= 0 && (n-c.start)/c.step < int64(c.len())
	}
	for _, other := range x.iterate(v) {
		if x.equal(other, item) {
			return true
		}
	}
	return false
}

// typeName is the name of a type in Python.
func typeName(v any) string {
	switch v := v.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case int64, *big.Int:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case *list:
		if v.view != "" {
			return v.view
		}
		return "list"
	case tuple:
		return "tuple"
	case *dict:
		return "dict"
	case span:
		return "range"
	case *undefined:
		return "AnsibleUndefined"
	case *space:
		return "Namespace"
	case *macro:
		return "Macro"
	case *function:
		return "function"
	case *loop:
		return "LoopContext"
	case *module:
		return "TemplateModule"
	}
	return "object"
}
