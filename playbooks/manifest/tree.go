package manifest

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/templates"
)

// TreeBounds returns the size limits of a folder of templates.
func TreeBounds() templates.ScaffoldBounds {
	return templates.ScaffoldBounds{
		Nodes: modules.MaxTreeNodes,
		Size:  modules.MaxTreeSize,
		Path:  modules.ValidateTreePath,
		Link:  modules.ValidateTreeLink,
	}
}

// Templates reads the folder that a request is about.
func Templates(files *templates.Files, r modules.TreeRequest) (*templates.ScaffoldTree, error) {
	s := templates.Scaffold{Folder: r.Source, Plain: r.Engine == "none", Go: r.Engine == "go", Delims: templates.Delims{Left: r.Left, Right: r.Right}}
	return templates.LoadScaffold(files, s, TreeBounds())
}

// A treeUse is the folder of templates that a resource has rendered.
type treeUse struct {
	modules.TreeUse
	at      *yamlpos.Node // the property that names the folder
	literal bool          // whether all is known that the templates are read with
}

// usesTree returns the folder of templates of a resource; nil means none.
func (r *Resource) usesTree() *treeUse {
	res := r.Type.New()
	tree := r.Requirements().Tree
	if tree == nil {
		return nil
	}
	use := &treeUse{TreeUse: *tree, at: r.Name.Node, literal: true}
	for _, f := range modules.Fields(res) {
		node := r.PropertySet().Get(f.Name)
		if node == nil {
			continue
		}
		if f.PlayTree {
			use.at = node
		}
		if slices.Contains(use.From, f.Name) && r.Properties.Open(node) {
			use.literal = false
		}
	}
	use.literal = use.literal && use.Request.Source != ""
	return use
}

// checkTree reports errors in the folder of templates of a resource. The folder of a resource that not every host needs
// may be missing.
func (r *Resource) checkTree(files *templates.Files) error {
	use := r.usesTree()
	if use == nil || !use.literal {
		return nil
	}
	_, err := Templates(files, use.Request)
	if !r.Unconditional() && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return placeAll(use.at, err)
}

// placeAll adds the position of n to each of the joined errors that has none.
func placeAll(n *yamlpos.Node, err error) error {
	var errs yamlpos.Errors
	for _, e := range parts(err) {
		errs.Add(templates.Place(n, e))
	}
	return errs.Err()
}

// parts takes joined errors apart.
func parts(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	_, positioned := err.(*templates.Error)
	switch {
	case err == nil:
		return nil
	case positioned || !ok:
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, parts(e)...)
	}
	return all
}

// treeInputs returns what the templates of a folder can read.
func (r *Resource) treeInputs(files *templates.Files) (in templates.Inputs) {
	use := r.usesTree()
	switch {
	case use == nil:
		return in
	case !use.literal:
		if use.Request.Source != "" || r.Properties.HasExpressions() {
			in.Anything()
		}
		return in
	}
	tree, err := Templates(files, use.Request)
	if err != nil {
		return in // which is reported, or no host needs it
	}
	return tree.Inputs()
}
