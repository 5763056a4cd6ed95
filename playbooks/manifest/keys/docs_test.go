package keys

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/health"
)

// TestDocsHaveEveryKey fails for a key that no page of the guide has in code quotes. Pages of
// types are generated with all properties.
func TestDocsHaveEveryKey(t *testing.T) {
	pages, err := filepath.Glob("../../../docs/guide/*.md")
	require.NoError(t, err)
	var guide []byte
	for _, name := range pages {
		page, err := os.ReadFile(name)
		require.NoError(t, err)
		guide = append(guide, page...)
	}
	told := map[string][]string{
		"a play":         OfPlay,
		"ccm":            OfCCM,
		"a resource":     OfResource,
		"control":        names(reflect.TypeFor[Control]()),
		"a registration": names(reflect.TypeFor[Registration]()),
		"a health check": names(reflect.TypeFor[health.Check]()),
		"rollout":        names(reflect.TypeFor[Rollout]()),
		"a gate":         names(reflect.TypeFor[Gate]()),
		"drain":          names(reflect.TypeFor[Drain]()),
		"stop":           names(reflect.TypeFor[Stop]()),
		"watch":          names(reflect.TypeFor[Watch]()),
		"repair":         names(reflect.TypeFor[Repair]()),
	}
	for of, list := range told {
		for _, name := range list {
			require.Containsf(t, string(guide), "`"+name+"`", "docs/guide does not name %s, of %s", name, of)
		}
	}
}
