package playbooks

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/yamlpos/schema/schematest"
	"github.com/ccm-push/ccm-push/modules/builds"
	"github.com/ccm-push/ccm-push/modules/builds/buildtest"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
	"github.com/ccm-push/ccm-push/transport/dial"
	"github.com/ccm-push/ccm-push/transport/sshtest"
	"github.com/ccm-push/ccm-push/transport/start"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A world is a fleet of SSH servers and a runner for it.
type world struct {
	*Runner
	dir      string   // folder of the manifest
	homes    []string // home directories of the hosts
	recorded *recorder
	text     *bytes.Buffer // output for people
	warnings []string
}

var (
	compileSchema  sync.Once
	compiledSchema schematest.Checker
)

// eventSchema is the schema of events, compiled once for all worlds.
func eventSchema(t *testing.T) schematest.Checker {
	t.Helper()
	compileSchema.Do(func() { compiledSchema = schematest.Compile(t, events.Schema()) })
	return compiledSchema
}

// servers starts one well-behaved host per name.
func servers(t *testing.T, names ...string) map[string]*sshtest.Server {
	hosts := map[string]*sshtest.Server{}
	for _, name := range names {
		hosts[name] = sshtest.Start(t)
	}
	return hosts
}

// newWorld makes a runner of a manifest with the real host program, which hosts have from an earlier run. A test of hosts that
// have none calls [world.uninstall].
func newWorld(t *testing.T, hosts map[string]*sshtest.Server, text string) *world {
	t.Helper()
	w := &world{dir: t.TempDir(), recorded: &recorder{schema: eventSchema(t)}, text: &bytes.Buffer{}}
	t.Cleanup(func() {
		require.NoError(t, w.recorded.undocumented())
		if t.Failed() {
			t.Log(w.text.String())
		}
	})
	var list strings.Builder
	list.WriteString("all:\n  hosts:\n")
	for _, name := range slices.Sorted(maps.Keys(hosts)) {
		srv := hosts[name]
		fmt.Fprintf(&list, "    %s: {home: %q, connect: {address: %q, port: %d, user: %s, private_key: %q, known_hosts: %q}}\n",
			name, srv.Home, srv.Host, srv.Port, srv.User, srv.KeyFile, srv.KnownHosts)
	}
	inv, err := inventory.Parse("hosts.yaml", []byte(list.String()))
	require.NoError(t, err)
	plays, err := load.Parse(t.Context(), filepath.Join(w.dir, "site.yaml"), []byte(text), builtin.Types())
	require.NoError(t, err)
	tally := &events.Tally{}
	w.Runner = &Runner{
		Inventory: inv, Plays: plays, Dialer: &dial.Dialer{}, Tally: tally,
		// For root, all hosts on one machine have one lock.
		Options:  Options{Run: "run1", Holder: "tester", NoLock: true},
		Events:   events.NewStream("run1", time.Now, tally, w.recorded, events.NewText(w.text, events.TextOptions{Verbose: 1, Diff: true})),
		Now:      time.Now,
		NewNonce: rand.Text,
	}
	w.Connect.Warn = func(text string) {
		if strings.HasPrefix(text, "bug: ") {
			panic(text)
		}
		w.warnings = append(w.warnings, text)
	}
	t.Cleanup(func() { w.Dialer.Close() })
	for _, b := range buildtest.Own(t) {
		w.BuildID = b.ID
		w.Builds = append(w.Builds, sent(b))
	}
	for _, srv := range hosts {
		w.homes = append(w.homes, srv.Home)
	}
	w.install(t, buildtest.Own(t)...)
	if strings.HasPrefix(t.Name(), byWorkers+"/") {
		throughWorkers(t, w.Runner)
	}
	return w
}

// install puts host programs where an earlier run leaves them.
func (w *world) install(t *testing.T, list ...builds.Build) {
	t.Helper()
	for _, home := range w.homes {
		buildtest.Install(t, home, list...)
	}
}

// uninstall removes the host programs, as before a first run.
func (w *world) uninstall(t *testing.T) {
	t.Helper()
	for _, home := range w.homes {
		require.NoError(t, os.RemoveAll(filepath.Join(home, ".cache", "ccm-push")))
	}
}

// byWorkers is the test in whose worlds workers process the hosts.
const byWorkers = "TestByWorkers"

// withFull adds the full host program, which hosts have from an earlier run.
func (w *world) withFull(t *testing.T) {
	t.Helper()
	for _, b := range buildtest.Both(t) {
		if b.Full {
			w.FullBuilds = append(w.FullBuilds, sent(b))
			w.install(t, b)
		}
	}
}

func sent(b builds.Build) start.Build {
	return start.Build{
		OS: b.OS, Arch: b.Arch, SHA256: b.SHA256, Size: b.Size,
		Compressed: b.Compressed, CompressedSize: b.CompressedSize, CompressedSHA256: b.CompressedSHA256,
	}
}

// run runs the plays to their end and returns the events, one line each.
func (w *world) run(t *testing.T) []string {
	t.Helper()
	w.recorded.reset()
	_, err := w.Run(t.Context(), nil)
	require.NoError(t, err)
	return w.recorded.lines()
}

