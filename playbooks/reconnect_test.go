package playbooks

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/faultproxy"
	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/modules/engine/notes"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/record"
	"github.com/ccm-push/ccm-push/transport/dial"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// A cutter is a proxy between controller and host. It calls cut on the first connection once a number of bytes has
// passed in one direction.
type cutter struct {
	listener net.Listener
	to       string
	cut      func(client, server net.Conn)
	after    int64
	down     bool // set to count the bytes from the host; otherwise the bytes to it

	first atomic.Bool
	done  chan struct{} // closed when the test ends
	work  sync.WaitGroup
	seen  [2]atomic.Int64 // bytes of the first connection: to the host, and from it
}

// between puts a cutter in front of a host. after < 0 cuts nothing.
func between(t *testing.T, srv *sshtest.Server, after int64, down bool, cut func(client, server net.Conn)) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &cutter{listener: l, to: net.JoinHostPort(srv.Host, strconv.Itoa(srv.Port)), cut: cut, after: after, down: down, done: make(chan struct{})}
	known, err := os.ReadFile(srv.KnownHosts)
	require.NoError(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	require.NoError(t, os.WriteFile(srv.KnownHosts, []byte(strings.ReplaceAll(string(known), "]:"+strconv.Itoa(srv.Port), "]:"+strconv.Itoa(port))), 0o600))
	srv.Port = port
	c.work.Go(c.accept)
	t.Cleanup(func() {
		close(c.done)
		l.Close()
		c.work.Wait()
	})
	return c
}

func (c *cutter) accept() {
	for {
		client, err := c.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", c.to)
		if err != nil {
			client.Close()
			continue
		}
		first := c.first.CompareAndSwap(false, true)
		var once sync.Once
		carry := func(dst, src net.Conn, way int, counts bool) {
			defer dst.(*net.TCPConn).CloseWrite()
			buf := make([]byte, 4096)
			for {
				n, err := src.Read(buf)
				if first && counts && c.after >= 0 {
					if left := c.after - c.seen[way].Load(); int64(n) > left {
						dst.Write(buf[:max(0, left)])
						once.Do(func() { c.cut(client, server) })
						return
					}
				}
				if first {
					c.seen[way].Add(int64(n))
				}
				if _, werr := dst.Write(buf[:n]); err != nil || werr != nil {
					return
				}
			}
		}
		c.work.Go(func() { carry(server, client, 0, !c.down) })
		c.work.Go(func() { carry(client, server, 1, c.down) })
		c.work.Go(func() {
			<-c.done
			client.Close()
			server.Close()
		})
	}
}

func reset(client, server net.Conn) {
	for _, conn := range []net.Conn{client, server} {
		conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
	}
}

// tenResources are files and commands, the last of which are refreshed. Each command notes
// that it ran.
const tenResources = `
- name: site
  data: {home: "{{ lookup('inventory.home') ?? '' }}"}
  ccm:
    resources:
      - file:
          - "{{ Data.home }}/a": {ensure: directory, mode: "0755"}
          - "{{ Data.home }}/a/big": {content: "BIG", mode: "0644"}
          - "{{ Data.home }}/a/c": {content: "c", mode: "0644"}
      - exec:
          - "echo one >> {{ Data.home }}/ran": {provider: shell}
          - "echo two >> {{ Data.home }}/ran": {provider: shell}
      - file:
          - "{{ Data.home }}/a/d": {content: "d", mode: "0644"}
      - exec:
          - "echo three >> {{ Data.home }}/ran": {provider: shell, refreshonly: true, subscribe: ["file#{{ Data.home }}/a/d"]}
          - "echo four >> {{ Data.home }}/ran": {provider: shell, refreshonly: true, subscribe: ["exec#echo two >> {{ Data.home }}/ran"]}
      - file:
          - "{{ Data.home }}/a/e": {content: "e", mode: "0644"}
      - exec:
          - "echo five >> {{ Data.home }}/ran": {provider: shell}
`

