package inventory

import (
	"encoding/json"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/connection"
	"github.com/ccm-push/ccm-push/inventory/source"
	"github.com/ccm-push/ccm-push/inventory/yamlpos/schema"
	"github.com/ccm-push/ccm-push/inventory/yamlpos/schema/schematest"
)

var update = flag.Bool("update", false, "write the expected errors in testdata/bad anew")

// blind lists the bad inventories that the schema cannot distinguish from good ones.
var blind = map[string][]string{
	"arguments of ssh":                {"ansible-args-no-verification", "ansible-args-open-quote", "ansible-args-proxy-command"},
	"ports in names":                  {"connect-jump-port", "host-name-colon", "host-port"},
	"numbers written another way":     {"connect-password-number"},
	"ranges":                          {"host-range-backwards", "host-range-dash", "host-range-too-many", "host-range-without-end"},
	"references":                      {"group-and-host-of-one-name", "group-cycle", "group-cycle-of-one", "host-name-called-all"},
	"keys that JSON has only as text": {"group-name-boolean", "group-name-number", "host-name-number"},
	"YAML itself": {
		"yaml-comment", "yaml-duplicate-key", "yaml-empty", "yaml-syntax", "yaml-tab", "yaml-two-documents",
	},
}

func TestCorpus(t *testing.T) {
	schematest.Corpus{
		Dir:     "testdata",
		Checker: schematest.Compile(t, Schema()),
		Decode: func(path string) error {
			return wrongWith(Load(t.Context(), []string{path}, Options{}))
		},
		Blind:  blind,
		Update: *update,
	}.Run(t)
}

func TestGroupKeysAreDescribed(t *testing.T) {
	var names []string
	for _, p := range groupSchema().Properties {
		names = append(names, p.Name)
	}
	require.Equal(t, groupKeys, names)
}

// TestSchemaAcceptsMutations changes good inventories at random: what the decoder
// still takes, the schema must take.
func TestSchemaAcceptsMutations(t *testing.T) {
	paths, err := filepath.Glob("testdata/good/*.yaml")
	require.NoError(t, err)
	checker := schematest.Compile(t, Schema())
	rng := rand.New(rand.NewPCG(3, 14))
	words := slices.Concat(groupKeys, namesIn(connection.ConnectSchema()), namesIn(connection.VariablesSchema()), []string{"web", "db", "all", "h[1:3]", "h:22", "x", "plugin"})
	accepted := 0
	rounds := 4000
	if testing.Short() {
		rounds /= 10
	}
	for range rounds {
		data, err := os.ReadFile(paths[rng.IntN(len(paths))])
		require.NoError(t, err)
		mutated := schematest.Mutate(t, rng, data, words)
		if source.FormatOf("mutated.yaml", mutated) != source.YAML {
			continue
		}
		if wrongWith(Parse("mutated.yaml", mutated)) == nil {
			accepted++
			require.NoError(t, checker.Check(mutated), "%s", mutated)
		}
	}
	require.Greater(t, accepted, rounds/10)
}

// namesIn lists the names that a schema knows.
func namesIn(s *schema.Schema) (names []string) {
	for _, p := range s.Properties {
		names = append(names, p.Name)
	}
	return names
}

func TestSchemaAcceptsWhatIsFound(t *testing.T) {
	checker := schematest.Compile(t, Schema())
	accepted := 0
	for _, path := range schematest.Found(t, "..") {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		if source.FormatOf(path, data) != source.YAML {
			continue
		}
		if wrongWith(Parse(path, data)) == nil {
			err := checker.Check(data)
			if _, inexpressible := errors.AsType[*json.UnsupportedValueError](err); inexpressible {
				continue // JSON has no .inf
			}
			accepted++
			require.NoError(t, err, "%s", data)
		}
	}
	require.GreaterOrEqual(t, accepted, 4)
}
