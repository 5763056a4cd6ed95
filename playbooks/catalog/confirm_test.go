package catalog

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
)

// TestConfirmVia has addresses that are made of variables of a host, and none that it has a say in.
func TestConfirmVia(t *testing.T) {
	const byHost = "data from a host cannot choose the address that ccm-push connects to\n  hint: use data of the inventory"
	for _, c := range []struct {
		name, manifest string
		want           []manifest.Via
		err            string
	}{
		{"none", "", nil, ""},
		{"of variables", `confirm_via: ["{{ Data.address }}", ":2222", "ssh://admin@[2001:db8::7]:22"]`,
			[]manifest.Via{{Host: "10.0.0.9"}, {Port: 2222}, {User: "admin", Host: "2001:db8::7", Port: 22}}, ""},
		{"no address", `confirm_via: ["{{ Data.odd }}"]`, nil, "site.yaml:1:15: confirm_via: \"a b\" is not an address\n  hint: write HOST, HOST:PORT, :PORT or ssh://USER@HOST:PORT"},
		{"by the host", `confirm_via: ["{{ Facts.address }}"]`, nil, "site.yaml:1:14: " + byHost},
		{"by the host through data", "data: {a: \"{{ Facts.address }}\"}\nconfirm_via: [\"{{ Data.a }}\"]", nil, "site.yaml:2:14: " + byHost},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := c.manifest + "\nccm: {resources: [exec: [x: {confirm: \"{{ Data.odd == 'a b' ? 'never' : 'auto' }}\"}, y: ]]}\n"
			plays, err := load.Parse(t.Context(), "site.yaml", []byte(text), builtin.Types())
			require.NoError(t, err)
			plays[0].Folder = t.TempDir()
			compiler, err := New(plays[0], Options{})
			if err == nil {
				defer compiler.Close()
				var compiled *Compiled
				if compiled, err = compiler.Compile(t.Context(), Host{Name: "web1", Vars: map[string]any{"address": "10.0.0.9", "odd": "a b"}}); err == nil {
					require.Equal(t, c.want, compiled.Via)
					require.Equal(t, wire.ConfirmNever, compiled.Catalog.Entries[0].Confirm)
					require.Empty(t, compiled.Catalog.Entries[1].Confirm)
				}
			}
			if c.err != "" {
				require.EqualError(t, err, c.err)
				return
			}
			require.NoError(t, err)
		})
	}
}