// converge runs ten resources on a host through a cutter, and returns the report of each, and what ran.
func converge(t *testing.T, after int64, down, graph bool, cut func(client, server net.Conn)) (w *world, c *cutter, told map[string]string, ran string) {
	t.Helper()
	srv := sshtest.Start(t, sshtest.Outlive())
	home := filepath.Join(t.TempDir(), "home")
	require.NoError(t, os.Mkdir(home, 0o755))
	c = between(t, srv, after, down, cut)
	text := strings.ReplaceAll(tenResources, "{{ lookup('inventory.home') ?? '' }}", home)
	text = strings.ReplaceAll(text, "{{ Data.home }}", home)
	text = strings.ReplaceAll(text, "BIG", strings.Repeat("0123456789", 5000))
	text = strings.ReplaceAll(text, `mode: "0`, fmt.Sprintf(`owner: "%d", group: "%d", mode: "0`, os.Getuid(), os.Getgid()))
	if graph {
		text = strings.Replace(text, "  ccm:\n", "  strategy: graph\n  parallel: 4\n  ccm:\n", 1)
	}
	w = newWorld(t, map[string]*sshtest.Server{"web1": srv}, text)
	w.Options.NoLock, w.Options.LockTimeout, w.Options.Reconnect = false, time.Minute, time.Minute
	_, err := w.Run(t.Context(), nil)
	require.NoError(t, err)
	told = map[string]string{}
	for _, e := range w.recorded.list {
		if r, ok := e.(events.Result); ok {
			ref := r.Type + "#" + strings.ReplaceAll(r.Name, home, "HOME")
			require.Empty(t, told[ref], "%s is told twice:\n%s", ref, w.text)
			told[ref] = string(r.Status) + " " + r.Error
		}
	}
	b, err := os.ReadFile(filepath.Join(home, "ran"))
	if err != nil {
		require.ErrorIs(t, err, os.ErrNotExist)
	}
	return w, c, told, string(b)
}

// TestReconnect cuts the connection of a run at many places, in each direction. The reports equal those of an uncut
// run, nothing runs twice, and nothing is left over.
func TestReconnect(t *testing.T) {
	sshtest.NeedsOwnLock(t)
	for _, graph := range []bool{false, true} {
		_, uncut, want, wantRan := converge(t, -1, false, graph, nil)
		require.Len(t, want, 10)
		sorted := func(text string) []string {
			lines := strings.Split(text, "\n")
			return lines
		}
		for _, way := range []struct {
			name string
			down bool
			all  int64
		}{{"to the host", false, uncut.seen[0].Load()}, {"from the host", true, uncut.seen[1].Load()}} {
			places := int64(12)
			if testing.Short() {
				places = 4
			}
			for i := range places {
				// The handshake and the login are not what this is about.
				after := way.all/4 + i*(way.all-way.all/4)/places
				t.Run(fmt.Sprintf("graph=%v, %s, byte %d", graph, way.name, after), func(t *testing.T) {
					t.Parallel()
					w, _, told, ran := converge(t, after, way.down, graph, reset)
					if len(told) == 0 { // the connection was cut before there was a catalog
						return
					}
					require.Equal(t, want, told, w.text.String())
					if !graph {
						require.Equal(t, sorted(wantRan), sorted(ran), w.text.String())
					} else {
						require.ElementsMatch(t, sorted(wantRan), sorted(ran), w.text.String())
					}
				})
			}
		}
	}
}

