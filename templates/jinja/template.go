package jinja

import (
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// A program is a parsed template file.
type program struct {
	unit   *unit
	body   []*node
	blocks map[string]*node
}

// templates returns the templates that the unit includes, imports or extends, by their names in the source.
func (u *unit) templates() map[string]*program { return u.deps }

// A loader parses a template, and the templates that it needs.
type loader struct {
	files *render.Files
	main  string // path of the first template: names are relative to its folder
	known map[string]*program
}

func (l *loader) load(text string, at diag.Position, s syntax) (*program, error) {
	u, err := newUnit(text, at, s)
	if err != nil {
		return nil, err
	}
	p := &program{unit: u}
	if at.Verbatim {
		l.known[at.File] = p // before it is parsed: it may include itself
	}
	if p.body, p.blocks, err = parse(u); err != nil {
		return nil, err
	}
	u.deps = map[string]*program{}
	for _, n := range p.body {
		n.each(func(part *node) {
			if err == nil {
				err = l.needs(u, part)
			}
		})
	}
	return p, err
}

// templates returns the names of the templates that a node includes, imports, extends or looks up.
func (n *node) templates() []string {
	names := n.files
	if n.kind == callNode && isLookup(n.args[0]) && len(n.call.args) > 1 && n.call.args[0].value == "template" {
		for _, arg := range n.call.args[1:] {
			if s, ok := arg.value.(string); ok && arg.kind == constNode {
				names = append(names, s)
			}
		}
	}
	return names
}

// needs loads the templates that a node names, and reads the files of lookups, so that workers get them. If one does not
// exist, rendering it is the error.
func (l *loader) needs(u *unit, n *node) error {
	if n.kind == callNode && isLookup(n.args[0]) && len(n.call.args) > 1 && n.call.args[0].value == "file" && l.files != nil {
		for _, arg := range n.call.args[1:] {
			if s, ok := arg.value.(string); ok && arg.kind == constNode {
				l.read(s)
			}
		}
	}
	for _, name := range n.templates() {
		if u.deps[name] != nil || l.files == nil {
			continue
		}
		for _, candidate := range candidates(l.main, name, "templates") {
			content, err := l.files.Read(candidate)
			if err != nil {
				continue
			}
			p := l.known[candidate]
			if p == nil {
				if p, err = l.load(string(content), diag.WholeFile(candidate), ansibleSyntax()); err != nil {
					return err
				}
			}
			u.deps[name] = p
			break
		}
	}
	return nil
}

// read reads a file of the lookup file.
func (l *loader) read(name string) {
	for _, candidate := range candidates(l.main, name, "files") {
		if _, err := l.files.Read(candidate); err == nil {
			return
		}
	}
}

func isLookup(n *node) bool {
	return n.kind == nameNode && slices.Contains([]string{"lookup", "query", "q"}, n.text)
}

// engine is a Jinja template, with the templates that it includes, imports and extends.
type engine struct{ main *program }

// Parse parses a Jinja template as Ansible's module template renders it; pos is the position of its first character.
// Templates that it includes, imports or extends are read from files, which may be nil. All errors are [diag.Error].
func Parse(text string, pos diag.Position, files *render.Files) (*render.Template, error) {
	l := &loader{files: files, main: pos.File, known: map[string]*program{}}
	p, err := l.load(text, pos, ansibleSyntax())
	if err != nil {
		return nil, diag.At(pos, err)
	}
	a := &analysis{seen: map[*program]bool{}, roots: true}
	a.program(p, &static{})
	a.reads.Ordered = true
	return render.NewTemplate(&engine{p}, a.reads, pos), nil
}

// TakesMarks is false: only Jet has marks.
func (e *engine) TakesMarks() bool { return false }

// Render returns the text of the template.
func (e *engine) Render(r *render.Run) (text string, err error) {
	x := &exec{run: r, main: e.main, names: map[string]any{}}
	defer func() {
		if err != nil {
			text, err = "", diag.At(e.main.unit.body.At, x.failed(err))
		}
	}()
	defer catch(&err)
	out := &output{x: x}
	x.render(e.main, &scope{}, out)
	text = out.b.String()
	// Like Ansible, keep the newlines at the end of the file, which Jinja removes.
	if missing := e.main.unit.ends - (len(text) - len(strings.TrimRight(text, "\n"))); missing > 0 {
		text += strings.Repeat("\n", missing)
	}
	return text, nil
}
