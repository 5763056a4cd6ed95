package line_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/line"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

func ensure(have, want string) []modules.Change {
	return []modules.Change{{Property: "ensure", Have: have, Want: want}}
}

func TestConverges(t *testing.T) {
	hosts := modtest.Node{Path: "hosts", Text: "127.0.0.1 localhost\n", Mode: 0o640}
	link := modtest.Node{Path: "l", Link: "hosts"}
	create := `"create":true,"owner":"$UID","group":"$GID","mode":"0640"`
	modtest.Converges(t, line.Type(), []modtest.Fixture{
		{
			Name: "a line", Tree: []modtest.Node{hosts},
			Properties: `{"name":"$ROOT/hosts","line":"::1 localhost"}`,
			Action:     "added the line", Changes: ensure("absent", "present"),
		},
		{Name: "the line is there", Tree: []modtest.Node{hosts}, Properties: `{"name":"a name","path":"$ROOT/hosts","line":"127.0.0.1 localhost"}`},
		{
			Name: "another line", Tree: []modtest.Node{hosts},
			Properties: `{"name":"$ROOT/hosts","line":"127.0.0.1 me","regexp":"^127"}`,
			Action:     "replaced the line", Changes: []modules.Change{{Property: "line", Have: "127.0.0.1 localhost", Want: "127.0.0.1 me"}},
		},
		{
			Name: "no line", Tree: []modtest.Node{hosts},
			Properties: `{"name":"$ROOT/hosts","ensure":"absent","regexp":"^127"}`,
			Action:     "removed the line", Changes: ensure("present", "absent"),
		},
		{
			Name: "Ansible's words", Tree: []modtest.Node{hosts},
			Properties: `{"name":"$ROOT/hosts","line":"x","insertbefore":"BOF"}`,
			Action:     "added the line", Changes: ensure("absent", "present"),
		},
		{
			Name: "a block", Tree: []modtest.Node{hosts},
			Properties: `{"name":"$ROOT/hosts","block":"a\nb\n"}`,
			Action:     "added the block", Changes: ensure("absent", "present"),
		},
		{
			Name: "approved", Tree: []modtest.Node{hosts},
			Properties: `{"name":"$ROOT/hosts","line":"::1 localhost","validate":"grep -qx '::1 localhost' %s"}`,
			Action:     "added the line", Changes: ensure("absent", "present"),
		},
		{
			Name: "half a block", Tree: []modtest.Node{{Path: "f", Text: "# BEGIN ccm-push n\n"}},
			Properties: `{"name":"n","path":"$ROOT/f","block":"a"}`,
			Err:        `$ROOT/f:1: the block that begins here has no end (add the line "# END ccm-push n" after its last line)`,
		},
		{
			Name: "a new file, and nothing said of it", Properties: `{"name":"$ROOT/new","line":"x","create":true}`,
			Action: "created the file", Changes: ensure("absent", "present"),
		},
		{
			Name: "a file with two names", Tree: []modtest.Node{hosts, {Path: "other", Same: "hosts"}},
			Properties: `{"name":"$ROOT/hosts","line":"x"}`,
			Action:     "added the line", Changes: ensure("absent", "present"),
		},
		{
			Name: "a setuid bit goes with the old file", Tree: []modtest.Node{{Path: "f", Mode: 0o755 | os.ModeSetuid}},
			Properties: `{"name":"$ROOT/f","line":"x"}`,
			Action:     "added the line", Changes: ensure("absent", "present"),
		},
		// no file
		{
			Name:       "no file",
			Properties: `{"name":"$ROOT/hosts","line":"x"}`,
			Err:        "$ROOT/hosts is not there (set 'create: true', or make it with a file resource)",
		},
		{Name: "no file and no line", Properties: `{"name":"$ROOT/hosts","ensure":"absent","line":"x"}`},
		{Name: "no directory and no line", Properties: `{"name":"$ROOT/d/hosts","ensure":"absent","line":"x"}`},
		{
			Name:       "a new file",
			Properties: `{"name":"$ROOT/hosts","line":"x",` + create + `}`,
			Action:     "created the file", Changes: ensure("absent", "present"),
		},
		{
			Name:       "a new file with a block",
			Properties: `{"name":"$ROOT/hosts","block":"x",` + create + `}`,
			Action:     "created the file", Changes: ensure("absent", "present"),
		},
		{
			Name: "the file is there and keeps its mode", Tree: []modtest.Node{hosts},
			Properties: `{"name":"$ROOT/hosts","line":"x","create":true,"owner":"0","group":"0","mode":"0600"}`,
			Action:     "added the line", Changes: ensure("absent", "present"),
		},
		{
			Name:       "a new file in no directory",
			Properties: `{"name":"$ROOT/d/hosts","line":"x",` + create + `}`,
			Err:        `the directory "$ROOT/d" does not exist (create it with a file resource that has ensure: directory)`,
		},
		{
			Name:       "a new file of nobody",
			Properties: `{"name":"$ROOT/hosts","line":"x","create":true,"owner":"no-such-user","group":"0","mode":"0600"}`,
			Err:        `owner: user "no-such-user": no such account`,
		},
		{
			Name:       "a new file of no group",
			Properties: `{"name":"$ROOT/hosts","line":"x","create":true,"owner":"0","group":"no-such-group","mode":"0600"}`,
			Err:        `group: group "no-such-group": no such account`,
		},
		// no regular file
		{
			Name: "a directory", Tree: []modtest.Node{{Path: "d", Dir: true}},
			Properties: `{"name":"$ROOT/d","line":"x"}`,
			Err:        "$ROOT/d is a directory, not a file with lines",
		},
		{
			Name: "a link to a file with the line", Tree: []modtest.Node{hosts, link},
			Properties: `{"name":"$ROOT/l","line":"127.0.0.1 localhost"}`,
		},
		{
			Name: "a link to a file without the line", Tree: []modtest.Node{hosts, link},
			Properties: `{"name":"$ROOT/l","line":"x"}`,
			Err:        "the path $ROOT/l is a symlink, and ccm-push does not write through a symlink (write the path of the target)",
		},
		{
			Name: "a link to nothing", Tree: []modtest.Node{link},
			Properties: `{"name":"$ROOT/l","line":"x",` + create + `}`,
			Err:        "$ROOT/l is a symlink to nothing; refusing to make a file of it",
		},
		{
			Name: "in a linked directory", Tree: []modtest.Node{{Path: "d", Dir: true}, {Path: "d/f", Text: "a"}, {Path: "ld", Link: "d"}},
			Properties: `{"name":"$ROOT/ld/f","line":"x"}`,
			Action:     "added the line", Changes: ensure("absent", "present"),
		},
		{
			Name: "a NUL byte", Tree: []modtest.Node{{Path: "f", Text: "a\x00b\n"}},
			Properties: `{"name":"$ROOT/f","line":"x"}`,
			Err:        "$ROOT/f has a NUL byte, so it is not a text file",
		},
		{
			Name: "the largest file", Tree: []modtest.Node{{Path: "f", Text: strings.Repeat("a", 8<<20-3) + "\n"}},
			Properties: `{"name":"$ROOT/f","line":"x"}`,
			Action:     "added the line", Changes: ensure("absent", "present"),
		},
		{
			Name: "too large", Tree: []modtest.Node{{Path: "f", Text: strings.Repeat("a", 8<<20) + "\n"}},
			Properties: `{"name":"$ROOT/f","line":"x"}`,
			Err:        "$ROOT/f is larger than the 8 MiB that a file with lines may have",
		},
		{
			Name: "would be too large", Tree: []modtest.Node{{Path: "f", Text: strings.Repeat("a", 8<<20-2) + "\n"}},
			Properties: `{"name":"$ROOT/f","line":"x"}`,
			Err:        "$ROOT/f is larger than the 8 MiB that a file with lines may have",
		},
	}...)
}

