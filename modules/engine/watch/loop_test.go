package watch_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/engine/enginetest"
	"github.com/ccm-push/ccm-push/modules/engine/watch"
	"github.com/ccm-push/ccm-push/modules/listen"
	"github.com/ccm-push/ccm-push/modules/wire"
)

const settle = 2 * time.Second

// ears are a listener with the hints of a test.
type ears struct {
	mu      sync.Mutex
	sources []modules.Sources
	listens int
	drains  int
	late    []listen.Hint // hints that come with the next marker
	fails   error
	hints   chan listen.Hint
	closed  bool
}

func (e *ears) Listen(_ context.Context, sources []modules.Sources) ([]string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sources = sources
	e.listens++
	polled := make([]string, len(sources))
	for i, s := range sources {
		if len(s.Trees) > 0 {
			polled[i] = "too many directories"
		}
	}
	return polled, e.fails
}

func (e *ears) Hints() <-chan listen.Hint { return e.hints }

func (e *ears) Drain(context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.drains++
	for _, h := range e.late {
		e.hints <- h
	}
	e.late = nil
	return nil
}

func (e *ears) Close() error { e.closed = true; return nil }

// at returns the index of the source with a path.
func (e *ears) at(path string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.IndexFunc(e.sources, func(s modules.Sources) bool { return slices.Contains(s.Paths, path) })
}

// heard is a file that names its sources, and counts its checks.
type heard struct {
	modules.Resource
	entry *wire.Entry
	scene *scene
}

func (h *heard) Check(ctx context.Context, host modules.Host) (modules.Plan, error) {
	h.scene.mu.Lock()
	h.scene.checks[filepath.Base(h.entry.Name)]++
	hook := h.scene.hook
	h.scene.mu.Unlock()
	if hook != nil {
		hook(ctx)
	}
	return h.Resource.Check(ctx, host)
}

func (h *heard) Watch(_ context.Context, host modules.Host) (modules.Sources, error) {
	s := modules.Sources{Paths: []string{h.entry.Name}}
	info, err := host.Files.Stat(h.entry.Name)
	if err == nil && info.Kind == modules.Symlink {
		s.Paths = append(s.Paths, info.Target)
	}
	if strings.HasSuffix(h.entry.Name, "deep") {
		s.Trees = []string{h.entry.Name}
	}
	return s, nil
}

// A scene is a host with catalogs under watch.
type scene struct {
	t      *testing.T
	dir    string
	engine *engine.Engine
	ears   *ears
	loop   *watch.Loop

	mu     sync.Mutex
	checks map[string]int
	rests  int
	hook   func(context.Context) // called by each check of a file
	look   watch.Look
	told   []*wire.Watched
}

// play runs a test with a scene, in which time passes at once.
func play(t *testing.T, test func(t *testing.T, s *scene)) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := &scene{t: t, dir: dir, ears: &ears{hints: make(chan listen.Hint, 1000)}, checks: map[string]int{}}
		s.engine = enginetest.New()
		decode := s.engine.Decode
		s.engine.Decode = func(e *wire.Entry) (modules.Resource, error) {
			r, err := decode(e)
			if err == nil && e.Type == "file" {
				r = &heard{r, e, s}
			}
			return r, err
		}
		s.loop = watch.New(watch.Config{
			Listen: func() (watch.Listener, error) { return s.ears, nil },
			Look: func() watch.Look {
				s.mu.Lock()
				defer s.mu.Unlock()
				return s.look
			},
			Tell: func(list []*wire.Watched) error {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.told = append(s.told, list...)
				return nil
			},
			PackageOf: func(_ context.Context, program string) string {
				return map[string]string{"/usr/bin/vi": "vim"}[program]
			},
			Rest: func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.rests++
			},
			Now: time.Now,
		})
		ctx, end := context.WithCancel(t.Context())
		var work sync.WaitGroup
		work.Go(func() { s.loop.Serve(ctx) })
		test(t, s)
		end()
		work.Wait()
		require.Equal(t, s.ears.listens > 0, s.ears.closed)
	})
}

