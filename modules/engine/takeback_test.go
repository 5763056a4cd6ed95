package engine_test

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/engine/enginetest"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/system"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// An undoer is a host on which runs are applied and taken back, each with an engine of its own.
type undoer struct {
	t    *testing.T
	dir  string // replaces $
	home string // folder of the kept states
	past *system.Past
	warn []string // warnings of runs
}

func newUndoer(t *testing.T) *undoer {
	home := t.TempDir()
	require.NoError(t, os.Chmod(home, 0o700))
	return &undoer{t: t, dir: modtest.Root(t), home: home, past: system.PastIn(home)}
}

func (u *undoer) engine() *engine.Engine {
	e := enginetest.New()
	e.Past = u.past
	return e
}

// apply applies entries in a run, and wants none to fail.
func (u *undoer) apply(run string, entries ...wire.Entry) {
	u.t.Helper()
	cat := enginetest.In(u.dir, wire.Catalog{Lock: &wire.Lock{Run: run, Holder: "ops@ctl (pid 1)"}, Once: &wire.Once{Run: run, Play: 1}, Entries: entries})
	results, _ := enginetest.Run(u.t, u.engine(), u.dir, cat)
	for _, r := range results {
		require.NotEqual(u.t, wire.Failed, r.Status, r.Error)
		for _, m := range r.Messages {
			u.warn = append(u.warn, m.Level+": "+strings.ReplaceAll(m.Text, u.dir, "$"))
		}
	}
}

// undo undoes a run, and returns each result as "STATUS NAME: TEXT".
func (u *undoer) undo(run string, check bool, only ...string) (results []string) {
	u.t.Helper()
	for i := range only {
		only[i] = strings.ReplaceAll(only[i], "$", u.dir)
	}
	cat := wire.Catalog{Check: check, Undo: &wire.Undo{Run: run, Only: only}}
	if !check {
		cat.Lock = &wire.Lock{Run: "undo" + run, Holder: "ops@ctl (pid 2)"}
	}
	return u.takeBack(cat)
}

// undoIn takes a run back, in a run with an id.
func (u *undoer) undoIn(id, run string) (results []string) {
	u.t.Helper()
	return u.takeBack(wire.Catalog{Lock: &wire.Lock{Run: id}, Undo: &wire.Undo{Run: run}})
}

func (u *undoer) takeBack(cat wire.Catalog) (results []string) {
	u.t.Helper()
	e := u.engine()
	require.NoError(u.t, e.TakeBack(&cat))
	list, _ := enginetest.Run(u.t, e, u.dir, cat)
	for _, r := range list {
		name := strings.ReplaceAll(cat.Entries[r.Index].Type+"#"+cat.Entries[r.Index].Name, u.dir, "$")
		text := r.Message
		if r.Message != "" && r.Error != "" {
			text += ": "
		}
		text = strings.ReplaceAll(text+r.Error, u.dir, "$")
		for _, m := range r.Messages {
			text += "; " + strings.ReplaceAll(m.Text, u.dir, "$")
		}
		results = append(results, fmt.Sprintf("%s %s: %s", statusText(r.Status), name, text))
	}
	return results
}

func statusText(s wire.Status) string {
	if s == "" {
		return "stable"
	}
	return string(s)
}

func (u *undoer) at(name string) string { return filepath.Join(u.dir, name) }

func (u *undoer) write(name, text string) {
	u.t.Helper()
	require.NoError(u.t, os.WriteFile(u.at(name), []byte(text), 0o644))
}

func lineOf(path, line, rest string) wire.Entry {
	e := enginetest.Command("x", "")
	e.Type, e.Name = "line", path
	e.Properties = []byte(`{"name":"` + path + `","line":"` + line + `"` + rest + `}`)
	return e
}

func linkTo(path, target string) wire.Entry {
	return wire.Entry{Type: "link", Name: path, Properties: []byte(`{"name":"` + path + `","target":"` + target + `"}`)}
}

func removed(path string, rest string) wire.Entry {
	return wire.Entry{Type: "file", Name: path, Properties: []byte(`{"name":"` + path + `","ensure":"absent"` + rest + `}`)}
}

