//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
)

// sudoPassword is one that an INI inventory and sudo must both take as it is.
const sudoPassword = `cor"rect h'orse #7`

// TestWayIn is a run of its own kind for each host: behind two jump hosts that only
// ssh_config knows stand one with a password for sudo, which the inventory has, one
// that lets in by certificate alone, and one whose host key is not the known one.
func TestWayIn(t *testing.T) {
	needs.Program(t, "sudo")
	a := newAccount(t)
	a.maySudo(t, sudoPassword)
	ca := filepath.Join(t.TempDir(), "ca")
	output(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", ca)
	gate1, gate2 := a.lets(t, ""), a.lets(t, "")
	plain, changed := a.lets(t, ""), a.lets(t, "")
	cert := a.lets(t, "TrustedUserCAKeys "+ca+".pub\nAuthorizedKeysFile none\n")
	require.NoError(t, os.Chmod(filepath.Dir(ca), 0o755))

	dir := t.TempDir()
	all := map[string]*server{"gate1": gate1, "gate2": gate2, "plain": plain, "changed": changed, "cert": cert}
	var config, known strings.Builder
	for _, name := range []string{"gate1", "gate2", "plain", "changed", "cert"} {
		s := all[name]
		config.WriteString("Host " + name + "\n  HostName 127.0.0.1\n  Port " + strconv.Itoa(s.port) + "\n  IdentityFile " + s.path("id") + "\n")
		kept := s
		if name == "changed" { // what is known is the key of another machine
			kept = plain
		}
		public, err := os.ReadFile(kept.path("host_ed25519.pub"))
		require.NoError(t, err)
		known.WriteString("[127.0.0.1]:" + strconv.Itoa(s.port) + " " + string(public))
	}
	config.WriteString("Host plain cert changed\n  ProxyJump gate1,gate2\nHost *\n  User " + a.name + "\n  UserKnownHostsFile " + filepath.Join(dir, "known_hosts") + "\n")
	write(t, filepath.Join(dir, "ssh_config"), config.String())
	write(t, filepath.Join(dir, "known_hosts"), known.String())
	write(t, filepath.Join(dir, "hosts"), "[fleet]\nplain\ncert\nchanged\n\n[fleet:vars]\nansible_become=true\nansible_become_password="+strconv.Quote(sudoPassword)+"\n")

	run := func() run {
		return push(t, dir, "-i", "hosts", "--ssh-config", "ssh_config", "--connect-retries", "0", "fleet", "exec", "id -un")
	}
	const became = "== %s: exit 0\nroot\n"
	r := run()
	r.requireCode(t, 4)
	require.Contains(t, r.stdout, fmt.Sprintf(became, "plain"))
	require.Contains(t, r.stdout, fmt.Sprintf("cert     unreachable  authenticate 127.0.0.1:%d: authentication refused: ", cert.port))
	require.Contains(t, r.stdout, "3 hosts: 1 ok, 2 unreachable; ")

	output(t, "ssh-keygen", "-q", "-s", ca, "-I", "me", "-n", a.name, "-V", "-5m:+1h", cert.path("id.pub"))
	r = run()
	r.requireCode(t, 4)
	require.Contains(t, r.stdout, fmt.Sprintf(became, "plain"))
	require.Contains(t, r.stdout, fmt.Sprintf(became, "cert"))
	line := filepath.Join(dir, "known_hosts") + ":4"
	fingerprint := strings.Fields(output(t, "ssh-keygen", "-l", "-f", changed.path("host_ed25519.pub")))[1]
	require.Contains(t, r.stdout, fmt.Sprintf("changed  unreachable  host key 127.0.0.1:%d: the host key has changed: ssh-ed25519 %s is not the key in %s\n"+
		"    hint: if the host was reinstalled, remove the line %[3]s and connect again; if not, do not connect: another machine may use the address of the host\n", changed.port, fingerprint, line))
	require.Contains(t, r.stdout, "3 hosts: 2 ok, 1 unreachable; ")
	require.NotContains(t, r.stdout+r.stderr, sudoPassword)
}

// maySudo gives the account another password, with which sudo lets it be root.
func (a account) maySudo(t *testing.T, password string) {
	t.Helper()
	cmd := exec.Command("chpasswd")
	cmd.Stdin = strings.NewReader(a.name + ":" + password + "\n")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	rule := "/etc/sudoers.d/" + a.name
	require.NoError(t, os.WriteFile(rule, []byte(a.name+" ALL=(ALL) ALL\n"), 0o440))
	t.Cleanup(func() { os.Remove(rule) })
}
