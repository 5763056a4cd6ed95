package jinja

import (
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/templates/diag"
)

// A scope has the variables of a template, a loop, a macro or a block.
type scope struct {
	vars   map[string]any
	outer  *scope // nil for the first
	frame  *frame
	closed bool // an imported template without context: variables of the environment are not seen
	file   bool // the first of an included template: it does not see the loop around it
}

// A frame is the rendering of one template with the templates that it extends.
type frame struct {
	top    *scope
	blocks map[string][]*node // implementations, the innermost first
	parent *program           // set once the template extends another
}

func (s *scope) inner() *scope { return &scope{outer: s, frame: s.frame} }

func (s *scope) set(name string, v any) {
	if s.vars == nil {
		s.vars = map[string]any{}
	}
	s.vars[name] = v
}

func (s *scope) find(name string) (v any, ok, closed bool) {
	inside := true
	for ; s != nil; s = s.outer {
		if v, ok := s.vars[name]; ok && (inside || name != "loop") {
			return v, true, false
		}
		inside = inside && !s.file
		if s.closed {
			return nil, false, true
		}
	}
	return nil, false, false
}

// An output takes the text of a template, a macro or a block.
type output struct {
	x      *exec
	b      strings.Builder
	parts  int  // number of writes
	silent bool // the template extends another, so its own text is not part of the result
}

func (o *output) write(s string) {
	o.x.length(o.b.Len() + len(s))
	o.b.WriteString(s)
	o.parts++
}

// captured returns the text of a part of a template.
func (x *exec) captured(body []*node, s *scope) any {
	o := &output{x: x}
	x.exec(body, s, o)
	return x.finished(o)
}

// finished returns the value of a text that was captured.
func (x *exec) finished(o *output) any {
	text := x.text(o.b.String())
	if x.native {
		return x.literal(text)
	}
	return text
}

func (x *exec) exec(body []*node, s *scope, out *output) {
	for _, n := range body {
		x.statement(n, s, out)
	}
}

func (x *exec) statement(n *node, s *scope, out *output) {
	x.step(1)
	switch n.kind {
	case textNode:
		if !out.silent {
			out.write(n.text)
		}
	case printNode:
		if out.silent {
			return
		}
		v := x.eval(n.args[0], s)
		x.at = n.args[0]
		out.write(x.printed(v))
	case ifNode:
		if x.condition(n.args[0], s) {
			x.exec(n.body, s, out)
		} else {
			x.exec(n.orelse, s, out)
		}
	case forNode:
		x.forEach(n, s, out, nil, 1)
	case setNode:
		v := x.eval(n.args[0], s)
		x.at = n
		x.assign(n.target, v, s)
	case setBlockNode:
		v := x.captured(n.body, s.inner())
		if len(n.args) > 0 {
			v = x.chain(n.args[0], v, s)
		}
		x.at = n
		x.assign(n.target, v, s)
	case withNode:
		inner := s.inner()
		values := x.all(n.args, s)
		x.at = n
		for i, target := range n.params {
			x.assign(target, values[i], inner)
		}
		x.exec(n.body, inner, out)
	case scopeNode:
		x.exec(n.body, s.inner(), out)
	case filterBlock:
		v := x.chain(n.args[0], x.captured(n.body, s.inner()), s)
		if !out.silent {
			x.at = n
			out.write(x.printed(v))
		}
	default:
		x.definition(n, s, out)
	}
}

