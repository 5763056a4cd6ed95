package ral

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
)

func TestOneGetAndOneSet(t *testing.T) {
	needs.ProgramIn(t, modules.DefaultPath, "python3")
	dir := folder(t, map[string]string{"store.json": `{"a":{"value":"x"}}`})
	r := of(t, dir,
		`{"name":"a","type":"kv","properties":{"ensure":"present","value":"x"}}`,
		`{"name":"b","type":"kv","properties":{"ensure":"present","value":"y","on":true,"tags":["p","q"],"level":"low"}}`,
		`{"name":"c","type":"kv","properties":{"ensure":"present","value":8080}}`,
		`{"name":"d","type":"kv","properties":{"ensure":"present","value":"it's \"$(id)\" & <ü>"}}`,
	)
	predicted := r.checked().results(t)
	require.Equal(t, "get a b c d\n", read(t, dir, "calls"))
	require.Equal(t, `{"a":{"value":"x"}}`, read(t, dir, "store.json"), "a check run has called set")

	want := `stable
changed: created it through kv::python
  ensure: absent -> present
  level: unset -> low
  on: unset -> true
  tags: unset -> ["p", "q"]
  value: unset -> y
changed: created it through kv::python
  ensure: absent -> present
  value: unset -> 8080
changed: created it through kv::python
  ensure: absent -> present
  value: unset -> it's "$(id)" & <ü>`
	require.Equal(t, strings.ReplaceAll(want, "changed: created", "changed: Would have created"), briefs(predicted))
	require.NoError(t, os.Remove(filepath.Join(dir, "calls")))
	require.Equal(t, want, briefs(r.results(t)))
	require.Equal(t, "get a b c d\nset b c d\nget b c d\n", read(t, dir, "calls"))
	require.JSONEq(t, `{"a":{"value":"x"},"b":{"value":"y","on":true,"tags":["p","q"],"level":"low"},"c":{"value":"8080"},
		"d":{"value":"it's \"$(id)\" & <ü>"}}`, read(t, dir, "store.json"))

	again := r.results(t)
	require.Equal(t, "stable\nstable\nstable\nstable", briefs(again))
	require.JSONEq(t, `{"name":"b","ensure":"present","value":"y","on":true,"tags":["p","q"],"level":"low","size":"1"}`, string(again[1].State.Before))
}

func TestStateBeforeAndAfter(t *testing.T) {
	needs.ProgramIn(t, modules.DefaultPath, "python3")
	dir := folder(t, nil)
	r := one(t, dir, `{"name":"a","provider":"python","properties":{"ensure":"present","value":"abc"}}`)
	require.JSONEq(t, `{"name":"a","ensure":"absent"}`, string(r.State.Before))
	require.JSONEq(t, `{"name":"a","ensure":"present","value":"abc","size":"3"}`, string(r.State.After))
}

// canned returns the folder with a provider called canned that answers with these files.
func canned(t *testing.T, metadata string, files map[string]string) string {
	t.Helper()
	needs.ProgramIn(t, modules.DefaultPath, "perl")
	if metadata == "" {
		metadata = "{type: thing, invoke: json, suitable: true, attributes: {name: , ensure: {type: 'enum[present,absent,latest,purged]'}, a: , b: {type: boolean}, l: {type: 'array[string]'}, w: {kind: w}, r: {kind: r}}}"
	}
	named := map[string]string{"canned.yaml": "provider: " + metadata + "\n"}
	for name, text := range files {
		named["canned."+name] = text
	}
	return folder(t, named)
}

const there = `{"resources":[{"name":"n","ensure":"present","a":"1","b":false,"l":["x","y"]}]}`

