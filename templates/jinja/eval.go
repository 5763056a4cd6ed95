package jinja

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"unicode/utf8"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// An exec is one rendering. Its methods panic with a [thrown].
type exec struct {
	run     *render.Run
	main    *program
	at      *node          // being evaluated, for errors
	names   map[string]any // variables of the environment that were read
	depth   int
	used    int  // bytes of all texts so far
	calls   int  // macros in each other
	hostile bool // it has read the result of a resource by its name
	native  bool // texts that look like a list, a dict or a bool become one
}

const (
	// maxDepth bounds the nesting of values.
	maxDepth = 500
	// maxCalls bounds macros that call each other.
	maxCalls = 300
	// maxMemory bounds the texts and lists that one rendering makes, in bytes.
	maxMemory = 256 << 20
)

func (x *exec) throw(err error) { panic(thrown{err}) }

// failf ends the rendering with an error at the current node. Its text must not contain values.
func (x *exec) failf(format string, args ...any) { x.throw(diag.Faultf(format, args...)) }

// die ends the rendering where no template may continue.
func (x *exec) die(format string, args ...any) {
	x.run.Dead = diag.Faultf(format, args...)
	x.throw(x.run.Dead)
}

func (x *exec) step(n int) {
	if err := x.run.AddSteps(n); err != nil {
		x.throw(err)
	}
}

// grow counts n bytes.
func (x *exec) grow(n int) {
	if x.used += n; x.used > maxMemory {
		x.die("the template makes more than %d MiB of values", maxMemory>>20)
	}
}

// length is called before a text of n bytes is made.
func (x *exec) length(n int) {
	if err := x.run.CheckLength(n); err != nil {
		x.throw(err)
	}
}

// text counts a text that was made.
func (x *exec) text(s string) string {
	x.length(len(s))
	x.grow(len(s))
	return s
}

// room is called before a list of n elements is made.
func (x *exec) room(n int) {
	if n > maxItems {
		x.die("a list of more than %d elements", maxItems)
	}
	x.step(n)
	x.grow(16 * n)
}

func (x *exec) deeper() func() {
	if x.depth++; x.depth > maxDepth {
		x.die("values are nested more than %d levels deep", maxDepth)
	}
	return func() { x.depth-- }
}

// use is the error of a value that does not exist.
func (x *exec) use(u *undefined) { x.throw(u.fault) }

func (x *exec) eval(n *node, s *scope) any {
	x.step(1)
	switch n.kind {
	case constNode:
		return n.value
	case nameNode:
		x.at = n
		return x.lookup(n.text, s)
	case tupleNode:
		return tuple(x.all(n.args, s))
	case listNode:
		return x.newList(x.all(n.args, s))
	case dictNode:
		d := newDict()
		for i := 0; i < len(n.args); i += 2 {
			key, value := x.eval(n.args[i], s), x.eval(n.args[i+1], s)
			x.at = n
			d.set(x, key, value)
		}
		return d
	case condNode:
		if x.condition(n.args[0], s) {
			return x.eval(n.args[1], s)
		}
		if n.args[2] == nil {
			return &undefined{fault: diag.Faultf("the condition is false, and there is no \"else\""), soft: true}
		}
		return x.eval(n.args[2], s)
	case orNode, andNode:
		v := x.eval(n.args[0], s)
		x.at = n.args[0]
		if x.truth(v) == (n.kind == orNode) {
			return v
		}
		return x.eval(n.args[1], s)
	case notNode:
		return !x.condition(n.args[0], s)
	case compareNode:
		return x.comparison(n, s)
	case binaryNode:
		a, b := x.eval(n.args[0], s), x.eval(n.args[1], s)
		x.at = n
		return x.binary(n.text, a, b)
	case negativeNode, positiveNode:
		v := x.eval(n.args[0], s)
		x.at = n
		return x.signed(v, n.kind == negativeNode)
	case concatNode:
		var b strings.Builder
		for _, arg := range n.args {
			v := x.eval(arg, s)
			x.at = arg
			text := x.str(v)
			x.length(b.Len() + len(text))
			b.WriteString(text)
		}
		return x.text(b.String())
	case attributeNode:
		v := x.eval(n.args[0], s)
		x.at = n
		return x.attribute(v, n.text)
	case itemNode:
		v := x.eval(n.args[0], s)
		if key := n.args[1]; key.kind == sliceNode {
			return x.slice(v, key, s)
		}
		key := x.eval(n.args[1], s)
		x.at = n
		return x.item(v, key)
	}
	return x.applied(n, s)
}

