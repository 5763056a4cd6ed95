package catalog

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestResourcesLeftOut uses a folder with files of git and editors, and with files of such names that a manifest or a
// link names.
func TestResourcesLeftOut(t *testing.T) {
	files := map[string]string{
		"site.yaml":                   manifestOf(uses("tool")),
		"resources/tool":              "#!/bin/sh\n",
		"resources/tool~":             "old",
		"resources/.tool.swp":         "x",
		"resources/.#tool":            "->me@here.1234", // of Emacs: it leads nowhere
		"resources/.git/config":       "g",
		"resources/.gitignore":        "i",
		"resources/sub/.git":          "gitdir: elsewhere",
		"resources/sub/a.json":        `{"executable": "./named~", "args": ["see .git-attributes", "url.git", "x.tool~y"]}`,
		"resources/sub/a.json~":       `{"executable": "tool~"}`,
		"resources/sub/named~":        "n",
		"resources/sub/link":          "->linked.swp",
		"resources/sub/linked.swp":    "l",
		"resources/sub/kept~/own.yml": "own: more~",
		"resources/sub/kept~/.git/x":  "x",
		"resources/sub/more~":         "m",
		"resources/z.yaml":            "dir: sub/kept~/\n",
	}
	c, err := programs(t, put(t, files))
	require.NoError(t, err)
	out, err := c.Compile(t.Context(), web1)
	require.NoError(t, err)
	require.Equal(t, []string{
		".gitignore 0400 i", "sub 0700", "sub/a.json 0400 {", "sub/kept~ 0700", "sub/kept~/own.yml 0400 o",
		"sub/link -> linked.swp", "sub/linked.swp 0400 l", "sub/more~ 0400 m", "sub/named~ 0400 n", "tool 0500 #", "z.yaml 0400 d",
	}, listed(t, out))

	// Types find the same here as on the hosts.
	var seen []string
	require.NoError(t, fs.WalkDir(out.Contents.bundle.look, ".", func(name string, e fs.DirEntry, err error) error {
		require.NoError(t, err)
		if name != "." {
			seen = append(seen, name)
		}
		return nil
	}))
	require.Equal(t, ".gitignore sub sub/a.json sub/kept~ sub/kept~/own.yml sub/link sub/linked.swp sub/more~ sub/named~ tool z.yaml", strings.Join(seen, " "))
	for _, name := range []string{"tool~", ".git/config", "sub/kept~/.git/x"} {
		_, err := fs.Stat(out.Contents.bundle.look, name)
		require.ErrorIs(t, err, fs.ErrNotExist, name)
		_, err = fs.ReadFile(out.Contents.bundle.look, name)
		require.ErrorIs(t, err, fs.ErrNotExist, name)
		_, err = fs.ReadDir(out.Contents.bundle.look, name)
		require.ErrorIs(t, err, fs.ErrNotExist, name)
	}
}

func TestMentions(t *testing.T) {
	for _, tt := range []struct {
		text, name string
		want       bool
	}{
		{"run~", "run~", true}, {"./run~ x", "run~", true}, {`"bin/run~"`, "run~", true}, {"--with=run~", "run~", true}, {"run~\n", "run~", true},
		{"prerun~", "run~", false}, {"run~2", "run~", false}, {"run", "run~", false}, {"", "run~", false}, {"xrun~ run~", "run~", true},
		{"a .git b", ".git", true}, {"x.git", ".git", false}, {".gitignore", ".git", false}, {"ünrun~", "run~", false}, {"run~\u00fc", "run~", false},
	} {
		require.Equal(t, tt.want, mentions([]byte(tt.text), tt.name), "%q in %q", tt.name, tt.text)
	}
}

// FuzzMentions checks that a word between blanks is found.
func FuzzMentions(f *testing.F) {
	f.Add("a", "run~", "b")
	f.Add("run~run~", ".git", "\x80")
	f.Fuzz(func(t *testing.T, before, name, after string) {
		if name == "" {
			return
		}
		require.True(t, mentions([]byte(before+" "+name+" "+after), name))
	})
}
