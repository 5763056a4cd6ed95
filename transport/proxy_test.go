package transport

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// sshKeygen makes a key file with OpenSSH's own program.
func sshKeygen(t testing.TB, path string, args ...string) ssh.PublicKey {
	t.Helper()
	program, err := exec.LookPath("ssh-keygen")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("ssh-keygen is not installed")
		}
		t.Skip("NOT TESTED with ssh-keygen: it is not installed")
	}
	out, err := exec.Command(program, append([]string{"-q", "-f", path}, args...)...).CombinedOutput()
	require.NoError(t, err, string(out))
	key := readPublicKey(path + ".pub")
	require.NotNil(t, key)
	return key
}

// relay is a proxy command that needs no program but a shell with its tools.
func relay(t testing.TB, srv *sshtest.Server) string {
	t.Helper()
	if _, err := exec.LookPath("nc"); err == nil {
		return fmt.Sprintf("nc %s %d", srv.Host, srv.Port)
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("NOT TESTED: there is neither nc nor bash")
	}
	return fmt.Sprintf(`bash -c 'exec 3<>/dev/tcp/%s/%d; cat <&3 & exec cat >&3'`, srv.Host, srv.Port)
}

// TestProxyCommandsEnd has commands that would stay, each with a child.
func TestProxyCommandsEnd(t *testing.T) {
	srv := sshtest.Start(t)
	for _, test := range []struct{ name, command string }{
		{"a good one", "sh -c 'echo $$ >PID; sleep 1000 & echo $! >>PID; " + strings.ReplaceAll(relay(t, srv), "'", `'\''`) + "; wait'"},
		{"one that says nothing", "sh -c 'echo $$ >PID; sleep 1000 & echo $! >>PID; wait'"},
		{"one that does not want to end", `sh -c 'trap "" TERM HUP; echo $$ >PID; sleep 1000 & echo $! >>PID; wait; wait'`},
	} {
		t.Run(test.name, func(t *testing.T) {
			pids := filepath.Join(t.TempDir(), "pids")
			target := targetOf(srv)
			target.ProxyCommand = strings.ReplaceAll(test.command, "PID", pids)
			c, err := (&Dialer{Limits: Limits{Handshake: shortTimeout}}).Dial(t.Context(), target)
			if err == nil {
				c.Close()
			}
			text, err := os.ReadFile(pids)
			require.NoError(t, err)
			for _, pid := range strings.Fields(string(text)) {
				n, err := strconv.Atoi(pid)
				require.NoError(t, err)
				require.Eventually(t, func() bool { return gone(n) }, 10*time.Second, 10*time.Millisecond, "process %d lives", n)
			}
		})
	}
}

// gone reports whether a process has ended, be it a zombie that nobody waits for.
func gone(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

func TestProxyCommandErrors(t *testing.T) {
	for _, test := range []struct{ name, shell, command, err string }{
		{"ends at once", "", "false", "web1: handshake w:22: the host closed the connection (the proxy command ended with exit status 1)"},
		{"says why", "", "sh -c 'echo first >&2; printf \"no route \\033[2J\" >&2; exit 3'",
			`web1: handshake w:22: the host closed the connection (the proxy command ended with exit status 3, it said "first\nno route \x1b[2J")`},
		{"is missing", "", "/no/such/program", `web1: handshake w:22: the host closed the connection (the proxy command ended with exit status 127, it said "MISSING")`},
		{"shell is missing", "/no/such/shell", "true", "web1: dial w:22: proxy command: no such file or directory"},
		{"says something else", "", "sh -c 'echo hello; read line'", `web1: handshake w:22: the host closed the connection (by way of a proxy command): it first said "hello"` + "\n  hint: " + noServerHint},
		{"is silent", "", "sleep 1000", "web1: handshake w:22: timed out after 300ms (by way of a proxy command)\n  hint: something accepted the connection but does not speak SSH in time"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := &Dialer{Shell: test.shell, Limits: shortLimits}
			err := dialOnce(t, d, Target{Host: "web1", Address: "w", User: "deploy", ProxyCommand: test.command})
			text := err.Error()
			if i := strings.Index(text, `/bin/sh: `); i >= 0 { // each shell has words of its own
				text = text[:i] + "MISSING\")"
			}
			require.Equal(t, test.err, text)
			require.True(t, Unreachable(err))
		})
	}
}

func TestProxyCommandHasNoTerminal(t *testing.T) {
	err := dialOnce(t, &Dialer{}, Target{Host: "web1", Address: "w", User: "deploy", ProxyCommand: "sh -c 'exec 2>&1; : </dev/tty && echo asked'"})
	require.NotContains(t, err.Error(), "asked")
}
