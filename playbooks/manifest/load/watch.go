package load

import (
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/watch"
)

// watch reads a play's watch settings from its keys n.
func (f *file) watch(n *yamlpos.Node) []*manifest.Value {
	v := f.values.Optional(n, "watch")
	if v == nil {
		return nil
	}
	rules := watch.Defaults()
	f.report.Add(manifest.ReadWatch(v.Node, &rules, true, v.Open))
	for _, name := range rules.Ignore {
		if name != "" && name != "ensure" && !slices.ContainsFunc(f.run.registry, func(t modules.Type) bool { return t.HasProperty(name) }) {
			f.report.Warn(v.Node, `"watch.ignore" names the property "`+name+`", which no type of this program has`)
		}
	}
	return []*manifest.Value{v}
}
