//go:build e2e

package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFleetPorting does what docs/porting.md says, on three hosts with systemd and apt.
func TestFleetPorting(t *testing.T) {
	f := startPageHosts(t, "lb1", "web1", "web2")
	require.Greater(t, f.follow("porting.md"), 5)
}
