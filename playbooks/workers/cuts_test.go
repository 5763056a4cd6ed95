package workers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// cutPlays has commands that would be seen if they ran twice.
const cutPlays = `
- name: one
  ccm:
    resources:
      - exec: ["echo first >> log": {provider: shell, cwd: "{{ Data.home }}"}]
      - exec: ["sleep 0.1; echo second >> log": {provider: shell, cwd: "{{ Data.home }}"}]
      - exec: ["echo third >> log": {provider: shell, cwd: "{{ Data.home }}"}]
- name: two
  ccm: {resources: [exec: ["echo fourth >> log": {provider: shell, cwd: "{{ Data.home }}"}]]}
`

// cuts are the parts of a run that can be lost, and how they return.
var cuts = map[string]func(*cutRun){
	"worker killed": func(r *cutRun) {
		require.NoError(r.site.t, r.one().Process.Kill())
		r.site.process(r.url)
	},
	"worker stopped": func(r *cutRun) {
		one := r.one().Process
		require.NoError(r.site.t, one.Signal(syscall.SIGSTOP))
		time.AfterFunc(2*testLease, func() { _ = one.Signal(syscall.SIGCONT) }) // which it is too late for, if the test has ended
	},
	"server killed": func(r *cutRun) {
		require.NoError(r.site.t, r.server.Process.Kill())
		_ = r.server.Wait()
		r.server = r.site.server(r.url)
	},
	"links cut": func(r *cutRun) {
		for host, results := range r.told { // among connected hosts: others are unreachable
			if results < 3 {
				r.site.hosts[host].Cut()
			}
		}
	},
}

// TestCuts makes a run over three workers and cuts it at an event: the state of the hosts and the reports are the same
// as for an uncut run. With CCM_CUTS=N everything is cut at each Nth event of CCM_CUTS_HOSTS hosts; otherwise each part
// is cut at one event that CCM_SEED chooses.
func TestCuts(t *testing.T) {
	sshtest.NeedsOwnLock(t)
	seed, _ := strconv.ParseUint(os.Getenv("CCM_SEED"), 10, 64)
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	random := rand.New(rand.NewPCG(seed, 0))
	every, _ := strconv.Atoi(os.Getenv("CCM_CUTS"))
	hosts := 6
	if every > 0 {
		asked, _ := strconv.Atoi(os.Getenv("CCM_CUTS_HOSTS"))
		hosts = cmp.Or(asked, hosts)
	}
	want := newCutRun(t, hosts).take(0, nil)
	// kinds also has the loss of the coordinator.
	kinds := map[string]func(*cutRun, int) []string{"coordinator killed": (*cutRun).resumed}
	for kind, cut := range cuts {
		kinds[kind] = func(r *cutRun, n int) []string { return r.take(n, cut) }
	}
	for kind, take := range kinds {
		at := []int{1 + random.IntN(len(want)-1)}
		if every > 0 {
			at = nil
			for n := 1; n < len(want); n += every {
				at = append(at, n)
			}
		}
		for _, n := range at {
			t.Run(fmt.Sprintf("%s at %d", kind, n), func(t *testing.T) {
				t.Parallel()
				require.Equal(t, want, take(newCutRun(t, hosts), n), "CCM_SEED=%d", seed)
			})
		}
	}
}

// A cutRun is a run with its parts.
type cutRun struct {
	site    *site
	names   []string
	url     string
	server  *exec.Cmd
	workers []*exec.Cmd
	at      int            // the number of the result at which it is cut
	told    map[string]int // results so far, by host
}

// one is one of the workers, another one at each place.
func (r *cutRun) one() *exec.Cmd { return r.workers[r.at%len(r.workers)] }

func newCutRun(t *testing.T, hosts int) *cutRun {
	t.Helper()
	r := &cutRun{}
	for n := range hosts {
		r.names = append(r.names, fmt.Sprintf("web%d", n))
	}
	r.site = newSite(t, cutPlays, r.names...)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r.url = "nats://" + free.Addr().String()
	require.NoError(t, free.Close())
	r.server = r.site.server(r.url)
	return r
}

// take completes the run, and returns the reported results. It is cut at a result.
func (r *cutRun) take(at int, cut func(*cutRun)) []string {
	t := r.site.t
	t.Helper()
	got := &recorded{}
	r.at, r.told = at, map[string]int{}
	results := 0
	got.hook = func(e events.Event) {
		if _, ok := e.(events.Result); !ok {
			return
		}
		r.told[events.HostOf(e)]++
		if results++; results == at {
			cut(r)
		}
	}
	for range 3 {
		r.workers = append(r.workers, r.site.process(r.url))
	}
	run := r.site.runner(r.site.inventory(nil), got)
	run.Options.NoLock = false // so that hosts keep their results
	c, warned := r.site.coordinator(connect(t, r.url), run)
	c.Size = 2
	ctx, cancel := context.WithTimeout(t.Context(), 5*wait)
	defer cancel()
	require.NoError(t, c.Begin(ctx))
	summary, err := run.Run(ctx, nil)
	require.NoError(t, errors.Join(err, c.Close(ctx)))
	require.Equal(t, len(r.names), summary.Totals.Hosts.OK, "%s\n%s", warned.all(), strings.Join(got.lines(r.site), "\n"))
	r.requireLogs(warned)
	var told []string
	for _, e := range got.list {
		if e, ok := e.(events.Result); ok {
			told = append(told, toldLine(e))
		}
	}
	slices.Sort(told)
	return told
}

func toldLine(e events.Result) string {
	return fmt.Sprintf("%s %s %s %s", e.Host, e.Play, e.Name, e.Status)
}

// requireLogs holds that each command has run once on each host.
func (r *cutRun) requireLogs(warned *warnings) {
	r.site.t.Helper()
	for _, name := range r.names {
		log, err := os.ReadFile(filepath.Join(r.site.hosts[name].Home, "log"))
		require.NoError(r.site.t, err)
		require.Equal(r.site.t, "first\nsecond\nthird\nfourth\n", string(log), "%s\n%s", name, warned.all())
	}
}

// serverVariable makes the test program a server of NATS: it has its address, and its folder.
const serverVariable = "CCM_PUSH_TEST_SERVER"

// server starts a server that can be killed.
func (s *site) server(url string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serverVariable+"="+strings.TrimPrefix(url, "nats://")+" "+filepath.Join(s.dir, "server"))
	cmd.Stderr = os.Stderr
	require.NoError(s.t, cmd.Start())
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	require.Eventually(s.t, func() bool {
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "nats://"))
		if err == nil {
			err = conn.Close()
		}
		return err == nil
	}, wait, 10*time.Millisecond)
	return cmd
}

// serveAlone is a server that is a process of its own.
func serveAlone(where string) error {
	address, folder, _ := strings.Cut(where, " ")
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	s, err := server.NewServer(&server.Options{Host: host, Port: number, JetStream: true, StoreDir: folder, NoSigs: true, NoLog: true})
	if err != nil {
		return err
	}
	s.Start()
	s.WaitForShutdown()
	return nil
}
