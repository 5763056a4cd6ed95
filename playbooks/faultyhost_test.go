package playbooks

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/faultproxy"
	"github.com/ccm-push/ccm-push/modules/engine/notes"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/dial"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// faultySite has ten resources. Each command logs its run, and whether it ran in parallel with itself; the last two but
// one represent services that are restarted.
const faultySite = `
- name: site
  ccm:
    resources:
      - file:
          - HOME/a: {ensure: directory, OWNED, mode: "0755"}
          - HOME/a/big: {content: "BIG", OWNED, mode: "0644"}
          - HOME/a/conf: {alias: conf, content: "c", OWNED, mode: "0644"}
      - exec:
          - one: {provider: shell, cwd: HOME, command: "RUN", unless: grep -qx one ran}
          - two: {provider: shell, cwd: HOME, command: "RUN", unless: grep -qx two ran}
      - file:
          - HOME/a/d: {content: "d", OWNED, mode: "0644"}
      - exec:
          - restarts: {provider: shell, cwd: HOME, command: "RUN", refreshonly: true, subscribe: ["file#HOME/a/d"]}
          - reloads: {provider: shell, cwd: HOME, command: "RUN", refreshonly: true, subscribe: [file#conf, exec#two]}
      - file:
          - HOME/a/e: {content: "e", OWNED, mode: "0644"}
      - exec:
          - last: {provider: shell, cwd: HOME, command: "RUN", unless: grep -qx last ran}
`

// A faultyHost is a host behind a proxy.
type faultyHost struct {
	t     *testing.T
	world *world
	srv   *sshtest.Server
	proxy *faultproxy.Proxy
	// closeProxy closes it.
	closeProxy func()
	dir        string // where the resources are
	begun      time.Time
}

// The times of runs that stall. A host that is only slow must not be taken for dead too often.
const (
	faultIdle  = 3 * time.Second
	faultLogin = 5 * time.Second // limit of each phase of the login
	faultStart = 8 * time.Second
)

// newFaultyHost returns a host with the fault of a case at its first connection, and others at later ones.
func newFaultyHost(t *testing.T, c faultCase, others ...faultproxy.Fault) *faultyHost {
	t.Helper()
	h := &faultyHost{t: t, srv: sshtest.Start(t, sshtest.Outlive()), dir: filepath.Join(t.TempDir(), "site"), begun: time.Now()}
	require.NoError(t, os.Mkdir(h.dir, 0o755))
	var err error
	h.proxy, err = faultproxy.Listen(h.srv.Addr, append([]faultproxy.Fault{c.fault}, others...)...)
	require.NoError(t, err)
	h.closeProxy = sync.OnceFunc(func() { h.proxy.Close() })
	t.Cleanup(h.closeProxy)
	known, err := os.ReadFile(h.srv.KnownHosts)
	require.NoError(t, err)
	known = bytes.ReplaceAll(known, []byte("]:"+strconv.Itoa(h.srv.Port)), []byte("]:"+strconv.Itoa(h.proxy.Port())))
	require.NoError(t, os.WriteFile(h.srv.KnownHosts, known, 0o600))
	h.srv.Port = h.proxy.Port()

	text := faultySite
	for _, name := range []string{"one", "two", "restarts", "reloads", "last"} {
		text = strings.Replace(text, "RUN", fmt.Sprintf("mkdir at-%[1]s || echo beside itself >>ran; sleep 0.01; echo %[1]s >>ran; rmdir at-%[1]s", name), 1)
	}
	text = strings.NewReplacer("HOME", h.dir, "BIG", strings.Repeat("0123456789", 5000),
		"OWNED", fmt.Sprintf(`owner: "%d", group: "%d"`, os.Getuid(), os.Getgid())).Replace(text)
	if c.graph {
		text = strings.Replace(text, "  ccm:\n", "  strategy: graph\n  parallel: 4\n  ccm:\n", 1)
	}
	if c.staged {
		text = strings.NewReplacer("unless: grep -qx one ran", "unless: grep -qx one ran, register: one", `content: "d", `, `content: "d", register: d, control: {unless: Results.one.failed}, `,
			"unless: grep -qx last ran", "unless: grep -qx last ran, control: {unless: Results.d.failed}").Replace(text)
	}
	h.world = newWorld(t, map[string]*sshtest.Server{"web1": h.srv}, text)
	o := &h.world.Options
	o.NoLock, o.LockTimeout, o.Reconnect = false, time.Minute, time.Minute
	if c.alone {
		o.Reconnect = 0
	}
	if c.fault.Kind == faultproxy.Stall {
		o.IdleTimeout, o.Deadlines.Start = faultIdle, faultStart
		h.world.Connect.Limits = transport.Limits{Dial: faultLogin, Handshake: faultLogin, Auth: faultLogin}
	}
	if !c.cached {
		h.world.uninstall(t)
	}
	return h
}