func decode(t *testing.T, properties, root string) modules.Resource {
	return modtest.Decode(t, modules.Registry{line.Type()}, "line", properties, root)
}

func TestPipe(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, syscall.Mkfifo(filepath.Join(root, "fifo"), 0o600))
	_, err := decode(t, `{"name":"$ROOT/fifo","line":"x"}`, root).Check(t.Context(), modules.ReadOnly(modtest.Host()))
	require.EqualError(t, err, root+"/fifo is a device, socket or pipe, not a file with lines")
}

// TestOwnerStays uses a file of another user, which only root can test.
func TestOwnerStays(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "f")
	uid, gid := modtest.Account()
	require.NoError(t, os.WriteFile(file, []byte("a\n"), 0o604))
	require.NoError(t, os.Chown(file, uid, gid))
	res, h := decode(t, `{"name":"$ROOT/f","line":"x"}`, root), modtest.Host()
	plan, err := res.Check(t.Context(), modules.ReadOnly(h))
	require.NoError(t, err)
	require.NoError(t, res.Apply(t.Context(), h, plan))
	info, err := h.Files.Stat(file)
	require.NoError(t, err)
	require.Equal(t, modules.FileInfo{Kind: modules.Regular, Size: 4, Mode: 0o604, UID: uid, GID: gid, Links: 1}, info)
}

// TestNobodysWorkIsLost changes the file between Check and Apply.
func TestNobodysWorkIsLost(t *testing.T) {
	for name, before := range map[string]string{"changed": "a\n", "made": ""} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			file := filepath.Join(root, "f")
			if before != "" {
				require.NoError(t, os.WriteFile(file, []byte(before), 0o644))
			}
			res, h := decode(t, `{"name":"$ROOT/f","line":"x","create":true,"owner":"$UID","group":"$GID","mode":"0644"}`, root), modtest.Host()
			plan, err := res.Check(t.Context(), modules.ReadOnly(h))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(file, []byte("theirs\n"), 0o644))
			require.EqualError(t, res.Apply(t.Context(), h, plan), file+" has just been changed by another process; run again")
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, "theirs\n", string(text))
		})
	}
}

func TestApplyTakesItsOwnPlansOnly(t *testing.T) {
	res := decode(t, `{"name":"/f","line":"x"}`, "")
	require.EqualError(t, res.Apply(t.Context(), modtest.Host(), modules.Plan{}), "the plan is not one of a file that is edited")
}
