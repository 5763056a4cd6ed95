package start

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/dial"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

func TestRefusal(t *testing.T) {
	secret := transport.NewSecret([]byte("pw"))
	const (
		rule  = "allow deploy to run commands as root: ccm-push sudoers prints the rule for the sudoers file of the host"
		give  = "give the password of deploy with -K or --become-password-file, or let deploy run commands as root without a password (sudoers: NOPASSWD)"
		mine  = "check that this is the password of deploy on this host"
		maySu = "may deploy use su, and can root log in there (PAM, group wheel, its shell)?"
	)
	for _, test := range []struct {
		name       string
		become     Become
		code       int
		said       string
		asked      bool
		line, hint string
	}{
		{"sudo, no password", Become{}, 1, "sudo: a password is required\n", false, "sudo: a password is required", give},
		{"sudo, wrong password", Become{Password: secret}, 1, "Sorry, try again.\nsudo: 1 incorrect password attempt\n", true, "sudo: 1 incorrect password attempt", mine},
		{"sudo, not in sudoers", Become{Password: secret}, 1, "\ndeploy is not in the sudoers file.\n", true, "deploy is not in the sudoers file.", rule},
		{"sudo, no such user", Become{User: "gone"}, 1, "sudo: unknown user gone\nsudo: error initializing audit plugin\n", false, "sudo: unknown user gone", "make the account gone on the host, or name another become_user"},
		{"sudo, in words of its own", Become{Password: secret}, 1, "Your account has expired\n", true, "Your account has expired", rule},
		{"sudo, without words", Become{Password: secret}, 1, "", true, "exit status 1", rule},
		{"sudo is not what ended", Become{}, 2, "killed\n", false, "", ""},
		{"no sudo", Become{}, 127, "/usr/bin/env: ‘sudo’: No such file or directory\n", false, "/usr/bin/env: ‘sudo’: No such file or directory", "install sudo on the host, or connect as root"},
		{"no sudo, and a directory in PATH that is closed", Become{}, 126, "/usr/bin/env: ‘sudo’: Permission denied\n", false, "/usr/bin/env: ‘sudo’: Permission denied",
			"is sudo on the host, in a place where deploy may execute it? else connect as root"},
		{"a program that the host does not execute", Become{}, 126, "sh: ./0123: Permission denied\n", false, "", ""},
		{"no doas, in German", Become{Method: "doas"}, 127, "env: „doas“: Datei oder Verzeichnis nicht gefunden\n", false, "env: „doas“: Datei oder Verzeichnis nicht gefunden", "install doas on the host, or connect as root"},
		{"su, wrong password", Become{Method: "su", Password: secret}, 1, "Password: \nsu: Authentication failure\n", true, "su: Authentication failure", "check that this is the password of root on this host"},
		{"su of FreeBSD, wrong password", Become{Method: "su", Password: secret}, 1, "Password:\nsu: Sorry\n", true, "su: Sorry", "check that this is the password of root on this host"},
		{"su, not in wheel", Become{Method: "su", Password: secret}, 1, "Password: \nsu: Permission denied\n", true, "su: Permission denied", maySu},
		{"su, no such user", Become{Method: "su", User: "gone"}, 1, "su: user gone does not exist or the user entry does not contain all the required fields\n", false,
			"su: user gone does not exist or the user entry does not contain all the required fields", "make the account gone on the host, or name another become_user"},
		{"su, no shell", Become{Method: "su", Password: secret}, 1, "Password: \nThis account is currently not available.\n", true, "This account is currently not available.", maySu},
		{"doas, no password", Become{Method: "doas"}, 1, "doas: Authentication required\n", false, "doas: Authentication required",
			"give the password of deploy with -K or --become-password-file, or let deploy run commands as root without a password (doas.conf: nopass)"},
		{"doas, wrong password", Become{Method: "doas", Password: secret}, 1, "doas (deploy@h) password: \ndoas: Authentication failed\n", true, "doas: Authentication failed", mine},
		{"doas, no rule", Become{Method: "doas"}, 1, "doas: Operation not permitted\n", false, "doas: Operation not permitted", "let deploy run commands as root in doas.conf"},
	} {
		t.Run(test.name, func(t *testing.T) {
			line, hint := test.become.refusal(&transport.ExitError{Code: test.code, Stderr: test.said}, test.said, test.asked, "deploy", "")
			require.Equal(t, test.line, line)
			require.Equal(t, test.hint, hint)
		})
	}
}

