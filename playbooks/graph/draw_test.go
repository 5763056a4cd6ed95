package graph

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzDrawings checks that any name or reason stays within a string of DOT, and that no output has control characters.
func FuzzDrawings(f *testing.F) {
	f.Add("file#/a", "owner", uint64(1))
	f.Add("exec#\"]\n}; <script>&amp;\x1b[31m\\", "a\"b\x00\u202e", uint64(2))
	f.Add(strings.Repeat("é", 500), "\xff\ufffe", uint64(3))
	f.Fuzz(func(t *testing.T, name, why string, seed uint64) {
		vertices, edges := random(rand.New(rand.NewPCG(seed, 3)), true)
		for i := range vertices {
			vertices[i].Ref += name
			vertices[i].Imports, vertices[i].Exports = []Import{{Property: why, Host: name, From: why}}, []string{why}
		}
		for i := range edges {
			edges[i].Why = why
		}
		g, err := New(vertices, edges)
		require.NoError(t, err)
		d := &Drawing{Graph: g, Title: name, Parallel: 4}
		dot := d.DOT()
		for line := range strings.Lines(dot) {
			quotes := strings.Count(strings.NewReplacer(`\\`, "", `\"`, "").Replace(line), `"`)
			require.Zero(t, quotes%2, line)
		}
		for _, text := range []string{dot, d.Text(), d.Why(0)} {
			require.False(t, strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f || r == '\u202e' }), "%q", text)
		}
	})
}

// TestSharedAlias draws the elements of an each, which have one alias.
func TestSharedAlias(t *testing.T) {
	g, err := New([]Vertex{
		{Ref: "file#confs", Name: "file#/etc/a.conf", Within: -1}, {Ref: "file#confs", Name: "file#/etc/b.conf", Within: -1},
		{Ref: "service#web", Name: "service#nginx", Within: -1},
	}, []Edge{{From: 0, To: 2, Kind: Subscribe, Why: "subscribe"}, {From: 1, To: 2, Kind: Subscribe, Why: "subscribe"}})
	require.NoError(t, err)
	d := &Drawing{Graph: g, Title: "web", InOrder: true}
	require.Equal(t, `web: 3 resources, in the order written
  file#/etc/a.conf
  file#/etc/b.conf
  service#web
    after and refreshed by file#/etc/a.conf (subscribe)
    after and refreshed by file#/etc/b.conf (subscribe)
`, d.Text())
	drawn := d.DOT()
	require.Contains(t, drawn, "/etc/a.conf")
	require.Contains(t, drawn, "/etc/b.conf")
	require.NotContains(t, drawn, "confs")
}
