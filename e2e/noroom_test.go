//go:build e2e

package e2e

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
)

// TestFleetNoRoom fills each place of a host that a run writes to.
func TestFleetNoRoom(t *testing.T) {
	f := startFleet(t)
	write(t, f.path("site.yaml"), `
- hosts: h001
  ccm:
    resources:
      - file:
          - defaults: {owner: root, group: root, mode: "0644"}
          - /etc/e2e: {ensure: directory, mode: "0755"}
          - /etc/e2e/one: {content: "one {{ Data.level ?? '' }}"}
          - /etc/e2e/two: {content: "two {{ Data.level ?? '' }}"}
`)
	push := func(t *testing.T, level string, more ...string) run {
		return f.in(t).push(append([]string{"-i", "root.yaml", "-e", "level=" + level, "site.yaml"}, more...)...)
	}
	push(t, "first").requireCode(t, 0)
	for _, place := range []struct {
		name       string
		fill, free string
		code       int
		wants      []string // expected output of the run
		level      string   // level of the files afterwards
	}{
		{
			"results", "mount -t tmpfs -o mode=700,size=16k tmpfs /var/lib/ccm-push; head -c 1M /dev/zero >/var/lib/ccm-push/fill 2>/dev/null; true", "umount /var/lib/ccm-push",
			0, []string{"changed  file#/etc/e2e/one", "changed  file#/etc/e2e/two", "no space left on device"}, "results",
		},
		{
			"cache", "rm -rf /root/.cache /var/tmp/ccm-push-0 /tmp/ccm-push-0; for d in /root/.cache /var/tmp /tmp; do mkdir -p $d; mount -t tmpfs -o size=1m tmpfs $d; done", "umount /root/.cache /var/tmp /tmp",
			2, []string{"h001  failed   install: ", "no space"}, "results",
		},
		{
			"elsewhere", "rm -rf /root/.cache /var/tmp/ccm-push-0; mkdir /root/.cache; mount -t tmpfs -o size=3m tmpfs /root/.cache",
			"umount /root/.cache; ls /var/tmp/ccm-push-0; rm -r /var/tmp/ccm-push-0",
			0, []string{"changed  file#/etc/e2e/one", "changed  file#/etc/e2e/two"}, "elsewhere",
		},
		{
			"target", "mv /etc/e2e /etc/e2e-old; mkdir /etc/e2e; mount -t tmpfs -o mode=755,size=16k tmpfs /etc/e2e; cp -a /etc/e2e-old/. /etc/e2e; head -c 1M /dev/zero >/etc/e2e/fill 2>/dev/null; true",
			"cp -a /etc/e2e/one /etc/e2e/two /etc/e2e-old; ls -A /etc/e2e >/run/e2e-left; umount /etc/e2e; rmdir /etc/e2e; mv /etc/e2e-old /etc/e2e",
			2, []string{"failed   file#/etc/e2e/one", "failed   file#/etc/e2e/two", "no space left on device"}, "results",
		},
	} {
		t.Run(place.name, func(t *testing.T) {
			f := f.in(t)
			f.sh("h001", "mkdir -p -m 700 /var/lib/ccm-push; "+place.fill)
			r := push(t, place.name)
			f.sh("h001", place.free)
			r.requireCode(t, place.code)
			for _, want := range place.wants {
				require.Contains(t, r.stdout, want)
			}
			require.Equal(t, "one "+place.level+"two "+place.level, f.sh("h001", "cat /etc/e2e/one /etc/e2e/two"))
			next := push(t, place.name)
			next.requireCode(t, 0)
			require.NotContains(t, next.stdout, "failed")
			require.Equal(t, "one "+place.name+"two "+place.name, f.sh("h001", "cat /etc/e2e/one /etc/e2e/two"))
			f.push("-i", "root.yaml", "-e", "level=results", "site.yaml").requireCode(t, 0)
		})
	}
	require.Equal(t, "fill\none\ntwo\n", f.sh("h001", "cat /run/e2e-left"), "nothing is left beside the files")
}

