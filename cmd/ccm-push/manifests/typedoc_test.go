package manifests

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/builtin"
)

// TestTypeDocFits checks the line width of a type's documentation; examples keep their own lines.
func TestTypeDocFits(t *testing.T) {
	for _, typ := range builtin.Types() {
		text, err := typeDoc(typ)
		require.NoError(t, err)
		text, _, _ = strings.Cut(text, "\nExamples\n")
		for line := range strings.Lines(text) {
			require.LessOrEqual(t, utf8.RuneCountInString(line), docWidth+1, line)
		}
	}
}
