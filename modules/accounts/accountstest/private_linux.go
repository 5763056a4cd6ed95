package accountstest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
)

const inside = "CCM_PUSH_PRIVATE_ACCOUNTS"

// Private runs a test function as root with a private /etc, /home, /var/log and /var/mail, in a second process that
// runs this test only, and sees no other processes, since other tests may use the same users. The test must do nothing
// else. Private skips the test if it does not run as root.
func Private(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	if os.Getenv(inside) != "" {
		mount(t)
		Reset(t)
		test(t)
		return
	}
	needs.Root(t, "changing accounts needs root")
	self, err := os.Executable()
	require.NoError(t, err)
	args := []string{"-test.run=^" + t.Name() + "$", "-test.count=1", fmt.Sprintf("-test.short=%t", testing.Short())}
	if testing.Verbose() {
		args = append(args, "-test.v")
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID, Unshareflags: syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	if testing.Verbose() {
		t.Logf("%s", out)
	}
	require.NoError(t, err, "in a mount namespace:\n%s", out)
}

// mount puts a copy over /etc and empty folders over the other paths that tests change.
func mount(t *testing.T) {
	t.Helper()
	etc := filepath.Join(t.TempDir(), "etc")
	out, err := exec.Command("cp", "-a", "/etc", etc).CombinedOutput()
	require.NoError(t, err, string(out))
	require.NoError(t, syscall.Mount(etc, "/etc", "", syscall.MS_BIND, ""))
	require.NoError(t, syscall.Mount("proc", "/proc", "proc", 0, ""))
	for _, dir := range []string{"/home", "/var/log", "/var/mail"} {
		require.NoError(t, syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=755"))
	}
}

// Busybox replaces the tools of shadow-utils by a BusyBox with the same tools. If none is installed ($CCM_PUSH_BUSYBOX
// names one), the test is skipped.
func Busybox(t *testing.T) {
	t.Helper()
	program := os.Getenv("CCM_PUSH_BUSYBOX")
	if program == "" {
		program = "busybox"
	}
	out, _ := exec.Command(program, "--list").Output()
	if !strings.Contains("\n"+string(out), "\nadduser\n") {
		t.Skipf("NOT TESTED: %q has no adduser; Alpine's has (set CCM_PUSH_BUSYBOX)", program)
	}
	program, err := exec.LookPath(program)
	require.NoError(t, err)
	tools := t.TempDir()
	require.NoError(t, os.Chmod(tools, 0o755))
	out, err = exec.Command("cp", program, filepath.Join(tools, "busybox")).CombinedOutput()
	require.NoError(t, err, string(out))
	for _, name := range []string{"adduser", "deluser", "addgroup", "delgroup", "chpasswd"} {
		require.NoError(t, os.Symlink("busybox", filepath.Join(tools, name)))
	}
	for _, dir := range []string{"/usr/sbin", "/usr/local/sbin"} {
		require.NoError(t, syscall.Mount(tools, dir, "", syscall.MS_BIND, ""))
	}
}

// The files that every test begins with.
var files = map[string]string{
	"/etc/passwd": "root:x:0:0:root:/root:/bin/bash\n" +
		"daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n" +
		"bob:x:1500:1500:Bob:/home/bob:/bin/sh\n" +
		"nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
	"/etc/group": "root:x:0:\ndaemon:x:1:\nusers:x:100:\ndocker:x:900:bob\nwheel:x:901:\nbob:x:1500:\nnogroup:x:65534:\n",
	"/etc/shadow": "root:*:19000:0:99999:7:::\ndaemon:*:19000:0:99999:7:::\n" +
		"bob:" + Hash + ":19000:0:99999:7:::\nnobody:*:19000:0:99999:7:::\n",
	"/etc/gshadow":         "root:*::\ndaemon:*::\nusers:*::\ndocker:!::bob\nwheel:!::\nbob:!::\nnogroup:*::\n",
	"/etc/login.defs":      "UID_MIN 1000\nUID_MAX 60000\nGID_MIN 1000\nGID_MAX 60000\nUMASK 022\nHOME_MODE 0750\nUSERGROUPS_ENAB yes\nENCRYPT_METHOD SHA512\n",
	"/etc/default/useradd": "SHELL=/bin/sh\nHOME=/home\nCREATE_MAIL_SPOOL=yes\n",
	"/etc/shells":          "/bin/sh\n/bin/bash\n",
	"/etc/nsswitch.conf":   "passwd: files\ngroup: files\nshadow: files\n",
	"/etc/subuid":          "",
	"/etc/subgid":          "",
	"/etc/skel/.profile":   "# profile\n",
}

// Hash is bob's: of the password "secret".
const Hash = "$6$saltsalt$TVLlQcbpFVof5W3Yz4DTP6gRstiNuHwwTt6GLc1E5n0U0aDehy0S5knV8wiOQSpT0Y77vwPZN.Pq.H91p5hVO1"

// Reset restores the accounts: root, daemon, nobody, and bob (1500) with a home and in the group docker (900); also the
// group wheel (901).
func Reset(t testing.TB) {
	t.Helper()
	require.NoError(t, os.RemoveAll("/etc/skel"))
	for _, name := range []string{"/home", "/etc/skel"} {
		require.NoError(t, os.MkdirAll(name, 0o755))
		names, err := os.ReadDir(name)
		require.NoError(t, err)
		for _, e := range names {
			require.NoError(t, os.RemoveAll(filepath.Join(name, e.Name())))
		}
	}
	for name, text := range files {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
	require.NoError(t, os.Chmod("/etc/shadow", 0o600))
	require.NoError(t, os.MkdirAll("/home/bob", 0o755))
	require.NoError(t, os.Chown("/home/bob", 1500, 1500))
}

// Fresh is a type whose every resource finds the accounts that a test begins
// with, changed by prepare.
func Fresh(t testing.TB, typ modules.Type, prepare func()) modules.Type {
	real := typ.New
	typ.New = func() modules.Resource {
		Reset(t)
		if prepare != nil {
			prepare()
		}
		return real()
	}
	return typ
}