// TestFleetNoRoomForContents has room for the host program, and none for the content of a file.
func TestFleetNoRoomForContents(t *testing.T) {
	f := startFleet(t)
	write(t, f.path("big"), strings.Repeat("0123456789", 400_000))
	write(t, f.path("site.yaml"), "hosts: h001\nccm:\n  resources:\n    - file:\n        - defaults: {owner: root, group: root, mode: \"0644\"}\n"+
		"        - /tmp/e2e-small: {content: small}\n        - /tmp/e2e-big: {source: big}\n        - /tmp/e2e-last: {content: last}\n")
	f.push("-i", "root.yaml", "h001", "exec", "true").requireCode(t, 0)
	f.sh("h001", "mkdir /tmp/e2e-cache && cp -a /root/.cache/ccm-push/. /tmp/e2e-cache; size=$(du -sk /tmp/e2e-cache | cut -f 1); "+
		"mount -t tmpfs -o mode=700,size=$((size + 1000))k tmpfs /root/.cache/ccm-push; cp -a /tmp/e2e-cache/. /root/.cache/ccm-push")
	r := f.push("-i", "root.yaml", "site.yaml")
	f.awaits("h001", "! pgrep -f 'serv[e] '")
	left := f.sh("h001", "ls -A /root/.cache/ccm-push | grep -v '^[0-9a-f]*$' || true; umount /root/.cache/ccm-push")
	r.requireCode(t, 2)
	require.Contains(t, r.stdout, "changed  file#/tmp/e2e-small")
	require.Regexp(t, "failed   file#/tmp/e2e-big\n +keeping a content on the host: .*no space left on device", r.stdout)
	require.Contains(t, r.stdout, "changed  file#/tmp/e2e-last")
	require.Empty(t, left, "a part of the content is left")
	r = f.push("-i", "root.yaml", "site.yaml")
	r.requireCode(t, 0)
	require.Contains(t, r.stdout, "1 changed, 2 stable")
}

// TestFleetReadOnly has the root file system of a host be read-only.
func TestFleetReadOnly(t *testing.T) {
	f := startFleet(t)
	site := func(level string) {
		write(t, f.path("site.yaml"), "hosts: h001\nccm: {resources: [{file: [{/tmp/e2e-file: {content: "+level+", owner: root, group: root, mode: \"0644\"}}]}, {exec: [{ran: {command: touch /run/e2e-ran-"+level+"}}]}]}\n")
	}
	site("one")
	for _, cached := range []bool{false, true} {
		f.sh("h001", "mount -o remount,ro /")
		r := f.push("-i", "root.yaml", "site.yaml")
		f.sh("h001", "mount -o remount,rw /")
		r.requireCode(t, 2)
		if cached {
			require.Regexp(t, "failed   file#/tmp/e2e-file\n    the file system of \"/tmp\" is mounted read-only", r.stdout)
			require.Regexp(t, "changed  exec#ran", r.stdout)
			require.Equal(t, "one", f.sh("h001", "cat /tmp/e2e-file"))
		} else {
			require.Contains(t, r.stdout, "h001  failed   install: ")
			require.Contains(t, r.stdout, "read-only")
			require.False(t, f.holds("h001", "test -e /tmp/e2e-file"))
		}
		r = f.push("-i", "root.yaml", "site.yaml")
		r.requireCode(t, 0)
		require.Contains(t, r.stdout, "changed  file#/tmp/e2e-file")
		site("two")
	}
}

// TestNoRoomForTheRecord fills the disk of the controller: the run continues.
func TestNoRoomForTheRecord(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		needs.Skip(t, "a disk can be made by root alone")
	}
	s := startSSHD(t, "")
	s.inventory(t, s.port, "id", "known_hosts")
	s.site(t, 20)
	require.NoError(t, os.MkdirAll(s.path("state"), 0o755))
	output(t, "mount", "-t", "tmpfs", "-o", "size=16k,mode=755", "tmpfs", s.path("state"))
	t.Cleanup(func() { output(t, "umount", s.path("state")) })
	write(t, s.path("state/fill"), "")
	_ = os.WriteFile(s.path("state/fill"), make([]byte, 8<<10), 0o600)
	cmd := pushCommand(t, s.dir, "-i", "hosts.yaml", "site.yaml")
	cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+s.path("state"))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Regexp(t, "warning: .*record.*no space left on device", string(out))
	require.Contains(t, string(out), "20 resources: 20 changed")
}
