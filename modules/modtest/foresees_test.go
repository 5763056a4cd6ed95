package modtest_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// generator makes scenarios of files that get into each other's way.
type generator struct{ *rand.Rand }

func pick[T any](g generator, from ...T) T { return from[g.IntN(len(from))] }

func (g generator) path() string {
	path := pick(g, "a", "b", "c")
	for g.IntN(2) == 0 && len(path) < 7 {
		path = filepath.Join(path, pick(g, "a", "b"))
	}
	return path
}

// tree makes a few nodes, each in a directory that exists.
func (g generator) tree() []modtest.Node {
	var nodes []modtest.Node
	dirs, taken := []string{"."}, map[string]bool{}
	for range g.IntN(7) {
		n := modtest.Node{Path: filepath.Join(pick(g, dirs...), pick(g, "a", "b", "c"))}
		if taken[n.Path] {
			continue
		}
		taken[n.Path] = true
		switch g.IntN(4) {
		case 0, 1:
			n.Dir = true
			dirs = append(dirs, n.Path)
		case 2:
			n.Text, n.Mode = pick(g, "", "one", "two"), pick[os.FileMode](g, 0o644, 0o600)
		case 3:
			n.Link = pick(g, "a", "b", "../a", "../b/a", "$ROOT/c", "$ROOT/a/b", ".", "nothing")
		}
		nodes = append(nodes, n)
	}
	return nodes
}

func (g generator) step(i int) modtest.Step {
	s := modtest.Step{Type: "file"}
	attributes := fmt.Sprintf(`"owner":"%s","group":"%d","mode":"%s"`,
		pick(g, fmt.Sprint(os.Geteuid()), "$UID"), os.Getegid(), pick(g, "0644", "600", "0700"))
	switch path := g.path(); g.IntN(5) {
	case 0:
		s.Properties = fmt.Sprintf(`{"name":"$ROOT/%s","ensure":"absent","force":%v}`, path, g.IntN(2) == 0)
	case 1, 2:
		s.Properties = fmt.Sprintf(`{"name":"$ROOT/%s","ensure":"directory",%s}`, path, attributes)
	case 3:
		s.Properties = fmt.Sprintf(`{"name":"$ROOT/%s","content":%q,%s}`, path, pick(g, "", "one", "two"), attributes)
	case 4:
		s.Properties = fmt.Sprintf(`{"name":"$ROOT/%s",%s}`, path, attributes)
	}
	if i > 0 && g.IntN(4) == 0 {
		s.Require = []int{g.IntN(i)}
	}
	s.Noop = g.IntN(8) == 0
	return s
}

func (g generator) scenario() modtest.Scenario {
	s := modtest.Scenario{Tree: g.tree(), FailOnError: g.IntN(5) == 0}
	for i := range 1 + g.IntN(10) {
		s.Steps = append(s.Steps, g.step(i))
	}
	return s
}

// TestForeseesFiles runs catalogs of files made at random: everything about a
// file can be known in advance, so every prediction has to be certain.
func TestForeseesFiles(t *testing.T) {
	for seed := range uint64(400) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			g := generator{rand.New(rand.NewPCG(seed, 0))}
			tally := modtest.Foresees(t, builtin.Types(), g.scenario())
			require.Equal(t, tally.All, tally.Certain)
		})
	}
}
