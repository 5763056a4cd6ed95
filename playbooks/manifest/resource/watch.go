package resource

import (
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
	"github.com/ccm-push/ccm-push/playbooks/watch"
)

// watch checks the watch settings for resources of a type, except expressions.
func (rd *Reader) watch(t modules.Type, n *yamlpos.Node, open func(*yamlpos.Node) bool) {
	rules := watch.Defaults()
	rd.Report.Add(manifest.ReadWatch(n, &rules, false, open))
	if n = keys.Given(n); n == nil || !rd.listsProperties(t) {
		return
	}
	ignore := keys.Given(n.Get("ignore"))
	if ignore == nil {
		return
	}
	names := []string{"ensure"}
	for _, f := range modules.Fields(t.New()) {
		names = append(names, f.Name)
	}
	for _, item := range ignore.Items {
		if item.Kind != yamlpos.Scalar || open(item) || slices.Contains(names, item.Text) {
			continue
		}
		hint := "its properties are " + strings.Join(names[1:], ", ")
		if canonical := manifest.CanonicalProperty(t, item.Text); canonical != item.Text {
			hint = `write "` + canonical + `", which is the same`
		} else if near := yamlpos.Suggest(item.Text, names); near != "" {
			hint = `did you mean "` + near + `"?`
		}
		rd.Report.Add(item.Errorf(hint, "type %s has no property %q to ignore", t.Name, item.Text))
	}
}

// listsProperties reports whether this package knows which properties a type has. It does not for a block or an applied
// manifest, which have the properties of their resources, nor for programs of others.
func (rd *Reader) listsProperties(t modules.Type) bool {
	_, applies := t.New().(modules.Nester)
	return t.Below == "" && !applies && slices.Contains(rd.Registry.Names(), t.Name)
}
