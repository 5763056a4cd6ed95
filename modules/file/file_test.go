package file

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

func TestValidate(t *testing.T) {
	root := func(f File) File {
		f.Owner, f.Group = "root", "root"
		if f.Mode == "" {
			f.Mode = "0644"
		}
		return f
	}
	modtest.Validates(t, []modtest.Verdict[File]{
		{Name: "all is well", Of: root(File{Name: "/etc/motd", Content: modules.TextContent("hi")})},
		{Name: "the root directory", Of: root(File{Name: "/", Ensure: "directory"})},
		{Name: "absent needs nothing else", Of: File{Name: "/etc/motd", Ensure: "absent"}},
		{Name: "absent by force", Of: File{Name: "/etc/motd", Ensure: "absent", Force: true}},
		{Name: "relative", Of: root(File{Name: "etc/motd"}), Err: "name: file path must be absolute (write a path that begins with /)"},
		{Name: "dots", Of: root(File{Name: "/etc/../motd"}), Err: "name: file path must be canonical (write /motd)"},
		{Name: "slash at the end", Of: root(File{Name: "/etc/"}), Err: "name: file path must be canonical (write /etc)"},
		{Name: "NUL", Of: root(File{Name: "/a\x00"}), Err: "name: file path must not contain a NUL byte"},
		{Name: "no root directory", Of: File{Name: "/", Ensure: "absent", Force: true}, Err: "ensure: the root directory cannot be absent"},
		{Name: "two sources", Of: root(File{Name: "/a", Content: modules.TextContent(""), Source: "a"}), Err: "source: 'content' and 'source' are mutually exclusive"},
		{Name: "nobody's", Of: File{Name: "/a"}},
		{Name: "directory without a mode", Of: File{Name: "/a", Ensure: "directory", Owner: "root", Group: "root"}},
		{Name: "force", Of: root(File{Name: "/a", Force: true}), Err: "force: 'force: true' is only valid with 'ensure: absent', got 'ensure: present'"},
		{Name: "force on a directory", Of: root(File{Name: "/a", Ensure: "directory", Force: true}), Err: "force: 'force: true' is only valid with 'ensure: absent', got 'ensure: directory'"},
		{Name: "mode", Of: root(File{Name: "/a", Mode: "0888"}), Err: `mode: mode "0888" has a digit outside 0-7 (write an octal string such as mode: "0644")`},
		{Name: "mode of an absent file", Of: File{Name: "/a", Ensure: "absent", Mode: "x"}, Err: `mode: mode "x" is not an octal number (write an octal string such as mode: "0644")`},
	})
}

func TestDirectoryMode(t *testing.T) {
	for file, want := range map[fs.FileMode]fs.FileMode{
		0: 0, 0o644: 0o755, 0o640: 0o750, 0o600: 0o700, 0o200: 0o300, 0o022: 0o033, 0o004: 0o005, 0o111: 0o111, 0o777: 0o777,
	} {
		require.Equal(t, want, directoryMode(file), "%04o", file)
	}
}

func TestPrepare(t *testing.T) {
	read := modules.TextContent("from the file")
	src := modules.Source{
		File: func(_ context.Context, path string) (modules.Content, error) {
			if path != "files/motd" {
				return modules.Content{}, errors.New("no such file beside the manifest")
			}
			return read, nil
		},
		Text: func(_ context.Context, text modules.Content) (modules.Content, error) {
			if text.SHA256() == modules.TextContent("too much").SHA256() {
				return modules.Content{}, errors.New("larger than it may be")
			}
			return text, nil
		},
	}
	text := modules.TextContent("text")
	for _, test := range []struct {
		name       string
		have, want File
		err        string
	}{
		{"source", File{Source: "files/motd"}, File{Content: read}, ""},
		{"content", File{Ensure: "present", Content: text}, File{Ensure: "present", Content: text}, ""},
		{"empty content", File{Content: modules.TextContent("")}, File{Content: modules.TextContent("")}, ""},
		{"neither", File{}, File{}, ""},
		{"both are for Validate to report", File{Content: text, Source: "x"}, File{Content: text, Source: "x"}, ""},
		{"nothing is read for absent", File{Ensure: "absent", Source: "gone"}, File{Ensure: "absent"}, ""},
		{"nothing is sent for a directory", File{Ensure: "directory", Content: text}, File{Ensure: "directory"}, ""},
		{"no such source", File{Source: "gone"}, File{Source: "gone"}, "source: no such file beside the manifest"},
		{"no such text", File{Content: modules.TextContent("too much")}, File{}, "content: larger than it may be"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.have.Prepare(t.Context(), src)
			if test.err != "" {
				require.EqualError(t, err, test.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, test.have)
		})
	}
}

