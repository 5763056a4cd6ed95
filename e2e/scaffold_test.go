//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const scaffoldSite = `
- name: app
  hosts: h001
  data: {ensure: present, port: 80, target: /etc/e2e/app}
  ccm:
    resources:
      - scaffold:
          - "{{ Data.target }}":
              ensure: "{{ Data.ensure }}"
              source: tree
              purge: true
              data: {port: "{{ Data.port }}"}
              owner: nobody
`

// scaffoldTree puts 500 files into the folder of the play: half of them templates,
// some larger than what travels with the catalog.
func (f *fleet) scaffoldTree() {
	f.Helper()
	for i := range 500 {
		text := fmt.Sprintf("file %d\n%s", i, strings.Repeat("x", i*7))
		if i%2 == 0 {
			text += "[[ Data.port ]] [[ Facts.host.info.os ]]\n"
		}
		name := f.path(fmt.Sprintf("tree/d%d/e%d/f%d", i%10, i%3, i))
		require.NoError(f, os.MkdirAll(filepath.Dir(name), 0o755))
		write(f, name, text)
		if i%5 == 0 {
			require.NoError(f, os.Chmod(name, 0o750))
		}
	}
	require.NoError(f, os.Symlink("d0/e0/f0", f.path("tree/first")))
}

// TestFleetScaffold has a tree of 500 files on a real host: made, stable, purged,
// and removed.
func TestFleetScaffold(t *testing.T) {
	f := startFleet(t)
	f.scaffoldTree()
	write(t, f.path("scaffold.yaml"), scaffoldSite)
	f.sh("h001", "mkdir -p /etc/e2e")
	f.foretells("scaffold.yaml", "-l", "h001")
	require.Equal(t, "500\n", f.sh("h001", "find /etc/e2e/app -type f -user nobody | wc -l"))
	require.Equal(t, "100\n", f.sh("h001", "find /etc/e2e/app -type f -perm 0750 | wc -l"))
	require.Equal(t, "d0/e0/f0\n", f.sh("h001", "readlink /etc/e2e/app/first"))
	require.Equal(t, "file 2\n"+strings.Repeat("x", 14)+"80 linux\n", f.sh("h001", "cat /etc/e2e/app/d2/e2/f2"))

	f.push("-i", "root.yaml", "-l", "h001", "--detailed-exitcode", "scaffold.yaml").requireCode(t, 0)

	// A change of one value reaches every template, and nothing else.
	r := f.push("-i", "root.yaml", "-l", "h001", "--detailed-exitcode", "-e", "port=81", "scaffold.yaml")
	r.requireCode(t, 8)
	require.Contains(t, r.stdout, "changed 250 scaffold files")

	f.sh("h001", "mkdir -p /etc/e2e/app/junk/deep /etc/e2e/out && echo x > /etc/e2e/app/junk/deep/f && echo x > /etc/e2e/out/keep && ln -s /etc/e2e/out /etc/e2e/app/out && mkfifo /etc/e2e/app/pipe")
	f.foretells("scaffold.yaml", "-l", "h001", "-e", "port=81")
	require.Equal(t, "500\n", f.sh("h001", "find /etc/e2e/app -type f | wc -l"))
	require.False(t, f.holds("h001", "test -e /etc/e2e/app/junk || test -e /etc/e2e/app/pipe || test -L /etc/e2e/app/out"))
	require.True(t, f.holds("h001", "test -e /etc/e2e/out/keep"))

	// An ordinary user has no permission, and a check run reports that.
	for _, check := range []string{"--check", "--diff"} {
		r := f.push("-i", "deploy.yaml", "-l", "h001", check, "-e", "port=82", "scaffold.yaml")
		r.requireCode(t, 2)
		require.Contains(t, r.stdout, `use "become"`)
	}

	f.sh("h001", "echo x > /etc/e2e/app/d1/mine")
	f.foretells("scaffold.yaml", "-l", "h001", "-e", "ensure=absent")
	require.Equal(t, "/etc/e2e/app/d1/mine\n", f.sh("h001", "find /etc/e2e/app -not -type d"))
}

// TestFleetScaffoldKeepsMounts has a file system mounted in the target: purge and
// removal leave it alone.
func TestFleetScaffoldKeepsMounts(t *testing.T) {
	f := startFleet(t)
	require.NoError(t, os.MkdirAll(f.path("tree"), 0o755))
	write(t, f.path("tree/a"), "[[ Data.port ]]")
	write(t, f.path("scaffold.yaml"), strings.ReplaceAll(scaffoldSite, "owner: nobody", "group: root"))
	f.sh("h001", "mkdir -p '/etc/e2e/app/junk/a mount' && mount -t tmpfs none '/etc/e2e/app/junk/a mount' && echo x > '/etc/e2e/app/junk/a mount/precious' && echo x > /etc/e2e/app/junk/f")
	t.Cleanup(func() { f.sh("h001", "umount '/etc/e2e/app/junk/a mount' 2>/dev/null; true") })
	f.foretells("scaffold.yaml", "-l", "h001")
	require.Equal(t, "/etc/e2e/app/a\n/etc/e2e/app/junk/a mount/precious\n", f.sh("h001", "find /etc/e2e/app -type f | sort"))
	f.push("-i", "root.yaml", "-l", "h001", "--detailed-exitcode", "scaffold.yaml").requireCode(t, 0)
	f.foretells("scaffold.yaml", "-l", "h001", "-e", "ensure=absent")
	require.True(t, f.holds("h001", "test -e '/etc/e2e/app/junk/a mount/precious'"))

	// The target itself may be a mount point; it stays.
	f.sh("h001", "umount '/etc/e2e/app/junk/a mount' && rm -r /etc/e2e/app/junk && mkdir -p /etc/e2e/app && mount -t tmpfs none /etc/e2e/app")
	t.Cleanup(func() { f.sh("h001", "umount /etc/e2e/app 2>/dev/null; true") })
	f.foretells("scaffold.yaml", "-l", "h001")
	f.foretells("scaffold.yaml", "-l", "h001", "-e", "ensure=absent")
	require.True(t, f.holds("h001", "test -d /etc/e2e/app && ! test -e /etc/e2e/app/a"))
}

// TestFleetScaffoldPost has commands change files before they are put in place, for
// root and for an ordinary user, each with notes of their own.
func TestFleetScaffoldPost(t *testing.T) {
	f := startFleet(t)
	require.NoError(t, os.MkdirAll(f.path("tree"), 0o755))
	write(t, f.path("tree/run.sh"), "echo [[ Data.port ]]\n")
	write(t, f.path("tree/other"), "other\n")
	write(t, f.path("scaffold.yaml"), `
