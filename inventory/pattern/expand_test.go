package pattern_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/pattern"
)

func TestExpand(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"web[1-10/2]", "web1 web3 web5 web7 web9"},
		{"web[1-5]!web3", "web1 web2 web4 web5"},
		{"web[1-5]^web[3-7]", "web1 web2 web6 web7"},
		{"web[1-5]&web[3-7]", "web3 web4 web5"},
		{"web[3,1-3],db1 , web2", "web3 web1 web2 db1"},
		{"web1,web2!web1,web1", "web2 web1"}, // from left to right
		{"rack[1-2]node[01-02]", "rack1node01 rack1node02 rack2node01 rack2node02"},
		{"web[5]", "web5"},
		{"2001:db8::[1-2]", "2001:db8::1 2001:db8::2"},
		{"web1!web1", ""},
	} {
		t.Run(tt.text, func(t *testing.T) {
			names, err := pattern.Expand(tt.text)
			require.NoError(t, err)
			require.Equal(t, tt.want, strings.Join(names, " "))
		})
	}
	folded := func(text string) string {
		names, err := pattern.Expand(text)
		require.NoError(t, err)
		return pattern.Fold(names)
	}
	require.Equal(t, "web[1,3,5,7,9]", folded("web[1-10/2]"))
	require.Equal(t, "web[1-2,4-5]", folded("web[1-5]!web3"))
	require.Equal(t, "web[1-2,6-7]", folded("web[1-5]^web[3-7]"))
}

func TestExpandErrors(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", `node set "": a name is missing` + "\n  hint: separate names with commas, as in web[1-3],db1"},
		{"a,,b", `node set "a,,b": a name is missing` + "\n  hint: separate names with commas, as in web[1-3],db1"},
		{"web[1-", `node set "web[1-": [ without ]` + "\n  hint: a range is written [begin:end] or [begin:end:step], as in web[01:20]"},
		{"web[a-c]", `node set "web[a-c]": [a-c] is not a node set` + "\n  hint: a node set is written [1-3,7], or [1-9/2] with a step"},
		{"web[1:3]", `node set "web[1:3]": [1:3] is not a node set` + "\n  hint: a node set is written [1-3,7], or [1-9/2] with a step"},
		{"web[3-1]", `node set "web[3-1]": [3-1]: 3 is greater than 1` + "\n  hint: a node set is written [1-3,7], or [1-9/2] with a step"},
		{"web[1-03]", `node set "web[1-03]": [1-03]: 1 and 03 differ in width` + "\n  hint: write leading zeros at both ends or at none"},
		{"web[1-9/0]", `node set "web[1-9/0]": [1-9/0]: "1-9/0" is not a number or a range of numbers` + "\n  hint: a node set is written [1-3,7], or [1-9/2] with a step"},
		{"-x", `node set "-x": "-x" cannot be a host name` + "\n  hint: letters, digits and _ . - are allowed, and a name does not begin with -"},
		{"a b", `node set "a b": "a b" cannot be a host name` + "\n  hint: letters, digits and _ . - are allowed, and a name does not begin with -"},
		{"a[1-1000000],b", `node set "a[1-1000000],b": more than 1000000 names`},
		{"a[1-10000000]", `node set "a[1-10000000]": more than 1000000 names`},
	} {
		t.Run(tt.text, func(t *testing.T) {
			_, err := pattern.Expand(tt.text)
			require.EqualError(t, err, tt.want)
		})
	}
}

func FuzzExpand(f *testing.F) {
	for _, text := range []string{"web[1-10/2]", "web[1-5]!web3", "a[1-5]^a[3-7]&b,c", "r[1-2]n[01-02]", "[", "a[]", "a,,b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		names, err := pattern.Expand(text)
		if err != nil || len(names) > 10_000 {
			return
		}
		again := names
		if len(names) > 0 {
			again, err = pattern.Expand(pattern.Fold(names))
			require.NoError(t, err)
		}
		require.ElementsMatch(t, names, again)
	})
}

// setForm is what IsSet asks for.
var setForm = regexp.MustCompile(`^[0-9]+(?:[-,/][0-9]+)+$`)

func FuzzIsSet(f *testing.F) {
	for _, spec := range []string{"1", "1-3", "1,3-5", "1-10/2", "-1", "1-", "1--3", "", "a", "1,2a"} {
		f.Add(spec)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		require.Equal(t, setForm.MatchString(spec), pattern.IsNodeSet(spec))
	})
}
