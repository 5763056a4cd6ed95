package manifest

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
	page, err := os.ReadFile("../../docs/manifest.md")
	require.NoError(t, err)
	names := map[string][]string{
		"a play":         jsonNames(reflect.TypeFor[playKeys]()),
		"ccm":            jsonNames(reflect.TypeFor[ccmKeys]()),
		"a resource":     commonNames,
		"control":        jsonNames(reflect.TypeFor[controlKeys]()),
		"a registration": jsonNames(reflect.TypeFor[registration]()),
		"a health check": jsonNames(reflect.TypeFor[health.Check]()),
	}
	for _, typ := range builtin.Types() {
		if !bytes.Contains(page, []byte("\n## "+typ.Name+"\n")) {
			continue // a type need not have a section
		}
		for _, f := range modules.Fields(typ.New()) {
			names[typ.Name] = append(append(names[typ.Name], f.Name), f.Also...)
		}
	}
	for of, list := range names {
		for _, name := range list {
			require.Truef(t, bytes.Contains(page, []byte("`"+name+"`")), "docs/manifest.md does not tell of %s, of %s", name, of)
		}
	}
}
