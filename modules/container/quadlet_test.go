package container

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// systemctlScript knows the units that existed at the last daemon-reload, as the real one does.
const systemctlScript = `#!/bin/sh
root=${0%/bin/systemctl}; d=$root/state
for last; do :; done
name=${last%.service}; at=/etc/containers/systemd/$name.container; file=$root$at
case $1 in
--no-pager)
	[ ! -e "$d/$name.other" ] || { echo LoadState=loaded; echo FragmentPath=/lib/systemd/system/$last; exit; }
	[ -e "$d/$name.unit" ] || { echo LoadState=not-found; exit; }
	echo LoadState=loaded; echo "SourcePath=$at"
	cmp -s "$file" "$d/$name.unit" && echo NeedDaemonReload=no || echo NeedDaemonReload=yes
	[ -e "$d/$name.run" ] && { [ -e "$d/$name.dying" ] && echo ActiveState=activating || echo ActiveState=active; } || echo ActiveState=inactive ;;
daemon-reload)
	rm -f "$d"/*.unit
	for file in "$root"/etc/containers/systemd/*.container; do
		[ ! -e "$file" ] || { name=${file##*/}; cat "$file" >"$d/${name%.container}.unit"; }
	done ;;
stop) rm -f "$d/$name.run" "$d/$name.made" "$d/$name.dying" ;;
start)
	[ -e "$d/$name.unit" ] || exit 5
	image=$(sed -n 's/^Image=//p' "$file"); id=$(cat "$d/image-$(echo "$image" | tr /: __)")
	echo "[{\"Image\":\"$id\",\"State\":{\"Running\":RUNNING},\"Config\":{}}]" >"$d/$name.made"; >"$d/$name.run" ;;
esac
`

// withQuadlet is a host with podman, its quadlet, and systemd.
func withQuadlet(more ...modtest.Node) []modtest.Node {
	return tree(append([]modtest.Node{
		{Path: "bin/systemctl", Mode: 0o755, Text: systemctlScript}, {Path: "etc", Dir: true}, {Path: "etc/containers", Dir: true},
		{Path: "usr", Dir: true}, {Path: "usr/lib", Dir: true}, {Path: "usr/lib/systemd", Dir: true}, {Path: "usr/lib/systemd/system-generators", Dir: true},
		{Path: "usr/lib/systemd/system-generators/podman-system-generator", Mode: 0o755, Text: "#!/bin/sh\n"},
	}, more...)...)
}

// ofApp1 is the container that the tests begin with.
func ofApp1() *Container {
	return &Container{Name: "c", Ensure: running, Provider: quadlet, Image: "app:1", Env: map[string]string{"A": "1"}, Ports: []string{"80:80"}}
}

// asUnit is a host that has it.
func asUnit(t *testing.T, runs bool, more ...modtest.Node) []modtest.Node {
	text, err := (&service{Container: ofApp1()}).text()
	require.NoError(t, err)
	nodes := []modtest.Node{
		{Path: "etc/containers/systemd", Dir: true}, {Path: "etc/containers/systemd/c.container", Text: text}, {Path: "state/c.unit", Text: text},
		{Path: "etc/containers/systemd/c.env", Mode: 0o600, Text: variablesLine + "A=1\n"},
	}
	if runs {
		nodes = append(nodes, modtest.Node{Path: "state/c.made", Text: `[{"Image":"id-of-app:1","State":{"Running":RUNNING},"Config":{}}]` + "\n"}, modtest.Node{Path: "state/c.run"})
	}
	return withQuadlet(append(nodes, more...)...)
}

// replaced replaces a node of a tree.
func replaced(nodes []modtest.Node, path, text string) []modtest.Node {
	for i := range nodes {
		if nodes[i].Path == path {
			nodes[i].Text = text
		}
	}
	return nodes
}

func without(nodes []modtest.Node, path string) (rest []modtest.Node) {
	for _, n := range nodes {
		if n.Path != path {
			rest = append(rest, n)
		}
	}
	return rest
}

const asQuadlet = same + `,"provider":"quadlet"`

