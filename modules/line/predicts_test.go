package line_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/exec"
	"github.com/ccm-push/ccm-push/modules/file"
	"github.com/ccm-push/ccm-push/modules/line"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

func types() modules.Registry { return modules.Registry{file.Type(), exec.Type(), line.Type()} }

func fileStep(properties string) modtest.Step {
	return modtest.Step{Type: "file", Properties: `{"owner":"$UID","group":"$GID","mode":"0755",` + properties + `}`}
}

func lineStep(properties string) modtest.Step {
	return modtest.Step{Type: "line", Properties: "{" + properties + "}"}
}

func TestPredicts(t *testing.T) {
	for _, s := range []modtest.Scenario{
		{
			Name: "a file, then lines in it, then the file as they left it",
			Steps: []modtest.Step{
				lineStep(`"name":"$ROOT/f","line":"x"`),
				fileStep(`"name":"$ROOT/f","content":"a\n"`),
				lineStep(`"name":"$ROOT/f","line":"x"`),
				lineStep(`"name":"b","path":"$ROOT/f","block":"b","before":"^x"`),
				lineStep(`"name":"$ROOT/f","line":"x"`),
				fileStep(`"name":"$ROOT/f","content":"a\n# BEGIN ccm-push b\nb\n# END ccm-push b\nx\n"`),
				lineStep(`"name":"$ROOT/f","ensure":"absent","line":"x"`),
			},
			Want: []string{"failed", "changed", "changed", "changed", "stable", "stable", "changed"},
		},
		{
			Name: "a file is made and removed",
			Steps: []modtest.Step{
				lineStep(`"name":"$ROOT/f","line":"x","create":true,"owner":"$UID","group":"$GID","mode":"0644"`),
				fileStep(`"name":"$ROOT/f","ensure":"absent"`),
				lineStep(`"name":"$ROOT/f","line":"x"`),
			},
			Want: []string{"changed", "changed", "failed"},
		},
		{
			Name: "a file that a command makes",
			Steps: []modtest.Step{
				{Type: "exec", Properties: `{"name":"touch $ROOT/f","creates":"$ROOT/f"}`},
				lineStep(`"name":"$ROOT/f","line":"x"`),
				lineStep(`"name":"$ROOT/f","line":"x"`),
			},
			Want: []string{"changed likely", "changed unknown", "changed unknown"},
		},
		{
			Name: "through a link",
			Tree: []modtest.Node{{Path: "f", Text: "a\n"}, {Path: "l", Link: "f"}},
			Steps: []modtest.Step{
				lineStep(`"name":"$ROOT/l","line":"x"`),
				lineStep(`"name":"$ROOT/f","line":"x"`),
				lineStep(`"name":"$ROOT/l","line":"x"`),
			},
			Want: []string{"failed", "changed", "stable"},
		},
	} {
		t.Run(s.Name, func(t *testing.T) { modtest.Predicts(t, types(), s) })
	}
}

// TestPredictsRefusals requests changes that an ordinary user may not make.
func TestPredictsRefusals(t *testing.T) {
	modtest.AsOrdinaryUser(t, func(t *testing.T) {
		modtest.Predicts(t, types(), modtest.Scenario{
			Tree: []modtest.Node{{Path: "closed", Dir: true, Mode: 0o555}, {Path: "closed/f", Text: "a\n"}, {Path: "secret", Mode: 0o200}, {Path: "mine"}},
			Steps: []modtest.Step{
				lineStep(`"name":"$ROOT/closed/f","line":"x"`),
				lineStep(`"name":"$ROOT/closed/f","line":"a"`),
				lineStep(`"name":"$ROOT/secret","line":"x"`),
				lineStep(`"name":"/etc/passwd","line":"x"`),
				lineStep(`"name":"$ROOT/new","line":"x","create":true,"owner":"root","group":"$GID","mode":"0644"`),
				lineStep(`"name":"$ROOT/mine","line":"x"`),
				lineStep(`"name":"$ROOT/hidden","line":"x","create":true,"owner":"$UID","group":"$GID","mode":"0200"`),
			},
			Want: []string{"failed", "stable", "failed", "failed", "failed", "changed", "changed likely"},
		})
	})
}

func pick(g *rand.Rand, from ...string) string { return from[g.IntN(len(from))] }

func randomStep(g *rand.Rand) modtest.Step {
	path := pick(g, "$ROOT/a", "$ROOT/b", "$ROOT/d/a", "$ROOT/l")
	what := fmt.Sprintf(`"line":%q,"regexp":%q`, pick(g, "x", "y", "#x"), pick(g, "", "x", "^#", "^y"))
	if g.IntN(3) == 0 {
		what = fmt.Sprintf(`"block":%q`, pick(g, "x", "y\nz\n"))
	}
	create := ""
	if g.IntN(3) == 0 {
		create = `"create":true,"owner":"$UID","group":"$GID","mode":"0644",`
	}
	switch g.IntN(6) {
	case 0:
		return fileStep(fmt.Sprintf(`"name":%q,"content":%q`, path, pick(g, "", "a", "#x\ny\n")))
	case 1:
		return fileStep(fmt.Sprintf(`"name":%q,"ensure":%q`, path, pick(g, "absent", "directory")))
	}
	return lineStep(fmt.Sprintf(`"name":"n","path":%q,"ensure":%q,"after":%q,%s%s`,
		path, pick(g, "present", "present", "absent"), pick(g, "", "BOF", "^y"), create, what))
}

// TestPredictsAtRandom uses lines and files that conflict with each other. All results can be known in advance.
func TestPredictsAtRandom(t *testing.T) {
	seeds := uint64(300)
	if testing.Short() {
		seeds /= 10
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			g := rand.New(rand.NewPCG(seed, 0))
			s := modtest.Scenario{Tree: []modtest.Node{{Path: "d", Dir: true}, {Path: "l", Link: pick(g, "a", "d/a")}}}
			if g.IntN(2) == 0 {
				s.Tree = append(s.Tree, modtest.Node{Path: "a", Text: pick(g, "x\r\n", "#x\nx1", "a\ny\n")})
			}
			for range 2 + g.IntN(9) {
				s.Steps = append(s.Steps, randomStep(g))
			}
			tally := modtest.Predicts(t, types(), s)
			require.Equal(t, tally.All, tally.Certain)
		})
	}
}
