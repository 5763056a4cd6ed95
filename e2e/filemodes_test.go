//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const modesSite = `
- hosts: s001
  ccm:
    resources:
      - file:
          - defaults: {owner: root, group: root}
          - /srv/e2e/helper: {content: "#!/bin/sh\n", owner: deploy, mode: "4755"}
          - /srv/e2e/there: {owner: root, group: deploy, mode: "u+s,g+s"}
          - /srv/e2e/shared: {ensure: directory, group: deploy, mode: "2775"}
          - /srv/e2e/shared/below: {ensure: directory, mode: "0755"}
          - /srv/e2e/drop: {ensure: directory, mode: "1777"}
`

// TestFleetFileModes sets setuid, setgid and sticky bits on a real host, and removes them.
func TestFleetFileModes(t *testing.T) {
	f := startServiceHost(t)
	write(t, f.path("site.yaml"), modesSite)
	for _, as := range [][]string{{"-i", "root.yaml"}, {"-i", "deploy.yaml", "-b"}} {
		t.Run(strings.Join(as, " "), func(t *testing.T) {
			f := f.in(t)
			f.sh("s001", "rm -rf /srv/e2e; mkdir -p /srv/e2e; echo x >/srv/e2e/there; chmod 755 /srv/e2e/there; chown deploy:deploy /srv/e2e/there")
			const look = "stat -c '%a %U %G %n' /srv/e2e/*"
			before := f.sh("s001", look)
			run := func(more ...string) string {
				r := f.push(append(append([]string{"site.yaml"}, as...), more...)...)
				r.requireCode(t, 0)
				return r.stdout
			}
			require.Contains(t, run("--check"), "mode 0755 -> 6755")
			require.Equal(t, before, f.sh("s001", look))
			run()
			require.Equal(t, "1777 root root /srv/e2e/drop\n4755 deploy root /srv/e2e/helper\n2775 root deploy /srv/e2e/shared\n6755 root deploy /srv/e2e/there", strings.TrimSpace(f.sh("s001", look)))
			require.Equal(t, "2755 root root", strings.TrimSpace(f.sh("s001", "stat -c '%a %U %G' /srv/e2e/shared/below")), "handed on by the directory above")
			require.Contains(t, run(), "0 changed")
		})
	}
}

const recurseSite = `
- hosts: s001
  ccm:
    resources:
      - file:
          - /srv/e2e/tree: {ensure: directory, recurse: true, owner: deploy, group: deploy, mode: "2750", file_mode: "u=rw,g=r,o="}
`

// TestFleetRecurse sets owner and modes of a user's tree, with links that lead out of it.
func TestFleetRecurse(t *testing.T) {
	f := startServiceHost(t)
	write(t, f.path("site.yaml"), recurseSite)
	const dirs, files = 20, 100
	f.sh("s001", fmt.Sprintf(`rm -rf /srv/e2e; mkdir -p /srv/e2e/tree /srv/e2e/other; cd /srv/e2e/tree
for d in $(seq %d); do mkdir d$d; for n in $(seq %d); do : >d$d/f$n; done; done
echo keep >/srv/e2e/other/keep; chmod 604 /srv/e2e/other/keep; ln -s /srv/e2e/other/keep link; ln -s /srv/e2e/other d1/dir; ln -s /etc/shadow d2/shadow`, dirs, files))
	const outside = "stat -c '%a %u %g %n' /srv/e2e/other /srv/e2e/other/keep /etc/shadow"
	const inside = "cd /srv/e2e && find tree -printf '%p %y %m %u %g\\n' | sort"
	before, kept := f.sh("s001", inside), f.sh("s001", outside)
	run := func(more ...string) string {
		r := f.push(append([]string{"-i", "root.yaml", "site.yaml"}, more...)...)
		r.requireCode(t, 0)
		return r.stdout
	}
	counted := fmt.Sprintf("updated attributes of %d paths", 1+dirs*(files+1))
	require.Contains(t, run("--check"), counted)
	require.Equal(t, before, f.sh("s001", inside))
	require.Contains(t, run(), counted)
	require.Equal(t, "d 2750 deploy deploy\nf 640 deploy deploy\nl 777 root root", strings.TrimSpace(f.sh("s001", "find /srv/e2e/tree -printf '%y %m %u %g\\n' | sort -u")))
	require.Equal(t, kept, f.sh("s001", outside))

	f.push("undo", "--yes").requireCode(t, 0)
	require.Equal(t, before, f.sh("s001", inside))
	require.Equal(t, kept, f.sh("s001", outside))
	run()
	require.Contains(t, run(), "0 changed")
}
