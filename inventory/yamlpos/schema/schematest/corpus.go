package schematest

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
)

// A Corpus is a folder with good/*.yaml and bad/*.yaml, and next to each bad file NAME.err, the whole text of its
// error.
type Corpus struct {
	Dir     string
	Checker Checker
	Decode  func(path string) error
	// Blind lists the bad files that the schema cannot distinguish from good ones, by reason, without their extension.
	Blind  map[string][]string
	Update bool // write the expected errors again
}

// Run tests every file of the corpus.
func (c Corpus) Run(t *testing.T) {
	blind := slices.Concat(slices.Collect(maps.Values(c.Blind))...)
	t.Run("good", func(t *testing.T) {
		t.Chdir(filepath.Join(c.Dir, "good"))
		for _, name := range names(t) {
			t.Run(name, func(t *testing.T) { c.good(t, name+".yaml") })
		}
	})
	t.Run("bad", func(t *testing.T) {
		t.Chdir(filepath.Join(c.Dir, "bad"))
		for _, name := range names(t) {
			t.Run(name, func(t *testing.T) { c.bad(t, name, slices.Contains(blind, name)) })
		}
		require.Subset(t, names(t), blind)
	})
}

// names lists the YAML files where we are, without their extension.
func names(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for i, path := range paths {
		paths[i] = strings.TrimSuffix(path, ".yaml")
	}
	return paths
}

func (c Corpus) good(t *testing.T, path string) {
	require.NoError(t, c.Decode(path))
	require.NoError(t, c.Checker.Check(read(t, path)))
}

func (c Corpus) bad(t *testing.T, name string, blind bool) {
	err := c.Decode(name + ".yaml")
	require.Error(t, err)
	if c.Update {
		require.NoError(t, os.WriteFile(name+".err", []byte(err.Error()+"\n"), 0o644))
	}
	require.Equal(t, string(read(t, name+".err")), err.Error()+"\n")
	err = c.Checker.Check(read(t, name+".yaml"))
	if blind {
		require.NoError(t, err, "the schema can tell: take it off the list")
		return
	}
	require.Error(t, err, "the schema takes it for a good one")
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}

// block is YAML in a page of the documentation.
var block = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```")

// Found returns the paths of all YAML below root: files outside a corpus, the files of script tests, which are
// unpacked, and the examples in the documentation.
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