// TestAnswersToGet checks every result of get.
func TestAnswersToGet(t *testing.T) {
	wanted := `{"name":"n","type":"thing","properties":{"ensure":"present","a":"1"}}`
	for _, test := range []struct {
		name       string
		files      map[string]string
		properties string // "" is wanted
		want       string
	}{
		{"as it shall be", map[string]string{"get": there}, "", "stable"},
		{"more than was asked for", map[string]string{"get": `{"resources":[{"name":"m"},{"name":"n","ensure":"present","a":"1","zz":{}}]}`}, "", "stable"},
		{"null is unset", map[string]string{"get": `{"resources":[{"name":"n","a":null}]}`}, `{"name":"n","type":"thing","properties":{"a":null}}`, "stable"},
		{"a number is its text", map[string]string{"get": `{"resources":[{"name":"n","a":12345678901234567890.50}]}`}, `{"name":"n","type":"thing","properties":{"a":"12345678901234567890.50"}}`, "stable"},
		{"a wanted number, too", map[string]string{"get": `{"resources":[{"name":"n","a":"80"}]}`}, `{"name":"n","type":"thing","properties":{"a":80}}`, "stable"},
		{"a boolean", map[string]string{"get": there}, `{"name":"n","type":"thing","properties":{"b":false}}`, "stable"},
		{"a list", map[string]string{"get": there}, `{"name":"n","type":"thing","properties":{"l":["x","y"]}}`, "stable"},
		{"absent, and not mentioned", map[string]string{"get": `{"resources":[]}`}, `{"name":"n","type":"thing","properties":{"ensure":"absent","a":"1"}}`, "stable"},
		{"purged, and not mentioned", map[string]string{"get": `{"resources":[]}`}, `{"name":"n","type":"thing","properties":{"ensure":"purged"}}`, "stable"},
		{"present is any version", map[string]string{"get": `{"resources":[{"name":"n","ensure":"5.2.15-2"}]}`}, `{"name":"n","type":"thing","properties":{"ensure":"present"}}`, "stable"},
		{"absent is purged", map[string]string{"get": `{"resources":[{"name":"n","ensure":"purged"}]}`}, `{"name":"n","type":"thing","properties":{"ensure":"absent"}}`, "stable"},
		{"what is only written is no reason", map[string]string{"get": there}, `{"name":"n","type":"thing","properties":{"a":"1","w":"secret"}}`, "stable"},
		{"levels", map[string]string{"get": there, "get.err": "debug: d\nINFO:i\nWarn : w\nplain\nError: e\nhttp://x: y\n"}, "",
			"stable\n  info: i\n  warning: w\n  warning: plain\n  error: e\n  warning: http://x: y"},

		{"an error of all", map[string]string{"get": `{"error":{"message":"no database","kind":"failed"},"resources":[]}`}, "", "failed: provider thing::canned: no database [failed]"},
		{"a forbidden one", map[string]string{"get": `{"error":{"message":"not you","kind":"forbidden"}}`}, "", `failed: provider thing::canned: not you; use "become" [forbidden]`},
		{"no kind", map[string]string{"get": `{"error":{"message":["one","two"]}}`}, "", "failed: provider thing::canned: one; two [failed]"},
		{"a kind that is none", map[string]string{"get": `{"error":{"message":"x","kind":"odd"}}`}, "", "failed: provider thing::canned: x (kind odd) [failed]"},
		{"no message", map[string]string{"get": `{"error":{}}`}, "", `failed: provider thing::canned: it reports an error without a message: "{}" [failed]`},
		{"a code", map[string]string{"get": `{"error":{"message":"x","kind":"unknown","code":2147942405}}`}, "", "failed: provider thing::canned: x (code 2147942405) [unknown]"},
		{"a code and a kind that is none", map[string]string{"get": `{"error":{"message":"x","kind":"odd","code":"E7"}}`}, "", "failed: provider thing::canned: x (kind odd, code E7) [failed]"},
		{"a code alone", map[string]string{"get": `{"error":{"code":7,"kind":"forbidden"}}`}, "", "failed: provider thing::canned: it reports an error without a message: `{\"code\":7,\"kind\":\"forbidden\"}`; use \"become\" [forbidden]"},
		{"no message, but standard error", map[string]string{"get": `{"error":{"message":" "}}`, "get.err": "info: trying\nno such bus\n"}, "",
			"failed: provider thing::canned: it reports an error without a message: `{\"message\":\" \"}`; on standard error: \"no such bus\" [failed]\n  info: trying\n  warning: no such bus"},
		{"an error that is a text", map[string]string{"get": `{"error":"no database"}`}, "", "failed: provider thing::canned: no database [failed]"},
		{"an error that is true", map[string]string{"get": `{"error":true}`}, "", "failed: provider thing::canned: true [failed]"},
		{"an error of the resource without a message", map[string]string{"get": `{"resources":[{"name":"n","error":{"kind":"failed","where":"<bus>"}}]}`}, "", "failed: provider thing::canned: it reports an error without a message: `{\"kind\":\"failed\",\"where\":\"<bus>\"}` [failed]"},
		{"an error of the resource", map[string]string{"get": `{"resources":[{"name":"n","error":{"message":"no such thing","kind":"unknown"}}]}`}, "", "failed: provider thing::canned: no such thing [unknown]"},
		{"unknown is absent enough", map[string]string{"get": `{"resources":[{"name":"n","error":{"message":"no","kind":"unknown"}}]}`}, `{"name":"n","type":"thing","properties":{"ensure":"absent"}}`, "stable"},
		{"an error of another one", map[string]string{"get": `{"resources":[{"name":"m","error":{"message":"no","kind":"failed"}},{"name":"n","ensure":"present","a":"1"}]}`}, "", "stable"},

		{"an exit code discards the answer", map[string]string{"get": there, "get.exit": "3", "get.err": "info: trying\ncannot open /x\n"}, "",
			"failed: provider thing::canned: get ended with exit code 3: cannot open /x [failed]\n  info: trying"},
		{"an exit code, and an error on standard output", map[string]string{"get": `{"error":{"message":"no database","code":3}}`, "get.exit": "3", "get.err": "bye\n"}, "",
			"failed: provider thing::canned: get ended with exit code 3: no database (code 3) [failed]\n  warning: bye"},
		{"an exit code, and text on standard output", map[string]string{"get": "Usage: get\nno such action\n\n", "get.exit": "64"}, "",
			`failed: provider thing::canned: get ended with exit code 64: it printed "no such action" [failed]`},
		{"a signal", map[string]string{"get": there, "get.kill": "TERM"}, "", "failed: provider thing::canned: get ended with exit code 143 (signal 15) [failed]"},
		{"nothing", map[string]string{"get": ""}, "", "failed: provider thing::canned: get printed an invalid answer: it is empty [failed]"},
		{"half", map[string]string{"get": `{"resources":[`}, "", "failed: provider thing::canned: get printed an invalid answer: it ends too early: line 1 is `{\"resources\":[` [failed]"},
		{"text", map[string]string{"get": "hello\n"}, "", `failed: provider thing::canned: get printed an invalid answer: line 1 is "hello" [failed]`},
		{"text before the answer", map[string]string{"get": "Warning: please upgrade\n" + there}, "", `failed: provider thing::canned: get printed an invalid answer: line 1 is "Warning: please upgrade" [failed]`},
		{"text after the answer", map[string]string{"get": there + "\n\nDone.\n"}, "", `failed: provider thing::canned: get printed an invalid answer: more follows: line 3 is "Done." [failed]`},
		{"resources of another kind", map[string]string{"get": `{"resources":{"n":{}}}`}, "", "failed: provider thing::canned: get printed an invalid answer: resources is a map, which it cannot be: line 1 is `{\"resources\":{\"n\":{}}}` [failed]"},
		{"what a terminal would obey", map[string]string{"get": "\x1b[31mred\n"}, "", `failed: provider thing::canned: get printed an invalid answer: line 1 is "\x1b[31mred" [failed]`},
		{"two", map[string]string{"get": "{}{}"}, "", `failed: provider thing::canned: get printed an invalid answer: more follows: line 1 is "{}{}" [failed]`},
		{"a list instead", map[string]string{"get": "[]"}, "", `failed: provider thing::canned: get printed an invalid answer: it is a list, which it cannot be: line 1 is "[]" [failed]`},
		{"no resources", map[string]string{"get": "{}"}, "", `failed: provider thing::canned: get answered without resources: "{}" [failed]`},
		{"no name", map[string]string{"get": `{"resources":[{"a":"1"}]}`}, "", "failed: provider thing::canned: get answered with a resource without a name, the 1. of them: `{\"a\":\"1\"}` [failed]"},
		{"twice", map[string]string{"get": `{"resources":[{"name":"n"},{"name":"n"}]}`}, "", `failed: provider thing::canned: get answered with resource "n" twice [failed]`},
		{"a wrong type", map[string]string{"get": `{"resources":[{"name":"n","b":"maybe"}]}`}, "", `failed: provider thing::canned: get reports an impossible value for "b": "maybe" is not true or false [failed]`},
		{"a map", map[string]string{"get": `{"resources":[{"name":"n","a":{}}]}`}, "", `failed: provider thing::canned: get reports an impossible value for "a": a map is not a single value [failed]`},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := canned(t, "", test.files)
			properties := test.properties
			if properties == "" {
				properties = wanted
			}
			require.Equal(t, test.want, brief(one(t, dir, properties)))
			require.NotContains(t, read(t, dir, "canned.log"), "set ")
		})
	}
}

