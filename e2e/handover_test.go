//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/natsconn/natstest"
)

// A text that several goroutines write to and read.
type text struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (t *text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all.Write(p)
}

func (t *text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all.String()
}

// TestFleetHandover kills a terminal that follows a run on another machine, which does not end the run, and then the
// coordinator. The other machine continues the run: each host has applied every resource, once.
func TestFleetHandover(t *testing.T) {
	f := startFleet(t)
	url := natstest.Start(t)
	f.trustsAuthority(hosts...)
	write(t, f.path("site.yaml"), strings.ReplaceAll(gateSite, "- hosts: h001\n", "- hosts: all\n"))
	there := filepath.Join(t.TempDir(), "clone")
	require.NoError(t, os.CopyFS(there, os.DirFS(f.dir)))
	require.NoError(t, os.Chmod(filepath.Join(there, "ca"), 0o600))
	key := filepath.Join(there, "coordinator")
	require.NoError(t, os.Remove(key))
	require.NoError(t, os.Remove(key+".pub"))
	outputOf(f, exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "other", "-f", key))
	var operators string
	for _, dir := range []string{f.dir, there} {
		public, err := os.ReadFile(filepath.Join(dir, "coordinator.pub"))
		require.NoError(t, err)
		operators += string(public)
	}
	write(t, f.path("coordinator.pub"), operators) // the list of workers
	for _, dir := range []string{f.dir, there} {
		write(t, filepath.Join(dir, "operators"), operators)
	}
	shared := []string{"--workers", url, "--workers-key", "coordinator", "--workers-operators", "operators"}
	f.worker(url)

	r := f.push(append(shared, "-i", "root.yaml", "--workers-list", "worker.pub", "--ca-command", "./ca.sh", "--detach", "--output", "json", "site.yaml")...)
	r.requireCode(t, 0)
	var begun struct {
		Run string
		PID int
	}
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &begun), r.stdout)
	coordinator := processOf(t, begun.PID)
	t.Cleanup(func() { _ = coordinator.Kill() })
	for _, host := range hosts {
		f.awaits(host, "test -e /tmp/e2e-waits")
	}
	follow := func() (*exec.Cmd, *text) {
		cmd := pushCommand(t, there, append(shared, "attach", "--fold", "never")...)
		out := &text{}
		cmd.Stdout, cmd.Stderr = out, out
		require.NoError(t, cmd.Start())
		require.Eventually(t, func() bool { return strings.Contains(out.String(), "file#/etc/e2e/before") }, time.Minute, 50*time.Millisecond)
		return cmd, out
	}
	terminal, _ := follow()
	require.NoError(t, terminal.Process.Kill())
	require.Error(t, terminal.Wait())
	refused := push(t, there, append(shared, "resume", begun.Run)...)
	refused.requireCode(t, 1)
	require.Contains(t, refused.stderr, "is coordinated by ")

	terminal, out := follow()
	require.NoError(t, coordinator.Kill())
	require.Error(t, terminal.Wait())
	require.Contains(t, out.String(), "no message from ")
	resume := pushCommand(t, there, append(shared, "resume", begun.Run, "--output", "text")...)
	said := &text{}
	resume.Stdout, resume.Stderr = said, said
	require.NoError(t, resume.Start())
	require.Eventually(t, func() bool { return strings.Contains(said.String(), "resuming run ") }, time.Minute, 50*time.Millisecond)
	for _, host := range hosts {
		f.sh(host, "touch /tmp/e2e-go")
	}
	require.NoError(t, resume.Wait(), "%s", said)
	require.Contains(t, said.String(), "3 hosts: 3 ok; ") // number of results that were not reported before
	for _, host := range hosts {
		require.Equal(t, "ran\n", f.sh(host, "cat /tmp/e2e-ran"), host)
		require.Equal(t, "after", f.sh(host, "cat /etc/e2e/after"), host)
	}
	none := push(t, there, append(shared, "attach")...)
	none.requireCode(t, 1)
	require.Contains(t, none.stderr, "no run under way in NATS", "nothing is left there")
}

// TestFleetDetachPage follows docs/guide/runs.md about leaving a run.
func TestFleetDetachPage(t *testing.T) {
	f := startNamedHosts(t, "web1", "web2")
	require.Equal(t, 2, f.followSection("guide/runs.md", "Leave a run"))
}
