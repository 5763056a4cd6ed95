package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
	"github.com/ccm-push/ccm-push/playbooks/manifest/source"
)

// A program is a resource that looks in the folder resources/ for a file of its name, and for a YAML document next to
// it.
type program struct {
	modules.Resource `json:"-"`
	Name             string          `json:"name" required:"true" doc:"of the file"`
	Optional         bool            `json:"optional,omitempty" doc:"it need not be there"`
	Meta             json.RawMessage `json:"meta,omitempty" wire:"only"`
}

func (p *program) Validate() error { return nil }
func (p *program) Prepare(_ context.Context, src modules.Source) error {
	folder := src.Resources()
	if folder == nil {
		if p.Optional {
			return nil
		}
		return modules.Errorf("name", "the play has no folder resources/")
	}
	if _, err := fs.Stat(folder, p.Name); err != nil {
		return modules.Errorf("name", "resources/ has no %q", p.Name)
	}
	text, err := fs.ReadFile(folder, p.Name+".yaml")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		p.Meta, err = src.YAML(text)
	}
	return err
}

// withPrograms are the built-in types and that.
func withPrograms() modules.Registry {
	return append(builtin.Types(), modules.Type{Name: "program", New: func() modules.Resource { return new(program) }})
}

// programs makes the compiler of site.yaml in a folder; executable are the files that
// have that bit.
func programs(t testing.TB, dir string) (*Compiler, error) {
	t.Helper()
	plays, err := load.Files(t.Context(), []string{filepath.Join(dir, "site.yaml")}, withPrograms(), load.WithArchives(&source.Unpacker{}))
	require.NoError(t, err)
	c, err := New(plays[0], Options{})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c, c.CheckLiteral(t.Context())
}

// put writes files into a new folder. A text that begins with -> is a link.
func put(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		if target, link := strings.CutPrefix(text, "->"); link {
			require.NoError(t, os.Symlink(target, path))
			continue
		}
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return dir
}

func manifestOf(resources ...string) string {
	return "ccm:\n  resources:\n" + strings.Join(resources, "")
}

func uses(name string) string { return fmt.Sprintf("    - program: [%s: {}]\n", name) }

// received reads a content as a host gets it.
func textOf(t testing.TB, c *Compiled, content modules.Content) string {
	t.Helper()
	if b, here := content.Bytes(); here {
		return string(b)
	}
	require.True(t, c.Contents.Has(content.SHA256()))
	r, size, err := c.Contents.Open(content.SHA256())
	require.NoError(t, err)
	defer r.Close()
	b, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Len(t, b, int(size))
	return string(b)
}

// listed returns the folder that a host is sent: path, mode and text or target.
func listed(t testing.TB, c *Compiled) []string {
	t.Helper()
	var tree modules.Tree
	require.NoError(t, json.Unmarshal([]byte(textOf(t, c, c.Catalog.Resources)), &tree))
	require.NoError(t, tree.Validate())
	lines := []string{}
	for _, n := range tree.Nodes {
		line := fmt.Sprintf("%s %04o", n.Path, n.Mode)
		switch n.Kind() {
		case modules.Symlink:
			line = n.Path + " -> " + n.Target
		case modules.Regular:
			text := textOf(t, c, n.Content)
			line += " " + text[:min(1, len(text))]
		}
		lines = append(lines, line)
	}
	return lines
}