// applied evaluates a call, a filter or a test.
func (x *exec) applied(n *node, s *scope) any {
	switch n.kind {
	case callNode:
		return x.callNode(n, s)
	case filterNode:
		var v any
		if n.args[0] != nil {
			v = x.eval(n.args[0], s)
		}
		return x.filtered(n, v, s)
	case testNode:
		v := x.eval(n.args[0], s)
		c := x.arguments(n, s, n.text)
		c.insert(v)
		x.at = n
		return n.test.apply(c)
	}
	x.at = n
	x.failf("a slice without a list")
	return nil
}

func (x *exec) filtered(n *node, v any, s *scope) any {
	c := x.arguments(n, s, n.text)
	c.insert(v)
	x.at = n
	return n.filter.apply(c)
}

func (x *exec) all(nodes []*node, s *scope) []any {
	list := make([]any, len(nodes))
	for i, n := range nodes {
		list[i] = x.eval(n, s)
	}
	return list
}

// condition evaluates n to its truth.
func (x *exec) condition(n *node, s *scope) bool {
	v := x.eval(n, s)
	x.at = n
	return x.truth(v)
}

func (x *exec) comparison(n *node, s *scope) any {
	left := x.eval(n.args[0], s)
	for i, op := range n.ops {
		right := x.eval(n.args[i+1], s)
		x.at = n
		if !x.compares(op, left, right) {
			return false
		}
		left = right
	}
	return true
}

func (x *exec) compares(op string, a, b any) bool {
	switch op {
	case "==":
		return x.equal(a, b)
	case "!=":
		return !x.equal(a, b)
	case "in":
		return x.contains(b, a)
	case "not in":
		return !x.contains(b, a)
	}
	for _, v := range []any{a, b} {
		if f, ok := v.(float64); ok && math.IsNaN(f) {
			return false
		}
	}
	c := x.compare(a, b)
	switch op {
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	}
	return c >= 0
}

func (x *exec) signed(v any, negative bool) any {
	n, f, isFloat, ok := number(v)
	switch {
	case !ok:
		if u, is := v.(*undefined); is {
			x.use(u)
		}
		x.failf("%s has no sign", typeName(v))
	case isFloat && negative:
		return -f
	case isFloat:
		return f
	case negative:
		return whole(new(big.Int).Neg(n))
	}
	return whole(n)
}

// binary is an operator between two values.
func (x *exec) binary(op string, a, b any) any {
	if i, ok := a.(int64); ok {
		if j, ok := b.(int64); ok {
			switch { // the usual case, without big numbers
			case op == "+" && (i+j > i) == (j > 0):
				return i + j
			case op == "-" && (i-j < i) == (j > 0):
				return i - j
			}
		}
	}
	for _, v := range []any{a, b} {
		if u, is := v.(*undefined); is {
			x.use(u)
		}
	}
	switch left := a.(type) {
	case string:
		switch op {
		case "+":
			if s, ok := b.(string); ok {
				x.length(len(left) + len(s))
				return x.text(left + s)
			}
		case "*":
			if n, ok := small(b); ok {
				return x.repeat(left, n)
			}
		case "%":
			return x.percent(left, b)
		}
	case *list:
		if other, ok := b.(*list); ok && op == "+" && left.view == "" && other.view == "" {
			x.room(len(left.items) + len(other.items))
			return &list{items: append(append([]any{}, left.items...), other.items...)}
		}
		if n, ok := small(b); ok && op == "*" && left.view == "" {
			return &list{items: x.repeatItems(left.items, n)}
		}
	case tuple:
		if other, ok := b.(tuple); ok && op == "+" {
			return append(append(tuple{}, left...), other...)
		}
		if n, ok := small(b); ok && op == "*" {
			return tuple(x.repeatItems(left, n))
		}
	}
	if n, ok := small(a); ok && op == "*" {
		switch right := b.(type) {
		case string:
			return x.repeat(right, n)
		case *list:
			if right.view == "" {
				return &list{items: x.repeatItems(right.items, n)}
			}
		case tuple:
			return tuple(x.repeatItems(right, n))
		}
	}
	if !isNumber(a) || !isNumber(b) {
		x.failf("%q does not work with %s and %s", op, typeName(a), typeName(b))
	}
	return x.arithmetic(op, a, b)
}

func (x *exec) repeat(s string, n int64) any {
	if n <= 0 || s == "" {
		return ""
	}
	if n > render.MaxOutput {
		n = render.MaxOutput + 1
	}
	x.length(len(s) * int(n))
	return x.text(strings.Repeat(s, int(n)))
}

func (x *exec) repeatItems(items []any, n int64) []any {
	if n <= 0 || len(items) == 0 {
		return nil
	}
	if n > maxItems {
		n = maxItems + 1
	}
	x.room(len(items) * int(n))
	all := make([]any, 0, len(items)*int(n))
	for range n {
		all = append(all, items...)
	}
	return all
}

func (x *exec) bounded(n *big.Int) any {
	if n.BitLen() > maxBits {
		x.failf("a number of more than 4300 digits")
	}
	return whole(n)
}

