package modules_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

// TestMergedFolders checks the order in which sysctl.d(5) and systemd.unit(5) list the folders.
func TestMergedFolders(t *testing.T) {
	require.Equal(t, []string{"/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d", "/lib/sysctl.d"}, modules.MergedFolders("sysctl.d"))
	require.Equal(t, []string{
		"/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system",
	}, modules.UnitFolders)
}
