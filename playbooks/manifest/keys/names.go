package keys

import (
	"reflect"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
)

// Names of keys, as they are written.
var (
	OfPlay     = names(reflect.TypeFor[Play]())
	OfCCM      = names(reflect.TypeFor[CCM]())
	OfNested   = names(reflect.TypeFor[Nested]())
	OfResource = names(reflect.TypeFor[Resource]())
	OfBlock    = names(reflect.TypeFor[Block]())
	OfMeta     = names(reflect.TypeFor[Meta]())
)

func names(t reflect.Type) []string {
	var list []string
	for f := range t.Fields() {
		if f.Anonymous {
			list = append(list, names(f.Type)...)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		list = append(list, name)
	}
	return list
}

// Common reports whether a key means the same for a type as for every other. Those of
// the graph and the engine give way to properties of a type that are called so.
func Common(t modules.Type, key string) bool {
	return slices.Contains(OfResource, key) && !(Yields(key) && t.HasProperty(key))
}

// Yields reports whether a key that every type has gives way to a property.
func Yields(key string) bool {
	return slices.Contains(OfMeta, key) || slices.Contains([]string{"before", "notify", "recv", "export", "register"}, key)
}

// Given is nil for what is null: that counts as not given.
func Given(n *yamlpos.Node) *yamlpos.Node {
	if n == nil || n.Kind == yamlpos.Scalar && n.Value == nil {
		return nil
	}
	return n
}

// Scalar is nil for what is not given, and for lists and maps, which decoding reports.
func Scalar(n *yamlpos.Node) *yamlpos.Node {
	if n = Given(n); n == nil || n.Kind != yamlpos.Scalar {
		return nil
	}
	return n
}