// TestWire checks that given and missing properties stay different.
func TestWire(t *testing.T) {
	for _, test := range []struct {
		file File
		json string
	}{
		{File{Name: "/a"}, `{"name":"/a"}`},
		{File{Name: "/a", Content: modules.TextContent("")}, `{"name":"/a","content":{"text":""}}`},
		{File{Name: "/a", Content: modules.TextContent("x"), Mode: "0644"}, `{"name":"/a","content":{"text":"x"},"mode":"0644"}`},
	} {
		text, err := json.Marshal(test.file)
		require.NoError(t, err)
		require.JSONEq(t, test.json, string(text))
		var again File
		require.NoError(t, json.Unmarshal(text, &again))
		require.Equal(t, test.file, again)
	}
}

func TestCheckRefuses(t *testing.T) {
	root := t.TempDir()
	fifo := filepath.Join(root, "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	for _, test := range []struct {
		name string
		file File
		err  string
	}{
		{"unknown owner", File{Name: fifo, Owner: "no-such-user", Group: "0", Mode: "0644"}, `owner: user "no-such-user": no such account`},
		{"unknown group", File{Name: fifo, Owner: "0", Group: "no-such-group", Mode: "0644"}, `group: group "no-such-group": no such account`},
		{"a pipe", File{Name: fifo, Owner: "0", Group: "0", Mode: "0644", Content: modules.TextContent("x")}, fifo + " is a device, socket or pipe; refusing to replace it by a file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := test.file.Check(t.Context(), modules.ReadOnly(modtest.Host()))
			require.EqualError(t, err, test.err)
			var r modules.Redactor
			require.ErrorAs(t, err, &r)
			require.Equal(t, test.err, r.Redacted())
		})
	}
}

// TestCheckRefusesWhatIsDenied forgets to become root in every way.
func TestCheckRefusesWhatIsDenied(t *testing.T) { modtest.AsOrdinaryUser(t, checkRefusesWhatIsDenied) }

