package render

import (
	"cmp"
	"path"
	"strings"

	"github.com/ccm-push/ccm-push/templates/diag"
)

// A Call is a template(), jet() or render() in some source, bound to its target: a file of the play, or a literal text
// in the source.
type Call struct {
	file   string // "" for a text
	jet    bool
	golang bool   // a file in the language of text/template
	jinja  bool   // a file in Ansible's language
	delims Delims // of jet
	pos    diag.Position

	Scaffold *Scaffold // set for render(): the scaffold of the file

	literal   Source // set for a text; nil for a file
	languages Languages
}

// NewCall binds a call to its literal arguments. pos is where the first
// of them begins. An error without a position is a [diag.Fault].
func NewCall(function string, args []string, pos diag.Position, in Languages) (*Call, error) {
	most := 1
	if function == "jet" {
		most = 3
	}
	if len(args) < 1 || len(args) > most || len(args) == 2 {
		return nil, diag.Faultf("%s: %d arguments", function, len(args)).
			WithHint(`write template("name.templ"), jet("name.jet") or jet("name.jet", "<<", ">>")`)
	}
	c := &Call{jet: function == "jet", pos: pos, languages: in}
	if len(args) == 3 {
		c.delims = Delims{args[1], args[2]}
	}
	switch source := args[0]; {
	case strings.HasSuffix(source, ".jet"):
		c.file, c.jet = source, true
		return c, nil
	case !c.jet && strings.HasSuffix(source, ".gotmpl"):
		c.file, c.golang = source, true
		return c, nil
	case !c.jet && strings.HasSuffix(source, ".j2"):
		c.file, c.jinja = source, true
		return c, nil
	case !c.jet && (strings.HasSuffix(source, ".templ") || strings.HasSuffix(source, ".tmpl")):
		c.file = source
		return c, nil
	default:
		return c, c.parse(function, source)
	}
}

// isFileName reports whether a text is most likely meant as the name of a file:
// one word with dots, dashes and slashes, and an extension of 1 to 8 characters.
func isFileName(s string) bool {
	dot := strings.LastIndexByte(s, '.')
	isOther := func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_')
	}
	if n := len(s) - dot - 1; dot < 1 || n < 1 || n > 8 || strings.ContainsFunc(s[dot+1:], isOther) {
		return false
	}
	return !strings.ContainsFunc(s[:dot], func(c rune) bool { return isOther(c) && !strings.ContainsRune("./-", c) })
}

// parse parses the literal text of the call.
func (c *Call) parse(function, source string) (err error) {
	if isFileName(source) {
		return diag.Faultf("%s: %q is neither a template file nor a template", function, source).
			WithHint("template files end in .templ, .tmpl, .gotmpl, .jet or .j2; file(%q) returns the file unchanged", source)
	}
	if c.jet {
		c.literal, err = parsed(c.languages.ParseJet(source, c.pos, c.delims, nil, nil))
		return err
	}
	c.literal, err = c.languages.ParseText(source, c.pos)
	return err
}

// key names the file of a call, so that no file is followed twice. It is "" for a text,
// which nothing else can call.
func (c *Call) key() string {
	if c.file == "" {
		return ""
	}
	if c.Scaffold != nil {
		return c.Scaffold.Key() + "\x00" + c.file
	}
	return path.Clean(c.file) + "\x00" + c.delims.Left + "\x00" + c.delims.Right
}

// name returns the template's name in a chain of templates.
func (c *Call) name() string {
	if c.file != "" {
		return c.file
	}
	return c.pos.String()
}

// volatile reports whether equal values need not give equal texts: Sprig has a
// clock, and a Go template hands its context around as a whole.
func (c *Call) volatile() bool { return c.golang }

// resolve returns the parsed source.
func (c *Call) resolve(files *Files) (Source, error) {
	switch {
	case c.file == "":
		return c.literal, nil
	case c.Scaffold != nil:
		return parsed(ScaffoldTemplate(files, c.languages, *c.Scaffold, c.file, true))
	case c.jet:
		return parsed(JetFile(files, c.languages, c.file, c.delims))
	case c.golang:
		return parsed(goFile(files, c.languages, c.file))
	case c.jinja:
		return parsed(jinjaFile(files, c.languages, c.file))
	}
	return textFile(files, c.languages, c.file)
}

