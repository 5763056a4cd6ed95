package fromansible

import (
	"path/filepath"
	"regexp"
	"slices"
	"sort"
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
func (t *task) loopKey() string {
	for key := range t.keywords {
		if key == "loop" || strings.HasPrefix(key, "with_") {
			return key
		}
	}
	return ""
}

func (t *task) isLoop() bool { return t.loopKey() != "" && !t.plain }

// loopVar is what the element is called.
func (t *task) loopVar() string {
	if v := yamlnode.Get(t.keywords["loop_control"], "loop_var"); v != nil {
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
func (t *task) loop() {
	key := t.loopKey()
	control := t.keywords["loop_control"]
	if key == "" || t.plain {
		return
	}
	if control != nil && control.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(control.Content); i += 2 {
			switch name := control.Content[i].Value; name {
			case "loop_var", "label":
			default:
				t.problem("loop_control.%s", name)
			}
		}
	}
	element := expression.Binding{Text: "Item"}
	n := t.keywords[key]
	switch key {
	case "with_dict":
		element.Pair = true
	case "with_nested", "with_cartesian", "with_subelements":
		element.Twin = true
	case "loop":
		if e := expression.SoleExpr(n); e != nil {
			element = t.elementOf(e)
		} else {
			element.Kind = kindOfElements(n)
		}
	case "with_items", "with_list", "with_flattened":
		element.Kind = kindOfElements(n)
		if e := expression.SoleExpr(n); e != nil {
			element = t.elementOf(e)
		}
	case "with_sequence", "with_fileglob", "with_first_found":
		element.Kind = expression.TextKind
	}
	t.scope.Names[t.loopVar()] = element
}

// elementOf is what the elements of an expression are.
func (t *task) elementOf(e *j2.Expr) expression.Binding {
	b := expression.Binding{Text: "Item"}
	switch {
	case e.Op == j2.Filter && e.Text == "dict2items" && len(e.Args) == 1, isLookup(e, "dict"):
		b.Pair = true
	case e.Op == j2.Filter && (e.Text == "product" || e.Text == "subelements"):
		b.Twin = true
	case e.Op == j2.Filter && e.Text == "list" && len(e.Args) == 1:
		return t.elementOf(e.Args[0])
	case e.Op == j2.Attr && e.Text == "results" && e.Args[0].Op == j2.Name:
		if of, ok := t.w.Binding(e.Args[0].Text); ok && of.Result != nil && of.Result.Looped {
			one := *of.Result
			one.Base, one.Looped = "Item", false
			b.Result = &one
		}
	default:
		if n := t.c.NodeOf(e); n != nil {
			b.Kind = kindOfElements(n)
		}
	}
	return b
}

func isLookup(e *j2.Expr, plugin string) bool {
	return e.Op == j2.Call && e.Args[0].Op == j2.Name && (e.Args[0].Text == "lookup" || e.Args[0].Text == "query" || e.Args[0].Text == "q") && len(e.Args) == 3 && e.Args[1].Lit == plugin
}

func kindOfElements(n *yaml.Node) expression.Kind {
	if n == nil || n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		return expression.AnyKind
	}
	k := expression.KindOfNode(n.Content[0])
	for _, one := range n.Content {
		if expression.KindOfNode(one) != k {
			return expression.AnyKind
		}
	}
	return k
}

// over writes what the loop of the task goes over.
func (t *task) over() (round, bool) {
	key := t.loopKey()
	n := t.keywords[key]
	w := &expression.Writer{Scope: t.scope.Outer}
	fail := func(err error) (round, bool) {
		t.fail(err)
		return round{}, false
	}
	switch key {
	case "loop", "with_items", "with_list", "with_flattened":
		e := expression.SoleExpr(n)
		if e != nil {
			return t.overExpr(w, e)
		}
		if n.Kind != yaml.SequenceNode {
			if key == "loop" {
				return fail(expression.Unknown("a loop over what is no list"))
			}
			n = &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{n}}
		}
		if key != "loop" && key != "with_list" {
			if flat, ok, err := flattened(w, n); ok {
				return round{each: flat}, err == nil || t.failed(err)
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
		x, err := w.Write(e)
		if err != nil {
			return fail(err)
		}
		return round{each: yamlnode.Text("{{ toPairs(" + x.Text + ") }}")}, true
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
		return t.overSequence(n)
	case "with_fileglob":
		return t.overFiles(n)
	}
	return fail(expression.Unknown("%s", key))
}

func (t *task) failed(err error) bool {
	t.fail(err)
	return false
}

// suffixOf is the default of a list that elements may lack.
func suffixOf(skip bool) string {
	if skip {
		return " ?? []"
	}
	return ""
}

func (t *task) overExpr(w *expression.Writer, e *j2.Expr) (round, bool) {
	if e.Op == j2.Filter && e.Text == "list" && len(e.Args) == 1 {
		e = e.Args[0]
	}
	fail := func(err error) (round, bool) { return round{}, t.failed(err) }
	switch {
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

func (t *task) overSequence(n *yaml.Node) (round, bool) {
	from, to := "1", ""
	for _, word := range splitWords(n.Value) {
		key, value, _ := strings.Cut(word, "=")
		text := unquote(value)
		if e := expression.SoleExpr(yamlnode.Text(text)); e != nil {
			x, err := t.w.Write(e)
			if err != nil {
				return round{}, t.failed(err)
			}
			text = "(" + x.Text + ")"
		} else if _, err := strconv.Atoi(text); err != nil {
			return round{}, t.failed(expression.Unknown("with_sequence %s", n.Value))
		}
		switch key {
		case "start":
			from = text
		case "end":
			to = text
		case "count":
			to = text
		default:
			return round{}, t.failed(expression.Unknown("with_sequence with %s", key))
		}
	}
	if to == "" {
		return round{}, t.failed(expression.Unknown("with_sequence %s", n.Value))
	}
	return round{each: yamlnode.Text("{{ map(" + from + ".." + to + ", string(#)) }}")}, true
}

// overFiles lists the files that a pattern of with_fileglob names.
func (t *task) overFiles(n *yaml.Node) (round, bool) {
	var list []string
	for _, one := range yamlnode.Items(n) {
		if yamlnode.HasJinja(one) || filepath.IsAbs(one.Value) {
			return round{}, t.failed(expression.Unknown("with_fileglob with %s", expression.Shortened(one.Value)))
		}
		r := t.c.role
		for _, base := range []string{filepath.Join(r.dir, "files"), r.dir} {
			found, _ := filepath.Glob(filepath.Join(base, one.Value))
			for _, path := range found {
				if rel, err := filepath.Rel(base, path); err == nil && isFile(path) {
					if _, err := t.c.LocalFile("files", rel); err == nil {
						below, _ := filepath.Rel(r.dir, path)
						list = append(list, filepath.ToSlash(below))
					}
				}
			}
			if len(found) > 0 {
				break
			}
		}
	}
	sort.Strings(list)
	if len(list) == 0 {
		return round{}, t.failed(expression.Unknown("with_fileglob, which finds no files"))
	}
	return round{each: yamlnode.Texts(list...)}, true
}

// looped gives an entry its each, and puts it into a block for a loop in a loop.
func (t *task) looped(e *layout.Entry) *layout.Entry {
	if !t.isLoop() {
		return e
	}
	r, ok := t.over()
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
func (t *task) nameElements(e *layout.Entry) {
	if element, ok := t.scope.Find(t.loopVar()); !t.isLoop() || ok && (element.Kind == expression.TextKind || element.Kind == expression.NumberKind) {
		return
	}
	before, ok := strings.CutSuffix(e.Name, " {{ Item }}")
	if !ok {
		return
	}
	var fields []string
	for _, p := range e.Props {
		if p.Key == "each" {
			continue
		}
		yamlnode.Walk(p.Value, func(n *yaml.Node) {
			for _, m := range fieldOfItem().FindAllStringSubmatch(n.Value, -1) {
				if field := " {{ Item" + m[1] + " }}"; m[2] == "" && !slices.Contains(fields, field) {
					fields = append(fields, field)
				}
			}
		})
	}
	if len(fields) > 0 {
		e.Name = before + strings.Join(fields, "")
	}
}

// unroll converts a loop over a literal list element by element, where what is read for each
// is a file of the play: which template is rendered has to be known.
func (t *task) unroll() []*layout.Entry {
	key := t.loopKey()
	if t.module != "template" && t.module != "include_tasks" && t.module != "import_tasks" && t.module != "include" || key != "loop" && key != "with_items" || t.handler {
		return nil
	}
	n := t.keywords[key]
	src := t.args["src"]
	if t.module != "template" {
		src = yamlnode.Text(t.free)
		if f := t.args["file"]; f != nil {
			src = f
		}
	}
	if src == nil || !strings.Contains(src.Value, t.loopVar()) || n.Kind != yaml.SequenceNode || len(n.Content) > 40 {
		return nil
	}
	for _, one := range n.Content {
		if expression.SoleExpr(one) != nil {
			return nil
		}
	}
	if t.keywords["register"] != nil {
		return nil
	}
	var list []*layout.Entry
	for i, one := range n.Content {
		e, err := expression.ExprOf(one)
		if err != nil {
			return nil
		}
		round := *t
		round.scope = t.scope.Outer.Child()
		round.scope.Names[t.loopVar()] = expression.Binding{Expr: e}
		round.w = &expression.Writer{Scope: round.scope}
		round.plain, round.problems, round.entries, round.main, round.notes = true, nil, nil, nil, nil
		round.convert()
		if len(round.problems) > 0 {
			round.plain = false
			return round.finish()
		}
		if i > 0 {
			round.name = ""
			t.c.out.Report.uncount = true
		}
		list = append(list, round.finish()...)
		t.c.out.Report.uncount = false
	}
	return list
}
