package jinja

import (
	"strings"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// A Text is a value with expressions, as Ansible evaluates the variables of its inventory and the arguments of tasks. It
// is parsed once and safe for concurrent use.
type Text struct {
	main      *program
	condition *node // set for a condition
	reads     render.Reads
	flow      render.Flow
}

// MaxText bounds a text that is parsed, in bytes.
const MaxText = 64 << 10

// ParseText parses a text; pos is the position of its first character. All errors are [diag.Error].
func ParseText(s string, pos diag.Position) (*Text, error) {
	if len(s) > MaxText {
		return nil, diag.At(pos, diag.Faultf("a text of more than %d KiB", MaxText>>10))
	}
	syntax := ansibleSyntax()
	syntax.rawStrings = strings.Contains(s, `\`) && strings.Contains(s, "{{")
	l := &loader{known: map[string]*program{}}
	p, err := l.load(s, pos, syntax)
	if err != nil {
		return nil, diag.At(pos, err)
	}
	t := &Text{main: p}
	a := &analysis{seen: map[*program]bool{}}
	t.flow = a.program(p, &static{})
	t.reads = a.reads
	t.reads.Ordered = true
	return t, nil
}

// ParseCondition parses an expression without delimiters, such as a condition after `when`. [Text.Settle] returns whether it is
// true.
func ParseCondition(s string, pos diag.Position) (*Text, error) {
	u, err := newUnit(s, pos, ansibleSyntax())
	if err != nil {
		return nil, err
	}
	if len(s) > MaxText {
		return nil, diag.At(pos, diag.Faultf("a text of more than %d KiB", MaxText>>10))
	}
	n, err := parseExpression(u)
	if err != nil {
		return nil, diag.At(pos, err)
	}
	t := &Text{main: &program{unit: u}, condition: n}
	a := &analysis{seen: map[*program]bool{}}
	t.flow = a.expression(n, &static{})
	t.reads = a.reads
	t.reads.Ordered = true
	return t, nil
}

// Reads returns the values that the text can read.
func (t *Text) Reads() *render.Reads { return &t.reads }

// FromHost reports whether a host may influence the value.
func (t *Text) FromHost(taint render.Taint) bool { return t.flow.Hostile(taint) }

// Settle returns the value. It is a text, unless the text is the name of a boolean or a number, or looks like a list, a
// dict or a boolean of Python.
func (t *Text) Settle(r *render.Run) (v any, err error) {
	x := &exec{run: r, main: t.main, names: map[string]any{}, native: true}
	defer func() {
		if err = r.FinalErr(err); err != nil {
			v, err = nil, diag.At(t.main.unit.body.At, x.failed(err))
		}
	}()
	defer catch(&err)
	if err := r.CheckDeadline(); err != nil {
		return nil, err
	}
	if t.condition != nil {
		return x.condition(t.condition, &scope{}), nil
	}
	if v, ok := x.single(t.main.body); ok {
		return v, nil
	}
	out := &output{x: x}
	x.render(t.main, &scope{}, out)
	text := out.b.String()
	if missing := t.main.unit.ends - (len(text) - len(strings.TrimRight(text, "\n"))); missing > 0 && text != "" {
		text += strings.Repeat("\n", missing)
	}
	value := x.literal(text)
	result := x.plain(value)
	r.Made = x.order(value)
	return result, nil
}

// single returns the value of a text that contains only a name, if the value is a boolean, a number or None.
func (x *exec) single(body []*node) (any, bool) {
	source := strings.TrimSuffix(x.main.unit.body.Text, "\n")
	if len(body) != 1 || !strings.HasPrefix(source, "{{") || !strings.HasSuffix(source, "}}") || body[0].kind != printNode || body[0].args[0].kind != nameNode {
		return nil, false
	}
	v := x.eval(body[0].args[0], &scope{})
	switch v.(type) {
	case nil, bool:
		return v, true
	}
	if isNumber(v) {
		return x.plain(v), true
	}
	return nil, false
}

// literal returns the list, dict or boolean that a text looks like, else the text.
func (x *exec) literal(s string) any {
	switch {
	case s == "True":
		return true
	case s == "False":
		return false
	case !strings.HasPrefix(s, "[") && !strings.HasPrefix(s, "{"):
		return s
	}
	n, err := parseExpression(&unit{body: render.Body{Text: s}, syntax: ansibleSyntax()})
	if err != nil {
		return s
	}
	if v, ok := x.constant(n); ok {
		return v
	}
	return s
}

// constant returns the value of a literal.
func (x *exec) constant(n *node) (any, bool) {
	x.step(1)
	switch n.kind {
	case constNode:
		return n.value, true
	case nameNode:
		v, ok := map[string]any{"null": nil}[n.text]
		return v, ok
	case negativeNode, positiveNode:
		v, ok := x.constant(n.args[0])
		if _, isBool := v.(bool); !ok || isBool || !isNumber(v) {
			return nil, false
		}
		return x.signed(v, n.kind == negativeNode), true
	case listNode, tupleNode, dictNode:
		items := make([]any, len(n.args))
		for i, arg := range n.args {
			v, ok := x.constant(arg)
			if !ok {
				return nil, false
			}
			items[i] = v
		}
		switch n.kind {
		case listNode:
			return x.newList(items), true
		case tupleNode:
			return tuple(items), true
		}
		d := newDict()
		for i := 0; i < len(items); i += 2 {
			switch items[i].(type) {
			case *list, *dict:
				return nil, false
			}
			d.set(x, items[i], items[i+1])
		}
		return d, true
	}
	return nil, false
}
