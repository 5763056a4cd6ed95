package playbooks

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// TestForks counts on how many hosts something runs at once: each waits until so many have begun.
func TestForks(t *testing.T) {
	t.Parallel()
	for _, forks := range []int{1, 2} {
		for _, ready := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d, all made ready first: %v", forks, ready), func(t *testing.T) {
				t.Parallel()
				log := filepath.Join(t.TempDir(), "log")
				w := newWorld(t, servers(t, "web1", "web2", "web3", "web4", "web5"), fmt.Sprintf(`
ccm: {resources: [exec: [{"echo + >>%[1]s; until test $(grep -c + %[1]s) -ge %[2]d; do sleep 0.02; done; sleep 0.2; echo - >>%[1]s": {provider: shell}}]]}
`, log, forks))
				w.Options.Forks, w.Options.CompileFirst = forks, ready
				w.run(t)
				text, err := os.ReadFile(log)
				require.NoError(t, err)
				require.Equal(t, 5, strings.Count(string(text), "-"), w.text)
				running, peak := 0, 0
				for _, one := range text {
					switch one {
					case '+':
						running++
					case '-':
						running--
					}
					peak = max(peak, running)
				}
				require.Equal(t, forks, peak)
			})
		}
	}
}

// TestForksOfHostsThatWait has the hosts of a batch made ready first, one at a time, of which the first waits for the last one.
func TestForksOfHostsThatWait(t *testing.T) {
	t.Parallel()
	w, homes := newChain(t, strategy("linear"))
	w.Options.Forks, w.Options.CompileFirst = 1, true
	w.run(t)
	require.Equal(t, fmt.Sprintf("token of %s\n", homes["zed"]), second(t, w, homes))
}

// TestForksAndAFatalError has hosts wait for others that do not begin any more, since one of them could not be made ready.
func TestForksAndAFatalError(t *testing.T) {
	t.Parallel()
	hosts := servers(t, "web1", "web3", "web4")
	hosts["web2"] = sshtest.Start(t, sshtest.RejectAuth())
	w := newWorld(t, hosts, "any_errors_fatal: true\nccm: {resources: [exec: [\"true\": {}]]}\n")
	w.Options.Forks, w.Options.CompileFirst = 1, true
	summary, err := w.Run(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, []string{"play site 1/1: web1 web2 web3 web4", "web2 unreachable", "web2 done: unreachable"}, w.recorded.lines())
	require.Equal(t, []string{"web1", "web3", "web4"}, summary.NotStarted)
}
