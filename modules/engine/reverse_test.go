package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/engine/enginetest"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// A rememberer is a host on which plays run one after the other, each run with an engine
// of its own, or all in one session.
type rememberer struct {
	t     *testing.T
	dir   string // replaces $
	store *mortalJournal
	one   *engine.Engine // engine of the session; nil means a new one for each run
}

func newRememberer(t *testing.T) *rememberer {
	return &rememberer{t: t, dir: t.TempDir(), store: &mortalJournal{m: &mortal{}}}
}

// engine makes one for a host that may die.
func (r *rememberer) engine(m *mortal) *engine.Engine {
	r.store.m = m
	e := enginetest.New()
	e.Host.Files.FileWriter = dyingFiles{e.Host.Files.FileWriter, m}
	e.Now = func() time.Time { return time.Unix(0, 0) }
	e.Reversals = r.store
	return e
}

// whole is the catalog of a whole run of the play "p".
func whole(entries ...wire.Entry) wire.Catalog {
	return wire.Catalog{Remember: &wire.Remember{As: "p", Whole: true}, Entries: entries}
}

// reversed has entries say reverse.
func reversed(entries ...wire.Entry) []wire.Entry {
	for i := range entries {
		entries[i].Reverse = true
	}
	return entries
}

// run returns each result as "STATUS NAME: MESSAGE" or "STATUS NAME: ERROR".
func (r *rememberer) run(cat wire.Catalog) []string {
	r.t.Helper()
	results, died := r.mortal(&mortal{}, cat)
	require.False(r.t, died)
	return results
}

func (r *rememberer) mortal(m *mortal, cat wire.Catalog) (results []string, died bool) {
	r.t.Helper()
	defer func() {
		if got := recover(); got != nil {
			if _, ok := got.(crash); !ok {
				panic(got)
			}
			died = true
		}
	}()
	e := r.one
	if e == nil {
		e = r.engine(m)
	}
	cat = enginetest.In(r.dir, cat)
	names := []string{}
	for i := range cat.Entries {
		names = append(names, cat.Entries[i].Name)
	}
	e.Undoes = func(left *wire.Reversals) error {
		for _, one := range left.Entries {
			names = append(names, one.Name)
		}
		return nil
	}
	_, err := e.Run(r.t.Context(), &cat, func(result *wire.Result) error {
		status := result.Status
		if status == "" {
			status = wire.Stable
		}
		line := string(status) + " " + names[result.Index] // which panics if it was not announced
		if text := result.Message + result.Error; text != "" {
			line += ": " + text
		}
		for _, note := range result.Messages {
			line += " [" + note.Text + "]"
		}
		results = append(results, strings.ReplaceAll(line, r.dir, "$"))
		return nil
	})
	require.NoError(r.t, err)
	return results, false
}

func (r *rememberer) write(name, text string) {
	require.NoError(r.t, os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o640))
}

func (r *rememberer) read(name string) string {
	text, err := os.ReadFile(filepath.Join(r.dir, name))
	if errors.Is(err, os.ErrNotExist) {
		return "absent"
	}
	require.NoError(r.t, err)
	return string(text)
}

func text(path, content string) wire.Entry {
	return file(path, fmt.Sprintf(`"mode":"0600","content":%q`, content))
}

// TestReverse is the story from the first run to the last.
func TestReverse(t *testing.T) {
	r := newRememberer(t)
	r.write("old", "before\n")
	cat := whole(append(reversed(text("$/old", "mine\n"), text("$/new", "mine\n")), text("$/stays", "mine\n"))...)
	checked := cat
	checked.Check = true
	require.Equal(t, []string{"changed $/old: Would have updated the file", "changed $/new: Would have created the file", "changed $/stays: Would have created the file"}, r.run(checked))
	require.Empty(t, r.store.text, "a check run remembers nothing")
	require.Equal(t, []string{"changed $/old: updated the file", "changed $/new: created the file", "changed $/stays: created the file"}, r.run(cat))
	noted := string(r.store.text)
	require.Equal(t, []string{"stable $/old", "stable $/new", "stable $/stays"}, r.run(cat))
	again := whole(reversed(text("$/old", "other\n"), text("$/new", "other\n"))...)
	require.Equal(t, []string{"changed $/old: updated the file", "changed $/new: updated the file"}, r.run(again))
	require.Equal(t, noted, string(r.store.text), "the first record stays")

	gone := whole(text("$/stays", "mine\n"))
	checked = gone
	checked.Check = true
	for range 2 {
		require.Equal(t, []string{
			"stable $/stays",
			"changed $/new: Would have removed the file",
			"changed $/old: Would have updated the file",
		}, r.run(checked))
	}
	require.Equal(t, noted, string(r.store.text))
	require.Equal(t, []string{
		"stable $/stays",
		"changed $/new: removed the file",
		"changed $/old: updated the file",
	}, r.run(gone))
	require.Equal(t, "before\n", r.read("old"))
	info, err := os.Stat(r.dir + "/old")
	require.NoError(t, err)
	require.Equal(t, "-rw-r-----", info.Mode().String())
	require.Equal(t, "absent", r.read("new"))
	require.Equal(t, "mine\n", r.read("stays"))
	require.Empty(t, r.store.text)
	require.Equal(t, []string{"stable $/stays"}, r.run(gone))
}