// TestAllThatWasPrinted checks that the full output is reported next to an error, for debugging, except for a sensitive
// resource.
func TestAllThatWasPrinted(t *testing.T) {
	for _, test := range []struct {
		name      string
		files     map[string]string
		sensitive bool
		err, said string // said: "" means no message
	}{
		{"an answer that is used", map[string]string{"get": there}, false, "", ""},
		{"no answer", map[string]string{"get": "Warning: please upgrade\n" + there + "\n"}, false,
			`provider thing::canned: get printed an invalid answer: line 1 is "Warning: please upgrade"`, "Warning: please upgrade\n" + there},
		{"an error", map[string]string{"get": `{"error":{"message":"no","trace":["a","b"]}}`}, false, "provider thing::canned: no", `{"error":{"message":"no","trace":["a","b"]}}`},
		{"an exit code", map[string]string{"get": "one\ntwo\n", "get.exit": "1"}, false, `provider thing::canned: get ended with exit code 1: it printed "two"`, "one\ntwo"},
		{"sensitive, no answer", map[string]string{"get": "s3cret\n"}, true, "provider thing::canned: get failed", ""},
		{"sensitive, an error", map[string]string{"get": `{"error":{"message":"s3cret"}}`}, true, "provider thing::canned: failed", ""},
		{"sensitive, an error without a message", map[string]string{"get": `{"error":{"x":"s3cret"}}`, "get.err": "s3cret\n"}, true, "provider thing::canned: failed", ""},
		{"sensitive, an exit code", map[string]string{"get": "s3cret\n", "get.exit": "1"}, true, "provider thing::canned: get ended with exit code 1", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := of(t, canned(t, "", test.files), `{"name":"n","type":"thing","properties":{"a":"1"}}`)
			r.entries[0].Sensitive = test.sensitive
			result := r.results(t)[0]
			require.Equal(t, test.err, result.Error)
			if test.said == "" {
				require.Empty(t, result.Messages)
				return
			}
			require.Equal(t, []modules.Note{{Level: modules.LevelDebug, Text: "get of thing::canned printed:\n" + test.said}}, result.Messages)
		})
	}
}

