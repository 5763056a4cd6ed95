package main

import (
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
)

// TestRunsOnATerminal checks that the newest runs stay on the screen, with the number of older ones; other output has
// all runs.
func TestRunsOnATerminal(t *testing.T) {
	a := pushAlone(t, "true", `for i in $(seq 22); do ccm-push --ssh-config=none -i hosts.yaml web1 exec "echo $i" >/dev/null; done
echo $(ccm-push runs | grep -c 'exec#echo') in all; exec ccm-push runs`)
	a.cmd.Env = append(a.cmd.Env, "XDG_STATE_HOME=", "TERM=xterm", "CI=", "ACCESSIBLE=", "NO_COLOR=1")
	w := &watched{alone: a}
	var err error
	w.terminal, err = pty.StartWithSize(w.cmd, &pty.Winsize{Rows: 24, Cols: 200})
	require.NoError(t, err)
	w.follow()
	screen, status := w.end()
	require.Equal(t, 0, status, screen)
	require.Contains(t, screen, "22 in all\n")
	require.Equal(t, 20, strings.Count(screen, "exec#echo"), screen)
	require.NotContains(t, screen, "exec#echo 2  ")
	require.Contains(t, screen, "exec#echo 3  ")
	require.Contains(t, screen, "… 2 older (all: ccm-push runs --newest 0)\n")
}
