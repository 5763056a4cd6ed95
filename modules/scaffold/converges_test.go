package scaffold_test

import (
	"os"
	"testing"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/scaffold"
)

func sum(text string) string { return "sha256:" + modules.TextContent(text).SHA256() }

func changed(property, have, want string) modules.Change {
	return modules.Change{Property: property, Have: have, Want: want}
}

func node(path, text string, mode os.FileMode) modtest.Node {
	return modtest.Node{Path: path, Text: text, Mode: mode}
}

func dir(path string) modtest.Node { return modtest.Node{Path: path, Dir: true} }

// A tree of a directory, a file, an executable and a link, in its form on the wire: modes are decimal.
const (
	target = `"name":"$ROOT/t",`
	tree   = `"tree":{"mode":493,"nodes":[
		{"path":"a","mode":420,"content":"one\n"},
		{"path":"d","mode":493},
		{"path":"d/run","mode":493,"content":"two\n"},
		{"path":"l","target":"d/run"}
	]}`
)

// there is the same tree on the host.
var there = []modtest.Node{
	dir("t"), node("t/a", "one\n", 0o644), dir("t/d"), node("t/d/run", "two\n", 0o755), {Path: "t/l", Link: "d/run"},
}

func with(more ...modtest.Node) []modtest.Node {
	return append(append([]modtest.Node{}, there...), more...)
}