func TestUndo(t *testing.T) {
	dir := func(path string) wire.Entry { return enginetest.File(path, `"ensure":"directory","mode":"0755"`) }
	for _, test := range []struct {
		name    string
		before  func(u *undoer)
		entries []wire.Entry
		since   func(u *undoer) // changes by others afterwards
		only    []string
		want    []string // results
		differs bool     // the state differs from that before the run
	}{
		{"a file that was made", nil,
			[]wire.Entry{text("$/f", "new")}, nil, nil,
			[]string{"changed file#$/f: removed what the run had made"}, false},
		{"a file that was written", func(u *undoer) { u.write("f", "old") },
			[]wire.Entry{text("$/f", "new")}, nil, nil,
			[]string{"changed file#$/f: restored the state before the run"}, false},
		{"a file and its directories", nil,
			[]wire.Entry{dir("$/a"), dir("$/a/b"), text("$/a/b/f", "new")}, nil, nil,
			[]string{"changed file#$/a/b/f: removed what the run had made", "changed file#$/a/b: removed what the run had made", "changed file#$/a: removed what the run had made"}, false},
		{"a directory in which somebody else has put something", nil,
			[]wire.Entry{dir("$/a")}, func(u *undoer) { u.write("a/his", "x") }, nil,
			[]string{"failed file#$/a: left unchanged: $/a: his is in it"}, true},
		{"a directory that was removed with all in it", func(u *undoer) {
			require.NoError(u.t, os.MkdirAll(u.at("a/b/c"), 0o755))
			u.write("a/b/f", "old")
			require.NoError(u.t, os.Symlink("f", u.at("a/b/l")))
		}, []wire.Entry{removed("$/a", `,"force":true`)}, nil, nil,
			[]string{"changed file#$/a: restored the state before the run"}, false},
		{"a large file", func(u *undoer) { u.write("f", strings.Repeat("old\n", 100_000)) },
			[]wire.Entry{text("$/f", "new")}, nil, nil,
			[]string{"changed file#$/f: restored the state before the run"}, false},
		{"a file that somebody else has written since", func(u *undoer) { u.write("f", "old") },
			[]wire.Entry{text("$/f", "new")}, func(u *undoer) { u.write("f", "his") }, nil,
			[]string{"failed file#$/f: left unchanged: $/f: it has changed since the run: it has been written since"}, true},
		{"a mode, of a file that somebody else has written since", func(u *undoer) { u.write("f", "old") },
			[]wire.Entry{enginetest.File("$/f", `"mode":"0600"`)},
			func(u *undoer) {
				u.write("f", "his")
			}, nil,
			[]string{"changed file#$/f: restored the state before the run"}, true},
		{"what is back already", func(u *undoer) { u.write("f", "old") },
			[]wire.Entry{text("$/f", "new")}, func(u *undoer) {
				u.write("f", "old")
				require.NoError(u.t, os.Chmod(u.at("f"), 0o644))
			}, nil,
			[]string{"stable file#$/f: it already has the state before the run"}, false},
		{"a link", func(u *undoer) { require.NoError(u.t, os.Symlink("old", u.at("l"))) },
			[]wire.Entry{linkTo("$/l", "/new")}, nil, nil,
			[]string{"changed link#$/l: restored the state before the run"}, false},
		{"a link in the place of a file", func(u *undoer) { u.write("l", "old") },
			[]wire.Entry{removed("$/l", ""), linkTo("$/l", "/new")}, nil, nil,
			[]string{"changed link#$/l: removed what the run had made", "changed file#$/l: restored the state before the run"}, false},
		{"names that are no UTF-8", func(u *undoer) {
			require.NoError(u.t, os.MkdirAll(u.at("a/\xff"), 0o755))
			u.write("a/\xff/\xfe\n", "old")
			require.NoError(u.t, os.Symlink("\xff", u.at("a/l")))
		}, []wire.Entry{removed("$/a", `,"force":true`)}, nil, nil,
			[]string{"changed file#$/a: restored the state before the run"}, false},
		{"a sticky directory", func(u *undoer) {
			require.NoError(u.t, os.MkdirAll(u.at("a/b"), 0o755))
			require.NoError(u.t, os.Chmod(u.at("a/b"), 0o777|os.ModeSticky))
		}, []wire.Entry{removed("$/a", `,"force":true`)}, nil, nil,
			[]string{"changed file#$/a: restored the state before the run"}, false},
		{"a setuid file", func(u *undoer) {
			u.write("f", "old")
			require.NoError(u.t, os.Chmod(u.at("f"), 0o711|os.ModeSetuid))
		}, []wire.Entry{text("$/f", "new")}, nil, nil,
			[]string{"changed file#$/f: restored the state before the run"}, false},
		{"a setuid file that somebody else has written since", func(u *undoer) {
			u.write("f", "old")
			require.NoError(u.t, os.Chmod(u.at("f"), 0o711|os.ModeSetuid))
		}, []wire.Entry{enginetest.File("$/f", `"mode":"0700"`)}, func(u *undoer) { u.write("f", "his") }, nil,
			[]string{"failed file#$/f: left unchanged: $/f: it may have been written since, and would run as its owner or group: it had mode 4711"}, true},
		{"a setuid bit", func(u *undoer) { u.write("f", "old") },
			[]wire.Entry{enginetest.File("$/f", `"mode":"4711"`)}, nil, nil,
			[]string{"changed file#$/f: restored the state before the run"}, false},
		{"a setgid directory", func(u *undoer) { require.NoError(u.t, os.Mkdir(u.at("d"), 0o755)) },
			[]wire.Entry{enginetest.File("$/d", `"ensure":"directory","mode":"2775"`)}, nil, nil,
			[]string{"changed file#$/d: restored the state before the run"}, false},
		{"a tree's modes", func(u *undoer) {
			require.NoError(u.t, os.MkdirAll(u.at("a/b"), 0o755))
			u.write("a/b/f", "old")
			u.write("a/g", "old")
		}, []wire.Entry{enginetest.File("$/a", `"ensure":"directory","recurse":true,"mode":"u=rwX,go="`)},
			func(u *undoer) { u.write("a/g", "his") }, nil,
			[]string{"changed file#$/a: restored the state before the run"}, true},
		{"a tree's modes, one of which somebody else has changed since", func(u *undoer) {
			require.NoError(u.t, os.MkdirAll(u.at("a/b"), 0o755))
			u.write("a/b/f", "old")
		}, []wire.Entry{enginetest.File("$/a", `"ensure":"directory","recurse":true,"mode":"u=rwX,go="`)},
			func(u *undoer) { require.NoError(u.t, os.Chmod(u.at("a/b"), 0o711)) }, nil,
			[]string{"failed file#$/a: restored the state before the run: put back in part; left unchanged: $/a/b: it has changed since the run: its mode is 0711, and was 0700"}, true},
		{"the mode of a large file", func(u *undoer) { u.write("f", ""); require.NoError(u.t, os.Truncate(u.at("f"), 17<<20)) },
			[]wire.Entry{enginetest.File("$/f", `"mode":"0600"`)}, nil, nil,
			[]string{"changed file#$/f: restored the state before the run"}, false},
		{"a large file that was written", func(u *undoer) { u.write("f", ""); require.NoError(u.t, os.Truncate(u.at("f"), 17<<20)) },
			[]wire.Entry{text("$/f", "new")}, nil, nil,
			[]string{"failed file#$/f: left unchanged: $/f: it had more than the 16 MiB that are kept of a file"}, true},
		{"the mode of a file that others may have exchanged", func(u *undoer) {
			require.NoError(u.t, os.Mkdir(u.at("a"), 0o755))
			u.write("a/f", "old")
			require.NoError(u.t, os.Chmod(u.at("a"), 0o777))
		}, []wire.Entry{enginetest.File("$/a/f", `"mode":"0600"`)},
			func(u *undoer) {
				require.NoError(u.t, os.WriteFile(u.at("a/secret"), []byte("secret"), 0o600))
				require.NoError(u.t, os.Rename(u.at("a/secret"), u.at("a/f")))
			}, nil,
			[]string{"failed file#$/a/f: left unchanged: $/a/f: it has changed since the run, and another one may be in its place: it has been written since"}, true},
		{"a link in the place of a directory", func(u *undoer) { require.NoError(u.t, os.Mkdir(u.at("l"), 0o750)) },
			[]wire.Entry{{Type: "link", Name: "$/l", Properties: []byte(`{"name":"$/l","target":"/new","force":true}`)}}, nil, nil,
			[]string{"changed link#$/l: restored the state before the run"}, false},
		{"a link in the place of a directory, of which an undo that was killed has left nothing", func(u *undoer) { require.NoError(u.t, os.Mkdir(u.at("l"), 0o750)) },
			[]wire.Entry{{Type: "link", Name: "$/l", Properties: []byte(`{"name":"$/l","target":"/new","force":true}`)}},
			func(u *undoer) { require.NoError(u.t, os.Remove(u.at("l"))) }, nil,
			[]string{"changed link#$/l: restored the state before the run"}, false},
		{"lines, one of which somebody else has changed since", func(u *undoer) { u.write("f", "a\nb\nc\n") },
			[]wire.Entry{lineOf("$/f", "B", `,"regexp":"^b"`), wire.Entry{Type: "line", Name: "two", Properties: []byte(`{"name":"two","path":"$/f","line":"d"}`)}},
			func(u *undoer) { u.write("f", "his\na\nB\nc\nd\n") }, nil,
			[]string{"changed line#two: put the earlier text back", "changed line#$/f: put the earlier text back"}, true},
		{"a line that somebody else has removed since", func(u *undoer) { u.write("f", "a\nb\n") },
			[]wire.Entry{lineOf("$/f", "B", `,"regexp":"^b"`)},
			func(u *undoer) { u.write("f", "a\nx\n") }, nil,
			[]string{"failed line#$/f: the file $/f cannot be restored, because the lines that the run changed were changed again later"}, true},
		{"two changes of one file", func(u *undoer) { u.write("f", "old\n") },
			[]wire.Entry{text("$/f", "new\\n"), lineOf("$/f", "more", "")}, nil, nil,
			[]string{"changed line#$/f: put the earlier text back", "changed file#$/f: restored the state before the run"}, false},
		{"one resource of several", func(u *undoer) { u.write("f", "old") },
			[]wire.Entry{text("$/f", "new"), text("$/g", "new")}, nil, []string{"file#$/f"},
			[]string{"changed file#$/f: restored the state before the run"}, true},
		{"a command", nil,
			[]wire.Entry{enginetest.Command("touch $/made", `"creates":"$/made"`)}, nil, nil,
			[]string{"skipped exec#touch $/made: left unchanged: type exec does not report its changes"}, true},
		{"what is not kept", nil,
			[]wire.Entry{enginetest.With(text("$/f", "new"), func(e *wire.Entry) { e.NoHistory = true })}, nil, nil,
			[]string{"skipped file#$/f: left unchanged: nothing is kept of it (history: false)"}, true},
		{"what has been refreshed", func(u *undoer) { u.write("f", "old") },
			[]wire.Entry{text("$/f", "new"), enginetest.With(enginetest.Command("cat $/f >>$/log", `"refresh_only":true`), func(e *wire.Entry) { e.Subscribe = []int{0} })}, nil, nil,
			[]string{"changed file#$/f: restored the state before the run", "changed exec#cat $/f >>$/log: executed via subscribe"}, true},
		{"what a directory is reached through", func(u *undoer) {
			require.NoError(u.t, os.MkdirAll(u.at("a"), 0o755))
			require.NoError(u.t, os.MkdirAll(u.at("b"), 0o755))
			require.NoError(u.t, os.Symlink("a", u.at("l")))
		}, []wire.Entry{text("$/l/f", "new")}, func(u *undoer) {
			require.NoError(u.t, os.Remove(u.at("l")))
			require.NoError(u.t, os.Symlink("b", u.at("l")))
			u.write("b/f", "new")
			require.NoError(u.t, os.Chmod(u.at("b/f"), 0o600))
		}, nil, []string{"failed file#$/l/f: left unchanged: $/l/f: during the run its path was $/a/f, and now the path leads to $/b/f"}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			u := newUndoer(t)
			if test.before != nil {
				test.before(u)
			}
			was := modtest.State(t, u.dir)
			u.apply("1", test.entries...)
			for _, w := range u.warn {
				_, why, _ := strings.Cut(w, "warning: it cannot be undone later: ")
				require.Contains(t, test.want[0], why)
			}
			if test.since != nil {
				test.since(u)
			}
			left := modtest.Snapshot(t, u.dir)
			predicted := u.undo("1", true, test.only...)
			require.Equal(t, left, modtest.Snapshot(t, u.dir), "a check run has changed something")
			require.Equal(t, test.want, u.undo("1", false, test.only...))
			for i := range predicted { // the check run reports it
				status, _, _ := strings.Cut(test.want[i], " ")
				require.True(t, strings.HasPrefix(predicted[i], status+" "), predicted[i])
			}
			if !test.differs {
				require.Equal(t, was, modtest.State(t, u.dir))
			}
		})
	}
}

