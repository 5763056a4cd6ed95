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
type generator struct {
	*rand.Rand
	obscure bool // with cases that cannot be predicted: several names of one file, modes that shut out their owner
}

func pick[T any](g generator, from ...T) T { return from[g.IntN(len(from))] }

func (g generator) path() string {
	path := pick(g, "a", "b", "c")
	for g.IntN(2) == 0 && len(path) < 7 {
		path = filepath.Join(path, pick(g, "a", "b"))
	}
	return path
}

// tree makes a few nodes, each in a directory that exists. Some directories may
// not be written in.
func (g generator) tree() []modtest.Node {
	var nodes []modtest.Node
	var files []string
	dirs, taken := []string{"."}, map[string]bool{}
	for range g.IntN(7) {
		n := modtest.Node{Path: filepath.Join(pick(g, dirs...), pick(g, "a", "b", "c"))}
		if taken[n.Path] {
			continue
		}
		taken[n.Path] = true
		switch g.IntN(4) {
		case 0, 1:
			n.Dir, n.Mode = true, pick[os.FileMode](g, 0o755, 0o755, 0o700, 0o555, 0o500)
			if g.obscure {
				n.Mode = pick[os.FileMode](g, n.Mode, n.Mode, 0o300, 0o600)
			}
			dirs = append(dirs, n.Path)
		case 2:
			n.Text, n.Mode = pick(g, "", "one", "two"), pick[os.FileMode](g, 0o644, 0o600)
			if g.obscure && len(files) > 0 && g.IntN(2) == 0 {
				n = modtest.Node{Path: n.Path, Same: pick(g, files...)}
			}
			files = append(files, n.Path)
		case 3:
			n.Link = pick(g, "a", "b", "../a", "../b/a", "$ROOT/c", "$ROOT/a/b", ".", "nothing")
		}
		nodes = append(nodes, n)
	}
	return nodes
}

func (g generator) step(i int) modtest.Step {
	s := modtest.Step{Type: "file"}
	mode := pick(g, "0644", "600", "0700")
	if g.obscure {
		mode = pick(g, mode, mode, "0500", "0300", "0200", "0000")
	}
	attributes := fmt.Sprintf(`"owner":"%s","group":"%d","mode":"%s"`, g.owner(), os.Getegid(), mode)
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

// owner returns now and then a user to whom only root may give files.
func (g generator) owner() string {
	if g.IntN(8) == 0 {
		return "1"
	}
	return pick(g, fmt.Sprint(os.Geteuid()), "$UID")
}

func (g generator) scenario() modtest.Scenario {
	s := modtest.Scenario{Tree: g.tree(), FailOnError: g.IntN(5) == 0}
	for i := range 1 + g.IntN(10) {
		s.Steps = append(s.Steps, g.step(i))
	}
	return s
}

// TestPredictsFiles runs catalogs of files made at random: nearly everything
// about a file can be known in advance, so nearly every prediction has to be
// certain.
func TestPredictsFiles(t *testing.T) { predictsFiles(t, 0) }

func TestPredictsFilesOfAnOrdinaryUser(t *testing.T) {
	modtest.AsOrdinaryUser(t, func(t *testing.T) { predictsFiles(t, 1000) })
}

func predictsFiles(t *testing.T, first uint64) {
	seeds := uint64(400)
	if testing.Short() {
		seeds /= 10
	}
	for seed := first; seed < first+seeds; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			g := generator{rand.New(rand.NewPCG(seed, 0)), seed%4 == 0}
			tally := modtest.Predicts(t, builtin.Types(), g.scenario())
			if !g.obscure {
				require.Equal(t, tally.All, tally.Certain)
			}
		})
	}
}
