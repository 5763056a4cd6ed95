package manifest

import (
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
)

// Sets reports whether the resources of a type set values of the data.
func Sets(t modules.Type) bool {
	_, ok := t.New().(modules.Setter)
	return ok
}

// SetValues returns the keys of the data that the resource sets, with their values; nil if it sets none.
func (s PropertySet) SetValues() []yamlpos.Pair {
	if given := keys.Given(s.Get("data")); given != nil && Sets(s.Type) {
		return given.Pairs
	}
	return nil
}

// Set returns the keys that the resource sets to values that are made of facts or results.
func (t Taint) Set() []string {
	var set []string
	for _, pair := range t.resource.PropertySet().SetValues() {
		if t.fromHost(pair.Value) {
			set = append(set, pair.Key.Text)
		}
	}
	return set
}
