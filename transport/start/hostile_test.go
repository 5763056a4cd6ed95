package start

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/dial"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// generous returns a folder with a sudo, a doas and a su that let every user in without a password, as the real ones
// can be configured to do.
func generous(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"sudo": `until [ "$1" = -- ]; do shift; done; shift; exec "$@"`,
		"doas": `shift 3; exec "$@"`,
		"su":   `stat -c %a $(tty) >>"$HOME/mode"; shift 2; exec /bin/sh -c "$1"`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755))
	}
	return dir + ":" + os.Getenv("PATH")
}

func skipWithoutTerminals(t *testing.T) {
	t.Helper()
	ptmx, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("NOT TESTED: there are no terminals: %v", err)
	}
	ptmx.Close()
}

// localWith returns a Client for this machine that finds its programs in path.
func localWith(t *testing.T, home, path string) *transport.Client {
	t.Helper()
	d := &dial.Dialer{LocalEnv: []string{"HOME=" + home, "PATH=" + path}}
	c, err := d.Dial(t.Context(), transport.Target{Host: "me", User: "deploy", Local: true})
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// TestProgramThatAsksForThePassword replaces the cached program by one that prompts like the method of escalation.
// Where the method needs no password, that program would get the password of the login user.
func TestProgramThatAsksForThePassword(t *testing.T) {
	path := generous(t)
	for method, asks := range map[string]string{
		"sudo": `printf '%s%%:' $2 >&2`,
		"doas": `printf '\rdoas (deploy@h001) password: '`,
		"su":   `printf 'Password: '`,
	} {
		t.Run(method, func(t *testing.T) {
			if method != "sudo" {
				skipWithoutTerminals(t)
			}
			home := t.TempDir()
			stolen := filepath.Join(home, "stolen")
			b := hello(t)
			text := "#!/bin/sh\n" + asks + `; printf '{"hello":{"nonce":"%s",}\n' $2; dd bs=100 count=1 2>/dev/null >` + stolen + "; exit\n"
			text += strings.Repeat("#", int(b.Size)-len(text))
			require.NoError(t, os.MkdirAll(filepath.Join(home, ".cache/ccm-push"), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(home, ".cache/ccm-push", b.SHA256), []byte(text), 0o700))
			start := newStart(b)
			start.Become = &Become{Method: method, User: "app", Password: transport.NewSecret([]byte("hunter2"))}
			p, err := Program(t.Context(), localWith(t, home, path), start)
			require.NoError(t, err)
			_, err = p.Write([]byte("a catalog"))
			require.NoError(t, err)
			_, err = io.Copy(io.Discard, p.Stdout())
			require.NoError(t, err)
			got, err := os.ReadFile(stolen)
			require.NoError(t, err)
			require.Equal(t, "a catalog", string(got))
		})
	}
}

// TestDamagedBuildBehindAPassword uses a method that requests a password, and a cached program that does not start.
// This does not count as a refusal: the program is sent again.
func TestDamagedBuildBehindAPassword(t *testing.T) {
	for _, method := range Methods {
		t.Run(method, func(t *testing.T) {
			if method != "sudo" {
				skipWithoutTerminals(t)
			}
			home := t.TempDir()
			b := hello(t)
			require.NoError(t, os.MkdirAll(filepath.Join(home, ".cache/ccm-push"), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(home, ".cache/ccm-push", b.SHA256), make([]byte, b.Size), 0o700))
			start := newStart(b)
			start.Become = &Become{Method: method, Password: transport.NewSecret([]byte("right"))}
			p, err := Program(t.Context(), localWith(t, home, methods(t)), start)
			require.NoError(t, err)
			require.True(t, p.Uploaded)
			requireBytes(t, p)
		})
	}
}

// TestEchoedPassword has a host repeat the password wherever it can. Errors contain the host's output, but not the
// password.
func TestEchoedPassword(t *testing.T) {
	const secret = `hun"ter\2`
	for name, test := range map[string]struct{ method, script, err string }{
		"sudo": {"sudo", `printf %s "$n%:" >&2; read -r l; printf 'you said %s\n' "$l" >&2; printf '%s\n' "$l"; exit 1`,
			"web1: become ADDR: escalation refused: you said (secret)\n  hint: allow deploy to run commands as root: ccm-push sudoers prints the rule for the sudoers file of the host"},
		"before it ends well": {"sudo", `printf %s "$n%:" >&2; read -r l; printf '%s\n' "$l"; exit 0`,
			"web1: start ADDR: the host program did not answer: exit status 0\n  hint: the login shell printed \"(secret)\\n\"; check that the shell of this user runs commands, and that sshd does not force another command (ForceCommand, or command= in authorized_keys); to test: SSH echo ok"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := sshtest.Start(t, shell(test.script))
			c := connect(t, srv)
			start := fixedStart()
			start.Become = &Become{Method: test.method, Password: transport.NewSecret([]byte(secret))}
			_, err := Program(t.Context(), c, start)
			require.Equal(t, test.err, masked(err, srv.Addr, "ADDR", c.Target().SSHCommand(), "SSH"))
			require.NotContains(t, fmt.Sprintf("%+v %#v", err, err), "hun")
		})
	}
}

