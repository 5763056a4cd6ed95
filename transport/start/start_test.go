package start

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/dial"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// requireGreeting checks the environment of the module: the installation must leave no trace in it.
func requireGreeting(t *testing.T, srv *sshtest.Server, s Request, p *Process) {
	t.Helper()
	mask := syscall.Umask(0)
	syscall.Umask(mask)
	want := fmt.Sprintf(`{"hello":{"nonce":%q,"facts":%q,"dir":%q,"uid":%d,"home":%q,"umask":"%03o"}}`, s.Nonce, s.Facts, filepath.Join(srv.Home, ".cache/ccm-push"), os.Getuid(), srv.Home, mask)
	require.Equal(t, want, string(p.Hello()))
}

// requireCached checks that the build, and nothing else, is in the cache.
func requireCached(t *testing.T, srv *sshtest.Server, b Build) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(srv.Home, ".cache/ccm-push"))
	require.NoError(t, err)
	require.Len(t, entries, 1)
	info, err := entries[0].Info()
	require.NoError(t, err)
	require.Equal(t, b.SHA256, info.Name())
	require.Equal(t, os.FileMode(0o700), info.Mode())
}

func TestFirstStartUploadsAndTheSecondDoesNot(t *testing.T) {
	srv := sshtest.Start(t)
	b := hello(t)
	c := connect(t, srv)

	start := newStart(b)
	p, err := Program(t.Context(), c, start)
	require.NoError(t, err)
	require.True(t, p.Uploaded)
	requireGreeting(t, srv, start, p)
	requireEcho(t, p)
	first := srv.Stats()
	require.EqualValues(t, 1, first.Execs)
	require.EqualValues(t, 1, first.Sessions)
	requireCached(t, srv, b)

	start = newStart(b)
	start.Facts = "host,mem"
	p, err = Program(t.Context(), c, start)
	require.NoError(t, err)
	require.False(t, p.Uploaded)
	requireGreeting(t, srv, start, p)
	requireEcho(t, p)
	second := srv.Stats()
	require.EqualValues(t, 1, second.Execs-first.Execs)
	require.EqualValues(t, 1, second.Sessions-first.Sessions)
	require.EqualValues(t, 1, second.Connections)
}

// TestDamagedBuildIsSentAgain has copies that pass the start check, which looks
// at owner, mode and size.
func TestDamagedBuildIsSentAgain(t *testing.T) {
	b := hello(t)
	program := unpack(t, b)
	for name, damage := range map[string]func(program []byte){
		"no program":        func(p []byte) { clear(p[:4096]) },
		"an empty script":   func(p []byte) { copy(p, bytes.Repeat([]byte("\n"), len(p))); copy(p, "exit 7") },
		"a broken program":  func(p []byte) { clear(p[4096:]) },
		"a different shell": func(p []byte) { copy(p, "#!/nonexistent/sh\n") },
	} {
		t.Run(name, func(t *testing.T) {
			srv := sshtest.Start(t)
			cache := filepath.Join(srv.Home, ".cache/ccm-push")
			require.NoError(t, os.MkdirAll(cache, 0o700))
			damaged := bytes.Clone(program)
			damage(damaged)
			require.NoError(t, os.WriteFile(filepath.Join(cache, b.SHA256), damaged, 0o700))
			for _, uploaded := range []bool{true, false} {
				before := srv.Stats().Execs
				p, err := Program(t.Context(), connect(t, srv), newStart(b))
				require.NoError(t, err)
				require.Equal(t, uploaded, p.Uploaded)
				requireEcho(t, p)
				if !uploaded {
					require.EqualValues(t, 1, srv.Stats().Execs-before)
				}
			}
			requireCached(t, srv, b)
		})
	}
}

// unpack returns the program in a build.
func unpack(t *testing.T, b Build) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(b.compressed(t)))
	require.NoError(t, err)
	program, err := io.ReadAll(r)
	require.NoError(t, err)
	return program
}

