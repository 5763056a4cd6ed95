//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
)

// startAccounts starts an sshd that lets accounts of this machine in, each with the
// shell and home that they have.
func startAccounts(t *testing.T, config string) *server {
	t.Helper()
	if os.Getuid() != 0 {
		needs.Skip(t, "only root can make accounts")
	}
	program := needs.Program(t, "sshd")
	require.NoError(t, os.MkdirAll("/run/sshd", 0o755))
	s := &server{dir: t.TempDir(), port: freePort(t)}
	require.NoError(t, os.Chmod(filepath.Dir(s.dir), 0o755)) // the accounts have their homes below it
	require.NoError(t, os.Chmod(s.dir, 0o755))
	for _, name := range []string{"id", "host_ed25519"} {
		s.keygen(t, name, "-t", "ed25519")
	}
	s.authorize(t, "id")
	s.know(t, "known_hosts", "ed25519")
	write(t, s.path("sshd_config"), fmt.Sprintf("ListenAddress 127.0.0.1\nPort %d\nHostKey %s\nAuthorizedKeysFile .ssh/authorized_keys %s\nStrictModes no\nUsePAM no\nPidFile none\n"+
		"PrintMotd no\nSubsystem sftp internal-sftp\nLogLevel ERROR\n%s", s.port, s.path("host_ed25519"), s.path("authorized_keys"), config))
	s.serve(t, program)
	return s
}

// account makes an account that ends with the test.
func (s *server) account(t *testing.T, shell string, files map[string]string) {
	t.Helper()
	s.user = "e2e-shell"
	home := s.path("home")
	output(t, "useradd", "-m", "-d", home, "-k", "/nonexistent", "-s", shell, "-p", "*", s.user)
	me, err := user.Lookup(s.user)
	require.NoError(t, err)
	t.Cleanup(func() {
		output(t, "userdel", "-f", s.user) // sshd may still be ending a session
		for _, dir := range []string{"/tmp", "/var/tmp"} {
			require.NoError(t, os.RemoveAll(dir+"/ccm-push-"+me.Uid))
		}
	})
	for name, text := range files {
		write(t, filepath.Join(home, name), text)
	}
	output(t, "chown", "-R", s.user+":", home)
}

// TestAccountWithoutGzip has the host program come unpacked, over SFTP.
func TestAccountWithoutGzip(t *testing.T) {
	bin := t.TempDir()
	require.NoError(t, os.Chmod(bin, 0o755))
	require.NoError(t, os.Chmod(filepath.Dir(bin), 0o755))
	for _, name := range []string{"sh", "uname", "ls", "id", "mkdir", "chmod", "rm", "mv", "sudo"} {
		path := needs.Program(t, name)
		require.NoError(t, os.Symlink(path, filepath.Join(bin, name)))
	}
	s := startAccounts(t, "SetEnv PATH="+bin+"\n")
	s.account(t, "/bin/sh", nil)
	s.inventory(t, s.port, "id", "known_hosts")
	for range 2 { // the second finds the host program where it is
		r := push(t, s.dir, "-i", "hosts.yaml", "web1", "exec", "echo it works")
		r.requireCode(t, 0)
		require.Contains(t, r.stdout, "it works\n")
	}
	entries, err := os.ReadDir(s.path("home/.cache/ccm-push"))
	require.NoError(t, err)
	var builds []string
	for _, e := range entries {
		if len(e.Name()) == 64 && !strings.Contains(e.Name(), ".") {
			builds = append(builds, e.Name())
		}
		require.False(t, strings.HasPrefix(e.Name(), "."), e.Name())
	}
	require.Len(t, builds, 1)
	info, err := os.Stat(s.path("home/.cache/ccm-push/" + builds[0]))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode())

	t.Run("no subsystem", func(t *testing.T) {
		require.NoError(t, os.RemoveAll(s.path("home/.cache")))
		s := *s
		s.port = freePort(t)
		text, err := os.ReadFile(s.path("sshd_config"))
		require.NoError(t, err)
		write(t, s.path("sshd_config"), strings.Replace(strings.Replace(string(text), "Subsystem", "#", 1), "\nPort ", fmt.Sprintf("\nPort %d\n#", s.port), 1))
		s.know(t, "known_hosts", "ed25519")
		s.serve(t, needs.Program(t, "sshd"))
		s.inventory(t, s.port, "id", "known_hosts")
		r := push(t, s.dir, "-i", "hosts.yaml", "web1", "exec", "true")
		r.requireCode(t, 2)
		require.Contains(t, r.stdout, "the host program was not installed: gzip is missing on the host, and the upload by SFTP failed: opening SFTP: ssh: subsystem request failed\n    hint: install gzip on the host\n")
	})
}