// A recorder keeps events as lines.
type recorder struct {
	mu    sync.Mutex
	list  []events.Event
	watch func(events.Event)

	schema schematest.Checker // schema that every event must match
	wrong  error
}

// undocumented returns an error for the first event that does not match the schema of events.
func (r *recorder) undocumented() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wrong
}

func (r *recorder) Report(e events.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var line bytes.Buffer
	events.NewJSON(&line).Report(e)
	if err := r.schema.CheckJSON(line.Bytes()); err != nil && r.wrong == nil {
		r.wrong = fmt.Errorf("%s%w", line.Bytes(), err)
	}
	r.list = append(r.list, e)
	if r.watch != nil {
		r.watch(e)
	}
}

func (r *recorder) reset() { r.list = nil }

// lines describes the events; the events of each host stay in order, and the hosts are sorted between the starts of
// plays.
func (r *recorder) lines() []string {
	var all, batch []string
	flush := func() {
		slices.SortStableFunc(batch, func(a, b string) int { return strings.Compare(strings.Fields(a)[0], strings.Fields(b)[0]) })
		all, batch = append(all, batch...), nil
	}
	for _, e := range r.list {
		switch e := e.(type) {
		case events.PlayStart:
			flush()
			all = append(all, fmt.Sprintf("play %s %d/%d: %s", e.Play, e.Batch, e.Batches, strings.Join(e.Hosts, " ")))
		case events.Result:
			batch = append(batch, fmt.Sprintf("%s %s#%s %s", e.Host, e.Type, filepath.Base(e.Name), e.Status))
		case events.Message:
			batch = append(batch, fmt.Sprintf("%s %s: %s", e.Host, e.Kind, e.Text))
		case events.Unreachable:
			batch = append(batch, e.Host+" unreachable")
		case events.HostFailed:
			batch = append(batch, fmt.Sprintf("%s failed in %s", e.Host, e.Phase))
		case events.Interrupted:
			batch = append(batch, fmt.Sprintf("%s interrupted in %s: %d not reached, due %q", e.Host, e.Play, e.NotReached, e.RefreshDue))
		case events.Armed:
			batch = append(batch, fmt.Sprintf("%s armed by %s#%s", e.Host, e.Type, e.Name))
		case events.Confirmed:
			batch = append(batch, fmt.Sprintf("%s confirmed, at %d places", e.Host, len(e.Over)))
		case events.Reverted:
			batch = append(batch, fmt.Sprintf("%s reverted %q: %s; %s", e.Host, e.Earlier, e.Why, e.Because))
		case events.RolloutPlan:
			flush()
			var batches []string
			for _, b := range e.Batches {
				batches = append(batches, fmt.Sprint(b.Hosts))
			}
			all = append(all, fmt.Sprintf("plan %s, stable %v, unreachable %v, failed %v, broken %v", strings.Join(batches, " "), e.Stable, e.Unreachable, e.Failed, e.Broken))
		case events.Gate:
			flush()
			all = append(all, fmt.Sprintf("gate %s %s", e.Name, e.Verdict))
		case events.RolloutStop:
			flush()
			all = append(all, fmt.Sprintf("stop in batch %d by %s: %s; then %s", e.Batch, e.Rule, e.Text, e.Then))
		case events.RolloutPause:
			flush()
			all = append(all, fmt.Sprintf("pause behind batch %d", e.Batch))
		case events.RolloutSaid:
			flush()
			all = append(all, fmt.Sprintf("said %s", e.Verb))
		case events.HostDone:
			batch = append(batch, fmt.Sprintf("%s done: %s", e.Host, e.State))
		}
	}
	flush()
	return all
}

// failure finds why a host failed as a whole.
func (r *recorder) failure(host string) (phase, text string) {
	for _, e := range r.list {
		if f, ok := e.(events.HostFailed); ok && f.Host == host {
			return f.Phase, f.Error
		}
	}
	return "", ""
}

// fakeBuild is the program in testdata/fake, built once.
var fakeBuild = sync.OnceValues(func() (builds.Build, error) {
	dir, err := os.MkdirTemp("", "fake-")
	if err != nil {
		return builds.Build{}, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "fake")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-ldflags=-s -w", "-o", file, "./testdata/fake")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return builds.Build{}, fmt.Errorf("%w: %s", err, out)
	}
	program, err := os.ReadFile(file)
	if err != nil {
		return builds.Build{}, err
	}
	var packed bytes.Buffer
	zw, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed) // the race detector makes others take seconds
	zw.Write(program)                                     // into memory: cannot fail
	zw.Close()
	sum := sha256.Sum256(program)
	return builds.Build{
		OS: runtime.GOOS, Arch: runtime.GOARCH, SHA256: hex.EncodeToString(sum[:]), Size: int64(len(program)),
	}.WithCompressed(packed.Bytes()), nil
})

// fake makes the world's hosts run the program in testdata/fake.
func (w *world) fake(t *testing.T) *world {
	t.Helper()
	b, err := fakeBuild()
	require.NoError(t, err)
	w.Builds, w.BuildID = []start.Build{sent(b)}, "fake"
	w.install(t, b)
	return w
}
