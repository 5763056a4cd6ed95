package pattern

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

const nameRule = "\n  hint: letters, digits and _ . - are allowed, and a name does not begin with -"

func TestCheck(t *testing.T) {
	for _, tt := range []struct{ text, host, group string }{
		{"web", "", ""},
		{`"12"`, "", ""},
		{"12", "f.yml:1:1: host name 12 is read as a number\n  hint: quote it: \"12\"", "f.yml:1:1: group name 12 is read as a number\n  hint: quote it: \"12\""},
		{"true", "f.yml:1:1: host name true is read as a boolean\n  hint: quote it: \"true\"", "f.yml:1:1: group name true is read as a boolean\n  hint: quote it: \"true\""},
		{"~", "f.yml:1:1: host name ~ is read as null\n  hint: write a name", "f.yml:1:1: group name ~ is read as null\n  hint: write a name"},
		{"a b", `f.yml:1:1: "a b" cannot be a host name` + nameRule, `f.yml:1:1: "a b" cannot be a group name` + nameRule},
		{`"-x"`, `f.yml:1:1: "-x" cannot be a host name` + nameRule, `f.yml:1:1: "-x" cannot be a group name` + nameRule},
		{`"::1"`, "", `f.yml:1:1: "::1" cannot be a group name` + nameRule},
		{`"a:1"`, "f.yml:1:1: \"a:1\" cannot be a host name\n  hint: a colon is allowed in IPv6 addresses, and before a port from 1 to 65535", `f.yml:1:1: "a:1" cannot be a group name` + nameRule},
	} {
		t.Run(tt.text, func(t *testing.T) {
			documents, err := yamlpos.Parse("f.yml", []byte(tt.text))
			require.NoError(t, err)
			key := documents[0]
			err = CheckNameIsText(key, "host")
			if err == nil {
				err = CheckHostName(key, key.Text)
			}
			requireText(t, tt.host, err)
			requireText(t, tt.group, CheckGroupName(key))
		})
	}
}

func requireText(t *testing.T, want string, err error) {
	t.Helper()
	if want == "" {
		require.NoError(t, err)
		return
	}
	require.EqualError(t, err, want)
}

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

// Regular expressions equivalent to SplitPort.
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
