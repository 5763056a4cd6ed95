package task

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// loopKey is the key of a task that says what it loops over; "" without one.
func (t *Task) LoopKey() string {
	for key := range t.Keywords {
		if key == "loop" || strings.HasPrefix(key, "with_") {
			return key
		}
	}
	return ""
}

func (t *Task) IsLoop() bool { return t.LoopKey() != "" && !t.Plain }

// loopVar is what the element is called.
func (t *Task) LoopVar() string {
	if v := yamlnode.Get(t.Keywords["loop_control"], "loop_var"); v != nil {
		return v.Value
	}
	return "item"
}

// A round is what a loop goes over.
type round struct {
	each  *yaml.Node // the list, or the expression that gives it
	outer *yaml.Node // of a loop in a loop
}

// loop has the element be known to what is written. What it goes over is written by over.
func loop(t *Task) {
	key := t.LoopKey()
	control := t.Keywords["loop_control"]
	if key == "" || t.Plain {
		return
	}
	if control != nil && control.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(control.Content); i += 2 {
			switch name := control.Content[i].Value; name {
			case "loop_var", "label":
			default:
				t.Problem("loop_control.%s", name)
			}
		}
	}
	element := expression.Binding{Text: "Item"}
	n := t.Keywords[key]
	switch key {
	case "with_dict":
		element.Pair = t.Module != "template"
	case "with_nested", "with_cartesian", "with_subelements":
		element.Twin = true
	case "loop":
		if e := expression.SoleExpr(n); e != nil {
			element = elementOf(t, e)
		} else {
			element.Kind = expression.KindOfElements(n)
		}
	case "with_items", "with_list", "with_flattened":
		element.Kind = expression.KindOfElements(n)
		if e := expression.SoleExpr(n); e != nil {
			element = elementOf(t, e)
		}
	case "with_sequence", "with_fileglob", "with_first_found":
		element.Kind = expression.TextKind
	}
	t.Scope.Names[t.LoopVar()] = element
}

// elementOf is what the elements of an expression are.
func elementOf(t *Task, e *j2.Expr) expression.Binding {
	b := expression.Binding{Text: "Item"}
	switch {
	case e.Op == j2.Filter && e.Text == "dict2items" && len(e.Args) == 1, isLookup(e, "dict"):
		b.Pair = t.Module != "template" // which reads item.key
	case e.Op == j2.Filter && (e.Text == "product" || e.Text == "subelements"):
		b.Twin = true
	case e.Op == j2.Filter && e.Text == "list" && len(e.Args) == 1:
		return elementOf(t, e.Args[0])
	case e.Op == j2.Attr && e.Text == "results" && e.Args[0].Op == j2.Name:
		if of, ok := t.W.Binding(e.Args[0].Text); ok && of.Result != nil && of.Result.Looped {
			one := *of.Result
			one.Base, one.Looped = "Item", false
			b.Result = &one
		}
	case e.Op == j2.Filter && (e.Text == "default" || e.Text == "d") && len(e.Args) > 1:
		return elementOf(t, e.Args[0])
	case e.Op == j2.Attr && e.Text == "files" && e.Args[0].Op == j2.Name:
		if of, ok := t.W.Binding(e.Args[0].Text); ok && of.Result != nil && of.Result.Module == "find" {
			b.Kind, b.Only = expression.MapKind, []string{"path"}
		}
	default:
		if n := t.File.NodeOf(e); n != nil {
			b.Kind = expression.KindOfElements(n)
		}
	}
	return b
}

func isLookup(e *j2.Expr, plugin string) bool {
	return e.Op == j2.Call && e.Args[0].Op == j2.Name && (e.Args[0].Text == "lookup" || e.Args[0].Text == "query" || e.Args[0].Text == "q") && len(e.Args) == 3 && e.Args[1].Lit == plugin
}

// over writes what the loop of the task goes over.
func over(t *Task) (round, bool) {
	key := t.LoopKey()
	n := t.Keywords[key]
	w := &expression.Writer{Scope: inlined(t.Keywords["vars"], t.Scope.Outer)}
	fail := func(err error) (round, bool) {
		t.Fail(err)
		return round{}, false
	}
	switch key {
	case "loop", "with_items", "with_list", "with_flattened":
		e := expression.SoleExpr(n)
		if e != nil {
			return overExpr(t, w, e)
		}
		if n.Kind != yaml.SequenceNode {
			if key == "loop" {
				return fail(expression.Unknown("a loop over what is no list"))
			}
			n = &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{n}}
		}
		if key != "loop" && key != "with_list" {
			if flat, ok, err := flattened(w, n); ok {
				return round{each: flat}, err == nil || failed(t, err)
			}
		}
		v, err := w.Value(n)
		if err != nil {
			return fail(err)
		}
		return round{each: v}, true
	case "with_dict":
		e := expression.SoleExpr(n)
		if e == nil {
			var err error
			if e, err = expression.ExprOf(n); err != nil {
				return fail(err)
			}
		}
		return overExpr(t, w, &j2.Expr{Op: j2.Filter, Text: "dict2items", Args: []*j2.Expr{e}, Kw: []string{""}})
	case "with_nested", "with_cartesian":
		if n.Kind != yaml.SequenceNode || len(n.Content) != 2 {
			return fail(expression.Unknown("%s of other than two lists", key))
		}
		outer, err := w.Value(n.Content[0])
		if err != nil {
			return fail(err)
		}
		inner, err := w.Value(n.Content[1])
		if err != nil {
			return fail(err)
		}
		return round{each: inner, outer: outer}, true
	case "with_subelements":
		if n.Kind != yaml.SequenceNode || len(n.Content) < 2 || !expression.IsWord(n.Content[1].Value) {
			return fail(expression.Unknown("with_subelements of these"))
		}
		outer, err := w.Value(n.Content[0])
		if err != nil {
			return fail(err)
		}
		return round{each: yamlnode.Text("{{ Item." + n.Content[1].Value + suffixOf(len(n.Content) > 2) + " }}"), outer: outer}, true
	case "with_sequence":
		return overSequence(t, n)
	case "with_fileglob":
		return overFiles(t, n)
	}
	return fail(expression.Unknown("%s", key))
}

