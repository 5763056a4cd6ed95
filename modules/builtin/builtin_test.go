package builtin_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
)

func TestTypes(t *testing.T) {
	names := builtin.Types().Names()
	require.Subset(t, names, []string{"file", "exec"})
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(names))), len(names), "a type is there twice")
	for _, typ := range builtin.Types() {
		t.Run(typ.Name, func(t *testing.T) {
			require.NotEmpty(t, typ.Doc)
			fields := modules.Fields(typ.New())
			require.NotEmpty(t, fields)
			spellings := map[string]bool{}
			for _, f := range fields {
				require.NotEmpty(t, f.Doc, "%s.%s has no documentation", typ.Name, f.Name)
				if strings.Contains(f.Name, "url") {
					require.True(t, f.URL, "%s.%s: a URL can hold a password: tag it secret:\"url\"", typ.Name, f.Name)
				}
				for _, name := range append(f.Also, f.Name) {
					require.False(t, spellings[name], "%s.%s is there twice", typ.Name, name)
					spellings[name] = true
				}
			}
			require.True(t, spellings["name"])
			require.NotPanics(t, func() { modules.SetDefaults(typ.New()) })
		})
	}
}