// TestHang runs a provider that neither answers nor ends.
func TestHang(t *testing.T) {
	dir := canned(t, "", map[string]string{"get": there, "get.hang": "1"})
	r := one(t, dir, `{"name":"n","type":"thing","timeout":"300ms","properties":{"a":"2"}}`)
	require.Equal(t, `failed: provider thing::canned: get could not be run: "`+dir+`/canned.prov" timed out after 300ms and was killed [failed]`, brief(r))
}

// TestAnswersToSet checks every result of set.
func TestAnswersToSet(t *testing.T) {
	after := `{"resources":[{"name":"n","ensure":"present","a":"2","b":false,"l":["x","y"]}]}`
	const done = "changed: set a through thing::canned\n  a: 1 -> 2"
	for _, test := range []struct {
		name       string
		files      map[string]string
		properties string // in addition
		want       string
	}{
		{"changes", map[string]string{"set": `{"changes":[{"name":"n","a":{"is":"2","was":"1"}}]}`}, "", done},
		{"derived", map[string]string{"set": `{"changes":[],"derive":true}`}, "", done},
		{"derived, without changes", map[string]string{"set": `{"derive":true}`}, "", done},
		{"no change told, and yet it is so", map[string]string{"set": `{"changes":[]}`}, "", done},
		{"others", map[string]string{"set": `{"changes":[{"name":"n","a":{"is":"2","was":"1"},"b":{"is":true,"was":false}},{"name":"m","a":{"is":"9","was":null}},{"name":"o","error":{"message":"poor","kind":"forbidden"}}]}`}, "",
			done + "\n  info: changed \"m\", too: a from unset to 9\n  warning: of \"o\", too: provider thing::canned: poor; use \"become\"\n  info: changed b from false to true"},
		{"told in two entries", map[string]string{"set": `{"changes":[{"name":"n","a":{"is":"2","was":"1"}},{"name":"n","l":{"is":[],"was":["x"]}}]}`}, "", done + "\n  info: changed l from [\"x\"] to []"},
		{"levels", map[string]string{"set": `{"derive":true}`, "set.err": "INFO: on my way\n"}, "", done + "\n  info: on my way"},

		{"believed", map[string]string{"set": `{"derive":true}`, "get.2": there}, `,"verify":false`, done},
		{"believed, and it says no", map[string]string{"set": `{"changes":[]}`}, `,"verify":false`, "failed: provider thing::canned: it reports that it has changed nothing [failed]\n  a: 1 -> 2"},
		{"claimed", map[string]string{"set": `{"derive":true}`, "get.2": there}, "", "failed: failed to reach desired state: a mismatch: state=1 requested=2 [failed]\n  a: 1 -> 2"},
		{"an error of all", map[string]string{"set": `{"error":{"message":"not you","kind":"forbidden"},"changes":[{"name":"n","a":{"is":"2","was":"1"}}]}`}, "", "failed: provider thing::canned: not you; use \"become\" [forbidden]\n  a: 1 -> 2"},
		{"an error of the resource", map[string]string{"set": `{"changes":[{"name":"n","error":{"message":"cannot be","kind":"unknown"}}]}`}, "", "failed: provider thing::canned: cannot be [unknown]\n  a: 1 -> 2"},
		{"an exit code", map[string]string{"set": `{"derive":true}`, "set.exit": "1"}, "", "failed: provider thing::canned: set ended with exit code 1: it printed `{\"derive\":true}` [failed]\n  a: 1 -> 2"},
		{"text", map[string]string{"set": "done"}, "", "failed: provider thing::canned: set printed an invalid answer: line 1 is \"done\" [failed]\n  a: 1 -> 2"},
		{"neither", map[string]string{"set": "{}"}, "", "failed: provider thing::canned: set answered without changes: \"{}\" [failed]\n  a: 1 -> 2"},
		{"a change without is", map[string]string{"set": `{"changes":[{"name":"n","a":"2"}]}`}, "", "failed: provider thing::canned: set reports a change of \"a\" without is or was: `\"2\"` [failed]\n  a: 1 -> 2"},
		{"afterwards it is mute", map[string]string{"set": `{"derive":true}`, "get.2": ""}, "", "failed: provider thing::canned: get printed an invalid answer: it is empty [failed]\n  a: 1 -> 2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := map[string]string{"get": there, "get.2": after}
			for name, text := range test.files {
				files[name] = text
			}
			dir := canned(t, "", files)
			r := one(t, dir, `{"name":"n","type":"thing","properties":{"ensure":"present","a":2,"b":false,"w":"secret","l":["x","y"]}`+test.properties+`}`)
			require.Equal(t, test.want, brief(r))
			asked := `set {"updates":[{"name":"n","is":{"a":"1","b":false,"ensure":"present","l":["x","y"]},"should":{"a":"2","w":"secret"}}],"ral":{"noop":false}}`
			log := read(t, dir, "canned.log")
			require.Equal(t, 1, strings.Count(log, "set "), log)
			require.Contains(t, sorted(t, log), sorted(t, asked))
		})
	}
}

