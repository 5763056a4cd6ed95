package sudoers

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/file"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

const rule = "deploy ALL=(root) NOPASSWD: /bin/true"

// skipUnlessRoot skips a test unless it runs as root on a machine with sudo: only root may give files to root (`make
// root`).
func skipUnlessRoot(t *testing.T) {
	t.Helper()
	needs.Root(t, "only root can give files to root")
	needs.Program(t, "visudo")
}

func TestConverges(t *testing.T) {
	skipUnlessRoot(t)
	old := modtest.Node{Path: "deploy", Text: "# old\n"}
	with := func(more string) string { return `{"name":"deploy","path":"$ROOT",` + more + `}` }
	modtest.Converges(t, Type(), []modtest.Fixture{
		{
			Name: "new", Properties: with(`"rules":["` + rule + `"]`),
			Action: "created the file",
			Changes: []modules.Change{
				{Property: "ensure", Have: "absent", Want: "present"},
				{Property: "content", Have: "absent", Want: "sha256:" + modules.TextContent(rule+"\n").SHA256()},
			},
		},
		{Name: "as it shall be", Tree: []modtest.Node{{Path: "deploy", Text: rule + "\n", Mode: 0o440}}, Properties: with(`"rules":["` + rule + `"]`)},
		{
			Name: "another mode", Tree: []modtest.Node{{Path: "deploy", Text: rule + "\n"}}, Properties: with(`"rules":["` + rule + `"]`),
			Action: "updated attributes", Changes: []modules.Change{{Property: "mode", Have: "0644", Want: "0440"}},
		},
		{
			Name: "absent", Tree: []modtest.Node{old}, Properties: with(`"ensure":"absent"`),
			Action: "removed the file", Changes: []modules.Change{{Property: "ensure", Have: "present", Want: "absent"}},
		},
		{
			Name: "a mistake", Tree: []modtest.Node{old}, Properties: with(`"rules":["` + rule + `","deploy ALL=(ALL NOPASSWD"]`),
			Err: "visudo refuses the rules: rule 2, column 17: syntax error\n    deploy ALL=(ALL NOPASSWD",
		},
	}...)
}

// TestReversal restores the earlier file, also after another rule.
func TestReversal(t *testing.T) {
	skipUnlessRoot(t)
	for _, tree := range [][]modtest.Node{nil, {{Path: "deploy", Text: "# ours\n", Mode: 0o640}}} {
		root := t.TempDir()
		modtest.Build(t, root, tree)
		with := func(ensure, rule string) *Sudoers {
			return &Sudoers{Name: "deploy", Ensure: ensure, Path: root, Rules: []string{rule}}
		}
		modtest.Undone(t, root, with(present, rule), with(present, "ann ALL=ALL"))
	}
}

func TestPredicts(t *testing.T) {
	skipUnlessRoot(t)
	modtest.Predicts(t, modules.Registry{file.Type(), Type()}, modtest.Scenario{
		Steps: []modtest.Step{
			{Type: "sudoers", Properties: `{"name":"b","path":"$ROOT","rules":["x"]}`},
			{Type: "sudoers", Properties: `{"name":"a","path":"$ROOT","rules":["` + rule + `"]}`},
			{Type: "sudoers", Properties: `{"name":"a","path":"$ROOT","rules":["` + rule + `"]}`},
			{Type: "file", Properties: `{"name":"$ROOT/a","content":"` + rule + `\n","mode":"0440"}`},
			{Type: "sudoers", Properties: `{"name":"a","path":"$ROOT","ensure":"absent"}`},
		},
		Want: []string{"failed", "changed", "stable", "stable", "changed"},
	})
}

func TestValidate(t *testing.T) {
	modtest.Validates(t, []modtest.Verdict[Sudoers]{
		{Name: "rules", Of: Sudoers{Name: "deploy", Rules: []string{rule}}},
		{Name: "absent", Of: Sudoers{Name: "10-deploy", Ensure: absent}},
		{Name: "no rules", Of: Sudoers{Name: "deploy"}, Err: `rules: "rules" cannot be empty`},
		{Name: "a dot", Of: Sudoers{Name: "deploy.conf", Ensure: absent}, Err: `name: sudo reads no file that is called "deploy.conf" (write a name without slashes and dots, and without a ~ at its end)`},
		{Name: "a backup", Of: Sudoers{Name: "deploy~", Ensure: absent}, Err: `name: sudo reads no file that is called "deploy~" (write a name without slashes and dots, and without a ~ at its end)`},
		{Name: "a path", Of: Sudoers{Name: "/etc/sudoers", Ensure: absent}, Err: `name: sudo reads no file that is called "/etc/sudoers" (write a name without slashes and dots, and without a ~ at its end)`},
		{Name: "two lines", Of: Sudoers{Name: "deploy", Rules: []string{"a\nb"}}, Err: `rules[0]: "rules[0]" must be one line, without NUL bytes`},
		{Name: "goes on", Of: Sudoers{Name: "deploy", Rules: []string{rule, `a \`}}, Err: "rules[1]: a rule is one line, so a backslash cannot continue it"},
	})
}

func TestWhom(t *testing.T) {
	for rule, want := range map[string]modules.Thing{
		rule: {Kind: modules.ThingUser, Key: "deploy"}, "%wheel ALL=ALL": {Kind: modules.ThingGroup, Key: "wheel"},
		"Defaults x": {}, "# ann": {}, "a,b ALL=ALL": {}, "": {}, "User_Alias A = a": {},
	} {
		require.Equal(t, want, whom(rule), rule)
	}
}

func TestDescribe(t *testing.T) {
	root := t.TempDir()
	modtest.Build(t, root, []modtest.Node{{Path: "deploy", Text: "# a\n" + rule + "\n"}})
	for name, want := range map[string]string{
		"deploy": `{"ensure":"present","name":"deploy","path":"` + root + `/deploy","rules":["# a","` + rule + `"]}`,
		"other":  `{"ensure":"absent","name":"other","path":"` + root + `/other"}`,
	} {
		modtest.Describes(t, modtest.Host(), &Sudoers{Name: name, Path: root}, want)
	}
}
