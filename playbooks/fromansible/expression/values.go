package expression

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// A part of a text: literal, or an expression.
type part struct {
	Text string
	Term *Term
}

// inPlaybook is how texts of playbooks are read.
var inPlaybook = j2.Options{KeepLineBreaks: true, AsIs: true}

// Parts takes a text with Jinja apart.
func (w *Writer) Parts(text string) ([]part, error) {
	nodes, err := j2.ParseTemplate(text, inPlaybook)
	if err != nil {
		return nil, unknownError(err.Error())
	}
	return w.partsOf(nodes)
}

func (w *Writer) partsOf(nodes []*j2.Node) ([]part, error) {
	var list []part
	for _, n := range nodes {
		switch n.Kind {
		case j2.Text:
			if n.Text != "" {
				list = append(list, part{Text: n.Text})
			}
		case j2.Print:
			t, err := w.Write(n.Expr)
			if err != nil {
				return nil, err
			}
			list = append(list, part{Term: &t})
		case j2.If:
			t, err := w.chosen(n)
			if err != nil {
				return nil, err
			}
			list = append(list, part{Term: &t})
		case j2.Comment:
		default:
			return nil, Unknown("%s in a value", Shortened(n.Raw))
		}
	}
	return list, nil
}

// chosen writes {% if %} in a value as a condition that gives a text.
func (w *Writer) chosen(n *j2.Node) (Term, error) {
	otherwise, err := w.textTerm(n.Else)
	if err != nil {
		return Term{}, err
	}
	for i := len(n.Branches) - 1; i >= 0; i-- {
		c, err := w.Condition(n.Branches[i].If)
		if err != nil {
			return c, err
		}
		then, err := w.textTerm(n.Branches[i].Body)
		if err != nil {
			return then, err
		}
		otherwise = Term{c.In(CondPrec+1) + " ? " + then.In(CondPrec+1) + " : " + otherwise.In(CondPrec), CondPrec, TextKind}
	}
	return otherwise, nil
}

// textTerm writes parts of a text as one expression.
func (w *Writer) textTerm(nodes []*j2.Node) (Term, error) {
	parts, err := w.partsOf(nodes)
	if err != nil {
		return Term{}, err
	}
	t := Term{QuoteText(""), Whole, TextKind}
	for i, p := range parts {
		one := Term{QuoteText(p.Text), Whole, TextKind}
		if p.Term != nil {
			if one, err = w.Printed(*p.Term); err != nil {
				return Term{}, err
			}
			if one.Kind != TextKind {
				one = Term{"string(" + one.Text + ")", Whole, TextKind}
			}
		}
		if i == 0 {
			t = one
		} else {
			t = Term{t.In(adding) + " + " + one.In(adding+1), adding, TextKind}
		}
	}
	return t, nil
}

// LiteralOf is the text of a literal of an expression.
func LiteralOf(text string) (string, bool) {
	if len(text) >= 2 && text[0] == '\'' && strings.IndexByte(text[1:], '\'') == len(text)-2 {
		return text[1 : len(text)-1], true
	}
	s, err := strconv.Unquote(text)
	return s, err == nil && text[0] == '"'
}

// Fixed is a text whose expressions are literals.
func (w *Writer) Fixed(text string) (string, bool) {
	parts, err := w.Parts(text)
	if err != nil {
		return "", false
	}
	out := ""
	for _, p := range parts {
		literal := p.Text
		if p.Term != nil {
			var ok bool
			if literal, ok = literalText(p.Term.Text, w); !ok {
				return "", false
			}
		}
		out += literal
	}
	return out, true
}

// literalText returns the text of a term whose value is known. Data of a scope may have a literal value.
func literalText(term string, w *Writer) (string, bool) {
	if name, is := strings.CutPrefix(term, "Data."); is {
		if b, bound := w.Scope.Find(name); bound && b.Literal != nil {
			term = w.Literal(b.Literal.Lit).Text
		}
	}
	return LiteralOf(term)
}