// sorted returns the requests to a provider, with the keys of set in one order.
func sorted(t *testing.T, log string) string {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(log) {
		action, doc, _ := strings.Cut(strings.TrimSpace(line), " ")
		b.WriteString(action + " " + recoded(t, doc) + "\n")
	}
	return b.String()
}

func recoded(t *testing.T, doc string) string {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal([]byte(doc), &v))
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}

// TestErrorsOfOneInABatch checks that one of three resources fails, and that the provider is not called for it again.
func TestErrorsOfOneInABatch(t *testing.T) {
	get := `{"resources":[{"name":"x","a":"1"},{"name":"y","a":"1"},{"name":"z","a":"1"}]}`
	dir := canned(t, "", map[string]string{
		"get": get, "get.2": strings.ReplaceAll(get, `"1"`, `"2"`),
		"set": `{"derive":true,"changes":[{"name":"y","error":{"message":"not this one","kind":"forbidden"}}]}`,
	})
	all := of(t, dir,
		`{"name":"x","type":"thing","properties":{"a":"2"}}`,
		`{"name":"y","type":"thing","properties":{"a":"2"}}`,
		`{"name":"z","type":"thing","properties":{"a":"2"}}`,
	).results(t)
	require.Equal(t, `changed: set a through thing::canned
  a: 1 -> 2
failed: provider thing::canned: not this one; use "become" [forbidden]
  a: 1 -> 2
changed: set a through thing::canned
  a: 1 -> 2`, briefs(all))
	log := read(t, dir, "canned.log")
	require.Equal(t, 1, strings.Count(log, "set "), log)
	require.Contains(t, log, `get {"names":["x","y","z"]}`)
	require.Contains(t, log, `get {"names":["x","z"]}`)
	require.JSONEq(t, `{"name":"z","a":"2"}`, string(all[2].State.After))
	for i, name := range []string{"x", "y", "z"} {
		require.JSONEq(t, `{"name":"`+name+`","a":"1"}`, string(all[i].State.Before), "the first of a batch is no exception")
	}
}

