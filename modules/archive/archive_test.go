package archive_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/archive"
	"github.com/ccm-push/ccm-push/modules/download"
)

// lines lists the errors of a resource, one per line.
func lines(err error) string {
	var all []string
	for _, pe := range modules.PropertyErrors(err) {
		all = append(all, pe.Error())
	}
	return strings.Join(all, "\n")
}

func TestValidate(t *testing.T) {
	digest := strings.Repeat("aB", 32)
	for _, tt := range []struct{ name, properties, want string }{
		{"least", `"url":"https://example.com/a.tar.gz"`, ""},
		{"all", `"url":"http://example.com:81/x/a.tgz?token=1","headers":{"X-Token":"t"},"username":"u","password":"p","checksum":"sha256:` + digest + `",
			"extract_parent":"/opt/a","creates":"/opt/a/b","cleanup":true,"mode":"0640","fetch":"controller","max_size":10`, ""},
		{"a user in the url", `"url":"https://u:p@example.com/a.tar.gz"`, ""},
		{"absent needs nothing", `"ensure":"absent","owner":"","group":""`, ""},
		{"absent, with any name", `"name":"/tmp/x","ensure":"absent"`, ""},
		{"nothing", `"owner":"","group":""`, `url: "url" cannot be empty`},
		{"no scheme", `"url":"example.com/a.tar.gz"`, `url: "url" must be absolute (include scheme like http:// or https://)`},
		{"no host", `"url":"https:///a.tar.gz"`, `url: "url" must be absolute (include scheme like http:// or https://)`},
		{"another scheme", `"url":"ftp://example.com/a.tar.gz"`, `url: "url" has the scheme ftp, which is not supported (write http:// or https://)`},
		{"a password that is not escaped", `"url":"https://u:p%zz@example.com/a.tar.gz"`, `url: "url" is not valid (write https://host/path, with %XX for special characters)`},
		{"no path", `"url":"https://example.com"`, `url: "url" must have a filename in the path`},
		{"a folder", `"url":"https://example.com/a.tar.gz/"`, `url: "url" must have a filename in the path`},
		{"another ending of the url", `"url":"https://example.com/a.rar"`, `url: the filename in "url" must end in .zip, .tar.gz, .tgz, .tar.xz, .tar.zst, or .tar`},
		{"another ending of the name", `"name":"/tmp/a","url":"https://example.com/a.zip"`, `name: "name" must end in .zip, .tar.gz, .tgz, .tar.xz, .tar.zst, or .tar`},
		{"two types", `"url":"https://example.com/a.zip"`, `url: "url" and "name" must have the same archive type: "url" is zip, "name" is tar.gz`},
		{"the same type", `"name":"/tmp/a.tgz","url":"https://example.com/a.tar.gz"`, ""},
		{"two users", `"url":"https://u:p@example.com/a.tar.gz","username":"v","password":"w"`, `url: "url" contains a user name, but "username" or "password" is also set (remove the user name from "url", or remove "username" and "password")`},
		{"a relative name", `"name":"a.tar.gz","url":"https://example.com/a.tar.gz"`, "name: file path must be absolute (write a path that begins with /)"},
		{"a name that is not clean", `"name":"/tmp/../a.tar.gz","url":"https://example.com/a.tar.gz"`, "name: file path must be canonical (write /a.tar.gz)"},
		{"relative places", `"url":"https://example.com/a.tar.gz","extract_parent":"a","creates":"b"`, "extract_parent: \"extract_parent\" must be an absolute path\ncreates: \"creates\" must be an absolute path"},
		{"places that are not clean", `"url":"https://example.com/a.tar.gz","extract_parent":"/a/","creates":"/b/."`, "extract_parent: file path must be canonical (write /a)\ncreates: file path must be canonical (write /b)"},
		{"cleanup of what is not unpacked", `"url":"https://example.com/a.tar.gz","cleanup":true,"creates":"/x"`, `cleanup: "cleanup" requires "extract_parent" to be set`},
		{"cleanup without a sign", `"url":"https://example.com/a.tar.gz","cleanup":true,"extract_parent":"/x"`, `cleanup: "cleanup" requires "creates" to be set`},
		{"a user without a password", `"url":"https://example.com/a.tar.gz","username":"u"`, `username: "username" needs a password`},
		{"a password without a user", `"url":"https://example.com/a.tar.gz","password":"secret"`, `password: "password" needs a user name`},
		{"a short checksum", `"url":"https://example.com/a.tar.gz","checksum":"abc"`, `checksum: "checksum" is not a SHA-256 in hex (write 64 hex digits, as sha256sum prints them)`},
		{"another checksum", `"url":"https://example.com/a.tar.gz","checksum":"md5:` + digest + `"`, `checksum: "checksum" is not a SHA-256 in hex (write 64 hex digits, as sha256sum prints them)`},
		{"a header's name", `"url":"https://example.com/a.tar.gz","headers":{"X Token":"t"}`, `headers: headers: "X Token" is not a header name`},
		{"a header's value", `"url":"https://example.com/a.tar.gz","headers":{"X-Token":"secret\r\nX: y"}`, `headers: headers: the value of "X-Token" is more than one line`},
		{"a header of ours", `"url":"https://example.com/a.tar.gz","headers":{"range":"bytes=1-"}`, `headers: headers: "range" cannot be set`},
		{"a mode", `"url":"https://example.com/a.tar.gz","mode":"999"`, `mode: mode "999" has a digit outside 0-7 (write an octal string such as mode: "0644")`},
		{"sizes", `"url":"https://example.com/a.tar.gz","max_size":-1`, `max_size: "max_size" must be from 0 to 1048576, not -1`},
		{"fetch", `"url":"https://example.com/a.tar.gz","fetch":"other"`, `fetch: "other" is not one of "host", "controller"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			properties := `{"name":"/tmp/a.tar.gz","owner":"root","group":"root",` + tt.properties + `}`
			_, err := modules.Registry{archive.Type()}.Decode("archive", []byte(properties))
			require.Equal(t, tt.want, lines(err))
		})
	}
}

func decode(t *testing.T, properties string) *archive.Archive {
	t.Helper()
	res, err := modules.Registry{archive.FullType(download.Client{})}.Decode("archive", []byte(properties))
	require.NoError(t, err)
	return res.(*archive.Archive)
}

func TestNeedsFull(t *testing.T) {
	for properties, want := range map[string]bool{
		`"url":"https://h/a.tar"`:                                              true,
		`"url":"https://h/a.tar","fetch":"controller"`:                         false,
		`"url":"https://h/a.tar","fetch":"controller","extract_parent":"/opt"`: true,
		`"ensure":"absent"`:                                                    false,
	} {
		require.Equal(t, want, decode(t, `{"name":"/tmp/a.tar","owner":"0","group":"0",`+properties+`}`).Requires().FullProgram, properties)
	}
	require.True(t, (&archive.Archive{}).Requires().FullProgram, "when nothing is known")
}

// TestPrepare checks that hosts get only the properties that they need.
func TestPrepare(t *testing.T) {
	const full = `{"name":"/tmp/a.tar","owner":"0","group":"0","url":"https://u:p@h/a.tar?token=1","headers":{"X":"y"},`
	var asked modules.Download
	src := modules.Source{Download: func(_ context.Context, d modules.Download) (modules.Content, error) {
		asked = d
		return modules.PromisedContent(strings.Repeat("0a", 32)), nil
	}}
	sent := func(a *archive.Archive) string {
		b, err := json.Marshal(a)
		require.NoError(t, err)
		return string(b)
	}

	a := decode(t, full+`"fetch":"controller"}`)
	require.NoError(t, a.Prepare(t.Context(), src))
	require.NoError(t, a.Validate())
	require.Equal(t, modules.Download{
		URL: "https://h/a.tar?token=1", Headers: map[string]string{"X": "y"}, Username: "u", Password: "p", MaxSize: 4 << 30,
	}, asked)
	require.JSONEq(t, `{"name":"/tmp/a.tar","ensure":"present","owner":"0","group":"0","mode":"0600","fetch":"controller",
		"url":"https://h/a.tar?…","content":{"promised":"`+strings.Repeat("0a", 32)+`"}}`, sent(a))
	again := decode(t, sent(a)) // in its form on the wire
	require.True(t, again.Content.Promised())

	require.EqualError(t, decode(t, full+`"fetch":"controller"}`).Prepare(t.Context(), modules.Source{}), `fetch: no controller to download the archive (remove "fetch")`)
	src.Download = func(context.Context, modules.Download) (modules.Content, error) {
		return modules.Content{}, errors.New("no")
	}
	require.EqualError(t, decode(t, full+`"fetch":"controller"}`).Prepare(t.Context(), src), "url: no")

	a = decode(t, full+`"ensure":"absent"}`)
	require.NoError(t, a.Prepare(t.Context(), src))
	require.JSONEq(t, `{"name":"/tmp/a.tar","ensure":"absent","owner":"0","group":"0","mode":"0600","fetch":"host"}`, sent(a))
}

// TestSecrets checks that the shown form of a resource contains no secrets.
func TestSecrets(t *testing.T) {
	secret := map[string]bool{}
	for _, f := range modules.Fields(&archive.Archive{}) {
		secret[f.Name] = f.Secret
	}
	require.True(t, secret["password"])
	require.True(t, secret["headers"])
	require.NotContains(t, secret, "content")
}
