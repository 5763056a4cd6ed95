package wire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheckRememberedAs(t *testing.T) {
	for _, good := range []string{"a", "acme/web-base", "A.b_c/0/x", strings.Repeat("a", MaxRememberedAs)} {
		require.NoError(t, CheckRememberedAs(good), good)
	}
	for _, bad := range []string{"", "/", "a/", "/a", "a//b", "a b", "a\nb", "ä", "a#b", strings.Repeat("a", MaxRememberedAs+1)} {
		want := fmt.Sprintf("%.140q is not the name of a play: use words of letters, digits, ., _ and - with / between them, at most 128 bytes", bad)
		require.EqualError(t, CheckRememberedAs(bad), want)
	}
}

// TestReversalsAreBounded has what a host could name.
func TestReversalsAreBounded(t *testing.T) {
	entries := func(n int, typ, name string) *Reversals {
		l := &Reversals{}
		for i := range n {
			l.Entries = append(l.Entries, Reversal{Type: typ, Name: fmt.Sprintf(name, i)})
		}
		return l
	}
	for _, test := range []struct {
		name string
		left *Reversals
		want string
	}{
		{"as many as possible", entries(MaxUndone, "file", "/%d"), ""},
		{"one more", entries(MaxUndone+1, "file", "/%d"), "10001 resources are undone, and 1 to 10000 are possible"},
		{"none", entries(0, "file", "%d"), "0 resources are undone, and 1 to 10000 are possible"},
		{"a terminal's code", entries(1, "file", "%d\x1b[2J"), `a resource that is undone is named "file", "0\x1b[2J"`},
		{"not UTF-8", entries(1, "file", "%d\xff"), `a resource that is undone is named "file", "0\xff"`},
		{"no type", entries(1, "", "%d"), `a resource that is undone is named "", "0"`},
		{"another reference", entries(1, "file#a", "%d"), `a resource that is undone is named "file#a", "0"`},
		{"long", entries(1, "file", "%d"+strings.Repeat("x", MaxReversalName)), `a resource that is undone is named "file", "0` + strings.Repeat("x", 63) + `"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := (&Message{Reversals: test.left}).validate()
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.want)
		})
	}
}