// Typed writes a value of Ansible, and returns its type.
func Typed(n *yaml.Node, w *Writer) (*yaml.Node, Kind, error) {
	v, err := w.Value(n)
	kind := KindOfNode(n)
	if e := SoleExpr(n); e != nil && err == nil {
		var t Term
		t, err = w.Write(e)
		kind = t.Kind
	} else if n.Kind == yaml.ScalarNode && yamlnode.HasJinja(n) {
		kind = TextKind
	}
	return v, kind, err
}

// Text writes a text of Ansible as one of a manifest.
func (w *Writer) Text(s string) (string, error) {
	if !j2.HasTags(s) {
		return Escape(s), nil
	}
	parts, err := w.Parts(s)
	if err != nil {
		return "", err
	}
	if soleAndBreak().MatchString(s) && len(parts) == 2 && parts[0].Term != nil && parts[0].Term.Kind != TextKind {
		return withoutBreak(*parts[0].Term, w)
	}
	var b strings.Builder
	for _, p := range parts {
		literal, isText := "", false
		if p.Term != nil {
			literal, isText = LiteralOf(p.Term.Text)
		}
		switch {
		case p.Term == nil:
			b.WriteString(Escape(p.Text))
		case isText && len(parts) > 1:
			b.WriteString(Escape(literal))
		case len(parts) > 1:
			t, err := w.Printed(*p.Term)
			if err != nil {
				return "", err
			}
			b.WriteString("{{ " + t.Text + " }}")
		default:
			b.WriteString("{{ " + p.Term.Text + " }}")
		}
	}
	return b.String(), nil
}

