package inventory

import (
	"github.com/ccm-push/ccm-push/inventory/source"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// A varFile is what a file in group_vars or host_vars says.
type varFile struct {
	folder int // index in builder.folders
	said   content
}

// varFiles reads what group_vars and host_vars have for the groups and hosts that
// there are.
func (b *builder) varFiles() {
	for i, folder := range b.folders {
		groups := b.openVars(folder, source.GroupVars)
		for _, g := range b.inv.groups {
			for _, vars := range b.varFilesOf(groups, g.Name) {
				g.files = append(g.files, varFile{i, b.varFile(b.withoutPriority(vars))})
			}
		}
		hosts := b.openVars(folder, source.HostVars)
		for _, h := range b.everyHost() {
			for _, vars := range b.varFilesOf(hosts, h.Name) {
				h.files = append(h.files, varFile{i, b.varFile(vars)})
			}
		}
	}
}

func (b *builder) openVars(in source.VarsFolder, kind string) source.VarsListing {
	list, err := in.Open(kind)
	b.errs.Add(err)
	if list.Skipped != "" {
		b.notes.add(yamlpos.TextFrom(list.Path, ""), "%s", list.Skipped)
	}
	return list
}

// varFilesOf reads the files of one group or host. What is wrong with any is noted.
func (b *builder) varFilesOf(in source.VarsListing, name string) (maps []*yamlpos.Node) {
	paths, err := in.Find(name)
	b.errs.Add(err)
	for _, path := range paths {
		vars, err := in.Read(path)
		b.errs.Add(err)
		if vars != nil {
			maps = append(maps, vars)
		}
	}
	return maps
}

func (b *builder) varFile(vars *yamlpos.Node) (said content) {
	b.variablesAndConnect(&said, vars)
	return said
}

// withoutPriority leaves out of a file of a group what counts nowhere but in an
// inventory.
func (b *builder) withoutPriority(vars *yamlpos.Node) *yamlpos.Node {
	if priority := vars.Get(priorityKey); priority != nil {
		b.notes.add(priority, "%s only counts in an inventory, below vars:", priorityKey)
	}
	return withoutPriority(vars)
}
