package render_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/templates/render"
)

// FuzzParseNumber compares with encoding/json: the same texts are numbers, with the same values.
func FuzzParseNumber(f *testing.F) {
	for _, text := range []string{"0", "-0", "12", "1.5", "-1e3", "1e400", "9223372036854775807", "9223372036854775808", "-9223372036854775808.0", "1e-400",
		"nan", "NaN", "inf", "-Infinity", "+1", "0x1p4", "1_000", "007", " 1", "1\n", "", "true", "[1]", `"1"`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := render.ParseNumber(text)
		var want float64
		if json.Unmarshal([]byte(text), &want) != nil || text == "null" || text != strings.TrimSpace(text) {
			require.Error(t, err, "%q is %v", text, got)
			return
		}
		require.NoError(t, err, "%q", text)
		if whole, ok := got.(int64); ok {
			require.Equal(t, want, float64(whole), "%q", text)
			return
		}
		require.Equal(t, want, got, "%q", text)
		_, err = strconv.ParseInt(text, 10, 64)
		require.Error(t, err, "%q is whole", text)
	})
}
