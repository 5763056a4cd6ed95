package connection

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos/schema"
)

func TestKeysAreDescribed(t *testing.T) {
	var names []string
	for _, p := range (schema.Rules{}).Properties(reflect.TypeFor[connectDoc]()) {
		require.NotEmpty(t, p.Schema.Description)
		names = append(names, p.Name)
	}
	require.Equal(t, keys, names)
}