func TestManyStartsAtOnce(t *testing.T) {
	srv := sshtest.Start(t)
	var starts sync.WaitGroup
	for range 6 {
		c := connect(t, srv)
		starts.Go(func() {
			p, err := Program(t.Context(), c, newStart(hello(t)))
			if err != nil {
				t.Error(err)
				return
			}
			requireEcho(t, p)
		})
	}
	starts.Wait()
	p, err := Program(t.Context(), connect(t, srv), newStart(hello(t)))
	require.NoError(t, err)
	require.False(t, p.Uploaded)
	requireEcho(t, p)
	requireCached(t, srv, hello(t))
}

func TestNoiseBeforeTheGreeting(t *testing.T) {
	for name, noise := range map[string]string{
		"lines":                 "Welcome to web1\n\n  Last login: never\n",
		"no end of line":        "> ",
		"long line":             strings.Repeat("x", 60<<10),
		"as much as is allowed": strings.Repeat(strings.Repeat("x", 1023)+"\n", 64),
		"looks like an answer":  "need abc linux amd64\nfail abc nospace\n{\"hello\":{\"nonce\":\"abc\",\n",
	} {
		t.Run(name, func(t *testing.T) {
			srv := sshtest.Start(t, sshtest.Noise(noise))
			c := connect(t, srv)
			for range 2 {
				p, err := Program(t.Context(), c, newStart(hello(t)))
				require.NoError(t, err)
				requireEcho(t, p)
			}
		})
	}
}

// shell makes the login shell ignore the command and run script, in which $n is
// the nonce of a fixedStart.
func shell(script string) sshtest.Option {
	return sshtest.Shell("/bin/sh", "-c", "n="+fixedNonce+"; "+script)
}

const fixedNonce = "ABCDEFGH12345678"

func fixedStart(builds ...Build) Request {
	s := newStart(builds...)
	s.Nonce = fixedNonce
	s.Greeting = fmt.Appendf(nil, `{"hello":{"nonce":%q,`, fixedNonce)
	return s
}

