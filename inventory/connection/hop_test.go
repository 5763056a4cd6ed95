package connection

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/pattern"
)

// join writes hops as they are read.
func join(hops []Hop) string {
	texts := make([]string, len(hops))
	for i, hop := range hops {
		texts[i] = hop.String()
	}
	return strings.Join(texts, ",")
}

func TestJump(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []Hop
		out  string // as written again; "" if the same
	}{
		{"gate", []Hop{{Host: "gate"}}, ""},
		{"me@gate:22", []Hop{{User: "me", Host: "gate", Port: 22}}, ""},
		{"me@corp.example@gate", []Hop{{User: "me@corp.example", Host: "gate"}}, ""},
		{"10.0.0.1,b@[2001:db8::1]:2222,::1", []Hop{{Host: "10.0.0.1"}, {User: "b", Host: "2001:db8::1", Port: 2222}, {Host: "::1"}}, ""},
		{"[::1]", []Hop{{Host: "::1"}}, "::1"},
		{"none", nil, ""},
	} {
		t.Run(tt.text, func(t *testing.T) {
			hops, err := parseHops("jump", tt.text)
			require.NoError(t, err)
			require.Equal(t, tt.want, hops)
			if hops == nil {
				return
			}
			if tt.out == "" {
				tt.out = tt.text
			}
			require.Equal(t, tt.out, join(hops))
		})
	}
}

// FuzzJump checks that what is accepted is written as it was read, and has
// nothing in it that a shell or ssh could mistake.
func FuzzJump(f *testing.F) {
	for _, text := range []string{"gate", "me@gate:22", "a,b@[2001:db8::1]:2222,::1", "none", "a;id", "-x@y", "[::1]", "@", "a@b@c:0", "::1:22"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		hops, err := parseHops("jump", text)
		if err != nil || text == "none" {
			return
		}
		for _, hop := range hops {
			require.True(t, pattern.IsName(hop.Host), "%q", hop.Host)
			require.True(t, hop.Port >= 0 && hop.Port <= 65535)
			require.NotContains(t, hop.User, " ")
		}
		again, err := parseHops("jump", join(hops))
		require.NoError(t, err)
		require.Equal(t, hops, again)
	})
}
