package pkg_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/pkg"
)

// dpkgTree is a host on which dpkg has this status.
func dpkgTree(status string) []modtest.Node {
	var nodes []modtest.Node
	for _, dir := range []string{
		"var", "var/lib", "var/lib/apt", "var/lib/dpkg", "var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers",
	} {
		nodes = append(nodes, modtest.Node{Path: dir, Dir: true})
	}
	return append(nodes, modtest.Node{Path: "var/lib/dpkg/status", Text: status})
}

// has is an entry of dpkg's status.
func has(status, name, version, fields string) string {
	return fmt.Sprintf("Package: %s\nStatus: %s\nArchitecture: all\nMaintainer: test <test@localhost>\nVersion: %s\n%sDescription: test\n\n", name, status, version, fields)
}

const (
	ok   = "install ok installed"
	hold = "hold ok installed"
)

func change(property, have, want string) []modules.Change {
	return []modules.Change{{Property: property, Have: have, Want: want}}
}

func TestConverges(t *testing.T) {
	a := newArchive(t)
	a.fetched(t, 50*time.Hour)
	demo := func(version string) []modtest.Node { return dpkgTree(has(ok, "demo", version, "")) }
	fixture := func(name string, tree []modtest.Node, properties string) modtest.Fixture {
		return modtest.Fixture{Name: name, Tree: tree, Properties: `{"root":"$ROOT",` + properties + `}`}
	}
	stable := fixture
	changes := func(name string, tree []modtest.Node, properties, action string, changes []modules.Change) modtest.Fixture {
		f := fixture(name, tree, properties)
		f.Action, f.Changes = action, changes
		return f
	}
	refused := func(name string, tree []modtest.Node, properties, err string) modtest.Fixture {
		f := fixture(name, tree, properties)
		f.Err = err
		return f
	}
	both := append(dpkgTree(""), modtest.Node{Path: "var/lib/dpkg/arch", Text: native(t) + "\n" + foreign(t) + "\n"})
	modtest.Converges(t, a.rooted(), modtest.Kept("var/lib/dpkg", "", []modtest.Fixture{
		// present
		changes("absent, present", dpkgTree(""), `"name":"demo"`, "installed version 2.0", change("ensure", "absent", "2.0")),
		stable("any version is present", demo("0.1"), `"name":"demo","ensure":"present"`),
		stable("held and present", dpkgTree(has(hold, "demo", "1.0", "")), `"name":"demo"`),
		stable("triggers are pending", dpkgTree(has("install ok triggers-pending", "demo", "1.0", "Triggers-Pending: x\n")), `"name":"demo"`),
		changes("only its configuration is there", dpkgTree(has("deinstall ok config-files", "demo", "1.0", "")), `"name":"demo"`,
			"installed version 2.0", change("ensure", "absent", "2.0")),
		changes("unpacked", dpkgTree(has("install ok half-configured", "demo", "1.0", "")), `"name":"demo"`,
			"finished the installation of version 1.0", change("ensure", "half-configured", "1.0")),
		changes("with a dependency", dpkgTree(""), `"name":"needs-demo"`, "installed version 1.0", change("ensure", "absent", "1.0")),
		changes("it replaces another", dpkgTree(has(ok, "left", "1.0", "Conflicts: right\n")), `"name":"right"`,
			"installed version 1.0", change("ensure", "absent", "1.0")),
		refused("unknown", dpkgTree(""), `"name":"no-such-package"`,
			`package "no-such-package" is in no package list (fetched 2 days ago); check the name, or set cache_valid: 1h to fetch new lists`),
		refused("a dependency is missing", dpkgTree(""), `"name":"needy"`,
			"apt-get install needy=1.0 ended with exit code 100: needy : Depends: nosuch (>= 2) but it is not installable; "+
				"Unable to correct problems, you have held broken packages."),

		// latest
		changes("absent, latest", dpkgTree(""), `"name":"demo","ensure":"latest"`, "installed version 2.0", change("ensure", "absent", "2.0")),
		changes("older, latest", demo("1.0"), `"name":"demo","ensure":"latest"`, "upgraded to 2.0", change("version", "1.0", "2.0")),
		stable("latest already", demo("2.0"), `"name":"demo","ensure":"latest"`),
		stable("newer than the latest", demo("3.0"), `"name":"demo","ensure":"latest"`),
		refused("held, latest", dpkgTree(has(hold, "demo", "1.0", "")), `"name":"demo","ensure":"latest"`,
			"demo is held at 1.0; to let it change, run: apt-mark unhold demo"),
		stable("held, latest already", dpkgTree(has(hold, "demo", "2.0", "")), `"name":"demo","ensure":"latest"`),

		// versions
		changes("absent, a version", dpkgTree(""), `"name":"demo","ensure":"1.1"`, "installed version 1.1", change("ensure", "absent", "1.1")),
		changes("upgrade", demo("1.0"), `"name":"demo","ensure":"1.1"`, "upgraded to 1.1", change("version", "1.0", "1.1")),
		changes("downgrade", demo("2.0"), `"name":"demo","ensure":"1.0"`, "downgraded to 1.0", change("version", "2.0", "1.0")),
		changes("an epoch", dpkgTree(has(ok, "epoch", "2.0", "")), `"name":"epoch","ensure":"1:1.0-1"`, "upgraded to 1:1.0-1", change("version", "2.0", "1:1.0-1")),
		stable("the version", demo("1.1"), `"name":"demo","ensure":"1.1"`),
		stable("the same version, written otherwise", demo("1.0"), `"name":"demo","ensure":"0:1.00-0"`),
		refused("a version that nobody has", demo("1.0"), `"name":"demo","ensure":"9"`,
			`version 9 of "demo" is not available; available: 2.0, 1.1, 1.0`),
		refused("held, another version", dpkgTree(has(hold, "demo", "1.0", "")), `"name":"demo","ensure":"2.0"`,
			"demo is held at 1.0; to let it change, run: apt-mark unhold demo"),
		refused("a version of a virtual package", dpkgTree(""), `"name":"mta","ensure":"2"`, `no version of "mta" is available, so not 2`),

		// ranges
		stable("within", demo("1.0"), `"name":"demo","ensure":">= 1.0, < 2"`),
		changes("absent, the choice of apt", dpkgTree(""), `"name":"demo","ensure":"> 1"`, "installed version 2.0", change("ensure", "absent", "2.0")),
		changes("absent, the highest within", dpkgTree(""), `"name":"demo","ensure":"> 1, < 2"`, "installed version 1.1", change("ensure", "absent", "1.1")),
		changes("too old", demo("1.0"), `"name":"demo","ensure":"> 1.0, != 2.0"`, "upgraded to 1.1", change("version", "1.0", "1.1")),
		changes("too new", demo("2.0"), `"name":"demo","ensure":"<1.1"`, "downgraded to 1.0", change("version", "2.0", "1.0")),
		refused("a range that nothing is within", demo("1.0"), `"name":"demo","ensure":">= 3, < 4"`,
			`no version of "demo" that is >= 3, < 4 is available; available: 2.0, 1.1, 1.0`),
		refused("held, and too old", dpkgTree(has(hold, "demo", "1.0", "")), `"name":"demo","ensure":"> 1.0"`,
			"demo is held at 1.0; to let it change, run: apt-mark unhold demo"),
		refused("a range of a virtual package", dpkgTree(""), `"name":"mta","ensure":">= 2"`,
			`"mta" is a virtual package, which has no versions; name the package itself, or write ensure: present`),

		// holds
		changes("put on hold", demo("1.0"), `"name":"demo","hold":true`, "put on hold", change("hold", "false", "true")),
		stable("on hold already", dpkgTree(has(hold, "demo", "1.0", "")), `"name":"demo","hold":true`),
		stable("not held", demo("1.0"), `"name":"demo","hold":false`),
		changes("taken off hold", dpkgTree(has(hold, "demo", "1.0", "")), `"name":"demo","hold":false`, "taken off hold", change("hold", "true", "false")),
		changes("installed and held", dpkgTree(""), `"name":"demo","ensure":"1.1","hold":true`, "installed version 1.1. put on hold",
			append(change("ensure", "absent", "1.1"), change("hold", "false", "true")...)),
		changes("held at another version", dpkgTree(has(hold, "demo", "1.0", "")), `"name":"demo","ensure":"2.0","hold":true`,
			"upgraded to 2.0", change("version", "1.0", "2.0")),
		changes("taken off hold and upgraded", dpkgTree(has(hold, "demo", "1.0", "")), `"name":"demo","ensure":"latest","hold":false`,
			"upgraded to 2.0. taken off hold", append(change("version", "1.0", "2.0"), change("hold", "true", "false")...)),
		changes("taken off hold and removed", dpkgTree(has(hold, "demo", "1.0", "")), `"name":"demo","ensure":"absent","hold":false`,
			"uninstalled. taken off hold", append(change("ensure", "1.0", "absent"), change("hold", "true", "false")...)),
		refused("a virtual package on hold", dpkgTree(has(ok, "mta-b", "1.0", "Provides: something, mta\n")), `"name":"mta","hold":true`,
			`"mta" is a virtual package, which cannot be held; name the package itself`),

		// absent
		changes("present, absent", demo("1.0"), `"name":"demo","ensure":"absent"`, "uninstalled", change("ensure", "1.0", "absent")),
		stable("absent already", dpkgTree(""), `"name":"no-such-package","ensure":"absent"`),
		stable("absent but for its configuration", dpkgTree(has("deinstall ok config-files", "demo", "1.0", "")), `"name":"demo","ensure":"absent"`),
		changes("unpacked, absent", dpkgTree(has("install ok half-configured", "demo", "1.0", "")), `"name":"demo","ensure":"absent"`,
			"uninstalled", change("ensure", "half-configured", "absent")),
		refused("held, absent", dpkgTree(has(hold, "demo", "1.0", "")), `"name":"demo","ensure":"absent"`,
			"demo is held at 1.0; to let it change, run: apt-mark unhold demo"),

		// virtual packages
		stable("a virtual package is provided", dpkgTree(has(ok, "mta-b", "1.0", "Provides: something, mta\n")), `"name":"mta"`),
		changes("only one package provides it", dpkgTree(""), `"name":"solo"`, "installed", change("ensure", "absent", "present")),
		refused("several packages provide it", dpkgTree(""), `"name":"mta"`,
			"apt-get install mta ended with exit code 100: Package 'mta' has no installation candidate"),
		refused("the latest of a virtual package", dpkgTree(""), `"name":"mta","ensure":"latest"`,
			`"mta" is a virtual package, which has no versions; name the package itself, or write ensure: present`),
		stable("absent means the package of that name", dpkgTree(has(ok, "mta-b", "1.0", "Provides: something, mta\n")), `"name":"mta","ensure":"absent"`),

		// architectures
		changes("the host's own", both, `"name":"multi"`, "installed version 1.0", change("ensure", "absent", "1.0")),
		changes("another one", both, `"name":"multi:`+foreign(t)+`"`, "installed version 1.0", change("ensure", "absent", "1.0")),
	})...)
}

