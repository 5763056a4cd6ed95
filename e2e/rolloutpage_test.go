//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFleetRolloutsPage does what docs/rollouts.md says: a load balancer and four web servers.
func TestFleetRolloutsPage(t *testing.T) {
	f := startNamedHosts(t, "lb1", "web1", "web2", "web3", "web4")
	f.trustAll()
	require.Greater(t, f.follow("rollouts.md"), 15)
}

// trustAll has the newcomer trust the hosts.
func (f *fleet) trustAll() {
	f.Helper()
	known := regexp.MustCompile(`known_hosts: ([^},]*)`).FindStringSubmatch(f.tool("inventory"))[1]
	text, err := os.ReadFile(known)
	require.NoError(f, err)
	require.NoError(f, os.WriteFile(filepath.Join(f.path("../home"), ".ssh", "known_hosts"), text, 0o600))
}