// TestReconnectAtTheStart resets the connection at each packet of the host until the first result is reported. After
// the end of the login, the run continues as if nothing had happened. A host whose connection is reset each time is
// given up.
func TestReconnectAtTheStart(t *testing.T) {
	sshtest.NeedsOwnLock(t)
	uncut := requireUncut(t, faultCase{cached: true})
	const unasked = "no work had started"
	logins, again := 0, 0
	for n := 1; ; n++ {
		c := faultCase{fault: faultproxy.Fault{Kind: faultproxy.Reset, Direction: faultproxy.FromServer, Packets: n}, cached: true}
		h := newFaultyHost(t, c)
		run := h.run("run1")
		if strings.Contains(run.lines, "unreachable") {
			logins = n
			require.Zero(t, again, "packet %d\n%s", n, run.lines)
			continue
		}
		require.Equal(t, uncut.results, run.results, "packet %d\n%s", n, run.lines)
		if !strings.Contains(run.lines, unasked) {
			if again > 0 {
				break // the catalog was on its way
			}
			require.Less(t, n, 100, run.lines)
			logins = n
			continue // it was dropped as by MaxStartups, and dialled again
		}
		again++
		require.Empty(t, h.run("again").untold)
		h.requireQuiet()
	}

	c := faultCase{fault: faultproxy.Fault{Kind: faultproxy.Reset, Direction: faultproxy.FromServer, Packets: logins + 1}, cached: true}
	h := newFaultyHost(t, c, c.fault, c.fault)
	run := h.run("run1")
	require.Contains(t, run.lines, "failed   start", run.lines)
	require.NotContains(t, run.lines, "reconnected")
	require.Empty(t, run.results)
	require.False(t, h.proxy.Struck(3))
	require.Equal(t, uncut.results, h.run("again").results)
	h.requireQuiet()
}

// TestReconnectBehindAJumpHost cuts the connection that leads to the hosts behind a jump host.
func TestReconnectBehindAJumpHost(t *testing.T) {
	sshtest.NeedsOwnLock(t)
	gate, far := sshtest.Start(t), map[string]*sshtest.Server{"web1": sshtest.Start(t, sshtest.Outlive()), "web2": sshtest.Start(t, sshtest.Outlive())}
	home := t.TempDir()
	w := newWorld(t, map[string]*sshtest.Server{"gate": gate, "web1": far["web1"], "web2": far["web2"]}, fmt.Sprintf(`
- name: site
  hosts: web*
  ccm:
    resources:
      - exec:
          - "echo one >> {{ Data.home }}/ran": {provider: shell}
          - "touch {{ Data.home }}/cut; until test -e %[1]s/go; do sleep 0.02; done; echo two >> {{ Data.home }}/ran": {provider: shell}
          - "echo three >> {{ Data.home }}/ran": {provider: shell}
`, home))
	for _, name := range []string{"web1", "web2"} {
		require.NoError(t, os.MkdirAll(far[name].Home, 0o755))
	}
	var list strings.Builder
	list.WriteString("all:\n  hosts:\n")
	for name, srv := range map[string]*sshtest.Server{"gate": gate, "web1": far["web1"], "web2": far["web2"]} {
		jump := ""
		if name != "gate" {
			jump = ", jump: gate"
		}
		fmt.Fprintf(&list, "    %s: {home: %q, connect: {address: %q, port: %d, user: %s, private_key: %q, known_hosts: %q%s}}\n",
			name, srv.Home, srv.Host, srv.Port, srv.User, srv.KeyFile, srv.KnownHosts, jump)
	}
	inv, err := inventory.Parse("hosts.yaml", []byte(list.String()))
	require.NoError(t, err)
	w.Inventory = inv
	w.Options.NoLock, w.Options.LockTimeout, w.Options.Reconnect = false, time.Minute, time.Minute
	var cutting sync.WaitGroup
	cutting.Go(func() {
		for _, srv := range far {
			awaitFile(t, filepath.Join(srv.Home, "cut"))
		}
		gate.Cut()
		os.WriteFile(filepath.Join(home, "go"), nil, 0o600)
	})
	lines := strings.Join(w.run(t), "\n")
	cutting.Wait()
	for name, srv := range far {
		ran, err := os.ReadFile(filepath.Join(srv.Home, "ran"))
		require.NoError(t, err)
		require.Equal(t, "one\ntwo\nthree\n", string(ran), "%s: %s", lines, w.text)
		require.Contains(t, w.text.String(), name+"  reconnected  after")
	}
	require.Contains(t, w.text.String(), "2 hosts: 2 ok; 6 resources: 6 changed")
}