// told holds the reports of a run, by resource.
type told struct {
	results map[string]string // status and error
	untold  map[string]string // results of earlier runs: status and error
	lines   string            // whole output
}

// run runs the site again.
func (h *faultyHost) run(id string) told {
	h.t.Helper()
	w := h.world
	w.Options.Run, w.Tally, w.Dialer = id, &events.Tally{}, &dial.Dialer{}
	defer w.Dialer.Close()
	w.text.Reset()
	w.Events = events.NewStream(id, time.Now, w.Tally, w.recorded, events.NewText(w.text, events.TextOptions{Verbose: 1}))
	w.run(h.t)
	w.Options.IdleTimeout, w.Options.Deadlines, w.Connect.Limits = 0, Deadlines{}, transport.Limits{} // for runs that follow
	all := told{results: map[string]string{}, untold: map[string]string{}, lines: w.text.String()}
	add := func(to map[string]string, kind, name string, status events.Status, err string) {
		ref := kind + "#" + strings.ReplaceAll(name, h.dir, "HOME")
		require.NotContains(h.t, to, ref, "it is told twice:\n%s", all.lines)
		to[ref] = strings.TrimSpace(string(status) + " " + err)
	}
	for _, e := range w.recorded.list {
		switch e := e.(type) {
		case events.Result:
			add(all.results, e.Type, e.Name, e.Status, e.Error)
		case events.Untold:
			for _, r := range e.Results {
				add(all.untold, r.Type, r.Name, r.Status, r.Error)
			}
		}
	}
	return all
}

// ran returns the log of the commands.
func (h *faultyHost) ran() []string {
	b, err := os.ReadFile(filepath.Join(h.dir, "ran"))
	require.NoError(h.t, err)
	return strings.Fields(string(b))
}

// requireQuiet waits until no process of the host runs any more, and compares the remaining files with the footprint.
// The script that receives the host program waits for the rest of it until sshd gives up a stalled connection.
func (h *faultyHost) requireQuiet() {
	h.t.Helper()
	none := func(installs bool) func() bool {
		return func() bool { return len(processesOf(h.srv.Home, installs)) == 0 }
	}
	require.Eventually(h.t, none(false), time.Minute, 20*time.Millisecond, "processes are left on the host: %v", processesOf(h.srv.Home, false))
	h.requireListed()
	h.closeProxy()
	require.Eventually(h.t, none(true), time.Minute, 20*time.Millisecond, "processes are left on the host: %v", processesOf(h.srv.Home, true))
}

// processesOf returns the processes with a home directory. Processes that receive the host program are included only if
// installs is set.
func processesOf(home string, installs bool) (all []string) {
	for _, folder := range processesAt(home) {
		b, err := os.ReadFile(filepath.Join(folder, "cmdline"))
		line := string(bytes.ReplaceAll(b, []byte{0}, []byte(" ")))
		installing := strings.HasPrefix(line, "/bin/sh -c") && strings.Contains(line, "need $n") ||
			strings.HasPrefix(line, "head -c") || strings.HasPrefix(line, "tee ./.") || strings.HasPrefix(line, "gzip -dc")
		if err == nil && (installs || !installing) {
			all = append(all, line)
		}
	}
	return all
}

// processesAt returns the folders in /proc of the processes with a home directory. [filepath.Glob] would list the content of
// all these folders, which takes much longer.
func processesAt(home string) (folders []string) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		folder := filepath.Join("/proc", e.Name())
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		if b, err := os.ReadFile(filepath.Join(folder, "environ")); err == nil && bytes.Contains(b, []byte("HOME="+home+"\x00")) {
			folders = append(folders, folder)
		}
	}
	return folders
}

// requireListed compares the remaining files on the host with the footprint.
func (h *faultyHost) requireListed() {
	h.t.Helper()
	w := h.world
	w.Dialer = &dial.Dialer{}
	defer w.Dialer.Close()
	hosts, err := SelectHosts(w.Inventory, "all", "", nil)
	require.NoError(h.t, err)
	listed := map[string]bool{}
	w.Footprints(h.t.Context(), hosts, false, func(f HostFootprint) {
		require.Nil(h.t, f.Err)
		for _, u := range f.Users {
			require.Empty(h.t, u.Held)
			for _, trace := range u.Traces {
				listed[trace.Path] = true
			}
		}
	})
	require.NoError(h.t, filepath.WalkDir(h.srv.Home, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			require.Contains(h.t, listed, path, "it is left on the host, and footprint does not list it")
			if strings.HasSuffix(path, ".results.jsonl") {
				text, err := os.ReadFile(path)
				require.NoError(h.t, err)
				require.True(h.t, notes.AllTold(text), "%s", text)
			}
		}
		return err
	}))
}