func checkRefusesWhatIsDenied(t *testing.T) {
	root := modtest.Root(t)
	modtest.Build(t, root, []modtest.Node{
		{Path: "f", Text: "x"},
		{Path: "closed", Dir: true, Mode: 0o555},
		{Path: "closed/f", Text: "x"},
		{Path: "hidden", Dir: true, Mode: 0o311},
		{Path: "secret", Text: "x", Mode: 0o200},
		{Path: "shut", Dir: true, Mode: 0o600},
	})
	uid, gid := strconv.Itoa(os.Geteuid()), strconv.Itoa(os.Getegid())
	own := func(name string) File { return File{Name: name, Owner: uid, Group: gid, Mode: "0644"} }
	with := func(f File, change func(f *File)) File { change(&f); return f }
	closed := `user $UID may not write in "$ROOT/closed"; use "become"`
	for _, test := range []struct {
		name string
		file File
		err  string
	}{
		{"create", own("closed/new"), closed},
		{"write", with(own("closed/f"), func(f *File) { f.Content = modules.TextContent("y") }), closed},
		{"make directories", with(own("closed/a/b"), func(f *File) { f.Ensure = directory }), closed},
		{"remove", File{Name: "closed/f", Ensure: absent}, closed},
		{"remove a tree", File{Name: "closed", Ensure: absent, Force: true}, closed},
		{"look", own("shut/f"), `lstat $ROOT/shut/f: permission denied; use "become"`},
		{"read", with(own("secret"), func(f *File) { f.Content = modules.TextContent("y") }), `open $ROOT/secret: permission denied; use "become"`},
		{"list", File{Name: "hidden", Ensure: absent}, `open $ROOT/hidden: permission denied; use "become"`},
		{"give away", with(own("f"), func(f *File) { f.Owner = "0" }), `user $UID may not give files to user 0; use "become"`},
		{"give a new file away", with(own("new"), func(f *File) { f.Group = "1048576" }), `user $UID may not give files to group 1048576, which it is not in; use "become"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.file.Name = filepath.Join(root, test.file.Name)
			_, err := test.file.Check(t.Context(), modules.ReadOnly(modtest.Host()))
			want := strings.NewReplacer("$ROOT", root, "$UID", uid).Replace(test.err)
			require.EqualError(t, err, want)
			require.ErrorIs(t, err, fs.ErrPermission)
			var r modules.Redactor
			require.ErrorAs(t, err, &r)
			require.Equal(t, want, r.Redacted())
		})
	}
}

func TestFollow(t *testing.T) {
	root := t.TempDir()
	modtest.Build(t, root, []modtest.Node{
		{Path: "d", Dir: true},
		{Path: "d/e", Dir: true},
		{Path: "d/f", Text: "four"},
		{Path: "near", Link: "d/f"},
		{Path: "far", Link: "$ROOT/near"},
		{Path: "dir", Link: "d/e"},
		{Path: "d/e/up", Link: "../f"},
		{Path: "through", Link: "dir/up"},       // dir/.. is d, not the root
		{Path: "beside", Link: "dir/../../far"}, // the same
		{Path: "nothing", Link: "d/g"},
		{Path: "below", Link: "d/f/g"},
		{Path: "back", Link: "d/f/../f"},
		{Path: "circle", Link: "circle"},
	})
	files := modtest.Host().Files
	for _, name := range []string{"d/f", "near", "far", "through", "beside", "dir/up"} {
		info, err := modules.Follow(files, filepath.Join(root, name))
		require.NoError(t, err, name)
		require.Equal(t, modules.Regular, info.Kind, name)
		require.EqualValues(t, 4, info.Size, name)
	}
	info, err := modules.Follow(files, filepath.Join(root, "dir"))
	require.NoError(t, err)
	require.Equal(t, modules.Directory, info.Kind)
	for name, want := range map[string]error{
		"missing": fs.ErrNotExist,
		"nothing": fs.ErrNotExist,
		"below":   syscall.ENOTDIR,
		"back":    syscall.ENOTDIR,
		"circle":  syscall.ELOOP,
	} {
		_, err := modules.Follow(files, filepath.Join(root, name))
		require.ErrorIs(t, err, want, name)
		_, real := os.Stat(filepath.Join(root, name))
		require.ErrorIs(t, real, want, name)
	}
}

func TestApplyTakesItsOwnPlansOnly(t *testing.T) {
	f := File{Name: filepath.Join(t.TempDir(), "f"), Owner: "0", Group: "0", Mode: "0644"}
	require.EqualError(t, f.Apply(t.Context(), modtest.Host(), modules.Plan{}), "the plan is not one of a file")
}

// TestNewIsTheActingUsers creates files without owner, group and mode, with any umask of the process.
func TestNewIsTheActingUsers(t *testing.T) {
	for _, test := range []struct {
		ensure    string
		sensitive bool
		mode      fs.FileMode
	}{
		{present, false, 0o644}, {present, true, 0o600}, {directory, false, 0o755}, {directory, true, 0o700},
	} {
		dir := modtest.Root(t)
		require.NoError(t, os.Chmod(dir, 0o755|fs.ModeSetgid))
		f := File{Name: dir + "/new", Ensure: test.ensure}
		f.Inform(modules.Circumstances{Sensitive: test.sensitive})
		plan, err := f.Check(t.Context(), modtest.Host())
		require.NoError(t, err)
		require.NoError(t, f.Apply(t.Context(), modtest.Host(), plan))
		info, err := modtest.Host().Files.Stat(f.Name)
		require.NoError(t, err)
		require.Equal(t, []any{test.mode, os.Geteuid(), os.Getegid()}, []any{info.Mode.Perm(), info.UID, info.GID}, test)
	}
}

func TestStrict(t *testing.T) {
	all := "owner: the property \"owner\" is missing or empty (the play sets strict: true) (set \"owner\" here, or under \"defaults\" of the play)\n" +
		"group: the property \"group\" is missing or empty (the play sets strict: true) (set \"group\" here, or under \"defaults\" of the play)\nmode: the property \"mode\" is missing or empty (the play sets strict: true) (set \"mode\" here, or under \"defaults\" of the play)"
	require.EqualError(t, (&File{Name: "/a", Ensure: directory}).ValidateStrict(), all)
	require.NoError(t, (&File{Name: "/a", Ensure: absent}).ValidateStrict())
	require.NoError(t, (&File{Name: "/a", Owner: "0", Group: "0", Mode: "0644"}).ValidateStrict())
}