// TestUndoInOneStep puts a file back in the place of a link, or leaves the link.
func TestUndoInOneStep(t *testing.T) {
	u := newUndoer(t)
	u.write("l", "old")
	u.apply("1", wire.Entry{Type: "link", Name: "$/l", Properties: []byte(`{"name":"$/l","target":"/new","force":true}`)})
	contents := filepath.Join(u.home, "history", "contents")
	kept, err := os.ReadDir(contents)
	require.NoError(t, err)
	require.Len(t, kept, 1)
	content := filepath.Join(contents, kept[0].Name())
	require.NoError(t, os.WriteFile(content, []byte("odd"), 0o600))
	require.Equal(t, []string{"failed link#$/l: write $/l: its stored content is damaged: it has another SHA-256"}, u.undo("1", false))
	target, err := os.Readlink(u.at("l"))
	require.NoError(t, err)
	require.Equal(t, "/new", target)
	require.NoError(t, os.WriteFile(content, []byte("old"), 0o600))
	require.Equal(t, []string{"changed link#$/l: restored the state before the run"}, u.undo("1", false))
}

// TestUndoOfAnUndo takes back that something was taken back.
func TestUndoOfAnUndo(t *testing.T) {
	u := newUndoer(t)
	u.write("f", "old")
	u.apply("1", text("$/f", "new"), text("$/g", "new"))
	after := modtest.State(t, u.dir)
	u.undo("1", false)
	u.undo("undo1", false)
	require.Equal(t, after, modtest.State(t, u.dir))
}

