package engine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/system"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// nested stands for so many entries before it.
func nested(entries int, change ...func(*wire.Entry)) wire.Entry {
	e := wire.Entry{Type: "apply", Name: "n.yaml", Scope: &wire.Scope{Entries: entries}}
	for _, c := range change {
		c(&e)
	}
	return e
}

func TestScopes(t *testing.T) {
	content := func(path string) wire.Entry { return file("$/"+path, `"mode":"0644","content":"x"`) }
	never := content("missing/a") // which fails in check runs, too
	fails := func() wire.Entry { return command("false", "") }
	ends := func(e *wire.Entry) { e.Scope.FailOnError = true }
	noop := func(e *wire.Entry) { e.Check = true }
	after := func(targets ...int) func(*wire.Entry) {
		return func(e *wire.Entry) { e.Require = targets }
	}
	refreshed := func(by int) wire.Entry {
		return with(command("echo", `"refreshonly":true`), func(e *wire.Entry) { e.Subscribe = []int{by} })
	}
	guarded := command("touch $/made", `"creates":"$/made"`)
	uncertain := func() wire.Entry { return command("cat $/made", `"onlyif":"test -e $/made"`) }
	for _, c := range []struct {
		name                string
		cat                 wire.Catalog
		check, first, again string
	}{
		{"changed and stable", wire.Catalog{Entries: []wire.Entry{content("a"), content("b"), nested(2)}},
			"changed changed changed", "changed changed changed", "stable stable stable"},
		{"nothing in it", wire.Catalog{Entries: []wire.Entry{nested(0)}}, "stable", "stable", "stable"},
		{"scopes in scopes", wire.Catalog{Entries: []wire.Entry{content("a"), nested(1), content("b"), nested(3), content("c")}},
			"changed changed changed changed changed", "changed changed changed changed changed", "stable stable stable stable stable"},
		{"a failure deep inside", wire.Catalog{Entries: []wire.Entry{guarded, fails(), nested(1), content("b"), nested(4), content("c")}},
			"changed? changed? changed? changed? changed? changed?", "changed failed failed changed failed changed", "stable failed failed stable failed stable"},
		{"the scope ends, and nothing else", wire.Catalog{Entries: []wire.Entry{fails(), content("a"), nested(2, ends), content("b")}},
			"changed? changed? changed? changed?", "failed skipped failed changed", "failed skipped failed stable"},
		{"with the scopes in it", wire.Catalog{Entries: []wire.Entry{fails(), content("a"), nested(1), nested(3, ends), content("b")}},
			"changed? changed? changed? changed? changed?", "failed skipped skipped failed changed", "failed skipped skipped failed stable"},
		{"a scope within ends, and then the one around it", wire.Catalog{Entries: []wire.Entry{content("a"), fails(), content("b"), nested(2, ends), content("c"), nested(5, ends), content("d")}},
			"changed changed? changed? changed? changed? changed? changed?", "changed failed skipped failed skipped failed changed", "stable failed skipped failed skipped failed stable"},
		{"a scope that goes on within one that ends", wire.Catalog{Entries: []wire.Entry{fails(), content("a"), nested(2), content("b"), nested(4, ends)}},
			"changed? changed? changed? changed? changed?", "failed changed failed skipped failed", "failed stable failed skipped failed"},
		{"the play ends with the scope", wire.Catalog{FailOnError: true, Entries: []wire.Entry{fails(), content("a"), nested(2), content("b")}},
			"changed? changed? changed? changed?", "failed changed failed skipped", "failed stable failed skipped"},
		{"required", wire.Catalog{Entries: []wire.Entry{fails(), with(content("a"), after(0)), nested(1, after(0)), with(content("b"), after(2)), with(content("c"), after(1))}},
			"changed? changed? changed? changed? changed?", "failed skipped skipped skipped skipped", "failed skipped skipped skipped skipped"},
		{"what did not begin is not met", wire.Catalog{Entries: []wire.Entry{fails(), content("a"), nested(2, ends), with(content("b"), after(1))}},
			"changed? changed? changed? changed?", "failed skipped failed skipped", "failed skipped failed skipped"},
		{"a requirement outside of the scope", wire.Catalog{Entries: []wire.Entry{never, with(content("a"), after(0)), nested(1), with(content("b"), after(2)), refreshed(2)}},
			"failed skipped failed skipped stable", "failed skipped failed skipped stable", "failed skipped failed skipped stable"},
		{"a requirement outside that may not be met", wire.Catalog{Entries: []wire.Entry{fails(), with(content("a"), after(0)), nested(1), with(content("b"), after(2)), refreshed(2)}},
			"changed? changed? changed? changed? changed*?", "failed skipped failed skipped stable", "failed skipped failed skipped stable"},
		{"a requirement outside, beside a change", wire.Catalog{Entries: []wire.Entry{never, with(content("a"), after(0)), content("c"), nested(2), refreshed(3)}},
			"failed skipped changed failed stable", "failed skipped changed failed stable", "failed skipped stable failed stable"},
		{"a requirement outside, two levels down", wire.Catalog{Entries: []wire.Entry{never, with(content("a"), after(0)), nested(1), nested(2), with(content("b"), after(3)), nested(1), refreshed(3)}},
			"failed skipped failed failed skipped failed stable", "failed skipped failed failed skipped failed stable", "failed skipped failed failed skipped failed stable"},
		{"a skip for a requirement does not end a manifest, as in CCM", wire.Catalog{Entries: []wire.Entry{never, with(content("a"), after(0)), content("c"), nested(2, ends)}},
			"failed skipped changed failed", "failed skipped changed failed", "failed skipped stable failed"},
		{"a noop resource with a requirement outside", wire.Catalog{Entries: []wire.Entry{never, with(with(content("a"), noop), after(0)), nested(1), with(content("b"), after(2))}},
			"failed skipped failed skipped", "failed skipped failed skipped", "failed skipped failed skipped"},
		{"a requirement that control excludes", wire.Catalog{Entries: []wire.Entry{with(never, func(e *wire.Entry) { e.Excluded = true }), with(content("a"), after(0)), nested(1)}},
			"skipped changed changed", "skipped changed changed", "skipped stable stable"},
		{"a requirement outside, and one of the scope that may not be met", wire.Catalog{Entries: []wire.Entry{never, fails(), with(content("a"), after(0, 1)), nested(1, after(1))}},
			"failed changed? skipped changed?", "failed failed skipped skipped", "failed failed skipped skipped"},
		{"subscribed", wire.Catalog{Entries: []wire.Entry{content("a"), nested(1), refreshed(1), refreshed(0)}},
			"changed changed changed*? changed*?", "changed changed changed* changed*", "stable stable stable stable"},
		{"excluded", wire.Catalog{Entries: []wire.Entry{with(content("a"), func(e *wire.Entry) { e.Excluded = true }), nested(1)}},
			"skipped stable", "skipped stable", "skipped stable"},
		{"noop", wire.Catalog{Entries: []wire.Entry{with(content("a"), noop), nested(1, noop), refreshed(1)}},
			"changed changed stable", "changed changed stable", "changed changed stable"},
		{"a noop resource in it", wire.Catalog{Entries: []wire.Entry{with(content("a"), noop), nested(1), refreshed(1)}},
			"changed stable stable", "changed stable stable", "changed stable stable"},
		{"uncertain", wire.Catalog{Entries: []wire.Entry{guarded, content("a"), uncertain(), nested(2), with(content("b"), after(3))}},
			"changed? changed? stable? changed? changed?", "changed changed changed changed changed", "stable stable changed changed stable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, parallel := range []int{0, 1} {
				dir := t.TempDir()
				journal := &mortalJournal{m: &mortal{}} // notes of one run for the next
				run := func(check bool) string {
					cat := clone(c.cat)
					cat.Check, cat.Parallel = check, parallel
					results := play(t, dir, cat, func(e *engine.Engine) { e.Refreshes = journal })
					return brief(results)
				}
				if parallel == 0 { // in a graph, less is uncertain
					require.Equal(t, c.check, run(true), "check")
				}
				require.Equal(t, c.first, run(false), "first")
				require.Equal(t, c.again, run(false), "again")
			}
		})
	}
}

