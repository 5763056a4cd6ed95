package pkg_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/pkg"
)

func kinds(p modules.Plan) (all []modules.EffectKind) {
	for _, e := range p.Effects {
		if !slices.Contains(all, e.Kind) {
			all = append(all, e.Kind)
		}
	}
	return all
}

// TestPendingPackagesInACheckRun reads package files in check runs only.
func TestPendingPackagesInACheckRun(t *testing.T) {
	a := newArchive(t)
	root := modtest.Root(t)
	modtest.Build(t, root, dpkgTree(has(ok, "right", "1.0", "")))
	h := a.host(root)
	h.Private = t.TempDir()
	check := func(name string, checkRun bool) []modules.EffectKind {
		h.CheckRun = checkRun
		plan, err := (&pkg.Package{Name: name, Ensure: "present"}).Check(t.Context(), h)
		require.NoError(t, err)
		return kinds(plan)
	}
	require.Contains(t, check("needs-demo", false), modules.AnyEffect)
	folders, err := os.ReadDir(h.Private)
	require.NoError(t, err)
	require.Empty(t, folders, "no check run")

	known := check("needs-demo", true)
	require.Contains(t, known, modules.ElsewhereEffect)
	require.NotContains(t, known, modules.AnyEffect)
	parts, err := os.ReadDir(filepath.Join(h.Private, "packages", "parts"))
	require.NoError(t, err)
	require.Empty(t, parts, "the repository is on the host")

	require.Contains(t, check("left", true), modules.AnyEffect, "right is removed")
	require.NoError(t, os.Remove(filepath.Join(a.dir, "repo/tool_1.0_all.deb")))
	require.Contains(t, check("tool", true), modules.AnyEffect, "the file is not there")
}