// file returns an entry, and creates the file in its desired state.
func (s *scene) file(name string) wire.Entry {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	s.write(name, "good")
	return enginetest.File(path, `"mode":"0644","content":"good"`)
}

// write writes a file.
func (s *scene) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	require.NoError(s.t, os.WriteFile(path, []byte(text), 0o644))
	require.NoError(s.t, os.Chmod(path, 0o644))
}

// hint sends a hint about names.
func (s *scene) hint(names ...string) {
	s.t.Helper()
	var h listen.Hint
	for _, name := range names {
		at := s.ears.at(filepath.Join(s.dir, name))
		require.GreaterOrEqual(s.t, at, 0, name)
		h.Sources = append(h.Sources, at)
	}
	s.ears.hints <- h
}

// watched returns a catalog to watch.
func watched(play int, entries ...wire.Entry) *wire.Catalog {
	return &wire.Catalog{Check: true, Rehearsal: true, Entries: entries, Watch: &wire.Watch{Play: play, Settle: settle, Longest: 30 * time.Second}}
}

// begin checks a catalog and begins its watch. It returns the results of the check, and the first reports.
func (s *scene) begin(cat *wire.Catalog) (results []*wire.Result, first []*wire.Watched) {
	s.t.Helper()
	stopped, err := s.loop.Run(s.t.Context(), s.engine, cat, func(r *wire.Result) error {
		results = append(results, r)
		return nil
	})
	require.NoError(s.t, err)
	require.False(s.t, stopped)
	s.loop.Begin()
	return results, s.after(time.Minute)
}

// after returns the reports within some time.
func (s *scene) after(d time.Duration) []*wire.Watched {
	time.Sleep(d)
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	told := s.told
	s.told = nil
	return told
}

// checked returns the number of checks of each file since the last call.
func (s *scene) checked() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := s.checks
	s.checks = map[string]int{}
	return counts
}

// statuses returns the statuses of all reported results, by index.
func statuses(t *testing.T, told []*wire.Watched) map[int]wire.Status {
	t.Helper()
	all := map[int]wire.Status{}
	for _, w := range told {
		for _, r := range w.Results {
			require.NotContains(t, all, r.Index, "told twice")
			if all[r.Index] = r.Status; r.Status == "" {
				all[r.Index] = wire.Stable
			}
		}
	}
	return all
}

func TestTellsWhatHasChanged(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		results, first := s.begin(watched(1, s.file("a"), s.file("b"), s.file("c")))
		require.Len(t, results, 3)
		require.Equal(t, []*wire.Watched{{Play: 1, Heard: true}}, first)
		s.checked()

		s.write("a", "bad")
		require.Empty(t, s.after(time.Hour), "it is only looked at for a reason")
		s.hint("a")
		require.Empty(t, s.after(settle-1))
		require.Empty(t, s.checked())
		told := s.after(1)
		require.Equal(t, map[int]wire.Status{0: wire.Changed}, statuses(t, told))
		require.NotEmpty(t, told[0].Results[0].Changes)
		require.Equal(t, map[string]int{"a": 2, "b": 1, "c": 1}, s.checked(), "what is new may matter to all")

		s.hint("b")
		require.Empty(t, s.after(time.Hour))
		require.Equal(t, map[string]int{"a": 1, "b": 1}, s.checked(), "b, and what is not as it should be")

		s.write("a", "worse")
		s.hint("a")
		require.Equal(t, map[int]wire.Status{0: wire.Changed}, statuses(t, s.after(settle)))
		s.write("a", "good")
		s.hint("a")
		require.Equal(t, map[int]wire.Status{0: wire.Stable}, statuses(t, s.after(settle)))
		s.checked()
		s.hint("b")
		require.Empty(t, s.after(settle))
		require.Equal(t, map[string]int{"b": 1}, s.checked())
	})
}

