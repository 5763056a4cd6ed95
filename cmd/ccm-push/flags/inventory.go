package flags

import (
	"github.com/spf13/pflag"

	"github.com/ccm-push/ccm-push/inventory"
)

// Inventory holds the flags about the inventory, and about the hosts of it.
type Inventory struct {
	Paths       []string
	Limit       string
	PlaybookDir string
	Options     inventory.Options
	ListHosts   bool
}

func (f *Inventory) register(set *pflag.FlagSet) {
	o := &f.Options
	set.StringArrayVarP(&f.Paths, "inventory", "i", nil, "inventory `file`, or comma-separated host names; may be repeated")
	set.StringVarP(&f.Limit, "limit", "l", "", "only hosts that also match this `pattern`")
	set.StringVar(&f.PlaybookDir, "playbook-dir", "", "`folder` with group_vars and host_vars; their variables override the inventory (default: the folder of the manifest)")
	set.BoolVar(&o.AllowScripts, "allow-inventory-scripts", false, "run the executables in an inventory folder")
	set.BoolVar(&o.AllowImplicitLocalhost, "allow-implicit-localhost", false, "accept localhost as a host that no inventory lists")
	set.BoolVar(&o.AllowNameClash, "allow-name-clash", false, "accept a host and a group with the same name; the name then selects the host")
	set.BoolVar(&o.AllowEmpty, "allow-empty", false, "accept a pattern that matches no host")
	set.BoolVar(&o.StrictPatterns, "strict-patterns", false, "refuse a pattern if one part of it matches no host")
	set.BoolVar(&o.MergeMaps, "merge-maps", false, "merge maps of inventory variables key by key, instead of replacing them")
	set.BoolVar(&f.ListHosts, "list-hosts", false, "print the selected hosts and exit")
}
