package kmod

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

const modprobe = `#!/bin/sh
at=${0%/*}/../sys/module
case "$* $(cat "$at/../../etc/modprobe.d/ccm-push.conf" 2>/dev/null)" in *=refused*) echo "modprobe: ERROR: could not insert '$2': Invalid argument" >&2; exit 1 ;; esac
set -- $(echo "$@" | sed 's/-- //' | sed 's/\(.\)-/\1_/g')
case $1 in
-r) rm -r "$at/$2" ;;
broken) echo "modprobe: FATAL: Module broken not found." >&2; exit 1 ;;
*)
	mkdir "$at/$1"; echo live >"$at/$1/initstate"
	name=$1; shift
	echo $(sed -n "s/^options $name //p" "$at/../../etc/modprobe.d/ccm-push.conf" 2>/dev/null) "$@" >"$at/$name/given" ;;
esac
`

func tree(more ...modtest.Node) []modtest.Node {
	var all []modtest.Node
	for _, dir := range []string{
		"bin", "etc", "etc/modules-load.d", "etc/modprobe.d", "sys", "sys/module", "sys/module/inside", "sys/module/dummy", "proc", "proc/sys", "proc/sys/kernel", "lib", "lib/modules", "lib/modules/6.1",
	} {
		all = append(all, modtest.Node{Path: dir, Dir: true})
	}
	return append(append(all,
		modtest.Node{Path: "bin/modprobe", Mode: 0o755, Text: modprobe}, modtest.Node{Path: "sys/module/dummy/initstate", Text: "live\n"},
		modtest.Node{Path: "proc/sys/kernel/osrelease", Text: "6.1\n"}, modtest.Node{Path: "lib/modules/6.1/modules.builtin", Text: "kernel/fs/deep-inside.ko\n"},
	), more...)
}

func TestConverges(t *testing.T) {
	change := func(property, have, want string) modules.Change {
		return modules.Change{Property: property, Have: have, Want: want}
	}
	load := modtest.Node{Path: "etc/modules-load.d/ccm-push.conf", Text: "# ours\ndummy\nloop\n"}
	probe := modtest.Node{Path: "etc/modprobe.d/ccm-push.conf", Text: "options dummy  numdummies=1\n"}
	with := func(more string) string { return `{"root":"$ROOT",` + more + `}` }
	modtest.Converges(t, modtest.Rooted(Type()), []modtest.Fixture{
		{
			Name: "now and at boot", Tree: tree(), Properties: with(`"name":"br-netfilter"`),
			Action: "loaded the module", Changes: []modules.Change{change("loaded", "no", "yes"), change("persisted", absent, "br-netfilter")},
		},
		{
			Name: "now alone, with a parameter", Tree: tree(load, probe), Properties: with(`"name":"new","persist":false,"parameters":["a=1","b"]`),
			Action: "loaded the module", Changes: []modules.Change{change("loaded", "no", "yes"), change("persisted", absent, "options new a=1 b")},
		},
		{
			Name: "loaded, with another parameter", Tree: tree(load, probe), Properties: with(`"name":"dummy","parameters":["numdummies=2"]`),
			Action: "persisted it", Changes: []modules.Change{change("persisted", "options dummy numdummies=1", "options dummy numdummies=2")},
		},
		{
			Name: "now, with other parameters than before", Tree: tree(modtest.Node{Path: "etc/modprobe.d/ccm-push.conf", Text: "options new a=0 c\noptions dummy x=1\n"}),
			Properties: with(`"name":"new","parameters":["a=1","b"]`), Action: "loaded the module",
			Changes: []modules.Change{change("loaded", "no", "yes"), change("persisted", absent, "new"), change("persisted", "options new a=0 c", "options new a=1 b")},
		},
		{Name: "as it shall be", Tree: tree(load, probe), Properties: with(`"name":"dummy","parameters":["numdummies=1"]`)},
		{Name: "built in", Tree: tree(), Properties: with(`"name":"inside","persist":false`)},
		{Name: "built in, and not in /sys", Tree: tree(), Properties: with(`"name":"deep_inside","persist":false`)},
		{
			Name: "absent", Tree: tree(load, probe, modtest.Node{Path: "sys/module/dummy/given", Text: "numdummies=1\n"}), Properties: with(`"name":"dummy","ensure":"absent"`),
			Action: "removed the module", Changes: []modules.Change{change("loaded", "yes", "no"), change("persisted", "dummy", absent), change("persisted", "options dummy numdummies=1", absent)},
		},
		{
			Name: "blacklisted", Tree: tree(), Properties: with(`"name":"floppy","ensure":"absent","blacklist":true`),
			Action: "persisted it", Changes: []modules.Change{change("persisted", absent, "blacklist floppy")},
		},
		{Name: "not there", Tree: tree(), Properties: with(`"name":"floppy","ensure":"absent"`)},
		{Name: "cannot go", Tree: tree(), Properties: with(`"name":"inside","ensure":"absent"`), Err: "inside is built into the kernel of this host, and cannot be removed"},
	}...)
}

