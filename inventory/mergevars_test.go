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

func groupPlace(t testing.TB, name, text string) place {
	t.Helper()
	documents, err := yamlpos.Parse(name+".yml", []byte(text))
	require.NoError(t, err)
	return place{kind: "group", name: name, source: "inventory", content: &content{vars: documents}}
}

func TestLayers(t *testing.T) {
	places := []place{groupPlace(t, "a", "{x: {p: 1, q: [1]}, y: {p: 1}}"), groupPlace(t, "b", "{}"), groupPlace(t, "c", "{x: {q: [2], r: 3}, y: 2}")}
	require.Equal(t, map[string]any{"x": map[string]any{"q": []any{int64(2)}, "r": int64(3)}, "y": int64(2)}, mergeVars(places, false))
	merged := map[string]any{"x": map[string]any{"p": int64(1), "q": []any{int64(2)}, "r": int64(3)}, "y": int64(2)}
	require.Equal(t, merged, mergeVars(places, true))

	for _, deep := range []bool{false, true} {
		list := listLayers(places, deep)
		require.Len(t, list, 2)
		require.Equal(t, Layer{Name: "group c", Node: list[1].Node, File: "c.yml", Source: "inventory", Deep: deep}, list[1])
		require.Equal(t, map[string]any{"x": map[string]any{"q": []any{int64(2)}, "r": int64(3)}, "y": int64(2)}, list[1].Node.Any())
	}
	whole := wholeLayers(places, true)
	require.Equal(t, merged, whole[1].Node.Any())
	require.False(t, whole[1].Deep)
	require.Equal(t, "a.yml:1:9", whole[1].Node.Get("x").Get("p").Pos())
	require.Equal(t, "c.yml:1:9", whole[1].Node.Get("x").Get("q").Pos())
}

// wholeLayers layers come to the variables if each simply replaces those below it.
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
			for _, l := range wholeLayers(list, deep) {
				maps.Copy(merged, l.Node.Any().(map[string]any))
			}
			require.Equal(t, mergeVars(list, deep), merged)
		}
	}
}
