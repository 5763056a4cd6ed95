// Package template writes templates of Jinja as templates of Jet.
package template

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
)

// A Source is where a template comes from.
type Source interface {
	Leave(line int, why string) (where string)                // tells of a place that is not carried over
	Note(line int, why string)                                // tells of one that is different
	Include(name string, s *expression.Scope) (string, error) // converts another one, and gives its path
	Macro(name, text string) (path string)                    // writes what a macro has become
}

// Convert gives the text of a template, and how many places of it are not carried over.
func Convert(nodes []*j2.Node, s *expression.Scope, from Source) (text string, left int) {
	t := &writer{from: from, w: &expression.Writer{Scope: s.Child(), Jet: true}, top: s, macros: map[string]*j2.Node{}, sets: []map[string]bool{{}}}
	t.nodes(nodes, false)
	return t.out.String(), t.left
}

// A writer writes a template of Jinja as one of Jet.
type writer struct {
	from   Source
	w      *expression.Writer
	top    *expression.Scope // of the task: without names of the template
	out    strings.Builder
	left   int
	fresh  bool // what comes next begins a line
	spread bool // the statement that was written last has its tags on lines of their own
	macros map[string]*j2.Node
	sets   []map[string]bool // names that are set, by blocks
	loops  int
}

// literalText writes text of the template, in which [[ and {* mean nothing.
func (t *writer) literalText(s string) {
	s = strings.ReplaceAll(s, "{*", "\x00")
	s = strings.ReplaceAll(s, "[[", "[[ `[[` ]]")
	s = strings.ReplaceAll(s, "\x00", "[[ `{*` ]]")
	if rest, ok := strings.CutSuffix(s, "["); ok { // before a tag it would be taken for a part of that
		s = rest + "[[ `[` ]]"
	}
	t.out.WriteString(s)
}

// leave writes a mark where something is not carried over.
func (t *writer) leave(n *j2.Node, why string) {
	t.left++
	where := t.from.Leave(n.Line, why)
	source := expression.Shortened(n.Raw)
	t.out.WriteString("[[ todo(" + strconv.Quote(strings.NewReplacer("[[", "[ [", "]]", "] ]").Replace(where+": "+why+": "+source)) + ") ]]")
}

// nodes writes a list. fresh says that it begins on a line of its own, of which the break is taken
// by a tag that has a dash.
func (t *writer) nodes(list []*j2.Node, fresh bool) {
	for i, n := range list {
		if n.Kind == j2.Text && n.Text == "" {
			continue
		}
		t.fresh = fresh
		t.node(n)
		fresh = endsLine(list[:i+1]) || (n.Kind == j2.If || n.Kind == j2.For) && t.spread
	}
}

// tidy reports whether a statement is written with each tag on a line of its own: so it was, and
// the lines before its tags have something on them, so that a dash takes one line break and no more.
// What a tag of Jinja takes behind itself, one of Jet takes before itself.
func (t *writer) tidy(n *j2.Node) bool {
	ok := n.Alone && t.fresh
	for _, b := range n.Branches {
		ok = ok && closesLine(b.Body)
	}
	if n.Kind == j2.For {
		ok = ok && closesLine(n.Body)
	}
	if n.Else != nil {
		ok = ok && closesLine(n.Else)
	}
	return ok
}

func closesLine(list []*j2.Node) bool {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Kind != j2.Text || list[i].Text != "" {
			return endsLine(list[:i+1])
		}
	}
	return false
}

// mark writes a tag of a statement.
func (t *writer) mark(text string, tidy bool) {
	if tidy {
		t.out.WriteString("[[- " + text + " ]]\n")
		return
	}
	t.tag(text)
}

// endsLine reports whether the last of some nodes ends with one line break and no other white space.
func endsLine(list []*j2.Node) bool {
	n := list[len(list)-1]
	rest, ok := strings.CutSuffix(n.Text, "\n")
	switch {
	case n.Kind != j2.Text || !ok:
		return false
	case rest == "":
		return len(list) > 1 && list[len(list)-2].Kind == j2.Print
	}
	return strings.TrimRight(rest, " \t\r\n") == rest
}

