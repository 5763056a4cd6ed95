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

// Common reports whether a key means the same for a type as for every other. Keys of the graph and the engine yield to
// a property of the type with the same name.
func Common(t modules.Type, key string) bool {
	return slices.Contains(OfResource, key) && !(Yields(key) && t.HasProperty(key))
}

// Yields reports whether a key that every type has yields to a property of that name.
func Yields(key string) bool {
	return slices.Contains(OfMeta, key) || slices.Contains([]string{"before", "notify", "recv", "export", "register", "vars"}, key)
}

// Given returns n, or nil if n is null: null counts as not set.
func Given(n *yamlpos.Node) *yamlpos.Node {
	if n == nil || n.Kind == yamlpos.Scalar && n.Value == nil {
		return nil
	}
	return n
}

// Scalar returns n if it is a scalar. It returns nil for null, and for lists and maps, which decoding reports.
func Scalar(n *yamlpos.Node) *yamlpos.Node {
	if n = Given(n); n == nil || n.Kind != yamlpos.Scalar {
		return nil
	}
	return n
}
