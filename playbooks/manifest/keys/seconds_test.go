package keys

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"5": 5 * time.Second, "0": 0, "1.5": 1500 * time.Millisecond, "90s": 90 * time.Second, "1h30m": 90 * time.Minute, "2d": 48 * time.Hour, "250ms": 250 * time.Millisecond,
	} {
		got, err := parseSeconds(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for text, want := range map[string]string{
		"": `"" is not a duration`, "x": `"x" is not a duration`, "-1s": "-1s is outside 0s-30d", "1e300": `"1e300" is not a duration`, "NaN": `"NaN" is not a duration`, "31d": "31d is outside 0s-30d",
	} {
		_, err := parseSeconds(text)
		require.EqualError(t, err, want, text)
	}
}

func FuzzSeconds(f *testing.F) {
	for _, text := range []string{"5", "1.5s", "1d", "-1", "1e9", "inf", "0x1p4", "9999999999h"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := parseSeconds(text)
		if err != nil {
			return
		}
		require.GreaterOrEqual(t, d, time.Duration(0))
		require.LessOrEqual(t, d, maxDuration)
		again, err := parseSeconds(d.String())
		require.NoError(t, err)
		require.Equal(t, d, again)
	})
}