// tag writes a tag of Jet.
func (t *writer) tag(text string) { t.out.WriteString("[[ " + text + " ]]") }

func (t *writer) node(n *j2.Node) {
	switch n.Kind {
	case j2.Text:
		t.literalText(n.Text)
	case j2.Comment:
		if text := strings.ReplaceAll(n.Text, "*}", "* }"); !strings.Contains(text, "[[") {
			t.out.WriteString("{* " + text + " *}")
		}
	case j2.Print:
		t.print(n)
	case j2.If:
		t.branch(n)
	case j2.For:
		t.loop(n)
	case j2.Set:
		t.set(n)
	case j2.Macro:
		t.macro(n)
	case j2.Include:
		t.include(n)
	default:
		t.leave(n, n.Why)
	}
}

func (t *writer) child() func() {
	before := t.w.Scope
	t.w.Scope = before.Child()
	t.sets = append(t.sets, map[string]bool{})
	return func() {
		t.w.Scope = before
		t.sets = t.sets[:len(t.sets)-1]
	}
}

// value writes an expression, in Jet or, where that has no words for it, as one of manifests
// that is rendered to a text.
func (t *writer) value(e *j2.Expr) (string, error) {
	t.w.Local = false
	v, err := t.w.Write(e)
	if err == nil {
		if v, err = t.w.Printed(v); err == nil {
			return v.Text, nil
		}
	}
	text, ok := t.asExpression(e, false)
	if !ok {
		return "", err
	}
	return "template(" + text + ")", nil
}

// asExpression writes an expression of manifests as a literal text of Jet, if no name of the template is in it.
func (t *writer) asExpression(e *j2.Expr, condition bool) (string, bool) {
	local := false
	e.Walk(func(x *j2.Expr) bool {
		if x.Op == j2.Name {
			b, ok := t.w.Scope.Find(x.Text)
			local = local || ok && b.JetVar
		}
		return true
	})
	if local {
		return "", false
	}
	w := &expression.Writer{Scope: t.w.Scope}
	write := w.Write
	if condition {
		write = w.Condition
	}
	v, err := write(e)
	if !condition && err == nil {
		v, err = w.Printed(v)
	}
	if err != nil || strings.Contains(v.Text, "`") {
		return "", false
	}
	return "`{{ " + v.Text + " }}`", true
}

func (t *writer) print(n *j2.Node) {
	if call := n.Expr; call.Op == j2.Call && call.Args[0].Op == j2.Name && t.macros[call.Args[0].Text] != nil {
		t.callMacro(n, t.macros[call.Args[0].Text])
		return
	}
	text, err := t.value(n.Expr)
	if err != nil {
		t.leave(n, err.Error())
		return
	}
	if s, err := strconv.Unquote(text); err == nil && text[0] == '"' {
		t.literalText(s)
		return
	}
	t.tag(text)
}

// condition writes a condition of Jet.
func (t *writer) condition(e *j2.Expr) (string, error) {
	v, err := t.w.Condition(e)
	if err == nil {
		return v.Text, nil
	}
	text, ok := t.asExpression(e, true)
	if !ok {
		return t.split(e, err)
	}
	return "template(" + text + `) == "true"`, nil
}

// split writes the parts of and, or and not by themselves.
func (t *writer) split(e *j2.Expr, err error) (string, error) {
	switch {
	case e.Op == j2.Binary && (e.Text == "and" || e.Text == "or"):
		left, err := t.condition(e.Args[0])
		if err != nil {
			return "", err
		}
		right, err := t.condition(e.Args[1])
		return "(" + left + ") " + map[string]string{"and": "&&", "or": "||"}[e.Text] + " (" + right + ")", err
	case e.Op == j2.Not:
		x, err := t.condition(e.Args[0])
		return "!(" + x + ")", err
	}
	return "", err
}

func (t *writer) branch(n *j2.Node) {
	var conditions []string
	for _, b := range n.Branches {
		c, err := t.condition(b.If)
		if err != nil {
			t.leave(n, err.Error())
			return
		}
		conditions = append(conditions, c)
	}
	declared := t.declare(n)
	tidy := t.tidy(n) && !declared
	for i, b := range n.Branches {
		word := "if "
		if i > 0 {
			word = "else if "
		}
		t.mark(word+conditions[i], tidy)
		end := t.child()
		t.nodes(b.Body, tidy)
		end()
	}
	if n.Else != nil {
		t.mark("else", tidy)
		end := t.child()
		t.nodes(n.Else, tidy)
		end()
	}
	t.mark("end", tidy)
	t.spread = tidy
}