// TestNamesOfApt uses names that apt takes for a pattern, or for another name, if it does not know them.
func TestNamesOfApt(t *testing.T) {
	m := newArchive(t).machine(t, has(ok, "demo", "1.0", ""))
	for _, name := range []string{"demo+", "d.mo", "dem+o", "needs.demo", "only+", "solo+", "mta+", "demo+:all"} {
		for _, ensure := range []string{"present", "latest", ">= 0"} {
			_, err := m.decode(t, `{"name":"`+name+`","ensure":"`+ensure+`"}`).Check(t.Context(), modules.ReadOnly(m.Host))
			require.ErrorContains(t, err, `package "`+name+`" is in no package list`, "%s %s", name, ensure)
		}
		plan, err := m.decode(t, `{"name":"`+name+`","ensure":"absent"}`).Check(t.Context(), modules.ReadOnly(m.Host))
		require.NoError(t, err)
		require.False(t, plan.Pending(), name)
	}
	for _, name := range []string{"demo:", "demo:any", "demo:native"} {
		res := &pkg.Package{Name: name}
		require.EqualError(t, res.Validate(), `name: "`+name+`" names no architecture (write an architecture after the colon, as in libc6:i386, or remove the colon to use the host's architecture)`)
	}
	for name, want := range map[string]string{"demo:all": "upgraded to 2.0", "multi:" + native(t): "installed version 1.0", "solo": "installed"} {
		ensure := "latest"
		if name == "solo" {
			ensure = "present"
		}
		plan, err := m.decode(t, `{"name":"`+name+`","ensure":"`+ensure+`"}`).Check(t.Context(), modules.ReadOnly(m.Host))
		require.NoError(t, err)
		require.Equal(t, want, plan.Action)
	}
}

