package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// expressions read what a host has in every way there is.
var expressions = []string{
	"{{ Data.a }}", "{{ Data.map.b }}", "{{ Data['map'].c }}", "{{ toJSON(Data.map) }}", "{{ Facts.os.name }}", "{{ toJSON(Facts.os) }}",
	"{{ lookup('data.a') }}", "{{ lookup('facts.os.name', 'none') }}", "{{ lookup('data.list.#') }}", "{{ lookup('data.' + Data.key) }}",
	"{{ Data[Data.key] }}", "{{ let d = Data; d.a }}", "{{ Data.list[0] }}", "{{ join(map(Data.list, # + Data.a)) }}", "{{ toJSON(Data) }}",
	"{{ Data?.maybe ?? 'no' }}", "{{ 'maybe' in Data }}", "{{ keys(Data.map) | len() }}", "{{ Data.a == Facts.os.name ? Data.map.b : Data.map.c }}",
	"{{ template('t.templ') }}", "{{ jet('j.jet') }}", "{{ jet('[[ Data.map.c ]]') }}", "{{ template('{{ Data.a }}') }}", "{{ jet('all.jet') }}",
	"{{ jet('if.jet') }}", "{{ template('g.gotmpl') }}", "{{ jet('include.jet') }}", "{{ jet('set.jet') }}", "{{ file('f.txt') }}",
	"{{ Data['map.b'] }}", "{{ Data['map.b'] + 'x' }}", "{{ jet('dotted.jet') }}", "{{ Facts['os.name'] }}", "{{ lookup('data.map\\\\.b') }}",
	"{{ lookup('data.m*.b') }}", "{{ toJSON(lookup('{data.a,facts.os.id}')) }}", "{{ lookup('data.map|@keys|0') }}", "{{ lookup('data.list.1') }}",
	"{{ get(Data, 'a') }}", "{{ Data | get('map') | get('c') }}", "{{ fromJSON(toJSON(Data)).a }}", "{{ toJSON((Data.a == '1' ? Data : Facts).os ?? 'n') }}",
	"{{ reduce(Data.list, #acc + # + Data.key) }}", "{{ map([Data], #.a)[0] }}", "{{ map([Data], .map.b)[0] }}", "{{ let m = Data.map; m['b'] + m?.c }}",
	"{{ Data.list[0:1][0] }}", "{{ sortBy(toPairs(Data.map), #[1])[0][0] }}", "{{ findIndex(Data.list, # == Data.map.c) ?? 'none' }}", "{{ Data.list | filter(# == Data.a) | len() }}",
	"{{ ['a', 'key'] | map(Data[#]) | join() }}", "{{ groupBy([Data], #.a) | keys() | first() }}", "{{ Data.map.nope ?? Data.map.b }}", "{{ len(Data) }}",
	"{{ jet('block.jet') }}", "{{ jet('extends.jet') }}", "{{ jet('import.jet') }}", "{{ jet('exec.jet') }}", "{{ jet('try.jet') }}", "{{ jet('maybe.jet') }}",
	"{{ jet('shadow.jet') }}", "{{ jet('pipe.jet') }}", "{{ jet('range.jet') }}", "{{ jet('nested.jet') }}",
	"{{ Item }}", "{{ Item }}{{ Data.a }}", "{{ any(Data.list, # == Data.a) }}", "{{ Data.map | toPairs() | len() }}{{ values(Data.map) | len() }}",
}

