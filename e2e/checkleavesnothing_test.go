//go:build e2e

package e2e

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pendingPackages asks a package manager everything that a check can ask it.
const pendingPackages = `
ccm:
  resources:
    - package:
        - e2e-demo: {ensure: latest}
        - e2e-one: {}
        - e2e-two: {}
        - e2e-three: {ensure: "VERSION"}
    - upgrade: [all: {}]
`

// wholeTree prints every path of a host with its attributes and content, except the program's own folders,
// the records of logins, and the shared memory of rpm's SQLite database, which each reader changes.
const wholeTree = `find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /tmp -o -path /root/.cache/ccm-push -o -path /var/lib/ccm-push \
-o -path /var/log/journal -o -path /var/log/wtmp -o -path /var/log/btmp -o -path /var/log/lastlog -o -path /var/lib/rpm/rpmdb.sqlite-shm \) -prune \
	-o -type d -printf '%p %y %m %U %G\n' -o -printf '%p %y %m %U %G %s %T@ %l\n' | sort; cat /var/log/apt/* /var/log/dnf* 2>/dev/null | sha256sum`

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
				require.Contains(t, r.stdout, "e2e-demo")
				require.Empty(t, otherLines(was, f.sh(f.host, wholeTree)), before)
			}
		})
	}
}

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
