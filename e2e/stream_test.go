//go:build e2e

package e2e

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestFleetStreams has sudo and apt-get between a command and its reader. Each command waits until its earlier output
// has been seen.
func TestFleetStreams(t *testing.T) {
	f := aptFamily(t)
	for name, tt := range map[string]struct {
		args []string
		seen string // before it ends
		last string
	}{
		"exec":    {[]string{"exec", "id -un; until test -e /tmp/e2e-go; do sleep 0.05; done; echo done"}, `"text":"root\n"`, "h001  | done\n== h001: exit 0\n"},
		"package": {[]string{"package", "e2e-slow"}, "Setting up e2e-slow", "h001  changed  package#e2e-slow"},
	} {
		t.Run(name, func(t *testing.T) {
			f := f.in(t)
			log := f.path(name + ".jsonl")
			cmd := pushCommand(f, f.dir, append([]string{"-i", "deploy.yaml", "--become", "--log", log, "--stream", "h001"}, tt.args...)...)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			require.NoError(t, cmd.Start())
			require.Eventually(t, func() bool {
				text, _ := os.ReadFile(log) // which is there soon
				return strings.Contains(string(text), tt.seen) && !strings.Contains(string(text), `"event":"result"`)
			}, time.Minute, 20*time.Millisecond)
			f.sh("h001", "touch /tmp/e2e-go")
			require.NoError(t, cmd.Wait(), &out)
			require.Contains(t, out.String(), tt.last)
			f.sh("h001", "rm -f /tmp/e2e-go")
		})
	}
}
