package pkg_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/pkg"
)

// TestReversalOfHold restores the hold of a package, also if an earlier resource has not set it.
func TestReversalOfHold(t *testing.T) {
	m := newArchive(t).machine(t, has(hold, "demo", "1.0", "")+has(ok, "tool", "1.0", ""))
	for _, test := range []struct {
		properties string
		kept       modules.Resource
		want       map[string]any
	}{
		{`{"name":"demo","ensure":"latest","hold":true}`, nil, map[string]any{"ensure": "1.0", "hold": true, "lock_timeout": "2m"}},
		{`{"name":"tool","hold":true}`, nil, map[string]any{"ensure": "1.0", "hold": false, "lock_timeout": "2m"}},
		{`{"name":"left","hold":true}`, nil, map[string]any{"ensure": "absent", "hold": false, "lock_timeout": "2m"}},
		{`{"name":"tool","hold":true}`, &pkg.Package{Name: "tool", Ensure: "0.9"}, map[string]any{"ensure": "0.9", "hold": false, "lock_timeout": "2m"}},
		{`{"name":"tool","hold":true}`, &pkg.Package{Name: "tool", Ensure: "0.9", Hold: new(bool)}, nil},
		{`{"name":"tool","ensure":"latest"}`, &pkg.Package{Name: "tool", Ensure: "0.9", Hold: new(bool)}, nil},
	} {
		back, err := m.decode(t, test.properties).(*pkg.Package).Reversal(t.Context(), modules.ReadOnly(m.Host), test.kept)
		require.NoError(t, err)
		require.Equal(t, test.want, back, test.properties)
	}
}

// TestReversal changes a package and restores it: then the same changes are pending as before.
func TestReversal(t *testing.T) {
	a := newArchive(t)
	a.fetched(t, time.Minute)
	for _, test := range []struct{ name, status, want, back, err string }{
		{"absent", "", "present", "absent", ""},
		{"older", has(ok, "demo", "1.0", ""), "latest", "1.0", ""},
		{"newer", has(ok, "demo", "2.0", ""), "1.0", "2.0", ""},
		{"there", has(ok, "demo", "1.1", ""), "absent", "1.1", ""},
		{"in part", has("install ok half-configured", "demo", "1.0", ""), "present", "", "package demo is half-configured, which nothing brings back"},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := modtest.Root(t)
			modtest.Build(t, root, dpkgTree(test.status))
			of := func(ensure string) *rooted {
				return modtest.Decode(t, modules.Registry{a.rooted()}, "package", `{"root":"$ROOT","name":"demo","ensure":"`+ensure+`"}`, root).(*rooted)
			}
			res, h := of(test.want), modtest.Host()
			plan, err := res.Check(t.Context(), modules.ReadOnly(h))
			require.NoError(t, err)
			properties, err := res.Reversal(t.Context(), modules.ReadOnly(a.in(root, h)), nil)
			if test.err != "" {
				require.EqualError(t, err, test.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, map[string]any{"ensure": test.back, "lock_timeout": "2m"}, properties)
			require.NoError(t, res.Apply(t.Context(), h, plan))
			back := of(test.back)
			undo, err := back.Check(t.Context(), modules.ReadOnly(h))
			require.NoError(t, err)
			require.NoError(t, back.Apply(t.Context(), h, undo))
			again, err := of(test.want).Check(t.Context(), modules.ReadOnly(h))
			require.NoError(t, err)
			require.Equal(t, plan.Changes, again.Changes)
			more, err := res.Reversal(t.Context(), modules.ReadOnly(a.in(root, h)), back)
			require.NoError(t, err)
			require.Nil(t, more, "the first reversal stays")
		})
	}
}