// declare declares the names that are set within an if, which in Jinja are known behind it, and
// reports whether there are any.
func (t *writer) declare(n *j2.Node) (any bool) {
	var names []string
	var find func([]*j2.Node)
	find = func(list []*j2.Node) {
		for _, n := range list {
			if n.Kind == j2.Set {
				names = append(names, n.Names...)
			}
			if n.Kind == j2.If {
				for _, b := range n.Branches {
					find(b.Body)
				}
				find(n.Else)
			}
		}
	}
	for _, b := range n.Branches {
		find(b.Body)
	}
	find(n.Else)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if !t.isSet(name) {
			t.tag(ownName(name) + ` := ""`)
			t.know(name)
			any = true
		}
	}
	return any
}

// ownName is what a name of a template is called in Jet, where some words mean something else.
func ownName(name string) string {
	switch name {
	case "include", "range", "if", "else", "end", "block", "yield", "import", "extends", "return", "try", "catch", "set", "content", "and", "or", "not", "isset", "len", "map", "slice", "array",
		"lower", "upper", "split", "replace", "repeat", "url", "html", "raw", "json", "file", "template", "jet", "lookup", "data", "Data", "host", "hosts", "groups", "play", "run", "item", "facts", "environ", "exec", "ints", "nil", "true", "false", "dump":
		return name + "_"
	}
	return name
}

func (t *writer) isSet(name string) bool {
	return slices.ContainsFunc(t.sets, func(m map[string]bool) bool { return m[name] })
}

func (t *writer) know(name string) {
	t.sets[len(t.sets)-1][name] = true
	t.w.Scope.Names[name] = expression.Binding{Text: ownName(name), JetVar: true}
}

func (t *writer) set(n *j2.Node) {
	name := n.Names[0]
	v, err := t.w.Write(n.Expr)
	if err != nil {
		t.leave(n, err.Error())
		return
	}
	if t.isSet(name) {
		t.tag(ownName(name) + " = " + v.Text)
		return
	}
	t.tag(ownName(name) + " := " + v.Text)
	t.know(name)
	b := t.w.Scope.Names[name]
	b.Kind = v.Kind
	t.w.Scope.Names[name] = b
}

// loop writes for. What a loop knows of itself is its index and its length.
func (t *writer) loop(n *j2.Node) {
	over := n.Expr
	key, element := "", n.Names[0]
	pairs := len(n.Names) == 2
	switch {
	case len(n.Names) > 2:
		t.leave(n, "a for with three names")
		return
	case pairs && over.Op == j2.Call && over.Args[0].Op == j2.Attr && (over.Args[0].Text == "items" || over.Args[0].Text == "iteritems"):
		over = over.Args[0].Args[0]
		t.from.Note(n.Line, "items(); they are in the order of their keys")
	case pairs && over.Op == j2.Filter && (over.Text == "dictsort" || over.Text == "items") && len(over.Args) == 1:
		over = over.Args[0]
	case pairs:
		t.leave(n, "a for with two names over other than items()")
		return
	}
	fields := over
	if fields.Op == j2.Filter && fields.Text == "dict2items" && len(fields.Args) == 1 && !pairs {
		over = fields.Args[0]
	}
	list, err := t.w.Write(over)
	if err != nil {
		t.leave(n, err.Error())
		return
	}
	end := t.child()
	defer end()
	t.loops++
	index := "i"
	if t.loops > 1 {
		index += strconv.Itoa(t.loops)
	}
	defer func() { t.loops-- }()
	if pairs {
		key, element = n.Names[0], n.Names[1]
		t.w.Scope.Names[key] = expression.Binding{Text: ownName(key), JetVar: true, Kind: expression.TextKind}
		index = ownName(key)
	} else if over != fields {
		key = element + "_key"
		index = key
		t.w.Scope.Names[element] = expression.Binding{JetVar: true, Text: ownName(element), PairKey: key}
	}
	if b := t.w.Scope.Names[element]; b.PairKey == "" {
		t.w.Scope.Names[element] = expression.Binding{Text: ownName(element), JetVar: true, Kind: expression.KindOfElements(t.w.Scope.Files.NodeOf(over))}
	}
	t.w.Scope.Names["loop"] = expression.Binding{Text: index, JetVar: true, LoopOver: list.Text, LoopMap: pairs || over != fields}
	if list.Kind == expression.MapKind && !pairs && over == fields {
		t.leave(n, "a for over the keys of a map")
		return
	}
	used := pairs || over != fields || usesLoop(n.Body)
	if !used {
		index = "_"
	}
	var filter string
	if n.Filter != nil {
		if filter, err = t.condition(n.Filter); err != nil {
			t.leave(n, err.Error())
			return
		}
		if usesLoop(n.Body) {
			t.leave(n, "loop of a for with if")
			return
		}
	}
	tidy := t.tidy(n)
	t.mark("range "+index+", "+ownName(element)+" := "+list.Text, tidy)
	if filter != "" {
		t.mark("if "+filter, tidy)
	}
	t.nodes(n.Body, tidy)
	if filter != "" {
		t.mark("end", tidy)
	}
	if n.Else != nil {
		t.mark("else", tidy)
		t.nodes(n.Else, tidy)
	}
	t.mark("end", tidy)
	t.spread = tidy
}