// TestParameters loads a module with its parameters, and with no others that the file had before. If the kernel refuses
// them, the files are unchanged.
func TestParameters(t *testing.T) {
	for _, test := range []struct {
		name, file, param, given, want, err string
	}{
		{"new", "options dummy x=1\n", "a=1", "a=1", "options dummy x=1\noptions new a=1\n", ""},
		{"others before", "options new a=0 c\n", "a=1", "a=1", "options new a=1\n", ""},
		{"between others, with line ends of Windows", "# a\r\noptions new a=0\r\noptions dummy x=1\r\nblacklist new\r\n", "a=1", "a=1", "# a\r\noptions new a=1\noptions dummy x=1\r\n", ""},
		{"with line ends of Windows", "options new a=1\r\n", "a=1", "a=1", "options new a=1\n", ""},
		{"refused", "options dummy x=1\n", "a=refused", "", "options dummy x=1\n", "Invalid argument"},
		{"refused, others before", "options new a=0 c\n", "a=refused", "", "options new a=0 c\n", "Invalid argument"},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := modtest.Root(t)
			modtest.Build(t, root, tree(modtest.Node{Path: "etc/modprobe.d/ccm-push.conf", Text: test.file}))
			k := &Kmod{Name: "new", Parameters: []string{test.param}}
			h := modtest.RootedHost(root, modtest.Host())
			plan, err := k.Check(t.Context(), modules.ReadOnly(h))
			require.NoError(t, err)
			err = k.Apply(t.Context(), h, plan)
			text, read := os.ReadFile(root + probeFile)
			require.NoError(t, read)
			require.Equal(t, test.want, string(text))
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
				require.NoFileExists(t, root+loadFile)
				return
			}
			require.NoError(t, err)
			given, err := os.ReadFile(root + "/sys/module/new/given")
			require.NoError(t, err)
			require.Equal(t, test.given+"\n", string(given))
		})
	}
}

// warnings collects the warnings of a resource.
type warnings struct {
	modules.Discard
	text string
}

func (w *warnings) Message(level, text string) { w.text += level + ": " + text + "\n" }

// TestContradicted uses other files that contradict the resource.
func TestContradicted(t *testing.T) {
	no := false
	for _, test := range []struct {
		kmod       Kmod
		file, text string
		want       string
	}{
		{Kmod{Name: "br-x"}, "etc/modprobe.d/a.conf", "options br_x a=1\n# blacklist br_x\n", ""},
		{Kmod{Name: "br-x"}, "etc/modprobe.d/a.conf", "blacklist br_x\n", "warning: a boot does not load br-x, because /etc/modprobe.d/a.conf has it on the blacklist\n"},
		{Kmod{Name: "br-x", Persist: &no}, "etc/modprobe.d/a.conf", "blacklist br_x\n", ""},
		{Kmod{Name: "br-x"}, "lib/modprobe.d/a.conf", "install br_x /bin/false\n", "warning: modprobe runs \"/bin/false\" in place of loading br-x, because of a line in /lib/modprobe.d/a.conf\n"},
		{Kmod{Name: "br-x", Parameters: []string{"a=1", "b-c=2"}}, "etc/modprobe.d/z.conf", "options br_x a=1 d=3\noptions other a=2\n", ""},
		{Kmod{Name: "br-x", Parameters: []string{"a=1", "b-c=2"}}, "etc/modprobe.d/z.conf", "options br_x a=1 b_c=3\n", "warning: modprobe reads /etc/modprobe.d/z.conf after /etc/modprobe.d/ccm-push.conf, and passes b_c=3\n"},
		{Kmod{Name: "br-x", Parameters: []string{"a=1"}}, "etc/modprobe.d/a.conf", "options br_x a=2\n", ""},
		{Kmod{Name: "br-x", Parameters: []string{"a=1"}}, "proc/cmdline", "br_x.a=1 br_x.b=2 other.a=2\n", ""},
		{Kmod{Name: "br-x", Parameters: []string{"a=1"}}, "proc/cmdline", "br_x.a=2\n", "warning: modprobe passes a=2, because the command line of the kernel has br_x.a=2\n"},
		{Kmod{Name: "br-x"}, "proc/cmdline", "quiet modprobe.blacklist=other,br_x ro\n", "warning: a boot does not load br-x, because the command line of the kernel has modprobe.blacklist=other,br_x\n"},
		{Kmod{Name: "br-x", Persist: &no}, "proc/cmdline", "modprobe.blacklist=br_x\n", ""},
		{Kmod{Name: "br-x", Persist: &no}, "proc/cmdline", "module_blacklist=br_x\n", "warning: a boot does not load br-x, because the command line of the kernel has module_blacklist=br_x\n"},
		{Kmod{Name: "br-x"}, "etc/modprobe.d/ccm-push.conf", "blacklist other\n", ""},
		{Kmod{Name: "br-x", Ensure: absent}, "etc/modules-load.d/a.conf", "br_x\n", "warning: a boot loads br-x, because of a line in /etc/modules-load.d/a.conf\n"},
		{Kmod{Name: "br-x", Ensure: absent}, "etc/modprobe.d/a.conf", "blacklist br_x\n", ""},
	} {
		root := modtest.Root(t)
		nodes := tree()
		if strings.HasPrefix(test.file, "lib/") {
			nodes = append(nodes, modtest.Node{Path: "lib/modprobe.d", Dir: true})
		}
		modtest.Build(t, root, append(nodes, modtest.Node{Path: test.file, Text: test.text}))
		h, said := modtest.RootedHost(root, modtest.Host()), new(warnings)
		h.Report = said
		_, err := test.kmod.Check(t.Context(), h)
		require.NoError(t, err)
		require.Equal(t, test.want, said.text, test.text)
	}
}

