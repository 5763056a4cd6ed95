package rooted

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
)

// stat is the function that [modules.MayFollow] needs.
func stat(path string) (modules.FileInfo, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return modules.FileInfo{}, err
	}
	st := info.Sys().(*syscall.Stat_t)
	found := modules.FileInfo{Kind: modules.Directory, Mode: info.Mode(), UID: int(st.Uid)}
	if info.Mode().Type() == fs.ModeSymlink {
		found.Kind = modules.Symlink
		found.Target, err = os.Readlink(path)
	}
	return found, err
}

// TestLinks uses a link from a directory to another one, with owners and modes that only root can set.
func TestLinks(t *testing.T) {
	needs.Root(t, "only root gives files to others")
	const alice, bob = 65533, 65534
	for _, tt := range []struct {
		name                string
		dir, link, to       int // owners
		dirMode             fs.FileMode
		target, want, where string
	}{
		{name: "root's link in root's directory", dirMode: 0o755},
		{name: "root's link to a user's directory", dirMode: 0o755, to: bob},
		{name: "a user's link in root's directory", dirMode: 0o755, link: bob},
		{name: "a user's own", dirMode: 0o755, dir: bob, link: bob, to: bob},
		{name: "where root's group may write", dirMode: 0o775, want: "owner 0, mode 0775): links of root are not followed there"},
		{name: "a user's link in a sticky directory", dirMode: 0o777 | fs.ModeSticky, link: bob, want: "owner 0, mode 1777): its target belongs to user 0"},
		{name: "a user's own in a sticky directory", dirMode: 0o777 | fs.ModeSticky, link: bob, to: bob},
		{name: "a user's link to root's directory", dirMode: 0o755, dir: bob, link: bob, want: "its target belongs to user 0"},
		{name: "a user's link to another user's directory", dirMode: 0o755, dir: bob, link: bob, to: alice, want: "its target belongs to user 65533"},
		{name: "another user's link to its own directory", dirMode: 0o777, dir: bob, link: alice, to: alice},
		{name: "root's link in a user's directory", dirMode: 0o755, dir: bob, want: "links of root are not followed there"},
		{name: "read-only, but a user's", dirMode: 0o555, dir: bob, link: bob, want: "its target belongs to user 0"},
		{name: "up and down again", dirMode: 0o755, dir: bob, link: bob, target: "../to", want: "its target belongs to user 0"},
		{name: "by a trusted link", dirMode: 0o755, dir: bob, link: bob, target: "../over", want: "its target belongs to user 0"},
		{name: "to a file", dirMode: 0o755, dir: bob, link: bob, target: "$ROOT/to/f", where: "l", want: "its target belongs to user 0"},
		{name: "to nothing", dirMode: 0o755, dir: bob, link: bob, target: "$ROOT/none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			for _, dir := range []string{"dir", "to"} {
				require.NoError(t, os.Mkdir(filepath.Join(root, dir), 0o755))
			}
			require.NoError(t, os.WriteFile(filepath.Join(root, "to/f"), []byte("x"), 0o644))
			require.NoError(t, os.Symlink("to", filepath.Join(root, "over")))
			target := strings.ReplaceAll(tt.target, "$ROOT", root)
			if target == "" {
				target = filepath.Join(root, "to")
			}
			link := filepath.Join(root, "dir/l")
			require.NoError(t, os.Symlink(target, link))
			require.NoError(t, os.Lchown(link, tt.link, tt.link))
			require.NoError(t, os.Chown(filepath.Join(root, "to"), tt.to, tt.to))
			require.NoError(t, os.Chown(filepath.Join(root, "to/f"), tt.to, tt.to))
			require.NoError(t, os.Chown(filepath.Join(root, "dir"), tt.dir, tt.dir))
			require.NoError(t, os.Chmod(filepath.Join(root, "dir"), tt.dirMode))
			way, file := link, link+"/f"
			if tt.where != "" {
				file = link
			}

			predicted := modules.MayFollow(stat, way, 0)
			if tt.where == "" {
				require.Equal(t, predicted, Judge(way))
			}
			f, err := Open(file)
			if tt.want != "" {
				require.ErrorIs(t, predicted, modules.ErrPlanted)
				require.ErrorContains(t, predicted, tt.want)
				require.Equal(t, predicted, err)
				return
			}
			require.NoError(t, predicted)
			if tt.target != "" {
				require.ErrorIs(t, err, fs.ErrNotExist)
				return
			}
			require.NoError(t, err)
			f.Close()
			p, err := Parent(file)
			require.NoError(t, err)
			defer p.Close()
			dir, err := p.Root()
			require.NoError(t, err)
			defer dir.Close()
			text, err := dir.ReadFile(p.Name)
			require.NoError(t, err)
			require.Equal(t, "x", string(text))
		})
	}
}