func TestResourcesFolder(t *testing.T) {
	dir := put(t, map[string]string{
		"site.yaml":                   manifestOf(uses("tool"), "    - exec: [other: {command: id}]\n"),
		"resources/tool":              "#!/bin/sh\n",
		"resources/tool.yaml":         "a: 1.50\n",
		"resources/binary":            "\x7fELF" + strings.Repeat("x", 1000),
		"resources/sub/lib.py":        strings.Repeat("x", 1000),
		"resources/sub/marked":        "x",
		"resources/sub/alias":         "->../tool",
		"resources/dir":               "->sub",
		"resources/shared.py":         "->../shared/s.py",
		"shared/s.py":                 "s",
		"resources/none":              "",
		"resources/tool-and-more":     "m",
		"resources/tool.d/x":          "x",
		"not in the folder/at all.sh": "#!/bin/sh\n",
	})
	require.NoError(t, os.Chmod(filepath.Join(dir, "resources/sub/marked"), 0o711))
	c, err := programs(t, dir)
	require.NoError(t, err)
	out, err := c.Compile(t.Context(), web1)
	require.NoError(t, err)
	require.True(t, out.NeedsFull)
	_, inline := out.Catalog.Resources.Bytes()
	require.False(t, inline)
	require.Equal(t, `{"name":"tool","meta":{"a":1.50}}`, string(out.Catalog.Entries[0].Properties))
	want := []string{
		"binary 0500 \x7f", "dir -> sub", "none 0400 ", "shared.py 0400 s", "sub 0700", "sub/alias -> ../tool", "sub/lib.py 0400 x",
		"sub/marked 0500 x", "tool 0500 #", "tool-and-more 0400 m", "tool.d 0700", "tool.d/x 0400 x", "tool.yaml 0400 a",
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "resources/tool"), []byte("later"), 0o644)) // it is read once per run
	again, err := c.Compile(t.Context(), Host{Name: "web2"})
	require.NoError(t, err)
	require.Equal(t, out.Catalog.Resources.SHA256(), again.Catalog.Resources.SHA256())
	require.Same(t, out.Contents.bundle, again.Contents.bundle, "it is shared by the hosts")
	require.Equal(t, want, listed(t, again))
}

// TestResourcesFolderIsForThoseThatAsk sends nothing to hosts that need nothing.
func TestResourcesFolderIsForThoseThatAsk(t *testing.T) {
	for _, tt := range []struct {
		name, manifest string
		files          map[string]string
	}{
		{"without a resource that asks", manifestOf("    - exec: [other: {command: id}]\n"), map[string]string{"resources/tool": "#!"}},
		{"there is none", manifestOf("    - program: [tool: {optional: true}]\n"), nil},
		{"excluded", manifestOf("    - program: [tool: {control: {if: 'false'}}]\n"), map[string]string{"resources/tool": "#!"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]string{"site.yaml": tt.manifest}
			for name, text := range tt.files {
				files[name] = text
			}
			c, err := programs(t, put(t, files))
			require.NoError(t, err)
			out, err := c.Compile(t.Context(), web1)
			require.NoError(t, err)
			require.True(t, out.Catalog.Resources.IsZero())
			require.False(t, out.NeedsFull)
			text, err := json.Marshal(out.Catalog)
			require.NoError(t, err)
			require.NotContains(t, string(text), `"resources"`)
		})
	}
}

// TestResourcesOfNestedManifests lays their folders over each other.
func TestResourcesOfNestedManifests(t *testing.T) {
	files := map[string]string{
		"site.yaml":             manifestOf(uses("tool"), "    - apply: [inner/inner.yaml: {}]\n"),
		"resources/tool":        "#!/bin/sh\n",
		"resources/lib/a":       "a",
		"inner/inner.yaml":      manifestOf(uses("own")),
		"inner/resources/own":   "#!/bin/sh\n",
		"inner/resources/tool":  "#!/bin/sh\n",
		"inner/resources/lib/b": "b",
	}
	c, err := programs(t, put(t, files))
	require.NoError(t, err)
	out, err := c.Compile(t.Context(), web1)
	require.NoError(t, err)
	require.Equal(t, []string{"lib 0700", "lib/a 0400 a", "lib/b 0400 b", "own 0500 #", "tool 0500 #"}, listed(t, out))
	again, err := c.Compile(t.Context(), web1)
	require.NoError(t, err)
	require.Same(t, out.Contents.bundle, again.Contents.bundle)

	files["inner/resources/tool"] = "#!/bin/dash\n"
	_, err = programs(t, put(t, files))
	require.EqualError(t, err, "resources/tool: two manifests of the play have different files with this name; rename one of them")
}

