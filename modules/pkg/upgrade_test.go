package pkg_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/pkg"
)

// An upgrade is one of the host below Root.
type upgrade struct {
	Name       string `json:"name"`
	Root       string `json:"root"`
	Removals   bool   `json:"removals"`
	CacheValid string `json:"cache_valid"`

	a  *archive
	by *pkg.Upgrader
}

func (u *upgrade) Validate() error { return nil }

func (u *upgrade) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	if u.by == nil {
		u.by = &pkg.Upgrader{Security: u.Name == "security", Removals: u.Removals, CacheValid: u.CacheValid, LockTimeout: "2m"}
	}
	return u.by.Plan(ctx, u.a.in(u.Root, h))
}

func (u *upgrade) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	return u.by.Apply(ctx, u.a.in(u.Root, h), p)
}

// secured adds a repository of security updates: demo 1.2, and tool 0.9, which is older than any.
func (a *archive) secured(t *testing.T) {
	t.Helper()
	var packages bytes.Buffer
	add := func(c control) {
		a.add(t, &packages, c, "all")
	}
	add(control{"demo", "1.2", "", ""})
	add(control{"tool", "0.9", "", ""})
	add(control{"left", "1.1", "Conflicts: right\n", ""})
	index := "main/binary-" + native(t) + "/Packages"
	at := "repo/dists/stable-security/"
	text := bytes.ReplaceAll(packages.Bytes(), []byte("Filename: ./"), []byte("Filename: "))
	a.write(t, at+index, string(text))
	a.write(t, at+"Release", fmt.Sprintf("Suite: stable-security\nCodename: test-security\nArchitectures: %s\nComponents: main\nSHA256:\n %x %d %s\n",
		native(t), sha256.Sum256(text), len(text), index))
	a.write(t, "parts/security.list", "deb [trusted=yes] copy:"+a.dir+"/repo stable-security main\n")
	a.fetch(t)
}

// TestUpgrades upgrades hosts with the real apt.
func TestUpgrades(t *testing.T) {
	a := newArchive(t)
	a.secured(t)
	typ := modules.Type{Name: "upgrade", New: func() modules.Resource { return &upgrade{a: a} }}
	old := func(status string) []modtest.Node { return dpkgTree(has(status, "demo", "1.0", "")) }
	two := dpkgTree(has(ok, "demo", "1.0", "") + has(ok, "tool", "0.8", ""))
	// A newer left would have right removed.
	bound := dpkgTree(has(ok, "left", "0.9", "") + has(ok, "right", "1.0", "") + has(ok, "demo", "1.0", ""))
	fixture := func(name string, tree []modtest.Node, properties, action string, changes ...modules.Change) modtest.Fixture {
		return modtest.Fixture{Name: name, Tree: tree, Properties: `{"root":"$ROOT",` + properties + `}`, Action: action, Changes: changes}
	}
	to := func(name, have, want string) modules.Change {
		return modules.Change{Property: name, Have: have, Want: want}
	}
	modtest.Converges(t, typ,
		fixture("all", two, `"name":"all"`, "upgraded 2 packages", to("demo", "1.0", "2.0"), to("tool", "0.8", "1.0")),
		fixture("security", two, `"name":"security"`, "upgraded 2 packages", to("demo", "1.0", "1.2"), to("tool", "0.8", "0.9")),
		fixture("nothing is newer", dpkgTree(has(ok, "demo", "2.0", "")), `"name":"all"`, ""),
		fixture("newer, but not for security", dpkgTree(has(ok, "demo", "1.2", "")), `"name":"security"`, ""),
		fixture("held", old(hold), `"name":"all"`, ""),
		fixture("held, and a security update", old(hold), `"name":"security"`, ""),
		fixture("a removal that is not allowed", bound, `"name":"all"`, "upgraded 1 package", to("demo", "1.0", "2.0")),
		fixture("a removal that is not allowed, for security", bound, `"name":"security"`, "upgraded 1 package", to("demo", "1.0", "1.2")),
		fixture("a removal that is allowed", bound, `"name":"security","removals":true`, "upgraded 2 packages. removed 1 package",
			to("demo", "1.0", "1.2"), to("left", "0.9", "1.1"), to("right", "1.0", "absent")),
		fixture("a package that something new needs", dpkgTree(has(ok, "needs-demo", "0.9", "")), `"name":"all"`, "upgraded 1 package. installed 1 package",
			to("demo", "absent", "2.0"), to("needs-demo", "0.9", "1.0")),
	)
}

// TestUpgradeMarks checks that automatically installed packages keep their mark, so that they are still removed with
// the packages that need them.
func TestUpgradeMarks(t *testing.T) {
	a := newArchive(t)
	a.secured(t)
	root := modtest.Root(t)
	modtest.Build(t, root, dpkgTree(has(ok, "demo", "1.0", "")+has(ok, "tool", "0.8", "")))
	marks := filepath.Join(root, "var/lib/apt/extended_states")
	require.NoError(t, os.WriteFile(marks, []byte("Package: demo\nArchitecture: "+native(t)+"\nAuto-Installed: 1\n\n"), 0o644))
	h := a.host(root)
	u := &pkg.Upgrader{Security: true, LockTimeout: "2m"}
	plan, err := u.Plan(t.Context(), h)
	require.NoError(t, err)
	require.NoError(t, u.Apply(t.Context(), h, plan))
	require.Equal(t, "demo 1.2 installed\ntool 0.9 installed\n", a.installed(t, root))
	exit, err := h.Commands.Probe(t.Context(), modules.Command{Argv: []string{"apt-mark", "showauto"}})
	require.NoError(t, err)
	require.Equal(t, "demo\n", exit.Stdout.Text)
}

// TestUpgradeFetches checks that outdated lists are fetched once, and that the resulting upgrades are reported.
func TestUpgradeFetches(t *testing.T) {
	a := newArchive(t)
	root := modtest.Root(t)
	modtest.Build(t, root, dpkgTree(has(ok, "demo", "1.0", "")))
	h := a.host(root)
	u := &pkg.Upgrader{CacheValid: "0s", LockTimeout: "2m"}
	plan, err := u.Plan(t.Context(), h)
	require.NoError(t, err)
	require.Equal(t, []modules.Change{{Property: "cache", Have: "outdated", Want: "valid"}}, plan.Changes)
	require.NoError(t, u.Apply(t.Context(), h, plan))
	require.Equal(t, "demo 2.0 installed\n", a.installed(t, root))
	plan, err = u.Plan(t.Context(), h)
	require.NoError(t, err)
	require.False(t, plan.Pending())
}