func TestScopesTell(t *testing.T) {
	dir := t.TempDir()
	ends := func(e *wire.Entry) { e.Scope.FailOnError = true }
	entries := func() []wire.Entry {
		return []wire.Entry{
			file("$/a", `"mode":"0644"`), file("$/b", `"mode":"0644"`), nested(2),
			command("false", ""), file("$/c", `"mode":"0644"`), nested(2, ends),
		}
	}
	results, _ := runEntries(t, dir, wire.Catalog{Check: true, Entries: entries()[:3]})
	require.Equal(t, "Would have changed 2 of 2 resources", results[2].Message)
	results, _ = runEntries(t, dir, wire.Catalog{Entries: entries()})
	require.Equal(t, "changed 2 of 2 resources", results[2].Message)
	require.Equal(t, "exec#false", results[4].Because)
	require.Equal(t, `skipped because its manifest has "fail_on_error"`, results[4].Message)
	require.Equal(t, "child manifest had 1 failed resources", results[5].Error)

	after := func(target int) func(*wire.Entry) { return func(e *wire.Entry) { e.Require = []int{target} } }
	results, _ = runEntries(t, dir, wire.Catalog{Entries: []wire.Entry{
		command("false", ""), with(file("$/d", `"mode":"0644"`), after(0)), nested(1),
		with(file("$/e", `"mode":"0644"`), after(0)), command("exit 2", ""), nested(2), with(nested(0), after(2)),
	}})
	require.Equal(t, "child manifest had 1 failed resources: file#$/d was skipped due to unmet requirement exec#false", results[2].Error)
	require.Equal(t, "child manifest had 2 failed resources: file#$/e was skipped due to unmet requirement exec#false", results[5].Error)
	require.Equal(t, "apply#n.yaml", results[6].Because)
}

