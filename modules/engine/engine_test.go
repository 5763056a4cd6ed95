package engine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/enginetest"
	"github.com/ccm-push/ccm-push/modules/wire"
)

var file, command, with, receiving = enginetest.File, enginetest.Command, enginetest.With, enginetest.Receiving

// runEntries takes entries through an engine on this machine. $ stands for dir.
func runEntries(t *testing.T, dir string, cat wire.Catalog) (results []wire.Result, stopped bool) {
	t.Helper()
	return enginetest.Run(t, enginetest.New(), dir, enginetest.In(dir, cat))
}

// brief is a result in a word or two: "changed", "stable?" (uncertain), "changed*" (refreshed).
func brief(results []wire.Result) string {
	var words []string
	for _, r := range results {
		word := string(r.Status)
		if word == "" {
			word = "stable"
		}
		if r.Refreshed {
			word += "*"
		}
		if r.Grade != modules.Certain {
			word += "?"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func TestEngine(t *testing.T) {
	const mode = `"mode":"0644"`
	text := func(s string) string { return mode + `,"content":"` + s + `"` }
	require1 := func(e *wire.Entry) { e.Require = []int{0} }
	subscribe1 := func(e *wire.Entry) { e.Subscribe = []int{0} }
	noop := func(e *wire.Entry) { e.Check = true }
	for name, tc := range map[string]struct {
		entries             []wire.Entry
		check, first, again string // brief results of a check run and two real ones
	}{
		"file": {
			[]wire.Entry{file("$/a", text("x"))},
			"changed", "changed", "stable",
		},
		"a file in a directory that is made before": {
			[]wire.Entry{file("$/d", `"ensure":"directory","mode":"0755"`), file("$/d/a", text("x"))},
			"changed changed", "changed changed", "stable stable",
		},
		"a file in a directory that nobody makes": {
			[]wire.Entry{file("$/d/a", text("x"))},
			"failed", "failed", "failed",
		},
		"a file in a directory that a command may make": {
			[]wire.Entry{command("mkdir -p $/d", ""), file("$/d/a", text("x"))},
			"changed? changed?", "changed changed", "changed stable",
		},
		"a requirement that fails": {
			[]wire.Entry{file("$/d/a", text("x")), with(file("$/b", text("x")), require1), file("$/c", text("x"))},
			"failed skipped changed", "failed skipped changed", "failed skipped stable",
		},
		"a requirement whose success is not known": {
			[]wire.Entry{command("false", ""), with(file("$/b", text("x")), require1)},
			"changed? changed?", "failed skipped", "failed skipped",
		},
		"requirements chain": {
			[]wire.Entry{
				file("$/d/a", text("x")), with(file("$/b", text("x")), require1),
				with(file("$/c", text("x")), func(e *wire.Entry) { e.Require = []int{1} }),
			},
			"failed skipped skipped", "failed skipped skipped", "failed skipped skipped",
		},
		"an excluded requirement is fine": {
			[]wire.Entry{{Type: "file", Name: "x", Excluded: true}, with(file("$/b", text("x")), require1)},
			"skipped changed", "skipped changed", "skipped stable",
		},
		"a refresh": {
			[]wire.Entry{file("$/a", text("x")), with(command("touch $/b", `"refreshonly":true`), subscribe1)},
			"changed changed*?", "changed changed*", "stable stable",
		},
		"a refresh that is not needed": {
			[]wire.Entry{file("$", `"ensure":"directory","mode":"0755"`), with(command("touch $/b", `"refreshonly":true`), subscribe1)},
			"stable stable", "stable stable", "stable stable",
		},
		"noop in a run that changes things": {
			[]wire.Entry{
				with(file("$/a", text("x")), noop),
				with(command("touch $/b", `"refreshonly":true`), subscribe1),
				with(command("touch $/c", `"refreshonly":true`), func(e *wire.Entry) { subscribe1(e); noop(e) }),
			},
			"changed stable changed*?", "changed stable changed*?", "changed stable changed*?",
		},
		"noop entries see what real ones have done": {
			[]wire.Entry{
				with(file("$/d", `"ensure":"directory","mode":"0755"`), noop),
				file("$/e", `"ensure":"directory","mode":"0755"`),
				with(file("$/d/a", text("x")), noop),
				with(file("$/e/a", text("x")), noop),
			},
			"changed changed changed changed", "changed changed changed changed", "changed stable changed changed",
		},
		"what a noop entry would remove stays": {
			[]wire.Entry{
				file("$/d", `"ensure":"directory","mode":"0755"`),
				with(file("$/d", `"ensure":"absent"`), noop),
				file("$/d/a", text("x")),
			},
			"changed changed changed", "changed changed changed", "stable failed stable",
		},
		"removed and made again": {
			[]wire.Entry{
				file("$/d", `"ensure":"directory","mode":"0755"`), file("$/d/a", text("x")),
				with(file("$/d", `"ensure":"absent","force":true`), func(e *wire.Entry) { e.Alias = "gone" }),
				file("$/d/a", text("x")),
			},
			"changed changed changed failed", "changed changed changed failed", "changed changed changed failed",
		},
		"a guard behind a pending change": {
			[]wire.Entry{file("$/a", text("x")), command("touch $/b", `"unless":"test -e $/a"`)},
			"changed changed?", "changed stable", "stable stable",
		},
		"what follows a command that may yet run": {
			[]wire.Entry{
				file("$/flag", text("x")), file("$/conf", text("x")),
				command("rm $/conf", `"onlyif":"test -e $/flag"`),
				file("$/conf", text("x")),
			},
			"changed changed stable? stable?", "changed changed changed changed", "stable stable changed changed",
		},
		"a path that a command creates": {
			[]wire.Entry{command("touch $/b", `"creates":"$/b"`), command("false", `"creates":"$/b"`)},
			"changed? stable?", "changed stable", "stable stable",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.Chmod(dir, 0o755))
			entries := func() []wire.Entry { return append([]wire.Entry(nil), tc.entries...) }
			results, _ := runEntries(t, dir, wire.Catalog{Check: true, Entries: entries()})
			require.Equal(t, tc.check, brief(results), "check: %+v", results)
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Empty(t, left, "a check changes nothing")
			results, _ = runEntries(t, dir, wire.Catalog{Entries: entries()})
			require.Equal(t, tc.first, brief(results), "first: %+v", results)
			results, _ = runEntries(t, dir, wire.Catalog{Entries: entries()})
			require.Equal(t, tc.again, brief(results), "again: %+v", results)
		})
	}
}

func TestEngineFollowsLinksInTheForecast(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "real"), 0o755))
	require.NoError(t, os.Symlink("real", filepath.Join(dir, "link")))
	entries := []wire.Entry{
		file("$/link/d", `"ensure":"directory","mode":"0755"`),
		file("$/real/d/a", `"mode":"0644","content":"x"`),
	}
	results, _ := runEntries(t, dir, wire.Catalog{Check: true, Entries: entries})
	require.Equal(t, "changed changed", brief(results), "%+v", results)
}

