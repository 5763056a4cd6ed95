package sshtest

import (
	"fmt"
	"os/exec"
	"testing"
)

// ProxyCommand is a command whose standard input and output are a connection to s. It
// needs no program but nc, or bash with its tools.
func (s *Server) ProxyCommand(tb testing.TB) string {
	tb.Helper()
	if _, err := exec.LookPath("nc"); err == nil {
		return fmt.Sprintf("nc %s %d", s.Host, s.Port)
	}
	if _, err := exec.LookPath("bash"); err != nil {
		tb.Skip("NOT TESTED: there is neither nc nor bash")
	}
	return fmt.Sprintf(`bash -c 'exec 3<>/dev/tcp/%s/%d; cat <&3 & exec cat >&3'`, s.Host, s.Port)
}
