package expression

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestValueTests(t *testing.T) {
	label := strings.Repeat("a", 63)
	for _, c := range []struct{ name, yes, no string }{ // values between bars
		{"isIP", "10.0.0.1|::1|2a00:1450:4002:405::20|::ffff:1.2.3.4", "|x|10.0.0|10.0.0.256|10.0.0.1/8|fe80::1%eth0| 10.0.0.1"},
		{"isIPv4", "10.0.0.1|0.0.0.0", "|::1|10.0.0|x"},
		{"isIPv6", "::1|fe80::1", "|10.0.0.1|::ffff:1.2.3.4|x|:::"},
		{"isInt", "0|-42|+1|9223372036854775807", "|x|1.5|1e3|9223372036854775808| 1|0x10"},
		{"isFloat", "0|1.5|-3.14|42|1e3|.5", "|x|1,5|1.5x"},
		{"isDuration", "0|1s|90m|1h30m|1d|1w2d|2M|1y|1Y|1D|1W|1.5h|-1h|+1h|100ms|1us|1µs|5ns| 1d |.5d|292y", "|x|1|1x|1h x|1hh|d|1.2.3s|- 1h|1d-|300y|1h1|999999999999999999999h"},
		{"isShellSafe", "|ok|ok ok|a'b\"c|*|a\\b", "a;b|a`b|a$b|a&b|a>b|a<b|(a)|a\nb|b)"},
		{"isHostname", "a|web1|web-1|web1.example.com|1.2|" + label + "|" + label + "." + label, "|-a|a-|a..b|.a|a.|a_b|ä|a b|" + label + "a|" + strings.Repeat("a.", 126) + "aa"},
		{"isFQDN", "a.b|web1.example.com|web1.example.com.|xn--e1afmkfd.example", "|a|web1|10.0.0.1|a.|.|a..b|a.b..|-a.b"},
	} {
		is := tests()[c.name]
		for value := range strings.SplitSeq(c.yes, "|") {
			require.True(t, is(value), "%s(%q)", c.name, value)
		}
		for value := range strings.SplitSeq(c.no, "|") {
			require.False(t, is(value), "%s(%q)", c.name, value)
		}
	}
	require.False(t, isShellSafe("a|b"))
}

func TestValueTestsInSnakeCase(t *testing.T) {
	for _, name := range []string{"is_ip", "is_ipv4", "is_ipv6", "is_int", "is_float", "is_duration", "is_shellsafe", "is_shell_safe", "is_hostname", "is_fqdn"} {
		check, err := ParseCheck(name + "(value)")
		require.NoError(t, err)
		holds, err := check.Holds(";")
		require.NoError(t, err)
		require.False(t, holds, name)
	}
}

// TestHostnamesByPattern compares the answer with a regular expression.
func TestHostnamesByPattern(t *testing.T) {
	const label = `[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?`
	pattern := regexp.MustCompile(`^` + label + `(\.` + label + `)*$`)
	names := 0
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := make([]rune, r.IntN(10))
		for i := range s {
			s[i] = []rune("aZ0.-aZ0.-_\né")[r.IntN(13)]
		}
		name := strings.ReplaceAll(string(s), "Z", strings.Repeat("z", r.IntN(40)))
		require.Equal(t, len(name) <= 253 && pattern.MatchString(name), isHostname(name), "%q", name)
		if isHostname(name) {
			names++
		}
	}
	require.Greater(t, names, 500)
}