func TestResourcesFolderThatCannotBeSent(t *testing.T) {
	outside := t.TempDir()
	tests := []struct {
		name  string
		files map[string]string
		also  func(t *testing.T, dir string)
		want  string
	}{
		{"a link out of the play's folder", map[string]string{"resources/l": "->" + outside}, nil,
			`resources/l: it links to "` + outside + `": the path leads out of the folder of the manifest`},
		{"up and out", map[string]string{"resources/l": "->../../x"}, nil, `resources/l: it links to "../../x": the path leads out of the folder of the manifest`},
		{"to a directory beside", map[string]string{"resources/l": "->../beside", "beside/x": ""}, nil,
			`resources/l: it links to the directory "../beside", which is outside of resources/`},
		{"to nothing", map[string]string{"resources/l": "->gone"}, nil, `resources/l: it links to "gone": no such file or directory`},
		{"to itself", map[string]string{"resources/l": "->l"}, nil, `resources/l: it links to "l": too many levels of symbolic links`},
		{"the folder itself", map[string]string{"resources": "->" + outside}, nil, `resources: the path leads out of the folder of the manifest`},
		{"a file", map[string]string{"resources": "x"}, nil, `resources: not a directory`},
		{"a pipe", map[string]string{"resources/x": ""}, func(t *testing.T, dir string) {
			require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "resources/pipe"), 0o600))
		}, `resources/pipe: not a regular file`},
		{"no text", map[string]string{"resources/a\xff": ""}, nil, `resources/: the name "a\xff" is not UTF-8`},
		{"too deep", map[string]string{"resources/" + strings.Repeat("d/", 70) + "x": ""}, nil,
			`resources/` + strings.TrimSuffix(strings.Repeat("d/", 65), "/") + `: is more than 64 directories deep`},
		{"too large", map[string]string{"resources/x": ""}, func(t *testing.T, dir string) {
			require.NoError(t, os.Truncate(filepath.Join(dir, "resources/x"), modules.MaxTreeSize+1))
		}, `resources/: the files together have more than 48 MiB`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.files["site.yaml"] = manifestOf(uses("tool"), "    - exec: [other: {command: id}]\n")
			dir := put(t, tt.files)
			if tt.also != nil {
				tt.also(t, dir)
			}
			_, err := programs(t, dir)
			require.EqualError(t, err, filepath.Join(dir, "site.yaml")+":3:17: "+tt.want)
		})
	}
}

// TestCheckLiteral checks that errors of literal resources are found before any host is contacted, and that resources
// which a host may not need are skipped.
func TestCheckLiteral(t *testing.T) {
	tests := []struct{ name, resource, want string }{
		{"literal", uses("nothing"), `:3:17: name: resources/ has no "nothing"`},
		{"its document", uses("broken"), ":3:17: 1:4: tag !x is not supported\n  hint: remove it"},
		{"conditional", "    - program: [nothing: {control: {if: Facts.os == 'linux'}}]\n", ""},
		{"for each", "    - program: [nothing: {each: [a]}]\n", ""},
		{"an expression", "    - program: [\"{{ Facts.os }}\": {}]\n", ""},
		{"there", uses("tool"), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := put(t, map[string]string{
				"site.yaml": manifestOf(tt.resource), "resources/tool": "x", "resources/broken": "x", "resources/broken.yaml": "a: !x b\n",
			})
			_, err := programs(t, dir)
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, filepath.Join(dir, "site.yaml")+tt.want)
		})
	}
}

// BenchmarkResourcesFolder measures the cost per host of a play with a resources folder of 1000 files.
func BenchmarkResourcesFolder(b *testing.B) {
	files := map[string]string{"site.yaml": manifestOf(uses("tool")), "resources/tool": "#!/bin/sh\n"}
	for i := range 1000 {
		files[fmt.Sprintf("resources/lib/%d", i)] = strings.Repeat("x", 600+i)
	}
	c, err := programs(b, put(b, files))
	require.NoError(b, err)
	for b.Loop() {
		out, err := c.Compile(b.Context(), web1)
		require.NoError(b, err)
		_, err = out.Packet()
		require.NoError(b, err)
	}
}