// definition executes a statement that defines or uses macros, blocks and other templates.
func (x *exec) definition(n *node, s *scope, out *output) {
	switch n.kind {
	case macroNode:
		s.set(n.text, x.newMacro(n, s))
	case callBlock:
		call := n.args[0]
		c := x.arguments(call, s, "caller")
		caller := x.newMacro(n, s)
		c.keywords = append(c.keywords, named{"caller", caller})
		f := x.eval(call.args[0], s)
		x.at = call
		v := x.invoke(f, c)
		if !out.silent {
			out.write(x.printed(v))
		}
	case blockNode:
		if !out.silent {
			x.block(n, s, out)
		}
	case extendsNode:
		x.at = n
		if s.frame.parent != nil {
			x.failf("a template extends two others")
		}
		s.frame.parent = x.chosen(n, s)
		out.silent = true
	case includeNode:
		x.include(n, s, out)
	case importNode:
		s.set(n.text, x.imported(n, s))
	case fromNode:
		m := x.imported(n, s)
		for _, name := range n.names {
			v, ok := m.names[name[0]]
			if !ok {
				v = &undefined{fault: diag.Faultf("the imported template has no name %q", name[0])}
			}
			s.set(name[1], v)
		}
	}
}

// chain applies the filters of a block to its text.
func (x *exec) chain(n *node, v any, s *scope) any {
	if n.args[0] != nil {
		v = x.chain(n.args[0], v, s)
	}
	return x.filtered(n, v, s)
}

// assign assigns to a name, to an attribute of a namespace, or to each of several names.
func (x *exec) assign(target *node, v any, s *scope) {
	switch target.kind {
	case nameNode:
		s.set(target.text, v)
	case attributeNode:
		of, ok := x.lookup(target.args[0].text, s).(*space)
		if !ok {
			x.failf("%q is not a namespace", target.args[0].text)
		}
		of.attrs.set(x, target.text, v)
	default:
		items := x.iterate(v)
		if len(items) != len(target.args) {
			x.failf("%d values for %d names", len(items), len(target.args))
		}
		for i, one := range target.args {
			x.assign(one, items[i], s)
		}
	}
}

// A loop is the variable of a for.
type loop struct {
	at       func(i int) any
	n        int
	i        int
	depth    int
	node     *node
	scope    *scope
	changed  []any
	hasState bool
}

func (x *exec) forEach(n *node, s *scope, out *output, recursive any, depth int) {
	v := recursive
	if depth == 1 {
		v = x.eval(n.args[0], s)
	}
	x.at = n.args[0]
	l := &loop{node: n, scope: s, depth: depth}
	if of, ok := v.(span); ok && n.args[1] == nil {
		l.n, l.at = of.len(), func(i int) any { return of.start + int64(i)*of.step }
	} else {
		items := x.iterate(v)
		if n.args[1] != nil {
			items = x.selected(n, items, s)
		} else {
			items = slices.Clone(items) // the body may change the list
		}
		l.n, l.at = len(items), func(i int) any { return items[i] }
	}
	if l.n == 0 {
		x.exec(n.orelse, s.inner(), out)
		return
	}
	for ; l.i < l.n; l.i++ {
		x.step(1)
		inner := s.inner()
		inner.set("loop", l)
		x.at = n
		x.assign(n.target, l.at(l.i), inner)
		x.exec(n.body, inner, out)
	}
}

// selected returns the elements for which the condition of a for is true.
func (x *exec) selected(n *node, items []any, s *scope) (chosen []any) {
	for _, item := range items {
		inner := s.inner()
		x.at = n
		x.assign(n.target, item, inner)
		if x.condition(n.args[1], inner) {
			chosen = append(chosen, item)
		}
	}
	return chosen
}