// TestUndoTwice reverts a change once, although its result looks like the state that the run left, and again after it
// was made again.
func TestUndoTwice(t *testing.T) {
	u := newUndoer(t)
	u.write("f", "more\n")
	u.write("g", "old")
	u.apply("1", text("$/f", "new\n"), lineOf("$/f", "more", ""), text("$/g", "one"))
	was := modtest.State(t, u.dir)
	u.undo("1", false)
	before := modtest.State(t, u.dir)
	require.Equal(t, "more\n", before["f"].Text)
	require.Equal(t, []string{
		"skipped file#$/g: run undo1 has taken it back already",
		"skipped line#$/f: run undo1 has taken it back already",
		"skipped file#$/f: run undo1 has taken it back already",
	}, u.undoIn("again", "1"))
	require.Equal(t, before, modtest.State(t, u.dir))
	for _, run := range []string{"3", "4", "5"} { // each takes back what the one before it did
		undoes := map[string]string{"3": "undo1", "4": "3", "5": "4"}[run]
		for _, result := range u.undoIn(run, undoes) {
			require.Contains(t, result, "changed ")
		}
	}
	require.Equal(t, was, modtest.State(t, u.dir), "undone, and forth, back, and forth again")
	for _, result := range u.undoIn("6", "1") {
		require.Contains(t, result, "changed ")
	}
	require.Equal(t, before, modtest.State(t, u.dir))
}

