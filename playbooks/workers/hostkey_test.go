package workers

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/workers/queue/queuetest"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// TestHostKeys has hosts whose keys are unknown on the controller, or differ there: the errors have the steps for the
// controller.
func TestHostKeys(t *testing.T) {
	s := newSite(t, "ccm: {resources: [exec: [{\"true\": }]]}\n", "web1", "web2", "web3")
	require.NoError(t, os.WriteFile(s.hosts["web2"].KnownHosts, nil, 0o600))
	changed := s.hosts["web3"]
	line := fmt.Sprintf("[%s]:%d %s\n", changed.Host, changed.Port, sshtest.PublicLine(sshtest.NewKey(t, "")))
	require.NoError(t, os.WriteFile(changed.KnownHosts, []byte("# keys\n"+line), 0o600))
	q := queuetest.New(0)
	s.work(q, "worker", "")
	got := &recorded{}
	c, _ := s.coordinator(q, s.runner(s.inventory(nil), got))
	summary := s.run(c)
	require.Equal(t, 1, summary.Totals.Hosts.OK)
	lines := strings.Join(got.lines(s), "\n")
	require.Contains(t, lines, "trust the key on the machine where the run began: ccm-push trust web2")
	require.Contains(t, lines, "is not the key in "+changed.KnownHosts+":2")
	require.Contains(t, lines, "if the host was reinstalled, remove the line "+changed.KnownHosts+":2 and connect again")
}