// TestAccounts has accounts with unusual shells. Each works, or the error explains why not.
func TestAccounts(t *testing.T) {
	id := func(s *server) string {
		public, err := os.ReadFile(s.path("id.pub"))
		require.NoError(t, err)
		return string(public)
	}
	const noisy = "echo Welcome; printf 'no end of line'; echo problem >&2\n"
	const ask = "check that the shell of this user runs commands, and that sshd does not force another command (ForceCommand, or command= in authorized_keys); to test: ssh -p PORT e2e-shell@127.0.0.1 echo ok"
	for _, test := range []struct {
		name, shell string
		files       map[string]string
		config      string
		key         string // options before the key in authorized_keys
		want        string // "" works
	}{
		{name: "sh", shell: "/bin/sh"},
		{name: "fish", shell: "/usr/bin/fish"},
		{name: "fish that greets", shell: "/usr/bin/fish", files: map[string]string{".config/fish/config.fish": noisy}},
		{name: "csh", shell: "/bin/csh"},
		{name: "tcsh with a noisy .tcshrc", shell: "/usr/bin/tcsh", files: map[string]string{".tcshrc": "echo Welcome\nset noglob\nalias exec echo\n"}},
		{name: "bash with a noisy .bashrc", shell: "/bin/bash", files: map[string]string{".bashrc": noisy}},
		{name: "bash with aliases and options", shell: "/bin/bash", files: map[string]string{".bashrc": "shopt -s expand_aliases extglob failglob; set -o nounset; alias sh=false exec=false\ncd /tmp\n"}},
		{name: "a profile that is not read", shell: "/bin/bash", files: map[string]string{".profile": "exit 7\n", ".bash_profile": "exit 7\n"}},
		{name: "exit in .bashrc", shell: "/bin/bash", files: map[string]string{".bashrc": "echo closed; exit 7\n"},
			want: "the host program did not answer: exit status 7\n    hint: the login shell printed \"closed\\n\"; " + ask},
		{name: "exec in .bashrc", shell: "/bin/bash", files: map[string]string{".bashrc": "exec true\n"},
			want: "the host program did not answer: exit status 0\n    hint: " + ask},
		{name: "nologin", shell: "/usr/sbin/nologin",
			want: "the host program did not answer: exit status 1\n    hint: the login shell printed \"This account is currently not available.\\n\"; " + ask},
		{name: "false", shell: "/bin/false", want: "the host program did not answer: exit status 1\n    hint: " + ask},
		{name: "true", shell: "/bin/true", want: "the host program did not answer: exit status 0\n    hint: " + ask},
		{name: "a menu", shell: "/bin/sh", key: `command="echo 1. Status; echo 2. Quit" `,
			want: "the host program did not answer: exit status 0\n    hint: the login shell printed \"1. Status\\n2. Quit\\n\"; " + ask},
		{name: "internal-sftp only", shell: "/bin/sh", config: "ForceCommand internal-sftp\n",
			want: "the host program did not answer: exit status 1\n    hint: the login shell printed \"This service allows sftp connections only.\\n\"; " + ask},
		{name: "a wrapper that runs what it is given", shell: "/bin/sh", config: `ForceCommand exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"` + "\n"},
		{name: "a wrapper that logs first", shell: "/bin/sh", key: `command="echo logged >&2; eval $SSH_ORIGINAL_COMMAND" `},
	} {
		t.Run(test.name, func(t *testing.T) {
			needs.Program(t, test.shell)
			s := startAccounts(t, test.config)
			s.account(t, test.shell, test.files)
			if test.key != "" {
				write(t, s.path("home/.ssh/authorized_keys"), test.key+id(s))
				require.NoError(t, os.Remove(s.path("authorized_keys")))
			}
			s.inventory(t, s.port, "id", "known_hosts")
			for range 2 { // the second finds the host program where it is
				r := push(t, s.dir, "-i", "hosts.yaml", "--deadline", "start=20s", "web1", "exec", "echo it works; pwd")
				if test.want == "" {
					r.requireCode(t, 0)
					require.Contains(t, r.stdout, "it works\n")
					continue
				}
				r.requireCode(t, 2)
				want := fmt.Sprintf("web1  failed   start: 127.0.0.1:%d: %s\n", s.port, strings.ReplaceAll(test.want, "PORT", fmt.Sprint(s.port)))
				require.Contains(t, r.stdout, want)
			}
		})
	}
}
