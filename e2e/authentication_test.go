//go:build e2e

package e2e

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
)

// strangePassword would do harm wherever it is taken for anything but bytes.
const strangePassword = "{{7*7}}$(id)\"'\\ %s"

// An account is a user of this machine with a password, for as long as a test runs.
type account struct{ name, home string }

func newAccount(t *testing.T) account {
	t.Helper()
	if os.Getuid() != 0 {
		needs.Skip(t, "only root can make users")
	}
	a := account{name: fmt.Sprintf("ccmauth%d", os.Getpid()), home: filepath.Join("/home", fmt.Sprintf("ccmauth%d", os.Getpid()))}
	output(t, "useradd", "-m", "-d", a.home, "-s", "/bin/sh", a.name)
	t.Cleanup(func() { exec.Command("userdel", "-r", "-f", a.name).Run() })
	cmd := exec.Command("chpasswd")
	cmd.Stdin = strings.NewReader(a.name + ":" + strangePassword + "\n")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return a
}

// lets makes a server that the account can get into, which sshd reads files as.
func (a account) lets(t *testing.T, config string) *server {
	t.Helper()
	s := startSSHD(t, config+"SetEnv HOME="+a.home+"\n")
	require.NoError(t, os.Chmod(filepath.Dir(s.dir), 0o755))
	require.NoError(t, os.Chmod(s.path("authorized_keys"), 0o644))
	s.user = a.name
	s.inventory(t, s.port, "id", "known_hosts")
	write(t, s.path("password"), strangePassword+"\n")
	write(t, s.path("wrong"), "swordfish\n")
	for _, name := range []string{"password", "wrong"} {
		require.NoError(t, os.Chmod(s.path(name), 0o600))
	}
	return s
}

func TestPasswordsAtRealSSHD(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	for _, test := range []struct {
		name, config string
		keyboard     bool
	}{
		{"password", "PubkeyAuthentication no\nKbdInteractiveAuthentication no\n", false},
		{"password by PAM", "UsePAM yes\nPubkeyAuthentication no\nKbdInteractiveAuthentication no\n", false},
		{"keyboard-interactive by PAM", "UsePAM yes\nPubkeyAuthentication no\nPasswordAuthentication no\nKbdInteractiveAuthentication yes\n", true},
		{"both by PAM", "UsePAM yes\nPubkeyAuthentication no\nKbdInteractiveAuthentication yes\n", true},
		{"a key and a password", "AuthenticationMethods publickey,password\n", false},
		{"a key and keyboard-interactive", "UsePAM yes\nAuthenticationMethods publickey,keyboard-interactive\n", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := a.lets(t, test.config)
			r := push(t, s.dir, "-i", "hosts.yaml", "--password-file", "password", "web1", "exec", "id -un")
			r.requireCode(t, 0)
			require.Contains(t, r.stdout, a.name)
			r = push(t, s.dir, "-i", "hosts.yaml", "--password-file", "wrong", "web1", "exec", "id -un")
			r.requireCode(t, 4)
			require.Contains(t, r.stdout, "the password of "+a.name+" is wrong, or the host does not accept it for logins")
			require.NotContains(t, r.stdout+r.stderr, "swordfish")
			r = push(t, s.dir, "-i", "hosts.yaml", "web1", "exec", "id -un")
			r.requireCode(t, 4)
			require.Contains(t, r.stdout, "the host accepts a password; to enter it, pass -k")
		})
	}
	t.Run("of the inventory", func(t *testing.T) {
		s := a.lets(t, "PubkeyAuthentication no\n")
		text, err := os.ReadFile(s.path("hosts.yaml"))
		require.NoError(t, err)
		write(t, s.path("hosts.yaml"), strings.Replace(string(text), "connect: {", "connect: {password: '"+strings.ReplaceAll("swordfish", "'", "''")+"', ", 1))
		push(t, s.dir, "-i", "hosts.yaml", "web1", "exec", "true").requireCode(t, 4)
		push(t, s.dir, "-i", "hosts.yaml", "--password-file", "password", "web1", "exec", "true").requireCode(t, 0)
	})
}

