package scaffold_test

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/scaffold"
)

// TestLinkPlantedMeanwhile exchanges a directory of the target for a link after the check, at every moment at which a
// content is opened.
func TestLinkPlantedMeanwhile(t *testing.T) {
	for _, outside := range []string{"absolute", "relative"} {
		t.Run(outside, func(t *testing.T) {
			root := modtest.Root(t)
			modtest.Build(t, root, []modtest.Node{
				dir("t"), dir("t/d"), node("t/d/old", "x", 0o600), node("t/d/gone", "x", 0o600), dir("out"), node("out/old", "y", 0o600), node("out/gone", "y", 0o600),
			})
			before := modtest.Snapshot(t, filepath.Join(root, "out"))
			res := resource(t, root, `"purge":true,"tree":{"mode":493,"nodes":[
				{"path":"d","mode":493},{"path":"d/new","mode":420,"content":"z"},{"path":"d/old","mode":420,"content":"x"},{"path":"d/l","target":"old"},{"path":"d/e","mode":493}]}`)
			plan := check(t, res)
			require.Equal(t, "changed 4 scaffold files", plan.Action)

			h := modtest.Host()
			link := filepath.Join(root, "out")
			if outside == "relative" {
				link = "../out"
			}
			h.Contents = planting{h.Contents, func() {
				require.NoError(t, os.Rename(filepath.Join(root, "t/d"), filepath.Join(root, "t/was")))
				require.NoError(t, os.Symlink(link, filepath.Join(root, "t/d")))
			}}
			err := res.Apply(t.Context(), h, plan)
			require.ErrorContains(t, err, filepath.Join(root, "t/d"))
			require.Equal(t, before, modtest.Snapshot(t, filepath.Join(root, "out")), "something outside was touched")
		})
	}
}

type planting struct {
	modules.Contents
	plant func()
}

func (p planting) Open(ctx context.Context, c modules.Content) (io.ReadCloser, error) {
	p.plant()
	return p.Contents.Open(ctx, c)
}

