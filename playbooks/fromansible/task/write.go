package task

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
	"github.com/ccm-push/ccm-push/playbooks/manifest/ansible"
)

// Arg is an argument by the first of its names that is given.
func (t *Task) Arg(names ...string) *yaml.Node {
	for _, name := range names {
		if n := t.Args[name]; n != nil && !yamlnode.IsNull(n) {
			return n
		}
	}
	return nil
}

// onByDefault are arguments that are true unless they are given.
var onByDefault = []string{"boot", "force", "install_recommends", "install_weak_deps", "validate_certs"}

// checkArgs reports arguments that are not carried over.
func checkArgs(t *Task) {
	if t.Module == "set_fact" {
		return // they are names of variables
	}
	m, _ := ansible.Find(t.Module)
	args := m.Args
	for _, name := range t.Order {
		a, known := args[name]
		n := t.Args[name]
		switch {
		case n == nil || yamlnode.IsNull(n):
		case !known:
			t.Problem("the argument %s of %s", name, t.Module)
		case a.Gap != "":
			if b, ok := yamlnode.BoolOf(n); ok && b == slices.Contains(onByDefault, name) { // what is not asked for needs no counterpart
				continue
			}
			if e := expression.SoleExpr(n); e != nil && IsOmitted(e) {
				t.Note("the argument %s is left out: %s", name, a.Gap)
				continue
			}
			t.Problem("the argument %s of %s: %s", name, t.Module, a.Gap)
		}
	}
}

// IsOmitted reports whether an expression is default(omit).
func IsOmitted(e *j2.Expr) bool {
	return e.Op == j2.Filter && (e.Text == "default" || e.Text == "d") && len(e.Args) > 1 && e.Args[1].Op == j2.Name && e.Args[1].Text == "omit"
}

// Text is an argument as a text.
func (t *Task) Text(n *yaml.Node) string {
	if n == nil {
		return ""
	}
	if n.Kind != yaml.ScalarNode {
		t.Problem("a value of %s that is no text", t.Module)
		return ""
	}
	s, err := t.W.Text(yamlnode.Printed(n))
	t.Fail(err)
	return s
}

// Put writes an argument as a property. default(omit) becomes the value that is not given.
func (t *Task) Put(e *layout.Entry, property string, n *yaml.Node) {
	if n == nil {
		return
	}
	if x := expression.SoleExpr(n); x != nil && IsOmitted(x) {
		v, err := t.W.Write(x.Args[0])
		empty := emptyOf(t.of.Types, e.Type, property)
		if empty == "" {
			t.Problem("default(omit) of %s", property)
			return
		}
		t.Fail(err)
		e.SetText(property, "{{ "+v.In(expression.Whole)+" ?? "+empty+" }}")
		return
	}
	if x := expression.SoleExpr(n); x != nil && x.Op == j2.Cond && x.Args[2] != nil && x.Args[2].Op == j2.Name && x.Args[2].Text == "omit" {
		putCondition(t, e, property, x)
		return
	}
	v, err := t.W.Value(n)
	t.Fail(err)
	if err != nil {
		return
	}
	if n.Kind == yaml.ScalarNode && emptyOf(t.of.Types, e.Type, property) == "''" {
		if printed := yamlnode.Printed(n); printed != n.Value {
			v = yamlnode.Text(printed)
		}
	}
	if wantsNumber(t.of.Types, e.Type, property) && v.Kind == yaml.ScalarNode && yamlnode.Digits(v.Value) {
		v = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: v.Value}
	}
	e.Set(property, v)
}

// putCondition writes what is given only under a condition.
func putCondition(t *Task, e *layout.Entry, property string, x *j2.Expr) {
	empty := emptyOf(t.of.Types, e.Type, property)
	if empty == "" {
		t.Problem("omit of %s", property)
		return
	}
	condition, err := t.W.Condition(x.Args[0])
	t.Fail(err)
	v, err := t.W.Write(x.Args[1])
	t.Fail(err)
	e.SetText(property, "{{ "+condition.In(expression.CondPrec+1)+" ? "+v.In(expression.CondPrec+1)+" : "+empty+" }}")
}

// PutBool writes an argument that is a boolean of YAML 1.1.
func (t *Task) PutBool(e *layout.Entry, property string, n *yaml.Node) {
	if n == nil {
		return
	}
	if b, ok := yamlnode.BoolOf(n); ok {
		e.Set(property, yamlnode.Bool(b))
		return
	}
	x := expression.SoleExpr(n)
	if x == nil {
		t.Problem("%s: %s", property, n.Value)
		return
	}
	if IsOmitted(x) {
		t.Put(e, property, n)
		return
	}
	v, err := t.W.Condition(x)
	t.Fail(err)
	e.SetText(property, "{{ "+v.Text+" }}")
}

