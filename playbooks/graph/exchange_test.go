package graph

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// TestExchanged: values from and for other hosts are shown next to the resource.
func TestExchanged(t *testing.T) {
	vertices := flat("exec#token", "file#/etc/token", "file#/etc/other")
	from := Import{Property: "content", Host: "db1", From: "exec#token.stdout", At: &yamlpos.Node{File: "site.yaml", Line: 7, Column: 20}}
	vertices[0].Exports = []string{"stdout", "exit_code"}
	vertices[1].Imports, vertices[1].Exports = []Import{from}, []string{"state"}
	vertices[2].Imports = []Import{{Property: "owner", Host: "db1", From: "exec#token.stdout"}, {Property: "mode", Host: "db2", From: "exec#token.stdout"}}
	g, err := New(vertices, nil)
	require.NoError(t, err)
	d := &Drawing{Graph: g, Title: "play", InOrder: true}
	require.Equal(t, `play: 3 resources, in the order written
  exec#token
    exports stdout, exit_code
  file#/etc/token
    receives content from exec#token.stdout of db1
    exports state
  file#/etc/other
    receives owner from exec#token.stdout of db1
    receives mode from exec#token.stdout of db2
`, d.Text())
	require.Equal(t, "file#/etc/token\n  receives content from exec#token.stdout of db1 (recv, site.yaml:7:20)\n  exports state\n", d.Why(1))
	require.Equal(t, `digraph "play" {
  rankdir=LR
  node [shape=box, style=rounded, fontname="sans-serif"]
  edge [fontname="sans-serif", fontsize=10]
  n0 [label="exec#token", color=blue, xlabel="exports stdout, exit_code"]
  n1 [label="file#/etc/token", color=blue, xlabel="exports state"]
  n2 [label="file#/etc/other"]
  h0 [label="exec#token.stdout of db1", style="rounded,dashed", color=blue]
  h0 -> n1 [label="recv content", color=blue]
  h0 -> n2 [label="recv owner", color=blue]
  h1 [label="exec#token.stdout of db2", style="rounded,dashed", color=blue]
  h1 -> n2 [label="recv mode", color=blue]
}
`, d.DOT())
}
