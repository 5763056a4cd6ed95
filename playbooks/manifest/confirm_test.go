package manifest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

func literalText(text string) *yamlpos.Node {
	return &yamlpos.Node{Kind: yamlpos.Scalar, Text: text, Value: text}
}

// FuzzVia checks that a parsed address is written as it was read.
func FuzzVia(f *testing.F) {
	for _, text := range []string{"h", "h:22", ":22", "ssh://u@h:22", "ssh://[::1]", "::1", "[::1]:22", "ssh://u@@h", "a b", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		via, err := ParseVia(literalText(text))
		if err != nil {
			return
		}
		again, err := ParseVia(literalText(via.String()))
		require.NoError(t, err, "%q", via)
		require.Equal(t, via, again)
	})
}
