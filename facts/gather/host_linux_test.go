package gather

import (
	"syscall"
	"testing"

	"github.com/shirou/gopsutil/v4/host"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
)

// TestHostInfoIsThatOfGopsutil checks that the result without a process equals gopsutil's result with one.
func TestHostInfoIsThatOfGopsutil(t *testing.T) {
	want, err := host.InfoWithContext(t.Context())
	require.NoError(t, err)
	got, err := hostInfo(t.Context())
	require.NoError(t, err)
	require.InDelta(t, want.Procs, got.Procs, 100) // others come and go
	require.InDelta(t, want.Uptime, got.Uptime, 60)
	require.InDelta(t, want.BootTime, got.BootTime, 2)
	got.Procs, got.Uptime, got.BootTime = want.Procs, want.Uptime, want.BootTime
	require.Equal(t, want, got)
}

func TestHostInfoStartsNoProcess(t *testing.T) {
	if _, ok := debianVersion(); !ok {
		needs.Missing(t, "lsb_release of Debian")
	}
	children := func() (r syscall.Rusage) {
		require.NoError(t, syscall.Getrusage(syscall.RUSAGE_CHILDREN, &r))
		return r
	}
	before := children()
	_, err := hostInfo(t.Context())
	require.NoError(t, err)
	require.Equal(t, before, children())
}