// TestTornPackages reinstalls packages that dpkg has left half-installed: the same version, or the available one if
// that is gone.
func TestTornPackages(t *testing.T) {
	a := newArchive(t)
	for _, status := range []string{"install ok half-installed", "install reinstreq half-installed", "install reinstreq half-configured", "install reinstreq unpacked", "hold reinstreq half-installed"} {
		for ensure, want := range map[string]string{"present": "1.0", "1.0": "1.0", "1.1": "1.1", "latest": "2.0"} {
			m := a.machine(t, has(status, "demo", "1.0", ""))
			apply := func(ensure string) (action string, err error) {
				res := m.decode(t, `{"name":"demo","hold":false,"ensure":"`+ensure+`"}`)
				plan, err := res.Check(t.Context(), modules.ReadOnly(m.Host))
				if err != nil || !plan.Pending() {
					return "", err
				}
				return plan.Action, res.Apply(t.Context(), m.Host, plan)
			}
			_, err := apply("absent")
			if word, stuck := strings.CutPrefix(status, strings.Fields(status)[0]+" reinstreq"); stuck && ensure == "present" {
				require.EqualError(t, err, "the package demo is reinstreq"+word+", and dpkg cannot remove it: first install the package again (ensure: present, or: apt-get install --reinstall demo)")
			} else if !stuck {
				require.NoError(t, err)
				continue
			}
			action, err := apply(ensure)
			require.NoError(t, err, "%s %s", status, ensure)
			if want == "1.0" {
				require.Contains(t, action, "finished the installation of version 1.0")
			}
			action, err = apply(want)
			require.NoError(t, err)
			require.Empty(t, action, "%s %s", status, ensure)
			_, err = apply("absent")
			require.NoError(t, err)
		}
	}
	m := a.machine(t, has("install reinstreq half-installed", "demo", "0.9", ""))
	res := m.decode(t, `{"name":"demo"}`)
	plan, err := res.Check(t.Context(), modules.ReadOnly(m.Host))
	require.NoError(t, err)
	require.Equal(t, "upgraded to 2.0", plan.Action, "0.9 is not on offer")
	require.NoError(t, res.Apply(t.Context(), m.Host, plan))
	plan, err = res.Check(t.Context(), modules.ReadOnly(m.Host))
	require.NoError(t, err)
	require.False(t, plan.Pending())
}