func failed(t *Task, err error) bool {
	t.Fail(err)
	return false
}

// suffixOf is the default of a list that elements may lack.
func suffixOf(skip bool) string {
	if skip {
		return " ?? []"
	}
	return ""
}

func overExpr(t *Task, w *expression.Writer, e *j2.Expr) (round, bool) {
	if e.Op == j2.Filter && e.Text == "list" && len(e.Args) == 1 {
		e = e.Args[0]
	}
	fail := func(err error) (round, bool) { return round{}, failed(t, err) }
	switch {
	case t.Module == "template" && (e.Text == "dict2items" || isLookup(e, "dict")):
	case e.Op == j2.Filter && e.Text == "dict2items" && len(e.Args) == 1:
		x, err := w.Write(e.Args[0])
		if err != nil {
			return fail(err)
		}
		return round{each: yamlnode.Text("{{ toPairs(" + x.Text + ") }}")}, true
	case isLookup(e, "dict"):
		x, err := w.Write(e.Args[2])
		if err != nil {
			return fail(err)
		}
		return round{each: yamlnode.Text("{{ toPairs(" + x.Text + ") }}")}, true
	case e.Op == j2.Filter && e.Text == "product" && len(e.Args) == 2:
		outer, err := w.Write(e.Args[0])
		if err != nil {
			return fail(err)
		}
		inner, err := w.Write(e.Args[1])
		if err != nil {
			return fail(err)
		}
		return round{each: yamlnode.Text("{{ " + inner.Text + " }}"), outer: yamlnode.Text("{{ " + outer.Text + " }}")}, true
	case e.Op == j2.Filter && e.Text == "subelements" && len(e.Args) >= 2:
		outer, err := w.Write(e.Args[0])
		name, isText := e.Args[1].Lit.(string)
		if err != nil || !isText || !expression.IsWord(name) {
			return fail(expression.Unknown("subelements of these"))
		}
		return round{each: yamlnode.Text("{{ Item." + name + suffixOf(len(e.Args) > 2) + " }}"), outer: yamlnode.Text("{{ " + outer.Text + " }}")}, true
	}
	x, err := w.Write(e)
	if err != nil {
		return fail(err)
	}
	switch x.Kind {
	case expression.MapKind:
		return round{each: yamlnode.Text("{{ keys(" + x.Text + ") }}")}, true
	case expression.TextKind:
		return round{each: yamlnode.Text("{{ [" + x.Text + "] }}")}, true
	}
	return round{each: yamlnode.Text("{{ " + x.Text + " }}")}, true
}

// flattened is a list of with_items some of whose elements may be lists themselves.
func flattened(w *expression.Writer, n *yaml.Node) (flat *yaml.Node, ok bool, err error) {
	lists := false
	for _, one := range n.Content {
		lists = lists || one.Kind == yaml.SequenceNode
		if e := expression.SoleExpr(one); e != nil {
			t, err := w.Write(e)
			if err != nil {
				return nil, true, err
			}
			lists = lists || t.Kind == expression.ListKind || t.Kind == expression.AnyKind
		}
	}
	if !lists {
		return nil, false, nil
	}
	e, err := expression.ExprOf(n)
	if err != nil {
		return nil, true, err
	}
	t, err := w.Write(e)
	return yamlnode.Text("{{ flatten(" + t.Text + ") }}"), true, err
}

func overSequence(t *Task, n *yaml.Node) (round, bool) {
	from, to := "1", ""
	for _, word := range yamlnode.SplitWords(n.Value) {
		key, value, _ := strings.Cut(word, "=")
		text := yamlnode.Unquote(value)
		if e := expression.SoleExpr(yamlnode.Text(text)); e != nil {
			x, err := t.W.Write(e)
			if err != nil {
				return round{}, failed(t, err)
			}
			text = "(" + x.Text + ")"
		} else if _, err := strconv.Atoi(text); err != nil {
			return round{}, failed(t, expression.Unknown("with_sequence %s", n.Value))
		}
		switch key {
		case "start":
			from = text
		case "end":
			to = text
		case "count":
			to = text
		default:
			return round{}, failed(t, expression.Unknown("with_sequence with %s", key))
		}
	}
	if to == "" {
		return round{}, failed(t, expression.Unknown("with_sequence %s", n.Value))
	}
	return round{each: yamlnode.Text("{{ map(" + from + ".." + to + ", string(#)) }}")}, true
}