func TestStartErrors(t *testing.T) {
	b := hello(t)
	b.OS, b.Arch = "linux", "amd64"
	other := b
	other.Arch = "arm64"
	sudo := func(s *Request) { s.Become = &Become{} }
	su := func(s *Request) { s.Become = &Become{Method: "su"} }
	const noDir = "\n  hint: one of ~/.cache/ccm-push, /var/tmp/ccm-push-UID and /tmp/ccm-push-UID must be a directory of the user with mode 0700, or the user must be able to create it"
	const noPassword = "\n  hint: give the password of deploy with -K or --become-password-file, or let deploy run commands as root without a password (sudoers: NOPASSWD)"
	const noRule = "\n  hint: allow deploy to run commands as root: ccm-push sudoers prints the rule for the sudoers file of the host"

	const try = "check that the shell of this user runs commands, and that sshd does not force another command (ForceCommand, or command= in authorized_keys); to test: ssh -p PORT deploy@127.0.0.1 echo ok"

	for _, test := range []struct {
		name  string
		shell string
		start func(*Request)
		dumb  bool // falls silent once it has made the file silent
		err   string
		is    error
	}{
		{name: "nologin", shell: "echo This account is currently not available.; exit 1", is: transport.ErrNotModule,
			err: "web1: start ADDR: the host program did not answer: exit status 1\n  hint: the login shell printed \"This account is currently not available.\\n\"; " + try},
		{name: "exit in a profile", shell: "exit 0", is: transport.ErrNotModule, err: "web1: start ADDR: the host program did not answer: exit status 0\n  hint: " + try},
		{name: "no shell", shell: "echo one >&2; echo sh: gone >&2; exit 127", is: transport.ErrNotModule, err: "web1: start ADDR: the host program did not answer: exit status 127: sh: gone\n  hint: " + try},
		{name: "killed", shell: "kill -9 $$", is: transport.ErrNotModule, err: "web1: start ADDR: the host program did not answer: killed by signal KILL\n  hint: did the host run out of memory?"},
		{name: "drawing", shell: `printf '\033[2Jhi'; printf '\033]0;x\007' >&2; exit 3`, is: transport.ErrNotModule,
			err: "web1: start ADDR: the host program did not answer: exit status 3: \\x1b]0;x\\a\n  hint: the login shell printed \"\\x1b[2Jhi\"; " + try},
		{name: "endless noise", shell: "while echo noise; do :; done", is: transport.ErrNotModule,
			err: "web1: start ADDR: the host program did not answer: more than 64 KiB were printed before its greeting\n  hint: the login shell printed \"" + strings.Repeat("noise\\n", 16) + `[… 65346 bytes left out …]\n` + strings.Repeat("noise\\n", 15) + `noise"`},
		{name: "endless greeting", shell: `printf '{"hello":{"nonce":"%s",' $n; while printf xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; do :; done`, is: transport.ErrNotModule,
			err: "web1: start ADDR: the host program did not answer: its greeting is longer than 4 MiB"},
		{name: "silent", shell: "exec sleep 1000", start: func(s *Request) { s.Timeout = shortTimeout }, is: transport.ErrTimeout, err: "web1: start ADDR: timed out after 300ms\n  hint: " + try},
		{name: "silent after noise", shell: "echo Hello; : >silent; exec sleep 1000", dumb: true, is: transport.ErrTimeout,
			err: "web1: start ADDR: timed out after 300ms\n  hint: the login shell printed \"Hello\\n\"; " + try},
		{name: "silent before su", shell: "echo Hello; : >silent; exec sleep 1000", start: su, dumb: true, is: transport.ErrTimeout,
			err: "web1: start ADDR: timed out after 300ms\n  hint: the login shell printed \"Hello\\n\"; " + try},
		{name: "nologin before su", shell: "echo This account is currently not available.; exit 1", start: su, is: transport.ErrNotModule,
			err: "web1: start ADDR: the host program did not answer: exit status 1\n  hint: the login shell printed \"This account is currently not available.\\n\"; " + try},
		{name: "su is silent", shell: "echo become-$n >&2; echo Hello; : >silent; exec sleep 1000", start: su, dumb: true, is: transport.ErrTimeout,
			err: "web1: start ADDR: timed out after 300ms\n  hint: the host printed \"Hello\\n\"; su does not prompt: does PAM wait for a server that does not answer, or does root have no shell that runs commands?"},
		{name: "no shell to su to", shell: "echo become-$n >&2; exit 0", start: su, is: transport.ErrNotModule,
			err: "web1: start ADDR: the host program did not answer: exit status 0\n  hint: does root have a shell that runs commands? su needs one, sudo and doas do not"},
		{name: "takes no build", shell: "echo need $n linux amd64; exec sleep 1000", start: func(s *Request) { sudo(s); s.Timeout = shortTimeout }, is: transport.ErrTimeout, err: "web1: install ADDR: timed out after 300ms"},
		{name: "another system", shell: "echo need $n OpenBSD sparc64", is: transport.ErrNoBuild,
			err: "web1: install ADDR: no build for this host: it is \"OpenBSD/sparc64\"\n  hint: builds exist for linux/amd64, linux/arm64"},
		{name: "asks for ever", shell: "cat >/dev/null & for i in 1 2 3 4; do echo need $n linux amd64; done; wait", is: transport.ErrInstall,
			err: "web1: install ADDR: the host program was not installed: the host requested the host program again"},
		{name: "full", shell: "echo fail $n nospace /home/x/.cache/ccm-push", is: transport.ErrNoSpace,
			err: "web1: install ADDR: no space left on the host (last tried \"/home/x/.cache/ccm-push\")\n  hint: about 10 MB are needed in ~/.cache/ccm-push, /var/tmp or /tmp"},
		{name: "noexec", shell: "echo fail $n noexec /tmp/x", is: transport.ErrInstall,
			err: "web1: install ADDR: the host program was not installed: every directory that could hold it is mounted noexec (last tried \"/tmp/x\")\n  hint: make ~/.cache/ccm-push, /var/tmp or /tmp a place where programs can be executed"},
		{name: "read-only", shell: "echo fail $n readonly /tmp/x", is: transport.ErrInstall,
			err: "web1: install ADDR: the host program was not installed: no directory can hold it, and one is on a read-only file system (last tried \"/tmp/x\")\n  hint: the user must be able to write to ~/.cache/ccm-push, /var/tmp or /tmp"},
		{name: "does not execute", shell: "echo sh: 1: exec: /x: Permission denied >&2; exit 126", is: transport.ErrNotModule,
			err: "web1: start ADDR: the host program did not answer: exit status 126: sh: 1: exec: /x: Permission denied\n  hint: the host does not execute it: is its directory mounted noexec, or does a policy forbid it (SELinux, fapolicyd)?"},
		{name: "does not execute what it was sent either", shell: "test -e once && echo need $n linux amd64; touch once; exit 126", is: transport.ErrNotModule,
			err: "web1: install ADDR: the host program did not answer, nor when it was sent again: exit status 126\n  hint: the host does not execute it: is its directory mounted noexec, or does a policy forbid it (SELinux, fapolicyd)?"},
		{name: "crashes", shell: "kill -SEGV $$", is: transport.ErrNotModule, err: "web1: start ADDR: the host program did not answer: killed by signal SEGV"},
		{name: "no directory", shell: "echo fail $n nodir", is: transport.ErrInstall, err: "web1: install ADDR: the host program was not installed: no directory can hold it" + noDir},
		{name: "runs nothing", shell: "echo fail $n norun /bin", is: transport.ErrInstall,
			err: "web1: install ADDR: the host program was not installed: the login shell could run nothing, not even id: permission denied\n  hint: does a policy forbid it (SELinux, AppArmor, fapolicyd)?"},
		{name: "finds nothing", shell: "echo fail $n nopath /no:/such", is: transport.ErrInstall,
			err: "web1: install ADDR: the host program was not installed: the login shell found no program, not even id, in PATH=\"/no:/such\"\n  hint: set PATH in a start-up file of the shell"},
		{name: "no gzip", shell: "echo fail $n nogzip", is: transport.ErrInstall, err: "web1: install ADDR: the host program was not installed: gzip is missing on the host\n  hint: install gzip on the host"},
		{name: "unpacking", shell: "echo fail $n unpack", is: transport.ErrInstall, err: "web1: install ADDR: the host program was not installed: gzip could not unpack it"},
		{name: "hash", shell: "echo fail $n hash", is: transport.ErrInstall, err: "web1: install ADDR: the host program was not installed: what arrived has another SHA-256"},
		{name: "another failure", shell: `printf 'fail %s \033[2J\n' $n`, is: transport.ErrInstall, err: "web1: install ADDR: the host program was not installed: \"\\x1b[2J\""},
		{name: "sudo wants a password", shell: "echo sudo: a password is required >&2; exit 1", start: sudo, is: transport.ErrBecome,
			err: "web1: become ADDR: escalation refused: sudo: a password is required" + noPassword},
		{name: "sudo to nobody there", shell: "echo sudo: unknown user root >&2; exit 1", start: sudo, is: transport.ErrBecome,
			err: "web1: become ADDR: escalation refused: sudo: unknown user root\n  hint: make the account root on the host, or name another become_user"},
		{name: "sudo says no", shell: "echo Sorry, user deploy is not allowed to execute /bin/sh as root on web1. >&2; exit 1", start: sudo, is: transport.ErrBecome,
			err: "web1: become ADDR: escalation refused: Sorry, user deploy is not allowed to execute /bin/sh as root on web1." + noRule},
		{name: "no sudo", shell: "echo sh: 1: sudo: not found >&2; exit 127", start: sudo, is: transport.ErrBecome,
			err: "web1: become ADDR: escalation refused: sh: 1: sudo: not found\n  hint: install sudo on the host, or connect as root"},
		{name: "sudo is none of it", shell: "echo killed >&2; exit 2", start: sudo, is: transport.ErrNotModule, err: "web1: start ADDR: the host program did not answer: exit status 2: killed\n  hint: " + try},
		{name: "method", shell: "exit 0", start: func(s *Request) { s.Become = &Become{Method: "pfexec"} }, err: `web1: start ADDR: unknown escalation method "pfexec"; use one of sudo, su, doas`},
		{name: "empty password", shell: "exit 0", start: func(s *Request) { s.Become = &Become{Password: transport.NewSecret(nil)} }, err: `web1: start ADDR: the become password is empty`},
		{name: "password of two lines", shell: "exit 0", start: func(s *Request) { s.Become = &Become{Password: transport.NewSecret([]byte("a\nb"))} }, err: `web1: start ADDR: the become password has the end of a line in it`},
		{name: "endless password", shell: "exit 0", start: func(s *Request) { s.Become = &Become{Password: transport.NewSecret(bytes.Repeat([]byte("x"), 512))} }, err: `web1: start ADDR: the become password is longer than 511 bytes`},
		{name: "nonce", shell: "exit 0", start: func(s *Request) { s.Nonce = "a/b" }, err: `web1: start ADDR: nonce "a/b" is not 8 to 64 letters and digits`},
		{name: "facts", shell: "exit 0", start: func(s *Request) { s.Facts = "$(id)" }, err: `web1: start ADDR: "$(id)" cannot be passed to the host: only letters, digits and _.,:/=@%+- can`},
		{name: "digest", shell: "exit 0", start: func(s *Request) { s.Builds[0].SHA256 = "../x" }, err: `web1: start ADDR: build linux/amd64: "../x" is not a SHA-256 in hex`},
		{name: "compressed digest", shell: "exit 0", start: func(s *Request) { s.Builds[0].CompressedSHA256 = "" }, err: `web1: start ADDR: build linux/amd64: "" is not a SHA-256 in hex`},
		{name: "greeting", shell: "exit 0", start: func(s *Request) { s.Greeting = nil }, err: `web1: start ADDR: no greeting to wait for`},
	} {
		t.Run(test.name, func(t *testing.T) {
			srv := sshtest.Start(t, shell(test.shell))
			start := fixedStart(b, other)
			if test.start != nil {
				test.start(&start)
			}
			var p *Process
			var err error
			if test.dumb {
				p, err = new(silence).startUntil(t, filepath.Join(srv.Home, "silent"), connect(t, srv), start)
			} else {
				p, err = Program(t.Context(), connect(t, srv), start)
			}
			require.Nil(t, p)
			require.EqualError(t, err, strings.NewReplacer("ADDR", srv.Addr, "PORT", strconv.Itoa(srv.Port)).Replace(test.err))
			require.False(t, transport.Unreachable(err))
			if test.is != nil {
				require.ErrorIs(t, err, test.is)
			}
		})
	}
}