// TestWhatIsNotUndone has the runs after which a resource is still as the play had it.
func TestWhatIsNotUndone(t *testing.T) {
	other := text("$/other", "x")
	failing := file("$/no/where", `"mode":"0600","content":"x"`)
	const waits = " [resources removed from the manifest (1) are not undone before a complete run, because this failure ends the play]"
	for name, test := range map[string]struct {
		next   wire.Catalog
		want   []string
		forget bool
	}{
		"not a whole run":         {wire.Catalog{Remember: &wire.Remember{As: "p"}, Entries: []wire.Entry{other}}, []string{"changed $/other: created the file"}, false},
		"a play nobody remembers": {wire.Catalog{Entries: []wire.Entry{other}}, []string{"changed $/other: created the file"}, false},
		"another play":            {wire.Catalog{Remember: &wire.Remember{As: "q", Whole: true}, Entries: []wire.Entry{other}}, []string{"changed $/other: created the file"}, false},
		"health checks only": {wire.Catalog{Monitor: true, Remember: &wire.Remember{As: "p", Whole: true}, Entries: []wire.Entry{other}},
			[]string{"stable $/other"}, false},
		"a failure that ends the play": {
			wire.Catalog{FailOnError: true, Remember: &wire.Remember{As: "p", Whole: true}, Entries: []wire.Entry{failing, other}},
			[]string{`failed $/no/where: the directory "$/no" does not exist (create it with a file resource that has ensure: directory)` + waits, `skipped $/other: skipped because its manifest has "fail_on_error"`}, false,
		},
		"a predicted failure that ends the play": {
			wire.Catalog{FailOnError: true, Check: true, Remember: &wire.Remember{As: "p", Whole: true}, Entries: []wire.Entry{failing}},
			[]string{`failed $/no/where: the directory "$/no" does not exist (create it with a file resource that has ensure: directory)` + waits}, false,
		},
		"a failure that ends the play after a part of it": {
			wire.Catalog{FailOnError: true, Remember: &wire.Remember{As: "p"}, Entries: []wire.Entry{failing}},
			[]string{`failed $/no/where: the directory "$/no" does not exist (create it with a file resource that has ensure: directory)`}, false,
		},
		"a failure that ends the play, in which all is there": {
			wire.Catalog{FailOnError: true, Remember: &wire.Remember{As: "p", Whole: true, Kept: []string{"file#$/a"}}, Entries: []wire.Entry{failing}},
			[]string{`failed $/no/where: the directory "$/no" does not exist (create it with a file resource that has ensure: directory)`}, false,
		},
		"failures of several at once end the play": {
			wire.Catalog{FailOnError: true, Parallel: 2, Remember: &wire.Remember{As: "p", Whole: true}, Entries: []wire.Entry{failing, command("false", "")}},
			nil, false,
		},
		"a nested manifest whose failure ends the play": {
			wire.Catalog{FailOnError: true, Remember: &wire.Remember{As: "p", Whole: true}, Entries: []wire.Entry{failing, {Type: "apply", Name: "child", Scope: &wire.Scope{Entries: 1, FailOnError: true}}}},
			[]string{`failed $/no/where: the directory "$/no" does not exist (create it with a file resource that has ensure: directory)`, "failed child: child manifest had 1 failed resources" + waits}, false,
		},
		"excluded by control": {whole(wire.Entry{Type: "file", Name: "$/a", Excluded: true}), []string{"skipped $/a: excluded by control"}, false},
		"left out by a tag":   {wire.Catalog{Remember: &wire.Remember{As: "p", Whole: true, Kept: []string{"file#$/a"}}, Entries: []wire.Entry{other}}, []string{"changed $/other: created the file"}, false},
		"without reverse":     {whole(text("$/a", "mine")), []string{"stable $/a"}, true},
		"a line of it is looked after": {
			whole(wire.Entry{Type: "line", Name: "$/a", Properties: json.RawMessage(`{"name":"$/a","line":"mine"}`)}),
			[]string{"stable $/a", "skipped $/a: it has left the manifest, and is not undone: line#$/a looks after it now"}, true,
		},
		"a later play has it": {
			wire.Catalog{Remember: &wire.Remember{As: "p", Whole: true, Others: []string{"file#$/a"}}, Entries: []wire.Entry{other}},
			[]string{"changed $/other: created the file", "skipped $/a: it has left the manifest, and is not undone: a later play looks after it now"}, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRememberer(t)
			r.run(whole(reversed(text("$/a", "mine"))...))
			noted := string(r.store.text)
			if m := test.next.Remember; m != nil && m.Kept != nil {
				m.Kept = []string{strings.ReplaceAll(m.Kept[0], "$", r.dir)}
			}
			if m := test.next.Remember; m != nil && m.Others != nil {
				m.Others = []string{strings.ReplaceAll(m.Others[0], "$", r.dir)}
			}
			got := r.run(test.next)
			if test.want != nil {
				require.Equal(t, test.want, got)
			} else { // in any order
				require.Equal(t, 1, strings.Count(strings.Join(got, "\n"), waits), got)
			}
			require.Equal(t, "mine", r.read("a"))
			if test.forget {
				require.Empty(t, r.store.text)
			} else {
				require.Equal(t, noted, string(r.store.text))
			}
		})
	}
}