// TestUndoOfASecret reverts a secret: only its user can read the kept state, and no result has it.
func TestUndoOfASecret(t *testing.T) {
	u := newUndoer(t)
	u.write("f", "hunter2")
	u.apply("1", enginetest.With(text("$/f", "hunter3"), func(e *wire.Entry) { e.Sensitive = true }))
	for _, check := range []bool{true, false} {
		cat := wire.Catalog{Check: check, Diff: true, Undo: &wire.Undo{Run: "1"}}
		e := u.engine()
		require.NoError(t, e.TakeBack(&cat))
		results, _ := enginetest.Run(t, e, u.dir, cat)
		require.Len(t, results, 1)
		require.Equal(t, wire.Changed, results[0].Status)
		require.NotContains(t, fmt.Sprintf("%+v", results), "hunter")
		require.Empty(t, results[0].Diff)
	}
	require.FileExists(t, u.at("f"))
	require.Equal(t, "hunter2", modtest.State(t, u.dir)["f"].Text)
}

// TestUndoWithoutAnything expects the reason why there is nothing to revert.
func TestUndoWithoutAnything(t *testing.T) {
	u := newUndoer(t)
	u.apply("1", text("$/f", "new"))
	for _, test := range []struct {
		undo wire.Undo
		want string
	}{
		{wire.Undo{Run: "2"}, "this host has no record of the run: the run changed nothing on this host, had history: false, or is too old"},
		{wire.Undo{Run: "2", Maybe: true}, ""},
		{wire.Undo{Run: "1", Only: []string{"file#/x"}}, "the run has changed nothing here of file#/x"},
		{wire.Undo{Run: "../1"}, `"../1" is not a run id`},
	} {
		cat := wire.Catalog{Undo: &test.undo}
		err := u.engine().TakeBack(&cat)
		if test.want == "" {
			require.NoError(t, err)
			require.Empty(t, cat.Entries)
			continue
		}
		require.EqualError(t, err, test.want)
	}
}