func TestWrongScopes(t *testing.T) {
	for _, entries := range [][]wire.Entry{
		{nested(1)}, {nested(-1)}, {nested(1 << 62)},
		{nested(0), nested(1), nested(1)}, // which begins within the one before
	} {
		e := &engine.Engine{Host: system.New()}
		_, err := e.Run(t.Context(), &wire.Catalog{Entries: entries}, nil)
		require.ErrorContains(t, err, "apply#n.yaml stands for")
		require.ErrorContains(t, err, "resources that it cannot have")
	}
}

// FuzzScopes runs catalogs of scopes alone: each byte is the number of entries of one scope. Every entry has a result,
// or the catalog is refused.
func FuzzScopes(f *testing.F) {
	for _, seed := range []string{"", "\x00", "\x01", "\x00\x01\x02", "\x00\x00\x02\x01", "\x00\x01\x01", "\x00\xff", "\x00\x00\x00\x02\x04"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, scopes []byte) {
		if len(scopes) > 200 {
			return
		}
		var entries []wire.Entry
		open := []int{} // entries of scopes that nothing stands for yet
		valid := true
		for i, b := range scopes {
			n := int(int8(b))
			entries = append(entries, nested(n))
			left := n
			for left > 0 && len(open) > 0 {
				last := len(open) - 1
				left -= 1 + entries[open[last]].Scope.Entries
				open = open[:last]
			}
			valid = valid && n >= 0 && left == 0
			open = append(open, i)
		}
		e := &engine.Engine{Host: system.New(), Now: time.Now}
		results := 0
		_, err := e.Run(t.Context(), &wire.Catalog{Entries: entries}, func(*wire.Result) error { results++; return nil })
		if !valid {
			require.Error(t, err)
			require.Zero(t, results)
			return
		}
		require.NoError(t, err)
		require.Equal(t, len(entries), results)
	})
}
