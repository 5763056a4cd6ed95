package render

import (
	"context"
	"strings"

	"github.com/ccm-push/ccm-push/templates/diag"
)

// MaxTemplate bounds the source of a Jet or Go template, in bytes: their
// parsers recurse.
const MaxTemplate = 1 << 20

// Delims are the delimiters of a template. Empty ones mean the default of the engine: [[ ]] of Jet, {{ }} of Go.
type Delims struct{ Left, Right string }

// The delimiters of Jet templates where none are given.
const (
	JetLeft  = "[["
	JetRight = "]]"
)

// A Body is the text of a template and its position.
type Body struct {
	Text   string
	At     diag.Position // position of the first character
	Delims Delims
}

// Position returns the position of a byte offset.
func (b Body) Position(offset int) diag.Position { return b.At.Within(b.Text, offset) }

// Template is a parsed Jet or Go template, safe for concurrent use.
type Template struct {
	Engine Engine
	reads  Reads
	at     diag.Position
}

// NewTemplate makes a template for an engine. at is the position of the first character.
func NewTemplate(e Engine, reads Reads, at diag.Position) *Template {
	return &Template{Engine: e, reads: reads, at: at}
}

// An Engine renders one template.
type Engine interface {
	Render(r *Run) (string, error)
	// TakesMarks reports whether it can write a document with marks.
	TakesMarks() bool
}

// Render returns the complete text for one host, or a [diag.Error].
func (t *Template) Render(ctx context.Context, env *Env) (string, error) {
	r, err := Begin(ctx, env)
	if err != nil {
		return "", diag.At(t.at, err)
	}
	return t.RenderIn(r)
}

// RenderTo renders a file of a scaffold like Render; files that it writes go to target.
func (t *Template) RenderTo(ctx context.Context, env *Env, to Target) (string, error) {
	r, err := Begin(ctx, env)
	if err != nil {
		return "", diag.At(t.at, err)
	}
	r.target = to
	return t.RenderIn(r)
}

// RenderIn is Render in a run that has begun.
func (t *Template) RenderIn(r *Run) (out string, err error) {
	// The engines work by reflection, and panic on values that their authors did not
	// expect.
	defer func() {
		if recover() != nil {
			out, err = "", diag.At(t.at, diag.Faultf("the template cannot be rendered with these values"))
		}
		if err = r.FinalErr(err); err != nil {
			out, err = "", diag.At(t.at, err)
		}
	}()
	if err := r.CheckDeadline(); err != nil {
		return "", err
	}
	return t.Engine.Render(r)
}

// Reads returns the values that the template can read.
func (t *Template) Reads() *Reads { return &t.reads }

// Facts returns the facts that the template can read, as sorted paths.
func (t *Template) Facts(files *Files) (paths []string, all bool) {
	return t.reads.Follow(files).Result()
}

// CheckPaths reports each file() whose path a host could influence, in the template and in templates that it renders.
func (t *Template) CheckPaths(files *Files, taint Taint) error {
	return t.reads.CheckPaths(files, taint)
}

// An Output holds the output of an engine. Writing ends the run when the
// text grows too long or the time is over.
type Output struct {
	r *Run
	b strings.Builder
}

// NewOutput returns a buffer for the output of a run.
func NewOutput(r *Run) Output { return Output{r: r} }

// Len returns the number of bytes written.
func (l *Output) Len() int { return l.b.Len() }

// Grow reserves n bytes.
func (l *Output) Grow(n int) { l.b.Grow(n) }

// String returns the written text.
func (l *Output) String() string { return l.b.String() }

// Write adds to the text, within the bounds of the run.
func (l *Output) Write(p []byte) (int, error) {
	if err := l.r.CheckLength(l.b.Len() + len(p)); err != nil {
		return 0, err
	}
	l.b.Write(p)
	return len(p), l.r.Step()
}

// WriteString is Write without a copy on the way.
func (l *Output) WriteString(s string) (int, error) {
	if err := l.r.CheckLength(l.b.Len() + len(s)); err != nil {
		return 0, err
	}
	l.b.WriteString(s)
	return len(s), l.r.Step()
}

// QuoteEnd returns the offset of the quote that closes the one at from, or -1. Backslashes escape, except between
// backticks.
func QuoteEnd(s string, from int) int {
	quote := s[from]
	for i := from + 1; i < len(s); i++ {
		switch {
		case s[i] == quote:
			return i
		case s[i] == '\\' && quote != '`':
			i++
		}
	}
	return -1
}

// RenderMarked renders a Jet template for one host as a document with marks. Printed values may also be lists or maps.
// The error is a [diag.Error].
func (t *Template) RenderMarked(ctx context.Context, env *Env) (*Marked, error) {
	r, err := Begin(ctx, env)
	if err != nil {
		return nil, diag.At(t.at, err)
	}
	if !t.Engine.TakesMarks() {
		return nil, diag.At(t.at, diag.Faultf("only a Jet template without %q in it can write a document", MarkEdge))
	}
	r.Marked = &Marked{}
	if r.Marked.Text, err = t.RenderIn(r); err != nil {
		return nil, err
	}
	return r.Marked, nil
}