func TestStartIsCancelled(t *testing.T) {
	srv := sshtest.Start(t, shell("echo ready >$HOME/ready; exec sleep 1000"))
	c := connect(t, srv)
	ctx, cancel := context.WithCancelCause(t.Context())
	var starting sync.WaitGroup
	var err error
	starting.Go(func() { _, err = Program(ctx, c, fixedStart()) })
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(srv.Home, "ready"))
		return err == nil
	}, time.Minute, 10*time.Millisecond)
	cancel(errors.New("stopped"))
	starting.Wait()
	require.EqualError(t, err, "web1: start "+srv.Addr+": stopped")
	<-c.Done()
}

func TestSilentAfterLogin(t *testing.T) {
	srv := sshtest.Start(t, sshtest.SilentAfterAuth())
	start := newStart(hello(t))
	start.Timeout = shortTimeout
	_, err := Program(t.Context(), connect(t, srv), start)
	require.EqualError(t, err, fmt.Sprintf("web1: start %s: timed out after 300ms\n"+
		"  hint: check that the shell of this user runs commands, and that sshd does not force another command (ForceCommand, or command= in authorized_keys); to test: ssh -p %d deploy@127.0.0.1 echo ok", srv.Addr, srv.Port))
}

func TestConnectionDiesInTheMiddle(t *testing.T) {
	whole := sshtest.Start(t)
	c := connect(t, whole)
	p, err := Program(t.Context(), c, newStart(hello(t)))
	require.NoError(t, err)
	requireEcho(t, p)
	total := whole.Stats().Sent

	// Wherever the connection is cut, the result is a clean error and no part of
	// the build is taken for the whole.
	for cut := int64(100); cut < total; cut += total / 23 {
		srv := sshtest.Start(t, sshtest.KillAfter(cut))
		d := &dial.Dialer{}
		c, err := d.Dial(t.Context(), targetOf(srv))
		if err != nil {
			require.True(t, transport.Unreachable(err), err)
			continue
		}
		p, err := Program(t.Context(), c, newStart(hello(t)))
		if err == nil {
			io.Copy(p, strings.NewReader(strings.Repeat("ping\n", 1000)))
			p.CloseWrite()
			out, _ := io.ReadAll(p.Stdout())
			if err := p.Wait(); err == nil {
				require.Len(t, out, 5000, "all was said before the cut")
			} else {
				require.ErrorIs(t, err, transport.ErrLost)
			}
		} else {
			require.IsType(t, &transport.HostError{}, err)
			require.False(t, transport.Unreachable(err))
		}
		c.Close()
	}
}

