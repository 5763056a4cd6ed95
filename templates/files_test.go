package templates_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/templates/templatetest"
)

func TestCauseOfErrors(t *testing.T) {
	_, err := templatetest.Eval(t, "{{ file('nope') }}", templatetest.Host(templatetest.Open(t, nil)))
	require.ErrorIs(t, err, os.ErrNotExist)
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
		{"{{ template('bad.templ') }}", "bad.templ:2:13: missing key \"Data.nope\"\n  hint: Data has big, empty, huge, list, max, name, nested, nothing and 8 more; if the key may be missing, write Data.nope ?? DEFAULT"},
		{"{{ template('worse.tmpl') }}", `worse.tmpl:2:8: unexpected end in the expression "1 +"`},
		{"{{ template('broken.jet') }}", "broken.jet:1: parsing if: unexpected ']]' (expected term)"},
		{"{{ jet('missing.jet') }}", "missing.jet:3:4: missing key \"Data.nope\"\n  hint: Data has big, empty, huge, list, max, name, nested, nothing and 8 more; to test whether the key exists, write isset(Data.nope)"},
		{"{{ template('nope.templ') }}", `site.yaml:7:15: no file "nope.templ" in ` + files.Dir()},
		{"{{ readFile('/etc/x') }}", `site.yaml:7:15: "/etc/x" is not below the folder of the play` + "\n  hint: write a path relative to " + files.Dir() +
			"; to use the file of the host, first write the resource exec: [read: {command: cat /etc/x}]; then replace the property by recv: {content: exec#read.stdout}"},
		{"{{ file('../nope') }}", `site.yaml:7:15: "../nope" is outside the folder ` + files.Dir() + "\n  hint: move the file into this folder: a play can read only files in its own folder"},
	}
	for _, c := range cases {
		t.Run(c.source, func(t *testing.T) {
			_, err := templatetest.Eval(t, c.source, templatetest.Host(files))
			require.EqualError(t, err, c.want)
		})
	}
}