var memoFiles = map[string]string{
	"t.templ":     "{{ Data.map.b }} {{ Facts.os.name }}",
	"j.jet":       `[[ lookup("data.a") ]] [[ Facts.os.name ]] [[ if isset(Data.maybe) ]]maybe[[ end ]]`,
	"all.jet":     `[[ range k, v := Data.map ]][[ k ]]=[[ v ]] [[ end ]]`,
	"if.jet":      `[[ d := Data ]][[ if d.a == "1" ]][[ d.map.b ]][[ else ]][[ d.map.c ]][[ end ]]`,
	"g.gotmpl":    `{{ with .Data }}{{ .a }}{{ end }} {{ .Facts.os.name }}`,
	"include.jet": `[[ include "context.jet" Data.map ]][[ include "j.jet" ]]`,
	"context.jet": `[[ .b ]]`,
	"set.jet":     `[[ m := Data["map"] ]][[ m["c"] ]]`,
	"dotted.jet":  `[[ Data["map.b"] ]][[ d := data ]][[ d["map.b"] ]]`,
	"block.jet":   `[[ block one(x=Data.a) Data.map ]][[ x ]][[ .b ]][[ end ]][[ yield one(x="y") Data.map ]]`,
	"base.jet":    `base [[ yield body() Data ]]`,
	"extends.jet": `[[ extends "base.jet" ]][[ block body() ]][[ .map.c ]][[ end ]]`,
	"lib.jet":     `[[ block lib(y) ]][[ y ]][[ Data.other ]][[ end ]]`,
	"import.jet":  `[[ import "lib.jet" ]][[ yield lib(y=Facts.os.id) ]]`,
	"exec.jet":    `[[ exec("returns.jet", Data.map) ]]`,
	"returns.jet": `[[ return .c ]]`,
	"try.jet":     `[[ try ]][[ Data.maybe ]][[ catch ]]none [[ Data.key ]][[ end ]]`,
	"maybe.jet":   `[[ if v, ok := Data["maybe"]; ok ]][[ v ]][[ else ]]no[[ end ]][[ includeIfExists("context.jet", Data.map) ]]`,
	"shadow.jet":  `[[ data := Facts ]][[ data.os.id ]][[ Data.a ]]`,
	"pipe.jet":    `[[ "data.other" | lookup ]][[ Data.map.b | upper ]][[ lookup("data." + Data.key) ]]`,
	"range.jet":   `[[ range i, v := Data.list ]][[ v ]][[ end ]][[ range Data.map ]][[ . ]][[ end ]][[ range slice(Data) ]][[ .a ]][[ end ]]`,
	"nested.jet":  `[[ jet("j.jet") ]][[ template("t.templ") ]][[ len(Data) > 3 ? Data.other : Facts.os.id ]]`,
	"f.txt":       strings.Repeat("the same for all\n", 100),
}

// randomHost returns a host whose inputs often equal another one's.
func randomHost(rng *rand.Rand, i int) Host {
	pick := func() string { return fmt.Sprint(rng.IntN(3)) }
	vars := map[string]any{
		"a": pick(), "map": map[string]any{"b": pick(), "c": pick()}, "key": []any{"a", "other"}[rng.IntN(2)], "other": pick(),
		"list": []any{pick(), pick()}, "unrelated": i,
		"map.b": pick(),
	}
	if rng.IntN(2) == 0 {
		vars["maybe"] = pick()
	}
	vars["unrelated"] = int64(i)
	return Host{
		Name:  fmt.Sprint("host", i),
		Facts: map[string]any{"os": map[string]any{"name": pick(), "id": pick()}, "os.name": pick(), "serial": int64(i)},
		Vars:  vars,
	}
}

// TestHostsDoNotShareWhatDiffers checks that a host gets the same as if it were the only one, however many were
// compiled before.
func TestHostsDoNotShareWhatDiffers(t *testing.T) {
	var b strings.Builder
	b.WriteString("ccm:\n  resources:\n    - file:\n        - defaults: {ensure: present, owner: root, group: root, mode: '0644'}\n")
	padding := strings.Repeat("p", 600) // so that contents travel as hashes
	for i, e := range expressions {
		each, name := "", fmt.Sprintf("/f%d", i)
		if strings.Contains(e, "Item") || i%5 == 0 {
			each, name = ", each: [x, '{{ Data.a }}', z]", name+"-{{ Item }}"
		}
		content, err := json.Marshal([]string{e, e + padding}[i%2])
		require.NoError(t, err)
		fmt.Fprintf(&b, "        - %q: {content: %s%s}\n", name, content, each)
	}
	site := b.String()
	shared := compiler(t, site, memoFiles, Options{})
	rng := rand.New(rand.NewPCG(1, 2))
	compiled := 0
	for i := range 100 {
		host := randomHost(rng, i)
		got, err := shared.Compile(context.Background(), host)
		alone := compiler(t, site, memoFiles, Options{})
		want, wantErr := alone.Compile(context.Background(), host)
		require.Equal(t, fmt.Sprint(wantErr), fmt.Sprint(err))
		if err != nil { // such as a fact that only some hosts have
			continue
		}
		compiled++
		require.Len(t, got.Catalog.Entries, len(want.Catalog.Entries))
		for i, e := range want.Catalog.Entries { // few words for each that differs
			assert.Equal(t, string(e.Properties), string(got.Catalog.Entries[i].Properties), e.Ref())
		}
		if t.Failed() {
			return
		}
		require.Equal(t, want.Catalog, got.Catalog)
		require.Equal(t, bytesOf(t, want.Contents), bytesOf(t, got.Contents))
		alone.Close()
	}
	require.Greater(t, compiled, 90)
	require.NotEmpty(t, shared.memo.young)
}