// TestDeadBetweenPlays cuts a host that waits for others between two plays: it is dialled again for the next one.
func TestDeadBetweenPlays(t *testing.T) {
	sshtest.NeedsOwnLock(t)
	hosts := map[string]*sshtest.Server{"web1": sshtest.Start(t), "web2": sshtest.Start(t)}
	home := t.TempDir()
	w := newWorld(t, hosts, fmt.Sprintf(`
- name: one
  hosts: all
  ccm: {resources: [exec: [{"until test -e go; do sleep 0.02; done": {provider: shell, cwd: %q, control: {if: "Host.name == 'web2'"}}}]]}
- name: two
  hosts: all
  ccm: {resources: [exec: [{"true": }]]}
`, home))
	w.Options.NoLock, w.Options.Reconnect = false, time.Minute
	var cutting sync.WaitGroup
	w.recorded.watch = func(e events.Event) {
		if r, ok := e.(events.Result); ok && r.Host == "web1" && r.Play == "one" {
			cutting.Go(func() {
				time.Sleep(200 * time.Millisecond) // until it waits; before, it is dialled again at once
				hosts["web1"].Cut()
				time.Sleep(100 * time.Millisecond)
				_ = os.WriteFile(filepath.Join(home, "go"), nil, 0o600)
			})
		}
	}
	lines := strings.Join(w.run(t), "\n")
	cutting.Wait()
	require.Contains(t, w.text.String(), "2 hosts: 2 ok; 4 resources: 3 changed", lines)
	require.EqualValues(t, 2, hosts["web1"].Stats().Connections)
}

// TestUntold loses a connection for good. The next run, also a check run, reports the results until then, until one run
// has acknowledged them; they are not part of any totals. If the lost run is recorded, its own reports are not
// repeated.
func TestUntold(t *testing.T) {
	t.Run("recorded", func(t *testing.T) { loseForGood(t, true) })
	t.Run("elsewhere", func(t *testing.T) { loseForGood(t, false) })
}

func loseForGood(t *testing.T, recorded bool) {
	sshtest.NeedsOwnLock(t)
	srv := sshtest.Start(t, sshtest.Outlive())
	home := t.TempDir()
	w := newWorld(t, map[string]*sshtest.Server{"web1": srv}, fmt.Sprintf(`
- name: site
  ccm:
    resources:
      - exec:
          - "echo one >> ran": {provider: shell, cwd: %[1]q}
          - "touch cut; until test -e go; do sleep 0.02; done; echo two >> ran": {provider: shell, cwd: %[1]q}
          - "echo three >> ran": {provider: shell, cwd: %[1]q}
`, home))
	w.Options.NoLock, w.Options.LockTimeout = false, time.Minute
	lost, store := record.NewID(time.Now()), record.Store{Folder: filepath.Join(t.TempDir(), "runs")}
	w.Options.Run, w.Told = lost, store.Told()
	if recorded {
		w.Events = events.NewStream(lost, time.Now, w.Tally, w.recorded, store.Recorder(record.Header{Run: lost, Started: time.Now()}, func(text string) { t.Error(text) }))
	}
	told := make(chan struct{}, 3)
	w.recorded.watch = func(e events.Event) {
		if _, ok := e.(events.Result); ok {
			told <- struct{}{}
		}
	}
	var cutting sync.WaitGroup
	cutting.Go(func() {
		<-told
		awaitFile(t, filepath.Join(home, "cut"))
		w.Dialer.Close()
		srv.Cut()
		time.Sleep(200 * time.Millisecond)
		os.WriteFile(filepath.Join(home, "go"), nil, 0o600)
	})
	first := w.run(t)
	cutting.Wait()
	require.Eventually(t, func() bool { // the program frees the lock when its current resource has ended
		locks, err := filepath.Glob(filepath.Join(srv.Home, ".cache/ccm-push/*.lock"))
		require.NoError(t, err)
		require.Len(t, locks, 1)
		info, err := os.Stat(locks[0])
		return err == nil && info.Size() == 0
	}, time.Minute, 10*time.Millisecond)
	require.Contains(t, strings.Join(first, "\n"), "lost", "the first run ends without the host")

	w.recorded.watch = nil
	untold := func(check bool) (all []events.Untold, results int) {
		w.Options.Check, w.Options.Run = check, "run2"
		w.Tally, w.Dialer = &events.Tally{}, &dial.Dialer{}
		defer w.Dialer.Close()
		w.Events = events.NewStream("run2", time.Now, w.Tally, w.recorded, events.NewText(w.text, events.TextOptions{}))
		w.run(t)
		for _, e := range w.recorded.list {
			switch e := e.(type) {
			case events.Untold:
				all = append(all, e)
			case events.Result:
				results++
			}
		}
		return all, results
	}
	all, results := untold(true)
	require.Equal(t, 3, results)
	require.Len(t, all, 1, w.text.String())
	require.Equal(t, lost, all[0].Earlier)
	require.Equal(t, "tester", all[0].Holder)
	want := []string{"echo one >> ran", "touch cut; until test -e go; do sleep 0.02; done; echo two >> ran"}
	if recorded {
		want = want[1:]
	}
	var names []string
	for _, r := range all[0].Results {
		names = append(names, r.Name)
		require.Equal(t, events.Changed, r.Status)
	}
	require.Equal(t, want, names, "without a record, the one that was told might not have arrived")
	// A run ends when it has sent the acknowledgement. The host program may read it later.
	acknowledged := func() {
		require.Eventually(t, func() bool {
			files, err := filepath.Glob(filepath.Join(srv.Home, ".cache/ccm-push/*results*"))
			if err != nil || len(files) != 1 {
				return false
			}
			text, err := os.ReadFile(files[0])
			return err == nil && notes.AllTold(text)
		}, time.Minute, 10*time.Millisecond)
	}
	acknowledged()
	all, _ = untold(false)
	require.Empty(t, all, "it has been acknowledged: %s", w.text)
	ran, err := os.ReadFile(filepath.Join(home, "ran"))
	require.NoError(t, err)
	require.Equal(t, "one\ntwo\none\ntwo\nthree\n", string(ran))
	acknowledged()
}

