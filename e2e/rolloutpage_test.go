//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFleetRolloutsPage follows the pages about rollouts, in their order: a load balancer and four web
// servers.
func TestFleetRolloutsPage(t *testing.T) {
	f := startNamedHosts(t, "lb1", "web1", "web2", "web3", "web4")
	f.trustAll()
	require.Equal(t, 10, f.follow("guide/rollouts.md"))
	require.Equal(t, 8, f.follow("guide/rollout-stops.md"))
	require.Equal(t, 1, f.follow("guide/rollout-rules.md"))
}

// trustAll has the newcomer trust the hosts.
func (f *fleet) trustAll() {
	f.Helper()
	known := regexp.MustCompile(`known_hosts: ([^},]*)`).FindStringSubmatch(f.tool("inventory"))[1]
	text, err := os.ReadFile(known)
	require.NoError(f, err)
	require.NoError(f, os.WriteFile(filepath.Join(f.path("../home"), ".ssh", "known_hosts"), text, 0o600))
}