func TestTellsOfThoseThatDepend(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		a, b := s.file("a"), s.file("b")
		b.Require = []int{0}
		c := enginetest.With(enginetest.Command("true", `"refreshonly":true`), func(e *wire.Entry) { e.Subscribe = []int{0} })
		off := s.file("off")
		off.Watch = &wire.EntryWatch{Off: true}
		d := s.file("d")
		d.Require = []int{3}
		_, first := s.begin(watched(1, a, b, c, off, d))
		require.Equal(t, []*wire.Watched{{Play: 1, Heard: true}}, first)
		s.checked()
		s.hint("a")
		require.Empty(t, s.after(settle))
		require.Equal(t, map[string]int{"a": 1, "b": 1}, s.checked())
		s.hint("d")
		require.Empty(t, s.after(settle))
		require.Equal(t, map[string]int{"d": 1, "off": 1}, s.checked(), "with what it depends on that is not watched")
		s.write("off", "bad")
		s.hint("d")
		require.Empty(t, s.after(settle), "it is not told")
		s.write("a", "bad")
		s.hint("a")
		require.Equal(t, map[int]wire.Status{0: wire.Changed, 2: wire.Changed}, statuses(t, s.after(settle)))
		require.NoError(t, os.Remove(filepath.Join(s.dir, "a")))
		require.NoError(t, os.MkdirAll(filepath.Join(s.dir, "a", "full"), 0o755))
		s.hint("a")
		told := s.after(settle)
		require.Equal(t, map[int]wire.Status{0: wire.Failed, 1: wire.Skipped, 2: wire.Stable}, statuses(t, told), "a failure is a verdict")
	})
}

func TestWhatSettlesIsLeftAlone(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		slow := s.file("slow")
		slow.Watch = &wire.EntryWatch{Settle: 10 * time.Second}
		s.begin(watched(1, s.file("a"), slow))
		s.write("a", "bad")
		s.write("slow", "half")
		s.hint("a", "slow")
		require.Equal(t, map[int]wire.Status{0: wire.Changed}, statuses(t, s.after(settle)))
		s.write("slow", "good")
		s.hint("slow")
		require.Empty(t, s.after(time.Minute), "what it was on the way is never told")
		for range 60 { // the file changes all the time, but not in the moment of a check
			s.write("slow", "log")
			s.hint("slow")
			time.Sleep(700 * time.Millisecond)
		}
		require.Equal(t, map[int]wire.Status{1: wire.Changed}, statuses(t, s.after(0)), "but not for ever")
	})
}

func TestPollsWhatIsNotHeard(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		cat := watched(1, s.file("a"), s.file("b"), s.file("often"), s.file("never"), s.file("deep"))
		cat.Watch.Poll = 10 * time.Minute
		often, never := time.Minute, time.Duration(0)
		cat.Entries[2].Watch, cat.Entries[3].Watch = &wire.EntryWatch{Poll: &often}, &wire.EntryWatch{Poll: &never}
		_, first := s.begin(cat)
		require.Equal(t, []wire.Polled{{Index: 4, Why: "too many directories"}}, first[0].Polled)
		s.checked()
		require.Empty(t, s.after(time.Hour), "an idle watch tells nothing")
		counts := s.checked()
		require.InDelta(t, 60, counts["often"], 2)
		require.InDelta(t, 6, counts["a"], 1)
		require.Zero(t, counts["never"])
		s.write("b", "bad")
		require.Equal(t, map[int]wire.Status{1: wire.Changed}, statuses(t, s.after(10*time.Minute+12*time.Second)))
	})
}

