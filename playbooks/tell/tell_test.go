package tell

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/report"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// warnings are the warnings of a hook.
type warnings struct {
	mu    sync.Mutex
	lines []string
}

func (w *warnings) add(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, text)
}

func (w *warnings) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lines
}

// startHook starts a hook with a command of the shell.
func startHook(t *testing.T, script string) (*Hook, *warnings) {
	t.Helper()
	said := &warnings{}
	h, err := NewHook("sh -c '"+script+"'", said.add)
	require.NoError(t, err)
	return h, said
}

func drift(host string) events.Drifted {
	return events.Drifted{Stamp: events.Stamp{Run: "r"}, Play: "web", Host: host, Type: "file", Name: "$(touch /tmp/x)", Status: events.Changed}
}

// TestHook has the command get the events that are for it, in their order, on its standard input
// alone.
func TestHook(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	h, said := startHook(t, "cat >>"+out+"; echo $# >>"+out+".args; env >>"+out+".env")
	h.Start(t.Context())
	for _, e := range []events.Event{
		events.WatchStart{Hosts: 2}, events.Watched{Host: "web1"}, drift("web1"), events.Result{Host: "web1"},
		events.Unwatched{Host: "web2"}, events.Watched{Host: "web2"}, events.Watched{Host: "web2"},
		events.Repaired{Host: "web1"}, events.Fighting{Host: "web1"}, events.Summary{},
	} {
		h.Report(e)
	}
	require.NoError(t, h.Close())
	require.Empty(t, said.all())
	text, err := os.ReadFile(out)
	require.NoError(t, err)
	var got []string
	for line := range strings.Lines(string(text)) {
		var e struct{ Event, Host, Name string }
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		got = append(got, strings.TrimSpace(e.Event+" "+e.Host+" "+e.Name))
	}
	require.Equal(t, []string{"drift web1 $(touch /tmp/x)", "unwatched web2", "watched web2", "repaired web1", "fighting web1"}, got)
	args, err := os.ReadFile(out + ".args")
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("0\n", 5), string(args))
	environment, err := os.ReadFile(out + ".env")
	require.NoError(t, err)
	require.NotContains(t, string(environment), "touch /tmp/x")
	require.NotContains(t, string(environment), "web1")
}

// TestHookFails: failures in a row are reported once, and counted at the end.
func TestHookFails(t *testing.T) {
	flag := filepath.Join(t.TempDir(), "good")
	h, said := startHook(t, "test -e "+flag+" || { echo first; printf \"no pager\\033[31m\\n\" >&2; exit 3; }")
	h.Start(t.Context())
	h.Report(drift("web1"))
	h.Report(drift("web2"))
	require.EqualError(t, h.Close(), `--on-drift sh: 2 calls failed, and 0 events were not given to it; last: exit status 3: no pager\x1b[31m`)
	require.Equal(t, []string{`--on-drift sh: exit status 3: no pager\x1b[31m`}, said.all())
}

// TestHookIsSlow: calls that take too long are ended, with their children, and events above the limit are dropped.
func TestHookIsSlow(t *testing.T) {
	dir := t.TempDir()
	h, said := startHook(t, "echo $$ >"+dir+"/pid; sleep 1000 & wait")
	h.time, h.drain = 200*time.Millisecond, 100*time.Millisecond
	for range maxWaiting + 3 {
		h.Report(drift("web1"))
	}
	require.Equal(t, []string{"--on-drift sh is too slow: 1000 events wait for the command, and ccm-push drops further events"}, said.all())
	h.Start(t.Context())
	require.Eventually(t, func() bool { return len(said.all()) > 1 }, time.Minute, 10*time.Millisecond)
	require.Equal(t, "--on-drift sh: it took longer than 200ms", said.all()[1])
	err := h.Close()
	require.ErrorContains(t, err, "--on-drift sh: 1000 calls failed, and 3 events were not given to it; last: the run has ended before")
}

func TestHookEndsWithTheRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	h, _ := startHook(t, "sleep 1000")
	h.Start(ctx)
	h.Report(drift("web1"))
	cancel()
	require.Error(t, h.Close())
}

func TestHookCommands(t *testing.T) {
	for command, want := range map[string]string{
		"":                  "no command",
		"page 'oncall":      `"page 'oncall" is not a command: Unterminated single-quoted string`,
		"/nonexistent/page": `exec: "/nonexistent/page": stat /nonexistent/page: no such file or directory`,
	} {
		_, err := NewHook(command, nil)
		require.EqualError(t, err, want)
	}
	h, err := NewHook(`echo "a b" $HOME`, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"echo", "a b", "$HOME"}, h.argv)
}

