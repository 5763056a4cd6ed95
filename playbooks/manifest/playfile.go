package manifest

import (
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/templates"
)

// checkPlayFiles refuses names of files of the play that a host could choose: it
// would be given what belongs to another one.
func (l *loader) checkPlayFiles(r *Resource) {
	for _, f := range modules.Fields(r.Type.New()) {
		if f.PlayFile {
			l.playFile(r, r.Properties.Node.Get(f.Name))
		}
	}
}

func (l *loader) playFile(r *Resource, n *yamlpos.Node) {
	if n == nil {
		return
	}
	for _, item := range n.Items {
		l.playFile(r, item)
	}
	text := r.Properties.texts[n]
	if text == nil {
		return
	}
	if text.FromHost() || text.Mentions("Item") && r.Each.FromHost() {
		l.add(n.Errorf(`choose among literals: "{{ Facts.x == 'y' ? 'a.conf' : 'b.conf' }}", or use data of the inventory`,
			"what a host sent may not name a file of the play"))
	}
}

// Unconditional reports whether every host needs what the resource names.
func (r *Resource) Unconditional() bool { return r.If == nil && r.Unless == nil && r.Each == nil }

// A PlayFile is the literal name of a file of the play.
type PlayFile struct {
	Property string
	Name     *yamlpos.Node
}

// PlayFiles gives the names of files of the play that stand in a resource as
// they are.
func (r *Resource) PlayFiles() []PlayFile {
	var names []PlayFile
	for _, f := range modules.Fields(r.Type.New()) {
		n := r.Properties.Node.Get(f.Name)
		if f.PlayFile && n != nil && n.Kind == yamlpos.Scalar && n.Value != nil && !r.Properties.Open(n) {
			names = append(names, PlayFile{f.Name, n})
		}
	}
	return names
}

// CheckTemplates reports what is wrong with the templates that the resource
// names.
func (r *Resource) CheckTemplates(files *templates.Files) error {
	var errs yamlpos.Errors
	for _, v := range r.values() {
		if v == nil {
			continue
		}
		for _, text := range v.texts {
			errs.Add(text.Check(files))
		}
	}
	return errs.Err()
}
