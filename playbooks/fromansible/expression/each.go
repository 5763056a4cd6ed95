package expression

import (
	"strings"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
)

// element stands for the element of a list until what is written of it is known.
const element = "__element__"

// each writes a list of what is made of each element of another one.
func (w *Writer) each(e *j2.Expr) (Term, error) {
	of, pairs := e.Args[0], false
	if of.Op == j2.Filter && of.Text == "dict2items" && len(of.Args) == 1 {
		of, pairs = of.Args[0], true
	}
	list, err := w.Write(of)
	if err != nil {
		return list, err
	}
	text := list.Text
	if pairs {
		text = "toPairs(" + text + ")"
	}
	inner := *w.Scope.Child()
	inner.depth = w.Scope.depth
	inner.Names[e.Text] = Binding{Text: element, Pair: pairs}
	if !pairs && of.Op == j2.Attr && of.Text == "results" && of.Args[0].Op == j2.Name {
		if b, ok := w.Binding(of.Args[0].Text); ok && b.Result != nil && b.Result.Looped {
			one := *b.Result
			one.Base, one.Looped = element, false
			inner.Names[e.Text] = Binding{Text: element, Result: &one}
		}
	}
	w2 := &Writer{Scope: &inner}
	part := func(x *j2.Expr, write func(*j2.Expr) (Term, error)) (string, error) {
		t, err := write(x)
		if err == nil && strings.Contains(t.Text, "#") { // which is the element of the innermost
			err = Unknown("a list that is made of lists in a loop of set_fact")
		}
		if strings.HasPrefix(t.Text, "{") { // else it would be taken for the braces around a predicate
			t.Text = "(" + t.Text + ")"
		}
		return strings.ReplaceAll(t.Text, element, "#"), err
	}
	if e.Args[2] != nil {
		condition, err := part(e.Args[2], w2.Condition)
		if err != nil {
			return Term{}, err
		}
		text = "filter(" + text + ", " + condition + ")"
	}
	body, err := part(e.Args[1], w2.Write)
	if err != nil {
		return Term{}, err
	}
	if body != "#" {
		text = "map(" + text + ", " + body + ")"
	}
	return Term{text, Whole, ListKind}, nil
}