// TestEveryStepStaysInside replaces the directory by a link before Apply begins, for each kind of step.
func TestEveryStepStaysInside(t *testing.T) {
	for _, test := range []struct{ name, properties string }{
		{"write", `"tree":{"mode":493,"nodes":[{"path":"d","mode":493},{"path":"d/new","mode":420,"content":"z"}]}`},
		{"make a directory", `"tree":{"mode":493,"nodes":[{"path":"d","mode":493},{"path":"d/e","mode":493}]}`},
		{"link", `"tree":{"mode":493,"nodes":[{"path":"d","mode":493},{"path":"d/l","target":"x"}]}`},
		{"set attributes", `"tree":{"mode":493,"nodes":[{"path":"d","mode":493},{"path":"d/f","mode":511,"content":"x"}]}`},
		{"purge", `"purge":true,"tree":{"mode":493,"nodes":[{"path":"d","mode":493}]}`},
		{"absent", `"ensure":"absent","tree":{"mode":493,"nodes":[{"path":"d","mode":493},{"path":"d/f","mode":420,"content":"x"}]}`},
		{"post", `"post":[{"new":"touch"}],"tree":{"mode":493,"nodes":[{"path":"d","mode":493},{"path":"d/new","mode":420,"content":"z"}]}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := modtest.Root(t)
			modtest.Build(t, root, []modtest.Node{dir("t"), dir("t/d"), node("t/d/f", "x", 0o600), dir("out"), node("out/f", "x", 0o600)})
			res := resource(t, root, test.properties)
			plan := check(t, res)
			require.True(t, plan.Pending())
			before := modtest.Snapshot(t, filepath.Join(root, "out"))
			require.NoError(t, os.RemoveAll(filepath.Join(root, "t/d")))
			require.NoError(t, os.Symlink(filepath.Join(root, "out"), filepath.Join(root, "t/d")))
			require.Error(t, res.Apply(t.Context(), modtest.Host(), plan))
			require.Equal(t, before, modtest.Snapshot(t, filepath.Join(root, "out")), "something outside was touched")
		})
	}
}

// TestPathsThatAreTooLong predicts that they cannot be made.
func TestPathsThatAreTooLong(t *testing.T) {
	root := modtest.Root(t)
	s := &scaffold.Scaffold{Name: filepath.Join(root, "t"), Ensure: "present", Tree: &modules.Tree{Mode: 0o755}}
	last := s.Name
	for name := ""; len(last) < 4096; { // PATH_MAX of limits.h, the byte at the end included
		name = path.Join(name, strings.Repeat("x", 250))
		last = filepath.Join(s.Name, name)
		s.Tree.Nodes = append(s.Tree.Nodes, modules.TreeNode{Path: name, Mode: 0o755})
	}
	require.NoError(t, s.Validate())
	_, err := s.Check(t.Context(), modules.ReadOnly(modtest.Host()))
	require.EqualError(t, err, "lstat "+last+": file name too long")
}

// TestRandomTrees goes from one tree to the next repeatedly, with all leftovers and planted paths in the target: apply
// makes it stable; purge leaves only the rendered files; nothing outside is changed; absent removes the rest.
func TestRandomTrees(t *testing.T) {
	seeds := uint64(60)
	if testing.Short() {
		seeds /= 10
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { randomTrees(t, rand.New(rand.NewPCG(seed, 0))) })
	}
}

func randomTrees(t *testing.T, r *rand.Rand) {
	root := modtest.Root(t)
	modtest.Build(t, root, []modtest.Node{dir("out"), node("out/precious", "p", 0o600), dir("t")})
	outside := modtest.Snapshot(t, filepath.Join(root, "out"))
	h := modtest.Host()
	for range 4 {
		litter(t, r, filepath.Join(root, "t"))
		s := &scaffold.Scaffold{Name: filepath.Join(root, "t"), Ensure: "present", Purge: r.IntN(2) == 0, Tree: randomTree(r)}
		require.NoError(t, s.Validate())
		plan, err := s.Check(t.Context(), modules.ReadOnly(h))
		if err != nil { // something of another kind is in the way
			var refused modules.Redactor
			require.ErrorAs(t, err, &refused)
			require.NoError(t, os.RemoveAll(s.Name))
			require.NoError(t, os.Mkdir(s.Name, 0o755))
			continue
		}
		if plan.Pending() {
			require.NoError(t, s.Apply(t.Context(), h, plan))
		}
		again, err := s.Check(t.Context(), modules.ReadOnly(h))
		require.NoError(t, err)
		require.Equal(t, modules.Plan{}, again)
		for _, n := range s.Tree.Nodes {
			requireNode(t, s.Name, n)
		}
		if s.Purge {
			require.Equal(t, len(s.Tree.Nodes), len(modtest.Snapshot(t, s.Name))-1, "purge has left something")
		}
		if r.IntN(3) == 0 {
			gone := *s
			gone.Ensure = "absent"
			plan, err := gone.Check(t.Context(), modules.ReadOnly(h))
			require.NoError(t, err)
			if plan.Pending() {
				require.NoError(t, gone.Apply(t.Context(), h, plan))
			}
			again, err := gone.Check(t.Context(), modules.ReadOnly(h))
			require.NoError(t, err)
			require.Equal(t, modules.Plan{}, again)
			if s.Purge {
				require.NoDirExists(t, s.Name)
			}
			require.NoError(t, os.MkdirAll(s.Name, 0o755))
		}
	}
	require.Equal(t, outside, modtest.Snapshot(t, filepath.Join(root, "out")), "something outside was touched")
}

func requireNode(t *testing.T, target string, n modules.TreeNode) {
	t.Helper()
	full := filepath.Join(target, n.Path)
	info, err := os.Lstat(full)
	require.NoError(t, err)
	switch n.Kind() {
	case modules.Directory:
		require.True(t, info.IsDir(), full)
	case modules.Symlink:
		leads, err := os.Readlink(full)
		require.NoError(t, err)
		require.Equal(t, n.Target, leads)
	default:
		require.Equal(t, n.Mode, info.Mode(), full)
		want, _ := n.Content.Bytes()
		require.Equal(t, string(want), content(t, full))
	}
}

// randomTree uses only a few names, so that they occur repeatedly.
func randomTree(r *rand.Rand) *modules.Tree {
	tree := &modules.Tree{Mode: 0o755}
	var fill func(dir string, depth int)
	fill = func(dir string, depth int) {
		for _, name := range []string{"a", "b", "c", "name with blank", "\t"} {
			full := path.Join(dir, name)
			switch r.IntN(6) {
			case 0:
				tree.Nodes = append(tree.Nodes, modules.TreeNode{Path: full, Target: strings.Repeat("../", r.IntN(depth+1)) + "x"})
			case 1, 2:
				mode := []fs.FileMode{0o644, 0o600, 0o755, 0o444}[r.IntN(4)]
				tree.Nodes = append(tree.Nodes, modules.TreeNode{Path: full, Mode: mode, Content: modules.TextContent(fmt.Sprint(r.IntN(3)))})
			case 3:
				tree.Nodes = append(tree.Nodes, modules.TreeNode{Path: full, Mode: 0o755})
				if depth < 3 {
					fill(full, depth+1)
				}
			}
		}
	}
	fill("", 0)
	return tree
}

// litter puts unmanaged paths into a directory.
func litter(t *testing.T, r *rand.Rand, target string) {
	t.Helper()
	for range r.IntN(4) {
		name := filepath.Join(target, []string{"a", "b", "x", "a/x", "a/b", "c/x"}[r.IntN(6)])
		if _, err := os.Lstat(name); err == nil {
			continue
		}
		if info, err := os.Lstat(filepath.Dir(name)); err != nil || !info.IsDir() {
			continue
		}
		switch r.IntN(4) {
		case 0:
			require.NoError(t, os.Symlink("../out", name))
		case 1:
			require.NoError(t, os.MkdirAll(filepath.Join(name, "deep"), 0o755))
		default:
			require.NoError(t, os.WriteFile(name, []byte("litter"), 0o644))
		}
	}
}
