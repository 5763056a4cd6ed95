//go:build e2e

package e2e

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pendingPackages makes a check run every query of a package manager, and a validate command.
const pendingPackages = `
ccm:
  resources:
    - file:
        - /etc/e2e-validated: {content: "x\n", validate: "grep -q x %s"}
    - package:
        - e2e-demo: {ensure: latest}
        - e2e-one: {}
        - e2e-two: {}
        - e2e-three: {ensure: "VERSION"}
    - upgrade: [all: {}]
`

// wholeTree prints every path of a host with its attributes and when its content or attributes were last changed,
// except the program's own folders, the records of logins, and the log and shared memory of rpm's SQLite database, which
// each reader makes again. dnf keeps checksums of packages of local repositories in their extended attributes: only the
// content of these counts.
const wholeTree = `find / /run /tmp /var/tmp /dev/shm -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /run/ccm-push -o -path /root/.cache/ccm-push -o -path /var/lib/ccm-push \
-o -path /run/motd.dynamic -o -path /run/utmp -o -path /var/log/journal -o -path /var/log/wtmp -o -path /var/log/btmp -o -path /var/log/lastlog -o -path '/var/lib/rpm/rpmdb.sqlite-*' \) -prune \
	-o -type d -printf '%p %y %m %U %G\n' -o -path '/srv/e2e/repo/*.rpm' -printf '%p %y %m %U %G %s %T@\n' -o -printf '%p %y %m %U %G %s %C@ %l\n' | sort -u; cat /var/log/apt/* /var/log/dnf* 2>/dev/null | sha256sum`

// TestFleetCheckWritesNothing compares the whole tree before and after a check with packages pending:
// with caches, with caches that are out of date, and without any.
func TestFleetCheckWritesNothing(t *testing.T) {
	for name, family := range map[string]func(*testing.T) *family{"apt": aptFamily, "dnf": dnfFamily} {
		t.Run(name, func(t *testing.T) {
			f := family(t)
			f.reset("demo=1.0")
			f.sh(f.host, "mkdir -p /root/.cache") // the program's own folder is in it
			write(t, f.path("pending.yaml"), strings.ReplaceAll(pendingPackages, "VERSION", f.version("1.0")))
			for _, before := range []string{
				"true",
				"touch /var/lib/dpkg/status /etc/apt/sources.list /etc/yum.repos.d/e2e.repo 2>/dev/null; true",
				"rm -rf /var/cache/apt/*.bin /var/log/apt/* /var/cache/dnf/* /var/log/dnf* /var/log/hawkey.log /var/lib/dnf/history*",
			} {
				f.sh(f.host, before)
				was := f.sh(f.host, wholeTree)
				r := f.push("-i", "root.yaml", "--limit", f.host, "--check", "--diff", "pending.yaml")
				r.requireCode(f, 0)
				require.Len(t, pendingLine.FindAllString(r.stdout, -1), 5, "all are pending: %s", r.stdout)
				require.Regexp(t, `would change +file#/etc/e2e-validated +would have created the file\n`, r.stdout, "its validate command has run")
				require.Empty(t, otherLines(was, f.sh(f.host, wholeTree)), before)
				require.Empty(t, f.sh(f.host, "find /root/.cache/ccm-push /var/lib/ccm-push -name '.*.ccm-*'"), "temporary files")
			}
		})
	}
}

var pendingLine = regexp.MustCompile(`would change +(package#e2e-|upgrade#all)`)

// otherLines returns the lines that are in one of two texts only.
func otherLines(one, other string) []string {
	lines := map[string]int{}
	for line := range strings.Lines(one) {
		lines["- "+line]++
	}
	for line := range strings.Lines(other) {
		if lines["- "+line]--; lines["- "+line] < 0 {
			lines["+ "+line]++
		}
	}
	maps.DeleteFunc(lines, func(_ string, n int) bool { return n <= 0 })
	return slices.Sorted(maps.Keys(lines))
}