func TestConverges(t *testing.T) {
	modtest.Converges(t, scaffold.Type(), []modtest.Fixture{
		{
			Name:       "a new directory",
			Properties: `{` + target + tree + `}`,
			Action:     "changed 3 scaffold files",
			Changes: []modules.Change{
				changed("ensure", "absent", "present"),
				changed("a", "absent", sum("one\n")),
				changed("d", "absent", "directory"),
				changed("d/run", "absent", sum("two\n")),
				changed("l", "absent", "link to d/run"),
			}[0:5],
		},
		{
			Name:       "a new directory with parents",
			Properties: `{"name":"$ROOT/x/y/t","tree":{"mode":488,"nodes":[{"path":"a","mode":384,"content":"x"}]}}`,
			Action:     "changed 1 scaffold file",
			Changes:    []modules.Change{changed("ensure", "absent", "present"), changed("a", "absent", sum("x"))},
		},
		{
			Name: "all is as it should be", Tree: there,
			Properties: `{` + target + tree + `}`,
		},
		{
			Name: "what else is there does not matter", Tree: with(node("t/x", "x", 0), dir("t/e")),
			Properties: `{` + target + tree + `}`,
		},
		{
			Name:       "a file differs",
			Tree:       []modtest.Node{dir("t"), node("t/a", "old\n", 0o600)},
			Properties: `{` + target + `"tree":{"mode":493,"nodes":[{"path":"a","mode":420,"content":"one\n"}]}}`,
			Action:     "changed 1 scaffold file",
			Changes:    []modules.Change{changed("a", sum("old\n"), sum("one\n"))},
		},
		{
			Name:       "a mode differs",
			Tree:       []modtest.Node{dir("t"), node("t/a", "one\n", 0o600)},
			Properties: `{` + target + `"tree":{"mode":493,"nodes":[{"path":"a","mode":420,"content":"one\n"}]}}`,
			Action:     "changed 1 scaffold file",
			Changes:    []modules.Change{changed("a mode", "0600", "0644")},
		},
		{
			Name:       "a new file of somebody",
			Tree:       []modtest.Node{dir("t")},
			Properties: `{` + target + `"owner":"$UID","group":"$GID","tree":{"mode":493,"nodes":[{"path":"d","mode":448},{"path":"d/a","mode":420,"content":"one\n"}]}}`,
			Action:     "changed 1 scaffold file",
			Changes:    []modules.Change{changed("d", "absent", "directory"), changed("d/a", "absent", sum("one\n"))},
		},
		{
			Name:       "only a directory is missing",
			Tree:       []modtest.Node{dir("t")},
			Properties: `{` + target + `"tree":{"mode":493,"nodes":[{"path":"d","mode":493}]}}`,
			Action:     "changed 1 scaffold directory",
			Changes:    []modules.Change{changed("d", "absent", "directory")},
		},
		{
			Name:       "a directory that is there keeps its mode",
			Tree:       []modtest.Node{{Path: "t", Dir: true, Mode: 0o700}, {Path: "t/d", Dir: true, Mode: 0o711}},
			Properties: `{` + target + `"tree":{"mode":493,"nodes":[{"path":"d","mode":493}]}}`,
		},
		{
			Name:       "a setgid directory hands its group on",
			Tree:       []modtest.Node{{Path: "t", Dir: true, Mode: 0o755 | os.ModeSetgid}},
			Properties: `{` + target + `"tree":{"mode":493,"nodes":[{"path":"d","mode":493}]}}`,
			Action:     "changed 1 scaffold directory",
			Changes:    []modules.Change{changed("d", "absent", "directory")},
		},
		{
			Name:       "a link where a file belongs is replaced",
			Tree:       []modtest.Node{dir("t"), node("keep", "keep", 0), {Path: "t/a", Link: "../keep"}},
			Properties: `{` + target + `"tree":{"mode":493,"nodes":[{"path":"a","mode":420,"content":"keep"}]}}`,
			Action:     "changed 1 scaffold file",
			Changes:    []modules.Change{changed("a", "link to ../keep", sum("keep"))},
		},
		{
			Name:       "a file where a link belongs is replaced",
			Tree:       []modtest.Node{dir("t"), node("t/l", "x", 0)},
			Properties: `{` + target + `"tree":{"mode":493,"nodes":[{"path":"l","target":"a"}]}}`,
			Action:     "changed 1 scaffold file",
			Changes:    []modules.Change{changed("l", "file", "link to a")},
		},
		{
			Name:       "another link",
			Tree:       []modtest.Node{dir("t"), {Path: "t/l", Link: "/etc"}},
			Properties: `{` + target + `"tree":{"mode":493,"nodes":[{"path":"l","target":"a"}]}}`,
			Action:     "changed 1 scaffold file",
			Changes:    []modules.Change{changed("l", "link to /etc", "link to a")},
		},
		{
			Name:       "a link to the target",
			Tree:       []modtest.Node{dir("real"), {Path: "t", Link: "real"}},
			Properties: `{` + target + `"tree":{"mode":493,"nodes":[{"path":"a","mode":420,"content":"x"}]}}`,
			Action:     "changed 1 scaffold file",
			Changes:    []modules.Change{changed("a", "absent", sum("x"))},
		},

		// conflicting paths
		{
			Name: "a file in the place of the target", Tree: []modtest.Node{node("t", "x", 0)},
			Properties: `{` + target + tree + `}`,
			Err:        "$ROOT/t is a file; refusing to make a directory of it",
		},
		{
			Name: "a link to nothing in the place of the target", Tree: []modtest.Node{{Path: "t", Link: "nothing"}},
			Properties: `{` + target + tree + `}`,
			Err:        "$ROOT/t is a symlink to nothing; refusing to make a directory of it",
		},
		{
			Name: "a file above the target", Tree: []modtest.Node{node("f", "x", 0)},
			Properties: `{"name":"$ROOT/f/t",` + tree + `}`,
			Err:        `mkdir $ROOT/f/t: "$ROOT/f" is not a directory`,
		},
		{
			Name: "a link in the place of a directory", Tree: []modtest.Node{dir("t"), dir("out"), {Path: "t/d", Link: "../out"}},
			Properties: `{` + target + tree + `}`,
			Err:        "the path $ROOT/t/d is a symlink, and ccm-push does not write the files of a directory through a symlink",
		},
		{
			Name: "a file in the place of a directory", Tree: []modtest.Node{dir("t"), node("t/d", "x", 0)},
			Properties: `{` + target + tree + `}`,
			Err:        "$ROOT/t/d is a file; refusing to make a directory of it",
		},
		{
			Name: "a directory in the place of a file", Tree: []modtest.Node{dir("t"), dir("t/a")},
			Properties: `{` + target + tree + `}`,
			Err:        "$ROOT/t/a is a directory; refusing to replace it by a file",
		},
		{
			Name: "a directory in the place of a link", Tree: []modtest.Node{dir("t"), dir("t/l")},
			Properties: `{` + target + `"tree":{"mode":493,"nodes":[{"path":"l","target":"a"}]}}`,
			Err:        "$ROOT/t/l is a directory; refusing to replace it by a symlink",
		},

		// purge
		{
			Name:       "purge",
			Tree:       with(node("t/x", "x", 0), node("t/d/y", "y", 0), modtest.Node{Path: "t/out", Link: "../keep"}, dir("t/e"), dir("t/e/f"), node("t/e/f/g", "g", 0), dir("keep"), node("keep/k", "k", 0)),
			Properties: `{` + target + `"purge":true,` + tree + `}`,
			Action:     "changed 4 scaffold files",
			Changes: []modules.Change{
				changed("d/y", "file", "absent"),
				changed("e/f/g", "file", "absent"),
				changed("e/f", "directory", "absent"),
				changed("e", "directory", "absent"),
				changed("out", "link to ../keep", "absent"),
				changed("x", "file", "absent"),
			},
		},
		{
			Name: "nothing to purge", Tree: there,
			Properties: `{` + target + `"purge":true,` + tree + `}`,
		},
		{
			Name: "purge keeps lost+found", Tree: with(dir("t/lost+found")),
			Properties: `{` + target + `"purge":true,` + tree + `}`,
		},

		// absent
		{
			Name:       "absent, and it is",
			Properties: `{` + target + `"ensure":"absent",` + tree + `}`,
		},
		{
			Name: "remove all", Tree: there,
			Properties: `{` + target + `"ensure":"absent",` + tree + `}`,
			Action:     "removed 3 scaffold files",
			Changes: []modules.Change{
				changed("a", "file", "absent"), changed("d/run", "file", "absent"), changed("l", "link to d/run", "absent"),
				changed("d", "directory", "absent"), changed("ensure", "directory", "absent"),
			},
		},
		{
			Name: "remove what is there", Tree: []modtest.Node{dir("t"), dir("t/d"), node("t/d/run", "changed", 0), node("t/x", "x", 0)},
			Properties: `{` + target + `"ensure":"absent",` + tree + `}`,
			Action:     "removed 1 scaffold file",
			Changes:    []modules.Change{changed("d/run", "file", "absent"), changed("d", "directory", "absent")},
		},
		{
			Name: "only others are left", Tree: []modtest.Node{dir("t"), dir("t/d"), node("t/d/x", "x", 0), node("t/y", "y", 0)},
			Properties: `{` + target + `"ensure":"absent",` + tree + `}`,
		},
		{
			Name: "an empty target is removed", Tree: []modtest.Node{dir("t"), dir("t/d")},
			Properties: `{` + target + `"ensure":"absent",` + tree + `}`,
			Action:     "removed 2 scaffold directories",
			Changes:    []modules.Change{changed("d", "directory", "absent"), changed("ensure", "directory", "absent")},
		},
		{
			Name: "what is behind a link stays", Tree: []modtest.Node{dir("t"), dir("out"), node("out/run", "x", 0), {Path: "t/d", Link: "../out"}},
			Properties: `{` + target + `"ensure":"absent",` + tree + `}`,
		},
		{
			Name: "what is of another kind stays", Tree: []modtest.Node{dir("t"), dir("t/a"), node("t/d", "x", 0)},
			Properties: `{` + target + `"ensure":"absent",` + tree + `}`,
		},
		{
			Name: "a target behind a link", Tree: []modtest.Node{dir("real"), node("real/a", "x", 0), {Path: "t", Link: "real"}},
			Properties: `{` + target + `"ensure":"absent",` + tree + `}`,
			Action:     "removed 1 scaffold file",
			Changes:    []modules.Change{changed("a", "file", "absent")},
		},
		{
			Name: "a file in the place of the absent target", Tree: []modtest.Node{node("t", "x", 0)},
			Properties: `{` + target + `"ensure":"absent",` + tree + `}`,
		},
	}...)
}
