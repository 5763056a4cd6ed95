package alternatives

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/file"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// needProgram skips a test if dpkg's update-alternatives is not installed.
func needProgram(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("update-alternatives", "--version").Output(); err != nil || !strings.HasPrefix(string(out), "Debian") {
		needs.Missing(t, "update-alternatives of dpkg")
	}
}

// tree is a host with two editors that the program knows from text, and one that it does not know. The program is the
// one of this machine.
func tree(text, chosen string) []modtest.Node {
	var all []modtest.Node
	for _, dir := range []string{"etc", "etc/alternatives", "bin", "usr", "usr/bin", "usr/man", "var", "var/lib", "var/lib/dpkg", "var/lib/dpkg/alternatives"} {
		all = append(all, modtest.Node{Path: dir, Dir: true})
	}
	for _, name := range []string{"bin/nano", "bin/vim", "bin/ed", "man/nano.1", "man/vim.1"} {
		all = append(all, modtest.Node{Path: "usr/" + name, Text: "x", Mode: 0o755})
	}
	all = append(all, modtest.Node{Path: "bin/update-alternatives", Mode: 0o755, Text: `#!/bin/sh
PATH=/usr/bin:/bin exec update-alternatives --quiet --root "${0%/bin/*}" --log /dev/null "$@"
`}, modtest.Node{Path: "dev", Dir: true}, modtest.Node{Path: "dev/null", Link: "/dev/null"}) // the log is below --root, too
	if text != "" {
		all = append(all, modtest.Node{Path: "var/lib/dpkg/alternatives/editor", Text: text},
			modtest.Node{Path: "etc/alternatives/editor", Link: "/usr/bin/" + chosen},
			modtest.Node{Path: "usr/bin/editor", Link: "/etc/alternatives/editor"})
	}
	return all
}

func state(mode string) string {
	return mode + "\n/usr/bin/editor\n\n/usr/bin/nano\n40\n/usr/bin/vim\n30\n\n"
}

func TestConverges(t *testing.T) {
	needProgram(t)
	with := func(more string) string {
		return `{"root":"$ROOT","name":"editor",` + strings.NewReplacer("NANO", `"/usr/bin/nano"`, "VIM", `"/usr/bin/vim"`, "ED", `"/usr/bin/ed"`, "LINK", `"/usr/bin/editor"`).Replace(more) + `}`
	}
	change := func(property, have, want string) modules.Change {
		return modules.Change{Property: property, Have: have, Want: want}
	}
	const nano, vim, ed = "/usr/bin/nano", "/usr/bin/vim", "/usr/bin/ed"
	modtest.Converges(t, modtest.Rooted(Type()),
		modtest.Fixture{
			Name: "chosen by hand", Tree: tree(state("auto"), "nano"), Properties: with(`"path":VIM`),
			Action: "chose " + vim, Changes: []modules.Change{change("selected", nano, vim), change("mode", "auto", "manual")},
		},
		modtest.Fixture{
			Name: "chosen by itself, and now by hand", Tree: tree(state("auto"), "nano"), Properties: with(`"path":NANO`),
			Action: "updated the alternative", Changes: []modules.Change{change("mode", "auto", "manual")},
		},
		modtest.Fixture{Name: "chosen already", Tree: tree(state("manual"), "vim"), Properties: with(`"path":VIM`)},
		modtest.Fixture{
			Name: "the first one", Tree: tree("", ""), Properties: with(`"path":ED,"link":LINK`),
			Action: "added the alternative. chose " + ed, Changes: []modules.Change{change("ensure", "absent", "present"), change("selected", "none", ed)},
		},
		modtest.Fixture{
			Name: "one more, which is not chosen", Tree: tree(state("auto"), "nano"), Properties: with(`"path":ED,"ensure":"present","priority":10`),
			Action: "added the alternative", Changes: []modules.Change{change("ensure", "absent", "present")},
		},
		modtest.Fixture{
			Name: "one more, which wins", Tree: tree(state("auto"), "nano"), Properties: with(`"path":ED,"ensure":"present"`),
			Action: "added the alternative. chose " + ed, Changes: []modules.Change{change("ensure", "absent", "present"), change("selected", nano, ed)},
		},
		modtest.Fixture{
			Name: "another priority", Tree: tree(state("manual"), "vim"), Properties: with(`"path":VIM,"ensure":"auto","priority":50`),
			Action: "updated the alternative", Changes: []modules.Change{change("priority", "30", "50"), change("mode", "manual", "auto")},
		},
		modtest.Fixture{
			Name: "by itself again", Tree: tree(state("manual"), "vim"), Properties: with(`"ensure":"auto"`),
			Action: "chose " + nano, Changes: []modules.Change{change("selected", vim, nano), change("mode", "manual", "auto")},
		},
		modtest.Fixture{
			Name: "removed, while it is chosen", Tree: tree(state("manual"), "vim"), Properties: with(`"path":VIM,"ensure":"absent"`),
			Action: "removed the alternative. chose " + nano, Changes: []modules.Change{change("ensure", "present", "absent"), change("selected", vim, nano), change("mode", "manual", "auto")},
		},
		modtest.Fixture{Name: "no alternative anyway", Tree: tree("", ""), Properties: with(`"path":VIM,"ensure":"absent"`)},
		modtest.Fixture{
			Name: "unknown, without a link", Tree: tree("", ""), Properties: with(`"path":VIM`),
			Err: `the name editor has no alternatives on this host yet, and /usr/bin/vim is the first: set the property "link", such as link: /usr/bin/editor`,
		},
		modtest.Fixture{
			Name: "no such program", Tree: tree(state("auto"), "nano"), Properties: `{"root":"$ROOT","name":"editor","path":"/usr/bin/joe"}`,
			Err: "the file /usr/bin/joe does not exist on this host, so it cannot be an alternative of editor",
		},
		modtest.Fixture{
			Name: "nothing to choose from", Tree: tree("", ""), Properties: with(`"ensure":"auto"`),
			Err: `editor has no alternatives on this host; install one, or write "path" and "link"`,
		},
	)
}