func TestAllIsCheckedWhenEventsAreLost(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		s.begin(watched(1, s.file("a"), s.file("b")))
		s.checked()
		s.ears.hints <- listen.Hint{All: "the queue of events had overflown"}
		require.Equal(t, []*wire.Watched{{Play: 1, Missed: "the queue of events had overflown"}}, s.after(settle))
		require.Equal(t, map[string]int{"a": 1, "b": 1}, s.checked())
		s.write("b", "bad")
		s.ears.hints <- listen.Hint{All: "the host was asleep"}
		told := s.after(settle)
		require.Len(t, told, 1)
		require.Equal(t, "the host was asleep", told[0].Missed)
		require.Equal(t, map[int]wire.Status{1: wire.Changed}, statuses(t, told))
	})
}

// TestWaitsForOtherRuns: changes of another run are not reported, except the final state.
func TestWaitsForOtherRuns(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		s.begin(watched(1, s.file("a"), s.file("b")))
		s.checked()
		look := func(l watch.Look) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.look = l
		}
		look(watch.Look{Held: true, Turn: "1", Holder: wire.Lock{Run: "r2", Holder: "bob@desk"}})
		s.write("a", "half done")
		s.hint("a")
		require.Empty(t, s.after(time.Hour))
		require.Empty(t, s.checked())
		s.write("a", "good")
		s.write("b", "bad")
		// Its last change is heard only with the marker.
		s.ears.late = []listen.Hint{{Sources: []int{s.ears.at(filepath.Join(s.dir, "b"))}}}
		look(watch.Look{Turn: "2"})
		told := s.after(time.Second)
		require.Equal(t, map[int]wire.Status{1: wire.Changed}, statuses(t, told))
		require.Equal(t, 1, s.ears.drains)

		// One begins while something is checked, and has ended before that.
		s.write("b", "good")
		s.mu.Lock()
		s.hook = func(context.Context) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.look, s.hook = watch.Look{Turn: "3"}, nil
		}
		s.mu.Unlock()
		s.checked()
		s.hint("b")
		require.Equal(t, map[int]wire.Status{1: wire.Stable}, statuses(t, s.after(settle)))
		require.Equal(t, 2, s.ears.drains)
		require.Equal(t, 3, s.checked()["b"], "what was found first does not count")
	})
}

func TestQuietTimes(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		cat := watched(1, s.file("a"), s.file("b"))
		quiet := filepath.Join(s.dir, "maintenance")
		cat.Watch.Quiet = []string{quiet}
		s.begin(cat)
		s.checked()
		s.write("maintenance", "")
		s.write("a", "bad")
		s.write("b", "bad")
		s.hint("a")
		require.Empty(t, s.after(time.Hour))
		require.Empty(t, s.checked())
		s.write("a", "good")
		require.NoError(t, os.Remove(quiet))
		s.hint("maintenance")
		require.Equal(t, map[int]wire.Status{1: wire.Changed}, statuses(t, s.after(0)), "all is checked")
	})
}

// TestAnotherCatalogOfThePlay: after a new catalog, nothing of the previous one is reported.
func TestAnotherCatalogOfThePlay(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		a, b := s.file("a"), s.file("b")
		s.begin(watched(1, a))
		s.begin(watched(2, b))
		s.write("a", "bad")
		s.mu.Lock()
		s.hook = func(ctx context.Context) { // a guard that takes long
			select {
			case <-ctx.Done():
			case <-time.After(time.Hour):
			}
		}
		s.mu.Unlock()
		s.hint("a")
		require.Empty(t, s.after(time.Minute))
		began := time.Now()
		done := make(chan []*wire.Result)
		go func() {
			s.mu.Lock()
			s.hook = nil
			s.mu.Unlock()
			results, _ := s.begin(watched(1, b, a))
			done <- results
		}()
		results := <-done
		require.Less(t, time.Since(began), time.Hour)
		require.Equal(t, wire.Changed, results[1].Status)
		require.Empty(t, s.after(time.Hour), "it was among the results")
		s.write("b", "bad")
		s.hint("b") // of the first play
		told := s.after(settle)
		require.Equal(t, 1, told[0].Play)
		s.ears.hints <- listen.Hint{Sources: []int{3}} // source of the second one, after two entries and the quiet times
		told = s.after(settle)
		require.Equal(t, 2, told[0].Play)
		require.Equal(t, map[int]wire.Status{0: wire.Changed}, statuses(t, told))
	})
}