func TestEngineDiff(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), []byte("one\ntwo\n"), 0o644))
	entry := file("$/a", `"mode":"0644","content":"one\n2\n"`)
	results, _ := runEntries(t, dir, wire.Catalog{Check: true, Diff: true, Entries: []wire.Entry{entry}})
	require.Equal(t, "--- $/a\n+++ $/a\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n", results[0].Diff)
	require.Equal(t, "Would have updated the file", results[0].Message)
	require.Equal(t, []modules.Change{{
		Property: "content",
		Have:     "sha256:" + modules.TextContent("one\ntwo\n").SHA256(),
		Want:     "sha256:" + modules.TextContent("one\n2\n").SHA256(),
	}}, results[0].Changes)
}

// TestEngineTellsBinaryInWords checks that binary content has no diff.
func TestEngineTellsBinaryInWords(t *testing.T) {
	dir := t.TempDir()
	binary := strings.Repeat("\x00", 1500)
	for name, text := range map[string]string{"a": binary, "b": "text\n", "d": strings.Repeat("x", 1<<20+1)} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	entries := []wire.Entry{
		file("$/a", `"mode":"0644","content":"text\n"`),
		file("$/b", `"mode":"0644","content":"\u0000"`),
		file("$/c", `"mode":"0644","content":"\u0000"`),
		file("$/d", `"mode":"0644","content":"x"`),
	}
	of := func(text string) string { return modules.TextContent(text).SHA256()[:12] + "…" }
	for _, check := range []bool{true, false} {
		results, _ := runEntries(t, dir, wire.Catalog{Check: check, Diff: true, Entries: entries})
		require.Equal(t, "$/a: binary, 1.5 KiB -> 5 bytes, sha256 "+of(binary)+" -> "+of("text\n")+"\n", results[0].Diff)
		require.Equal(t, "$/b: binary, 5 bytes -> 1 byte, sha256 "+of("text\n")+" -> "+of("\x00")+"\n", results[1].Diff)
		require.Equal(t, "$/c: binary, nothing -> 1 byte, sha256 nothing -> "+of("\x00")+"\n", results[2].Diff)
		require.Contains(t, results[3].Diff, "$/d: larger than 1.0 MiB, 1.0 MiB -> 1 byte, sha256 ")
	}
}

