package link_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/file"
	"github.com/ccm-push/ccm-push/modules/link"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

func types() modules.Registry { return modules.Registry{file.Type(), link.Type()} }

func fileStep(properties string) modtest.Step {
	return modtest.Step{Type: "file", Properties: `{"owner":"$UID","group":"$GID","mode":"0755",` + properties + `}`}
}

func linkStep(properties string) modtest.Step {
	return modtest.Step{Type: "link", Properties: "{" + properties + "}"}
}

// TestPredicts uses later resources whose paths lead through links that do not exist yet.
func TestPredicts(t *testing.T) {
	dir := modtest.Node{Path: "d", Dir: true}
	for _, s := range []modtest.Scenario{
		{
			Name: "a directory, a link to it, and a file through the link",
			Steps: []modtest.Step{
				fileStep(`"name":"$ROOT/v1","ensure":"directory"`),
				linkStep(`"name":"$ROOT/current","target":"v1"`),
				fileStep(`"name":"$ROOT/current/f","content":"x"`),
				fileStep(`"name":"$ROOT/v1/f","content":"x"`),
				linkStep(`"name":"$ROOT/current","target":"v1"`),
			},
			Want: []string{"changed", "changed", "changed", "stable", "stable"},
		},
		{
			Name: "a link is moved on",
			Tree: []modtest.Node{dir, {Path: "d/f", Text: "x"}, {Path: "e", Dir: true}, {Path: "l", Link: "d"}},
			Steps: []modtest.Step{
				linkStep(`"name":"$ROOT/l","target":"e"`),
				fileStep(`"name":"$ROOT/l/f","content":"x"`),
			},
			Want: []string{"changed", "changed"},
		},
		{
			Name: "a directory is emptied and replaced",
			Tree: []modtest.Node{dir, {Path: "d/f", Text: "x"}, {Path: "e", Dir: true}},
			Steps: []modtest.Step{
				linkStep(`"name":"$ROOT/d","target":"e","force":true`),
				fileStep(`"name":"$ROOT/d/f","ensure":"absent"`),
				linkStep(`"name":"$ROOT/d","target":"e","force":true`),
				fileStep(`"name":"$ROOT/d/f","content":"y"`),
				linkStep(`"name":"$ROOT/d","ensure":"absent"`),
				fileStep(`"name":"$ROOT/e/f","content":"y"`),
			},
			Want: []string{"failed", "changed", "changed", "changed", "changed", "stable"},
		},
		{
			Name: "a link to nothing, and then to something",
			Steps: []modtest.Step{
				linkStep(`"name":"$ROOT/l","target":"d"`),
				fileStep(`"name":"$ROOT/l/f","content":"x"`),
				fileStep(`"name":"$ROOT/d","ensure":"directory"`),
				fileStep(`"name":"$ROOT/l/f","content":"x"`),
			},
			Want: []string{"changed", "failed", "changed", "changed"},
		},
		{
			Name: "a link in a directory that will be there",
			Steps: []modtest.Step{
				linkStep(`"name":"$ROOT/a/l","target":"x"`),
				fileStep(`"name":"$ROOT/a","ensure":"directory"`),
				linkStep(`"name":"$ROOT/a/l","target":"x"`),
				fileStep(`"name":"$ROOT/a","ensure":"absent"`),
			},
			Want: []string{"failed", "changed", "changed", "failed"},
		},
		{
			Name: "directories are made in place of a link",
			Tree: []modtest.Node{dir, {Path: "d/a", Link: "$ROOT/d"}, {Path: "l", Link: "d"}},
			Steps: []modtest.Step{
				linkStep(`"name":"$ROOT/l","ensure":"absent"`),
				fileStep(`"name":"$ROOT/l/a/b","ensure":"directory"`),
				linkStep(`"name":"$ROOT/l/a/b","target":"../b","force":true`),
				fileStep(`"name":"$ROOT/d/b","ensure":"directory"`),
			},
			Want: []string{"changed", "changed", "changed", "changed"},
		},
		{
			Name: "a circle is broken",
			Tree: []modtest.Node{dir, {Path: "l", Link: "l"}},
			Steps: []modtest.Step{
				fileStep(`"name":"$ROOT/l/f","content":"x"`),
				linkStep(`"name":"$ROOT/l","target":"d"`),
				fileStep(`"name":"$ROOT/l/f","content":"x"`),
			},
			Want: []string{"failed", "changed", "changed"},
		},
	} {
		t.Run(s.Name, func(t *testing.T) { modtest.Predicts(t, types(), s) })
	}
}

