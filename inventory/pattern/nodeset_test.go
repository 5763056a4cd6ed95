package pattern_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/pattern"
)

// setForm is the form that IsNodeSet accepts.
var setForm = regexp.MustCompile(`^[0-9]+(?:[-,/][0-9]+)+$`)

func FuzzIsSet(f *testing.F) {
	for _, spec := range []string{"1", "1-3", "1,3-5", "1-10/2", "-1", "1-", "1--3", "", "a", "1,2a"} {
		f.Add(spec)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		require.Equal(t, setForm.MatchString(spec), pattern.IsNodeSet(spec))
	})
}