func TestEngineWithholdsWhatIsSensitive(t *testing.T) {
	dir := t.TempDir()
	secret := func(e wire.Entry) wire.Entry { e.Sensitive = true; return e }
	cat := wire.Catalog{Diff: true, Entries: []wire.Entry{
		secret(file("$/a", `"mode":"0600","content":"hunter2"`)),
		secret(command("echo out-hunter2; echo err-hunter2 >&2; exit 3", "")),
		secret(command("x", `"provider":"posix","command":"/no/such/hunter2"`)),
	}}
	results, _ := runEntries(t, dir, cat)
	require.Equal(t, "changed failed failed", brief(results))
	shown, err := json.Marshal([]any{results[0], results[1].Exit, results[1].Error, results[1].Messages, results[2].Error})
	require.NoError(t, err)
	require.NotContains(t, string(shown), "hunter2")
	require.NotContains(t, string(shown), modules.TextContent("hunter2").SHA256())
	require.Equal(t, 3, results[1].Exit.Code)
	require.Contains(t, results[1].Error, "exit code 3")
}

func TestEngineStops(t *testing.T) {
	dir := t.TempDir()
	three := func() []wire.Entry {
		return []wire.Entry{command("false", ""), file("$/b", `"mode":"0644"`), file("$/c", `"mode":"0644"`)}
	}
	results, stopped := runEntries(t, dir, wire.Catalog{FailOnError: true, Entries: three()})
	require.Equal(t, "failed skipped skipped", brief(results))
	require.Equal(t, wire.Result{Index: 2, Status: wire.Skipped, Because: "exec#false", Reason: wire.SkippedPlayEnded, Message: `skipped because its manifest has "fail_on_error"`, Unmet: true}, results[2])
	require.False(t, stopped)
	// An entry that a failure would prevent is not certain.
	results, _ = runEntries(t, dir, wire.Catalog{FailOnError: true, Check: true, Entries: three()})
	require.Equal(t, "changed? changed? changed?", brief(results))
	results, _ = runEntries(t, dir, wire.Catalog{FailOnError: true, Check: true, Entries: append(three(), wire.Entry{Type: "exec", Name: "no", Excluded: true})})
	require.Equal(t, "changed? changed? changed? skipped?", brief(results))

	n := 0
	e := enginetest.New()
	e.Stop = func() bool { n++; return n > 1 }
	results, stopped = enginetest.Run(t, e, dir, wire.Catalog{Entries: []wire.Entry{command("true", ""), command("true", "")}})
	require.True(t, stopped)
	require.Len(t, results, 1)
}
