package gather

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/templates/render"
)

// TestFields checks that every field that CCM's expressions can name leads to its fact here: the fields of gopsutil's
// structs, wherever they are in the gathered facts.
func TestFields(t *testing.T) {
	for path, tree := range map[string]any{
		"host": hostTree{}, "network": networkTree{}, "partition": partitionTree{}, "cpu": cpuTree{}, "memory": memoryTree{},
	} {
		eachField(t, path, reflect.TypeOf(tree))
	}
}

// eachField checks the fields of gopsutil's structs at a path and below.
func eachField(t *testing.T, path string, typ reflect.Type) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct {
		return
	}
	for field := range typ.Fields() {
		key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		require.NotEmpty(t, key, field.Name)
		if strings.Contains(typ.PkgPath(), "gopsutil") { // ours are maps in CCM
			require.Equal(t, key, render.Field(field.Name), "%s.%s", typ, field.Name)
			value, err := templates.Lookup(factsAt(path, key), path+"."+field.Name)
			require.NoError(t, err)
			require.Equal(t, "it", value)
		}
		eachField(t, path+"."+key, field.Type)
	}
}

// factsAt returns facts with only a text at a path.
func factsAt(path, key string) map[string]any {
	keys := strings.Split(path, ".")
	tree := map[string]any{key: "it"}
	for i := len(keys) - 1; i >= 0; i-- {
		tree = map[string]any{keys[i]: tree}
	}
	return tree
}