// bytesOf reads all contents.
func bytesOf(t *testing.T, c Contents) map[string]string {
	all := map[string]string{}
	for _, digest := range slices.Concat(slices.Collect(maps.Keys(c.texts)), slices.Collect(maps.Keys(c.files))) {
		r, _, err := c.Open(digest)
		require.NoError(t, err)
		b, err := io.ReadAll(r)
		require.NoError(t, err)
		all[digest] = string(b)
		r.Close()
	}
	return all
}

// TestMemoIsUsedAndBounded checks that results for equal hosts are made once, and dropped when they are not used.
func TestMemoIsUsedAndBounded(t *testing.T) {
	site := "ccm:\n  resources:\n    - file:\n        - /a: {ensure: present, content: \"{{ Data.x }}\", " + root + "}\n"
	c := compiler(t, site, nil, Options{})
	compile := func(x string) *Compiled {
		out, err := c.Compile(context.Background(), Host{Name: "h", Facts: map[string]any{}, Vars: map[string]any{"x": x}})
		require.NoError(t, err)
		return out
	}
	first, second := compile("1"), compile("1")
	require.Same(t, &first.Catalog.Entries[0].Properties[0], &second.Catalog.Entries[0].Properties[0])
	big := strings.Repeat("x", 1<<20)
	for i := range 50 {
		compile(fmt.Sprint(i, big))
	}
	require.LessOrEqual(t, c.memo.size, int64(maxMemo))
	require.Less(t, len(c.memo.young)+len(c.memo.old), 40)
}

// TestNestedManifestsOfHostsAreShared checks that all hosts share a manifest that is known only per host: the memory
// does not grow with their number.
func TestNestedManifestsOfHostsAreShared(t *testing.T) {
	for name, list := range map[string]string{
		"written":   "resources: [apply: ['{{ Data.role }}.yaml': {data: {x: '{{ Facts.os }}'}}]]",
		"generated": "resources_jet_file: list.jet",
	} {
		t.Run(name, func(t *testing.T) {
			c, _, err := nesting(t, "-- site.yaml --\nccm: {"+list+"}\n-- list.jet --\n- apply:\n  - web.yaml: {data: {x: \"[[ Facts.os ]]\"}}\n"+
				"-- web.yaml --\nccm: {resources: [{exec: [a: {command: 'echo {{ Data.x }}'}]}, {apply: ['{{ \"more\" }}.yaml': ]}]}\n"+
				"-- more.yaml --\nccm: {resources: [exec: [b: {command: 'echo {{ Data.x }}'}]]}\n", Options{})
			require.NoError(t, err)
			for i := range 20 {
				host := web1
				host.Facts = map[string]any{"os": fmt.Sprint("os", i)}
				compiled, err := c.Compile(t.Context(), host)
				require.NoError(t, err)
				require.Contains(t, string(compiled.Catalog.Entries[1].Properties), fmt.Sprint("echo os", i))
			}
			require.LessOrEqual(t, len(c.manifests.nested), 2)
			require.LessOrEqual(t, len(c.memo.inputs), 2)
		})
	}
}

// TestWhatIsOwnIsForgotten checks that values of a single host are not kept for long.
func TestWhatIsOwnIsForgotten(t *testing.T) {
	c := compiler(t, play(
		"- file: [/own: {content: \"{{ Facts.name }}\", "+root+"}]",
		"- file: [/same: {content: \"{{ Facts.os }}\", "+root+"}]",
		"- file: [/third: {content: \"{{ Facts.third }}\", "+root+"}]",
	), nil, Options{})
	for i := range 400 {
		facts := map[string]any{"name": fmt.Sprint("web", i), "os": "linux", "third": fmt.Sprint(i / 3)}
		compiled, err := c.Compile(t.Context(), Host{Name: "web", Facts: facts})
		require.NoError(t, err)
		for n, want := range []string{fmt.Sprint("web", i), "linux", fmt.Sprint(i / 3)} {
			require.Contains(t, string(compiled.Catalog.Entries[n].Properties), fmt.Sprintf(`{"text":%q}`, want))
		}
	}
	left := map[string]int{}
	for key := range c.memo.young {
		left[key.name]++
	}
	require.Equal(t, map[string]int{"/same": 1, "/third": 134}, left)
}
