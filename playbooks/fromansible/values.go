package fromansible

import (
	"errors"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
)

// textNode is a text in YAML.
func textNode(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	switch {
	case strings.Contains(s, "\n"):
		n.Style = yaml.LiteralStyle
		for _, line := range strings.Split(s, "\n") { // what a literal text cannot hold
			if strings.HasSuffix(line, " ") || strings.Contains(line, "\t") {
				n.Style = yaml.DoubleQuotedStyle
			}
		}
		if strings.HasPrefix(s, " ") || strings.HasPrefix(s, "\n") || strings.TrimSpace(s) == "" {
			n.Style = yaml.DoubleQuotedStyle
		}
	case mustQuote(s):
		n.Style = yaml.DoubleQuotedStyle
		if strings.ContainsAny(s, "\"\\") && !strings.Contains(s, "\t") {
			n.Style = yaml.SingleQuotedStyle
		}
	}
	return n
}

// mustQuote reports whether a text needs quotes, or is better read with them.
func mustQuote(s string) bool {
	switch strings.ToLower(s) {
	case "", "yes", "no", "on", "off", "y", "n", "true", "false", "null", "~":
		return true
	}
	if strings.ContainsAny(s, "{}[]#,&*!|>'\"%@`\\\t") || strings.Contains(s, ": ") || strings.HasSuffix(s, ":") || strings.HasPrefix(s, "- ") || strings.HasPrefix(s, "? ") || s == "-" || strings.TrimSpace(s) != s {
		return true
	}
	var n yaml.Node
	return yaml.Unmarshal([]byte(s), &n) != nil || len(n.Content) != 1 || n.Content[0].ShortTag() != "!!str"
}

func boolNode(b bool) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: fmt.Sprint(b)}
}

func listNode(items ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: items}
}

func textsNode(texts ...string) *yaml.Node {
	n := listNode()
	for _, s := range texts {
		n.Content = append(n.Content, textNode(s))
	}
	return n
}

// boolOf is the value of a node that YAML 1.1 takes for a boolean, as Ansible does.
func boolOf(n *yaml.Node) (value, ok bool) {
	if n == nil || n.Kind != yaml.ScalarNode {
		return false, false
	}
	switch strings.ToLower(n.Value) {
	case "yes", "true", "on", "1":
		return true, true
	case "no", "false", "off", "0":
		return false, true
	}
	return false, false
}

// plainBool reports whether a scalar without quotes is a boolean of YAML 1.1.
func plainBool(n *yaml.Node) bool {
	if n.Kind != yaml.ScalarNode || n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return false
	}
	switch n.Value {
	case "yes", "Yes", "YES", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF", "true", "True", "TRUE", "false", "False", "FALSE":
		return true
	}
	return false
}

// isNull reports whether nothing is given.
func isNull(n *yaml.Node) bool {
	return n == nil || n.Kind == yaml.ScalarNode && (n.Tag == "!!null" || n.Value == "" && n.Style == 0 && n.Tag == "")
}

// hasJinja reports whether a scalar has anything of Jinja.
func hasJinja(n *yaml.Node) bool {
	return n != nil && n.Kind == yaml.ScalarNode && n.Tag != "!unsafe" && n.Tag != "!vault" && j2.HasTags(n.Value)
}

// A part of a text: literal, or an expression.
type part struct {
	text string
	term *term
}

// parts takes a text with Jinja apart.
func (w *writer) parts(text string) ([]part, error) {
	nodes, err := j2.ParseTemplate(text, j2.Options{KeepLineBreaks: true})
	if err != nil {
		return nil, unknownError(err.Error())
	}
	return w.partsOf(nodes)
}

func (w *writer) partsOf(nodes []*j2.Node) ([]part, error) {
	var list []part
	for _, n := range nodes {
		switch n.Kind {
		case j2.Text:
			if n.Text != "" {
				list = append(list, part{text: n.Text})
			}
		case j2.Print:
			t, err := w.write(n.Expr)
			if err != nil {
				return nil, err
			}
			list = append(list, part{term: &t})
		case j2.If:
			t, err := w.chosen(n)
			if err != nil {
				return nil, err
			}
			list = append(list, part{term: &t})
		case j2.Comment:
		default:
			return nil, unknownf("%s in a value", shortened(n.Raw))
		}
	}
	return list, nil
}

// chosen writes {% if %} in a value as a condition that gives a text.
func (w *writer) chosen(n *j2.Node) (term, error) {
	otherwise, err := w.textTerm(n.Else)
	if err != nil {
		return term{}, err
	}
	for i := len(n.Branches) - 1; i >= 0; i-- {
		c, err := w.condition(n.Branches[i].If)
		if err != nil {
			return c, err
		}
		then, err := w.textTerm(n.Branches[i].Body)
		if err != nil {
			return then, err
		}
		otherwise = term{c.in(condPrec+1) + " ? " + then.in(condPrec+1) + " : " + otherwise.in(condPrec), condPrec, textKind}
	}
	return otherwise, nil
}