// overFiles lists the files that a pattern of with_fileglob names.
func overFiles(t *Task, n *yaml.Node) (round, bool) {
	var list []string
	for _, one := range yamlnode.Items(n) {
		if yamlnode.HasJinja(one) || filepath.IsAbs(one.Value) {
			return round{}, failed(t, expression.Unknown("with_fileglob with %s", expression.Shortened(one.Value)))
		}
		list = append(list, t.File.Glob(one.Value)...)
	}
	slices.Sort(list)
	if len(list) == 0 {
		return round{}, failed(t, expression.Unknown("with_fileglob, which finds no files"))
	}
	return round{each: yamlnode.Texts(list...)}, true
}

// Looped gives an entry its each, and puts it into a block for a loop in a loop.
func (t *Task) Looped(e *layout.Entry) *layout.Entry {
	if !t.IsLoop() {
		return e
	}
	r, ok := over(t)
	if !ok {
		return e
	}
	e.Props = append([]layout.Property{{Key: "each", Value: r.each}}, e.Props...)
	if r.outer == nil {
		return e
	}
	return &layout.Entry{Block: []*layout.Entry{e}, Props: []layout.Property{{Key: "each", Value: r.outer}}}
}

// fieldOfItem is a field of an element, where it has to be there.
var fieldOfItem = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bItem((?:\.\w+|\[\d\])+)(\s*\?\?)?`) })

// nameElements has the names of elements that are not texts be made of those of their fields that the
// resource mentions: a map is no part of a name.
func nameElements(t *Task, e *layout.Entry) {
	if element, ok := t.Scope.Find(t.LoopVar()); !t.IsLoop() || ok && (element.Kind == expression.TextKind || element.Kind == expression.NumberKind) {
		return
	}
	before, ok := strings.CutSuffix(e.Name, " {{ Item }}")
	if !ok {
		return
	}
	var fields []string
	shown := func(item string) string { return " {{ " + item + " }}" }
	if e.Type == "set" { // its elements have names only for messages, and may be of any type
		shown = func(item string) string { return " {{ replace(toJSON(" + item + "), \"\\n\", '') }}" }
		e.Name = before + shown("Item")
	}
	for _, p := range e.Props {
		if p.Key == "each" {
			continue
		}
		yamlnode.Walk(p.Value, func(n *yaml.Node) {
			for _, m := range fieldOfItem().FindAllStringSubmatch(n.Value, -1) {
				if field := shown("Item" + m[1]); m[2] == "" && !slices.Contains(fields, field) {
					fields = append(fields, field)
				}
			}
		})
	}
	if len(fields) > 0 {
		e.Name = before + strings.Join(fields, "")
	}
}

// Rounds are a task for each element of a loop over a literal list, where what is read for each is a file of the
// play: which template is rendered has to be known. There are none otherwise.
func (t *Task) Rounds() []*Task {
	key := t.LoopKey()
	if t.Module != "template" && t.Module != "include_tasks" && t.Module != "import_tasks" && t.Module != "include" || key != "loop" && key != "with_items" || t.IsHandler {
		return nil
	}
	n := t.Keywords[key]
	src := t.Args["src"]
	if t.Module != "template" {
		src = yamlnode.Text(t.Line)
		if f := t.Args["file"]; f != nil {
			src = f
		}
	}
	if src == nil || !strings.Contains(src.Value, t.LoopVar()) || n.Kind != yaml.SequenceNode || len(n.Content) > 40 || t.Keywords["register"] != nil {
		return nil
	}
	var list []*Task
	for _, w := range t.Elements() {
		round := *t
		round.Scope, round.W = w.Scope, w
		round.Keywords = maps.Clone(t.Keywords)
		round.Plain, round.Problems = true, slices.Clone(t.Problems)
		list = append(list, &round)
	}
	return list
}

// Elements are writers to which the element of a loop over a literal list is each of its elements. There are none of
// other loops.
func (t *Task) Elements() []*expression.Writer {
	n := t.Keywords[t.LoopKey()]
	if key := t.LoopKey(); key != "loop" && key != "with_items" || n.Kind != yaml.SequenceNode {
		return nil
	}
	var list []*expression.Writer
	for _, one := range n.Content {
		e, err := expression.ExprOf(one)
		if err != nil || expression.SoleExpr(one) != nil {
			return nil
		}
		s := t.Scope.Outer.Child()
		s.Names[t.LoopVar()] = expression.Binding{Expr: e}
		list = append(list, &expression.Writer{Scope: s})
	}
	return list
}

// Each returns the list that the loop of a task goes over, as it is written.
func Each(t *Task) *yaml.Node {
	r, _ := over(t)
	return r.each
}
