package scaffold_test

import (
	"testing"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/exec"
	"github.com/ccm-push/ccm-push/modules/file"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/scaffold"
)

func TestPredicts(t *testing.T) {
	types := modules.Registry{scaffold.Type(), file.Type(), exec.Type()}
	of := func(properties string) modtest.Step {
		return modtest.Step{Type: "scaffold", Properties: `{"name":"$ROOT/t",` + properties + `}`}
	}
	plain := func(properties string) modtest.Step {
		return modtest.Step{Type: "file", Properties: `{"owner":"$UID","group":"$GID","mode":"0644",` + properties + `}`}
	}
	absent := func(name string) modtest.Step {
		return modtest.Step{Type: "file", Properties: `{"ensure":"absent","name":"$ROOT/` + name + `"}`}
	}
	for _, s := range []modtest.Scenario{
		{
			Name:  "twice",
			Steps: []modtest.Step{of(tree), of(tree), of(`"purge":true,` + tree)},
			Want:  []string{"changed", "stable", "stable"},
		},
		{
			Name:  "files of it are there afterwards",
			Steps: []modtest.Step{of(tree), absent("t/a"), of(tree), {Type: "exec", Properties: `{"name":"false","creates":"$ROOT/t/d/run"}`}},
			Want:  []string{"changed", "changed", "changed", "stable"},
		},
		{
			Name:  "what a file has made is purged",
			Tree:  there,
			Steps: []modtest.Step{plain(`"name":"$ROOT/t/x","content":"x"`), of(`"purge":true,` + tree), absent("t/x")},
			Want:  []string{"changed", "changed", "stable"},
		},
		{
			Name:  "removed and made again",
			Tree:  there,
			Steps: []modtest.Step{of(`"ensure":"absent",` + tree), of(`"ensure":"absent",` + tree), of(tree), of(tree)},
			Want:  []string{"changed", "stable", "changed", "stable"},
		},
		{
			Name:  "a directory is made for it",
			Steps: []modtest.Step{plain(`"name":"$ROOT/t","ensure":"directory"`), of(tree)},
			Want:  []string{"changed", "changed"},
		},
		{
			Name:  "something is in the way, and then not",
			Tree:  []modtest.Node{dir("t"), dir("t/a")},
			Steps: []modtest.Step{of(tree), absent("t/a"), of(tree)},
			Want:  []string{"failed", "changed", "changed"},
		},
		{
			Name:  "post commands cannot be predicted",
			Steps: []modtest.Step{of(`"post":[{"a":"chmod 0600"}],` + tree), of(tree)},
			Want:  []string{"changed likely", "changed unknown"},
		},
	} {
		t.Run(s.Name, func(t *testing.T) { modtest.Predicts(t, types, s) })
	}
}

// TestPredictsRefusals requests changes that an ordinary user may not make.
func TestPredictsRefusals(t *testing.T) { modtest.AsOrdinaryUser(t, predictsRefusals) }

func predictsRefusals(t *testing.T) {
	types := modules.Registry{scaffold.Type()}
	closed := modtest.Node{Path: "t", Dir: true, Mode: 0o555}
	for name, properties := range map[string]string{
		"write":  `"tree":{"mode":493,"nodes":[{"path":"new","mode":420,"content":"x"}]}`,
		"make":   `"tree":{"mode":493,"nodes":[{"path":"d","mode":493}]}`,
		"link":   `"tree":{"mode":493,"nodes":[{"path":"l","target":"x"}]}`,
		"purge":  `"purge":true,"tree":{"mode":493}`,
		"absent": `"ensure":"absent","tree":{"mode":493,"nodes":[{"path":"f","mode":420,"content":"x"}]}`,
		"owner":  `"owner":"root","tree":{"mode":493,"nodes":[{"path":"f","mode":420,"content":"x"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			modtest.Predicts(t, types, modtest.Scenario{
				Tree:  []modtest.Node{closed, node("t/f", "x", 0o644)},
				Steps: []modtest.Step{{Type: "scaffold", Properties: `{"name":"$ROOT/t",` + properties + `}`}},
				Want:  []string{"failed"},
			})
		})
	}
}
