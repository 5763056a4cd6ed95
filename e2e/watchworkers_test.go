//go:build e2e

package e2e

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/natsconn/natstest"
)

// TestFleetWatchWorkers has three hosts watched, and mended, by a worker. When that is killed another one watches them,
// and nothing stays on the hosts when watching ends.
func TestFleetWatchWorkers(t *testing.T) {
	f := startFleet(t)
	url := natstest.Start(t)
	f.trustsAuthority(hosts...)
	write(t, f.path("watched.yaml"), `
- hosts: h001,h002,h003
  watch: {mode: repair, repair: {fleet: 100%}}
  ccm: {resources: [file: [{/etc/e2e: {ensure: directory}}, {/etc/e2e/motd: {content: "hello\n", mode: "0644"}}]]}
`)
	first, _ := f.worker(url)
	w := f.watch("--workers", url, "--workers-key", "coordinator", "--workers-list", "worker.pub", "--ca-command", "./ca.sh", "--idle-timeout", "5s", "watched.yaml")
	await := func(event string) watchEvent {
		t.Helper()
		return w.awaitsEvent(event, func(e watchEvent) bool { return e.Event == event && !e.Settled })
	}
	mends := func(host string) {
		t.Helper()
		begun := time.Now()
		f.sh(host, "sed -i s/hello/hullo/ /etc/e2e/motd")
		drift := await("drift")
		require.Equal(t, host, drift.Host)
		repaired := await("repaired")
		require.Empty(t, repaired.Error)
		t.Logf("told after %v, mended after %v; by %+v", drift.at.Sub(begun), repaired.at.Sub(begun), drift.Writer)
		require.Equal(t, "hello\n", f.sh(host, "cat /etc/e2e/motd"))
	}
	for range hosts {
		await("watched")
	}
	mends("h002")

	second, said := f.worker(url)
	require.NoError(t, first.Process.Kill())
	for range hosts {
		await("unwatched")
	}
	for range hosts {
		await("watched")
	}
	mends("h003")

	require.NoError(t, w.cmd.Process.Signal(os.Interrupt))
	await("summary")
	for _, host := range hosts {
		f.awaits(host, "! pgrep -f '^[.]/[0-9a-f]* serve ' >/dev/null")
	}
	require.NoError(t, second.Process.Signal(os.Interrupt))
	require.NoError(t, second.Wait(), said)
}
