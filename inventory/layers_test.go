package inventory

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

func TestHostLayers(t *testing.T) {
	inv := load(t, `
all: {vars: {a: all, b: all}, hosts: {h: {connect: {port: 22}, c: host}}}
web: {vars: {b: web, ansible_group_priority: 5}, hosts: {h: }}
db: {vars: {ansible_group_priority: 9}, hosts: {h: , "g:2222": {ansible_group_priority: 1}}}
web2: {children: {web: {vars: {b: again}}}, vars: {d: 1}}
more: {hosts: {h: {c: later}}}
`)
	show := func(name string) (list []string) {
		for _, l := range inv.Host(name).Layers() {
			list = append(list, fmt.Sprintf("%s %s %v", l.Name, l.Node.Pos(), l.Node.Any()))
		}
		return list
	}
	require.Equal(t, []string{
		"group all hosts.yml:2:13 map[a:all b:all]",
		"group web2 hosts.yml:5:51 map[d:1]",
		"group web hosts.yml:3:13 map[b:web]",
		"group web hosts.yml:5:31 map[b:again]",
		"host h hosts.yml:2:42 map[c:host]",
		"host h hosts.yml:6:19 map[c:later]",
	}, show("h"))
	require.Equal(t, []string{
		"group all hosts.yml:2:13 map[a:all b:all]",
		"host g hosts.yml:4:54 map[ansible_port:2222]",
		"host g hosts.yml:4:64 map[ansible_group_priority:1]",
	}, show("g"))
	require.Empty(t, load(t, "all: {hosts: {h: }}").Host("h").Layers())
}

// randomInventory has groups in groups, some of them in several places, and few
// names of variables.
func randomInventory(r *rand.Rand) string {
	vars := func(more ...string) string {
		pairs := more
		for i := range r.IntN(4) {
			if r.IntN(2) == 0 {
				pairs = append(pairs, fmt.Sprintf("v%d: {a: {k%d: %d}, b: [%d]}", i, r.IntN(3), r.IntN(1000), r.IntN(9)))
				continue
			}
			pairs = append(pairs, fmt.Sprintf("v%d: %d", i, r.IntN(1000)))
		}
		return "{" + strings.Join(pairs, ", ") + "}"
	}
	var b strings.Builder
	for g := range 6 {
		fmt.Fprintf(&b, "g%d:\n  vars: %s\n  hosts:\n", g, vars(fmt.Sprintf("ansible_group_priority: %d", r.IntN(3))))
		for h := range 4 {
			if r.IntN(2) == 0 {
				fmt.Fprintf(&b, "    h%d: %s\n", h, vars())
			}
		}
		b.WriteString("  children:\n")
		for child := g + 1; child < 6; child++ {
			if r.IntN(3) == 0 {
				fmt.Fprintf(&b, "    g%d: {vars: %s}\n", child, vars())
			}
		}
	}
	return b.String()
}

func TestVarsAreTheLayersMerged(t *testing.T) {
	texts := []string{fixture}
	for _, tt := range rangeVectors {
		texts = append(texts, fmt.Sprintf("web: {hosts: {%q: {v: 1}}}", tt.key))
	}
	seeds := uint64(200)
	if testing.Short() {
		seeds /= 10
	}
	for seed := range seeds {
		texts = append(texts, randomInventory(rand.New(rand.NewPCG(seed, 1))))
	}
	for _, text := range texts {
		for _, deep := range []bool{false, true} {
			b := newBuilder(Options{MergeMaps: deep})
			b.errs.Add(b.parse("hosts.yml", []byte(text)))
			inv, err := b.finish()
			if err != nil { // of the ranges
				continue
			}
			for _, h := range inv.Hosts() {
				merged := map[string]any{}
				for _, l := range h.WholeLayers() {
					maps.Copy(merged, l.Node.Any().(map[string]any))
				}
				require.Equal(t, h.Vars(), merged, "host %s of\n%s", h.Name, text)
			}
		}
	}
}

func groupPlace(t testing.TB, name, text string) place {
	t.Helper()
	documents, err := yamlpos.Parse(name+".yml", []byte(text))
	require.NoError(t, err)
	return place{kind: "group", name: name, source: "inventory", content: &content{vars: documents}}
}

// hostWith returns a host whose groups have this content.
func hostWith(groups []place, deep bool) *Host {
	return &Host{below: &stack{places: groups, deep: deep}}
}

func TestLayers(t *testing.T) {
	places := []place{groupPlace(t, "a", "{x: {p: 1, q: [1]}, y: {p: 1}}"), groupPlace(t, "b", "{}"), groupPlace(t, "c", "{x: {q: [2], r: 3}, y: 2}")}
	require.Equal(t, map[string]any{"x": map[string]any{"q": []any{int64(2)}, "r": int64(3)}, "y": int64(2)}, hostWith(places, false).Vars())
	merged := map[string]any{"x": map[string]any{"p": int64(1), "q": []any{int64(2)}, "r": int64(3)}, "y": int64(2)}
	require.Equal(t, merged, hostWith(places, true).Vars())

	for _, deep := range []bool{false, true} {
		list := listLayers(places, deep)
		require.Len(t, list, 2)
		require.Equal(t, Layer{Name: "group c", Node: list[1].Node, File: "c.yml", Source: "inventory", Deep: deep}, list[1])
		require.Equal(t, map[string]any{"x": map[string]any{"q": []any{int64(2)}, "r": int64(3)}, "y": int64(2)}, list[1].Node.Any())
	}
	whole := hostWith(places, true).WholeLayers()
	require.Equal(t, merged, whole[1].Node.Any())
	require.False(t, whole[1].Deep)
	require.Equal(t, "a.yml:1:9", whole[1].Node.Get("x").Get("p").Pos())
	require.Equal(t, "c.yml:1:9", whole[1].Node.Get("x").Get("q").Pos())
}

// TestWholeIsVars checks that merged layers, and whole layers that each replace the lower ones, result in the
// variables.
func TestWholeIsVars(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	value := func() string {
		if random.IntN(3) == 0 {
			return fmt.Sprint(random.IntN(9))
		}
		return fmt.Sprintf("{k%d: {l%d: %d}, k3: [%d]}", random.IntN(3), random.IntN(2), random.IntN(9), random.IntN(9))
	}
	for range 300 {
		var list []place
		for i := range 4 {
			var b strings.Builder
			for v := range random.IntN(4) {
				fmt.Fprintf(&b, "v%d: %s\n", v, value())
			}
			list = append(list, groupPlace(t, fmt.Sprint("g", i), b.String()+"own: 1\n"))
		}
		for _, deep := range []bool{false, true} {
			merged := map[string]any{}
			for _, l := range hostWith(list, deep).WholeLayers() {
				maps.Copy(merged, l.Node.Any().(map[string]any))
			}
			h := hostWith(list, deep)
			require.Equal(t, h.Vars(), merged)
			clear(merged)
			for name, value := range MergeLayers(h.Layers()) {
				merged[name] = value.Any()
			}
			require.Equal(t, h.Vars(), merged)
		}
	}
}
