package jinja

import (
	"slices"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/templates/diag"
)

// fillTables fills the tables of filters, tests, functions and methods, once: not at the start of the program, which may
// need none of them.
var fillTables = sync.OnceFunc(func() {
	fillFilters()
	fillTests()
	fillFunctions()
	fillMethods()
})

// A call has the evaluated arguments of a filter, test, function or method.
type call struct {
	x        *exec
	name     string
	args     []any
	keywords []named

	bound []any // arguments in the order of the definition's parameters
}

type named struct {
	name  string
	value any
}

// A filterDef is the definition of a filter, a function or a method.
//
// params names the parameters in order. One that ends in ! must be given, one that ends in ? may be undefined, and
// "*" and "**" take all others.
type filterDef struct {
	params string
	run    func(c *call) any
}

// testDef is the definition of a test.
type testDef struct {
	params string
	run    func(c *call) bool
}

type unsetValue struct{}

// unset is a parameter that was not given.
var unset any = unsetValue{}

func (c *call) insert(v any) { c.args = append([]any{v}, c.args...) }

// arguments evaluates the arguments of a node.
func (x *exec) arguments(n *node, s *scope, name string) *call {
	c := &call{x: x, name: name, args: make([]any, 0, len(n.call.args)+1)}
	for _, arg := range n.call.args {
		c.args = append(c.args, x.eval(arg, s))
	}
	for _, k := range n.call.keywords {
		c.keywords = append(c.keywords, named{k.name, x.eval(k.value, s)})
	}
	if n.call.star != nil {
		v := x.eval(n.call.star, s)
		x.at = n.call.star
		c.args = append(c.args, x.iterate(v)...)
	}
	if n.call.dict != nil {
		v := x.eval(n.call.dict, s)
		x.at = n.call.dict
		d, ok := v.(*dict)
		if !ok {
			x.failf("** needs a dict, not %s", typeName(v))
		}
		d.each(x, func(key, value any) {
			name, ok := key.(string)
			if !ok || slices.ContainsFunc(c.keywords, func(k named) bool { return k.name == name }) {
				x.failf("** has a key that is not the name of an argument")
			}
			c.keywords = append(c.keywords, named{name, value})
		})
	}
	return c
}

// bind orders the arguments by the parameters of a definition.
func (c *call) bind(params string) {
	list := strings.Fields(params)
	rest, others := false, false
	for len(list) > 0 && strings.HasPrefix(list[len(list)-1], "*") {
		if list[len(list)-1] == "*" {
			rest = true
		} else {
			others = true
		}
		list = list[:len(list)-1]
	}
	c.bound = make([]any, len(list))
	for i, param := range list {
		c.bound[i] = unset
		if i < len(c.args) {
			c.bound[i] = c.args[i]
		}
		name := strings.TrimRight(param, "!?")
		for j, k := range c.keywords {
			if k.name == name {
				if c.bound[i] != unset {
					c.x.failf("%s: the argument %q is given twice", c.name, name)
				}
				c.bound[i] = k.value
				c.keywords = slices.Delete(slices.Clone(c.keywords), j, j+1)
				break
			}
		}
		if c.bound[i] == unset && strings.Contains(param, "!") {
			c.x.failf("%s: the argument %q is missing", c.name, name)
		}
		if u, is := c.bound[i].(*undefined); is && !u.soft && !strings.Contains(param, "?") {
			c.x.use(u)
		}
	}
	if len(c.args) > len(list) && !rest {
		c.x.failf("%s: %d arguments are too many", c.name, len(c.args)-1)
	}
	c.args = c.args[min(len(list), len(c.args)):]
	if len(c.keywords) > 0 && !others {
		c.x.failf("%s: there is no argument %q", c.name, c.keywords[0].name)
	}
}

func (f *filterDef) apply(c *call) any {
	c.x.step(1)
	c.bind(f.params)
	return f.run(c)
}

func (t *testDef) apply(c *call) bool {
	c.x.step(1)
	c.bind(t.params)
	return t.run(c)
}

func (c *call) has(i int) bool { return c.bound[i] != unset }

// value returns a parameter, or other if it was not given.
func (c *call) value(i int, other any) any {
	if c.has(i) {
		return c.bound[i]
	}
	return other
}

func (c *call) failf(format string, args ...any) { c.x.failf(c.name+": "+format, args...) }

// str returns a parameter that must be a text.
func (c *call) str(i int, other string) string {
	if !c.has(i) {
		return other
	}
	s, ok := c.bound[i].(string)
	if !ok {
		c.failf("a str is needed, not %s", typeName(c.bound[i]))
	}
	return s
}

// text returns a parameter as a text, whatever it is.
func (c *call) text(i int, other string) string {
	if !c.has(i) {
		return other
	}
	return c.x.str(c.bound[i])
}

func (c *call) int(i int, other int64) int64 {
	if !c.has(i) || c.bound[i] == nil {
		return other
	}
	n, ok := small(c.bound[i])
	if !ok {
		c.failf("an int is needed, not %s", typeName(c.bound[i]))
	}
	return n
}

func (c *call) truth(i int, other bool) bool {
	if !c.has(i) {
		return other
	}
	return c.x.truth(c.bound[i])
}

// items returns the elements of a parameter.
func (c *call) items(i int) []any { return c.x.iterate(c.bound[i]) }

func (c *call) dict(i int) *dict {
	d, ok := c.bound[i].(*dict)
	if !ok {
		c.failf("a dict is needed, not %s", typeName(c.bound[i]))
	}
	return d
}

// callNode is a call in an expression.
func (x *exec) callNode(n *node, s *scope) any {
	f := x.eval(n.args[0], s)
	c := x.arguments(n, s, calledName(n.args[0]))
	x.at = n
	return x.invoke(f, c)
}

func calledName(n *node) string {
	if n.kind == nameNode || n.kind == attributeNode {
		return n.text
	}
	return "the call"
}

func (x *exec) invoke(f any, c *call) any {
	switch f := f.(type) {
	case *function:
		x.step(1)
		return f.call(c)
	case *macro:
		return f.invoke(c)
	case *loop:
		return f.recurse(c)
	case *undefined:
		x.use(f)
	}
	x.failf("%s cannot be called", typeName(f))
	return nil
}

func noFilter(name string) error {
	return diag.Faultf("there is no filter %q", name).WithHint("%s", unknownHint(name, filterNames()))
}

func noTest(name string) error {
	return diag.Faultf("there is no test %q", name).WithHint("%s", unknownHint(name, testNames()))
}

func unknownHint(name string, known []string) string {
	if why := omitted[strings.TrimPrefix(strings.TrimPrefix(name, builtinPrefix), legacyPrefix)]; why != "" {
		return why
	}
	if near := diag.DidYouMean(known, name); near != "" {
		return near
	}
	return "ccm-push help functions lists all"
}

// Prefixes of Ansible's own filters, tests and lookups.
const (
	builtinPrefix = "ansible.builtin."
	legacyPrefix  = "ansible.legacy."
)
