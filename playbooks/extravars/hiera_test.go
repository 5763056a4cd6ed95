package extravars

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/templates"
)

func TestReadHiera(t *testing.T) {
	pages := map[string]string{"/data": "data: {a: web}\n", "/json": `{"data": {"a": "web\/json"}}`, "/bad": "data: [1]\n", "/nothing": ""}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, there := pages[r.URL.Path]
		if !there {
			http.NotFound(w, r)
		}
		io.WriteString(w, page)
	}))
	defer s.Close()
	withPassword := strings.Replace(s.URL, "://", "://ann:hunter2@", 1)
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	good := file("good.yaml", "data: {a: file}\nhierarchy: {order: [x]}\noverrides: {x: {b: over}}\n")
	for _, c := range []struct {
		name, flag, variable string
		want                 map[string]any // nil for no source
		err                  string
	}{
		{"none", "", "", nil, ""},
		{"a file", good, "", map[string]any{"a": "file", "b": "over"}, ""},
		{"the variable", "", good, map[string]any{"a": "file", "b": "over"}, ""},
		{"the flag wins", s.URL + "/data", dir + "/none", map[string]any{"a": "web"}, ""},
		{"a URL in the variable", "", s.URL + "/json", map[string]any{"a": "web/json"}, ""},
		{"the case of the scheme", "HTTP" + strings.TrimPrefix(s.URL, "http") + "/data", "", map[string]any{"a": "web"}, ""},
		{"an empty file", file("empty.yaml", ""), "", nil, ""},
		{"an empty page", s.URL + "/nothing", "", nil, ""},
		{"no file", dir + "/none", "", nil, "--hiera: reading " + dir + "/none: no such file or directory"},
		{"no file in the variable", "", dir + "/none", nil, "reading " + dir + "/none: no such file or directory\n  hint: CCM_HIERA_DATA names it"},
		{"no page", withPassword + "/none", "", nil, "--hiera: reading " + s.URL + "/none: the answer is 404 Not Found"},
		{"no page in the variable", "", withPassword + "/none", nil, "reading " + s.URL + "/none: the answer is 404 Not Found\n  hint: CCM_HIERA_DATA names it"},
		{"no URL", "https://ann:hunter2@/x", "", nil, "--hiera: this is not a valid URL: write https://host/path, with %XX for special characters in a password"},
		{"a bucket", "kv://B/a/k#sha256=8a83f71cfd25f2e67431519d7425f2b902ffa8f958a8ed122cccf57f0e507718", "", map[string]any{"a": "kv"}, ""},
		{"another checksum", "kv://B/bad#sha256=8a83f71cfd25f2e67431519d7425f2b902ffa8f958a8ed122cccf57f0e507718", "", nil, "--hiera: kv://B/bad has the checksum d36865a3a4bfda3d5d6f95167e4a09cb063aad97db15fc69287f21bb9a8a99e1, not 8a83f71cfd25f2e67431519d7425f2b902ffa8f958a8ed122cccf57f0e507718"},
		{"no checksum", "kv://B/bad#sha256=8a83", "", nil, "--hiera: kv://B/bad: the text after #sha256= is not a checksum: write 64 hexadecimal digits, as sha256sum prints them"},
		{"an error in a bucket", "kv://B/bad#sha256=d36865a3a4bfda3d5d6f95167e4a09cb063aad97db15fc69287f21bb9a8a99e1", "", nil, "kv://B/bad:1:7: \"data\" must be a map, not a list\n  hint: write key: value"},
		{"nothing in a bucket", "kv://B/empty", "", nil, "--hiera: kv://B/empty: it is empty; write data: {} for no data"},
		{"no key in a bucket", "", "kv://B/none", nil, "kv://B/none: no such key\n  hint: CCM_HIERA_DATA names it"},
		{"no key", "kv://B", "", nil, `--hiera: "kv://B" names no bucket and key of NATS: write kv://BUCKET/KEY`},
		{"a user of a bucket", "kv://ann:hunter2@BUCKET/key", "", nil, "--hiera: the URL of a bucket cannot contain a user: write kv://BUCKET/KEY, and log in to NATS with --nats-creds or --nats-nkey"},
		{"another scheme", "ftp://ann:hunter2@h/x", "", nil, "--hiera: \"ftp\" is not a supported scheme: use http://, https://, kv:// or the path of a file"},
		{"an error in the page", withPassword + "/bad?token=hunter2", "", nil, s.URL + "/bad?…:1:7: \"data\" must be a map, not a list\n  hint: write key: value"},
		{"an error in the file", file("bad.yaml", "data: [1]\n"), "", nil, dir + "/bad.yaml:1:7: \"data\" must be a map, not a list\n  hint: write key: value"},
		{"an unknown key", file("unknown.yaml", "data: {a: 1}\ndatum: {a: 2}\n"), "", nil,
			dir + "/unknown.yaml:2:1: unknown key \"datum\"\n  hint: it has the keys \"data\", \"hierarchy\" and \"overrides\""},
	} {
		t.Run(c.name, func(t *testing.T) {
			unwarned := func(text string) { require.Fail(t, text) }
			document, err := ReadHiera(t.Context(), c.flag, c.variable, values{"B/a/k": "data: {a: kv}\n", "B/bad": "data: [1]\n", "B/empty": ""}, unwarned)
			var source *templates.Source
			if err == nil {
				source, err = document.Source(nil, unwarned)
			}
			if c.err != "" {
				require.EqualError(t, err, c.err)
				require.Nil(t, source)
				return
			}
			require.NoError(t, err)
			if c.want == nil {
				require.Nil(t, source)
				return
			}
			data, err := source.Resolve(t.Context(), nil)
			require.NoError(t, err)
			require.Equal(t, c.want, data)
		})
	}
}

// values are buckets by BUCKET/KEY.
type values map[string]string

func (v values) Value(_ context.Context, bucket, key string) ([]byte, error) {
	text, there := v[bucket+"/"+key]
	if !there {
		return nil, errors.New("no such key")
	}
	return []byte(text), nil
}

func TestReadHieraWarnsOfAnnotations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hiera.yaml")
	require.NoError(t, os.WriteFile(path, []byte("data:\n  a: 1 # @requires\n"), 0o644))
	var warnings []string
	warn := func(text string) { warnings = append(warnings, text) }
	document, err := ReadHiera(t.Context(), path, "", nil, warn)
	require.NoError(t, err)
	_, err = document.Source(nil, warn)
	require.NoError(t, err)
	require.Equal(t, []string{path + ":2:3: \"@requires\" is not an annotation (did you mean \"@require\"?)"}, warnings)
}

func TestReadHieraWarnsOfAPasswordInTheClear(t *testing.T) {
	var warnings []string
	_, err := ReadHiera(t.Context(), "http://ann:hunter2@0.0.0.0:1/x", "", nil, func(text string) { warnings = append(warnings, text) })
	require.ErrorContains(t, err, "--hiera: reading http://0.0.0.0:1/x: ")
	require.NotContains(t, err.Error(), "hunter2")
	require.Equal(t, []string{"http://0.0.0.0:1/x: the password goes there unencrypted; use https://"}, warnings)
}