func TestWhereALinkLeads(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		s.begin(watched(1, s.file("a")))
		require.Less(t, s.ears.at("/elsewhere"), 0)
		path := filepath.Join(s.dir, "a")
		require.NoError(t, os.Remove(path))
		require.NoError(t, os.Symlink("/elsewhere", path))
		s.hint("a")
		s.checked()
		s.after(settle)
		require.Zero(t, s.ears.at("/elsewhere"))
		s.checked()
		s.after(settle)
		require.Equal(t, map[string]int{"a": 1}, s.checked(), "once more, now that it is listened to")
		s.after(time.Hour)
		require.Empty(t, s.checked())
	})
}

func TestWriters(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		secret := s.file("secret")
		secret.Sensitive = true
		s.begin(watched(1, s.file("a"), secret))
		s.write("a", "bad")
		s.write("secret", "bad")
		vi := listen.Writer{PID: 12, Program: "/usr/bin/vi", User: "ann"}
		s.ears.hints <- listen.Hint{Sources: []int{0, 1}, Writers: map[int]listen.Writer{0: vi, 1: vi}}
		told := s.after(settle)
		require.Len(t, told, 1)
		require.Equal(t, []wire.Writer{{Index: 0, PID: 12, Program: "/usr/bin/vi", User: "ann", Package: "vim"}}, told[0].Writers)
		for _, c := range told[0].Results[1].Changes {
			require.Equal(t, "[sensitive]", c.Have)
		}
		s.write("a", "good")
		s.hint("a")
		require.Empty(t, s.after(settle)[0].Writers, "it is that of one change")
	})
}

// shelf is a store in memory.
type shelf struct {
	mu   sync.Mutex
	text []byte
}

func (s *shelf) Read() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text, nil
}
func (s *shelf) MayWrite() error           { return nil }
func (s *shelf) SetAside() (string, error) { return "", nil }
func (s *shelf) Replace(text []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = text
	return nil
}

// TestWhatAnotherRunWants distinguishes a change that another run wants from drift.
func TestWhatAnotherRunWants(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		s.engine.Applied = &shelf{}
		run := func(id string, entries ...wire.Entry) {
			t.Helper()
			cat := &wire.Catalog{Entries: entries, Lock: &wire.Lock{Run: id, Holder: id + "@desk"}}
			_, err := s.engine.Run(t.Context(), cat, func(r *wire.Result) error { require.Empty(t, r.Error); return nil })
			require.NoError(t, err)
		}
		a, b, strange := s.file("a"), s.file("b"), s.file("strange")
		run("ours", a, b)
		s.begin(watched(1, a, b, strange))

		s.write("a", "bad")
		s.hint("a")
		told := s.after(settle)
		require.Equal(t, wire.Drift, told[0].Results[0].Cause)
		require.Empty(t, told[0].Writers)

		run("theirs", enginetest.File(b.Name, `"mode":"0600","content":"other"`))
		s.hint("b")
		told = s.after(settle)
		require.Equal(t, wire.Intent, told[0].Results[0].Cause)
		require.Equal(t, []wire.Writer{{Index: 1, Run: "theirs", Holder: "theirs@desk"}}, told[0].Writers)

		s.write("strange", "bad")
		s.hint("strange")
		told = s.after(settle)
		require.Equal(t, wire.Drift, told[0].Results[0].Cause, "no run has ever left it as it is asked for, but it was so")
		require.Empty(t, told[0].Writers)

		run("repair", a, b, strange)
		s.hint("a", "b", "strange")
		require.Equal(t, map[int]wire.Status{0: wire.Stable, 1: wire.Stable, 2: wire.Stable}, statuses(t, s.after(settle)))
	})
}