// TestPredicts uses alternatives that depend on each other, and on files that they need.
func TestPredicts(t *testing.T) {
	needProgram(t)
	step := func(more string) modtest.Step {
		return modtest.Step{Type: "alternatives", Properties: `{"root":"$ROOT","name":"editor","path":"/usr/bin/` + more + `}`}
	}
	modtest.Predicts(t, modules.Registry{modtest.Rooted(Type()), file.Type()}, modtest.Scenario{
		Tree: tree(state("auto"), "nano"),
		Steps: []modtest.Step{
			step(`vim"`),
			step(`vim"`),
			{Type: "file", Properties: `{"name":"$ROOT/usr/bin/joe","content":"j","mode":"0755"}`},
			step(`joe","priority":60`),
			step(`joe","ensure":"absent"`),
			step(`vim","ensure":"auto"`),
		},
		Want: []string{"changed", "stable", "changed", "changed", "changed", "stable"},
	})
}

// TestReversal restores the choice, and a removed alternative with its slaves.
func TestReversal(t *testing.T) {
	needProgram(t)
	const slaves = "manual\n/usr/bin/editor\neditor.1\n/usr/man/editor.1\n\n/usr/bin/nano\n40\n/usr/man/nano.1\n/usr/bin/vim\n30\n/usr/man/vim.1\n\n"
	for _, test := range []struct{ name, text, chosen, properties string }{
		{"chosen by itself", state("auto"), "nano", `"path":"/usr/bin/vim"`},
		{"chosen by hand", state("manual"), "vim", `"ensure":"auto"`},
		{"added", state("manual"), "vim", `"path":"/usr/bin/ed"`},
		{"another priority", slaves, "vim", `"path":"/usr/bin/vim","ensure":"auto","priority":90`},
		{"removed", slaves, "vim", `"path":"/usr/bin/vim","ensure":"absent"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := modtest.Root(t)
			modtest.Build(t, root, tree(test.text, test.chosen))
			if test.text == slaves { // the links that are not in the tree
				require.NoError(t, exec.Command(filepath.Join(root, "bin/update-alternatives"), "--set", "editor", "/usr/bin/vim").Run())
			}
			r := modtest.Decode(t, modules.Registry{modtest.Rooted(Type())}, "alternatives", `{"root":"$ROOT","name":"editor",`+test.properties+`}`, root)
			modtest.Undone(t, root, r.(modules.Reverser))
		})
	}
}

func TestParse(t *testing.T) {
	g, err := parse(strings.NewReader("manual\n/usr/bin/java\njre\n/usr/lib/jvm/jre\n\n/opt/java\n@java-17@1800 java.service\n/opt\n/usr/lib/java\n5\n\n\n"))
	require.NoError(t, err)
	require.Equal(t, group{
		manual: true, link: "/usr/bin/java", slaves: []slave{{Name: "jre", Link: "/usr/lib/jvm/jre"}},
		choices: []choice{{"/opt/java", 1800, []slave{{"/usr/lib/jvm/jre", "jre", "/opt"}}}, {"/usr/lib/java", 5, nil}},
	}, g)
	for _, text := range []string{"", "auto", "x\n/a\n\n", "auto\n/a\n\n/b\nmany\n\n"} {
		_, err := parse(strings.NewReader(text))
		require.Error(t, err, text)
	}
}

func TestValidate(t *testing.T) {
	ten := 10
	modtest.Validates(t, []modtest.Verdict[Alternatives]{
		{Of: Alternatives{Name: "editor", Ensure: auto}},
		{Of: Alternatives{Name: "editor", Ensure: selected}, Err: `path: "path" cannot be empty (name the program, or write ensure: auto)`},
		{Of: Alternatives{Name: "../x", Ensure: auto}, Err: `name: "../x" is not a valid name for alternatives: use letters, digits, dots, dashes, plus signs and underscores`},
		{Of: Alternatives{Name: "x", Ensure: auto, Link: "/x"}, Err: "link: 'link' is about an alternative, whose path is not given"},
		{Of: Alternatives{Name: "x", Ensure: auto, Priority: &ten}, Err: "priority: 'priority' is about an alternative, whose path is not given"},
	})
}

func TestDescribe(t *testing.T) {
	modtest.Describes(t, modtest.OnTree(t, tree(state("manual"), "vim")), &Alternatives{Name: "editor"}, `{"ensure":"present","selected":"/usr/bin/vim","mode":"manual","link":"/usr/bin/editor","paths":["/usr/bin/nano","/usr/bin/vim"]}`)
}
