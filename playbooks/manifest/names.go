package manifest

import (
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/templates"
)

// A FileName is the name of a file or folder of a play, as the play writes it.
type FileName struct {
	Text string
	Kind NameKind
	// Computed reports whether Text has expressions, or is one.
	Computed bool
	At       string // file:line:column
	File     string // template or manifest that the name is in
}

// A NameKind classifies how a play uses the name of a file.
type NameKind int

// The kinds of names.
const (
	FileText   NameKind = iota // the file is sent, or its text is used
	FolderText                 // all of the folder is sent
	NestedText                 // the file is a manifest, which reads files of its own folder
	Expression                 // the file is sent; Text is an expression without delimiters
)

// FileNames returns the names of the files and folders that the play may read when it is compiled for a host. Templates with a literal name
// are not among them, and files that templates include.
func (p *Play) FileNames(files *templates.Files) (names []FileName) {
	for _, r := range p.Resources {
		if !r.LeftOut() {
			names = append(names, r.fileNames()...)
		}
	}
	if p.JetFile != nil { // the template writes the resources
		text, err := files.Read(p.JetFile.Text)
		if err == nil {
			names = append(names, FileName{Text: string(text), Computed: true, Kind: Expression, At: p.JetFile.Pos(), File: p.JetFile.Text})
		}
	}
	for _, f := range p.Inputs(files).FilePaths {
		names = append(names, FileName{Text: f.Text, Kind: Expression, Computed: true, At: f.At.String(), File: f.At.File})
	}
	return names
}

func (r *Resource) fileNames() (names []FileName) {
	add := func(n *yamlpos.Node, kind NameKind, open bool) {
		names = append(names, FileName{n.Text, kind, open, n.Pos(), n.File})
	}
	var each func(n *yamlpos.Node, kind NameKind)
	each = func(n *yamlpos.Node, kind NameKind) {
		for _, item := range n.Items {
			each(item, kind)
		}
		if open := r.Properties.Open(n); n.Kind == yamlpos.Scalar && n.Value != nil && (open || !modules.IsURL(n.Text)) {
			add(n, kind, open)
		}
	}
	for _, f := range modules.Fields(r.Type.New()) {
		n := r.PropertySet().Get(f.Name)
		switch {
		case n == nil:
		case f.PlayFile:
			each(n, FileText)
		case f.PlayTree:
			each(n, FolderText)
		}
	}
	if r.Applies() && r.Child == nil && r.Block == nil {
		add(r.Name.Node, NestedText, r.Name.HasExpressions())
	}
	return names
}

// UsesResources reports whether a resource of the play may read the folder resources/ next to the manifest.
func (p *Play) UsesResources() bool {
	if p.JetFile != nil {
		return true
	}
	for _, r := range p.Resources {
		if !r.LeftOut() && modules.RequirementsOf(r.Type.New()).Resources {
			return true
		}
	}
	return false
}
