package catalog

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
)

// TestPlaysOfARollout compiles the drain resources and gates with the data and the files of the play itself.
func TestPlaysOfARollout(t *testing.T) {
	const text = `data: {lb: lb1, port: 80}
rollout:
  gate: {check: {command: "check_http -p {{ Data.port }} -H {{ Facts.fqdn }}"}}
  drain:
    before:
      - file: [/etc/lb/out: {on: "{{ Data.lb }}", content: "{{ template('out.templ') }}", owner: root, group: root, mode: "0600"}]
ccm: {resources: [exec: [x: ]]}
`
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "out.templ"), []byte("out {{ Data.port }}\n"), 0o600))
	plays, err := load.Parse(t.Context(), "site.yaml", []byte(text), builtin.Types())
	require.NoError(t, err)
	plays[0].Folder = folder
	plays[0].Inherit()
	compiled := func(p *manifest.Play) *Compiled {
		c, err := New(p, Options{HasHost: func(string) bool { return true }})
		require.NoError(t, err)
		t.Cleanup(c.Close)
		require.NoError(t, c.CheckLiteral(t.Context()))
		paths, _ := c.Facts()
		host := Host{Name: "web1", Facts: map[string]any{"fqdn": "web1.example"}}
		compiled, err := c.Compile(t.Context(), host)
		require.NoError(t, err, "%v", paths)
		require.Nil(t, compiled.Catalog.Remember)
		return compiled
	}
	r := plays[0].Rollout

	before := compiled(r.Before)
	require.Equal(t, "lb1", before.Catalog.Entries[0].On)
	there := before.Elsewhere[0].Catalog.Entries[0]
	var properties map[string]any
	require.NoError(t, json.Unmarshal(there.Properties, &properties))
	require.Equal(t, "out 80\n", properties["content"].(map[string]any)["text"])

	gate := compiled(r.Gates[0].Check)
	require.Len(t, gate.Catalog.Entries, 1)
	asked := gate.Catalog.Entries[0]
	require.Equal(t, "gate 1", asked.Name)
	require.Equal(t, []string{"check_http", "-p", "80", "-H", "web1.example"}, asked.Health[0].Argv)
}