func TestNothingIsHeard(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		s.ears.fails = errors.New("no more watches: raise fs.inotify.max_user_watches")
		cat := watched(1, s.file("a"), enginetest.Command("true", `"unless":"true"`), enginetest.Command("true", `"refreshonly":true`))
		cat.Watch.Poll = time.Minute
		_, first := s.begin(cat)
		require.Equal(t, []wire.Polled{
			{Index: 0, Why: "no more watches: raise fs.inotify.max_user_watches"},
			{Index: 1, Why: "files and services that its guards read"},
		}, first[0].Polled)
		s.ears.mu.Lock()
		s.ears.fails = nil
		s.ears.mu.Unlock()
		told := s.after(2 * time.Minute)
		require.Len(t, told, 1, "it is tried again")
		require.Equal(t, []wire.Polled{{Index: 1, Why: "files and services that its guards read"}}, told[0].Polled)
		s.write("a", "bad")
		require.Equal(t, map[int]wire.Status{0: wire.Changed}, statuses(t, s.after(2*time.Minute)))
	})
}

// TestManyPieces holds the bound of a message.
func TestManyPieces(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		const n = 2*wire.MaxWatched + 1
		var entries []wire.Entry
		for range n {
			entries = append(entries, enginetest.Command("true", ""))
		}
		s.engine.Decode = func(*wire.Entry) (modules.Resource, error) { return &present{filepath.Join(s.dir, "there")}, nil }
		s.write("there", "")
		cat := watched(1, entries...)
		cat.Watch.Poll = time.Hour
		_, first := s.begin(cat)
		polled := 0
		for i, w := range first {
			require.Equal(t, i == 0, w.Heard)
			require.LessOrEqual(t, len(w.Polled), wire.MaxWatched)
			polled += len(w.Polled)
		}
		require.Equal(t, n, polled)
		require.NoError(t, os.Remove(filepath.Join(s.dir, "there")))
		told := s.after(time.Hour)
		require.Len(t, statuses(t, told), n)
		for _, w := range told {
			require.LessOrEqual(t, len(w.Results), wire.MaxWatched)
		}
	})
}

// present is a resource that wants a path to be there.
type present struct{ path string }

func (p *present) Check(_ context.Context, h modules.Host) (modules.Plan, error) {
	if _, err := h.Files.Stat(p.path); err == nil {
		return modules.Plan{}, nil
	}
	return modules.Plan{Action: "made it"}, nil
}

func (p *present) Apply(context.Context, modules.Host, modules.Plan) error { return nil }

// TestManyCatalogs: a watch does not grow with earlier catalogs.
func TestManyCatalogs(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		entries := []wire.Entry{s.file("a"), s.file("b")}
		for range 1000 {
			s.begin(watched(1, entries...))
		}
		require.Len(t, s.ears.sources, len(entries)+1)
		require.LessOrEqual(t, s.ears.listens, 1001)
		s.write("b", "bad")
		s.hint("b")
		require.Equal(t, map[int]wire.Status{1: wire.Changed}, statuses(t, s.after(settle)))
	})
}

func (p *present) Validate() error { return nil }

// TestRest: the loop rests once after its work, and not while more comes.
func TestRest(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		rests := func() (n int) {
			s.mu.Lock()
			defer s.mu.Unlock()
			n, s.rests = s.rests, 0
			return n
		}
		s.begin(watched(1, s.file("a")))
		require.Equal(t, 1, rests())
		s.after(time.Hour)
		require.Zero(t, rests())
		for range 10 {
			s.hint("a")
			s.after(2 * settle)
			require.Zero(t, rests())
		}
		s.after(time.Hour)
		require.Equal(t, 1, rests())
	})
}
