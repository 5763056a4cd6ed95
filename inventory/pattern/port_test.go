package pattern

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

var portVectors = []struct{ text, host, port string }{
	{"web", "web", ""},
	{"web:22", "web", "22"},
	{"web:0", "web", "0"},
	{"web:99999999999999999999", "web", "99999999999999999999"},
	{"web:", "web:", ""},
	{":22", ":22", ""},
	{"web:ssh", "web:ssh", ""},
	{"a:b:22", "a:b:22", ""},
	{"web[1:3]", "web[1:3]", ""},
	{"web[1:3]:22", "web[1:3]", "22"},
	{"web[1:3]x[a:c]:22", "web[1:3]x[a:c]", "22"},
	{"web[1:3:22", "web[1:3:22", ""},
	{"web]:22", "web]:22", ""},
	{"web[[]:22", "web[[]", "22"},
	{"10.0.0.1:22", "10.0.0.1", "22"},
	{"::1", "::1", ""},
	{"::1:22", "::1:22", ""},
	{"[::1]", "::1", ""},
	{"[::1]:22", "::1", "22"},
	{"[::1]:", "[::1]:", ""},
	{"[fe80::1%eth0]:22", "fe80::1%eth0", "22"},
	{"[fe80::1%a]b]:22", "[fe80::1%a]b]:22", ""},
	{"[1:3]:22", "[1:3]", "22"},
	{"[1:3]", "[1:3]", ""},
	{"[]:22", "[]", "22"},
	{"", "", ""},
	{"[", "[", ""},
	{"]", "]", ""},
}

func TestSplitPort(t *testing.T) {
	for _, tt := range portVectors {
		host, port := SplitPort(tt.text)
		require.Equal(t, []string{tt.host, tt.port}, []string{host, port}, tt.text)
	}
}

// What SplitPort takes apart, as expressions.
var (
	addressForm = regexp.MustCompile(`^\[([^\[\]]*:[^\[\]]*)\](?::([0-9]+))?$`)
	portForm    = regexp.MustCompile(`^((?:[^:\[\]]|\[[^\]]*\])+):([0-9]+)$`)
)

func FuzzSplitPort(f *testing.F) {
	for _, tt := range portVectors {
		f.Add(tt.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want := []string{text, ""}
		if m := addressForm.FindStringSubmatch(text); m != nil && isIPv6(m[1]) {
			want = m[1:]
		} else if m := portForm.FindStringSubmatch(text); m != nil {
			want = m[1:]
		}
		host, port := SplitPort(text)
		require.Equal(t, want, []string{host, port})
	})
}