// usesLoop reports whether anything in a loop asks for loop.index and the like.
func usesLoop(list []*j2.Node) (found bool) {
	look := func(e *j2.Expr) {
		e.Walk(func(x *j2.Expr) bool {
			found = found || x.Op == j2.Name && x.Text == "loop"
			return true
		})
	}
	for _, n := range list {
		look(n.Expr)
		look(n.Filter)
		for _, b := range n.Branches {
			look(b.If)
			found = found || usesLoop(b.Body)
		}
		found = found || usesLoop(n.Body) || usesLoop(n.Else)
	}
	return found
}

// include writes what includes another template of the role.
func (t *writer) include(n *j2.Node) {
	name, ok := n.Expr.Lit.(string)
	if !ok {
		t.leave(n, "an include whose name is an expression")
		return
	}
	to, err := t.from.Include(name, t.w.Scope)
	if err != nil {
		t.leave(n, err.Error())
		return
	}
	t.tag("include " + strconv.Quote("/"+to))
}

// macro writes a macro as a template of its own, which is included with its arguments.
func (t *writer) macro(n *j2.Node) {
	inner := &writer{from: t.from, top: t.top, macros: t.macros, sets: []map[string]bool{{}}}
	inner.w = &expression.Writer{Scope: t.top.Child(), Jet: true}
	for _, name := range n.Names {
		inner.w.Scope.Names[name] = expression.Binding{Text: "." + name, JetVar: true}
	}
	inner.nodes(n.Body, false)
	t.left += inner.left
	n.Raw = t.from.Macro(n.Text, inner.out.String())
	t.macros[n.Text] = n
}

func (t *writer) callMacro(n *j2.Node, m *j2.Node) {
	given := map[string]string{}
	for i, arg := range n.Expr.Args[1:] {
		name := n.Expr.Kw[i+1]
		if name == "" && i < len(m.Names) {
			name = m.Names[i]
		}
		v, err := t.w.Write(arg)
		if err != nil || !slices.Contains(m.Names, name) {
			t.leave(n, fmt.Sprintf("a call of the macro %s", m.Text))
			return
		}
		given[name] = v.Text
	}
	var pairs []string
	for i, name := range m.Names {
		text, ok := given[name]
		if !ok && m.Defaults[i] != nil {
			v, err := t.w.Write(m.Defaults[i])
			if err != nil {
				t.leave(n, fmt.Sprintf("a call of the macro %s", m.Text))
				return
			}
			text, ok = v.Text, true
		}
		if ok {
			pairs = append(pairs, strconv.Quote(name)+", "+text)
		}
	}
	t.tag("include " + strconv.Quote("/"+m.Raw) + " map(" + strings.Join(pairs, ", ") + ")")
}
