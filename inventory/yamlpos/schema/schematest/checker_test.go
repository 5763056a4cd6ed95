package schematest

import (
	"testing"

	"github.com/stretchr/testify/require"

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