- hosts: h001
  data: {target: /tmp/e2e-post, port: 80, check: sh -n}
  ccm:
    resources:
      - scaffold:
          - "{{ Data.target }}":
              source: tree
              purge: true
              post: ["*.sh": "{{ Data.check }}", "run*": "chmod 0711 {}"]
`)
	for login, more := range map[string][]string{"root.yaml": nil, "deploy.yaml": {"-e", "target=/tmp/e2e-deploys"}} {
		args := func(flags ...string) []string {
			return append(append([]string{"-i", login, "--detailed-exitcode"}, more...), append(flags, "scaffold.yaml")...)
		}
		r := f.push(args("--check")...)
		r.requireCode(t, 8)
		require.Contains(t, r.stdout, "predictions: 0 certain")
		f.push(args()...).requireCode(t, 8)
		f.push(args()...).requireCode(t, 0)
		f.push(args("--check")...).requireCode(t, 0)

		// A file that the command refuses is not put in place, now or later.
		for range 2 {
			r = f.push(args("-e", "port='")...)
			r.requireCode(t, 2)
			require.Contains(t, r.stdout, `post for "run.sh": "sh -n `)
		}
		f.push(args()...).requireCode(t, 0)
	}
	require.Equal(t, "711 root\n711 deploy\n", f.sh("h001", "stat -c '%a %U' /tmp/e2e-post/run.sh /tmp/e2e-deploys/run.sh"))
	require.Equal(t, "700 root\n", f.sh("h001", "stat -c '%a %U' /var/lib/ccm-push/scaffold"))
	require.Equal(t, "", f.sh("h001", "find /tmp/e2e-post /tmp/e2e-deploys -name '.*'; find / -xdev -path '*scaffold*work*' -not -path '/proc/*' 2>/dev/null"))
}