// methods returns a folder with programs that request the password "right" as sudo, su and doas do. Tests in e2e use
// the real ones.
func methods(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text), 0o755))
	}
	// sudo reads no byte beyond the line, as dd does here.
	write("sudo", `p=; while :; do case $1 in -S) shift;; -p) p=$(echo "$2" | sed 's/%p/root/; s/%%/%/'); shift 2;; -H) shift;; -u) shift 2;; --) shift; break;; esac; done
line() { l=; while c=$(dd bs=1 count=1 2>/dev/null) && [ -n "$c" ]; do l=$l$c; done; }
echo 'We trust you.' >&2
for i in 1 2; do printf %s "$p" >&2; line; [ "$l" = right ] && exec "$@"; echo 'Sorry, try again.' >&2; done
echo 'sudo: 2 incorrect password attempts' >&2; exit 1
`)
	// These need a terminal, and read from it without an echo.
	ask := `[ -t 0 ] || { echo "%[1]s: must be run from a terminal" >&2; exit 1; }
printf 'Password: ' >&2; l=$(dd bs=100 count=1 2>/dev/null); echo >&2
[ "$l" = right ] || { printf '%[1]s: ' >&2; echo 'Authentication failure' >&2; exit 1; }
`
	write("su", fmt.Sprintf(ask, "su")+`shift 2; exec /bin/sh -c "$1"`)
	write("doas", fmt.Sprintf(ask, "doas")+`shift 3; exec "$@"`)
	return dir + ":" + os.Getenv("PATH")
}

func TestPasswordIsAskedFor(t *testing.T) {
	path := methods(t)
	home := t.TempDir()
	for _, test := range []struct {
		method, password, err string
	}{
		{"sudo", "right", ""},
		{"sudo", "wrong", "me: become local: escalation refused: sudo rejected the password\n  hint: check that this is the password of root on this host; sudo on this host requests this password, not the password of deploy (sudoers: targetpw, rootpw or runaspw)"},
		{"su", "right", ""},
		{"su", "wrong", "me: become local: escalation refused: su: Authentication failure\n  hint: check that this is the password of root on this host"},
		{"su", "", "me: become local: escalation refused: su requires a password\n  hint: give the password of root with -K or --become-password-file"},
		{"doas", "right", ""},
		{"doas", "wrong", "me: become local: escalation refused: doas: Authentication failure\n  hint: check that this is the password of deploy on this host"},
	} {
		t.Run(test.method+" "+test.password, func(t *testing.T) {
			if ptmx, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0); err == nil {
				ptmx.Close()
			} else if test.method != "sudo" {
				t.Skipf("NOT TESTED: there are no terminals: %v", err)
			}
			d := &dial.Dialer{LocalEnv: []string{"HOME=" + home, "PATH=" + path}}
			c, err := d.Dial(t.Context(), transport.Target{Host: "me", User: "deploy", Local: true})
			require.NoError(t, err)
			defer c.Close()
			for range 2 {
				start := newStart(hello(t))
				start.Become = &Become{Method: test.method}
				if test.password != "" {
					start.Become.Password = transport.NewSecret([]byte(test.password))
				}
				p, err := Program(t.Context(), c, start)
				if test.err != "" {
					require.EqualError(t, err, test.err)
					require.ErrorIs(t, err, transport.ErrBecome)
					return
				}
				require.NoError(t, err)
				requireBytes(t, p)
				require.NoError(t, p.CloseWrite())
				p.Wait() // on a terminal its end may be a signal
			}
		})
	}
}

// requireBytes has every byte come back from the hello program.
func requireBytes(t *testing.T, p *Process) {
	t.Helper()
	all := make([]byte, 1<<16)
	for i := range all {
		all[i] = byte(i + i>>8)
	}
	sent := make(chan error, 1)
	go func() {
		_, err := p.Write(all)
		sent <- err
	}()
	got := make([]byte, len(all))
	_, err := io.ReadFull(p.Stdout(), got)
	require.NoError(t, err)
	require.NoError(t, <-sent)
	require.Equal(t, all, got)
}

