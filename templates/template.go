package templates

import (
	"context"
	"strings"
)

// maxTemplate bounds the source of a Jet or Go template, in bytes: their
// parsers recurse.
const maxTemplate = 1 << 20

// Delims are the delimiters of a template. Empty ones are those of the engine:
// [[ ]] of Jet, {{ }} of Go.
type Delims struct{ Left, Right string }

// A body is the text of a template and where it stands.
type body struct {
	text   string
	at     Position // of the first character
	delims Delims
}

// position is that of a byte offset.
func (b body) position(offset int) Position { return b.at.within(b.text, offset) }

// Template is a parsed Jet or Go template, safe for concurrent use.
type Template struct {
	engine   engine
	mentions mentions
	at       Position
}

// An engine renders one template.
type engine interface {
	render(r *run) (string, error)
}

// Render gives the text for one host, all of it or an [Error].
func (t *Template) Render(ctx context.Context, env *Env) (string, error) {
	r, err := newRun(ctx, env)
	if err != nil {
		return "", at(t.at, err)
	}
	return t.render(r)
}

func (t *Template) render(r *run) (out string, err error) {
	// The engines are driven by reflection and panic where they meet what their
	// authors did not think of.
	defer func() {
		if recover() != nil {
			out, err = "", at(t.at, faultf("the template cannot be rendered with these values"))
		}
		if err = r.final(err); err != nil {
			out, err = "", at(t.at, err)
		}
	}()
	if err := r.alive(); err != nil {
		return "", err
	}
	return t.engine.render(r)
}

// Facts tells which facts the template can read; see [Text.Facts].
func (t *Template) Facts(files *Files) (paths []string, all bool) {
	return t.mentions.follow(files).result()
}

// CheckPaths is that of [Text.CheckPaths].
func (t *Template) CheckPaths(files *Files, taint Taint) error {
	return t.mentions.checkPaths(files, taint)
}

// A limited buffer holds the output of an engine. Writing ends the run when the
// text grows too long or the time is over.
type limited struct {
	r *run
	b strings.Builder
}

func (l *limited) Write(p []byte) (int, error) {
	if err := l.r.fits(l.b.Len() + len(p)); err != nil {
		return 0, err
	}
	l.b.Write(p)
	return len(p), l.r.step()
}

// WriteString is Write without a copy on the way.
func (l *limited) WriteString(s string) (int, error) {
	if err := l.r.fits(l.b.Len() + len(s)); err != nil {
		return 0, err
	}
	l.b.WriteString(s)
	return len(s), l.r.step()
}
