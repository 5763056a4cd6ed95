//go:build e2e

package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// farmSite restarts two web servers, one after the other. A restart takes until the server listens.
const farmSite = `
name: farm
hosts: web*
data: {version: %d, start: %q}
rollout:
  batches: [1, rest]
  max_unavailable: 1
  soak: 1s
  on_stop: end
  %s
ccm:
  fail_on_error: true
  resources:
    - file:
        - defaults: {owner: root, group: root, mode: "0644"}
        - /etc/systemd/system/e2e-web.service:
            alias: unit
            content: |
              [Service]
              ExecStart=/srv/webfarm serve :8080 /srv/text {{ Data.start }}
              ExecStartPost=/srv/webfarm await http://127.0.0.1:8080/
              TimeoutStartSec=infinity
        - /srv/text: {content: "{{ Host.name }} {{ Data.version }}\n", alias: text}
    - service:
        - e2e-web: {ensure: running, subscribe: [file#unit, file#text], health_checks: [{command: "/srv/webfarm get http://127.0.0.1:8080/"}]}
`

// farmDrain removes a server from the pool of the balancer, waits until it has answered its requests, and adds it
// again.
const farmDrain = `drain:
    before:
      - file: ["/srv/pool/{{ Host.name }}": {on: lb1, ensure: absent}]
      - exec: ["/srv/webfarm get http://127.0.0.1/drained/{{ Host.name }}": {on: lb1}]
    after:
      - file: ["/srv/pool/{{ Host.name }}": {on: lb1, content: "", owner: root, group: root, mode: "0644"}]`

// TestFleetRolloutLosesNothing restarts the two servers behind a load balancer while requests run all
// the time. With a drain none is lost; without, some are.
func TestFleetRolloutLosesNothing(t *testing.T) {
	program := filepath.Join(t.TempDir(), "webfarm")
	build := exec.Command("go", "build", "-o", program, "./webfarm")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	outputOf(t, build)
	names := []string{"lb1", "web1", "web2"}
	f := startNamedHosts(t, names...)
	inventory := "all:\n  hosts:\n"
	for i, name := range names {
		host := fmt.Sprintf("s%03d", i+1)
		f.send(host, program, "/srv/webfarm")
		for line := range strings.Lines(f.tool("inventory")) {
			if _, connect, ok := strings.Cut(line, host+":"); ok {
				inventory += fmt.Sprintf("    %s: %s\n", name, strings.TrimSpace(connect))
			}
		}
	}
	write(t, f.path("hosts.yaml"), inventory)
	f.sh("s001", "mkdir /srv/pool && systemd-run -q --unit e2e-lb /srv/webfarm balance :80 /srv/pool web1="+f.address("1.12")+":8080 web2="+f.address("1.13")+":8080")
	f.awaits("s001", `/srv/webfarm get http://127.0.0.1/drained/web1`)

	c := newClient(t, "http://"+f.address("1.11")+"/")
	start := c.serveStarts(t, f.address("255.1"))
	rollout := func(version int, drain string, args ...string) {
		t.Helper()
		write(t, f.path("farm.yaml"), fmt.Sprintf(farmSite, version, start, drain))
		f.push(append([]string{"-i", "hosts.yaml"}, append(args, "farm.yaml")...)...).requireCode(t, 0)
	}
	rollout(1, farmDrain, "--include-broken")

	lost := c.during(func() { rollout(2, farmDrain) })
	t.Logf("with a drain, of %d requests lost: %d", c.answers, len(c.lost)) // the numbers of docs/internals/lockouts.md
	require.NoError(t, lost)
	seen := map[string]bool{}
	for range 4 {
		text, err := c.get()
		require.NoError(t, err)
		seen[text] = true
	}
	require.Equal(t, map[string]bool{"web1 2\n": true, "web2 2\n": true}, seen)

	lost = c.during(func() { rollout(3, "# no drain") })
	t.Logf("without one, of %d requests lost: %d", c.answers, len(c.lost))
	require.ErrorContains(t, lost, "502 Bad Gateway")
}

// A client sends requests to a web server all the time.
type client struct {
	url string

	mu      sync.Mutex
	came    sync.Cond
	asking  bool
	answers int // good and bad
	lost    []error
}

func newClient(t *testing.T, url string) *client {
	c := &client{url: url}
	c.came.L = &c.mu
	t.Cleanup(c.stop)
	return c
}

// serveStarts returns the address that servers contact before they listen. While there is a client, they get the answer
// after it has sent enough requests to notice that they do not listen.
func (c *client) serveStarts(t *testing.T, ip string) string {
	l, err := net.Listen("tcp", ip+":0")
	require.NoError(t, err)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		const enough = 40
		c.mu.Lock()
		defer c.mu.Unlock()
		for until := c.answers + enough; c.asking && c.answers < until; {
			c.came.Wait()
		}
	}))
	srv.Listener = l
	srv.Start()
	t.Cleanup(srv.Close)
	t.Cleanup(c.stop)
	return srv.URL
}

func (c *client) get() (string, error) {
	answer, err := http.Get(c.url)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = errors.New(answer.Status)
	}
	return string(text), err
}

