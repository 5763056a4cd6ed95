package load

import (
	"context"
	"fmt"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
	"github.com/ccm-push/ccm-push/playbooks/manifest/source"
	"github.com/ccm-push/ccm-push/templates"
)

// A perHost reads what of a play is known only for one host.
type perHost struct {
	run     *run
	at      source.File // file of the play
	applies []string    // as in [file]
}

// file returns a new file value for the play's file, with its own report.
func (h perHost) file() *file {
	return h.run.file(h.at, h.applies[:len(h.applies)-1])
}

// An instanceKey has everything that the copy of a manifest with a per-host name depends on. The applying resource is
// not part of it, since a template writes that resource again for every host.
type instanceKey struct {
	parent        *manifest.Play
	of            *nested
	unconditional bool
	denied        bool
	beforeStart   bool
	tags          string
}

// Nested implements [manifest.PerHost].
func (h perHost) Nested(ctx context.Context, p *manifest.Play, r *manifest.Resource, at *yamlpos.Node, nest modules.Nest) (*manifest.Play, error) {
	x := &h.run.nesting
	x.mu.Lock()
	defer x.mu.Unlock()
	f := h.file()
	n := f.nested(ctx, at, nest)
	if n.err == nil && len(f.report.Errors) > 0 { // kept for the next host as well
		n.err = f.report.Errors.Err()
	}
	if n.err != nil {
		return nil, n.err
	}
	key := instanceKey{p, n, r.Unconditional(), nest.Deny, r.BeforeStart, strings.Join(r.Tags, "\x00")}
	if known := x.instances[key]; known != nil {
		return known, nil
	}
	by := *r
	by.Child = n.play
	f.expand([]*manifest.Resource{&by})
	if err := f.report.Err(); err != nil {
		return nil, err
	}
	if nest.Deny {
		var denied error
		manifest.WalkFile(by.Child.Resources, func(one *manifest.Resource) {
			if one.Applies() && denied == nil {
				denied = manifest.Denied(one, r)
			}
		})
		if denied != nil {
			return nil, denied
		}
	}
	by.Child.AppliedBy(p, &by)
	if len(x.instances) < maxManifests {
		x.instances[key] = by.Child
	}
	return by.Child, nil
}

// Generate implements [manifest.PerHost].
func (h perHost) Generate(ctx context.Context, p *manifest.Play, env *templates.Env) ([]*manifest.Resource, error) {
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
	f := h.file()
	f.values = manifest.NewValueReader(f.report, marked)
	resources := f.generated(ctx, p, documents)
	if err := f.report.Err(); err != nil {
		return nil, quoted(marked, name, err)
	}
	return resources, nil
}

// maxGenerated bounds what a template writes for one host, in bytes: some hundred
// thousand lines of YAML take seconds and gigabytes to read.
const maxGenerated = 1 << 20

// quoted adds the text of the failing line to an error, because the output of a template is not in a file.
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

// withoutColumns removes the columns from positions in lines that hold values: columns there differ from the columns
// that the values themselves would have.
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

// generated reads the one document of a template: a list is read as the list of resources. It may be empty, since some
// hosts need nothing.
func (f *file) generated(ctx context.Context, p *manifest.Play, documents []*yamlpos.Node) []*manifest.Resource {
	if len(documents) == 0 || keys.Given(documents[0]) == nil {
		f.report.Add(p.JetFile.Errorf("write [] for a host without resources", "resources jet template produced no output"))
		return nil
	}
	list := documents[0]
	switch {
	case len(documents) > 1:
		f.report.Add(documents[1].Errorf("", "a template writes one document"))
	case list.Kind != yamlpos.List:
		f.report.Add(list.Errorf("write a list: - file: [...]", `"resources" is not a list`))
	default:
		return f.resources(ctx, p, list, p.RememberedAs != nil)
	}
	return nil
}