func TestStartOnALostConnection(t *testing.T) {
	srv := sshtest.Start(t)
	c := connect(t, srv)
	require.NoError(t, c.Close())
	_, err := Program(t.Context(), c, newStart(hello(t)))
	require.EqualError(t, err, "web1: start "+srv.Addr+": opening a session: the connection was lost")
	require.ErrorIs(t, err, transport.ErrLost)
}

func TestExitOfTheModule(t *testing.T) {
	c := connect(t, sshtest.Start(t))
	start := newStart(hello(t))
	start.Facts = "exit7"
	p, err := Program(t.Context(), c, start)
	require.NoError(t, err)
	_, err = io.ReadAll(p.Stdout())
	require.NoError(t, err)
	for range 2 {
		require.Equal(t, &transport.ExitError{Code: 7, Stderr: "hello on stderr\n"}, p.Wait())
	}
	require.EqualError(t, p.Wait(), "exit status 7: hello on stderr")
	require.NoError(t, p.Close())
	require.NoError(t, p.Close())
}

func TestClosingTheClientEndsEverything(t *testing.T) {
	srv := sshtest.Start(t)
	c := connect(t, srv)
	p, err := Program(t.Context(), c, newStart(hello(t)))
	require.NoError(t, err)
	require.NoError(t, c.Close())
	_, err = io.ReadAll(p.Stdout())
	require.NoError(t, err)
	require.ErrorIs(t, p.Wait(), transport.ErrLost)
	_, err = p.Write([]byte("x"))
	require.Error(t, err)
}

