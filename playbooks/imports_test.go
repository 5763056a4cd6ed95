package playbooks

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
)

// TestImportsOfRun has what only the whole run knows of values of other hosts: its
// batches, and --limit.
func TestImportsOfRun(t *testing.T) {
	const one = `
- hosts: web1,web2,app1
  serial: 2
  ccm:
    resources:
      - exec:
          - token: {command: mktoken, export: [stdout]}
      - exec:
          - use: {command: "true", recv: {cwd: {host: app1, from: exec#token.stdout}}}
`
	for _, c := range []struct{ name, site, limit, err string }{
		{"a later batch", one, "", "site.yaml:9:55: web1 cannot receive a value from app1, because app1 runs in a later batch\n  hint: move exec#token into an earlier play"},
		{"not in this run", one, "web*", "site.yaml:9:55: exec#token is in the play \"site\", which does not run on the host app1\n  hint: set \"host\" to a host of the play \"site\", or include app1 in --limit"},
		{"one batch, with the limit", one, "web1,app1", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			inv, err := inventory.Parse("hosts.yaml", []byte("all: {hosts: {web1: , web2: , app1: }}"))
			require.NoError(t, err)
			plays, err := load.Parse(t.Context(), "site.yaml", []byte(c.site), builtin.Types())
			require.NoError(t, err)
			r := &Runner{Inventory: inv, Plays: plays, Options: Options{Limit: c.limit}}
			hosts, err := r.Select()
			require.NoError(t, err)
			if err := r.checkImports(hosts); c.err != "" {
				require.EqualError(t, err, c.err)
			} else {
				require.NoError(t, err)
			}
		})
	}
}
