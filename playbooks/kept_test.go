package playbooks

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
)

// TestCheckKeepsResults: what the check before a run compiles for one host alone is used by the run, once, unless it
// may come out otherwise later.
func TestCheckKeepsResults(t *testing.T) {
	for name, tt := range map[string]struct {
		text  string
		keeps bool
	}{
		"one for each host": {`exec: [{"echo {{ Host.name }}": {}}]`, true},
		"the same for all":  {`exec: [{"echo x": {}}]`, false},
		"facts":             {`exec: [{"echo {{ Facts.host.info.hostname }}": {}}]`, false},
		"a clock":           {`exec: [{"echo {{ Host.name }} {{ now().Unix() }}": {}}]`, false},
		"a download":        {`file: [{"/tmp/{{ Host.name }}": {source: "https://127.0.0.1:1/x", checksum: none, owner: root, group: root, mode: "0644"}}]`, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, servers(t, "web1", "web2"), "- hosts: all\n  ccm: {resources: ["+tt.text+"]}\n")
			downloads := catalog.NewDownloads()
			defer downloads.Close()
			plays, err := w.check(t.Context(), nil, nil, w.compiling(downloads), false, func(*manifest.Play, string) {})
			defer plays.close()
			require.NoError(t, err)
			one, host := plays.compilers[0], plays.hosts[0][0]
			require.Nil(t, plays.kept[0].take(nil, host))
			made := plays.kept[0].take(one, host)
			require.Equal(t, tt.keeps, made != nil)
			require.Nil(t, plays.kept[0].take(one, host))
			if made != nil {
				again, err := compile(t.Context(), one, host, map[string]any{})
				require.NoError(t, err)
				require.Equal(t, again.Catalog, made.Catalog)
			}
		})
	}
}

// TestKeptResultsAreBounded: results are kept as long as there is room.
func TestKeptResultsAreBounded(t *testing.T) {
	w := newWorld(t, servers(t, "web1", "web2"), "- hosts: all\n  ccm: {resources: [exec: [{\"echo {{ Host.name }}\": {}}]]}\n")
	downloads := catalog.NewDownloads()
	defer downloads.Close()
	plays, err := w.check(t.Context(), nil, nil, w.compiling(downloads), false, func(*manifest.Play, string) {})
	defer plays.close()
	require.NoError(t, err)
	of, hosts := plays.kept[0], plays.hosts[0]
	made := of.take(plays.compilers[0], hosts[0])
	of.room.Store(made.Size())
	of.keep(hosts[0], made)
	of.take(plays.compilers[0], hosts[1])
	of.keep(hosts[1], made)
	require.NotNil(t, of.take(plays.compilers[0], hosts[0]))
	require.Nil(t, of.take(plays.compilers[0], hosts[1]))
}
