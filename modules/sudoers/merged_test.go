package sudoers

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// A listener collects warnings.
type listener struct {
	modules.Reporter
	said []string
}

func (l *listener) Message(_, text string) { l.said = append(l.said, text) }

// TestAmongOtherFiles uses files that sudo reads before and after the rules.
func TestAmongOtherFiles(t *testing.T) {
	skipUnlessRoot(t)
	const includes = "@includedir $ROOT/d\n"
	for _, test := range []struct {
		name, main string
		others     map[string]string
		rules      []string
		warning    string
		err        string
	}{
		{"alone", includes, nil, []string{rule}, "", ""},
		{"an include of an old sudo", "#includedir $ROOT/d\n", nil, []string{rule}, "", ""},
		{"no include", "root ALL=ALL\n", nil, []string{rule}, "$ROOT/sudoers has no line @includedir $ROOT/d, so sudo reads no file there", ""},
		{"a later file wants a password", includes, map[string]string{"zz": "# z\ndeploy ALL=(ALL) ALL\n"}, []string{rule},
			"sudo reads $ROOT/d/zz:2 after the rules of $ROOT/d/m, and the last rule that matches decides: deploy needs a password there", ""},
		{"a later file wants no password", includes, map[string]string{"zz": "ALL ALL=(ALL) NOPASSWD: /bin/true\n"}, []string{"deploy ALL=(root) /bin/true"},
			"sudo reads $ROOT/d/zz:1 after the rules of $ROOT/d/m, and the last rule that matches decides: deploy needs no password there", ""},
		{"a later file, for a group of root", includes, map[string]string{"zz": "%root ALL=(ALL) ALL\n"}, []string{"root ALL=(root) NOPASSWD: /bin/true"},
			"sudo reads $ROOT/d/zz:1 after the rules of $ROOT/d/m, and the last rule that matches decides: root needs a password there", ""},
		{"/etc/sudoers itself, below the include", includes + "deploy ALL=(ALL) ALL\n", nil, []string{rule},
			"sudo reads $ROOT/sudoers:2 after the rules of $ROOT/d/m, and the last rule that matches decides: deploy needs a password there", ""},
		{"an earlier file", "deploy ALL=(ALL) ALL\n" + includes, map[string]string{"a": "deploy ALL=(ALL) ALL\n"}, []string{rule}, "", ""},
		{"later files that sudo skips", includes, map[string]string{"zz.conf": "deploy ALL=(ALL) ALL\n", "zz~": "deploy ALL=(ALL) ALL\n"}, []string{rule}, "", ""},
		{"a later file about others", includes, map[string]string{"zz": "ann ALL=(ALL) ALL\n%wheel ALL=(ALL) ALL\ndeploy ALL=(ALL) /bin/false\n"}, []string{rule}, "", ""},
		{"an alias that two files define", includes, map[string]string{"zz": "# z\nUser_Alias TEAM = ann\n"}, []string{"User_Alias TEAM = bob", "TEAM ALL=(root) /bin/true"}, "",
			`visudo refuses the rules: with the other files of sudo: $ROOT/d/zz:2: Alias "TEAM" already defined`},
		{"an alias of another file", includes, map[string]string{"a": "User_Alias TEAM = ann\n"}, []string{"TEAM ALL=(root) /bin/true"}, "", ""},
		{"a mistake of another file", includes, map[string]string{"a": "ann ALL=(\n"}, []string{rule}, "visudo finds a mistake in another file: $ROOT/d/a:1: syntax error", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			tree := []modtest.Node{{Path: "d", Dir: true}, {Path: "sudoers", Text: test.main}}
			for name, text := range test.others {
				tree = append(tree, modtest.Node{Path: "d/" + name, Text: text})
			}
			modtest.Build(t, root, tree)
			res := modtest.Decode(t, modules.Registry{Type()}, "sudoers", `{"name":"m","path":"$ROOT/d","rules":["x"]}`, root).(*Sudoers)
			res.main, res.Rules = root+"/sudoers", test.rules
			heard := &listener{}
			h := modules.ReadOnly(modtest.Host())
			heard.Reporter, h.Report = h.Report, heard
			_, err := res.Check(t.Context(), h)
			rooted := func(text string) string { return strings.ReplaceAll(text, "$ROOT", root) }
			if test.err == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, rooted(test.err))
			}
			if test.warning == "" {
				require.Empty(t, heard.said)
			} else {
				require.Equal(t, []string{rooted(test.warning)}, heard.said)
			}
		})
	}
}
