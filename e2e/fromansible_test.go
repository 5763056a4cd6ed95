//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/ccm-push/ccm-push/e2e/needs"
)

// twinTree describes a host: each path with its type, mode, owner and content, the packages, accounts, enabled units
// and running services. It omits files of the tools themselves, differences between any two hosts, and times.
const twinTree = `cd /
find srv etc home var/lib/robot var/spool/cron usr/local opt -not -path 'etc/ssl/*' -not -path 'etc/ssh/ssh_host_*' \
	-not -path 'etc/alternatives*' -not -path 'srv/e2e/*' -not -path '*/.ansible*' -not -name '*.pyc' -printf '%y %m %u:%g %p %l\n' 2>/dev/null |
	grep -v -E ' etc/(hostname|hosts|machine-id|passwd-|group-|shadow-|gshadow-|subuid-?|subgid-?|\.pwd\.lock|ld\.so\.cache|resolv\.conf|mtab)( |$)' | sort -k4
find srv etc home var/spool/cron -type f -not -path 'srv/e2e/*' -not -path 'etc/ssh/ssh_host_*' -not -path '*/.ansible/*' -not -path 'var/spool/cron/crontabs/*' |
	grep -v -E '^etc/(hostname|hosts|machine-id|passwd-|group-|shadow-?|gshadow-?|subuid-?|subgid-?|ld\.so\.cache|resolv\.conf)$' | sort | xargs -d '\n' sha256sum
cut -d: -f1,2 /etc/shadow
dpkg-query -W
grep -h -v '^#' var/spool/cron/crontabs/*
systemctl list-unit-files --no-legend --no-pager | grep -v ' transient ' | sort
systemctl is-active sleeper cron`

// TestFleetFromAnsible has Ansible run playbooks on one host, and ccm-push run what from-ansible makes of
// them on another one like it: the hosts are the same then, and a second run changes nothing.
func TestFleetFromAnsible(t *testing.T) {
	needs.Program(t, "ansible-playbook")
	const theirs, ours = "s001", "s002"
	f := startBeside(t, theirs, ours)
	for _, host := range []string{theirs, ours} {
		f.sh(host, aptSetup+"\napt-get -qq install e2e-demo=1.0 >/dev/null 2>&1\n"+pipWheels)
		require.True(t, f.holds(host, "python3 -c 'import apt'"), "%s has no python3-apt", host)
	}
	require.Equal(t, f.sh(theirs, twinTree), f.sh(ours, twinTree), "the hosts differ before anything is done")

	archive, err := txtar.ParseFile("testdata/fromansible.txtar")
	require.NoError(t, err)
	for _, file := range archive.Files {
		path := f.path(filepath.Join("play", file.Name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		write(t, path, string(file.Data))
	}
	write(t, f.path("ssh_config"), f.tool("inventory", "--ssh"))
	write(t, f.path("play/ansible.cfg"), "[defaults]\n[ssh_connection]\npipelining = true\nssh_args = -F "+f.path("ssh_config")+" -o ControlMaster=auto -o ControlPersist=60s\n")
	write(t, f.path("play/theirs"), theirs+" ansible_user=root ansible_python_interpreter=/usr/bin/python3\n")
	playbook := exec.CommandContext(t.Context(), "ansible-playbook", "-i", "theirs", "site.yml")
	playbook.Dir = f.path("play")
	out, err := playbook.CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Logf("%s", lastLines(string(out), 3))

	converted := f.push("from-ansible", "play/site.yml", "--out", "manifests", "--report", "report.md")
	require.Equal(t, 0, converted.code, converted.stderr)
	t.Logf("%s", converted.stdout)
	require.Contains(t, converted.stdout, "(100%)")
	args := []string{"-i", "root.yaml", "-l", ours, "manifests/site.yaml"}
	valid := f.push("-i", "root.yaml", "validate", "manifests/site.yaml")
	require.Equal(t, 0, valid.code, valid.stderr)
	first := f.push(args...)
	require.Equal(t, 0, first.code, "%s\n%s", first.stdout, first.stderr)
	t.Logf("%s", lastLines(first.stdout, 3))
	require.Equal(t, sayHost(f.sh(theirs, twinTree)), sayHost(f.sh(ours, twinTree)))

	second := f.push(args...)
	require.Equal(t, 0, second.code, "%s\n%s", second.stdout, second.stderr)
	require.Contains(t, second.stdout, ours+": 0 changed", second.stdout)
	require.Equal(t, sayHost(f.sh(theirs, twinTree)), sayHost(f.sh(ours, twinTree)))
}

// sayHost takes away what cannot be the same: the script that stays on the host.
func sayHost(tree string) string {
	var kept []string
	for line := range strings.Lines(tree) {
		if !strings.Contains(line, "usr/local/sbin/hello.sh") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return fmt.Sprint(strings.Join(lines[max(0, len(lines)-n):], "\n"))
}
