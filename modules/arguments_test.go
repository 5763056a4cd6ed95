package modules_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

func TestTakeApart(t *testing.T) {
	tests := []struct {
		words string
		rest  string
		input string
		err   string
	}{
		{"A/B", "A/B", "", ""},
		{"A/B --input {}", "A/B", "{}", ""},
		{"--input={} A/B", "A/B", "{}", ""},
		{"a --input - b", "a b", "-", ""},
		{"a --input= b", "a b", "", ""},
		{"a -x b", "a -x b", "", ""},
		{"a --input", "", "", "--input lacks its value"},
		{"a --input 1 --input=2", "", "", "--input is given twice"},
		{"a --become", "", "", "--become is not allowed here, only --input, --version; write the flags of ccm-push before the host pattern"},
	}
	for _, tt := range tests {
		got, err := modules.SplitOptions(strings.Fields(tt.words), []string{"input", "version"})
		if tt.err != "" {
			require.EqualError(t, err, tt.err, tt.words)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, tt.rest, strings.Join(got.Rest, " "))
		require.Equal(t, tt.input, got.Options["input"])
	}
}
