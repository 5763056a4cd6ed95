//go:build e2e

package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/natsconn/natstest"
)

// certifies is the command of an authority, as ccm-push new authority writes it.
const certifies = `#!/bin/sh
exec ssh-keygen -q -s ca -I "$CCM_PUSH_KEY_ID" -n "$CCM_PUSH_PRINCIPALS" -V "-1m:+${CCM_PUSH_VALID_SECONDS}s" -O clear \
  ${CCM_PUSH_SOURCE_ADDRESS:+-O "source-address=$CCM_PUSH_SOURCE_ADDRESS"} \
  $(echo "$CCM_PUSH_EXTENSIONS" | sed 's/[^,][^,]*/-O &/g; s/,/ /g') "$CCM_PUSH_KEY_FILE"
`

// workersKeys makes the keys by which workers and their coordinator know each other, and the command of
// an authority, whose key is in a file.
func (f *fleet) workersKeys(authority string) {
	f.Helper()
	for _, name := range []string{"coordinator", "worker"} {
		outputOf(f, exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", f.path(name)))
	}
	write(f, f.path("ca.sh"), strings.Replace(certifies, "-s ca ", "-s "+authority+" ", 1))
	require.NoError(f, os.Chmod(f.path("ca.sh"), 0o755))
}

// worker starts a worker.
func (f *fleet) worker(url string) (*exec.Cmd, *bytes.Buffer) {
	f.Helper()
	cmd := pushCommand(f, f.dir, "worker", "--workers", url, "--key", "worker", "--coordinators", "coordinator.pub")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(f, cmd.Start())
	f.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd, &out
}

// trustsAuthority makes an authority, which hosts trust, and the keys of workers.
func (f *fleet) trustsAuthority(hosts ...string) {
	f.Helper()
	outputOf(f, exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f.path("ca")))
	f.workersKeys("ca")
	ca, err := os.ReadFile(f.path("ca.pub"))
	require.NoError(f, err)
	for _, host := range hosts {
		f.sh(host, "echo '"+strings.TrimSpace(string(ca))+"' >/etc/ssh/e2e-ca.pub; mkdir -p /etc/ssh/e2e-principals; for u in root deploy; do echo $u@ >/etc/ssh/e2e-principals/$u; done; "+
			`printf 'TrustedUserCAKeys /etc/ssh/e2e-ca.pub\nAuthorizedPrincipalsFile /etc/ssh/e2e-principals/%%u\n' >/etc/ssh/sshd_config.d/e2e-ca.conf; kill -HUP 1`)
		f.Cleanup(func() {
			f.sh(host, "rm -r /etc/ssh/e2e-ca.pub /etc/ssh/e2e-principals /etc/ssh/sshd_config.d/e2e-ca.conf; kill -HUP 1")
		})
	}
}

// TestFleetWorkers has three workers, of which the one that has all hosts is killed in the midst of them.
// OpenSSH's sshd lets them in by certificates alone.
func TestFleetWorkers(t *testing.T) {
	f := startFleet(t)
	url := natstest.Start(t)
	f.trustsAuthority(hosts...)
	write(t, f.path("site.yaml"), strings.ReplaceAll(gateSite, "- hosts: h001\n", "- hosts: all\n"))
	workers := []string{"-i", "root.yaml", "--workers", url, "--workers-key", "coordinator", "--workers-list", "worker.pub", "--ca-command", "./ca.sh"}

	first, _ := f.worker(url)
	run := pushCommand(t, f.dir, append(workers, "site.yaml")...)
	var out, said bytes.Buffer
	run.Stdout, run.Stderr = &out, &said
	require.NoError(t, run.Start())
	for _, host := range hosts {
		f.awaits(host, "test -e /tmp/e2e-waits")
	}
	require.NoError(t, first.Process.Kill())
	f.worker(url)
	f.worker(url)
	for _, host := range hosts {
		f.sh(host, "touch /tmp/e2e-go")
	}
	require.NoError(t, run.Wait(), "%s%s", &out, &said)
	require.Contains(t, said.String(), "was lost before 3 hosts ended")
	require.Contains(t, out.String(), "3 hosts: 3 ok; 12 resources: 12 changed, 0 stable")
	for _, host := range hosts {
		require.Equal(t, "ran\n", f.sh(host, "cat /tmp/e2e-ran"), host)
		require.Equal(t, 4, strings.Count(out.String(), "\n"+host+"  changed "), "%s is told each once:\n%s", host, &out)
		require.NotContains(t, out.String(), "untold")
	}
	require.Contains(t, f.push("runs", "show", "last").stdout, "3 hosts: 3 ok; 12 resources: 12 changed, 0 stable")

	again := f.push(append(workers, "--shard", "1", "site.yaml")...)
	again.requireCode(t, 0)
	require.Contains(t, again.stdout, "3 hosts: 3 ok; 12 resources: 0 changed, 12 stable")

	// Another authority, which no host trusts.
	outputOf(t, exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f.path("other")))
	write(t, f.path("ca.sh"), strings.Replace(certifies, "-s ca ", "-s other ", 1))
	refused := f.push(append(workers, "--check", "site.yaml")...)
	refused.requireCode(t, 1)
	require.Empty(t, refused.stdout)
	require.Contains(t, refused.stderr, "no host accepts workers: "+strings.Join(hosts, ", ")+" refused certificates of the authority SHA256:")
}
