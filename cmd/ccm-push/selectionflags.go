package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/ccm-push/ccm-push/playbooks/manifest"
)

// selectionFlags say which plays and resources of manifests a run is about.
type selectionFlags struct {
	selection manifest.Selection
	list      bool // print them, and nothing else

	set *pflag.FlagSet // to ask which are given
}

// selecting are the names of the flags that choose.
var selecting = []string{"tags", "skip-tags", "start-at"}

func (f *selectionFlags) register(set *pflag.FlagSet) {
	f.set = set
	set.StringSliceVarP(&f.selection.Tags, "tags", "t", nil, "only plays and resources with one of these `tags`")
	set.StringSliceVar(&f.selection.Skip, "skip-tags", nil, "skip plays and resources with one of these `tags`")
	set.StringVar(&f.selection.StartAt, "start-at", "", "skip the resources before this `resource`, type#name (also: --start-at-task)")
	set.BoolVar(&f.list, "list-resources", false, "print resources and tags and exit (also: --list-tasks, --list-tags)")
}

func (f *selectionFlags) validate() error { return refuseEmpty(f.set, selecting...) }

// refuse reports a flag that chooses among resources, for a command that cannot.
func (f *selectionFlags) refuse(command string) error {
	for _, name := range selecting {
		if f.set.Changed(name) {
			return fmt.Errorf("--%s chooses among the resources of a run; %s has no use for it", name, command)
		}
	}
	return nil
}

// refuseEmpty reports a flag that is given and empty: a variable of a shell that is not
// set must not select everything.
func refuseEmpty(set *pflag.FlagSet, names ...string) error {
	for _, name := range names {
		if value := set.Lookup(name).Value.String(); set.Changed(name) && (value == "" || value == "[]") {
			return fmt.Errorf("--%s is empty", name)
		}
	}
	return nil
}
