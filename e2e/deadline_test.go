//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestResourceDeadline ends a command that would never end, with everything that it
// has started.
func TestResourceDeadline(t *testing.T) {
	t.Parallel()
	s := startSSHD(t, "")
	s.inventory(t, s.port, "id", "known_hosts")
	mark := fmt.Sprintf("9%d.25", s.port) // no other process sleeps this long
	write(t, s.path("site.yaml"), `
ccm:
  resources:
    - exec:
        - before: {command: "true"}
        - stuck: {provider: shell, command: "(trap '' TERM; sleep `+mark+`) & sleep `+mark+`; wait"}
        - after: {command: "true"}
`)
	r := push(t, s.dir, "-i", "hosts.yaml", "--deadline", "resource=2s", "-o", "json", "site.yaml")
	r.requireCode(t, 2)
	require.Regexp(t, `"name":"before".*"status":"changed"`, r.stdout)
	require.Regexp(t, `"event":"result".*"name":"stuck".*"status":"failed".*"error":"exec#stuck took longer than 2s: `, r.stdout)
	require.NotContains(t, r.stdout, `"name":"after"`)
	require.Regexp(t, `"event":"host_failed".*"host":"web1","phase":"deadline","reason":"timeout","error":"exec#stuck took longer than 2s","hint":"[^"]*","not_reached":1,"next":"exec#after"`, r.stdout)
	require.Eventually(t, func() bool { return len(sleepers(t, mark)) == 0 }, time.Minute, 20*time.Millisecond, "its processes are still there: %v", sleepers(t, mark))
}

// sleepers are the processes of this machine with a word in their command line.
func sleepers(t *testing.T, word string) []string {
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	var found []string
	for _, l := range lines {
		if text, err := os.ReadFile(l); err == nil && strings.Contains(string(text), "\x00"+word+"\x00") {
			found = append(found, l+": "+strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return found
}

// TestHostDeadline ends a host in the middle of its play.
func TestHostDeadline(t *testing.T) {
	t.Parallel()
	s := startSSHD(t, "")
	s.inventory(t, s.port, "id", "known_hosts")
	mark := fmt.Sprintf("8%d.25", s.port)
	r := push(t, s.dir, "-i", "hosts.yaml", "--deadline", "host=6s", "web1", "exec", "sleep "+mark)
	r.requireCode(t, 2)
	require.Contains(t, r.stdout, "web1  failed   deadline: the host took longer than 6s\n")
	require.Eventually(t, func() bool { return len(sleepers(t, mark)) == 0 }, time.Minute, 20*time.Millisecond)
}

// TestStartDeadline has a login shell that never starts the command.
func TestStartDeadline(t *testing.T) {
	t.Parallel()
	s := startSSHD(t, "ForceCommand echo wait; exec sleep 1000\n")
	s.inventory(t, s.port, "id", "known_hosts")
	r := push(t, s.dir, "-i", "hosts.yaml", "--deadline", "start=1s", "web1", "exec", "true")
	r.requireCode(t, 2)
	require.Contains(t, r.stdout, fmt.Sprintf("web1  failed   start: 127.0.0.1:%d: timed out after 1s\n    hint: the login shell printed \"wait\\n\"; ", s.port))
}