// TestUndoOfWhatIsFull changes a host where nothing can be kept, and expects a warning then and at the undo.
func TestUndoOfWhatIsFull(t *testing.T) {
	u := newUndoer(t)
	u.write("f", "old")
	u.apply("0", text("$/g", "new"))
	e := u.engine()
	e.Past = full{u.past}
	cat := enginetest.In(u.dir, wire.Catalog{Lock: &wire.Lock{Run: "1"}, Entries: []wire.Entry{text("$/f", "new")}})
	results, _ := enginetest.Run(t, e, u.dir, cat)
	require.Equal(t, wire.Changed, results[0].Status)
	require.Equal(t, "it cannot be undone later: no space left on device", results[0].Messages[0].Text)
	require.Equal(t, []string{"skipped file#$/f: left unchanged: a part of the former state could not be stored: no space left on device"}, u.undo("1", false))
}

// A full place keeps no contents.
type full struct{ *system.Past }

func (full) Put(io.Reader) (string, int64, error) { return "", 0, syscall.ENOSPC }

// TestUndoOfWhatIsNotKnown takes back a run whose host program was killed in the midst of a
// change.
func TestUndoOfWhatIsNotKnown(t *testing.T) {
	u := newUndoer(t)
	u.write("f", "old")
	func() {
		defer func() { _ = recover() }()
		e := u.engine()
		e.Host.Files.FileWriter = dyingFiles{e.Host.Files.FileWriter, &mortal{dies: 1, after: true}}
		cat := enginetest.In(u.dir, wire.Catalog{Lock: &wire.Lock{Run: "1"}, Entries: []wire.Entry{text("$/f", "new")}})
		enginetest.Run(t, e, u.dir, cat)
	}()
	require.Equal(t, []string{"failed file#$/f: not changed: the host program was killed, so the state after the run is unknown (to continue the run: ccm-push resume)"}, u.undo("1", false))
}

