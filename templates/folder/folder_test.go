package folder_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/templates/templatetest"
)

// An errorCase is a source and what comes of it.
type errorCase struct{ source, want string }

func TestFiles(t *testing.T) {
	files := templatetest.Open(t, map[string]string{"a.txt": "a\x00\xff\r\n", "sub/b.txt": "b", "empty": ""})
	outside := filepath.Join(t.TempDir(), "outside")
	require.NoError(t, os.WriteFile(outside, []byte("secret"), 0o644))
	require.NoError(t, os.Symlink("a.txt", filepath.Join(files.Dir(), "inside-link")))
	require.NoError(t, os.Symlink(outside, filepath.Join(files.Dir(), "link")))
	require.NoError(t, os.Symlink(filepath.Dir(outside), filepath.Join(files.Dir(), "dirlink")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(files.Dir(), "pipe"), 0o644))
	big, err := os.Create(filepath.Join(files.Dir(), "big"))
	require.NoError(t, err)
	require.NoError(t, big.Truncate(templates.MaxFile+1))
	require.NoError(t, big.Close())

	escapes := func(name string) string {
		return `"` + name + `" leads out of the folder ` + files.Dir()
	}
	cases := []struct{ name, want, err string }{
		{"a.txt", "a\x00\xff\r\n", ""},
		{"./sub/../a.txt", "a\x00\xff\r\n", ""},
		{"sub/b.txt", "b", ""},
		{"empty", "", ""},
		{"inside-link", "a\x00\xff\r\n", ""},
		{"nope", "", `no file "nope" in ` + files.Dir()},
		{"sub/nope", "", `no file "sub/nope" in ` + files.Dir()},
		{"", "", `"." is not a regular file`},
		{"sub", "", `"sub" is not a regular file`},
		{"pipe", "", `"pipe" is not a regular file`},
		{"a.txt/b", "", `reading "a.txt/b": not a directory`},
		{"a\x00b", "", `reading "a\x00b": invalid argument`},
		{"big", "", `"big" is larger than 16 MiB`},
		{"../x", "", escapes("../x")},
		{"sub/../../x", "", escapes("../x")},
		{"link", "", escapes("link")},
		{"dirlink/outside", "", escapes("dirlink/outside")},
		{outside, "", `"` + outside + `" is not below the folder of the play`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := files.Read(c.name)
			require.Equal(t, c.err, templatetest.ErrorText(err))
			require.Equal(t, c.want, string(got))
		})
	}
}

func TestCauseOfErrors(t *testing.T) {
	_, err := templatetest.Eval(t, "{{ file('nope') }}", templatetest.Host(templatetest.Open(t, nil)))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestOpenErrors(t *testing.T) {
	_, err := templates.Open(filepath.Join(t.TempDir(), "nope"))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.True(t, strings.HasPrefix(err.Error(), "opening the folder of the play: "))
}

func TestFilesAreReadOnce(t *testing.T) {
	files := templatetest.Open(t, map[string]string{"a.jet": "[[ Data.port ]]", "a.templ": "{{ Data.port }}"})
	env := templatetest.Host(files)
	source := "{{ jet('a.jet') }} {{ template('a.templ') }} {{ file('a.jet') }}"
	before, err := templatetest.Eval(t, source, env)
	require.NoError(t, err)
	for _, name := range []string{"a.jet", "a.templ"} {
		require.NoError(t, os.WriteFile(filepath.Join(files.Dir(), name), []byte("changed"), 0o644))
	}
	after, err := templatetest.Eval(t, source, env)
	require.NoError(t, err)
	require.Equal(t, before, after)
	require.Equal(t, "8080 8080 [[ Data.port ]]", after)
}

func TestConcurrentUse(t *testing.T) {
	files := templatetest.Open(t, templatetest.JetFolder())
	source := "{{ jet('dir/inner.jet') }} {{ template('expr.templ') }} {{ lookup('data.users.#') }} {{ Environ.HOME }} {{ file('plain.txt') | len() }}"
	text, err := templates.Parse(source, templatetest.Manifest)
	require.NoError(t, err)
	shared := templatetest.Host(files)
	var wg sync.WaitGroup
	results := make([]string, 16)
	for i := range results {
		wg.Go(func() {
			env := shared
			if i%2 == 0 {
				env = templatetest.Host(files)
			}
			results[i], _ = text.String(t.Context(), env)
		})
	}
	wg.Wait()
	for _, got := range results {
		require.Equal(t, "inner+other port 8080 2 /root 18", got)
	}
}

func TestRecursion(t *testing.T) {
	files := templatetest.Open(t, map[string]string{
		"a.templ": "{{ template('b.templ') }}",
		"b.templ": "{{ jet('c.jet') }}",
		"c.jet":   `[[ template("a.templ") ]]`,
	})
	_, err := templatetest.Eval(t, "{{ template('a.templ') }}", templatetest.Host(files))
	require.EqualError(t, err, "b.templ:1:4: templates render each other more than 20 levels deep: … c.jet → a.templ → b.templ → c.jet")
}

func TestErrorsInFiles(t *testing.T) {
	files := templatetest.Open(t, map[string]string{
		"bad.templ":   "line\n  é {{ Data.nope }}",
		"worse.tmpl":  "line\n {{ 1 + }}",
		"broken.jet":  "[[ if ]]",
		"missing.jet": "\n\n[[ Data.nope ]]",
	})
	cases := []errorCase{
		{"{{ template('bad.templ') }}", "bad.templ:2:13: missing key \"Data.nope\"\n  hint: did you mean \"name\"?; give a default with Data.nope ?? …"},
		{"{{ template('worse.tmpl') }}", `worse.tmpl:2:8: unexpected end in the expression "1 +"`},
		{"{{ template('broken.jet') }}", "broken.jet:1: parsing if: unexpected ']]' (expected term)"},
		{"{{ jet('missing.jet') }}", "missing.jet:3:4: missing key \"Data.nope\"\n  hint: did you mean \"name\"?; ask with isset(Data.nope)"},
		{"{{ template('nope.templ') }}", `site.yaml:7:15: no file "nope.templ" in ` + files.Dir()},
		{"{{ file('../nope') }}", `site.yaml:7:15: "../nope" leads out of the folder ` + files.Dir() + "\n  hint: a play reads files of its own folder only"},
	}
	for _, c := range cases {
		t.Run(c.source, func(t *testing.T) {
			_, err := templatetest.Eval(t, c.source, templatetest.Host(files))
			require.EqualError(t, err, c.want)
		})
	}
}
