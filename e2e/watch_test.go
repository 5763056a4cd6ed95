//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestFleetWatch has three hosts watched, with repair: what is edited is mended once, a host whose sshd
// is gone is watched again, and nothing stays on the hosts when the program ends, however it does.
func TestFleetWatch(t *testing.T) {
	f := startFleet(t)
	write(t, f.path("watched.yaml"), `
- hosts: h001,h002,h003
  watch: {mode: repair, repair: {fleet: 100%}}
  ccm:
    resources:
      - file: [{/etc/e2e: {ensure: directory}}, {/etc/e2e/motd: {content: "hello\n", mode: "0644"}}]
      - exec: [{"echo reloaded >>/etc/e2e/reloads": {provider: shell, refreshonly: true, subscribe: ["file#/etc/e2e/motd"]}}]
`)
	watched := func(w *watcher) {
		t.Helper()
		for range hosts {
			w.awaitsEvent("watched", func(e watchEvent) bool { return e.Event == "watched" })
		}
	}
	w := f.watch("watched.yaml")
	watched(w)

	// An editor that renames.
	begun := time.Now()
	f.sh("h002", "sed -i s/hello/hullo/ /etc/e2e/motd")
	drift := w.awaitsEvent("drift", func(e watchEvent) bool { return e.Event == "drift" && !e.Settled })
	require.Equal(t, "h002", drift.Host)
	repaired := w.awaitsEvent("repaired", func(e watchEvent) bool { return e.Event == "repaired" })
	require.Empty(t, repaired.Error)
	t.Logf("told after %v, mended after %v; by %+v", drift.at.Sub(begun), repaired.at.Sub(begun), drift.Writer)
	require.Equal(t, "hello\n", f.sh("h002", "cat /etc/e2e/motd"))
	require.Equal(t, "reloaded\nreloaded\n", f.sh("h002", "cat /etc/e2e/reloads"), "when it was made, and when it was mended")
	require.Equal(t, "reloaded\n", f.sh("h001", "cat /etc/e2e/reloads"))

	// The connection is lost.
	f.sh("h003", "pkill -9 -f '[s]shd.*: root'")
	lost := w.awaitsEvent("unwatched", func(e watchEvent) bool { return e.Event == "unwatched" })
	require.Equal(t, "h003", lost.Host)
	again := w.awaitsEvent("watched again", func(e watchEvent) bool { return e.Event == "watched" })
	require.Equal(t, "h003", again.Host)

	const there = "pgrep -f '^[.]/[0-9a-f]* serve ' >/dev/null"
	for _, host := range hosts {
		require.True(t, f.holds(host, there))
	}

	// The first signal ends all host programs within seconds.
	require.NoError(t, w.cmd.Process.Signal(os.Interrupt))
	summary := w.awaitsEvent("summary", func(e watchEvent) bool { return e.Event == "summary" })
	t.Logf("ended after %v", time.Since(summary.at))
	for _, host := range hosts {
		f.awaits(host, "! "+there)
	}

	// One that is killed cannot end them: they hear nothing any more, and end by themselves.
	killed := f.watch("--idle-timeout", "5s", "watched.yaml")
	watched(killed)
	for _, host := range hosts {
		require.True(t, f.holds(host, there))
	}
	require.NoError(t, killed.cmd.Process.Signal(syscall.SIGKILL))
	for _, host := range hosts {
		f.awaits(host, "! "+there)
	}
}

const repairedSite = `
watch: {mode: repair, settle: 100ms, repair: {fleet: 100%}}
ccm:
  resources:
    - file:
        - /etc/e2e: {ensure: directory}
        - /etc/e2e/motd: {content: "hello\n"}
        - /etc/systemd/system/e2e-app.service: {alias: unit, content: "[Service]\nExecStart=/bin/sleep infinity\n"}
    - package: [{e2e-one: {}}]
    - service: [{e2e-app: {subscribe: ["file#unit"]}}]
`