// TestFileDir opens the directory of a user's file: through links of that user to the user's own files, and through no
// other link.
func TestFileDir(t *testing.T) {
	needs.Root(t, "only root gives files to others")
	const bob = 65534
	for _, tt := range []struct {
		name string
		home int    // owner of home and its contents
		make string // a shell script in the home, run before it gets its owner; $TOP is the folder above
		file string // below the home
		at   string // below the folder above; "" is refused
		want string // text of the error
	}{
		{name: "a file", home: bob, make: "mkdir .ssh; touch .ssh/f", file: ".ssh/f", at: "home/.ssh/f"},
		{name: "no file", home: bob, make: "mkdir .ssh", file: ".ssh/f", at: "home/.ssh/f"},
		{name: "no directory", home: bob, file: ".ssh/keys/f", at: "home/.ssh/keys/f"},
		{name: "a link to an own file", home: bob, make: "mkdir .ssh; touch g; ln -s ../g .ssh/f", file: ".ssh/f", at: "home/g"},
		{name: "a link to an own folder", home: bob, make: "mkdir dots; ln -s dots .ssh", file: ".ssh/f", at: "home/dots/f"},
		{name: "a link to root's file", home: bob, make: "mkdir .ssh; ln -s $TOP/etc/f .ssh/f", file: ".ssh/f", want: "its target belongs to user 0"},
		{name: "a link to root's folder", home: bob, make: "ln -s $TOP/etc .ssh", file: ".ssh/f", want: "its target belongs to user 0"},
		{name: "a link to a file that root would make", home: bob, make: "mkdir .ssh; ln -s $TOP/etc/new .ssh/f", file: ".ssh/f", want: "no such file"},
		{name: "a link to a folder that root would make", home: bob, make: "ln -s $TOP/etc/new .ssh", file: ".ssh/f", want: "no such file"},
		{name: "a folder", home: bob, make: "mkdir -p .ssh/f", file: ".ssh/f", at: "home/.ssh/f"},
		{name: "root's own link", make: "mkdir .ssh; ln -s $TOP/etc/f .ssh/f", file: ".ssh/f", at: "etc/f"},
		{name: "root's own link to a new file", make: "mkdir .ssh; ln -s $TOP/etc/new .ssh/f", file: ".ssh/f", at: "etc/new"},
		{name: "a circle", make: "ln -s f f", file: "f", want: "too many levels"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			top := t.TempDir()
			home := filepath.Join(top, "home")
			require.NoError(t, os.Mkdir(home, 0o755))
			require.NoError(t, os.Mkdir(filepath.Join(top, "etc"), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(top, "etc/f"), nil, 0o644))
			sh := exec.Command("sh", "-ec", tt.make)
			sh.Dir, sh.Env = home, append(os.Environ(), "TOP="+top)
			require.NoError(t, sh.Run())
			require.NoError(t, filepath.WalkDir(home, func(path string, _ fs.DirEntry, _ error) error { return os.Lchown(path, tt.home, tt.home) }))
			dir, name, err := FileDir(filepath.Join(home, tt.file))
			if tt.want != "" {
				require.ErrorContains(t, err, tt.want)
				require.NoDirExists(t, filepath.Join(top, "etc/new"))
				return
			}
			require.NoError(t, err)
			defer dir.Close()
			require.Equal(t, filepath.Join(top, tt.at), filepath.Join(dir.Name(), name))
		})
	}
}

// TestOwnLinks checks that users can follow links in their own directories.
func TestOwnLinks(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "d"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "d/f"), nil, 0o644))
	for name, target := range map[string]string{"absolute": root + "/d", "relative": "d", "up": "../" + filepath.Base(root) + "/d", "above": "/../../.." + root + "/d/../d/."} {
		require.NoError(t, os.Symlink(target, filepath.Join(root, name)))
		f, err := Open(filepath.Join(root, name, "f"))
		require.NoError(t, err)
		f.Close()
		dir, err := Directory(filepath.Join(root, name))
		require.NoError(t, err)
		dir.Close()
		require.NoError(t, Judge(filepath.Join(root, name)))
	}
	// Debian and other systems create a group for each user, which may write the user's files.
	require.NoError(t, os.Chmod(root, 0o775))
	if os.Geteuid() != 0 {
		require.NoError(t, os.Symlink("/", filepath.Join(root, "top")))
		require.NoError(t, Judge(filepath.Join(root, "top")))
	}
	require.NoError(t, os.Symlink("circle", filepath.Join(root, "circle")))
	require.NoError(t, os.Chmod(root, 0o755))
	_, err := Open(filepath.Join(root, "circle/f"))
	require.EqualError(t, err, "open "+root+"/circle/f: too many levels of symbolic links")
	_, err = Parent(filepath.Join(root, "d/f/g"))
	require.EqualError(t, err, "open "+root+"/d/f: not a directory")
	_, err = Parent(filepath.Join(root, "none/g"))
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestSystemLinks(t *testing.T) {
	for _, path := range []string{"/bin/sh", "/var/run/x", "/etc/localtime", "/tmp/x"} {
		if _, err := os.Stat(filepath.Dir(path)); err == nil {
			require.NoError(t, Judge(filepath.Dir(path)), path)
		}
	}
}
