package schematest

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/inventory/yamlpos/schema"
)

func TestCheck(t *testing.T) {
	c := Compile(t, &schema.Schema{Dialect: schema.Dialect, ID: "https://example.com/number.json", Type: schema.Types{schema.Number}})
	for text, good := range map[string]bool{
		"5": true, "0x10": true, "5\n---\n6": true, "": true,
		"x": false, "5\n---\nx": false, ".nan": false, "~": false,
		"[": true, // no YAML, which is not for a schema to say
	} {
		require.Equal(t, good, c.Check([]byte(text)) == nil, text)
	}
}

func TestMutate(t *testing.T) {
	const original = "a: &a {b: 1, c: [x, y]}\nd: *a\n---\n- e\n"
	seen := map[string]bool{}
	for seed := range uint64(200) {
		text := Mutate(t, rand.New(rand.NewPCG(seed, 0)), []byte(original), []string{"word"})
		again := Mutate(t, rand.New(rand.NewPCG(seed, 0)), []byte(original), []string{"word"})
		require.Equal(t, string(text), string(again))
		seen[string(text)] = true
	}
	require.Greater(t, len(seen), 100)
	readable := 0
	for text := range seen {
		if _, err := yamlpos.Parse("", []byte(text)); err == nil {
			readable++
		}
	}
	require.Greater(t, readable, len(seen)/2)
}