// TestWhatAnEarlierPlayLooksAfter is not undone, whichever type looks after it.
func TestWhatAnEarlierPlayLooksAfter(t *testing.T) {
	r := newRememberer(t)
	r.run(whole(reversed(text("$/a", "mine"))...))
	r.one = r.engine(&mortal{})
	require.Equal(t, []string{"stable $/a"}, r.run(wire.Catalog{Entries: []wire.Entry{text("$/a", "mine")}}))
	require.Equal(t, []string{
		"changed $/b: created the file",
		"skipped $/a: it has left the manifest, and is not undone: file#$/a looks after it now",
	}, r.run(whole(text("$/b", ""))))
	require.Equal(t, "mine", r.read("a"))
	require.Empty(t, r.store.text)
}

// TestUndoneInReverse has a directory that can be removed only after its contents, and stays while it contains a
// foreign file.
func TestUndoneInReverse(t *testing.T) {
	r := newRememberer(t)
	dir := file("$/d", `"ensure":"directory","mode":"0755"`)
	r.run(whole(reversed(dir, text("$/d/a", "x"))...))
	require.Equal(t, []string{
		"changed $/d/b: created the file",
		"changed $/d/a: removed the file",
		"skipped $/d: it has left the manifest, and is not undone yet: file#$/d/b is in it",
	}, r.run(whole(reversed(text("$/d/b", "y"))...)))
	require.Equal(t, []string{
		"changed $/d/b: removed the file",
		"changed $/d: removed the directory",
	}, r.run(whole()))

	r.run(whole(reversed(dir)...))
	r.write("d/somebody's", "work")
	ends := whole()
	ends.FailOnError = true
	for _, cat := range []wire.Catalog{whole(), ends} {
		require.Equal(t, []string{
			`failed $/d: it has left the manifest, and cannot be undone: cannot remove $/d: directory is not empty; empty the directory, then the next complete run removes it (to keep it, add it to the manifest again without "reverse")`,
		}, r.run(cat))
	}
	require.Equal(t, []string{"stable $/d"}, r.run(whole(dir)))
	require.Empty(t, r.run(whole()))
}

// TestUndoneByItself has a host where the change was already undone by hand.
func TestUndoneByItself(t *testing.T) {
	r := newRememberer(t)
	r.run(whole(reversed(text("$/a", "x"))...))
	require.NoError(t, os.Remove(r.dir+"/a"))
	require.Equal(t, []string{"stable $/a: it has left the manifest; the former state is there already"}, r.run(whole()))
	require.Empty(t, r.store.text)
}

