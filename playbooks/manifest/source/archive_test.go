package source

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseURL(t *testing.T) {
	sum := strings.Repeat("0aB", 21) + "f"
	for text, want := range map[string]struct{ shown, sum string }{
		"https://ann:hunter2@example.org/web.tar.gz":              {"https://example.org/web.tar.gz", ""},
		"https://example.org/web.tgz?token=hunter2#sha256=" + sum: {"https://example.org/web.tgz?…", strings.ToLower(sum)},
		"http://example.org/web.tar.gz#sha256=" + sum:             {"http://example.org/web.tar.gz", strings.ToLower(sum)},
		"http://127.0.0.1:8080/web.tar.gz":                        {"http://127.0.0.1:8080/web.tar.gz", ""},
		"OBJ://SITES/a/web":                                       {"obj://SITES/a/web", ""},
		"obj://SITES/web#sha256=" + sum:                           {"obj://SITES/web", strings.ToLower(sum)},
	} {
		source, err := ParseURL(text)
		require.NoError(t, err, text)
		require.Equal(t, want.shown, source.name())
		require.Equal(t, want.sum, source.Checksum)
	}
	for text, want := range map[string]string{
		"http://ann:hunter2@example.org/web.tar.gz":             "http://example.org/web.tar.gz: the connection is not encrypted, so others could change the manifest: use https://, or append a checksum: #sha256=…",
		"https://ann:hunter2@example.org/site.yaml":             "https://example.org/site.yaml: a manifest on the web is a .tar.gz with manifest.yaml in it",
		"https://ann:hunter2@example.org/site.tar.gz#sha256=12": "https://example.org/site.tar.gz: the text after #sha256= is not a checksum: write 64 hexadecimal digits, as sha256sum prints them",
		"https://ann:hun%ter2@example.org/site.tar.gz":          "a manifest: this is not a valid URL: write https://host/path, with %XX for special characters in a password",
		"obj://ann:hunter2@BUCKET/site.tar.gz":                  "a manifest: the URL of a bucket cannot contain a user: write obj://BUCKET/KEY, and log in to NATS with --nats-creds or --nats-nkey",
		"obj://BUCKET":                                          `a manifest: "obj://BUCKET" names no bucket and key of NATS: write obj://BUCKET/KEY`,
		"obj://BUCKET/site#sha256=12":                           "obj://BUCKET/site: the text after #sha256= is not a checksum: write 64 hexadecimal digits, as sha256sum prints them",
		"ftp://ann:hunter2@example.org/site.tar.gz":             `"ftp" is not a supported scheme for manifests: use https://, http://, obj:// or a path`,
	} {
		_, err := ParseURL(text)
		require.EqualError(t, err, want)
	}
}

func TestArchiveRoot(t *testing.T) {
	e := ArchiveRoot{Folder: "/tmp/x", Shown: "web.tgz"}
	for path, want := range map[string]struct {
		has  bool
		call string
	}{
		"/tmp/x/manifest.yaml": {true, "web.tgz/manifest.yaml"},
		"/tmp/x/a/../b.yaml":   {true, "web.tgz/b.yaml"},
		"/tmp/x":               {true, "web.tgz/."},
		"/tmp/x/../y":          {false, "web.tgz/../y"},
		"/tmp/xy/a.yaml":       {false, "web.tgz/../xy/a.yaml"},
		"/etc/passwd":          {false, "web.tgz/../../etc/passwd"},
		"relative":             {false, "relative"},
	} {
		require.Equal(t, want.has, e.Contains(path), path)
		require.Equal(t, want.call, e.ShownPath(path), path)
	}
	require.True(t, ArchiveRoot{}.Contains("/etc/passwd"), "there is none")
	require.Equal(t, "/etc/passwd", ArchiveRoot{}.ShownPath("/etc/./passwd"))
}

func TestShownName(t *testing.T) {
	for name, want := range map[string]string{
		"web.yaml": "web.yaml",
		"https://ann:hunter2@example.org/web.tgz?token=hunter2": "https://example.org/web.tgz?…",
		"https://example.org:x/hunter2":                         "URL",
		"obj://SITES/web#sha256=00":                             "obj://SITES/web",
		"obj://ann:hunter2@SITES/web":                           "URL",
	} {
		require.Equal(t, want, ShownName(name), name)
	}
}

func TestPlain(t *testing.T) {
	pinned := "#sha256=" + strings.Repeat("0", 64)
	for name, want := range map[string]string{
		"dir/site.tgz": "dir/site.tgz",
		"https://ann:hunter2@example.org/web.tgz?token=hunter2":         "https://example.org/web.tgz?…",
		"http://ann:hunter2@example.org/web.tgz?token=hunter2" + pinned: "http://example.org/web.tgz?…" + pinned,
		"obj://SITES/web" + pinned:                                      "obj://SITES/web" + pinned,
	} {
		require.Equal(t, want, Plain(name))
		_, err := FindManifest(want)
		require.NoError(t, err)
	}
}