// TestPasswordIsInNoArgument looks at all processes of this machine while a host
// works.
func TestPasswordIsInNoArgument(t *testing.T) {
	a := newAccount(t)
	s := a.lets(t, "PubkeyAuthentication no\n")
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		needs.Skip(t, "there is no /proc")
	}
	up, down := filepath.Join(a.home, "up"), filepath.Join(a.home, "down")
	cmd := pushCommand(t, s.dir, "-i", "hosts.yaml", "--password-file", "password", "web1", "exec",
		"sh -c 'touch "+up+"; until test -e "+down+"; do sleep 0.05; done'")
	require.NoError(t, cmd.Start())
	defer cmd.Wait()
	defer os.WriteFile(down, nil, 0o644)
	require.Eventually(t, func() bool { _, err := os.Stat(up); return err == nil }, time.Minute, 20*time.Millisecond)
	processes, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(t, err)
	looked := 0
	for _, process := range processes {
		for _, name := range []string{"cmdline", "environ"} {
			if text, err := os.ReadFile(filepath.Join(process, name)); err == nil {
				looked++
				require.NotContains(t, string(text), strangePassword, process)
			}
		}
	}
	require.Greater(t, looked, 10)
}

func TestCertificatesAtRealSSHD(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	output(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, "ca"))
	s := startSSHD(t, "TrustedUserCAKeys "+dir+"/ca.pub\nAuthorizedKeysFile none\n")
	for _, kind := range []string{"ed25519", "ecdsa", "rsa"} {
		t.Run(kind, func(t *testing.T) {
			s.keygen(t, kind, "-t", kind)
			s.inventory(t, s.port, kind, "known_hosts")
			push(t, s.dir, "-i", "hosts.yaml", "web1", "exec", "true").requireCode(t, 4)
			output(t, "ssh-keygen", "-q", "-s", filepath.Join(dir, "ca"), "-I", "me", "-n", s.user, "-V", "-5m:+1h", s.path(kind+".pub"))
			push(t, s.dir, "-i", "hosts.yaml", "web1", "exec", "true").requireCode(t, 0)
		})
	}
	t.Run("of the agent", func(t *testing.T) {
		agent := startAgent(t)
		agent.add(t, s.path("rsa"), "")
		require.NoError(t, os.Rename(s.path("rsa"), s.path("away")))
		write(t, s.path("hosts.yaml"), fmt.Sprintf("all: {hosts: {web1: {connect: {address: 127.0.0.1, port: %d, user: %s, known_hosts: %s}}}}\n", s.port, s.user, s.path("known_hosts")))
		agent.push(t, s.dir, "-i", "hosts.yaml", "web1", "exec", "true").requireCode(t, 0)
	})
	t.Run("for another user", func(t *testing.T) {
		s.keygen(t, "other", "-t", "ed25519")
		output(t, "ssh-keygen", "-q", "-s", filepath.Join(dir, "ca"), "-I", "me", "-n", "nobody", s.path("other.pub"))
		s.inventory(t, s.port, "other", "known_hosts")
		r := push(t, s.dir, "-i", "hosts.yaml", "web1", "exec", "true")
		r.requireCode(t, 4)
		require.Contains(t, r.stdout, "ccm-push offered these keys for the user "+s.user+": other-cert.pub, other")
	})
}

// An agent is OpenSSH's ssh-agent.
type agent struct{ socket string }

func startAgent(t *testing.T) agent {
	t.Helper()
	dir, err := os.MkdirTemp("", "a") // a socket's path must be short
	require.NoError(t, err)
	a := agent{filepath.Join(dir, "s")}
	cmd := exec.Command("ssh-agent", "-D", "-a", a.socket)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		os.RemoveAll(dir)
	})
	_, err = bufio.NewReader(out).ReadString('\n') // it prints its address when it is ready
	require.NoError(t, err)
	return a
}