func TestConvergesQuadlet(t *testing.T) {
	open := asUnit(t, true)
	for i := range open {
		if open[i].Path == "etc/containers/systemd/c.env" {
			open[i].Mode = 0o644
		}
	}
	noQuadlet := without(withQuadlet(), "usr/lib/systemd/system-generators/podman-system-generator")
	modtest.Converges(t, testType(), modtest.Kept("state/*", "", []modtest.Fixture{
		{Name: "new", Tree: withQuadlet(), Properties: with(asQuadlet), Action: "made the container", Changes: []modules.Change{modtest.Change("ensure", absent, running)}},
		{Name: "new, of an image to pull", Tree: withQuadlet(), Properties: with(`"image":"r.example.net/new:1","provider":"quadlet"`), Action: "made the container", Changes: []modules.Change{modtest.Change("ensure", absent, running)}},
		{Name: "as it shall be", Tree: asUnit(t, true), Properties: with(asQuadlet)},
		{Name: "stopped by somebody", Tree: asUnit(t, false), Properties: with(asQuadlet), Action: "started the container", Changes: []modules.Change{modtest.Change("ensure", stopped, running)}},
		{Name: "runs and shall not", Tree: asUnit(t, true), Properties: with(asQuadlet + `,"enable":true,"ensure":"stopped"`), Action: "stopped the container", Changes: []modules.Change{modtest.Change("ensure", running, stopped)}},
		{Name: "started again and again, and shall not run", Tree: asUnit(t, true, modtest.Node{Path: "state/c.dying"}), Properties: with(asQuadlet + `,"enable":true,"ensure":"stopped"`), Action: "stopped the container", Changes: []modules.Change{modtest.Change("ensure", running, stopped)}},
		{
			Name: "started again and again, made of something else", Tree: asUnit(t, true, modtest.Node{Path: "state/c.dying"}), Properties: with(asQuadlet + `,"memory":"1g"`), Action: "recreated the container",
			Changes: []modules.Change{modtest.Change("memory", "none", "1g"), modtest.Change("ensure", stopped, running)},
		},
		{
			Name: "made of something else", Tree: asUnit(t, true), Properties: with(`"provider":"quadlet","image":"app:1","env":{"A":"2","B":"3"},"command":["sh","-c","echo 100% of $HOME"],"restart":"always","enable":false`), Action: "recreated the container",
			Changes: []modules.Change{
				modtest.Change("command", "none", `sh -c "echo 100% of $HOME"`), modtest.Change("env", "A", "A B"), modtest.Change("ports", "80:80", "none"), modtest.Change("restart", "none", "always"),
				modtest.Change("enable", "at boot", "none"), modtest.Change("env.A", "another value", "the value of the manifest"),
			},
		},
		{
			Name: "made of something else while it does not run", Tree: asUnit(t, false), Properties: with(`"provider":"quadlet","image":"app:1","ensure":"present"`), Action: "recreated the container",
			Changes: []modules.Change{modtest.Change("env", "A", "none"), modtest.Change("ports", "80:80", "none")},
		},
		{
			Name: "edited", Tree: replaced(asUnit(t, true), "etc/containers/systemd/c.env", variablesLine+"A=1\nB=2\n"), Properties: with(asQuadlet), Action: "recreated the container",
			Changes: []modules.Change{modtest.Change("unit", "changed by something else", "as these properties have it")},
		},
		{
			Name: "readable by others", Tree: open, Properties: with(asQuadlet), Action: "recreated the container",
			Changes: []modules.Change{modtest.Change("unit", "changed by something else", "as these properties have it")},
		},
		{
			Name: "not read by systemd", Tree: replaced(asUnit(t, true), "state/c.unit", "[Container]\n"), Properties: with(asQuadlet), Action: "had systemd read its unit",
			Changes: []modules.Change{modtest.Change("unit", "not read", "read")},
		},
		{
			Name: "another image of that name", Tree: replaced(asUnit(t, true), "state/image-app_1", "another\n"), Properties: with(asQuadlet), Action: "recreated the container",
			Changes: []modules.Change{modtest.Change("image", "id-of-app:1", "another")},
		},
		{
			Name: "its file was removed while it runs", Tree: without(asUnit(t, true), "etc/containers/systemd/c.container"), Properties: with(asQuadlet), Action: "made the container",
			Changes: []modules.Change{modtest.Change("ensure", absent, running)},
		},
		{Name: "absent", Tree: asUnit(t, true), Properties: with(`"provider":"quadlet","ensure":"absent"`), Action: "removed the container", Changes: []modules.Change{modtest.Change("ensure", running, absent)}},
		{Name: "absent, and its variables are left", Tree: without(asUnit(t, false), "etc/containers/systemd/c.container"), Properties: with(`"provider":"quadlet","ensure":"absent"`), Action: "removed the container", Changes: []modules.Change{modtest.Change("ensure", "remains of it", absent)}},
		{Name: "absent, and the file is of somebody else", Tree: replaced(asUnit(t, false), "etc/containers/systemd/c.container", "[Container]\nImage=app:1\n"), Properties: with(`"provider":"quadlet","ensure":"absent"`), Err: "the file /etc/containers/systemd/c.container was not created by a container resource; remove the file, or set 'force: true' to replace the file"},
		{Name: "variables of somebody else", Tree: replaced(asUnit(t, false), "etc/containers/systemd/c.env", "A=1\n"), Properties: with(asQuadlet), Err: "the file /etc/containers/systemd/c.env was not created by a container resource; remove the file, or set 'force: true' to replace the file"},
		{Name: "absent already", Tree: noQuadlet, Properties: with(`"provider":"quadlet","ensure":"absent"`)},
		{Name: "no quadlet", Tree: noQuadlet, Properties: with(asQuadlet), Err: `podman on this host has no quadlet, which needs podman 4.4 or later; remove the property "provider", or upgrade podman`},
		{Name: "a file of somebody else", Tree: replaced(asUnit(t, false), "etc/containers/systemd/c.container", "[Container]\nImage=app:1\n"), Properties: with(asQuadlet), Err: "the file /etc/containers/systemd/c.container was not created by a container resource; remove the file, or set 'force: true' to replace the file"},
		{Name: "a service of somebody else", Tree: withQuadlet(modtest.Node{Path: "state/c.other"}), Properties: with(asQuadlet), Err: "there is a service c.service of something else, /lib/systemd/system/c.service; give the container another name"},
		{Name: "the container that is no service", Tree: withQuadlet(there("", true)[4:]...), Properties: with(asQuadlet), Err: "the container c already exists, and is not a service; remove the container, or set 'force: true' to replace the container"},
		{Name: "a container that is no service, replaced", Tree: withQuadlet(there("", true)[4:]...), Properties: with(asQuadlet + `,"force":true`), Action: "made the container", Changes: []modules.Change{modtest.Change("ensure", absent, running)}},
	})...)
}

