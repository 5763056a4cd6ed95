package dial

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// TestProxyCommandsEnd has commands that would stay, each with a child.
func TestProxyCommandsEnd(t *testing.T) {
	srv := sshtest.Start(t)
	for _, test := range []struct {
		name, command string
		good          bool
	}{
		{"a good one", "sh -c 'echo $$ >PID; sleep 1000 & echo $! >>PID; " + strings.ReplaceAll(srv.ProxyCommand(t), "'", `'\''`) + "; wait'", true},
		{"one that says nothing", "sh -c 'echo $$ >PID; sleep 1000 & echo $! >>PID; wait'", false},
		{"one that does not want to end", `sh -c 'trap "" TERM HUP; echo $$ >PID; sleep 1000 & echo $! >>PID; wait; wait'`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			pids := filepath.Join(t.TempDir(), "pids")
			target := targetOf(srv)
			target.ProxyCommand = strings.ReplaceAll(test.command, "PID", pids)
			ctx, cancel := context.WithCancel(t.Context())
			var dialling sync.WaitGroup
			dialling.Go(func() {
				c, err := (&Dialer{}).Dial(ctx, target)
				if (err == nil) != test.good {
					t.Errorf("dialled: %v", err)
				}
				if err == nil {
					c.Close()
				}
			})
			var both []string
			require.Eventually(t, func() bool {
				text, _ := os.ReadFile(pids)
				both = strings.Fields(string(text))
				return len(both) == 2
			}, time.Minute, 5*time.Millisecond)
			if !test.good {
				cancel()
			}
			dialling.Wait()
			cancel()
			for _, pid := range both {
				n, err := strconv.Atoi(pid)
				require.NoError(t, err)
				require.Eventually(t, func() bool { return gone(n) }, time.Minute, 10*time.Millisecond, "process %d lives", n)
			}
		})
	}
}

// gone reports whether a process has ended. A zombie counts as ended.
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
		{"is silent", "", "sleep 1000", "web1: handshake w:22: timed out after 300ms (by way of a proxy command)\n  hint: the port accepted the connection, but no SSH server answered in time: does sshd use this port?"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := &Dialer{Shell: test.shell}
			if strings.Contains(test.err, "timed out") { // other tests must not be cut short
				d.Limits = shortLimits
			}
			err := dialOnce(t, d, transport.Target{Host: "web1", Address: "w", User: "deploy", ProxyCommand: test.command})
			text := err.Error()
			if i := strings.Index(text, `/bin/sh: `); i >= 0 { // each shell has words of its own
				text = text[:i] + "MISSING\")"
			}
			require.Equal(t, test.err, text)
			require.True(t, transport.Unreachable(err))
		})
	}
}

func TestProxyCommandHasNoTerminal(t *testing.T) {
	err := dialOnce(t, &Dialer{}, transport.Target{Host: "web1", Address: "w", User: "deploy", ProxyCommand: "sh -c 'exec 2>&1; : </dev/tty && echo asked'"})
	require.NotContains(t, err.Error(), "asked")
}
