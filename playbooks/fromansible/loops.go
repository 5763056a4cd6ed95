package fromansible

import (
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
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
	if v := get(t.keywords["loop_control"], "loop_var"); v != nil {
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
	element := binding{text: "Item"}
	n := t.keywords[key]
	switch key {
	case "with_dict":
		element.pair = true
	case "with_nested", "with_cartesian", "with_subelements":
		element.twin = true
	case "loop":
		if e := soleExpr(n); e != nil {
			element = t.elementOf(e)
		} else {
			element.kind = kindOfElements(n)
		}
	case "with_items", "with_list", "with_flattened":
		element.kind = kindOfElements(n)
		if e := soleExpr(n); e != nil {
			element = t.elementOf(e)
		}
	case "with_sequence", "with_fileglob", "with_first_found":
		element.kind = textKind
	}
	t.scope.names[t.loopVar()] = element
}

// elementOf is what the elements of an expression are.
func (t *task) elementOf(e *j2.Expr) binding {
	b := binding{text: "Item"}
	switch {
	case e.Op == j2.Filter && e.Text == "dict2items" && len(e.Args) == 1, isLookup(e, "dict"):
		b.pair = true
	case e.Op == j2.Filter && (e.Text == "product" || e.Text == "subelements"):
		b.twin = true
	case e.Op == j2.Filter && e.Text == "list" && len(e.Args) == 1:
		return t.elementOf(e.Args[0])
	case e.Op == j2.Attr && e.Text == "results" && e.Args[0].Op == j2.Name:
		if of, ok := t.w.binding(e.Args[0].Text); ok && of.result != nil && of.result.looped {
			one := *of.result
			one.base, one.looped = "Item", false
			b.result = &one
		}
	default:
		if n := t.c.nodeOf(e); n != nil {
			b.kind = kindOfElements(n)
		}
	}
	return b
}

func isLookup(e *j2.Expr, plugin string) bool {
	return e.Op == j2.Call && e.Args[0].Op == j2.Name && (e.Args[0].Text == "lookup" || e.Args[0].Text == "query" || e.Args[0].Text == "q") && len(e.Args) == 3 && e.Args[1].Lit == plugin
}

func kindOfElements(n *yaml.Node) kind {
	if n == nil || n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		return anyKind
	}
	k := kindOfNode(n.Content[0])
	for _, one := range n.Content {
		if kindOfNode(one) != k {
			return anyKind
		}
	}
	return k
}

// over writes what the loop of the task goes over.
func (t *task) over() (round, bool) {
	key := t.loopKey()
	n := t.keywords[key]
	w := &writer{scope: t.scope.outer}
	fail := func(err error) (round, bool) {
		t.fail(err)
		return round{}, false
	}
	switch key {
	case "loop", "with_items", "with_list", "with_flattened":
		e := soleExpr(n)
		if e != nil {
			return t.overExpr(w, e)
		}
		if n.Kind != yaml.SequenceNode {
			if key == "loop" {
				return fail(unknownf("a loop over what is no list"))
			}
			n = &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{n}}
		}
		if key != "loop" && key != "with_list" {
			if flat, ok, err := flattened(w, n); ok {
				return round{each: flat}, err == nil || t.failed(err)
			}
		}
		v, err := w.value(n)
		if err != nil {
			return fail(err)
		}
		return round{each: v}, true
	case "with_dict":
		e := soleExpr(n)
		if e == nil {
			var err error
			if e, err = exprOf(n); err != nil {
				return fail(err)
			}
		}
		x, err := w.write(e)
		if err != nil {
			return fail(err)
		}
		return round{each: textNode("{{ toPairs(" + x.text + ") }}")}, true
	case "with_nested", "with_cartesian":
		if n.Kind != yaml.SequenceNode || len(n.Content) != 2 {
			return fail(unknownf("%s of other than two lists", key))
		}
		outer, err := w.value(n.Content[0])
		if err != nil {
			return fail(err)
		}
		inner, err := w.value(n.Content[1])
		if err != nil {
			return fail(err)
		}
		return round{each: inner, outer: outer}, true
	case "with_subelements":
		if n.Kind != yaml.SequenceNode || len(n.Content) < 2 || !isWord(n.Content[1].Value) {
			return fail(unknownf("with_subelements of these"))
		}
		outer, err := w.value(n.Content[0])
		if err != nil {
			return fail(err)
		}
		return round{each: textNode("{{ Item." + n.Content[1].Value + suffixOf(len(n.Content) > 2) + " }}"), outer: outer}, true
	case "with_sequence":
		return t.overSequence(n)
	case "with_fileglob":
		return t.overFiles(n)
	}
	return fail(unknownf("%s", key))
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