// add adds a key, encrypted or not, to the agent.
func (a agent) add(t *testing.T, key, passphrase string) {
	t.Helper()
	askpass := filepath.Join(filepath.Dir(a.socket), "askpass")
	write(t, askpass, "#!/bin/sh\necho '"+passphrase+"'\n")
	require.NoError(t, os.Chmod(askpass, 0o700))
	cmd := exec.Command("ssh-add", "-q", key)
	cmd.Env = append(os.Environ(), "SSH_AUTH_SOCK="+a.socket, "SSH_ASKPASS="+askpass, "SSH_ASKPASS_REQUIRE=force")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

func (a agent) push(t *testing.T, dir string, args ...string) run {
	t.Helper()
	return pushWith(t, pushCommand(t, dir, args...), "SSH_AUTH_SOCK="+a.socket)
}

// pushWith is push with more in the environment.
func pushWith(t *testing.T, cmd *exec.Cmd, env ...string) run {
	t.Helper()
	cmd.Env = append(cmd.Env, env...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		require.NoError(t, err)
	}
	return run{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

func TestKeysOfTheAgentAtRealSSHD(t *testing.T) {
	t.Parallel()
	s := startSSHD(t, "MaxAuthTries 2\n")
	a := startAgent(t)
	for _, name := range []string{"k1", "k2", "k3", "k4", "id"} {
		if name != "id" {
			s.keygen(t, name, "-t", "ed25519")
		}
		a.add(t, s.path(name), "")
	}
	host := fmt.Sprintf("address: 127.0.0.1, port: %d, user: %s, known_hosts: %s", s.port, s.user, s.path("known_hosts"))
	write(t, s.path("hosts.yaml"), "all: {hosts: {web1: {connect: {"+host+"}}}}\n")
	r := a.push(t, s.dir, "-i", "hosts.yaml", "web1", "exec", "true")
	r.requireCode(t, 4)
	require.Contains(t, r.stdout, "Too many authentication failures")
	require.Contains(t, r.stdout, "3 more were not offered, since a host allows only so many (sshd_config: MaxAuthTries): name the right key with \"private_key\"")

	write(t, s.path("hosts.yaml"), "all: {hosts: {web1: {connect: {"+host+", private_key: "+s.path("id")+"}}}}\n")
	a.push(t, s.dir, "-i", "hosts.yaml", "web1", "exec", "true").requireCode(t, 0)

	t.Run("an encrypted file", func(t *testing.T) {
		a := startAgent(t)
		output(t, "ssh-keygen", "-q", "-p", "-N", "pass phrase", "-f", s.path("id"))
		a.add(t, s.path("id"), "pass phrase")
		a.push(t, s.dir, "-i", "hosts.yaml", "web1", "exec", "true").requireCode(t, 0)
		write(t, s.path("phrase"), "pass phrase\n")
		require.NoError(t, os.Chmod(s.path("phrase"), 0o600))
		push(t, s.dir, "-i", "hosts.yaml", "--key-passphrase-file", "phrase", "web1", "exec", "true").requireCode(t, 0)
	})
}

func TestProxyCommandAtRealSSHD(t *testing.T) {
	t.Parallel()
	gate, s := startSSHD(t, ""), startSSHD(t, "")
	for name, command := range map[string]string{
		"ssh -W":   fmt.Sprintf("ssh -F none -i %s -o UserKnownHostsFile=%s -o BatchMode=yes -p %d -W %%h:%%p %s@127.0.0.1", gate.path("id"), gate.path("known_hosts"), gate.port, gate.user),
		"/dev/tcp": `bash -c 'exec 3<>/dev/tcp/%h/%p; cat <&3 & exec cat >&3'`,
	} {
		t.Run(name, func(t *testing.T) {
			s.inventory(t, s.port, "id", "known_hosts")
			write(t, s.path("ssh_config"), "Host *\n  ProxyCommand "+command+"\n")
			r := push(t, s.dir, "--ssh-config", s.path("ssh_config"), "-i", "hosts.yaml", "web1", "exec", "true")
			r.requireCode(t, 0)
		})
	}
	t.Run("that fails", func(t *testing.T) {
		write(t, s.path("ssh_config"), "Host *\n  ProxyCommand echo 'no way' >&2; exit 7\n")
		r := push(t, s.dir, "--ssh-config", s.path("ssh_config"), "-i", "hosts.yaml", "web1", "exec", "true")
		r.requireCode(t, 4)
		require.Contains(t, r.stdout, "the host closed the connection")
	})
}

func TestTwoJumpHostsOfRealSSHD(t *testing.T) {
	t.Parallel()
	outer, inner, s := startSSHD(t, ""), startSSHD(t, ""), startSSHD(t, "")
	line := func(name string, s *server, more string) string {
		return fmt.Sprintf("    %s: {connect: {address: 127.0.0.1, port: %d, user: %s, private_key: %s, known_hosts: %s%s}}\n", name, s.port, s.user, s.path("id"), s.path("known_hosts"), more)
	}
	hosts := "all:\n  hosts:\n" + line("outer", outer, "") + line("inner", inner, "") + line("web1", s, ", jump: 'outer,inner'") + line("web2", s, ", jump: 'outer,inner'")
	write(t, s.path("hosts.yaml"), hosts)
	push(t, s.dir, "-i", "hosts.yaml", "web*", "exec", "true").requireCode(t, 0)

	write(t, outer.path("known_hosts"), "")
	r := push(t, s.dir, "-i", "hosts.yaml", "web*", "exec", "true")
	r.requireCode(t, 4)
	require.Equal(t, 1, strings.Count(r.stdout, "the host key is unknown"), r.stdout)
	require.Contains(t, r.stdout, "outer  jump host  host key ")
	require.Contains(t, r.stdout, "web2: 0 changed, 0 stable (unreachable: jump host outer")
}
