package jinja

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/templates/render"
)

// An analysis notes what a template can read, from its syntax tree.
type analysis struct {
	reads render.Reads
	seen  map[*program]bool
	roots bool                             // the names of roots are variables
	note  func(name string, keys []string) // called for each variable; may be nil
}

// static has the names that are certainly set by the template, with the flow of their values.
type static struct{ names map[string]render.Flow }

func (s *static) inner() *static { return &static{maps.Clone(s.names)} }

func (s *static) set(name string, f render.Flow) {
	if s.names == nil {
		s.names = map[string]render.Flow{}
	}
	s.names[name] = f
}

// target notes the names that are assigned to.
func (s *static) target(n *node, f render.Flow) {
	switch n.kind {
	case nameNode:
		s.set(n.text, f)
	case attributeNode:
		old := s.names[n.args[0].text]
		old.Add(f)
		s.set(n.args[0].text, old)
	default:
		for _, one := range n.args {
			s.target(one, f)
		}
	}
}

func (a *analysis) program(p *program, s *static) (f render.Flow) {
	if a.seen[p] {
		return f
	}
	a.seen[p] = true
	f = a.body(p.body, s)
	for _, name := range render.SortedKeys(p.unit.deps) {
		// Any value that an included template reads may be in its text.
		f.Add(a.program(p.unit.deps[name], &static{}))
	}
	return f
}

func (a *analysis) body(body []*node, s *static) (f render.Flow) {
	for _, n := range body {
		f.Add(a.statement(n, s))
	}
	return f
}

func (a *analysis) statement(n *node, s *static) (f render.Flow) {
	switch n.kind {
	case printNode:
		return a.expression(n.args[0], s)
	case ifNode:
		a.expression(n.args[0], s)
		f = a.body(n.body, s.inner())
		f.Add(a.body(n.orelse, s.inner()))
		return f
	case forNode:
		inner := s.inner()
		inner.target(n.target, a.expression(n.args[0], s))
		inner.set("loop", render.Flow{})
		if n.args[1] != nil {
			a.expression(n.args[1], inner)
		}
		f = a.body(n.body, inner)
		f.Add(a.body(n.orelse, s.inner()))
		return f
	case setNode:
		s.target(n.target, a.expression(n.args[0], s))
	case setBlockNode:
		f = a.body(n.body, s.inner())
		for _, arg := range n.args {
			f.Add(a.expression(arg, s))
		}
		s.target(n.target, f)
		return render.Flow{}
	case withNode:
		inner := s.inner()
		for i, target := range n.params {
			inner.target(target, a.expression(n.args[i], s))
		}
		return a.body(n.body, inner)
	case macroNode, callBlock:
		return a.macro(n, s)
	case filterBlock:
		f = a.body(n.body, s.inner())
		f.Add(a.expression(n.args[0], s))
		return f
	case blockNode:
		inner := s.inner()
		inner.set("super", render.Flow{})
		inner.set("self", render.Flow{})
		return a.body(n.body, inner)
	case scopeNode:
		return a.body(n.body, s.inner())
	case extendsNode, includeNode:
		a.expression(n.args[0], s)
	case importNode:
		a.expression(n.args[0], s)
		s.set(n.text, a.modules(n))
	case fromNode:
		a.expression(n.args[0], s)
		m := a.modules(n)
		for _, name := range n.names {
			s.set(name[1], m)
		}
	}
	return f
}

// macro notes what a macro or a call block reads.
func (a *analysis) macro(n *node, s *static) (f render.Flow) {
	inner := s.inner()
	for i, p := range n.params {
		var arg render.Flow
		if first := len(n.params) - len(n.defaults); i >= first {
			arg = a.expression(n.defaults[i-first], inner)
		}
		inner.set(p.text, arg)
	}
	for _, name := range []string{"caller", "varargs", "kwargs"} {
		inner.set(name, render.Flow{})
	}
	if n.kind == macroNode {
		inner.set(n.text, render.Flow{})
	}
	f = a.body(n.body, inner)
	if n.kind == macroNode {
		s.set(n.text, f)
		return render.Flow{}
	}
	f.Add(a.expression(n.args[0], s))
	return f
}

// modules returns the flow of the names in imported templates.
func (a *analysis) modules(n *node) (f render.Flow) {
	for _, name := range n.files {
		if p := n.unit.deps[name]; p != nil {
			other := &analysis{seen: maps.Clone(a.seen), roots: a.roots}
			other.program(p, &static{})
			f.AddReads(&other.reads)
		}
	}
	return f
}

// expression notes what an expression reads, and returns what its value is made of.
func (a *analysis) expression(n *node, s *static) (f render.Flow) {
	if n == nil {
		return f
	}
	switch n.kind {
	case constNode:
		return f
	case nameNode, attributeNode, itemNode:
		return a.reference(n, s)
	case condNode:
		a.expression(n.args[0], s)
		f = a.expression(n.args[1], s)
		f.Add(a.expression(n.args[2], s))
		return f
	case compareNode, testNode, notNode:
		if field := resultTests[n.text]; n.kind == testNode && field != "" && n.args[0].kind == nameNode && !has(s, n.args[0].text) {
			a.variable(n.args[0].text, []string{field}, &render.Flow{})
			return f
		}
		a.all(n, s)
		return f
	case callNode:
		if name := n.args[0]; isLookup(name) && !has(s, name.text) {
			return a.lookup(n, s)
		}
	}
	return a.all(n, s)
}