func (x *exec) arithmetic(op string, a, b any) any {
	m, _, mf, _ := number(a)
	n, _, nf, _ := number(b)
	f, _ := asFloat(a)
	g, _ := asFloat(b)
	if mf || nf || op == "/" {
		return x.floats(op, f, g, mf || nf)
	}
	switch op {
	case "+":
		return x.bounded(new(big.Int).Add(m, n))
	case "-":
		return x.bounded(new(big.Int).Sub(m, n))
	case "*":
		return x.bounded(new(big.Int).Mul(m, n))
	case "//", "%":
		if n.Sign() == 0 {
			x.failf("division by zero")
		}
		quotient, rest := new(big.Int).QuoRem(m, n, new(big.Int))
		if rest.Sign() != 0 && rest.Sign() != n.Sign() {
			quotient.Sub(quotient, big.NewInt(1))
			rest.Add(rest, n)
		}
		if op == "//" {
			return whole(quotient)
		}
		return whole(rest)
	}
	if n.Sign() < 0 { // **
		return x.floats(op, f, g, true)
	}
	if m.BitLen() > 1 && (!n.IsInt64() || n.Int64() > maxBits || int64(m.BitLen()-1)*n.Int64() > maxBits) {
		x.failf("a number of more than 4300 digits")
	}
	if m.BitLen() <= 1 { // 0, 1, -1
		if n.Sign() > 0 && (m.Sign() >= 0 || n.Bit(0) == 1) {
			return whole(m)
		}
		return int64(1)
	}
	return x.bounded(new(big.Int).Exp(m, n, nil))
}

func (x *exec) floats(op string, f, g float64, isFloat bool) any {
	switch op {
	case "+":
		return f + g
	case "-":
		return f - g
	case "*":
		return f * g
	case "**":
		if f == 0 && g < 0 {
			x.failf("division by zero")
		}
		r := pow(f, g)
		if f < 0 && g != math.Trunc(g) {
			x.failf("the result is a complex number")
		}
		if math.IsInf(r, 0) && !math.IsInf(f, 0) && !math.IsInf(g, 0) {
			x.failf("the result is out of range")
		}
		return r
	}
	if g == 0 {
		x.failf("division by zero")
	}
	if op == "/" {
		return f / g
	}
	rest := math.Mod(f, g)
	if rest != 0 && (rest < 0) != (g < 0) {
		rest += g
	} else if rest == 0 {
		rest = math.Copysign(0, g)
	}
	if op == "%" {
		return rest
	}
	quotient := (f - rest) / g
	if floor := math.Floor(quotient); quotient-floor > 0.5 {
		return floor + 1
	} else {
		return floor
	}
}

// missing is the value of a key that does not exist.
func missing(v any, name string) any {
	if u, ok := v.(*undefined); ok {
		return u
	}
	return &undefined{fault: diag.Faultf("%s has no key or attribute %q", typeName(v), name).WithHint("if it may be missing, write … | default(…)")}
}

// attribute is v.name.
func (x *exec) attribute(v any, name string) any {
	if found, ok := x.attr(v, name); ok {
		return found
	}
	if d, ok := v.(*dict); ok {
		if value, ok := d.get(x, name); ok {
			return value
		}
	}
	return x.withPath(v, missing(v, name), name)
}

// withPath adds what a dict of the environment has to the error of a missing key.
func (x *exec) withPath(v, m any, name string) any {
	d, ok := v.(*dict)
	if !ok || d.src == nil || d.path == "" {
		return m
	}
	hint := "if it may be missing, write " + d.path + "." + name + " | default(…)"
	if near := diag.DidYouMean(render.SortedKeys(d.src), name); near != "" {
		hint = near + " " + hint
	}
	return &undefined{fault: diag.Faultf("there is no key %q in %s", name, d.path).WithHint("%s", hint)}
}

// attr finds attributes that are not keys, such as methods.
func (x *exec) attr(v any, name string) (any, bool) {
	switch v := v.(type) {
	case *undefined:
		if v.soft {
			x.use(v)
		}
		return v, true
	case *space:
		return v.attrs.get(x, name)
	case *loop:
		return v.attr(x, name)
	case *module:
		found, ok := v.names[name]
		return found, ok
	case *hostVars:
		return v.get(x, name)
	case *cycle:
		if name == "current" {
			return v.current(), true
		}
		return v.attrs.get(x, name)
	case *blocks:
		return v.attr(x, name)
	case *macro:
		switch name {
		case "name":
			return v.node.text, true
		case "caller":
			return v.usesCaller, true
		}
		return nil, false
	}
	if m := methodOf(v, name); m != nil {
		return &function{name: name, call: func(c *call) any {
			c.insert(v)
			return m.apply(c)
		}}, true
	}
	return nil, false
}