// during sends requests while do runs, and returns the lost ones.
func (c *client) during(do func()) error {
	c.mu.Lock()
	c.asking, c.answers, c.lost = true, 0, nil
	c.mu.Unlock()
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() {
			for c.ask() {
			}
		})
	}
	defer asking.Wait()
	defer c.stop()
	do()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answers < 80 {
		return fmt.Errorf("only %d answers came: no server was restarted", c.answers)
	}
	if len(c.lost) > 0 {
		return fmt.Errorf("%d of %d were lost, the first: %w", len(c.lost), c.answers, c.lost[0])
	}
	return nil
}

func (c *client) ask() bool {
	_, err := c.get()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers++
	if err != nil {
		c.lost = append(c.lost, err)
	}
	c.came.Broadcast()
	return c.asking
}

func (c *client) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asking = false
	c.came.Broadcast()
}

// rolloutSite changes files, and then a command that can fail or take its time.
const rolloutSite = `
name: app
hosts: h001,h002
data: {version: %d}
rollout:
  batches: 1
  on_stop: %s
  drain:
    before: [file: ["/etc/e2e/pool/{{ Host.name }}": {on: h003, ensure: absent}]]
    after: [file: ["/etc/e2e/pool/{{ Host.name }}": {on: h003, content: "", owner: root, group: root, mode: "0644"}]]
ccm:
  resources:
    - file:
        - defaults: {owner: root, group: root, mode: "0644"}
        - /etc/e2e: {ensure: directory, mode: "0755"}
        - /etc/e2e/app.conf: {content: "version {{ Data.version }}\n", alias: conf}
        - /etc/e2e/only-{{ Data.version }}: {content: ""}
    - exec:
        - test ! -e /tmp/e2e-bad: {refreshonly: true, subscribe: [file#conf]}
        - sh -c 'touch /tmp/e2e-began; while test -e /tmp/e2e-slow; do sleep 0.1; done': {refreshonly: true, subscribe: [file#conf]}
`

// TestFleetRollout stops a rollout at a failed host, undoes it, continues, and continues again after an interruption.
func TestFleetRollout(t *testing.T) {
	f := startFleet(t)
	f.sh("h003", "mkdir -p /etc/e2e/pool")
	tree := func(host string) string {
		return f.sh(host, `cd /etc/e2e && find . -printf '%p %y %m %u %g %l\n' | sort; find . -type f | sort | xargs sha256sum`)
	}
	rollout := func(version int, then string) {
		write(t, f.path("rollout.yaml"), fmt.Sprintf(rolloutSite, version, then))
	}
	pool := func() string { return f.sh("h003", "ls /etc/e2e/pool") }
	run := func(code int, args ...string) run {
		t.Helper()
		r := f.push(args...)
		r.requireCode(t, code)
		return r
	}
	site := []string{"-i", "root.yaml", "rollout.yaml"}

	rollout(1, "end")
	run(0, site...)
	require.Equal(t, "h001\nh002\n", pool())
	require.Contains(t, run(0, site...).stdout, "-- rollout of app: nothing will change, 2 hosts stable\n")

	// The second host fails: both are taken back, and so is the drain of that one.
	before := []string{tree("h001"), tree("h002")}
	f.sh("h002", "touch /tmp/e2e-bad")
	rollout(2, "undo_all")
	r := run(2+32, site...)
	require.Contains(t, r.stdout, "-- stopped in batch 2 by stop.failed: 1 of 2 hosts have failed or cannot be reached (h002); limit: 1\n")
	require.Equal(t, before, []string{tree("h001"), tree("h002")})
	require.Equal(t, "h001\nh002\n", pool())

	// A resume that names the run applies the undone changes again, once that works.
	f.sh("h002", "rm /tmp/e2e-bad")
	require.Contains(t, run(1, "resume").stderr, "was undone by run")
	run(0, "resume", runID.FindString(r.stdout))
	require.Contains(t, tree("h001"), "only-2")
	require.Contains(t, tree("h002"), "only-2")
	require.Equal(t, "h001\nh002\n", pool())

	// Not taken back: resume does what remains.
	f.sh("h002", "touch /tmp/e2e-bad")
	rollout(3, "end")
	run(2+32, site...)
	require.Contains(t, tree("h001"), "only-3")
	f.sh("h002", "rm /tmp/e2e-bad")
	r = run(0, "resume")
	require.Contains(t, r.stdout, "    batch 1: done\n    batch 2: 1 host: h002\n")
	require.Contains(t, tree("h002"), "only-3")
	require.Equal(t, "h001\nh002\n", pool())

	// Interrupted in the midst of the first host, which is drained then.
	f.sh("h001", "rm -f /tmp/e2e-began; touch /tmp/e2e-slow")
	rollout(4, "end")
	cmd := pushCommand(t, f.dir, site...)
	said, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	f.awaits("h001", "test -e /tmp/e2e-began")
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	lines := bufio.NewScanner(said)
	for lines.Scan() && !strings.Contains(lines.Text(), "stopping after the running resources") {
	}
	f.sh("h001", "rm /tmp/e2e-slow")
	_, err = io.Copy(io.Discard, said)
	require.NoError(t, err)
	require.Error(t, cmd.Wait())
	require.Equal(t, 130, cmd.ProcessState.ExitCode())
	require.Equal(t, "h002\n", pool())
	r = run(0, "resume")
	require.Contains(t, r.stdout, "    batch 1: 1 host: h001\n    batch 2: 1 host: h002; restarts exec#")
	require.Equal(t, "h001\nh002\n", pool())
	require.Contains(t, tree("h002"), "only-4")
}