// reads returns the values that the source can read.
func (c *Call) reads(files *Files) (*Reads, error) {
	s, err := c.resolve(files)
	if err != nil {
		return nil, err
	}
	return s.Reads(), nil
}

// Render returns the text for one host.
func (c *Call) Render(r *Run) (any, error) { return c.RenderWith(r, nil) }

// RenderWith is Render, with a context for a part of a scaffold.
func (c *Call) RenderWith(r *Run, dot any) (any, error) {
	if err := r.Step(); err != nil {
		return nil, err
	}
	s, err := c.resolve(r.Env.Files)
	if err != nil {
		return nil, err
	}
	leave, err := r.EnterTemplate(c.name())
	if err != nil {
		return nil, err
	}
	defer leave()
	// The rendered text is one value of the document, with one mark.
	outer, outerDot := r.Marked, r.Dot
	r.Marked, r.Dot = nil, dot
	defer func() { r.Marked, r.Dot = outer, outerDot }()
	return s.RenderIn(r)
}

// NotLiteral returns the error for a template that is computed.
func NotLiteral(function string) *diag.Fault {
	return diag.Faultf("the argument of %q must be a fixed text or file name, not a computed value", function).
		WithHint("write the file name or the template text directly, in quotes")
}

// A Source is a text with expressions or a template, parsed.
type Source interface {
	// RenderIn returns its text in a run.
	RenderIn(r *Run) (string, error)
	// Reads returns the values that it can read.
	Reads() *Reads
}

// A Value is a text that is evaluated to a value.
type Value interface {
	// Settle returns the value in a run.
	Settle(r *Run) (any, error)
	// Reads returns the values that it can read.
	Reads() *Reads
}

// Languages parse what one template can call of another. No engine knows the others: the
// package that has them all hands them in.
type Languages interface {
	ParseText(text string, pos diag.Position) (Source, error)
	ParseJet(text string, pos diag.Position, delims Delims, files *Files, of *Part) (*Template, error)
	ParseGo(text string, pos diag.Position, delims Delims, of *Part) (*Template, error)
	ParseJinja(text string, pos diag.Position, files *Files) (*Template, error)
	ParseJinjaValue(text string, pos diag.Position) (Value, error)
}

// parsed returns a template in the type of a source.
func parsed(t *Template, err error) (Source, error) {
	if err != nil {
		return nil, err
	}
	return t, nil
}

// textFile returns a file of expression text, parsed.
func textFile(f *Files, in Languages, name string) (Source, error) {
	content, err := f.Read(name)
	if err != nil {
		return nil, err
	}
	return KeepParsed(f, "text\x00"+path.Clean(name), func() (Source, error) {
		return in.ParseText(string(content), diag.WholeFile(name))
	})
}

// JetFile returns a file that is a Jet template, parsed. Only an error in the template itself has a position.
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
		f.Warn(name, content, l.Offset, l.String()+"; to print the text unchanged, write "+left+" `…` "+right)
	}
}

// goFile returns a file in the language of text/template, parsed.
func goFile(f *Files, in Languages, name string) (*Template, error) {
	content, err := f.Read(name)
	if err != nil {
		return nil, err
	}
	return KeepParsed(f, "go\x00"+path.Clean(name), func() (*Template, error) {
		return in.ParseGo(string(content), diag.WholeFile(name), Delims{}, nil)
	})
}

// jinjaFile returns a file in Ansible's language, parsed.
func jinjaFile(f *Files, in Languages, name string) (*Template, error) {
	content, err := f.Read(name)
	if err != nil {
		return nil, err
	}
	return KeepParsed(f, "jinja\x00"+path.Clean(name), func() (*Template, error) {
		return in.ParseJinja(string(content), diag.WholeFile(path.Clean(name)), f)
	})
}