// item is v[key].
func (x *exec) item(v, key any) any {
	if u, ok := key.(*undefined); ok {
		if _, also := v.(*undefined); !also {
			x.use(u)
		}
	}
	switch c := v.(type) {
	case *dict:
		switch key.(type) {
		case *list, *dict:
		default:
			if value, ok := c.get(x, key); ok {
				return value
			}
		}
	case *hostVars:
		if name, ok := key.(string); ok {
			if value, found := c.get(x, name); found {
				return value
			}
		}
	case string:
		if i, ok := small(key); ok {
			if isASCII(c) {
				if i < 0 {
					i += int64(len(c))
				}
				if i >= 0 && i < int64(len(c)) {
					return c[i : i+1]
				}
				return missing(v, "…")
			}
			all := runes(c)
			if i < 0 {
				i += int64(len(all))
			}
			if i >= 0 && i < int64(len(all)) {
				return string(all[i])
			}
		}
	case *list:
		if c.view == "" {
			return x.element(c.items, v, key)
		}
	case tuple:
		return x.element(c, v, key)
	case span:
		if i, ok := small(key); ok {
			if i < 0 {
				i += int64(c.len())
			}
			if i >= 0 && i < int64(c.len()) {
				return c.start + i*c.step
			}
		}
	}
	if name, ok := key.(string); ok {
		if found, ok := x.attr(v, name); ok {
			return found
		}
		return x.withPath(v, missing(v, name), name)
	}
	return missing(v, "…")
}

func (x *exec) element(items []any, v, key any) any {
	i, ok := small(key)
	if ok && i < 0 {
		i += int64(len(items))
	}
	if ok && i >= 0 && i < int64(len(items)) {
		return items[i]
	}
	if name, isName := key.(string); isName {
		if found, ok := x.attr(v, name); ok {
			return found
		}
		return missing(v, name)
	}
	if u, is := v.(*undefined); is {
		return u
	}
	return &undefined{fault: diag.Faultf("the %s has only %d elements", typeName(v), len(items))}
}

// slice is v[from:to:step].
func (x *exec) slice(v any, n *node, s *scope) any {
	parts := [3]any{}
	for i, arg := range n.args {
		if arg != nil {
			parts[i] = x.eval(arg, s)
		}
	}
	x.at = n
	if u, ok := v.(*undefined); ok {
		return u
	}
	count := 0
	switch c := v.(type) {
	case string:
		count = utf8.RuneCountInString(c)
	case *list:
		count = len(c.items)
		if c.view != "" {
			return missing(v, "…")
		}
	case tuple:
		count = len(c)
	case span:
		count = c.len()
	default:
		return missing(v, "…")
	}
	from, to, step, ok := sliceBounds(parts, int64(count))
	if !ok {
		return missing(v, "…")
	}
	if step == 0 {
		x.failf("the step of a slice is 0")
	}
	var chosen []int64
	x.room(count)
	for i := from; step > 0 && i < to || step < 0 && i > to; i += step {
		chosen = append(chosen, i)
	}
	if c, ok := v.(string); ok {
		all := runes(c)
		picked := make([]rune, len(chosen))
		for i, at := range chosen {
			picked[i] = all[at]
		}
		return x.text(string(picked))
	}
	items, _ := x.sequence(v)
	picked := make([]any, len(chosen))
	for i, at := range chosen {
		picked[i] = items[at]
	}
	if _, ok := v.(tuple); ok {
		return tuple(picked)
	}
	return &list{items: picked}
}

// sliceBounds are the bounds of a slice of n elements.
func sliceBounds(parts [3]any, n int64) (from, to, step int64, ok bool) {
	step = 1
	if parts[2] != nil {
		if step, ok = small(parts[2]); !ok {
			return 0, 0, 0, false
		}
	}
	least, most := int64(0), n
	if step < 0 {
		least, most = -1, n-1
	}
	from, to = least, most
	if step < 0 {
		from, to = most, least
	}
	for i, target := range []*int64{&from, &to} {
		if parts[i] == nil {
			continue
		}
		at, ok := small(parts[i])
		if !ok {
			return 0, 0, 0, false
		}
		if at < 0 {
			at += n
		}
		*target = max(least, min(most, at))
	}
	if step > 1<<40 || step < -1<<40 {
		step = map[bool]int64{true: 1 << 40, false: -1 << 40}[step > 0]
	}
	return from, to, step, true
}

// failed returns the error of a rendering, with its position.
func (x *exec) failed(err error) error {
	if _, placed := errors.AsType[*diag.Error](err); placed || x.at == nil {
		return err
	}
	if x.run.Dead != nil && errors.Is(err, x.run.Dead) {
		x.run.Dead = diag.At(x.at.position(), err)
		return x.run.Dead
	}
	return diag.At(x.at.position(), err)
}