func (l *loop) attr(x *exec, name string) (any, bool) {
	end := func(i int, what string) any {
		if i >= 0 && i < l.n {
			return l.at(i)
		}
		return &undefined{fault: diag.Faultf("there is no %s element", what)}
	}
	switch name {
	case "index":
		return int64(l.i + 1), true
	case "index0":
		return int64(l.i), true
	case "revindex":
		return int64(l.n - l.i), true
	case "revindex0":
		return int64(l.n - l.i - 1), true
	case "first":
		return l.i == 0, true
	case "last":
		return l.i == l.n-1, true
	case "length":
		return int64(l.n), true
	case "depth":
		return int64(l.depth), true
	case "depth0":
		return int64(l.depth - 1), true
	case "previtem":
		return end(l.i-1, "previous"), true
	case "nextitem":
		return end(l.i+1, "next"), true
	case "cycle":
		return &function{name: "cycle", call: func(c *call) any {
			if len(c.args) == 0 {
				c.x.failf("cycle needs values")
			}
			return c.args[l.i%len(c.args)]
		}}, true
	case "changed":
		return &function{name: "changed", call: func(c *call) any {
			if l.hasState && c.x.equalItems(l.changed, c.args) {
				return false
			}
			l.changed, l.hasState = slices.Clone(c.args), true
			return true
		}}, true
	}
	return nil, false
}

// recurse is loop(list) in a recursive for.
func (l *loop) recurse(c *call) any {
	x := c.x
	if !l.node.flag || len(c.args) != 1 {
		x.failf("only a loop with the word \"recursive\" can be called, with one list")
	}
	defer x.entered()()
	out := &output{x: x}
	x.forEach(l.node, l.scope, out, c.args[0], l.depth+1)
	return x.finished(out)
}

// entered counts macros that call each other.
func (x *exec) entered() func() {
	if x.calls++; x.calls > maxCalls {
		x.die("macros, blocks or recursive loops call each other more than %d levels deep", maxCalls)
	}
	return func() { x.calls-- }
}

// A macro is a macro, or the body of a call block.
type macro struct {
	node                               *node
	scope                              *scope
	usesCaller, usesArgs, usesKeywords bool
}

func (x *exec) newMacro(n *node, s *scope) *macro {
	m := &macro{node: n, scope: s}
	for _, list := range [][]*node{n.body, n.defaults} {
		for _, part := range list {
			m.usesCaller = m.usesCaller || part.mentions("caller")
			m.usesArgs = m.usesArgs || part.mentions("varargs")
			m.usesKeywords = m.usesKeywords || part.mentions("kwargs")
		}
	}
	return m
}

// mentions reports whether a name occurs in a node.
func (n *node) mentions(name string) bool {
	found := false
	n.each(func(part *node) { found = found || part.kind == nameNode && part.text == name })
	return found
}

// each visits a node and all nodes below it.
func (n *node) each(visit func(*node)) {
	if n == nil {
		return
	}
	visit(n)
	for _, list := range [][]*node{n.args, n.call.args, n.params, n.defaults, n.body, n.orelse, {n.target, n.call.star, n.call.dict}} {
		for _, part := range list {
			part.each(visit)
		}
	}
	for _, k := range n.call.keywords {
		k.value.each(visit)
	}
}

func (m *macro) invoke(c *call) any {
	x := c.x
	defer x.entered()()
	s := m.scope.inner()
	params := m.node.params
	given := map[string]bool{}
	for i, v := range c.args {
		if i < len(params) {
			s.set(params[i].text, v)
			given[params[i].text] = true
		}
	}
	if len(c.args) > len(params) && !m.usesArgs {
		x.failf("the macro %q takes %d arguments, not %d", m.node.text, len(params), len(c.args))
	}
	extra := newDict()
	var caller any = &undefined{fault: diag.Faultf("the macro was not called by a call block")}
	for _, k := range c.keywords {
		isParam := slices.ContainsFunc(params, func(p *node) bool { return p.text == k.name })
		switch {
		case isParam && given[k.name]:
			x.failf("the argument %q is given twice", k.name)
		case isParam:
			s.set(k.name, k.value)
			given[k.name] = true
		case k.name == "caller" && m.usesCaller:
			caller = k.value
		default:
			extra.set(x, k.name, k.value)
		}
	}
	if extra.len() > 0 && !m.usesKeywords {
		x.failf("the macro %q has no argument %q", m.node.text, extra.keys[0])
	}
	first := len(params) - len(m.node.defaults)
	for i, p := range params {
		if given[p.text] {
			continue
		}
		if i < first {
			s.set(p.text, &undefined{fault: diag.Faultf("the argument %q of the macro %q is missing", p.text, m.node.text)})
			continue
		}
		s.set(p.text, x.eval(m.node.defaults[i-first], s))
	}
	if m.usesCaller && !given["caller"] {
		s.set("caller", caller)
	}
	if m.usesArgs {
		s.set("varargs", tuple(slices.Clone(c.args[min(len(params), len(c.args)):])))
	}
	if m.usesKeywords {
		s.set("kwargs", extra)
	}
	return x.captured(m.node.body, s)
}