// soleAndBreak finds texts of one variable and a line break. Ansible takes the variable for the whole text, without the line
// break, if the value has another type.
var soleAndBreak = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\{\{\s*\w+\s*\}\}\n$`) })

// withoutBreak writes such a text.
func withoutBreak(t Term, w *Writer) (string, error) {
	value := t.In(CondPrec + 1)
	printed, err := w.Printed(t)
	return "{{ " + printed.Text + " }}{{ type(" + value + ") == 'string' ? \"\\n\" : '' }}", err
}

// Printed is a value as Python prints it in a text: booleans are True and False, and what has been divided has a fraction.
func (w *Writer) Printed(t Term) (Term, error) {
	switch t.Kind {
	case floatKind:
		return Term{}, Unknown("a number in a text that has a fraction in Python, if only .0: int makes a whole one of it")
	case maybeBoolKind:
		return printedMaybe(t, w)
	case boolKind:
		if name, is := strings.CutPrefix(t.Text, "Data."); is && !given(strings.FieldsFunc(name, func(r rune) bool { return r == '.' || r == '[' })[0], w) {
			return printedMaybe(t, w) // the inventory may have another type
		}
		return Term{t.In(CondPrec+1) + " ? " + QuoteText("True") + " : " + QuoteText("False"), CondPrec, TextKind}, nil
	}
	return t, nil
}

// given reports whether the type of a variable is known: a scope or the inventory sets it.
func given(name string, w *Writer) bool {
	_, bound := w.Scope.Find(name)
	return bound || w.Scope.Files.Given(name)
}

// printedMaybe writes a value that may be a boolean, or of another type, as Python prints it.
func printedMaybe(t Term, w *Writer) (Term, error) {
	return Term{"type(" + t.Text + ") == 'bool' ? (" + t.Text + " ? 'True' : 'False') : " + t.In(CondPrec), CondPrec, TextKind}, nil
}

// Escape writes a literal text so that nothing in it is an expression.
func Escape(s string) string {
	if !strings.Contains(s, "${") && !strings.Contains(s, "{{") && !strings.Contains(s, "{%") {
		return s
	}
	return strings.NewReplacer("${", "${ '${' }", "{{", "{{ '{{' }}", "{%", "{{ '{%' }}").Replace(s)
}

// Value writes a value of Ansible, whatever its shape.
func (w *Writer) Value(n *yaml.Node) (*yaml.Node, error) {
	switch {
	case n.Kind == yaml.AliasNode:
		return w.Value(n.Alias)
	case n.Kind == yaml.ScalarNode && n.Tag == "!unsafe":
		return yamlnode.Text(Escape(n.Value)), nil
	case n.Kind == yaml.ScalarNode && n.Tag == "!vault":
		copied := *n
		return &copied, nil
	case yamlnode.PlainBool(n):
		b, _ := yamlnode.BoolOf(n)
		return yamlnode.Bool(b), nil
	case n.Kind == yaml.ScalarNode && n.ShortTag() != "!!str":
		copied := *n
		copied.HeadComment, copied.LineComment, copied.FootComment = "", "", ""
		return &copied, nil
	case n.Kind == yaml.ScalarNode:
		s, err := w.Text(n.Value)
		return yamlnode.Text(s), err
	}
	out := &yaml.Node{Kind: n.Kind, Tag: n.Tag, Style: n.Style}
	var errs error
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			key := *c
			key.HeadComment, key.LineComment, key.FootComment = "", "", ""
			if yamlnode.HasJinja(c) {
				return nil, Unknown("a key that is an expression")
			}
			if is := yamlnode.OddKey(c); is != "" {
				return nil, Unknown("the key %s, which is %s for Ansible: write it in quotes if it is a text", c.Value, is)
			}
			out.Content = append(out.Content, &key)
			continue
		}
		v, err := w.Value(c)
		errs = errors.Join(errs, err)
		out.Content = append(out.Content, v)
	}
	return out, errs
}

// SoleExpr is the expression of a text that is nothing else.
func SoleExpr(n *yaml.Node) *j2.Expr {
	if n == nil || n.Kind != yaml.ScalarNode || !yamlnode.HasJinja(n) {
		return nil
	}
	nodes, err := j2.ParseTemplate(strings.TrimSpace(n.Value), inPlaybook)
	if err != nil || len(nodes) != 1 || nodes[0].Kind != j2.Print {
		return nil
	}
	return nodes[0].Expr
}

// ExprOf is the expression that a value of a variable of a task stands for.
func ExprOf(n *yaml.Node) (*j2.Expr, error) {
	switch {
	case n.Kind == yaml.AliasNode:
		return ExprOf(n.Alias)
	case n.Kind == yaml.SequenceNode:
		list := &j2.Expr{Op: j2.List}
		for _, c := range n.Content {
			e, err := ExprOf(c)
			if err != nil {
				return nil, err
			}
			list.Args = append(list.Args, e)
		}
		return list, nil
	case n.Kind == yaml.MappingNode:
		dict := &j2.Expr{Op: j2.Dict}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if is := yamlnode.OddKey(n.Content[i]); is != "" {
				return nil, Unknown("the key %s, which is %s for Ansible: write it in quotes if it is a text", n.Content[i].Value, is)
			}
			e, err := ExprOf(n.Content[i+1])
			if err != nil {
				return nil, err
			}
			dict.Args = append(dict.Args, &j2.Expr{Op: j2.Literal, Lit: n.Content[i].Value}, e)
		}
		return dict, nil
	case n.Tag == "!vault":
		return nil, Unknown("an encrypted variable of a task")
	}
	if yamlnode.PlainBool(n) {
		b, _ := yamlnode.BoolOf(n)
		return &j2.Expr{Op: j2.Literal, Lit: b}, nil
	}
	if n.ShortTag() != "!!str" {
		var v any
		if err := n.Decode(&v); err != nil {
			return nil, err
		}
		switch x := v.(type) {
		case int:
			v = int64(x)
		case nil, bool, float64:
		default:
			v = n.Value
		}
		return &j2.Expr{Op: j2.Literal, Lit: v}, nil
	}
	if !yamlnode.HasJinja(n) {
		return &j2.Expr{Op: j2.Literal, Lit: n.Value}, nil
	}
	nodes, err := j2.ParseTemplate(n.Value, inPlaybook)
	if err != nil {
		return nil, unknownError(err.Error())
	}
	return joinedExpr(nodes)
}

// joinedExpr is the expression of a text of several parts.
func joinedExpr(nodes []*j2.Node) (*j2.Expr, error) {
	var all *j2.Expr
	for _, n := range nodes {
		var e *j2.Expr
		switch n.Kind {
		case j2.Text:
			e = &j2.Expr{Op: j2.Literal, Lit: n.Text}
		case j2.Print:
			e = n.Expr
		case j2.If:
			var otherwise *j2.Expr = &j2.Expr{Op: j2.Literal, Lit: ""}
			if n.Else != nil {
				var err error
				if otherwise, err = joinedExpr(n.Else); err != nil {
					return nil, err
				}
			}
			for i := len(n.Branches) - 1; i >= 0; i-- {
				then, err := joinedExpr(n.Branches[i].Body)
				if err != nil {
					return nil, err
				}
				otherwise = &j2.Expr{Op: j2.Cond, Args: []*j2.Expr{n.Branches[i].If, then, otherwise}}
			}
			e = otherwise
		case j2.Comment:
			continue
		default:
			return nil, Unknown("%s in a value", Shortened(n.Raw))
		}
		if all == nil {
			all = e
		} else {
			all = &j2.Expr{Op: j2.Binary, Text: "~", Args: []*j2.Expr{all, e}}
		}
	}
	if all == nil {
		all = &j2.Expr{Op: j2.Literal, Lit: ""}
	}
	return all, nil
}

func Shortened(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 60 {
		return s[:57] + "…"
	}
	return s
}

// Conditions writes when.
func (w *Writer) Conditions(n *yaml.Node) ([]*yaml.Node, error) {
	var list []*yaml.Node
	for _, one := range yamlnode.Items(n) {
		if yamlnode.PlainBool(one) {
			b, _ := yamlnode.BoolOf(one)
			list = append(list, yamlnode.Text(strconv.FormatBool(b)))
			continue
		}
		e := SoleExpr(one)
		whole := e != nil
		if e == nil {
			var err error
			if e, err = j2.ParseExpr(one.Value); err != nil {
				return nil, Unknown("when: %v", err)
			}
		}
		e = folded(w.Scope, e)
		parts := []*j2.Expr{e}
		if e.Op == j2.Binary && e.Text == "and" && n.Kind != yaml.SequenceNode && !whole {
			parts = Conjuncts(e)
		}
		for _, e := range parts {
			if e == always {
				continue
			}
			t, err := w.Condition(e)
			if err != nil {
				return nil, err
			}
			list = append(list, yamlnode.Text(t.Text))
		}
	}
	return list, nil
}

// Conjuncts are the parts of a and b and c.
func Conjuncts(e *j2.Expr) []*j2.Expr {
	if e.Op == j2.Binary && e.Text == "and" {
		return append(Conjuncts(e.Args[0]), Conjuncts(e.Args[1])...)
	}
	return []*j2.Expr{e}
}

// DataOf writes an expression as a value of data: as YAML as far as it is literal.
func (w *Writer) DataOf(e *j2.Expr) (*yaml.Node, error) {
	switch e.Op {
	case j2.List:
		out := yamlnode.List()
		for _, arg := range e.Args {
			n, err := w.DataOf(arg)
			if err != nil {
				return nil, err
			}
			out.Content = append(out.Content, n)
		}
		return out, nil
	case j2.Literal:
		if s, isText := e.Lit.(string); isText {
			return yamlnode.Text(Escape(s)), nil
		}
		t := w.Literal(e.Lit)
		n := &yaml.Node{Kind: yaml.ScalarNode, Value: t.Text}
		if e.Lit == nil {
			n.Value = "null"
		}
		return n, nil
	}
	t, err := w.Write(e)
	return yamlnode.Text("{{ " + t.Text + " }}"), err
}
