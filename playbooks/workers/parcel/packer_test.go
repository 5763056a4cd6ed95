package parcel

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
)

// writer returns a function that writes a file of a folder.
func writer(t *testing.T, dir string) func(name, text string) {
	return func(name, text string) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
}

// TestResourcesFolder packs a folder resources/ as a play reads it: links inside it stay links, one that leads out of it is the file.
func TestResourcesFolder(t *testing.T) {
	dir := t.TempDir()
	write := writer(t, dir)
	write("resources/run", "run")
	write("resources/.config.d", "named by nothing, and hosts get it")
	write("shared/linked", "linked")
	require.NoError(t, os.Chmod(filepath.Join(dir, "resources/run"), 0o755))
	for link, target := range map[string]string{"inside": "run", "linked": "../shared/linked", "out": "/etc/passwd", "further": "../../../../etc/passwd"} {
		require.NoError(t, os.Symlink(target, filepath.Join(dir, "resources", link)))
	}
	p := newPacker(dir, owned{}, nil, func(string, []byte) {})
	defer p.close()
	pick := &picker{to: p, texts: func() []string { return nil }}
	use := catalog.FolderUse{Folder: dir, Whole: "resources", Read: []string{"resources", "resources/run", "resources/linked", "resources/.config.d", "resources/out", "resources/further", ".env"}}
	write(".env", "SECRET=x")
	require.NoError(t, pick.use(use))
	data, err := p.finish()
	require.NoError(t, err)
	root := t.TempDir()
	require.NoError(t, Unpack(data, root))
	folder := filepath.Join(root, dir, "resources")
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name()+" "+e.Type().String())
	}
	require.Equal(t, []string{".config.d ----------", "inside L---------", "linked ----------", "run ----------"}, names)
	info, err := os.Stat(filepath.Join(folder, "inside"))
	require.NoError(t, err)
	require.EqualValues(t, 0o755, info.Mode().Perm())
	require.NoFileExists(t, filepath.Join(root, dir, ".env"))
	require.NoFileExists(t, filepath.Join(root, dir, "shared/linked"))

	write("resources/deploy/.netrc", "x")
	other := newPacker(dir, owned{}, nil, func(string, []byte) {})
	defer other.close()
	pick.to = other
	require.ErrorContains(t, pick.use(use), "/resources/deploy/.netrc: hosts get all of this folder, but workers never get this file: .netrc belongs to a person")
}

// TestNamedHiddenFileIsListedOnce has a play name a hidden file in a folder from which an expression chooses: it goes, and is not listed as withheld.
func TestNamedHiddenFileIsListedOnce(t *testing.T) {
	dir := t.TempDir()
	write := writer(t, dir)
	write("files/.named", "x")
	write("files/.other", "x")
	write("chosen.conf", "x")
	p := newPacker(dir, owned{}, nil, func(string, []byte) {})
	defer p.close()
	pick := &picker{to: p, texts: func() []string { return []string{"absent.conf", "chosen.conf"} }}
	computed := manifest.FileName{Text: "{{ Data.x }}", Computed: true, At: "site.yaml:1"}
	require.NoError(t, pick.use(catalog.FolderUse{Folder: dir, Read: []string{"files/.named"}, Names: []manifest.FileName{computed, computed}}))
	require.Equal(t, map[string]string{dir + "/files/.other": "its name begins with a dot"}, p.withheld)
	require.True(t, p.packed[dir+"/files/.named"])
	require.True(t, p.packed[dir+"/chosen.conf"])
}