// TestWhatCannotBeUndoneIsNotDone checks that also the check run refuses such a change.
func TestWhatCannotBeUndoneIsNotDone(t *testing.T) {
	const because = "not done, because it could not be undone (the resource has \"reverse\"): "
	for name, test := range map[string]struct {
		build func(r *rememberer)
		entry wire.Entry
		want  string
	}{
		"too large": {func(r *rememberer) { r.write("a", strings.Repeat("x", modules.MaxKept+1)) }, text("$/a", "x"),
			"$/a is larger than the 64 KiB that can be kept of a file"},
		"a link": {func(r *rememberer) { require.NoError(r.t, os.Symlink("there", r.dir+"/a")) }, text("$/a", "x"),
			"the path $/a is a symlink, which a file resource cannot restore; use a link resource"},
		"two names": {func(r *rememberer) { r.write("b", "y"); require.NoError(r.t, os.Link(r.dir+"/b", r.dir+"/a")) }, text("$/a", "x"),
			"the file $/a has 2 names (hard links), and a file resource can restore only this name"},
		"a directory that is not empty": {func(r *rememberer) { require.NoError(r.t, os.MkdirAll(r.dir+"/a/b", 0o755)) }, file("$/a", `"ensure":"absent","force":true`),
			"$/a is a directory that is not empty"},
		"parents":            {func(*rememberer) {}, file("$/a/b/c", `"ensure":"directory","mode":"0755"`), "the directory $/a would also be created, and a later reversal would not remove it; write a separate resource for this directory"},
		"a type that cannot": {func(*rememberer) {}, command("touch $/a", ""), "type exec cannot"},
		"a file of lines with two names": {func(r *rememberer) { r.write("b", "y"); require.NoError(r.t, os.Link(r.dir+"/b", r.dir+"/a")) },
			wire.Entry{Type: "line", Name: "$/a", Properties: json.RawMessage(`{"name":"$/a","line":"x"}`)},
			"the file $/a has 2 names (hard links), and the change would affect only this name"},
		"damaged":           {func(r *rememberer) { r.store.text = []byte("{") }, text("$/a", "x"), "unexpected EOF [the record of former states cannot be read, so nothing is undone: unexpected EOF]"},
		"not to be read":    {func(r *rememberer) { r.store.readErr = errors.New("no") }, text("$/a", "x"), "no [the record of former states cannot be read, so nothing is undone: no]"},
		"not to be written": {func(r *rememberer) { r.store.full = errors.New("the disk is full") }, text("$/a", "x"), "the disk is full"},
		"no room": {func(r *rememberer) {
			var all []string
			for i := range wire.MaxReversals {
				all = append(all, fmt.Sprintf(`{"play":"q","type":"file","name":"/%d","properties":{}}`, i))
			}
			r.store.text = []byte(`{"reversals":[` + strings.Join(all, ",") + `]}`)
		}, text("$/a", "x"), "it would be more than 1000 resources"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRememberer(t)
			test.build(r)
			before := modtest.Snapshot(t, r.dir)
			entry := test.entry
			entry.Name = strings.ReplaceAll(entry.Name, `\n`, "\n")
			cat := whole(reversed(entry)...)
			want := "failed " + entry.Name + ": " + because + test.want
			for _, check := range []bool{true, false} {
				cat.Check = check
				require.Equal(t, []string{want}, r.run(cat))
				require.Equal(t, before, modtest.Snapshot(t, r.dir))
			}
		})
	}
	r := newRememberer(t)
	cat := wire.Catalog{Entries: reversed(text("$/a", "x"))}
	require.Equal(t, []string{"failed $/a: " + because + "the play has no name that the host could remember it by"}, r.run(cat))
}

// TestSensitiveIsUndoneInSilence expects no diff of restored sensitive content.
func TestSensitiveIsUndoneInSilence(t *testing.T) {
	r := newRememberer(t)
	r.write("a", "old secret\n")
	e := text("$/a", "new secret\n")
	e.Sensitive = true
	r.run(whole(reversed(e)...))
	e2 := r.engine(&mortal{})
	var told *wire.Reversals
	e2.Undoes = func(left *wire.Reversals) error { told = left; return nil }
	cat := whole()
	cat.Diff = true
	got, _ := enginetest.Run(t, e2, "", cat)
	require.Equal(t, &wire.Reversals{Entries: []wire.Reversal{{Type: "file", Name: r.dir + "/a", Sensitive: true}}}, told)
	require.Equal(t, []wire.Result{{
		Status: wire.Changed, Message: "updated the file",
		Changes: []modules.Change{{Property: "content", Have: "[sensitive]", Want: "[sensitive]"}, {Property: "mode", Have: "[sensitive]", Want: "[sensitive]"}},
	}}, got)
	require.Equal(t, "old secret\n", r.read("a"))
}

