package flags

import (
	"github.com/spf13/pflag"

	"github.com/ccm-push/ccm-push/playbooks/manifest"
)

// Selection holds the flags that choose plays and resources of manifests.
type Selection struct {
	Selection manifest.Selection
	List      bool // prints them, and nothing else
}

// selecting lists the flags that choose plays and resources.
var selecting = []string{"tags", "skip-tags", "start-at"}

func (f *Selection) register(set *pflag.FlagSet) {
	set.StringSliceVarP(&f.Selection.Tags, "tags", "t", nil, "only plays and resources with one of these `tags`")
	set.StringSliceVar(&f.Selection.Skip, "skip-tags", nil, "skip plays and resources with one of these `tags`")
	set.StringVar(&f.Selection.StartAt, "start-at", "", "skip the resources before this `resource`, type#name (also: --start-at-task)")
	set.BoolVar(&f.List, "list-resources", false, "print resources and tags and exit (also: --list-tasks, --list-tags)")
}
