package file_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/file"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// own are the ids that new files get anyway.
func own(properties string) string {
	return fmt.Sprintf(`{"owner":"%d","group":"%d",%s}`, os.Geteuid(), os.Getegid(), properties)
}

func digest(text string) string { return "sha256:" + modules.TextContent(text).SHA256() }

func TestConverges(t *testing.T) {
	created := func(text string) []modules.Change {
		return []modules.Change{
			{Property: "ensure", Have: "absent", Want: "present"},
			{Property: "content", Have: "absent", Want: digest(text)},
		}
	}
	ensure := func(have, want string) []modules.Change {
		return []modules.Change{{Property: "ensure", Have: have, Want: want}}
	}
	mode := func(have, want string) []modules.Change {
		return []modules.Change{{Property: "mode", Have: have, Want: want}}
	}
	content := func(have, want string) []modules.Change {
		return []modules.Change{{Property: "content", Have: digest(have), Want: digest(want)}}
	}
	motd := modtest.Node{Path: "motd", Text: "hi\n"}
	dir := modtest.Node{Path: "d", Dir: true}
	inDir := modtest.Node{Path: "d/f", Text: "x"}
	tree := []modtest.Node{
		dir, {Path: "d/a", Text: "x"}, {Path: "d/b", Dir: true, Mode: 0o700}, {Path: "d/b/c", Text: "x", Mode: 0o600},
		{Path: "keep", Text: "keep", Mode: 0o666}, {Path: "d/link", Link: "$ROOT/keep"}, {Path: "d/x", Text: "x", Mode: 0o711},
	}
	full := []modtest.Node{dir, inDir, {Path: "d/sub", Dir: true}, {Path: "d/sub/link", Link: "$ROOT/keep"}, {Path: "keep", Text: "keep"}}

	modtest.Converges(t, file.Type(), []modtest.Fixture{
		// present, content
		{
			Name:       "new file",
			Properties: own(`"name":"$ROOT/motd","mode":"0640","content":"hi\n"`),
			Action:     "created the file", Changes: created("hi\n"),
		},
		{
			Name:       "new file of somebody else",
			Properties: `{"name":"$ROOT/motd","mode":"0600","content":"hi\n","owner":"$UID","group":"$GID"}`,
			Action:     "created the file", Changes: created("hi\n"),
		},
		{
			Name:       "new file with empty content",
			Properties: own(`"name":"$ROOT/motd","mode":"0644","content":""`),
			Action:     "created the file", Changes: created(""),
		},
		{
			Name: "the file as it should be", Tree: []modtest.Node{motd},
			Properties: own(`"name":"$ROOT/motd","mode":"0644","content":"hi\n"`),
		},
		{
			Name: "other spellings", Tree: []modtest.Node{motd},
			Properties: own(`"name":"$ROOT/motd","mode":"0o644","contents":"hi\n"`),
		},
		{
			Name: "mode of three digits", Tree: []modtest.Node{motd},
			Properties: own(`"name":"$ROOT/motd","mode":"644","content":"hi\n"`),
		},
		{
			Name: "other content", Tree: []modtest.Node{motd},
			Properties: own(`"name":"$ROOT/motd","mode":"0644","content":"ho\n"`),
			Action:     "updated the file", Changes: content("hi\n", "ho\n"),
		},
		{
			Name: "other content and mode", Tree: []modtest.Node{motd},
			Properties: own(`"name":"$ROOT/motd","mode":"0600","content":"longer\n"`),
			Action:     "updated the file",
			Changes:    append(content("hi\n", "longer\n"), mode("0644", "0600")...),
		},
		{
			Name: "right content, other mode", Tree: []modtest.Node{motd},
			Properties: own(`"name":"$ROOT/motd","mode":"0400","content":"hi\n"`),
			Action:     "updated attributes", Changes: mode("0644", "0400"),
		},
		{
			Name: "unreadable mode", Tree: []modtest.Node{motd},
			Properties: own(`"name":"$ROOT/motd","mode":"0200"`),
			Action:     "updated attributes", Changes: mode("0644", "0200"),
		},
		{
			Name: "setuid bit is taken away", Tree: []modtest.Node{{Path: "su", Text: "#!", Mode: 0o755 | os.ModeSetuid}},
			Properties: own(`"name":"$ROOT/su","mode":"0755"`),
			Action:     "updated attributes", Changes: mode("4755", "0755"),
		},
		{
			Name: "a file where only a directory fits", Tree: []modtest.Node{dir},
			Properties: own(`"name":"$ROOT/d","mode":"0644","content":"x"`),
			Err:        "$ROOT/d exists as a directory; cannot manage it as a file",
		},
		{
			Name:       "no parent",
			Properties: own(`"name":"$ROOT/d/f","mode":"0644","content":"x"`),
			Err:        `the directory "$ROOT/d" does not exist (create it with a file resource that has ensure: directory)`,
		},
		{
			Name: "parent is a file", Tree: []modtest.Node{motd},
			Properties: own(`"name":"$ROOT/motd/f","mode":"0644","content":"x"`),
			Err:        `"$ROOT/motd" is not a directory`,
		},
		{
			Name: "parent is a link to a directory", Tree: []modtest.Node{dir, {Path: "l", Link: "d"}},
			Properties: own(`"name":"$ROOT/l/f","mode":"0644","content":"x"`),
			Action:     "created the file", Changes: created("x"),
		},
		{
			Name: "attributes of a file with two names", Tree: []modtest.Node{motd, {Path: "other", Same: "motd"}},
			Properties: own(`"name":"$ROOT/motd","mode":"0600"`),
			Action:     "updated attributes", Changes: mode("0644", "0600"),
		},
		{
			Name: "content of a file with two names", Tree: []modtest.Node{motd, {Path: "other", Same: "motd"}},
			Properties: own(`"name":"$ROOT/motd","mode":"0644","content":"ho\n"`),
			Action:     "updated the file", Changes: content("hi\n", "ho\n"),
		},
		// present, symbolic links
		{
			Name: "link to what should be there", Tree: []modtest.Node{motd, {Path: "l", Link: "motd"}},
			Properties: own(`"name":"$ROOT/l","mode":"0644","content":"hi\n"`),
		},
		{
			Name: "link to other content", Tree: []modtest.Node{motd, {Path: "l", Link: "$ROOT/motd"}},
			Properties: own(`"name":"$ROOT/l","mode":"0644","content":"ho\n"`),
			Action:     "updated the file", Changes: content("hi\n", "ho\n"),
		},
		{
			Name: "link to another mode", Tree: []modtest.Node{motd, {Path: "l", Link: "$ROOT/motd"}},
			Properties: own(`"name":"$ROOT/l","mode":"0600","content":"hi\n"`),
			Action:     "updated the file", Changes: mode("0644", "0600"),
		},
		{
			Name: "link to nothing", Tree: []modtest.Node{{Path: "l", Link: "nothing"}},
			Properties: own(`"name":"$ROOT/l","mode":"0644","content":"hi\n"`),
			Action:     "created the file",
			Changes: []modules.Change{
				{Property: "ensure", Have: "symlink", Want: "present"},
				{Property: "content", Have: "absent", Want: digest("hi\n")},
			},
		},
		{
			Name: "link to a directory", Tree: []modtest.Node{dir, {Path: "l", Link: "d"}},
			Properties: own(`"name":"$ROOT/l","mode":"0644","content":"hi\n"`),
			Err:        "$ROOT/l exists as a directory; cannot manage it as a file",
		},
		{
			Name: "link in a circle", Tree: []modtest.Node{{Path: "a", Link: "b"}, {Path: "b", Link: "a"}},
			Properties: own(`"name":"$ROOT/a","mode":"0644","content":"hi\n"`),
			Err:        "stat $ROOT/a: too many levels of symbolic links",
		},
		// present, neither content nor source
		{
			Name:       "new empty file",
			Properties: own(`"name":"$ROOT/motd","mode":"0644"`),
			Action:     "created an empty file with requested attributes", Changes: ensure("absent", "present"),
		},
		{
			Name: "attributes only, content kept", Tree: []modtest.Node{motd},
			Properties: own(`"name":"$ROOT/motd","mode":"0600"`),
			Action:     "updated attributes", Changes: mode("0644", "0600"),
		},
		{
			Name: "attributes only, right", Tree: []modtest.Node{motd},
			Properties: own(`"name":"$ROOT/motd","mode":"0644"`),
		},
		{
			Name: "attributes through a link, right", Tree: []modtest.Node{motd, {Path: "l", Link: "motd"}},
			Properties: own(`"name":"$ROOT/l","mode":"0644"`),
		},
		{
			Name: "attributes through a link", Tree: []modtest.Node{motd, {Path: "l", Link: "motd"}},
			Properties: own(`"name":"$ROOT/l","mode":"0600"`),
			Err:        "$ROOT/l is a symlink; refusing to set attributes through it",
		},
		// symbolic modes
		{
			Name: "symbolic, new", Properties: own(`"name":"$ROOT/f","mode":"u=rw,g=r,o=","content":"x"`),
			Action: "created the file", Changes: created("x"),
		},
		{
			Name: "symbolic, of what is there", Tree: []modtest.Node{{Path: "f", Text: "x", Mode: 0o664}},
			Properties: own(`"name":"$ROOT/f","mode":"g-w,a+x"`),
			Action:     "updated attributes", Changes: mode("0664", "0755"),
		},
		{
			Name: "symbolic, with other content", Tree: []modtest.Node{{Path: "f", Text: "x", Mode: 0o660}},
			Properties: own(`"name":"$ROOT/f","mode":"g-w","content":"y"`),
			Action:     "updated the file", Changes: append(content("x", "y"), mode("0660", "0640")...),
		},
		{
			Name: "symbolic, of a directory with setgid", Tree: []modtest.Node{{Path: "d", Dir: true, Mode: 0o775 | os.ModeSetgid}},
			Properties: own(`"name":"$ROOT/d","ensure":"directory","mode":"o="`),
			Action:     "updated attributes", Changes: mode("2775", "2770"),
		},
		{Name: "symbolic, and so already", Tree: []modtest.Node{{Path: "f", Text: "x", Mode: 0o640}}, Properties: own(`"name":"$ROOT/f","mode":"o-rwx,u+r"`)},
		// missing properties
		{
			Name:       "new file, nothing given",
			Properties: `{"name":"$ROOT/f","content":"x"}`,
			Action:     "created the file", Changes: created("x"),
		},
		{
			Name:       "new directories, nothing given",
			Properties: `{"name":"$ROOT/a/b","ensure":"directory"}`,
			Action:     "created directory", Changes: ensure("absent", "directory"),
		},
		{Name: "a file as it is", Tree: []modtest.Node{motd}, Properties: `{"name":"$ROOT/motd"}`},
		{Name: "a directory as it is", Tree: []modtest.Node{{Path: "tmp", Dir: true, Mode: 0o640 | os.ModeSetgid}}, Properties: `{"name":"$ROOT/tmp","ensure":"directory"}`},
		{Name: "a setuid file as it is", Tree: []modtest.Node{{Path: "su", Text: "x", Mode: 0o711 | os.ModeSetuid}}, Properties: `{"name":"$ROOT/su","content":"x"}`},
		{
			Name: "other content keeps the mode", Tree: []modtest.Node{{Path: "f", Text: "x", Mode: 0o604}},
			Properties: `{"name":"$ROOT/f","content":"y"}`,
			Action:     "updated the file", Changes: content("x", "y"),
		},
		{
			Name: "other content of a setuid file", Tree: []modtest.Node{{Path: "su", Text: "x", Mode: 0o711 | os.ModeSetuid}},
			Properties: `{"name":"$ROOT/su","content":"y"}`,
			Action:     "updated the file", Changes: append(content("x", "y"), mode("4711", "0711")...),
		},
		{
			Name: "one of three", Tree: []modtest.Node{{Path: "f", Text: "x", Mode: 0o604}},
			Properties: `{"name":"$ROOT/f","mode":"0600"}`,
			Action:     "updated attributes", Changes: mode("0604", "0600"),
		},
		{Name: "link to what should be there, nothing given", Tree: []modtest.Node{{Path: "f", Text: "x", Mode: 0o604}, {Path: "l", Link: "f"}}, Properties: `{"name":"$ROOT/l","content":"x"}`},
		{
			Name: "a link's place, not its file's mode", Tree: []modtest.Node{{Path: "f", Text: "x", Mode: 0o711 | os.ModeSetuid}, {Path: "l", Link: "f"}},
			Properties: `{"name":"$ROOT/l","content":"y"}`,
			Action:     "updated the file", Changes: append(content("x", "y"), mode("4711", "0644")...),
		},
		// directory
		{
			Name:       "new directory",
			Properties: own(`"name":"$ROOT/d","ensure":"directory","mode":"0640"`),
			Action:     "created directory", Changes: ensure("absent", "directory"),
		},
		{
			Name:       "new directory with parents",
			Properties: `{"name":"$ROOT/a/b/c","ensure":"directory","mode":"0750","owner":"$UID","group":"$GID"}`,
			Action:     "created directory", Changes: ensure("absent", "directory"),
		},
		{
			Name:       "new directories that nobody may enter",
			Properties: own(`"name":"$ROOT/a/b","ensure":"directory","mode":"0444"`),
			Action:     "created directory", Changes: ensure("absent", "directory"),
		},
		{
			Name: "the directory as it should be", Tree: []modtest.Node{dir},
			Properties: own(`"name":"$ROOT/d","ensure":"directory","mode":"0644"`),
		},
		{
			Name: "directory with another mode", Tree: []modtest.Node{dir, inDir},
			Properties: own(`"name":"$ROOT/d","ensure":"directory","mode":"0700"`),
			Action:     "updated attributes", Changes: mode("0755", "0700"),
		},
		{
			Name: "sticky bit stays", Tree: []modtest.Node{{Path: "tmp", Dir: true, Mode: 0o777 | os.ModeSticky}},
			Properties: own(`"name":"$ROOT/tmp","ensure":"directory","mode":"0775"`),
			Action:     "updated attributes", Changes: mode("1777", "1775"),
		},
		{
			Name: "sticky bit alone is no difference", Tree: []modtest.Node{{Path: "tmp", Dir: true, Mode: 0o777 | os.ModeSticky}},
			Properties: own(`"name":"$ROOT/tmp","ensure":"directory","mode":"0777"`),
		},
		// setuid, setgid and sticky
		{
			Name: "new setuid file", Properties: own(`"name":"$ROOT/su","mode":"4755","content":"x"`),
			Action: "created the file", Changes: created("x"),
		},
		{
			Name: "new setuid file of somebody else", Properties: `{"name":"$ROOT/su","mode":"6711","content":"x","owner":"$UID","group":"$GID"}`,
			Action: "created the file", Changes: created("x"),
		},
		{
			Name: "setuid", Tree: []modtest.Node{{Path: "su", Text: "x", Mode: 0o755}},
			Properties: own(`"name":"$ROOT/su","mode":"u+s"`),
			Action:     "updated attributes", Changes: mode("0755", "4755"),
		},
		{
			Name: "setuid stays with a new content if the mode says so", Tree: []modtest.Node{{Path: "su", Text: "x", Mode: 0o755 | os.ModeSetuid}},
			Properties: own(`"name":"$ROOT/su","mode":"4755","content":"y"`),
			Action:     "updated the file", Changes: content("x", "y"),
		},
		{
			Name: "setuid stays with another permission", Tree: []modtest.Node{{Path: "su", Text: "x", Mode: 0o755 | os.ModeSetuid}},
			Properties: own(`"name":"$ROOT/su","mode":"go-rwx"`),
			Action:     "updated attributes", Changes: mode("4755", "4700"),
		},
		{
			Name: "symbolic mode of a setuid file with a new content", Tree: []modtest.Node{{Path: "su", Text: "x", Mode: 0o755 | os.ModeSetuid}},
			Properties: own(`"name":"$ROOT/su","mode":"go-r","content":"y"`),
			Action:     "updated the file", Changes: append(content("x", "y"), mode("4755", "0711")...),
		},
		{
			Name: "setuid is taken away by letter", Tree: []modtest.Node{{Path: "su", Text: "x", Mode: 0o755 | os.ModeSetuid}},
			Properties: own(`"name":"$ROOT/su","mode":"u-s"`),
			Action:     "updated attributes", Changes: mode("4755", "0755"),
		},
		{
			Name: "new sticky directory", Properties: own(`"name":"$ROOT/d","ensure":"directory","mode":"1777"`),
			Action: "created directory", Changes: ensure("absent", "directory"),
		},
		{
			Name: "new sticky directory in one that hands on its group", Tree: []modtest.Node{{Path: "g", Dir: true, Mode: 0o755 | os.ModeSetgid}},
			Properties: own(`"name":"$ROOT/g/d","ensure":"directory","mode":"1777"`),
			Action:     "created directory", Changes: ensure("absent", "directory"),
		},
		{
			Name: "new directory that does not hand on its group", Tree: []modtest.Node{{Path: "g", Dir: true, Mode: 0o755 | os.ModeSetgid}},
			Properties: own(`"name":"$ROOT/g/d","ensure":"directory","mode":"g-s"`),
			Action:     "created directory", Changes: ensure("absent", "directory"),
		},
		{
			Name: "new directory in one that hands on its group", Tree: []modtest.Node{{Path: "g", Dir: true, Mode: 0o755 | os.ModeSetgid}},
			Properties: own(`"name":"$ROOT/g/d","ensure":"directory","mode":"755"`),
			Action:     "created directory", Changes: ensure("absent", "directory"),
		},
		{
			Name: "setgid directory", Tree: []modtest.Node{dir},
			Properties: own(`"name":"$ROOT/d","ensure":"directory","mode":"2775"`),
			Action:     "updated attributes", Changes: mode("0755", "2775"),
		},
		{
			Name: "setgid in place of sticky", Tree: []modtest.Node{{Path: "d", Dir: true, Mode: 0o777 | os.ModeSticky}},
			Properties: own(`"name":"$ROOT/d","ensure":"directory","mode":"2777"`),
			Action:     "updated attributes", Changes: mode("1777", "2777"),
		},
		{
			Name: "none of them, by five digits", Tree: []modtest.Node{{Path: "d", Dir: true, Mode: 0o777 | os.ModeSticky}},
			Properties: own(`"name":"$ROOT/d","ensure":"directory","mode":"00755"`),
			Action:     "updated attributes", Changes: mode("1777", "0755"),
		},
		{
			Name: "directory where a file is", Tree: []modtest.Node{motd},
			Properties: own(`"name":"$ROOT/motd","ensure":"directory","mode":"0755"`),
			Err:        "$ROOT/motd is a file; refusing to make a directory of it",
		},
		{
			Name: "directory where a link to a file is", Tree: []modtest.Node{motd, {Path: "l", Link: "motd"}},
			Properties: own(`"name":"$ROOT/l","ensure":"directory","mode":"0755"`),
			Err:        "$ROOT/l is a symlink to a file; refusing to make a directory of it",
		},
		{
			Name: "directory below a file", Tree: []modtest.Node{motd},
			Properties: own(`"name":"$ROOT/motd/a/b","ensure":"directory","mode":"0755"`),
			Err:        "$ROOT/motd is a file; refusing to make a directory of it",
		},
		{
			Name: "link to a right directory", Tree: []modtest.Node{dir, {Path: "l", Link: "d"}},
			Properties: own(`"name":"$ROOT/l","ensure":"directory","mode":"0755"`),
		},
		{
			Name: "link to a directory with another mode", Tree: []modtest.Node{dir, inDir, {Path: "l", Link: "d"}},
			Properties: own(`"name":"$ROOT/l","ensure":"directory","mode":"0700"`),
			Action:     "replaced the link by a directory",
			Changes:    []modules.Change{{Property: "ensure", Have: "symlink", Want: "directory"}, {Property: "mode", Have: "0755", Want: "0700"}},
		},
		{
			Name: "link to no directory", Tree: []modtest.Node{{Path: "l", Link: "d"}},
			Properties: own(`"name":"$ROOT/l","ensure":"directory","mode":"0700"`),
			Err:        "$ROOT/l is a symlink to nothing; refusing to make a directory of it",
		},
		// recurse
		{
			Name: "a tree, in octal", Tree: tree,
			Properties: own(`"name":"$ROOT/d","ensure":"directory","recurse":true,"mode":"2750","file_mode":"0640"`),
			Action:     "updated attributes of 5 paths",
			Changes: []modules.Change{
				{Property: "mode", Have: "0755", Want: "2750"},
				{Property: "a mode", Have: "0644", Want: "0640"},
				{Property: "b mode", Have: "0700", Want: "2750"},
				{Property: "x mode", Have: "0711", Want: "0640"},
				{Property: "b/c mode", Have: "0600", Want: "0640"},
			},
		},
		{
			Name: "a tree, by letters", Tree: tree,
			Properties: own(`"name":"$ROOT/d","ensure":"directory","recurse":true,"mode":"u=rwX,g=rX,o="`),
			Action:     "updated attributes of 5 paths",
			Changes: []modules.Change{
				{Property: "mode", Have: "0755", Want: "0750"},
				{Property: "a mode", Have: "0644", Want: "0640"},
				{Property: "b mode", Have: "0700", Want: "0750"},
				{Property: "x mode", Have: "0711", Want: "0750"},
				{Property: "b/c mode", Have: "0600", Want: "0640"},
			},
		},
		{
			Name: "a tree, files alone", Tree: tree,
			Properties: own(`"name":"$ROOT/d","ensure":"directory","recurse":true,"file_mode":"a+r"`),
			Action:     "updated attributes of 2 paths",
			Changes: []modules.Change{
				{Property: "x mode", Have: "0711", Want: "0755"},
				{Property: "b/c mode", Have: "0600", Want: "0644"},
			},
		},
		{
			Name: "a tree, directories alone", Tree: tree,
			Properties: own(`"name":"$ROOT/d","ensure":"directory","recurse":true,"mode":"0755"`),
			Action:     "updated attributes of 1 path",
			Changes:    []modules.Change{{Property: "b mode", Have: "0700", Want: "0755"}},
		},
		{
			Name: "a tree as it should be", Tree: tree,
			Properties: own(`"name":"$ROOT/d","ensure":"directory","recurse":true`),
		},
		{
			Name: "a new tree", Properties: own(`"name":"$ROOT/d","ensure":"directory","recurse":true,"mode":"0750"`),
			Action: "created directory", Changes: ensure("absent", "directory"),
		},
		{
			Name: "a link to a tree", Tree: append([]modtest.Node{{Path: "t", Link: "d"}}, tree...),
			Properties: own(`"name":"$ROOT/t","ensure":"directory","recurse":true,"mode":"0750"`),
			Err:        `$ROOT/t is a symlink; "recurse" is for the directory that it leads to`,
		},
		// absent
		{
			Name:       "nothing there",
			Properties: `{"name":"$ROOT/motd","ensure":"absent"}`,
		},
		{
			Name: "nothing below a file", Tree: []modtest.Node{motd},
			Properties: `{"name":"$ROOT/motd/f","ensure":"absent"}`,
		},
		{
			Name: "remove a file", Tree: []modtest.Node{motd},
			Properties: `{"name":"$ROOT/motd","ensure":"absent"}`,
			Action:     "removed the file", Changes: ensure("present", "absent"),
		},
		{
			Name: "remove a link and keep its target", Tree: []modtest.Node{motd, {Path: "l", Link: "motd"}},
			Properties: `{"name":"$ROOT/l","ensure":"absent"}`,
			Action:     "removed the file", Changes: ensure("symlink", "absent"),
		},
		{
			Name: "remove a link to a directory", Tree: []modtest.Node{dir, inDir, {Path: "l", Link: "d"}},
			Properties: `{"name":"$ROOT/l","ensure":"absent","force":true}`,
			Action:     "removed the file", Changes: ensure("symlink", "absent"),
		},
		{
			Name: "remove a link to nothing", Tree: []modtest.Node{{Path: "l", Link: "nothing"}},
			Properties: `{"name":"$ROOT/l","ensure":"absent"}`,
			Action:     "removed the file", Changes: ensure("symlink", "absent"),
		},
		{
			Name: "remove an empty directory", Tree: []modtest.Node{dir},
			Properties: `{"name":"$ROOT/d","ensure":"absent"}`,
			Action:     "removed the directory", Changes: ensure("directory", "absent"),
		},
		{
			Name: "remove a tree without force", Tree: full,
			Properties: `{"name":"$ROOT/d","ensure":"absent"}`,
			Err:        "cannot remove $ROOT/d: directory is not empty, set 'force: true' to remove non-empty directories",
		},
		{
			Name: "remove a tree", Tree: full,
			Properties: `{"name":"$ROOT/d","ensure":"absent","force":true}`,
			Action:     "recursively removed the directory", Changes: ensure("directory", "absent"),
		},
	}...)
}