// TestRemoval sends ensure and nothing else.
func TestRemoval(t *testing.T) {
	dir := canned(t, "", map[string]string{"get": there, "get.2": `{"resources":[]}`, "set": `{"derive":true}`})
	r := one(t, dir, `{"name":"n","type":"thing","properties":{"ensure":"absent","a":"5"}}`)
	require.Equal(t, "changed: removed it through thing::canned\n  ensure: present -> absent", brief(r))
	require.Contains(t, read(t, dir, "canned.log"), `"should":{"ensure":"absent"}`)
}

// TestUnknownIs checks the current state in an update of a resource that get does not mention.
func TestUnknownIs(t *testing.T) {
	dir := canned(t, "{type: thing, invoke: json, suitable: true, attributes: {name: , a: }}", map[string]string{
		"get": `{"resources":[]}`, "get.2": `{"resources":[{"name":"n","a":"1"}]}`, "set": `{"derive":true}`})
	r := one(t, dir, `{"name":"n","type":"thing","properties":{"a":"1"}}`)
	require.Equal(t, "changed: set a through thing::canned\n  a: unset -> 1", brief(r))
	require.Contains(t, read(t, dir, "canned.log"), `"is":{},"should":{"a":"1"}`)
}

func TestLatest(t *testing.T) {
	old := `{"resources":[{"name":"n","ensure":"1.0"}]}`
	const latest = `{"name":"n","type":"thing","properties":{"ensure":"latest"}}`
	safe := "{type: thing, invoke: json, noop_safe: true, suitable: true, attributes: {name: , ensure: {type: 'enum[present,absent,latest]'}}}"
	t.Run("unsafe: called every time", func(t *testing.T) {
		dir := canned(t, "", map[string]string{"get": old, "set": `{"changes":[]}`})
		require.Equal(t, "changed: set ensure through thing::canned\n  ensure: 1.0 -> latest\n"+
			"  info: only set can find out whether 1.0 is the latest, so it is called every time", brief(one(t, dir, latest)))
	})
	t.Run("safe: asked first", func(t *testing.T) {
		dir := canned(t, safe, map[string]string{"get": old, "set": `{"changes":[]}`})
		require.Equal(t, "stable", brief(one(t, dir, latest)))
		require.Contains(t, read(t, dir, "canned.log"), `"noop":true`)
		require.NotContains(t, read(t, dir, "canned.log"), `"noop":false`)
	})
	t.Run("safe: there is a newer one", func(t *testing.T) {
		dir := canned(t, safe, map[string]string{"get": old, "get.2": `{"resources":[{"name":"n","ensure":"2.0"}]}`, "set": `{"changes":[{"name":"n","ensure":{"is":"2.0","was":"1.0"}}]}`})
		require.Equal(t, "changed: set ensure through thing::canned\n  ensure: 1.0 -> latest\n  info: changed ensure from 1.0 to 2.0", brief(one(t, dir, latest)))
	})
	t.Run("not there", func(t *testing.T) {
		dir := canned(t, "", map[string]string{"get": `{"resources":[]}`, "get.2": old, "set": `{"derive":true}`})
		require.Equal(t, "changed: created it through thing::canned\n  ensure: absent -> latest", brief(one(t, dir, latest)))
	})
}

