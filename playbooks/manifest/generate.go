package manifest

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/templates"
)

// Generate gives the resources that the play's JetFile writes for one host. What
// the template prints are values: no part of them is read as YAML or as an
// expression. Positions are those in the text that it has written.
func (p *Play) Generate(ctx context.Context, env *templates.Env) ([]*Resource, error) {
	template, err := templates.JetFile(env.Files, p.JetFile.Text)
	if err != nil {
		return nil, templates.Place(p.JetFile, err)
	}
	marked, err := template.RenderMarked(ctx, env)
	if err != nil {
		return nil, err
	}
	if len(marked.Text) > maxGenerated {
		return nil, p.JetFile.Errorf("", "the template writes more than %d KiB for this host", maxGenerated>>10)
	}
	name := p.JetFile.Text + " (rendered)"
	documents, err := yamlpos.Parse(name, []byte(marked.Text))
	if err != nil {
		return nil, quoted(marked, name, err)
	}
	lines := marked.Lines()
	for _, doc := range documents {
		withoutColumns(doc, lines)
	}
	l := newLoader(p.File, p.registry)
	l.marked, l.ctx, l.graph = marked, ctx, p.Graph()
	l.nesting, l.isNested, l.remembered = p.nesting, len(p.applied) > 0, p.RememberedAs != nil
	resources := l.generated(p.JetFile, documents)
	if err := Distinct(l.errs); err != nil {
		return nil, quoted(marked, name, err)
	}
	p.selection.mark(p, resources)
	return resources, nil
}

// maxGenerated bounds what a template writes for one host, in bytes: some hundred
// thousand lines of YAML take seconds and gigabytes to read.
const maxGenerated = 1 << 20

// quoted adds to errors the line that they are about: nobody else sees that text.
func quoted(m *templates.Marked, name string, err error) error {
	var errs, all yamlpos.Errors
	errs.Add(err)
	lines := strings.Split(m.Text, "\n")
	for _, e := range errs {
		e := *e
		e.Msg = m.Show(e.Msg)
		if e.File == name && e.Line > 0 && e.Line <= len(lines) {
			e.Msg += fmt.Sprintf(" (in \"%s\")", shortened(strings.TrimSpace(m.Show(lines[e.Line-1]))))
		}
		all.Add(&e)
	}
	return all.Err()
}

func shortened(line string) string {
	const longest = 80
	if runes := []rune(line); len(runes) > longest {
		return string(runes[:longest-1]) + "…"
	}
	return line
}

// withoutColumns takes the columns out of the positions in lines that hold
// values: there they are not those that the values themselves would give.
func withoutColumns(n *yamlpos.Node, lines map[int]bool) {
	if lines[n.Line] {
		n.Column = 0
	}
	for _, item := range n.Items {
		withoutColumns(item, lines)
	}
	for _, pair := range n.Pairs {
		withoutColumns(pair.Key, lines)
		withoutColumns(pair.Value, lines)
	}
}

// generated reads the one document of a template: a list as that of resources.
// It may be empty: not every host needs something.
func (l *loader) generated(at *yamlpos.Node, documents []*yamlpos.Node) []*Resource {
	if len(documents) == 0 || given(documents[0]) == nil {
		l.add(at.Errorf("a host for which there is nothing to do gets []", "resources jet template produced no output"))
		return nil
	}
	list := documents[0]
	switch {
	case len(documents) > 1:
		l.add(documents[1].Errorf("", "a template writes one document"))
	case list.Kind != yamlpos.List:
		l.add(list.Errorf("write a list: - file: [...]", "resources is not a list"))
	default:
		return l.resources(list)
	}
	return nil
}

// isOpen reports whether a scalar holds an expression or, in a file that a
// template has written, a value.
func (l *loader) isOpen(n *yamlpos.Node) bool {
	return templates.HasExpr(n.Text) || l.marked.Has(n.Text)
}

// text compiles a scalar that is open.
func (l *loader) text(n *yamlpos.Node) (*templates.Text, error) {
	if l.marked != nil {
		return templates.ParseMarked(l.marked, n.Text, templates.At(n), n.Quoted)
	}
	return templates.Parse(n.Text, templates.At(n))
}

// literalKey reports a key that a template has printed a value into.
func (l *loader) literalKey(key *yamlpos.Node) bool {
	if !l.marked.Has(key.Text) {
		return true
	}
	l.add(key.Errorf("a template prints names and the values of properties; it writes the other keys itself",
		"a printed value cannot be the key %q", strings.TrimSpace(l.marked.Show(key.Text))))
	return false
}

// generatorInputs gives what the template can read, and the resources that it writes.
func (p *Play) generatorInputs(files *templates.Files) (in templates.Inputs) {
	source, err := files.Read(p.JetFile.Text)
	if err != nil {
		return in // which CheckPaths reports
	}
	template, err := templates.JetFile(files, p.JetFile.Text)
	if err != nil {
		return in
	}
	in = template.Reads().Inputs(files)
	// The expressions in what it writes stand in its own text, unless that is of
	// other templates too.
	written, err := templates.Parse(string(source), templates.Position{})
	if err != nil || othersText().Match(source) {
		in.Anything()
		return in
	}
	in.Add(written.Inputs(files))
	return in
}

// othersText finds what brings the text of other templates into one.
var othersText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\[\[-?\s*(include|import|extends|yield|block)\b|includeIfExists`)
})

// CheckPaths reports a JetFile that is not there or wrong, and the files of the
// play that a host could choose in it or in messages.
func (p *Play) CheckPaths(files *templates.Files, data map[string]bool) error {
	taint := templates.Taint{Data: data}
	var errs yamlpos.Errors
	errs.Add(p.Pre.CheckPaths(files, taint))
	errs.Add(p.Post.CheckPaths(files, taint))
	if p.JetFile != nil {
		template, err := templates.JetFile(files, p.JetFile.Text)
		if err != nil {
			errs.Add(templates.Place(p.JetFile, err))
		} else {
			errs.Add(template.CheckPaths(files, taint))
		}
	}
	return errs.Err()
}