// TestSudo needs root, because root may run sudo for any user without a password.
func TestSudo(t *testing.T) {
	skipUnlessRoot(t)
	needs.Program(t, "sudo")
	if out, err := exec.Command("sudo", "-n", "-u", "nobody", "true").CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: cannot sudo to nobody: %s", out)
	}
	srv := sshtest.Start(t)
	c := connect(t, srv)
	b := ownBuild(t)
	for _, user := range []string{"nobody", ""} {
		for _, again := range []bool{false, true} {
			start := newStart(b)
			start.Become = &Become{User: user}
			p, err := Program(t.Context(), c, start)
			require.NoError(t, err)
			if again {
				require.False(t, p.Uploaded)
			}
			uid := `"uid":0,`
			if user == "nobody" {
				uid = `"uid":65534,`
			}
			require.Contains(t, string(p.Hello()), uid)
			requireEcho(t, p)
		}
	}
	require.NoFileExists(t, filepath.Join(srv.Home, ".cache"), "the login user has no copy")
	removeBuild(b, "/root/.cache/ccm-push", "/var/tmp/ccm-push-65534")
}

// ownBuild returns a build for the folder that all tests of this machine share. No other test has the same build.
func ownBuild(t *testing.T) Build {
	t.Helper()
	b, err := packBuild(append(unpack(t, hello(t)), rand.Text()...))
	require.NoError(t, err)
	return b
}

// removeBuild takes a build of a test away from where real ones are kept. The directories
// stay: another run may be about to write there.
func removeBuild(b Build, dirs ...string) {
	for _, d := range dirs {
		os.Remove(filepath.Join(d, b.SHA256))
	}
}

func TestUploadMustMove(t *testing.T) {
	ctx, idle := withIdleTimeout(t.Context(), time.Hour)
	defer idle.stop()
	var out bytes.Buffer
	var sent []int64
	require.NoError(t, idle.write(&out, pace{}, "head\n", bytes.Repeat([]byte("x"), 3*writeChunk+1), func(n, size int64) {
		require.EqualValues(t, 3*writeChunk+1, size)
		sent = append(sent, n)
	}))
	require.Equal(t, []int64{0, writeChunk, 2 * writeChunk, 3 * writeChunk, 3*writeChunk + 1}, sent)
	require.Equal(t, "head\n"+strings.Repeat("x", 3*writeChunk+1), out.String())
	require.NoError(t, ctx.Err())
}
