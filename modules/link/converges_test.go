package link_test

import (
	"testing"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/link"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

func TestConverges(t *testing.T) {
	changes := func(ensure, have, want string) []modules.Change {
		target := modules.Change{Property: "target", Have: have, Want: want}
		if ensure == "" {
			return []modules.Change{target}
		}
		return []modules.Change{{Property: "ensure", Have: ensure, Want: "present"}, target}
	}
	file := modtest.Node{Path: "f", Text: "x"}
	dir := modtest.Node{Path: "d", Dir: true}
	inDir := modtest.Node{Path: "d/f", Text: "x"}
	l := modtest.Node{Path: "l", Link: "f"}

	modtest.Converges(t, link.Type(), []modtest.Fixture{
		// present
		{
			Name:       "new link",
			Properties: `{"name":"$ROOT/l","target":"$ROOT/f"}`,
			Action:     "created the link", Changes: changes("absent", "absent", "$ROOT/f"),
		},
		{
			Name: "new link in a linked directory", Tree: []modtest.Node{dir, {Path: "ld", Link: "d"}},
			Properties: `{"name":"$ROOT/ld/l","target":"../f"}`,
			Action:     "created the link", Changes: changes("absent", "absent", "../f"),
		},
		{Name: "the link as it should be", Tree: []modtest.Node{l}, Properties: `{"name":"$ROOT/l","target":"f","force":true}`},
		{
			Name: "another target", Tree: []modtest.Node{file, l},
			Properties: `{"name":"$ROOT/l","target":"$ROOT/f"}`,
			Action:     "updated the link", Changes: changes("", "f", "$ROOT/f"),
		},
		{
			Name: "another target than a directory", Tree: []modtest.Node{dir, inDir, {Path: "l", Link: "d"}},
			Properties: `{"name":"$ROOT/l","target":"e/"}`,
			Action:     "updated the link", Changes: changes("", "d", "e/"),
		},
		{
			Name:       "no parent",
			Properties: `{"name":"$ROOT/d/l","target":"f"}`,
			Err:        `the directory "$ROOT/d" does not exist (create it with a file resource that has ensure: directory)`,
		},
		{
			Name: "parent is a file", Tree: []modtest.Node{file},
			Properties: `{"name":"$ROOT/f/l","target":"f"}`,
			Err:        `"$ROOT/f" is not a directory`,
		},
		{
			Name: "parent is a circle", Tree: []modtest.Node{{Path: "c", Link: "c"}},
			Properties: `{"name":"$ROOT/c/l","target":"f"}`,
			Err:        "lstat $ROOT/c/l: too many levels of symbolic links",
		},
		{
			Name: "the path leads through the link", Tree: []modtest.Node{dir, {Path: "d/l", Link: "$ROOT/d"}, {Path: "a", Link: "d/l"}},
			Properties: `{"name":"$ROOT/a/l","target":"f"}`,
			Err:        "the path $ROOT/a/l leads through the link that it names; write $ROOT/d/l",
		},
		{
			Name: "a circle", Tree: []modtest.Node{{Path: "a", Link: "b"}, {Path: "b", Link: "l/x"}},
			Properties: `{"name":"$ROOT/l","target":"a"}`,
			Err:        `$ROOT/l would lead to itself through "a"`,
		},
		{
			Name: "a file is there", Tree: []modtest.Node{file},
			Properties: `{"name":"$ROOT/f","target":"g"}`,
			Err:        "$ROOT/f is a file, set 'force: true' to replace it by a link",
		},
		{
			Name: "a directory is there", Tree: []modtest.Node{dir},
			Properties: `{"name":"$ROOT/d","target":"g"}`,
			Err:        "$ROOT/d is a directory, set 'force: true' to replace it by a link",
		},
		{
			Name: "a file is replaced", Tree: []modtest.Node{file},
			Properties: `{"name":"$ROOT/f","target":"g","force":true}`,
			Action:     "replaced the file by a link", Changes: changes("file", "absent", "g"),
		},
		{
			Name: "an empty directory is replaced", Tree: []modtest.Node{dir},
			Properties: `{"name":"$ROOT/d","target":"g","force":true}`,
			Action:     "replaced the directory by a link", Changes: changes("directory", "absent", "g"),
		},
		{
			Name: "a directory with something in it stays", Tree: []modtest.Node{dir, inDir},
			Properties: `{"name":"$ROOT/d","target":"g","force":true}`,
			Err:        "cannot replace $ROOT/d by a link: the directory is not empty",
		},
		// absent
		{Name: "nothing there", Properties: `{"name":"$ROOT/l","ensure":"absent"}`},
		{Name: "nothing below a file", Tree: []modtest.Node{file}, Properties: `{"name":"$ROOT/f/l","ensure":"absent"}`},
		{
			Name: "remove a link", Tree: []modtest.Node{file, l},
			Properties: `{"name":"$ROOT/l","ensure":"absent","target":"anything"}`,
			Action:     "removed the link", Changes: []modules.Change{{Property: "ensure", Have: "present", Want: "absent"}},
		},
		{
			Name: "no link to remove", Tree: []modtest.Node{dir},
			Properties: `{"name":"$ROOT/d","ensure":"absent"}`,
			Err:        "the path $ROOT/d is a directory, not a link, so a link resource does not remove it (a file resource with ensure: absent does)",
		},
	}...)
}
