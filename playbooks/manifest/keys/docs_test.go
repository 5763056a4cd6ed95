package keys

import (
	"bytes"
	"os"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/modules/health"
)

// TestDocsHaveEveryKey fails for a key or a property that the page about
// manifests does not tell of, in code quotes.
func TestDocsHaveEveryKey(t *testing.T) {
	page, err := os.ReadFile("../../../docs/manifest.md")
	require.NoError(t, err)
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
	for _, typ := range builtin.Types() {
		if !bytes.Contains(page, []byte("\n## "+typ.Name+"\n")) {
			continue // a type need not have a section
		}
		for _, f := range modules.Fields(typ.New()) {
			told[typ.Name] = append(append(told[typ.Name], f.Name), f.Also...)
		}
	}
	for of, list := range told {
		for _, name := range list {
			require.Truef(t, bytes.Contains(page, []byte("`"+name+"`")), "docs/manifest.md does not tell of %s, of %s", name, of)
		}
	}
}