// OneOf writes an argument whose words are called otherwise here.
func (t *Task) OneOf(n *yaml.Node, words map[string]string) string {
	if n == nil {
		return ""
	}
	x := expression.SoleExpr(n)
	if x == nil {
		if yamlnode.HasJinja(n) {
			t.Problem("%s in %s", expression.Shortened(n.Value), t.Module)
			return ""
		}
		to, ok := words[strings.ToLower(n.Value)]
		if !ok {
			t.Problem("the state %s of %s", n.Value, t.Module)
		}
		return to
	}
	if IsOmitted(x) && words["present"] == "present" {
		x = &j2.Expr{Op: j2.Filter, Text: "default", Args: []*j2.Expr{x.Args[0], {Op: j2.Literal, Lit: "present"}}, Kw: []string{"", ""}}
	}
	unknown := false
	translated := translate(x, words, &unknown)
	if unknown && (x.Op == j2.Name || x.Op == j2.Attr) { // another value is an error of the run
		table := &j2.Expr{Op: j2.Dict}
		for _, word := range slices.Sorted(maps.Keys(words)) {
			if words[word] != "" {
				table.Args = append(table.Args, &j2.Expr{Op: j2.Literal, Lit: word}, &j2.Expr{Op: j2.Literal, Lit: words[word]})
			}
		}
		translated, unknown = &j2.Expr{Op: j2.Index, Args: []*j2.Expr{table, x}}, false
	}
	if unknown {
		ours := slices.DeleteFunc(slices.Compact(slices.Sorted(maps.Values(words))), func(word string) bool { return word == "" })
		t.Problem("a state of %s that is a variable: write %s", t.Module, strings.Join(ours, " or "))
	}
	v, err := t.W.Write(translated)
	t.Fail(err)
	return "{{ " + v.Text + " }}"
}

// translate replaces the words that a state may be, where conditions choose one. A variable may hold
// others.
func translate(x *j2.Expr, words map[string]string, unknown *bool) *j2.Expr {
	out := *x
	switch {
	case x.Op == j2.Literal:
		s, isText := x.Lit.(string)
		to, ok := words[s]
		if !isText || !ok || to == "" {
			*unknown = true
			return x
		}
		return &j2.Expr{Op: j2.Literal, Lit: to}
	case x.Op == j2.Cond && x.Args[2] != nil:
		out.Args = []*j2.Expr{x.Args[0], translate(x.Args[1], words, unknown), translate(x.Args[2], words, unknown)}
	case x.Op == j2.Filter && x.Text == "ternary" && len(x.Args) == 3:
		out.Args = []*j2.Expr{x.Args[0], translate(x.Args[1], words, unknown), translate(x.Args[2], words, unknown)}
	default:
		*unknown = *unknown || !identical(words)
	}
	return &out
}

// identical reports whether words mean the same here, so that a variable may hold them.
func identical(words map[string]string) bool {
	for theirs, ours := range words {
		if theirs != ours {
			return false
		}
	}
	return true
}

// Write adds an entry, which the keywords are about.
func (t *Task) Write(e *layout.Entry) *layout.Entry {
	if _, known := t.of.Types.Lookup(e.Type); !known {
		t.Problem("the type %s, which this program does not have", e.Type)
	}
	t.Main = e
	t.Entries = append(t.Entries, t.Looped(e))
	if t.IsLoop() && !strings.Contains(e.Name, "Item") && !strings.Contains(e.Name, "Outer") && !(strings.Contains(e.Name, "Data.") && yamlnode.Get(t.vars, t.LoopVar()) != nil) {
		t.Problem("a loop whose resources would have one name: %s", e.Name)
	}
	return e
}

// Extra adds an entry beside the main one.
func (t *Task) Extra(e *layout.Entry) *layout.Entry {
	if t.IsLoop() {
		t.Problem("a loop of a task that becomes several resources")
	}
	t.Entries = append(t.Entries, e)
	return e
}

// Place is the path of a file, without a slash behind it.
func (t *Task) Place(n *yaml.Node) string {
	if n == nil {
		t.Problem("%s without a path", t.Module)
		return ""
	}
	text := t.Text(n)
	if len(text) > 1 {
		text = strings.TrimRight(text, "/")
	}
	if strings.HasPrefix(text, "~") {
		t.Problem("a path in a home: %s", text)
	}
	if text != "" && !strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "{{") {
		t.Problem("a path that is not absolute: %s", text)
	}
	return text
}

// Named is an entry that has the name of the task, or else what it says.
func (t *Task) Named(typ, text string) *layout.Entry {
	e := &layout.Entry{Type: typ, Name: t.Name}
	if e.Name == "" {
		e.Name = strings.Join(strings.Fields(text), " ")
		if j2.HasTags(e.Name) || e.Name == "" {
			e.Name = t.Module + " " + strconv.Itoa(t.Node.Line)
		}
	}
	if t.IsLoop() {
		e.Name += " {{ Item }}"
	} else {
		e.Name = expression.Escape(e.Name)
	}
	return e
}

// Nothing is a task that needs no counterpart: a comment says why.
func (t *Task) Nothing(why string) {
	e := &layout.Entry{Comments: []string{why}}
	t.Entries = append(t.Entries, e)
	t.Plain = true
}