// TestFailsQuadlet checks that the old unit is left if podman refuses an option.
func TestFailsQuadlet(t *testing.T) {
	root := modtest.Root(t)
	modtest.Build(t, root, asUnit(t, true))
	c := ofApp1()
	c.Options = []string{"--bad"}
	before := modtest.State(t, root)
	plan, err := c.Check(t.Context(), modules.ReadOnly(modtest.RootedHost(root, modtest.Host())))
	require.NoError(t, err)
	require.ErrorContains(t, c.Apply(t.Context(), modtest.RootedHost(root, modtest.Host()), plan), "unknown flag: --bad")
	after := modtest.State(t, root)
	delete(after, "state/arguments")
	require.Equal(t, before, after)
}

func TestUndoneQuadlet(t *testing.T) {
	root := modtest.Root(t)
	modtest.Build(t, root, asUnit(t, true))
	require.NoError(t, os.Symlink("/dev/null", root+"/state/arguments"))
	other := &Container{Name: "c", Ensure: stopped, Provider: quadlet, Image: "app:1", Env: map[string]string{"B": "2"}}
	modtest.Undone(t, root, modtest.In(root, other))
	modtest.Undone(t, root, modtest.In(root, &Container{Name: "c", Ensure: absent, Provider: quadlet}))
}

// TestPredictsQuadlet checks that files are certain, and running containers are not.
func TestPredictsQuadlet(t *testing.T) {
	step := func(properties string) modtest.Step {
		return modtest.Step{Type: "container", Properties: with(`"provider":"quadlet",` + properties)}
	}
	modtest.Predicts(t, modules.Registry{testType()}, modtest.Scenario{
		Tree: withQuadlet(),
		Steps: []modtest.Step{
			step(same + `,"ensure":"stopped"`), step(same + `,"ensure":"stopped"`), step(same), step(same), step(`"ensure":"absent"`), step(`"ensure":"absent"`),
		},
		Want: []string{"changed", "stable", "changed unknown", "stable unknown", "changed unknown", "stable unknown"},
	})
}

// TestUnitText checks the whole file, with all characters that quadlet and systemd would interpret.
func TestUnitText(t *testing.T) {
	yes := true
	c := &Container{
		Name: "shop", Ensure: stopped, Enable: &yes, Provider: quadlet, Image: "r.example.net/shop:1", Command: []string{"sh", "-c", "echo \"$A\" 5%\n\\", ""},
		Env: map[string]string{"TOKEN": "s3cret"}, Ports: []string{"8080:80"}, Volumes: []string{"/srv/shop:/data:ro"}, Network: "host", Labels: map[string]string{"a": "b c"},
		Restart: "unless-stopped", User: "app", Memory: "1g", CPUs: "1.5", Options: []string{"--read-only"},
	}
	require.NoError(t, c.Validate())
	text, err := (&service{Container: c}).text()
	require.NoError(t, err)
	_, rest, _ := strings.Cut(text, "\n\n")
	require.Equal(t, `[Unit]
Description=Container shop
Wants=network-online.target
After=network-online.target

[Container]
ContainerName=shop
Image=r.example.net/shop:1
Exec=sh -c "echo \"$$A\" 5%%\n\\" ""
EnvironmentFile=/etc/containers/systemd/shop.env
PublishPort=8080:80
Volume=/srv/shop:/data:ro
Network=host
Label="a=b c"
PodmanArgs=--user=app
PodmanArgs=--memory=1g
PodmanArgs=--cpus=1.5
PodmanArgs=--read-only

[Service]
Restart=always

[Install]
WantedBy=multi-user.target
`, rest)
	require.NotContains(t, text, "s3cret")
	of, ours := madeOf(text)
	require.True(t, ours)
	require.Equal(t, c.of(), of)
	for _, text := range []string{firstLine, firstLine + "\n# {\n", "[Container]\nImage=a\n\n"} {
		_, ours := madeOf(text)
		require.False(t, ours, "%s", text)
	}
	require.Equal(t, `a\x01 b`, strings.Trim(word("a\x01 b"), `"`), fmt.Sprintf("%q", word("a\x01 b")))
}
