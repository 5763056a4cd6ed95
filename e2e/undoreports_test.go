//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	bobKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEEOGX6xGnshsMq9mlK8nWv1NyVHqIXcMQupHjJtBaJA"
	oldKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMfpQb4L8YB70ZH90xHu4goo3u+EhiCsuSuGqVGvaqFq old"
)

// accountsAndHomes prints a host's whole data about the accounts of a test, /home included.
const accountsAndHomes = `cat /etc/passwd /etc/shadow /etc/group /etc/gshadow /etc/subuid /etc/subgid
find /home -printf '%p %y %m %U %G %l\n' | sort; find /home -type f | sort | xargs sha256sum`

// dropReports removes what these tests have made.
const dropReports = `for u in u2 rmu nextone; do userdel -r $u 2>/dev/null; done; for g in g1 rmg u2 rmu; do groupdel $g 2>/dev/null; done
while umount /mnt/m 2>/dev/null; do :; done; sed -i '/mnt.m/d' /etc/fstab; rm -rf /srv/l /srv/big /srv/d /home/rmu /home/u2; :`

// TestFleetUndoReports takes runs back of which a part cannot come back: it is reported, with status 2.
func TestFleetUndoReports(t *testing.T) {
	f := startFleet(t)
	write(t, f.path("root.yaml"), f.tool("inventory"))
	f.sh("h001", dropReports)
	t.Cleanup(func() { f.sh("h001", dropReports) })
	site := func(resources string) {
		t.Helper()
		write(t, f.path("site.yaml"), "- hosts: h001\n  confirm: never\n  ccm:\n    resources:\n"+resources)
		f.push("-i", "root.yaml", "site.yaml").requireCode(t, 0)
	}
	undo := func(code int, args ...string) string {
		t.Helper()
		r := f.push(append([]string{"undo", "--yes", "--output", "json"}, args...)...)
		r.requireCode(t, code)
		return r.stdout
	}

	// Accounts that were there, and accounts that were removed.
	f.sh("h001", `useradd -m -s /bin/sh -c Old u2; groupadd g1; mkdir -m 700 ~u2/.ssh; echo '`+oldKey+`' >~u2/.ssh/authorized_keys; chown -R u2: ~u2/.ssh
useradd -m rmu; echo precious >~rmu/data; groupadd rmg`)
	before := f.sh("h001", accountsAndHomes)
	accounts := `
      - user:
          - u2: {shell: /bin/bash, comment: New, groups: [g1], password_hash: "*", expires: never, ssh_keys: ["` + bobKey + ` b"]}
          - rmu: {ensure: absent, remove_home: true}
      - group: [{rmg: {ensure: absent}}]
`
	site(accounts)
	require.NotEqual(t, before, f.sh("h001", accountsAndHomes))
	undo(0)
	require.Equal(t, before, f.sh("h001", accountsAndHomes))

	// A user whose uid another one has by now.
	site(accounts)
	f.sh("h001", "useradd -m nextone")
	out := undo(2)
	require.Contains(t, out, `which user \"nextone\" has now`)
	require.NotContains(t, out, "its owner and its files stay unchanged")
	require.Equal(t, "root:root 700\nprecious\n", f.sh("h001", "stat -c '%U:%G %a' /home/rmu; cat /home/rmu/data"))
	f.sh("h001", dropReports)

	// Added lines that were edited after the run.
	f.sh("h001", "mkdir /srv/l; for f in h a; do echo base >/srv/l/$f; done; install -d -m 700 -o deploy ~deploy/.ssh; echo '# base' >~deploy/.ssh/authorized_keys")
	site(`
      - line:
          - h: {path: /srv/l/h, block: "x\ny\n"}
          - a: {path: /srv/l/a, line: added}
      - authorized_key: [{bob: {user: deploy, key: "` + bobKey + ` bob"}}]
      - ini: [{i: {path: /srv/l/ini, section: A, option: k, value: v, create: true}}]
`)
	f.sh("h001", `sed -i 's/^y$/y hand/' /srv/l/h; sed -i '1i added' /srv/l/a; sed -i 's/ bob$/ bob@home/' ~deploy/.ssh/authorized_keys; sed -i 's/k = v/k = w/' /srv/l/ini`)
	out = undo(2)
	require.Equal(t, 4, strings.Count(out, "cannot be restored, because the lines that the run changed were changed again later"), out)
	require.NotContains(t, out, "the state before the run")
	f.sh("h001", "rm -r ~deploy/.ssh")

	// Paths that are not kept.
	f.sh("h001", "head -c 17000000 /dev/urandom >/srv/big; mkdir /srv/d; mkfifo /srv/d/p")
	write(t, f.path("site.yaml"), `{hosts: h001, ccm: {resources: [{file: [{/srv/big: {content: "small\n"}}, {/srv/d: {ensure: absent, force: true}}]}]}}`)
	r := f.push("-i", "root.yaml", "--output", "json", "site.yaml")
	r.requireCode(t, 0)
	require.Contains(t, r.stdout, "it cannot be undone later: /srv/big: it had more than the 16 MiB that are kept of a file")
	require.Contains(t, r.stdout, "it cannot be undone later: /srv/d/p: it was a device, socket or pipe")
	undo(2)

	// The options of a mount.
	f.sh("h001", "mkdir -p /mnt/m; echo 'tmpfs /mnt/m tmpfs size=4m 0 0' >>/etc/fstab; mount /mnt/m")
	options := "grep ' /mnt/m ' /proc/mounts; grep mnt.m /etc/fstab"
	mounted := f.sh("h001", options)
	for _, other := range []string{"[size=8m, nosuid]", "[size=4m, noexec]", "[size=8m]", "[size=4m, ro]"} {
		site("\n      - mount: [{/mnt/m: {device: tmpfs, fstype: tmpfs, options: " + other + "}}]\n")
		require.NotEqual(t, mounted, f.sh("h001", options))
		undo(0)
		require.Equal(t, mounted, f.sh("h001", options), other)
	}

	// Notes of a host that are cut off.
	f.sh("h001", "rm -rf /srv/l; mkdir /srv/l")
	for _, cut := range []string{"truncate -s -150 $log", "sed -i '$d' $log", "sed -i '/\"n\":4/d' $log", "truncate -s 0 $log", "sed -i 's/0644/0646/' $log; truncate -s -1 $log"} {
		site("\n      - file: [{/srv/l/1: {content: x}}, {/srv/l/2: {content: x}}, {/srv/l/3: {content: x}}, {/srv/l/4: {content: x}}]\n")
		f.sh("h001", "log=$(ls -t /var/lib/ccm-push/history/*.jsonl | head -n 1); "+cut)
		undo(2)
		f.sh("h001", "rm -f /srv/l/*")
	}
}