// TestReverseOutlivesDeath has the host program die at every step of the first run and of
// the one that undoes it, and then be run again.
func TestReverseOutlivesDeath(t *testing.T) {
	for _, parallel := range []int{0, 3} {
		for _, after := range []bool{false, true} {
			for first := range 7 {
				for second := range 7 {
					r := newRememberer(t)
					r.write("a", "was a")
					r.write("b", "was b")
					before := modtest.State(t, r.dir)
					mine := whole(reversed(text("$/a", "mine"), text("$/b", "mine"), text("$/c", "mine"))...)
					mine.Parallel = parallel
					if parallel > 0 && first > 0 { // a panic in another goroutine than the test's cannot be caught
						continue
					}
					r.mortal(&mortal{dies: first, after: after}, mine)
					r.run(mine)
					r.mortal(&mortal{dies: second, after: after}, whole())
					r.run(whole())
					require.Equal(t, before, modtest.State(t, r.dir), "died at step %d, then at %d", first, second)
					require.Empty(t, r.store.text)
				}
			}
		}
	}
}

// TestManifestsComeAndGo uses a few paths in random manifests, and then in a manifest without them. Then the host has
// its first state again.
func TestManifestsComeAndGo(t *testing.T) {
	kinds := []func(rng *rand.Rand, path string) wire.Entry{
		func(rng *rand.Rand, path string) wire.Entry { return text(path, fmt.Sprint(rng.IntN(3))) },
		func(_ *rand.Rand, path string) wire.Entry { return file(path, `"ensure":"absent"`) },
		func(rng *rand.Rand, path string) wire.Entry {
			return file(path, fmt.Sprintf(`"mode":"06%d0"`, rng.IntN(5)))
		},
		func(rng *rand.Rand, path string) wire.Entry {
			return wire.Entry{Type: "line", Name: path, Properties: json.RawMessage(fmt.Sprintf(`{"name":"%s","line":"line %d"}`, path, rng.IntN(2)))}
		},
		func(rng *rand.Rand, path string) wire.Entry {
			return wire.Entry{Type: "link", Name: path, Properties: json.RawMessage(fmt.Sprintf(`{"name":"%s","target":"%d"}`, path, rng.IntN(2)))}
		},
	}
	seeds := 150
	if testing.Short() {
		seeds /= 10
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(uint64(seed), 7))
		r := newRememberer(t)
		sorts := map[string]int{} // each path keeps to one type: between types the last one wins
		for _, name := range []string{"a", "b", "c", "d"} {
			sorts[name] = []int{0, 3, 4}[rng.IntN(3)]
			switch rng.IntN(3) {
			case 0:
				r.write(name, "line 0\nfirst\nline 1\nlast")
			case 1:
				require.NoError(t, os.Symlink("elsewhere", filepath.Join(r.dir, name)))
			}
		}
		before := modtest.State(t, r.dir)
		for range 1 + rng.IntN(5) {
			var entries []wire.Entry
			for _, name := range slices.Sorted(maps.Keys(sorts)) {
				kind := sorts[name]
				if kind == 0 {
					kind = rng.IntN(3)
				}
				if rng.IntN(3) > 0 {
					entries = append(entries, kinds[kind](rng, "$/"+name))
				}
			}
			cat := whole(reversed(entries...)...)
			cat.Parallel = rng.IntN(3)
			r.run(cat)
		}
		last := r.run(whole())
		require.Equal(t, before, modtest.State(t, r.dir), "seed %d: %s", seed, last)
		require.Empty(t, r.store.text)
		require.Empty(t, r.run(whole()))
	}
}

