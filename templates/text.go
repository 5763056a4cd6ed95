package templates

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// Text is a string that may hold expressions, `{{ … }}` and `${ … }`. It is
// parsed once and safe for concurrent use.
type Text struct {
	parts    []part
	at       Position
	mentions mentions
}

// A part is literal text, an expression, or a value in the place of one.
type part struct {
	literal  string
	expr     *Expr
	constant *constant
}

// text is the part as text.
func (p part) text(r *run) (string, error) {
	switch {
	case p.expr != nil:
		return p.expr.text(r)
	case p.constant != nil:
		return text(p.constant.value)
	}
	return p.literal, nil
}

func (p part) hostile(taint Taint) bool {
	return p.expr != nil && p.expr.flow.hostile(taint) || p.constant != nil && p.constant.flow.hostile(taint)
}

// Parse parses a string; pos is the position of its first character. All
// errors are [Error].
func Parse(s string, pos Position) (*Text, error) {
	t := &Text{at: pos}
	for _, sp := range scan(s) {
		if !sp.expr {
			t.parts = append(t.parts, part{literal: sp.text})
			continue
		}
		e, err := compile(sp.text, origin{pos: pos, whole: s, offset: sp.offset})
		if err != nil {
			return nil, err
		}
		t.parts = append(t.parts, part{expr: e})
		t.mentions.add(&e.mentions)
	}
	return t, nil
}

// FromHost reports whether the value can hold what a host sent: a fact that is
// part of it, and not only one that a condition looks at.
func (t *Text) FromHost(taint Taint) bool {
	return slices.ContainsFunc(t.parts, func(p part) bool { return p.hostile(taint) })
}

// CheckPaths reports each file() of the text, and of the templates that it
// renders, of which a host could choose the path.
func (t *Text) CheckPaths(files *Files, taint Taint) error {
	return t.mentions.checkPaths(files, taint)
}

// Check reports what is wrong with the files that template() and jet() name in
// the text: files are looked at now that rendering will need. A missing one is an
// error that wraps fs.ErrNotExist.
func (t *Text) Check(files *Files) error { return t.mentions.check(files) }

func (m *mentions) check(files *Files) error {
	var errs []error
	m.eachCalled(files, func(call *renderCall, _ *mentions, err error) {
		if err != nil {
			errs = append(errs, at(call.pos, err))
		}
	})
	return errors.Join(errs...)
}

// Eval gives the value of a text that is exactly one expression, with its type:
// a plain value (see [Env]) of the caller's own. Any other text is rendered as
// by [Text.String].
func (t *Text) Eval(ctx context.Context, env *Env) (any, error) {
	r, err := newRun(ctx, env)
	if err != nil {
		return nil, at(t.at, err)
	}
	return t.eval(r)
}

func (t *Text) eval(r *run) (any, error) {
	if len(t.parts) == 1 && t.parts[0].constant != nil {
		v, err := plain(r, t.parts[0].constant.value)
		if err != nil {
			return nil, at(t.at, err)
		}
		return v, nil
	}
	if len(t.parts) != 1 || t.parts[0].expr == nil {
		return t.render(r)
	}
	e := t.parts[0].expr
	v, err := e.value(r)
	if err != nil {
		return nil, err
	}
	if v, err = plain(r, v); err != nil {
		return nil, at(e.start(), err)
	}
	return v, nil
}

// String renders the text. nil, lists and maps have no text and are errors.
func (t *Text) String(ctx context.Context, env *Env) (string, error) {
	r, err := newRun(ctx, env)
	if err != nil {
		return "", at(t.at, err)
	}
	return t.render(r)
}

func (t *Text) render(r *run) (string, error) {
	var b strings.Builder
	for _, p := range t.parts {
		s, err := p.text(r)
		if err != nil {
			return "", at(t.at, err)
		}
		if err := r.fits(b.Len() + len(s)); err != nil {
			return "", at(t.at, err)
		}
		b.WriteString(s)
	}
	return b.String(), nil
}

// Facts tells which facts the text can read: dotted paths such as
// "host.info.os", sorted; all is true where that cannot be known. It follows
// template() and jet() into the files of the play.
func (t *Text) Facts(files *Files) (paths []string, all bool) {
	return t.mentions.follow(files).result()
}

// Mentions reports whether the text itself can read a root: "Facts", "Data",
// "Environ" or "Item". Templates that it renders are not looked at.
func (t *Text) Mentions(root string) bool { return t.mentions.roots[root] }