// block renders the innermost implementation of a block.
func (x *exec) block(n *node, s *scope, out *output) {
	x.implementation(n.text, s.frame.blocks[n.text], n, s, out)
}

func (x *exec) implementation(name string, all []*node, at *node, s *scope, out *output) {
	defer x.entered()()
	x.at = at
	if all[0].quiet {
		x.failf("the block %q is required and has no content", name)
	}
	inner := s.frame.top.inner()
	if at.flag && at.kind == blockNode {
		inner = s.inner()
	}
	inner.set("super", &function{name: "super", call: func(c *call) any {
		if len(all) < 2 {
			c.x.failf("there is no outer block %q", name)
		}
		o := &output{x: x}
		x.implementation(name, all[1:], at, s, o)
		return x.finished(o)
	}})
	x.exec(all[0].body, inner, out)
}

// blocks is the variable self.
type blocks struct{ frame *frame }

func (b *blocks) attr(_ *exec, name string) (any, bool) {
	all := b.frame.blocks[name]
	if all == nil {
		return nil, false
	}
	return &function{name: name, call: func(c *call) any {
		o := &output{x: c.x}
		c.x.implementation(name, all, c.x.at, b.frame.top, o)
		return c.x.finished(o)
	}}, true
}

// chosen returns the template that an include, import or extends means; nil for one that may be missing.
func (x *exec) chosen(n *node, s *scope) *program {
	v := x.eval(n.args[0], s)
	x.at = n
	names, isList := x.sequence(v)
	if !isList {
		names = []any{v}
	}
	for _, name := range names {
		s, ok := name.(string)
		if !ok {
			x.failf("the name of a template is %s", typeName(name))
		}
		if p := n.unit.templates()[s]; p != nil {
			return p
		}
	}
	if n.quiet {
		return nil
	}
	x.failf("there is no such template")
	return nil
}

// render renders a program with its own frame.
func (x *exec) render(p *program, s *scope, out *output) *scope {
	leave, err := x.run.EnterTemplate(p.unit.body.At.File)
	if err != nil {
		x.throw(err)
	}
	defer leave()
	f := &frame{blocks: map[string][]*node{}}
	s.frame, f.top = f, s
	for range maxDepth {
		for name, n := range p.blocks {
			f.blocks[name] = append(f.blocks[name], n)
		}
		x.exec(p.body, s, out)
		if p = f.parent; p == nil {
			return s
		}
		f.parent, out.silent = nil, false
	}
	x.die("templates extend each other more than %d levels deep", maxDepth)
	return nil
}

func (x *exec) include(n *node, s *scope, out *output) {
	if out.silent {
		return
	}
	p := x.chosen(n, s)
	if p == nil {
		return
	}
	inner := &output{x: x}
	x.render(p, &scope{outer: s, closed: !n.flag, file: true}, inner)
	out.write(inner.b.String())
}

func (x *exec) imported(n *node, s *scope) *module {
	p := x.chosen(n, s)
	top := x.render(p, &scope{outer: s, closed: !n.flag, file: true}, &output{x: x})
	m := &module{names: map[string]any{}}
	for name, v := range top.vars {
		if !strings.HasPrefix(name, "_") {
			m.names[name] = v
		}
	}
	return m
}