// TestUndoOfManyRuns changes files at random in several runs, and undoes these, the last one first: each time the state
// before that run is back.
func TestUndoOfManyRuns(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			u, r := newUndoer(t), rand.New(rand.NewPCG(seed, 1))
			var states []map[string]modtest.Seen
			for run := range 4 {
				states = append(states, maps.Clone(modtest.State(t, u.dir)))
				var entries []wire.Entry
				for range 1 + r.IntN(5) {
					entries = append(entries, anyChange(r))
				}
				cat := enginetest.In(u.dir, wire.Catalog{Lock: &wire.Lock{Run: strconv.Itoa(run)}, Entries: entries})
				enginetest.Run(t, u.engine(), u.dir, cat) // some may be refused
			}
			for run := 3; run >= 0; run-- {
				cat := wire.Catalog{Undo: &wire.Undo{Run: strconv.Itoa(run)}, Lock: &wire.Lock{Run: fmt.Sprint("undo", run)}}
				e := u.engine()
				if e.TakeBack(&cat) == nil { // it may have changed nothing
					results, _ := enginetest.Run(t, e, u.dir, cat)
					for _, one := range results {
						require.NotEqual(t, wire.Failed, one.Status, one.Error)
					}
				}
				require.Equal(t, states[run], modtest.State(t, u.dir), "run %d", run)
			}
		})
	}
}

// anyChange is a resource about one of a few paths.
func anyChange(r *rand.Rand) wire.Entry {
	path := "$/" + []string{"a", "b", "d", "d/e", "d/f"}[r.IntN(5)]
	switch r.IntN(6) {
	case 0:
		return enginetest.File(path, `"ensure":"directory","mode":"0755"`)
	case 1:
		return removed(path, `,"force":true`)
	case 2:
		return linkTo(path, "/nowhere"+strconv.Itoa(r.IntN(2)))
	case 3:
		return enginetest.File(path, `"mode":"06`+strconv.Itoa(r.IntN(8))+`4"`)
	}
	return text(path, "text "+strconv.Itoa(r.IntN(3)))
}

// TestCauseOfAnUndo: the changes of an undo have it as their cause, and later changes of the manifest have the manifest
// as theirs.
func TestCauseOfAnUndo(t *testing.T) {
	u := newUndoer(t)
	u.write("f", "old")
	applied := &mortalJournal{m: &mortal{}}
	run := func(cat wire.Catalog) (causes []wire.Cause) {
		e := u.engine()
		e.Applied = applied
		require.NoError(t, e.TakeBack(&cat))
		results, _ := enginetest.Run(t, e, u.dir, enginetest.In(u.dir, cat))
		for _, r := range results {
			causes = append(causes, r.Cause)
		}
		return causes
	}
	apply := wire.Catalog{Lock: &wire.Lock{Run: "1"}, Entries: []wire.Entry{text("$/f", "new")}}
	require.Equal(t, []wire.Cause{wire.Intent}, run(apply))
	u.write("f", "his")
	require.Equal(t, []wire.Cause{wire.Drift}, run(apply))
	require.Equal(t, []wire.Cause{wire.Undone}, run(wire.Catalog{Lock: &wire.Lock{Run: "2"}, Undo: &wire.Undo{Run: "1"}}))
	require.Equal(t, []wire.Cause{wire.Intent}, run(apply))
}

// TestWarningsOfWhatIsNotKept has a run change what cannot be undone: that is a warning of the run.
func TestWarningsOfWhatIsNotKept(t *testing.T) {
	u := newUndoer(t)
	u.write("f", "")
	require.NoError(t, os.Truncate(u.at("f"), 17<<20))
	require.NoError(t, os.Mkdir(u.at("d"), 0o755))
	require.NoError(t, syscall.Mkfifo(u.at("d/p"), 0o600))
	u.write("d/x", "x")
	u.write("l", "a\n")
	require.NoError(t, os.Chmod(u.at("l"), 0o644|os.ModeSetgid))
	u.apply("1", text("$/f", "new"), removed("$/d", `,"force":true`), lineOf("$/l", "b", ""), text("$/g", "new"))
	require.Equal(t, []string{
		"warning: it cannot be undone later: $/f: it had more than the 16 MiB that are kept of a file",
		"warning: it cannot be undone later: $/d/p: it was a device, socket or pipe",
	}, u.warn)
	require.Equal(t, []string{
		"changed file#$/g: removed what the run had made",
		"changed line#$/l: restored the state before the run",
		"failed file#$/d: restored the state before the run: put back in part; left unchanged: $/d/p: it was a device, socket or pipe",
		"failed file#$/f: left unchanged: $/f: it had more than the 16 MiB that are kept of a file",
	}, u.undo("1", false))
}