// TestFleetWatchRepairs has a host with systemd repaired, once each: a service that was stopped, a package that
// was removed, and what was changed while its sshd was away, or the network to it.
func TestFleetWatchRepairs(t *testing.T) {
	f := startServiceHost(t)
	aptOn(f, "s001").reset()
	write(t, f.path("repaired.yaml"), repairedSite)
	w := f.watch("-l", "s001", "--idle-timeout", "6s", "repaired.yaml")
	var told []string // of resources
	next := func(event, resource string) {
		t.Helper()
		w.awaitsEvent(event+" "+resource, func(e watchEvent) bool {
			if e.Event == "drift" || e.Event == "repaired" || e.Event == "fighting" {
				require.Empty(t, e.Error)
				told = append(told, e.Event+" "+e.Type+"#"+e.Name)
			}
			return e.Event == event && (resource == "" || e.Type+"#"+e.Name == resource)
		})
	}
	motd := func(condition string) bool { return f.holds("s001", condition+" hello /etc/e2e/motd") }
	next("watched", "")
	f.sh("s001", "systemctl stop e2e-app")
	next("repaired", "service#e2e-app")
	require.Equal(t, "active\n", f.sh("s001", "systemctl is-active e2e-app"))
	f.sh("s001", "apt-get -qq purge e2e-one")
	next("repaired", "package#e2e-one")
	require.Equal(t, "1.0", f.sh("s001", "dpkg-query -W -f '${Version}' e2e-one"))

	// Without its sessions, too: those outlive a restart.
	f.sh("s001", "systemctl stop ssh; pkill -9 sshd; echo bye >/etc/e2e/motd")
	next("unwatched", "")
	require.True(t, motd("! grep"))
	f.sh("s001", "systemctl start ssh")
	next("watched", "")
	next("repaired", "file#/etc/e2e/motd")
	require.True(t, motd("grep"))

	link := fmt.Sprintf("ccmp%d-s001", f.number)
	outputOf(t, exec.Command("ip", "link", "set", link, "down"))
	lasts := 30 * time.Second
	if testing.Short() {
		lasts = 12 * time.Second // twice what is waited for a host that says nothing
	}
	cut := time.After(lasts)
	t.Cleanup(func() { outputOf(t, exec.Command("ip", "link", "set", link, "up")) })
	f.sh("s001", "rm /etc/e2e/motd") // once more the same would be a fight
	next("unwatched", "")
	<-cut
	require.True(t, motd("! grep"))
	outputOf(t, exec.Command("ip", "link", "set", link, "up"))
	next("watched", "")
	next("repaired", "file#/etc/e2e/motd")
	require.True(t, motd("grep"))

	require.NoError(t, w.cmd.Process.Signal(os.Interrupt))
	next("summary", "")
	require.Equal(t, []string{
		"drift service#e2e-app", "repaired service#e2e-app",
		"drift package#e2e-one", "repaired package#e2e-one",
		"drift file#/etc/e2e/motd", "repaired file#/etc/e2e/motd",
		"drift file#/etc/e2e/motd", "repaired file#/etc/e2e/motd",
	}, told)
}

// TestWatchMendsFewOfManyHosts has ten manifests that are wrong on two hundred simulated hosts: what each asks
// for does not last. Two of a hundred hosts are touched, and they are left alone in the end.
func TestWatchMendsFewOfManyHosts(t *testing.T) {
	t.Parallel()
	const hosts, manifests = 200, 10
	require.NoError(t, raiseFileLimit())
	dir := t.TempDir()
	sim := startSim(t, dir, hosts, "-drift")
	require.NoError(t, os.Rename(filepath.Join(dir, "hosts.yaml"), filepath.Join(dir, "root.yaml")))
	args := []string{"--repair"}
	for i := range manifests {
		name := fmt.Sprintf("bad%d.yaml", i)
		write(t, filepath.Join(dir, name), fmt.Sprintf("ccm: {resources: [file: [/etc/bad%d: {content: \"{{ Facts.host.info.hostname }}\"}]]}\n", i))
		args = append(args, name)
	}
	w := (&fleet{TB: t, dir: dir}).watch(args...)
	type resourceOf struct{ host, name string }
	drifted, left := map[resourceOf]bool{}, map[resourceOf]bool{}
	touched := map[string]bool{}
	for len(left) < manifests*hosts/50 || len(drifted) < manifests*hosts {
		e := w.awaitsEvent("drift, and what is left alone", func(e watchEvent) bool { return e.Event == "drift" || e.Event == "fighting" })
		if of := (resourceOf{e.Host, e.Name}); e.Event == "drift" {
			drifted[of] = true
		} else {
			left[of], touched[e.Host] = true, true
		}
	}
	require.Len(t, touched, hosts/50)
	require.Equal(t, hosts/50, sim.ask().mended)
}
