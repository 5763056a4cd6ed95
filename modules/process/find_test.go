package process_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/process"
)

func TestReadAtMost(t *testing.T) {
	for text, want := range map[string]error{"": nil, "abc": nil, "abcd": process.ErrTooLong} {
		got, err := process.ReadAtMost(strings.NewReader(text), 3)
		require.ErrorIs(t, err, want)
		require.Equal(t, text[:min(len(text), 3)], string(got))
	}
}