// TestPredictsRefusals requests changes that an ordinary user may not make.
func TestPredictsRefusals(t *testing.T) {
	modtest.AsOrdinaryUser(t, func(t *testing.T) {
		modtest.Predicts(t, types(), modtest.Scenario{
			Tree: []modtest.Node{{Path: "d", Dir: true, Mode: 0o555}, {Path: "e", Dir: true}, {Path: "l", Link: "x"}, {Path: "closed", Dir: true, Mode: 0o555}},
			Steps: []modtest.Step{
				linkStep(`"name":"$ROOT/d/l","target":"x"`),
				linkStep(`"name":"$ROOT/l","target":"y"`),
				linkStep(`"name":"$ROOT/d","target":"e","force":true`),
				linkStep(`"name":"/l","target":"e"`),
				linkStep(`"name":"$ROOT/l","target":"closed"`),
				fileStep(`"name":"$ROOT/l/f","content":"x"`),
			},
			Want: []string{"failed", "changed", "changed", "failed", "changed", "failed"},
		})
	})
}

func pick(g *rand.Rand, from ...string) string { return from[g.IntN(len(from))] }

func randomStep(g *rand.Rand) modtest.Step {
	path := pick(g, "a", "b", "c", "a/a", "a/b", "b/a", "c/a", "a/a/b")
	switch g.IntN(6) {
	case 0:
		return linkStep(fmt.Sprintf(`"name":"$ROOT/%s","ensure":"absent"`, path))
	case 1, 2:
		return linkStep(fmt.Sprintf(`"name":"$ROOT/%s","target":"%s","force":%v`, path,
			pick(g, "d", "e", "../b", "../a/b", "$ROOT/d", "$ROOT/d/a", "."), g.IntN(2) == 0))
	case 3:
		return fileStep(fmt.Sprintf(`"name":"$ROOT/%s","ensure":"absent","force":%v`, path, g.IntN(2) == 0))
	case 4:
		return fileStep(fmt.Sprintf(`"name":"$ROOT/%s","ensure":"directory"`, path))
	}
	return fileStep(fmt.Sprintf(`"name":"$ROOT/%s","content":%q`, path, pick(g, "one", "two")))
}

func randomScenario(g *rand.Rand) modtest.Scenario {
	s := modtest.Scenario{Tree: []modtest.Node{{Path: "d", Dir: true}}}
	for _, name := range []string{"a", "b", "d/a"} {
		switch g.IntN(4) {
		case 0:
			s.Tree = append(s.Tree, modtest.Node{Path: name, Dir: true})
		case 1:
			s.Tree = append(s.Tree, modtest.Node{Path: name, Text: "one"})
		case 2:
			s.Tree = append(s.Tree, modtest.Node{Path: name, Link: pick(g, "d", "a", "../b", "$ROOT/d", "nothing")})
		}
	}
	for range 2 + g.IntN(9) {
		s.Steps = append(s.Steps, randomStep(g))
	}
	return s
}

// TestPredictsAtRandom uses links and files that conflict with each other. All results can be known in advance.
func TestPredictsAtRandom(t *testing.T) {
	seeds := uint64(300)
	if testing.Short() {
		seeds /= 10
	}
	for seed := range seeds {
		t.Run(filepath.Join("seed", fmt.Sprint(seed)), func(t *testing.T) {
			tally := modtest.Predicts(t, types(), randomScenario(rand.New(rand.NewPCG(seed, 0))))
			require.Equal(t, tally.All, tally.Certain)
		})
	}
}
