package dsc

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRightUser(t *testing.T) {
	root := os.Geteuid() == 0
	for security, want := range map[string]map[bool]string{
		"":           {},
		"elevated":   {false: `the document requires root for A/B; use "become"`},
		"restricted": {true: "the document does not allow root for A/B"},
	} {
		d := &DSC{TypeName: "A/B", Security: security}
		if want[root] == "" {
			require.NoError(t, d.rightUser(), security)
		} else {
			require.EqualError(t, d.rightUser(), want[root])
		}
	}
}