func (t *task) overExpr(w *writer, e *j2.Expr) (round, bool) {
	if e.Op == j2.Filter && e.Text == "list" && len(e.Args) == 1 {
		e = e.Args[0]
	}
	fail := func(err error) (round, bool) { return round{}, t.failed(err) }
	switch {
	case e.Op == j2.Filter && e.Text == "dict2items" && len(e.Args) == 1:
		x, err := w.write(e.Args[0])
		if err != nil {
			return fail(err)
		}
		return round{each: textNode("{{ toPairs(" + x.text + ") }}")}, true
	case isLookup(e, "dict"):
		x, err := w.write(e.Args[2])
		if err != nil {
			return fail(err)
		}
		return round{each: textNode("{{ toPairs(" + x.text + ") }}")}, true
	case e.Op == j2.Filter && e.Text == "product" && len(e.Args) == 2:
		outer, err := w.write(e.Args[0])
		if err != nil {
			return fail(err)
		}
		inner, err := w.write(e.Args[1])
		if err != nil {
			return fail(err)
		}
		return round{each: textNode("{{ " + inner.text + " }}"), outer: textNode("{{ " + outer.text + " }}")}, true
	case e.Op == j2.Filter && e.Text == "subelements" && len(e.Args) >= 2:
		outer, err := w.write(e.Args[0])
		name, isText := e.Args[1].Lit.(string)
		if err != nil || !isText || !isWord(name) {
			return fail(unknownf("subelements of these"))
		}
		return round{each: textNode("{{ Item." + name + suffixOf(len(e.Args) > 2) + " }}"), outer: textNode("{{ " + outer.text + " }}")}, true
	}
	x, err := w.write(e)
	if err != nil {
		return fail(err)
	}
	switch x.kind {
	case mapKind:
		return round{each: textNode("{{ keys(" + x.text + ") }}")}, true
	case textKind:
		return round{each: textNode("{{ [" + x.text + "] }}")}, true
	}
	return round{each: textNode("{{ " + x.text + " }}")}, true
}

// flattened is a list of with_items some of whose elements may be lists themselves.
func flattened(w *writer, n *yaml.Node) (flat *yaml.Node, ok bool, err error) {
	lists := false
	for _, one := range n.Content {
		lists = lists || one.Kind == yaml.SequenceNode
		if e := soleExpr(one); e != nil {
			t, err := w.write(e)
			if err != nil {
				return nil, true, err
			}
			lists = lists || t.kind == listKind || t.kind == anyKind
		}
	}
	if !lists {
		return nil, false, nil
	}
	e, err := exprOf(n)
	if err != nil {
		return nil, true, err
	}
	t, err := w.write(e)
	return textNode("{{ flatten(" + t.text + ") }}"), true, err
}

func (t *task) overSequence(n *yaml.Node) (round, bool) {
	from, to := "1", ""
	for _, word := range splitWords(n.Value) {
		key, value, _ := strings.Cut(word, "=")
		text := unquote(value)
		if e := soleExpr(textNode(text)); e != nil {
			x, err := t.w.write(e)
			if err != nil {
				return round{}, t.failed(err)
			}
			text = "(" + x.text + ")"
		} else if _, err := strconv.Atoi(text); err != nil {
			return round{}, t.failed(unknownf("with_sequence %s", n.Value))
		}
		switch key {
		case "start":
			from = text
		case "end":
			to = text
		case "count":
			to = text
		default:
			return round{}, t.failed(unknownf("with_sequence with %s", key))
		}
	}
	if to == "" {
		return round{}, t.failed(unknownf("with_sequence %s", n.Value))
	}
	return round{each: textNode("{{ map(" + from + ".." + to + ", string(#)) }}")}, true
}

// overFiles lists the files that a pattern of with_fileglob names.
func (t *task) overFiles(n *yaml.Node) (round, bool) {
	var list []string
	for _, one := range items(n) {
		if hasJinja(one) || filepath.IsAbs(one.Value) {
			return round{}, t.failed(unknownf("with_fileglob with %s", shortened(one.Value)))
		}
		r := t.c.role
		for _, base := range []string{filepath.Join(r.dir, "files"), r.dir} {
			found, _ := filepath.Glob(filepath.Join(base, one.Value))
			for _, path := range found {
				if rel, err := filepath.Rel(base, path); err == nil && isFile(path) {
					if _, err := t.c.localFile("files", rel); err == nil {
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
		return round{}, t.failed(unknownf("with_fileglob, which finds no files"))
	}
	return round{each: textsNode(list...)}, true
}

// looped gives an entry its each, and puts it into a block for a loop in a loop.
func (t *task) looped(e *entry) *entry {
	if !t.isLoop() {
		return e
	}
	r, ok := t.over()
	if !ok {
		return e
	}
	e.props = append([]property{{"each", r.each}}, e.props...)
	if r.outer == nil {
		return e
	}
	return &entry{block: []*entry{e}, props: []property{{"each", r.outer}}}
}

// unroll converts a loop over a literal list element by element, where what is read for each
// is a file of the play: which template is rendered has to be known.
func (t *task) unroll() []*entry {
	key := t.loopKey()
	if t.module != "template" && t.module != "include_tasks" && t.module != "import_tasks" && t.module != "include" || key != "loop" && key != "with_items" || t.handler {
		return nil
	}
	n := t.keywords[key]
	src := t.args["src"]
	if t.module != "template" {
		src = textNode(t.free)
		if f := t.args["file"]; f != nil {
			src = f
		}
	}
	if src == nil || !strings.Contains(src.Value, t.loopVar()) || n.Kind != yaml.SequenceNode || len(n.Content) > 40 {
		return nil
	}
	for _, one := range n.Content {
		if soleExpr(one) != nil {
			return nil
		}
	}
	if t.keywords["register"] != nil {
		return nil
	}
	var list []*entry
	for i, one := range n.Content {
		e, err := exprOf(one)
		if err != nil {
			return nil
		}
		round := *t
		round.scope = t.scope.outer.child()
		round.scope.names[t.loopVar()] = binding{expr: e}
		round.w = &writer{scope: round.scope}
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
