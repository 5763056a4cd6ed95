package render

import (
	"cmp"
	"path"
	"strings"

	"github.com/ccm-push/ccm-push/templates/diag"
)

// A Source is a text with expressions or a template, parsed.
type Source interface {
	// RenderIn gives its text in a run.
	RenderIn(r *Run) (string, error)
	// Reads is what it can read.
	Reads() *Reads
}

// Languages parse what one template can call of another. No engine knows the others: the
// package that has them all hands them in.
type Languages interface {
	ParseText(text string, pos diag.Position) (Source, error)
	ParseJet(text string, pos diag.Position, delims Delims, files *Files, of *Part) (*Template, error)
	ParseGo(text string, pos diag.Position, delims Delims, of *Part) (*Template, error)
}

// parsed is a template as a source.
func parsed(t *Template, err error) (Source, error) {
	if err != nil {
		return nil, err
	}
	return t, nil
}

// textFile gives a file of expression text, parsed.
func textFile(f *Files, in Languages, name string) (Source, error) {
	content, err := f.Read(name)
	if err != nil {
		return nil, err
	}
	return KeepParsed(f, "text\x00"+path.Clean(name), func() (Source, error) {
		return in.ParseText(string(content), diag.WholeFile(name))
	})
}

// JetFile gives a file that is a Jet template, parsed. Only an error in the template
// itself has a position.
func JetFile(f *Files, in Languages, name string, delims Delims) (*Template, error) {
	content, err := f.Read(name)
	if err != nil {
		return nil, err
	}
	key := strings.Join([]string{"jet", path.Clean(name), delims.Left, delims.Right}, "\x00")
	return KeepParsed(f, key, func() (*Template, error) {
		warnOfJinja(f, name, content, delims)
		return in.ParseJet(string(content), diag.WholeFile(name), delims, f, nil)
	})
}

// warnOfJinja notes that a Jet template has what only Jinja knows.
func warnOfJinja(f *Files, name string, content []byte, delims Delims) {
	left, right := cmp.Or(delims.Left, "[["), cmp.Or(delims.Right, "]]")
	if l := diag.JinjaInJet(string(content), left, right); l != nil {
		f.Warn(name, content, l.Offset, l.String()+", or "+left+" `…` "+right+" around what is meant so")
	}
}

// goFile gives a file in the language of text/template, parsed.
func goFile(f *Files, in Languages, name string) (*Template, error) {
	content, err := f.Read(name)
	if err != nil {
		return nil, err
	}
	return KeepParsed(f, "go\x00"+path.Clean(name), func() (*Template, error) {
		return in.ParseGo(string(content), diag.WholeFile(name), Delims{}, nil)
	})
}