func has(s *static, name string) bool { _, ok := s.names[name]; return ok }

func (a *analysis) all(n *node, s *static) (f render.Flow) {
	for _, list := range [][]*node{n.args, n.call.args, {n.call.star, n.call.dict}} {
		for _, part := range list {
			f.Add(a.expression(part, s))
		}
	}
	for _, k := range n.call.keywords {
		f.Add(a.expression(k.value, s))
	}
	return f
}

// anyKey stands for a key that is not known.
const anyKey = "*"

// reference is a name with attributes or keys.
func (a *analysis) reference(n *node, s *static) (f render.Flow) {
	var keys []string
	at := n
	for at.kind == attributeNode || at.kind == itemNode {
		key := at.text
		if at.kind == itemNode {
			key = anyKey
			switch v := at.args[1].value.(type) {
			case string:
				key = v
			case int64:
				key = strconv.FormatInt(v, 10)
			default:
				f.Add(a.expression(at.args[1], s))
			}
			if at.args[1].kind != constNode {
				key = anyKey
			}
		}
		keys = append(keys, key)
		at = at.args[0]
	}
	slices.Reverse(keys)
	if at.kind != nameNode {
		f.Add(a.expression(at, s))
		return f
	}
	if local, ok := s.names[at.text]; ok {
		f.Add(local)
		return f
	}
	a.variable(at.text, keys, &f)
	return f
}

// variable notes the read of a variable of the environment, with keys below it.
func (a *analysis) variable(name string, keys []string, f *render.Flow) {
	if a.note != nil {
		a.note(name, slices.Clone(keys))
	}
	read := func(root string, keys []string) {
		if i := slices.Index(keys, anyKey); i >= 0 && (root != render.HostsRoot || i > 0) {
			keys = keys[:i]
		}
		if root == render.DataRoot {
			// A method such as items() reads all of its object.
			if n := len(keys); n > 1 && dictMethods[keys[n-1]] != nil {
				keys = keys[:n-1]
			}
		}
		if i := slices.IndexFunc(keys, func(key string) bool { return strings.HasPrefix(key, "-") }); i >= 0 {
			keys = keys[:i]
		}
		a.reads.Path(root, keys)
		f.Path(root, keys)
	}
	facts := func(root string, before []string, name string) bool {
		fact, ok := facts[name]
		for _, path := range fact.paths {
			read(root, append(slices.Clone(before), strings.Split(path, ".")...))
		}
		return ok
	}
	if name == "item" {
		read(render.ItemRoot, keys)
	}
	if a.roots && render.IsRoot(name) {
		if len(keys) == 0 {
			a.reads.Root(name)
		}
		read(name, keys)
		return
	}
	if m, ok := magicNames[name]; ok && name != "hostvars" {
		read(m.root, append(slices.Clone(m.keys), keys...))
		if name == "vars" {
			return
		}
	}
	switch short, isFact := strings.CutPrefix(name, "ansible_"); {
	case name == "hostvars":
		switch {
		case len(keys) < 2:
			read(render.HostsRoot, keys)
		case keys[1] == "ansible_facts" && len(keys) > 2:
			facts(render.HostsRoot, []string{keys[0], render.FactsKey}, strings.TrimPrefix(keys[2], "ansible_"))
		case keys[1] == "ansible_facts" || keys[1] == anyKey:
			read(render.HostsRoot, keys[:1])
		default:
			read(render.HostsRoot, keys)
			if short, ok := strings.CutPrefix(keys[1], "ansible_"); ok {
				facts(render.HostsRoot, []string{keys[0], render.FactsKey}, short)
			}
		}
		return
	case name == "ansible_facts":
		if len(keys) == 0 || keys[0] == anyKey {
			read(render.FactsRoot, nil)
		} else {
			facts(render.FactsRoot, nil, strings.TrimPrefix(keys[0], "ansible_"))
		}
	case isFact:
		facts(render.FactsRoot, nil, short)
	}
	if globals[name] == nil || len(keys) > 0 {
		read(render.DataRoot, append([]string{name}, keys...))
	}
}

// lookup notes what lookup() reads.
func (a *analysis) lookup(n *node, s *static) (f render.Flow) {
	f = a.all(n, s)
	if len(n.call.args) == 0 {
		return f
	}
	name, ok := n.call.args[0].value.(string)
	if !ok {
		a.reads.Anything()
		f.Anything()
		return f
	}
	args := n.call.args[1:]
	switch strings.TrimPrefix(name, builtinPrefix) {
	case "env":
		a.reads.Root(render.EnvironRoot)
	case "vars":
		for _, arg := range args {
			if s, ok := arg.value.(string); ok {
				a.variable(s, nil, &f)
				continue
			}
			a.reads.Anything()
			f.Anything()
		}
	case "varnames":
		a.reads.Root(render.DataRoot)
		a.reads.Path(render.DataRoot, nil)
	case "template":
		f.Anything() // it can print anything that it reads
	case "file", "first_found", "fileglob":
		for _, arg := range args {
			if arg.kind == constNode && strings.TrimPrefix(name, builtinPrefix) == "file" && a.roots {
				continue // the file was read already
			}
			a.reads.Files = append(a.reads.Files, render.FilePath{At: arg.position(), Flow: a.expression(arg, s), Text: arg.text})
		}
	}
	return f
}
