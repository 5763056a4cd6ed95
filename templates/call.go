package templates

import (
	"path"
	"regexp"
	"strings"
)

// A renderCall is a template() or jet() of some source, bound to what it
// renders: a file of the play, or a text that stands in the source.
type renderCall struct {
	file   string // "" for a text
	jet    bool
	golang bool   // a file in the language of text/template
	delims Delims // of jet
	pos    Position

	scaffold *Scaffold // of render(): the file is a part of it

	text     *Text     // of a text that holds expressions
	template *Template // of a text that is a Jet template
}

// newRenderCall binds a call to its literal arguments. pos is where the first
// of them begins. An error without a position is a *fault.
func newRenderCall(function string, args []string, pos Position) (*renderCall, error) {
	most := 1
	if function == "jet" {
		most = 3
	}
	if len(args) < 1 || len(args) > most || len(args) == 2 {
		return nil, faultf("%s: %d arguments", function, len(args)).
			withHint(`write template("name.templ"), jet("name.jet") or jet("name.jet", "<<", ">>")`)
	}
	c := &renderCall{jet: function == "jet", pos: pos}
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
	case !c.jet && (strings.HasSuffix(source, ".templ") || strings.HasSuffix(source, ".tmpl")):
		c.file = source
		return c, nil
	default:
		return c, c.literal(function, source)
	}
}

var fileName = regexp.MustCompile(`^[\w./-]+\.\w{1,8}$`)

// literal parses a text that stands in the call.
func (c *renderCall) literal(function, source string) (err error) {
	if fileName.MatchString(source) {
		return faultf("%s: %q is neither a template file nor a template", function, source).
			withHint("template files end in .templ, .tmpl, .gotmpl or .jet; file(%q) gives a file as it is", source)
	}
	if c.jet {
		c.template, err = ParseJet(source, c.pos, c.delims, nil)
		return err
	}
	c.text, err = Parse(source, c.pos)
	return err
}

// key names the file of a call, for those who must not follow one twice.
func (c *renderCall) key() string {
	if c.file == "" {
		return ""
	}
	if c.scaffold != nil {
		return c.scaffold.key() + "\x00" + c.file
	}
	return path.Clean(c.file) + "\x00" + c.delims.Left + "\x00" + c.delims.Right
}

// name is how the template is called in a chain of templates.
func (c *renderCall) name() string {
	if c.file != "" {
		return c.file
	}
	return c.pos.String()
}

// resolve gives the parsed source.
func (c *renderCall) resolve(files *Files) (*Text, *Template, error) {
	switch {
	case c.file == "":
		return c.text, c.template, nil
	case c.scaffold != nil:
		t, err := files.scaffoldTemplate(*c.scaffold, c.file, true)
		return nil, t, err
	case c.jet:
		t, err := files.jet(c.file, c.delims)
		return nil, t, err
	case c.golang:
		t, err := files.golang(c.file)
		return nil, t, err
	}
	t, err := files.text(c.file)
	return t, nil, err
}

func (c *renderCall) mentions(files *Files) (*mentions, error) {
	text, template, err := c.resolve(files)
	switch {
	case err != nil:
		return nil, err
	case text != nil:
		return &text.mentions, nil
	}
	return &template.mentions, nil
}

// render gives the text for one host.
func (c *renderCall) render(r *run) (any, error) { return c.renderWith(r, nil) }

// renderWith is render, with a context for a part of a scaffold.
func (c *renderCall) renderWith(r *run, dot any) (any, error) {
	if err := r.step(); err != nil {
		return nil, err
	}
	text, template, err := c.resolve(r.env.Files)
	if err != nil {
		return nil, err
	}
	leave, err := r.enter(c.name())
	if err != nil {
		return nil, err
	}
	defer leave()
	// What it renders is a value of the document, which gets a mark as a whole.
	outer, outerDot := r.marked, r.dot
	r.marked, r.dot = nil, dot
	defer func() { r.marked, r.dot = outer, outerDot }()
	if text != nil {
		return text.render(r)
	}
	return template.render(r)
}
