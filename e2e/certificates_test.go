//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/natsconn/natstest"
)

// TestFleetCertificates copies the key and the certificate of a worker while it works on h001, of the site paris: real sshds refuse
// them from another address, on a host of another site, and after their time. A host that knows no sites takes them, from that address.
func TestFleetCertificates(t *testing.T) {
	f := startFleet(t)
	url := natstest.Start(t)
	f.trustsAuthority(hosts...)
	for host, principal := range map[string]string{"h001": "root@paris", "h002": "root@berlin"} {
		f.sh(host, "echo "+principal+" >/etc/ssh/e2e-principals/root")
	}
	f.sh("h003", "sed -i /Principals/d /etc/ssh/sshd_config.d/e2e-ca.conf; kill -HUP 1")
	inventory, err := os.ReadFile(f.path("root.yaml"))
	require.NoError(t, err)
	write(t, f.path("paris.yaml"), strings.ReplaceAll(strings.ReplaceAll(string(inventory), "h001: {", "h001: {site: paris, "), "h003: {", "h003: {site: paris, "))
	write(t, f.path("site.yaml"), gateSite)
	temp := t.TempDir()
	me := f.address("255.1") // by which the hosts see this machine
	worker := pushCommand(t, f.dir, "worker", "--workers", url, "--key", "worker", "--coordinators", "coordinator.pub", "--site", "paris", "--worker-address", me)
	worker.Env = append(worker.Env, "TMPDIR="+temp)
	var said text
	worker.Stderr = &said
	require.NoError(t, worker.Start())
	t.Cleanup(func() { killed(worker) })
	run := pushCommand(t, f.dir, "-i", "paris.yaml", "--workers", url, "--workers-key", "coordinator", "--workers-list", "worker.pub", "--ca-command", "./ca.sh", "--cert-validity", "1m", "site.yaml")
	var printed text
	run.Stdout, run.Stderr = &printed, &printed
	require.NoError(t, run.Start())
	t.Cleanup(func() { killed(run) })
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(said.String() + printed.String())
		}
	})
	f.awaits("h001", "test -e /tmp/e2e-waits")

	// A thief steals the certificate.
	var certificate string
	require.NoError(t, filepath.WalkDir(temp, func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, "-cert.pub") {
			certificate = path
		}
		return err
	}))
	require.NotEmpty(t, certificate, said.String())
	stolen := filepath.Join(t.TempDir(), "stolen")
	taken := time.Now()
	outputOf(t, exec.Command("cp", certificate, stolen+"-cert.pub"))
	outputOf(t, exec.Command("cp", strings.TrimSuffix(certificate, "-cert.pub"), stolen))
	says := outputOf(t, exec.Command("ssh-keygen", "-L", "-f", stolen+"-cert.pub"))
	require.Contains(t, says, "source-address "+me)
	require.Contains(t, says, "root@paris")
	arguments := func(host string) []string {
		return []string{"-F", "none", "-i", stolen, "-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "root@" + f.address("0.1"+host[3:]), "true"}
	}
	login := func(host string) (string, bool) {
		out, err := exec.Command("ssh", arguments(host)...).CombinedOutput()
		return string(out), err == nil
	}
	out, in := login("h001")
	require.True(t, in, "the worker itself comes in: %s", out)
	out, in = login("h002")
	require.False(t, in, "another site")
	require.Contains(t, out, "Permission denied")
	out, in = login("h003")
	require.True(t, in, "a host that knows no sites: %s", out)
	for _, name := range []string{"", "-cert.pub"} {
		text, err := os.ReadFile(stolen + name)
		require.NoError(t, err)
		cmd := f.command("exec", "h003", "sh", "-c", "mkdir -p "+filepath.Dir(stolen)+"; umask 077; cat >"+stolen+name)
		cmd.Stdin = strings.NewReader(string(text))
		outputOf(t, cmd)
	}
	elsewhere, err := f.command(append([]string{"exec", "h003", "ssh"}, arguments("h001")...)...).CombinedOutput()
	require.Error(t, err, "another address")
	require.Contains(t, string(elsewhere), "Permission denied")
	time.Sleep(time.Until(taken.Add(time.Minute + 5*time.Second)))
	out, in = login("h001")
	require.False(t, in, "after its time")
	require.Contains(t, out, "Permission denied")

	// The worker has another one by then.
	f.sh("h001", "touch /tmp/e2e-go")
	require.NoError(t, run.Wait(), printed.String())
	require.Contains(t, printed.String(), "1 host: 1 ok")
}
