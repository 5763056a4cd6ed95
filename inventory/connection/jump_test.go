package connection

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/pattern"
)

// join writes jumps as they are read.
func join(jumps []JumpHost) string {
	texts := make([]string, len(jumps))
	for i, jump := range jumps {
		texts[i] = jump.String()
	}
	return strings.Join(texts, ",")
}

func TestJump(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []JumpHost
		out  string // as written again; "" if the same
	}{
		{"gate", []JumpHost{{Host: "gate"}}, ""},
		{"me@gate:22", []JumpHost{{User: "me", Host: "gate", Port: 22}}, ""},
		{"me@corp.example@gate", []JumpHost{{User: "me@corp.example", Host: "gate"}}, ""},
		{"10.0.0.1,b@[2001:db8::1]:2222,::1", []JumpHost{{Host: "10.0.0.1"}, {User: "b", Host: "2001:db8::1", Port: 2222}, {Host: "::1"}}, ""},
		{"[::1]", []JumpHost{{Host: "::1"}}, "::1"},
		{"none", nil, ""},
	} {
		t.Run(tt.text, func(t *testing.T) {
			jumps, err := parseJumps("jump", tt.text)
			require.NoError(t, err)
			require.Equal(t, tt.want, jumps)
			if jumps == nil {
				return
			}
			if tt.out == "" {
				tt.out = tt.text
			}
			require.Equal(t, tt.out, join(jumps))
		})
	}
}

// FuzzJump checks that an accepted route is written as it was read, and contains nothing that a shell or ssh could
// misread.
func FuzzJump(f *testing.F) {
	for _, text := range []string{"gate", "me@gate:22", "a,b@[2001:db8::1]:2222,::1", "none", "a;id", "-x@y", "[::1]", "@", "a@b@c:0", "::1:22"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		jumps, err := parseJumps("jump", text)
		if err != nil || text == "none" {
			return
		}
		for _, jump := range jumps {
			require.True(t, pattern.IsName(jump.Host), "%q", jump.Host)
			require.True(t, jump.Port >= 0 && jump.Port <= 65535)
			require.NotContains(t, jump.User, " ")
		}
		again, err := parseJumps("jump", join(jumps))
		require.NoError(t, err)
		require.Equal(t, jumps, again)
	})
}
