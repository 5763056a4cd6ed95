package workers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// TestStoppedWorker suspends a worker (SIGSTOP) for longer than its lease lasts, and continues it after another one has
// done its work and the results have been recorded: its next step is not done again, and not reported again. It knows
// the end of its lease by its clock, unless the clock was suspended, too.
func TestStoppedWorker(t *testing.T) {
	sshtest.NeedsOwnLock(t)
	for _, phase := range []string{asksToEnter, enters, "asks what a ticket is for", "logs in", "starts the host program", "commands run", "all is told"} {
		for _, clock := range []bool{true, false} {
			if clock && phase != "commands run" { // it looks only at the lease
				continue
			}
			t.Run(fmt.Sprintf("%s, clock %v", phase, clock), func(t *testing.T) {
				t.Parallel()
				stopWorker(t, phase, clock)
			})
		}
	}
}

// asksToEnter is the moment when a worker requests the first login, which shows whether workers can reach hosts. enters
// is the moment of this login. The run begins without it, since other workers reach the hosts.
const (
	asksToEnter = "asks to enter"
	enters      = "enters"
)

// An asking queue reports each ticket that a worker asks about.
type asking struct {
	queue.Queue
	ticket func()
}

type askingRun struct {
	queue.Run
	ticket func()
}

func (q asking) Open(ctx context.Context, name string) (queue.Run, error) {
	r, err := q.Queue.Open(ctx, name)
	return askingRun{r, q.ticket}, err
}

func (r askingRun) Answer(ctx context.Context, answer func(context.Context, []byte) []byte) error {
	return r.Run.Answer(ctx, func(ctx context.Context, question []byte) []byte {
		if len(question) > 0 && question[0] != asks {
			r.ticket()
		}
		return answer(ctx, question)
	})
}

// stillVariable has a worker that is a process have a still queue.
const stillVariable = "CCM_PUSH_TEST_STILL"

// A still queue belongs to a worker whose clocks do not show the end of a lease.
type still struct{ queue.Queue }

type stillLease struct{ queue.Lease }

func (q still) Lease(ctx context.Context, site string) (queue.Lease, error) {
	l, err := q.Queue.Lease(ctx, site)
	if err != nil {
		return nil, err
	}
	return stillLease{l}, nil
}

func (stillLease) Lasts() time.Duration { return 24 * time.Hour }

const stoppedPlays = `
- name: one
  ccm:
    resources:
      - exec: ["echo first >> log": {provider: shell, cwd: "{{ Data.home }}"}]
      - exec: ["{{ Data.wait }}; echo second >> log": {provider: shell, cwd: "{{ Data.home }}"}]
      - exec: ["echo third >> log": {provider: shell, cwd: "{{ Data.home }}"}]
- name: two
  ccm: {resources: [exec: ["echo fourth >> log": {provider: shell, cwd: "{{ Data.home }}"}]]}
`

// works reports whether hosts of a site have not ended.
func (c *Coordinator) works(site string) bool {
	c.run.ledger.mu.Lock()
	defer c.run.ledger.mu.Unlock()
	for _, s := range c.run.ledger.shards {
		if s.site == site {
			return true
		}
	}
	return false
}

