package output

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
)

func TestProgressMode(t *testing.T) {
	for _, test := range []struct {
		asked          string
		terminal, text bool
		environ        string
		want           string
	}{
		{"auto", true, true, "TERM=xterm", "live"},
		{"auto", true, true, "TERM=xterm CI=false ACCESSIBLE=0", "live"},
		{"auto", true, true, "TERM=dumb", "plain"},
		{"auto", true, true, "", "plain"},
		{"auto", true, true, "TERM=xterm CI=true", "plain"},
		{"auto", true, true, "TERM=xterm ACCESSIBLE=1", "plain"},
		{"auto", false, true, "TERM=xterm", "plain"},
		{"auto", true, false, "TERM=xterm", "plain"},
		{"live", true, true, "TERM=dumb CI=1", "live"},
		{"live", false, true, "TERM=xterm", "plain"},
		{"live", true, false, "TERM=xterm", "plain"},
		{"plain", true, true, "TERM=xterm", "plain"},
		{"none", true, true, "TERM=xterm", "none"},
		{"none", false, true, "", "none"},
	} {
		a := app.New(nil, nil, nil, strings.Fields(test.environ))
		require.Equal(t, test.want, progressMode(test.asked, test.terminal, test.text, a.Getenv), "%+v", test)
	}
}
