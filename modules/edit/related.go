//go:build !host

package edit

import (
	"errors"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/approval"
)

// Related returns the relations of a resource that edits the file. absent means that it removes something from it.
func (f *File) Related(absent bool) []modules.Relation {
	all := []modules.Relation{{Verb: modules.Edits, Thing: modules.PathOf(f.Path), Why: "file that it edits"}}
	if absent {
		return all
	}
	all = append(all, modules.NeedsParent(f.Path))
	if f.Create {
		all = append(all, modules.NeedsOwner(f.Owner, f.Group)...)
	}
	all = append(all, approval.Needs(f.Validation)...)
	return append(all, modules.NeedsPackageOf(f.Path)...)
}

// ValidateStrict reports errors of a play with strict: true.
func (f *File) ValidateStrict(absent bool) error {
	if !f.Create || absent {
		return nil
	}
	return errors.Join(modules.NotEmpty("owner", f.Owner), modules.NotEmpty("group", f.Group), modules.NotEmpty("mode", f.Mode))
}

// Related returns the relations of a resource that edits the files.
func (all Files) Related(absent bool) []modules.Relation {
	var relations []modules.Relation
	for _, f := range all {
		relations = append(relations, f.Related(absent)...)
	}
	return relations
}