func TestPredicts(t *testing.T) {
	step := func(properties string) modtest.Step {
		return modtest.Step{Type: "kmod", Properties: `{"root":"$ROOT",` + properties + `}`}
	}
	modtest.Predicts(t, modules.Registry{modtest.Rooted(Type())}, modtest.Scenario{
		Tree: tree(),
		Steps: []modtest.Step{
			step(`"name":"floppy","ensure":"absent","blacklist":true`),
			step(`"name":"floppy","ensure":"absent","blacklist":true`),
			step(`"name":"dummy"`),
			step(`"name":"broken"`),
			step(`"name":"a_b"`),
			step(`"name":"a-b","persist":false`),
			step(`"name":"a_b","ensure":"absent"`),
		},
		Want: []string{"changed", "stable", "changed", "changed unknown", "changed unknown", "changed unknown", "changed unknown"},
	})
}

func TestReversal(t *testing.T) {
	root := t.TempDir()
	modtest.Build(t, root, tree(modtest.Node{Path: "etc/modprobe.d/ccm-push.conf", Text: "blacklist new\n"}))
	with := func(parameter string) modules.Reverser {
		return modtest.In(root, &Kmod{Name: "new", Ensure: present, Parameters: []string{parameter}})
	}
	modtest.Undone(t, root, with("a=1"), with("a=2"))
}

func TestValidate(t *testing.T) {
	yes := true
	modtest.Validates(t, []modtest.Verdict[Kmod]{
		{Name: "a module", Of: Kmod{Name: "br_netfilter", Parameters: []string{"a=1", "b.c"}}},
		{Name: "absent", Of: Kmod{Name: "floppy", Ensure: absent, Blacklist: true}},
		{Name: "a path", Of: Kmod{Name: "/lib/x.ko"}, Err: "name: this is not a valid module name (write its name without a path and without .ko, such as br_netfilter)"},
		{Name: "two parameters", Of: Kmod{Name: "x", Parameters: []string{"a=1 b=2"}}, Err: `parameters[0]: "a=1 b=2" is not a parameter such as nf_conntrack_max=65536`},
		{Name: "absent with parameters", Of: Kmod{Name: "x", Ensure: absent, Parameters: []string{"a"}}, Err: "parameters: a module that is absent has no parameters"},
		{Name: "absent at boot", Of: Kmod{Name: "x", Ensure: absent, Persist: &yes}, Err: "persist: a module that is absent is not loaded at boot"},
		{Name: "blacklisted", Of: Kmod{Name: "x", Blacklist: true}, Err: "blacklist: 'blacklist: true' is only valid with 'ensure: absent'"},
	})
}

func TestDescribe(t *testing.T) {
	root := t.TempDir()
	modtest.Build(t, root, tree(modtest.Node{Path: "etc/modprobe.d/ccm-push.conf", Text: "blacklist floppy\noptions dummy a=1\n"}))
	for name, want := range map[string]string{
		"dummy": `{"ensure":"present","name":"dummy","lines":["options dummy a=1"]}`, "inside": `{"ensure":"present","name":"inside","built_in":true}`,
		"floppy": `{"ensure":"absent","name":"floppy","lines":["blacklist floppy"]}`,
	} {
		modtest.Describes(t, modtest.RootedHost(root, modtest.Host()), &Kmod{Name: name}, want)
	}
}