// TestPasswordIsNotSentToASecondStart uses a method that prompts, and then demands a terminal. The password is not sent
// to it a second time.
func TestPasswordIsNotSentToASecondStart(t *testing.T) {
	home := t.TempDir()
	srv := sshtest.Start(t, sshtest.Home(home), shell(`printf %s "$n%:" >&2; read -r l; echo "$l" >>`+home+`/said; echo 'sudo: sorry, you must have a tty to run sudo' >&2; exit 1`))
	start := fixedStart()
	start.Become = &Become{Password: transport.NewSecret([]byte("hunter2"))}
	_, err := Program(t.Context(), connect(t, srv), start)
	require.ErrorIs(t, err, transport.ErrBecome)
	require.ErrorContains(t, err, "sudo: sorry, you must have a tty to run sudo")
	said, err := os.ReadFile(filepath.Join(home, "said"))
	require.NoError(t, err)
	require.Equal(t, "hunter2\n", string(said))
}

// TestNobodyWritesToOurTerminal: text of write(1) and wall(1) would mix with the output of the host program.
func TestNobodyWritesToOurTerminal(t *testing.T) {
	skipWithoutTerminals(t)
	home := t.TempDir()
	start := newStart(hello(t))
	start.Become = &Become{Method: "su", Password: transport.NewSecret([]byte("hunter2"))} // so there is a terminal
	p, err := Program(t.Context(), localWith(t, home, generous(t)), start)
	require.NoError(t, err)
	requireBytes(t, p)
	mode, err := os.ReadFile(filepath.Join(home, "mode"))
	require.NoError(t, err)
	require.Equal(t, "600\n", string(mode))
}

// swapped returns a script in which the check for a link comes too early: the link appears just after it. Where
// fs.protected_symlinks is 0, every user can do that in /tmp.
func swapped(t *testing.T, script string) string {
	t.Helper()
	require.Contains(t, script, "test -h $d && ")
	return strings.ReplaceAll(script, "test -h $d && ", "false && ")
}

// TestCleanAfterASwap: another user has put a link in the place of the directory just before root enters it.
func TestCleanAfterASwap(t *testing.T) {
	for name, interpreter := range interpreters(t) {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			precious := filepath.Join(home, "precious")
			cache := filepath.Join(home, ".cache/ccm-push")
			require.NoError(t, os.MkdirAll(filepath.Join(precious, "deep"), 0o700))
			require.NoError(t, os.MkdirAll(filepath.Dir(cache), 0o700))
			require.NoError(t, os.Symlink(precious, cache))
			text := strings.NewReplacer(" /var/", " "+home+"/var/", " /tmp/", " "+home+"/tmp/", " $r/", " "+home+"/run/").Replace(swapped(t, footprintScript))
			cmd := exec.Command(interpreter[0], append(interpreter[1:len(interpreter):len(interpreter)], "-c", text, "sh", testNonce, "remove")...)
			cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
			out, err := cmd.Output()
			require.NoError(t, err)
			require.DirExists(t, filepath.Join(precious, "deep"), string(out))
			f, err := parseFootprint(testNonce, out)
			require.NoError(t, err)
			require.Equal(t, []Skipped{{cache, "owner"}}, f.Skipped)
		})
	}
}

// TestInstallAfterASwap: root, or another user, was led into a folder of its own with
// the same mode. Nothing there is removed, and nothing is put there.
func TestInstallAfterASwap(t *testing.T) {
	for name, interpreter := range interpreters(t) {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, interpreter)
			p.script = swapped(t, script)
			home := filepath.Join(p.home, "precious")
			require.NoError(t, os.MkdirAll(filepath.Join(p.home, ".cache"), 0o700))
			require.NoError(t, os.Mkdir(home, 0o700))
			old := filepath.Join(home, ".profile")
			require.NoError(t, os.WriteFile(old, nil, 0o600))
			at := time.Now().AddDate(0, 0, -9)
			require.NoError(t, os.Chtimes(old, at, at))
			require.NoError(t, os.Symlink(home, p.cache()))
			require.Equal(t, p.need()+"hello\n", p.run(modePlain, p.build.sent(t)))
			p.requireFiles(home, ".profile")
			p.requireFiles(p.second(), p.build.SHA256)
		})
	}
}

// TestHomeOfSomebodyElse uses a method that keeps HOME of the login user: this user could replace everything in it.
func TestHomeOfSomebodyElse(t *testing.T) {
	skipUnlessRoot(t)
	p := newPlace(t, []string{"/bin/sh"})
	p.install()
	require.NoError(t, os.RemoveAll(p.cached()))
	require.NoError(t, os.Chown(p.home, 65534, 65534))
	require.Equal(t, p.need()+"hello\n", p.run(modePlain, p.build.sent(t)))
	p.requireFiles(p.cache())
	p.requireFiles(p.second(), p.build.SHA256)
}