// TestManager reads the messages to a service manager.
func TestManager(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	listener, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	require.NoError(t, err)
	defer listener.Close()
	read := func() string {
		b := make([]byte, 4096)
		require.NoError(t, listener.SetReadDeadline(time.Now().Add(20*time.Second)))
		n, err := listener.Read(b)
		require.NoError(t, err)
		return string(b[:n])
	}
	env := map[string]string{"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "20000", "WATCHDOG_PID": "7"}
	state := report.NewWatch("1", time.Now)
	m, err := NewManager(func(key string) string { return env[key] }, 7, state)
	require.NoError(t, err)
	stream := events.NewStream("r", time.Now, state, m)
	stream.Report(events.RunStart{})
	stream.Report(events.WatchStart{Hosts: 2})
	require.Equal(t, "READY=1\nSTATUS=0 of 2 hosts watched; resources drifted: 0, of these fighting: 0; repaired: 0", read())
	stream.Report(events.Watched{Host: "web1"})
	require.Equal(t, "STATUS=1 of 2 hosts watched; resources drifted: 0, of these fighting: 0; repaired: 0", read())
	stream.Report(drift("web1"), drift("web1"))
	require.Equal(t, "STATUS=1 of 2 hosts watched; resources drifted: 1, of these fighting: 0; repaired: 0", read())
	m.Start(t.Context())
	require.Equal(t, "WATCHDOG=1", read())
	require.NoError(t, m.Close())
	for {
		if got := read(); got != "WATCHDOG=1" {
			require.Equal(t, "STOPPING=1", got)
			break
		}
	}

	env["WATCHDOG_PID"] = "8"
	m, err = NewManager(func(key string) string { return env[key] }, 7, state)
	require.NoError(t, err)
	require.Zero(t, m.beat, "it is for another process")
	m.Start(t.Context())
	require.NoError(t, m.Close())
}

func TestManagerThatIsNone(t *testing.T) {
	m, err := NewManager(func(string) string { return "" }, 7, nil)
	require.NoError(t, err)
	require.Nil(t, m)
	_, err = NewManager(func(string) string { return "vsock:2:1234" }, 7, nil)
	require.EqualError(t, err, `NOTIFY_SOCKET "vsock:2:1234" is not the path of a socket`)
	_, err = NewManager(func(string) string { return "/nonexistent" }, 7, nil)
	require.ErrorContains(t, err, "NOTIFY_SOCKET: ")
}

// TestListen requests metrics as Prometheus does.
func TestListen(t *testing.T) {
	l, err := Listen(t.Context(), "0", func(w io.Writer) error {
		_, err := fmt.Fprintln(w, "ccm_push_watch_hosts 3")
		return err
	})
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(l.Address(), "127.0.0.1:"))
	get := func(path string) (status int, body, kind string) {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		answer, err := client.Get("http://" + l.Address() + path)
		require.NoError(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return answer.StatusCode, string(text), answer.Header.Get("Content-Type")
	}
	status, body, kind := get("/metrics")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "ccm_push_watch_hosts 3\n", body)
	require.Equal(t, "text/plain; version=0.0.4; charset=utf-8", kind)
	status, _, _ = get("/")
	require.Equal(t, http.StatusNotFound, status)
	_, err = Listen(t.Context(), l.Address(), nil)
	require.ErrorContains(t, err, "--listen: listen tcp "+l.Address())
	require.NoError(t, l.Close())
}

func TestListenAddresses(t *testing.T) {
	for text, want := range map[string]string{
		"9180": "127.0.0.1:9180", ":9180": "127.0.0.1:9180", "localhost:9180": "127.0.0.1:9180", "127.0.0.1:0": "127.0.0.1:0",
		"0.0.0.0:9180": "0.0.0.0:9180", "[::]:9180": "[::]:9180", "192.0.2.7:9180": "192.0.2.7:9180", "[fe80::1%eth0]:9180": "[fe80::1%eth0]:9180",
	} {
		got, err := listenAddress(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for text, want := range map[string]string{
		"":              `--listen ":" is not an address`,
		"metrics":       `--listen ":metrics" is not an address`,
		"127.0.0.1":     `--listen ":127.0.0.1" is not an address`,
		"::1:9180":      `--listen "::1:9180" is not an address`,
		"70000":         `--listen ":70000" is not an address`,
		"monitor1:9180": `--listen "monitor1:9180": a name may mean any address`,
	} {
		_, err := listenAddress(text)
		require.ErrorContains(t, err, want)
	}
}
