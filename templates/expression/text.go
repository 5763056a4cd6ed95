package expression

import (
	"context"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// Text is a string that may hold expressions, `{{ … }}` and `${ … }`. It is
// parsed once and safe for concurrent use.
type Text struct {
	parts []part
	at    diag.Position
	reads render.Reads
}

// A part is literal text, an expression, or a value that replaces one.
type part struct {
	literal  string
	expr     *Expr
	constant *render.Constant
}

// text returns the part as text.
func (p part) text(r *render.Run) (string, error) {
	switch {
	case p.expr != nil:
		return p.expr.text(r)
	case p.constant != nil:
		return render.TextOf(p.constant.Value)
	}
	return p.literal, nil
}

func (p part) hostile(taint render.Taint) bool {
	return p.expr != nil && p.expr.flow.Hostile(taint) || p.constant != nil && p.constant.Flow.Hostile(taint)
}

// Parse parses a string; pos is the position of its first character. All
// errors are [diag.Error].
func Parse(s string, pos diag.Position, in render.Languages) (*Text, error) {
	return ParseMarked(nil, s, pos, false, in)
}

// ParseMarked parses a string of a document like [Parse], with the values instead of their marks; m is nil without
// marks. A string that is exactly one mark has the type of the value, unless it is quoted.
func ParseMarked(m *render.Marked, s string, pos diag.Position, quoted bool, in render.Languages) (*Text, error) {
	t := &Text{at: pos}
	for _, sp := range scan(s) {
		switch {
		case !sp.expr && m == nil:
			t.parts = append(t.parts, part{literal: sp.text})
		case !sp.expr:
			t.parts = append(t.parts, markedParts(m, sp.text)...)
		case m.Has(sp.text):
			return nil, diag.At(pos, diag.Faultf("a printed value cannot be part of the expression %q", m.Show(sp.text)).
				WithHint("use Data or Facts in the expression itself, such as Facts.x == 'y'"))
		default:
			e, err := compile(sp.text, origin{pos: pos, whole: s, offset: sp.offset}, in)
			if err != nil {
				return nil, err
			}
			t.parts = append(t.parts, part{expr: e})
			t.reads.Add(&e.reads)
		}
	}
	if quoted && len(t.parts) == 1 && t.parts[0].constant != nil {
		t.parts = append(t.parts, part{}) // more than a mark: a text
	}
	return t, nil
}

// markedParts parts literal text at its marks.
func markedParts(m *render.Marked, s string) []part {
	var parts []part
	for text, value := range m.Split(s) {
		if value != nil || text != "" {
			parts = append(parts, part{literal: text, constant: value})
		}
	}
	return parts
}

// FromHost reports whether the value can contain text from a host. A fact counts if it is part of the value, and not if
// only a condition reads it.
func (t *Text) FromHost(taint render.Taint) bool {
	return slices.ContainsFunc(t.parts, func(p part) bool { return p.hostile(taint) })
}

// CheckPaths reports each file() whose path a host could choose, in the text and in the
// templates that it renders.
func (t *Text) CheckPaths(files *render.Files, taint render.Taint) error {
	return t.reads.CheckPaths(files, taint)
}

// Check reports errors in the files that template() and jet() name in the text, before rendering needs them. If a file
// is missing, the error wraps fs.ErrNotExist.
func (t *Text) Check(files *render.Files) error { return t.reads.Check(files) }

// EvalOrdered is Eval that also returns the order of the keys in the value.
func (t *Text) EvalOrdered(ctx context.Context, env *render.Env) (any, *render.Order, error) {
	r, err := render.Begin(ctx, env)
	if err != nil {
		return nil, nil, diag.At(t.at, err)
	}
	v, err := t.EvalIn(r)
	return v, r.Made, err
}

// Eval returns the value of a text that is exactly one expression, with its type: a plain value (see [render.Env]) that
// the caller owns. Any other text is rendered as by [Text.String].
func (t *Text) Eval(ctx context.Context, env *render.Env) (any, error) {
	r, err := render.Begin(ctx, env)
	if err != nil {
		return nil, diag.At(t.at, err)
	}
	return t.EvalIn(r)
}

// Settle is EvalIn for a text of the data: it sees the data that is being evaluated.
func (t *Text) Settle(r *render.Run) (any, error) {
	if len(t.reads.Calls) == 0 {
		return t.EvalIn(r)
	}
	restore, err := r.WithPart(&t.reads) // templates know of no pending values
	if err != nil {
		return nil, diag.At(t.at, err)
	}
	defer restore()
	return t.EvalIn(r)
}

// EvalIn is Eval in a run that has begun.
func (t *Text) EvalIn(r *render.Run) (any, error) {
	if len(t.parts) == 1 && t.parts[0].constant != nil {
		v, err := render.PlainCopy(r, t.parts[0].constant.Value)
		if err != nil {
			return nil, diag.At(t.at, err)
		}
		return v, nil
	}
	if len(t.parts) != 1 || t.parts[0].expr == nil {
		return t.RenderIn(r)
	}
	e := t.parts[0].expr
	r.Made = nil
	v, err := e.value(r)
	if err != nil {
		return nil, err
	}
	order := r.Made // of jinja()
	if order == nil {
		order = render.OrderOf(r.Env, v, e.dataPath())
	}
	if v, err = render.PlainCopy(r, v); err != nil {
		return nil, diag.At(e.start(), err)
	}
	r.Made = order
	return v, nil
}

// String renders the text. nil, lists and maps have no text and are errors.
func (t *Text) String(ctx context.Context, env *render.Env) (string, error) {
	r, err := render.Begin(ctx, env)
	if err != nil {
		return "", diag.At(t.at, err)
	}
	return t.RenderIn(r)
}

// RenderIn is String in a run that has begun.
func (t *Text) RenderIn(r *render.Run) (string, error) {
	var b strings.Builder
	for _, p := range t.parts {
		s, err := p.text(r)
		if err != nil {
			return "", diag.At(t.at, err)
		}
		if err := r.CheckLength(b.Len() + len(s)); err != nil {
			return "", diag.At(t.at, err)
		}
		b.WriteString(s)
	}
	return b.String(), nil
}

// Facts lists the facts that the text can read: dotted paths such as "host.info.os",
// sorted; all is true if that cannot be known. It follows template() and jet() into the
// files of the play.
func (t *Text) Facts(files *render.Files) (paths []string, all bool) {
	return t.reads.Follow(files).Result()
}

// Reads returns the values that the text can read.
func (t *Text) Reads() *render.Reads { return &t.reads }

// Literal returns a text without expressions.
func Literal(s string) *Text { return &Text{parts: []part{{literal: s}}} }

// Mentions reports whether the text itself can read a root, such as "Facts". Templates that it renders are not checked.
func (t *Text) Mentions(root string) bool { return t.reads.Roots[root] }

// Inputs returns the inputs of the text, including those through the files of the play.
func (t *Text) Inputs(files *render.Files) render.Inputs { return t.reads.Inputs(files) }

// Inputs works like [Text.Inputs].
func (e *Expr) Inputs(files *render.Files) render.Inputs { return e.reads.Inputs(files) }

// HierarchyKey renders an entry of a hierarchy. empty reports that the entry has expressions and that all of them are
// empty.
func (t *Text) HierarchyKey(r *render.Run) (key string, empty bool, err error) {
	var b strings.Builder
	expressions, filled := false, false
	for _, p := range t.parts {
		s := p.literal
		if p.expr != nil {
			if s, err = p.expr.text(r); err != nil {
				return "", true, err
			}
			expressions, filled = true, filled || s != ""
		}
		b.WriteString(s)
	}
	return b.String(), expressions && !filled, nil
}