// TestNoop checks that a check run calls set only if the metadata mark noop as safe.
func TestNoop(t *testing.T) {
	metadata := "{type: thing, invoke: json, noop_safe: true, suitable: true, attributes: {name: , a: }}"
	get := `{"resources":[{"name":"n","a":"1"}]}`
	const want = `{"name":"n","type":"thing","properties":{"a":"2"}}`
	t.Run("safe", func(t *testing.T) {
		dir := canned(t, metadata, map[string]string{"get": get, "set": `{"changes":[{"name":"n","a":{"is":"2","was":"1"}},{"name":"m","a":{"is":"2","was":"1"}}]}`})
		r := of(t, dir, want).checked().results(t)[0]
		require.Equal(t, "changed: Would have set a through thing::canned\n  a: 1 -> 2\n  info: would change \"m\", too: a from 1 to 2", brief(r))
		require.NotEqual(t, modules.Certain, r.Grade)
		require.Contains(t, read(t, dir, "canned.log"), `"ral":{"noop":true}`)
	})
	t.Run("safe, and it will fail", func(t *testing.T) {
		dir := canned(t, metadata, map[string]string{"get": get, "set": `{"changes":[{"name":"n","error":{"message":"no","kind":"forbidden"}}]}`})
		require.Equal(t, `failed: provider thing::canned: no; use "become" [forbidden]`, brief(of(t, dir, want).checked().results(t)[0]))
	})
	t.Run("not said to be safe", func(t *testing.T) {
		dir := canned(t, strings.Replace(metadata, "noop_safe: true, ", "", 1), map[string]string{"get": get})
		require.Equal(t, "changed: Would have set a through thing::canned\n  a: 1 -> 2", brief(of(t, dir, want).checked().results(t)[0]))
		require.NotContains(t, read(t, dir, "canned.log"), "set")
	})
	t.Run("not asked in an applying run", func(t *testing.T) {
		dir := canned(t, metadata, map[string]string{"get": get, "get.2": strings.Replace(get, "1", "2", 1), "set": `{"derive":true}`})
		require.Equal(t, "changed: set a through thing::canned\n  a: 1 -> 2", brief(one(t, dir, want)))
		require.NotContains(t, read(t, dir, "canned.log"), `"noop":true`)
	})
}