// TestPasswordOverSSH runs sudo at the other end of an SSH connection, below a login shell that prints its commands.
func TestPasswordOverSSH(t *testing.T) {
	srv := sshtest.Start(t, sshtest.Env("PATH="+methods(t)), sshtest.Shell("/bin/sh", "-xc"))
	c := connect(t, srv)
	start := newStart(hello(t))
	start.Become = &Become{Password: transport.NewSecret([]byte("right"))}
	p, err := Program(t.Context(), c, start)
	require.NoError(t, err)
	requireBytes(t, p)
	start = newStart(hello(t))
	start.Become = &Become{Password: transport.NewSecret([]byte("wr{{7*7}}$(id)"))}
	_, err = Program(t.Context(), c, start)
	require.EqualError(t, err, fmt.Sprintf("web1: become %s: escalation refused: sudo rejected the password\n  hint: check that this is the password of root on this host; sudo on this host requests this password, not the password of deploy (sudoers: targetpw, rootpw or runaspw)", srv.Addr))
}

func TestSlowPassword(t *testing.T) {
	srv := sshtest.Start(t, shell(`printf %s "$n%:" >&2; read -r l; : >silent; exec sleep 1000`))
	start := fixedStart()
	start.Become = &Become{Password: transport.NewSecret([]byte("pw"))}
	_, err := new(silence).startUntil(t, filepath.Join(srv.Home, "silent"), connect(t, srv), start)
	require.EqualError(t, err, fmt.Sprintf("web1: become %s: timed out after 300ms: sudo has the password, and does not respond\n  hint: check PAM on the host: it may wait for a server that does not answer", srv.Addr))
	require.ErrorIs(t, err, transport.ErrTimeout)
}

func TestSecretIsNowhere(t *testing.T) {
	b := &Become{Method: "su", Password: transport.NewSecret([]byte("hunter2"))}
	text := fmt.Sprintf("%v %+v %#v %s %q", b, *b, *b, b, b.Password)
	line, err := b.commandLine("N1234567", script, []string{"N1234567"})
	require.NoError(t, err)
	require.NotContains(t, text+line, "hunter2")
	require.Contains(t, text, "(secret)")
	require.True(t, strings.HasPrefix(line, "/bin/sh -c "))
}

func TestSudoersEscaped(t *testing.T) {
	for text, want := range map[string]string{
		"a b":                "a b",
		`,:=\#*?[]!"`:        `\,\:\=\\\#\*\?\[\]\!\"`,
		"${b#*:}; $# <$t 2>": `${b\#\*\:}; $\# <$t 2>`,
	} {
		require.Equal(t, want, sudoersEscaped(text))
	}
}

func TestSudoersRule(t *testing.T) {
	rule, err := SudoersRule("deploy", &Become{User: "app"})
	require.NoError(t, err)
	require.Equal(t, "deploy ALL=(app) NOPASSWD: /bin/sh -c "+sudoersEscaped(script)+" sh *", rule)
	for _, test := range []struct {
		login  string
		become Become
		err    string
	}{
		{"deploy", Become{Method: "su"}, "it becomes root with su, not with sudo"},
		{"root", Become{}, "it logs in as root, so it needs no rule to become root"},
		{"%wheel", Become{}, `the user "%wheel" is not allowed in sudoers in this form`},
		{"+netgroup", Become{}, `the user "+netgroup" is not allowed in sudoers in this form`},
		{"#0", Become{}, `the user "#0" is not allowed in sudoers in this form`},
		{"ALL", Become{}, `the user "ALL" is not allowed in sudoers in this form`},
		{"a ALL=ALL\nb", Become{}, `the user "a ALL=ALL\nb" is not allowed in sudoers in this form`},
		{"deploy", Become{User: "ADMINS"}, `the user "ADMINS" is not allowed in sudoers in this form`},
	} {
		_, err := SudoersRule(test.login, &test.become)
		require.EqualError(t, err, test.err)
	}
}

// TestVisudo checks the rule with visudo(8). A test in e2e uses it with sudo.
func TestVisudo(t *testing.T) {
	visudo := needs.Program(t, "visudo")
	rule, err := SudoersRule("deploy", &Become{})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "rule")
	require.NoError(t, os.WriteFile(path, []byte(rule+"\n"), 0o440))
	out, err := exec.Command(visudo, "-c", "-s", "-f", path).CombinedOutput()
	require.NoError(t, err, string(out))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
