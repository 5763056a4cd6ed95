//go:build e2e

package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFleetPorting follows docs/guide/porting.md, on three hosts with systemd and apt.
func TestFleetPorting(t *testing.T) {
	f := startPageHosts(t, "lb1", "web1", "web2")
	f.trustAll()
	require.Greater(t, f.follow("guide/porting.md"), 5)
}