// TestSameTwice predicts what a second resource of one thing finds.
func TestSameTwice(t *testing.T) {
	needs.ProgramIn(t, modules.DefaultPath, "python3")
	dir := folder(t, nil)
	r := of(t, dir,
		`{"name":"a","type":"kv","properties":{"ensure":"present","value":"x"}}`,
		`{"name":"a","type":"kv","properties":{"ensure":"present","value":"x"}}`,
		`{"name":"a","type":"kv","properties":{"ensure":"present","value":"y"}}`,
		`{"name":"a","type":"kv","properties":{"ensure":"absent"}}`,
		`{"name":"a","type":"kv","properties":{"ensure":"absent"}}`,
	)
	want := `changed: created it through kv::python
  ensure: absent -> present
  value: unset -> x
stable
changed: set value through kv::python
  value: x -> y
changed: removed it through kv::python
  ensure: present -> absent
stable`
	predicted := r.checked().results(t)
	require.Equal(t, want, strings.ReplaceAll(briefs(predicted), "Would have ", ""))
	require.Equal(t, want, briefs(r.results(t)))
}

// TestMuch reads an answer that is longer than the kept output of other commands.
func TestMuch(t *testing.T) {
	dir := canned(t, "", map[string]string{"get": `{"resources":[{"name":"m","a":"` + strings.Repeat("x", 300<<10) + `"},{"name":"n","a":"1"}]}`})
	require.Equal(t, "stable", brief(one(t, dir, `{"name":"n","type":"thing","properties":{"a":"1"}}`)))
	dir = canned(t, "", map[string]string{"get": strings.Repeat(" ", maxAnswer+1)})
	require.Equal(t, "failed: provider thing::canned: get printed more than 8 MiB [failed]", brief(one(t, dir, `{"name":"n","type":"thing","properties":{"a":"1"}}`)))
}

// TestMuchToSay checks a provider with more lines than are reported.
func TestMuchToSay(t *testing.T) {
	dir := canned(t, "", map[string]string{"get": there, "get.err": "debug: x\ninfo: first\n" + strings.Repeat("info: y\n", maxLogLines) + "info: last\n"})
	r := one(t, dir, `{"name":"n","type":"thing","properties":{"a":"1"}}`)
	require.Len(t, r.Messages, maxLogLines)
	require.Equal(t, "first", r.Messages[0].Text)
	require.Equal(t, "[… 3 lines left out …]", r.Messages[(maxLogLines-1)/2].Text)
	require.Equal(t, "last", r.Messages[maxLogLines-1].Text)
}

// TestEnvironment checks the environment of a provider.
func TestEnvironment(t *testing.T) {
	t.Setenv("SECRET", "s3cr3t")
	dir := folder(t, map[string]string{"env.prov": "#!/bin/sh\ncat <<EOF\n{\"resources\":[{\"name\":\"n\",\"env\":\"$(env | sed 's/=.*//' | sort | tr '\\n' ' ')$LANG $PWD $#\"}]}\nEOF\n",
		"env.yaml": "provider: {type: env, invoke: json, suitable: true, attributes: {name: , env: }}"})
	r := one(t, dir, `{"name":"n","type":"env","properties":{"env":"HOME LANG LC_ALL LOGNAME PATH PWD SHELL USER C.UTF-8 / 1"}}`)
	require.Equal(t, "stable", brief(r), string(r.State.Before))
}

func TestReadOnly(t *testing.T) {
	dir := canned(t, "{type: thing, invoke: json, actions: [get], suitable: true, attributes: {name: , a: }}", map[string]string{"get": `{"resources":[{"name":"n","a":"1"}]}`})
	require.Equal(t, "stable", brief(one(t, dir, `{"name":"n","type":"thing","properties":{"a":"1"}}`)))
	require.Equal(t, "failed: provider thing::canned can only read, and a differs", brief(one(t, dir, `{"name":"n","type":"thing","properties":{"a":"2"}}`)))
}
