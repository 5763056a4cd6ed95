package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// tree makes files that each contain their own path, and returns the folder.
func tree(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o755)) // whatever the umask
	for _, name := range names {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte("at: "+name), 0o644))
	}
	return dir
}

func only(t *testing.T, dir string) VarsFolder {
	t.Helper()
	var folders VarsFolders
	folders.Add(dir, dir)
	require.Len(t, folders, 1)
	return folders[0]
}

func TestFoldersMoveUp(t *testing.T) {
	one, two := tree(t, "hosts"), tree(t)
	var folders VarsFolders
	folders.Add(one, filepath.Join(one, "hosts"))
	folders.Add(two, two)
	folders.Add(filepath.Join(two, "..", filepath.Base(one)), one+".gone") // owner of a path that does not exist
	require.Equal(t, []string{one, two}, []string{folders[0].path, folders[1].path})
	require.NoError(t, os.Symlink(one, filepath.Join(two, "link")))
	folders.Add(filepath.Join(two, "link"), one)
	require.Len(t, folders, 2)
	require.Equal(t, two, folders[0].path)
}

func TestFindAndRead(t *testing.T) {
	dir := tree(t, "group_vars/a", "group_vars/a.yml", "group_vars/b.yaml", "group_vars/c/y.yml", "group_vars/c/x", "group_vars/c/.h", "group_vars/c/d/z.json", "group_vars/c/n.txt")
	list, err := only(t, dir).Open(GroupVars, func(string) {})
	require.NoError(t, err)
	for name, want := range map[string]string{"a": "a", "b": "b.yaml", "c": "c/d/z.json c/x c/y.yml", "gone": ""} {
		paths, err := list.Find(name)
		require.NoError(t, err)
		var found []string
		for _, path := range paths {
			vars, err := list.Read(path, nil)
			require.NoError(t, err)
			require.Equal(t, path, filepath.Join(dir, vars.Get("at").Text))
			found = append(found, strings.TrimPrefix(path, filepath.Join(dir, "group_vars")+"/"))
		}
		require.Equal(t, want, strings.Join(found, " "), name)
	}
	list, err = only(t, dir).Open(HostVars, func(string) {})
	require.NoError(t, err)
	paths, err := list.Find("a")
	require.NoError(t, err)
	require.Empty(t, paths)
}

// TestFindGoesOn checks that the found files are returned even if others cannot be read.
func TestFindGoesOn(t *testing.T) {
	dir := tree(t, "host_vars/h/a", "host_vars/h/b/c")
	open := filepath.Join(dir, "host_vars/h/b")
	require.NoError(t, os.Chmod(open, 0o777))
	list, err := only(t, dir).Open(HostVars, func(string) {})
	require.NoError(t, err)
	paths, err := list.Find("h")
	require.EqualError(t, err, open+": is writable for every user, so other users could change the program\n  hint: chmod o-w "+open)
	require.Equal(t, []string{filepath.Join(dir, "host_vars/h/a")}, paths)
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"a: 1", "", "---\n", "- a", "a: 1\n---\nb: 1", "$ANSIBLE_VAULT;1.1;AES256\n31", "x: !unsafe '{{'", "~"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		vars, err := parseVars("f", []byte(text), nil)
		if err != nil {
			require.Nil(t, vars)
			return
		}
		require.True(t, vars == nil || vars.Kind == yamlpos.Map)
	})
}