// TestNothingIsUndoneElsewhere replaces a directory by a link. The undo restores nothing through the link into a place
// where the owner of the link could not write.
func TestNothingIsUndoneElsewhere(t *testing.T) {
	for name, test := range map[string]struct {
		before string
		entry  wire.Entry
	}{
		"a file that comes back": {"his own\n", text("$/his/a", "mine\n")},
		"a file that goes":       {"", text("$/his/a", "mine\n")},
		"a line":                 {"his own\n", wire.Entry{Type: "line", Name: "$/his/a", Properties: json.RawMessage(`{"name":"$/his/a","line":"mine","regexp":"own"}`)}},
		"a link":                 {"", wire.Entry{Type: "link", Name: "$/his/a", Properties: json.RawMessage(`{"name":"$/his/a","target":"/mine"}`)}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRememberer(t)
			require.NoError(t, os.Mkdir(r.dir+"/his", 0o755))
			require.NoError(t, os.Mkdir(r.dir+"/etc", 0o755))
			if test.before != "" {
				r.write("his/a", test.before)
			}
			r.run(whole(reversed(test.entry)...))
			noted := string(r.store.text)
			require.NoError(t, os.Rename(r.dir+"/his", r.dir+"/moved"))
			if test.entry.Type == "link" {
				require.NoError(t, os.Symlink("/somebody's", r.dir+"/etc/a"))
			} else {
				r.write("etc/a", "mine\nsomebody's\n")
			}
			require.NoError(t, os.Symlink("etc", r.dir+"/his"))
			before := modtest.State(t, r.dir)
			cat := whole()
			for _, cat.Check = range []bool{true, false} {
				require.Equal(t, []string{
					`failed $/his/a: it has left the manifest, and cannot be undone: $/his/a was $/his/a when it was changed, and leads to $/etc/a now (to keep it, add it to the manifest again without "reverse")`,
				}, r.run(cat))
			}
			require.Equal(t, before, modtest.State(t, r.dir))
			require.Equal(t, noted, string(r.store.text))
		})
	}
}

// TestOtherNamesOfAThing has something looked after under another path than before, or
// by a type that cannot be undone.
func TestOtherNamesOfAThing(t *testing.T) {
	build := func(t *testing.T) *rememberer {
		r := newRememberer(t)
		require.NoError(t, os.Mkdir(r.dir+"/run", 0o755))
		require.NoError(t, os.Symlink("run", r.dir+"/var-run"))
		return r
	}
	r := build(t)
	r.run(whole(reversed(text("$/var-run/a", "mine"))...))
	require.Equal(t, []string{
		"stable $/run/a",
		"skipped $/var-run/a: it has left the manifest, and is not undone: file#$/run/a looks after it now",
	}, r.run(whole(text("$/run/a", "mine"))))
	require.Equal(t, "mine", r.read("run/a"))

	r = build(t)
	r.run(whole(reversed(file("$/var-run/d", `"ensure":"directory","mode":"0755"`))...))
	require.Equal(t, []string{
		"changed $/run/d/e/f: created directory",
		"skipped $/var-run/d: it has left the manifest, and is not undone yet: file#$/run/d/e/f is in it",
	}, r.run(whole(file("$/run/d/e/f", `"ensure":"directory","mode":"0755"`))))

	r = build(t)
	r.run(whole(reversed(text("$/run/a", "mine"))...))
	tree := `{"name":"$/run","tree":{"mode":493,"nodes":[{"path":"a","mode":384,"content":{"data":"bWluZQ=="}}]}}`
	require.Equal(t, []string{
		"stable $/run",
		"skipped $/run/a: it has left the manifest, and is not undone: scaffold#$/run looks after it now",
	}, r.run(whole(wire.Entry{Type: "scaffold", Name: "$/run", Properties: json.RawMessage(tree)})))
	require.Equal(t, "mine", r.read("run/a"))
}

// TestWhatBecomesSensitive is undone in silence, whether or not it has changed since.
func TestWhatBecomesSensitive(t *testing.T) {
	for _, content := range []string{"secret\n", "new secret\n"} {
		r := newRememberer(t)
		r.write("a", "before\n")
		e := text("$/a", "secret\n")
		r.run(whole(reversed(e)...))
		e = text("$/a", content)
		e.Sensitive = true
		cat := whole(reversed(e)...)
		cat.Remember.Whole = false
		r.run(cat)
		one := r.engine(&mortal{})
		one.Undoes = func(left *wire.Reversals) error {
			require.True(t, left.Entries[0].Sensitive)
			return nil
		}
		cat = whole()
		cat.Check, cat.Diff = true, true
		results, _ := enginetest.Run(t, one, "", cat)
		require.Len(t, results, 1)
		require.Empty(t, results[0].Diff)
	}
}
