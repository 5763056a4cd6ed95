//go:build e2e

package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFleetConfirmPage follows docs/guide/lockouts.md, on two hosts with systemd.
func TestFleetConfirmPage(t *testing.T) {
	f := startPageHosts(t, "web1", "web2")
	f.trustAll()
	require.Equal(t, 2, f.follow("guide/lockouts.md"))
}
