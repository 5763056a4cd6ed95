package schematest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
)

// block is YAML in a page of the documentation.
var block = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```")

// Found gives the paths of all YAML below root: files but those of a corpus, the
// files of script tests, which are unpacked, and what the documentation shows.
func Found(t *testing.T, root string) []string {
	t.Helper()
	f := finder{t: t}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{".git", "good", "bad"}, d.Name()) {
			return filepath.SkipDir
		}
		switch filepath.Ext(path) {
		case ".yaml", ".yml":
			f.paths = append(f.paths, path)
		case ".txtar":
			f.unpack(path)
		case ".md":
			f.blocks(path)
		}
		return nil
	}))
	return f.paths
}

type finder struct {
	t     *testing.T
	paths []string
}

func (f *finder) write(dir, name string, data []byte) {
	path := filepath.Join(dir, filepath.FromSlash(name))
	require.NoError(f.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(f.t, os.WriteFile(path, data, 0o644))
	if ext := filepath.Ext(path); ext == ".yaml" || ext == ".yml" {
		f.paths = append(f.paths, path)
	}
}

func (f *finder) unpack(path string) {
	dir := f.t.TempDir()
	for _, file := range txtar.Parse(read(f.t, path)).Files {
		f.write(dir, file.Name, file.Data)
	}
}

func (f *finder) blocks(path string) {
	dir := f.t.TempDir()
	for i, m := range block.FindAllSubmatch(read(f.t, path), -1) {
		f.write(dir, filepath.Base(path)+"-"+strconv.Itoa(i+1)+".yaml", m[1])
	}
}