// textTerm writes parts of a text as one expression.
func (w *writer) textTerm(nodes []*j2.Node) (term, error) {
	parts, err := w.partsOf(nodes)
	if err != nil {
		return term{}, err
	}
	t := term{w.quote(""), whole, textKind}
	for i, p := range parts {
		one := term{w.quote(p.text), whole, textKind}
		if p.term != nil {
			one = w.printed(*p.term)
			if one.kind != textKind {
				one = term{"string(" + one.text + ")", whole, textKind}
			}
		}
		if i == 0 {
			t = one
		} else {
			t = term{t.in(adding) + " + " + one.in(adding+1), adding, textKind}
		}
	}
	return t, nil
}

// text writes a text of Ansible as one of a manifest.
func (w *writer) text(s string) (string, error) {
	if !j2.HasTags(s) {
		return escape(s), nil
	}
	parts, err := w.parts(s)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, p := range parts {
		switch {
		case p.term == nil:
			b.WriteString(escape(p.text))
		case len(parts) > 1:
			b.WriteString("{{ " + w.printed(*p.term).text + " }}")
		default:
			b.WriteString("{{ " + p.term.text + " }}")
		}
	}
	return b.String(), nil
}

// printed is a value as Python prints it in a text: booleans are True and False.
func (w *writer) printed(t term) term {
	if t.kind != boolKind {
		return t
	}
	return term{t.in(condPrec+1) + " ? " + w.quote("True") + " : " + w.quote("False"), condPrec, textKind}
}

// escape writes a literal text so that nothing in it is an expression.
func escape(s string) string {
	if !strings.Contains(s, "${") && !strings.Contains(s, "{{") && !strings.Contains(s, "{%") {
		return s
	}
	return strings.NewReplacer("${", "${ '${' }", "{{", "{{ '{{' }}", "{%", "{{ '{%' }}").Replace(s)
}

// value writes a value of Ansible, whatever its shape.
func (w *writer) value(n *yaml.Node) (*yaml.Node, error) {
	switch {
	case n.Kind == yaml.AliasNode:
		return w.value(n.Alias)
	case n.Kind == yaml.ScalarNode && (n.Tag == "!vault" || n.Tag == "!unsafe"):
		copied := *n
		return &copied, nil
	case plainBool(n):
		b, _ := boolOf(n)
		return boolNode(b), nil
	case n.Kind == yaml.ScalarNode && n.ShortTag() != "!!str":
		copied := *n
		copied.HeadComment, copied.LineComment, copied.FootComment = "", "", ""
		return &copied, nil
	case n.Kind == yaml.ScalarNode:
		s, err := w.text(n.Value)
		return textNode(s), err
	}
	out := &yaml.Node{Kind: n.Kind, Tag: n.Tag, Style: n.Style}
	var errs error
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			key := *c
			key.HeadComment, key.LineComment, key.FootComment = "", "", ""
			if hasJinja(c) {
				return nil, unknownf("a key that is an expression")
			}
			out.Content = append(out.Content, &key)
			continue
		}
		v, err := w.value(c)
		errs = errors.Join(errs, err)
		out.Content = append(out.Content, v)
	}
	return out, errs
}

// soleExpr is the expression of a text that is nothing else.
func soleExpr(n *yaml.Node) *j2.Expr {
	if n == nil || n.Kind != yaml.ScalarNode || !hasJinja(n) {
		return nil
	}
	nodes, err := j2.ParseTemplate(strings.TrimSpace(n.Value), j2.Options{KeepLineBreaks: true})
	if err != nil || len(nodes) != 1 || nodes[0].Kind != j2.Print {
		return nil
	}
	return nodes[0].Expr
}

// exprOf is the expression that a value of a variable of a task stands for.
func exprOf(n *yaml.Node) (*j2.Expr, error) {
	switch {
	case n.Kind == yaml.AliasNode:
		return exprOf(n.Alias)
	case n.Kind == yaml.SequenceNode:
		list := &j2.Expr{Op: j2.List}
		for _, c := range n.Content {
			e, err := exprOf(c)
			if err != nil {
				return nil, err
			}
			list.Args = append(list.Args, e)
		}
		return list, nil
	case n.Kind == yaml.MappingNode:
		dict := &j2.Expr{Op: j2.Dict}
		for i := 0; i+1 < len(n.Content); i += 2 {
			e, err := exprOf(n.Content[i+1])
			if err != nil {
				return nil, err
			}
			dict.Args = append(dict.Args, &j2.Expr{Op: j2.Literal, Lit: n.Content[i].Value}, e)
		}
		return dict, nil
	case n.Tag == "!vault":
		return nil, unknownf("an encrypted variable of a task")
	}
	if plainBool(n) {
		b, _ := boolOf(n)
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
	if !hasJinja(n) {
		return &j2.Expr{Op: j2.Literal, Lit: n.Value}, nil
	}
	nodes, err := j2.ParseTemplate(n.Value, j2.Options{KeepLineBreaks: true})
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
			return nil, unknownf("%s in a value", shortened(n.Raw))
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

func shortened(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 60 {
		return s[:57] + "…"
	}
	return s
}