func stopWorker(t *testing.T, phase string, clock bool) {
	s := newSite(t, stoppedPlays, "web1", "web2", "far1")
	var worker *exec.Cmd
	var once sync.Once
	stopped := make(chan struct{})
	stop := func(at string) {
		if at == phase {
			once.Do(func() {
				require.NoError(t, worker.Process.Signal(syscall.SIGSTOP))
				close(stopped)
			})
		}
	}
	var mu sync.Mutex
	let := map[string]bool{} // the worker in; it enters one of them, and keeps that connection
	for _, name := range []string{"web1", "web2"} {
		s.hosts[name].Close()
		s.hosts[name] = sshtest.Start(t, sshtest.Outlive(), sshtest.Auth(func(c *ssh.ServerConfig) {
			c.PublicKeyCallback = func(m ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
				mu.Lock()
				let[name] = true
				all := len(let) == 2
				mu.Unlock()
				stop(enters)
				if all {
					stop("logs in")
				}
				return s.letsIn(m, key)
			}
		}), sshtest.Shell("/bin/sh", "-c", `touch started; exec /bin/sh -c "$0"`))
	}
	file := func(name string) string { return filepath.Join(s.dir, name) }
	until := func(name string) string {
		return fmt.Sprintf("n=0; while test ! -e %s && test $n -lt 6000; do sleep 0.1; n=$((n+1)); done", file(name))
	}
	inv := s.inventory(map[string]string{
		"web1": fmt.Sprintf("wait: %q,", until("web")), "web2": fmt.Sprintf("wait: %q,", until("web")), "far1": fmt.Sprintf("site: far, wait: %q,", until("far")),
	})
	url := serve(t, s.dir).ClientURL()
	got := &recorded{}
	results := 0
	got.hook = func(e events.Event) {
		if _, ok := e.(events.Result); !ok || !strings.HasPrefix(events.HostOf(e), "web") {
			return
		}
		switch results++; results {
		case 2:
			stop("commands run")
		case 6:
			stop("all is told")
		}
	}
	r := s.runner(inv, got)
	r.Options.NoLock = false // so that hosts keep the results
	tickets := atomic.Int32{}
	c, warned := s.coordinator(asking{connect(t, url), func() {
		switch tickets.Add(1) {
		case 1:
			stop(asksToEnter)
		case 2:
			stop("asks what a ticket is for")
		}
	}}, r)
	c.times.gather = 2 * time.Second // both hosts are for one worker
	still := ""
	if !clock {
		still = stillVariable + "=yes"
	}
	worker = s.process(url, still)
	ends, over := s.begin(c)
	if phase == "starts the host program" {
		require.Eventually(t, func() bool {
			_, err := os.Stat(filepath.Join(s.hosts["web1"].Home, "started"))
			return err == nil
		}, wait, time.Millisecond)
		stop(phase)
	}
	if phase == "all is told" {
		s.write("web", "")
	}
	select {
	case <-stopped:
	case <-over:
		ends()
		require.Fail(t, "the run has ended, and the worker has not stood still", "%s\n%s", strings.Join(got.lines(s), "\n"), warned.all())
	}
	s.work(connect(t, url), "worker", "far") // whose host holds the run up
	second := s.process(url)
	if phase != asksToEnter && phase != enters {
		require.Eventually(t, func() bool { return strings.Contains(warned.all(), "continues with them") || !c.works("") }, wait, 10*time.Millisecond)
	}
	s.write("web", "")
	require.Eventually(t, func() bool { return !c.works("") }, wait, 10*time.Millisecond, "the other worker ends")
	require.NoError(t, second.Process.Kill())
	require.NoError(t, worker.Process.Signal(syscall.SIGCONT))
	s.write("far", "") // the next play is for the suspended worker
	summary := ends()
	require.Equal(t, 3, summary.Totals.Hosts.OK, "%s", warned.all())
	for name, srv := range s.hosts {
		log, err := os.ReadFile(filepath.Join(srv.Home, "log"))
		require.NoError(t, err)
		require.Equal(t, "first\nsecond\nthird\nfourth\n", string(log), name)
	}
	lines := got.lines(s)
	require.Equal(t, 12, summary.Totals.Resources.Changed, "%s\n%s", strings.Join(lines, "\n"), warned.all())
	require.Equal(t, 12, strings.Count(strings.Join(lines, "\n"), `"event":"result"`), strings.Join(lines, "\n"))
	require.Equal(t, 12, strings.Count(strings.Join(lines, "\n"), `"status":"changed"`), strings.Join(lines, "\n"))
}

// A forgetful queue takes every lease for lost.
type forgetful struct {
	queue.Queue
	leased chan struct{} // gets one for each
}

type forgottenLease struct{ queue.Lease }

func (q forgetful) Lease(ctx context.Context, site string) (queue.Lease, error) {
	l, err := q.Queue.Lease(ctx, site)
	if err != nil {
		return nil, err
	}
	q.leased <- struct{}{}
	return forgottenLease{l}, nil
}

func (forgottenLease) Lasts() time.Duration         { return 24 * time.Hour }
func (forgottenLease) Extend(context.Context) error { return nil }

// A deaf queue withholds all reports of workers from a coordinator, until hears is closed.
type deaf struct {
	queue.Queue
	hears <-chan struct{}
}

type deafRun struct {
	queue.Run
	hears <-chan struct{}
}

func (q deaf) Open(ctx context.Context, name string) (queue.Run, error) {
	r, err := q.Queue.Open(ctx, name)
	return deafRun{r, q.hears}, err
}

func (r deafRun) Said(ctx context.Context) ([]byte, uint64, error) {
	select {
	case <-r.hears:
	case <-ctx.Done():
	}
	return r.Run.Said(ctx)
}

// TestTicketTwice leases a ticket again to the worker that works on it: the worker ends that work first. When it asks
// about the ticket again, the coordinator has received the end of the host, or has not yet.
func TestTicketTwice(t *testing.T) {
	for _, heard := range []bool{true, false} {
		t.Run(fmt.Sprintf("heard %v", heard), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, `
name: one
ccm: {resources: [exec: ["echo ran >> log; n=0; while test ! -e {{ Data.go }} && test $n -lt 6000; do sleep 0.1; n=$((n+1)); done": {provider: shell, cwd: "{{ Data.home }}"}]]}
`, "web1")
			inv := strings.Replace(s.inventory(nil), "canary: everybody-knows", fmt.Sprintf("go: %q", filepath.Join(s.dir, "go")), 1)
			url := serve(t, s.dir).ClientURL()
			q := forgetful{connect(t, url), make(chan struct{}, 1000)}
			s.work(q, "worker", "")
			log := filepath.Join(s.hosts["web1"].Home, "log")
			go func() {
				for begun := false; !begun; {
					<-q.leased
					_, err := os.Stat(log)
					begun = err == nil // the command runs until the ticket has come again
				}
				s.write("go", "")
			}()
			hears, asked := make(chan struct{}), atomic.Int32{}
			its := asking{connect(t, url), func() {
				if asked.Add(1) == 2 && !heard {
					close(hears)
				}
			}}
			if heard {
				close(hears)
			}
			c, warned := s.coordinator(deaf{its, hears}, s.runner(inv))
			c.Runner.Workers = entered{c}
			summary := s.run(c)
			require.Empty(t, warned.all())
			require.Equal(t, 1, summary.Totals.Hosts.OK)
			ran, err := os.ReadFile(log)
			require.NoError(t, err)
			require.Equal(t, "ran\n", string(ran))
		})
	}
}