// TestKilledProgram ends the host program each time the same resource runs: the host gets so
// many others, and then has failed.
func TestKilledProgram(t *testing.T) {
	sshtest.NeedsOwnLock(t)
	srv := sshtest.Start(t, sshtest.Outlive())
	home := t.TempDir()
	text := `
- name: site
  ccm:
    resources:
      - exec:
          - "echo one >> ran": {provider: shell, cwd: HOME}
          - "echo killed >> ran; test $(grep -c killed ran) -gt TIMES || kill -9 $PPID": {provider: shell, cwd: HOMEGUARD}
          - "echo three >> ran": {provider: shell, cwd: HOME}
`
	for i, tt := range []struct {
		times       int
		guard       string
		want, lines string
	}{
		{1, "", "^one\nkilled\nthree\n$", "kill -9 $PPID failed"},
		{1, `, rerun: true`, "^one\n(killed\n){2}three\n$", "kill -9 $PPID changed"},
		{1, `, unless: "false"`, "^one\n(killed\n){2}three\n$", "kill -9 $PPID changed"},
		{100, `, unless: "false"`, "^one\n(killed\n){3,8}$", ""}, // the count starts again when the host reports something
	} {
		require.NoError(t, os.RemoveAll(filepath.Join(home, "ran")))
		w := newWorld(t, map[string]*sshtest.Server{"web1": srv}, strings.NewReplacer("GUARD", tt.guard, "HOME", home, "TIMES", strconv.Itoa(tt.times)).Replace(text))
		w.Options.NoLock, w.Options.LockTimeout, w.Options.Reconnect = false, time.Minute, time.Minute
		w.Options.Run = fmt.Sprint("killed", i)
		lines := strings.Join(w.run(t), "\n")
		ran, err := os.ReadFile(filepath.Join(home, "ran"))
		require.NoError(t, err)
		require.Regexp(t, tt.want, string(ran), lines)
		require.Contains(t, lines, tt.lines)
	}
}
