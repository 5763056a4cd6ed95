package source

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// packed is an archive of entries.
func packed(t *testing.T, entries ...tar.Header) []byte {
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	w := tar.NewWriter(zipped)
	for _, h := range entries {
		content := "ccm: {resources: [exec: [x: ]]}\n"
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(content))
		}
		require.NoError(t, w.WriteHeader(&h))
		if h.Typeflag == tar.TypeReg {
			_, err := w.Write([]byte(content))
			require.NoError(t, err)
		}
	}
	require.NoError(t, w.Close())
	require.NoError(t, zipped.Close())
	return packed.Bytes()
}

// unpacked writes an archive of entries and unpacks it.
func unpacked(t *testing.T, entries ...tar.Header) (string, error) {
	archive := filepath.Join(t.TempDir(), "site.tar.gz")
	require.NoError(t, os.WriteFile(archive, packed(t, entries...), 0o600))
	folder, err := (&Unpacker{Temp: t.TempDir()}).Unpack(t.Context(), Archive{Path: archive})
	path := filepath.Join(folder, ManifestFile)
	if err != nil {
		err = fmt.Errorf("%s", bytes.ReplaceAll([]byte(err.Error()), []byte(archive), []byte("A")))
	}
	return path, err
}

var site = tar.Header{Typeflag: tar.TypeReg, Name: "./manifest.yaml"}

func TestUnpack(t *testing.T) {
	path, err := unpacked(t, tar.Header{Typeflag: tar.TypeDir, Name: "./"}, site, tar.Header{Typeflag: tar.TypeReg, Name: "files/deep/x"})
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(filepath.Dir(path), "files/deep/x"))
}

func TestUnpackRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		entry tar.Header
		want  string
	}{
		"a way out":        {tar.Header{Typeflag: tar.TypeReg, Name: "../x"}, `A: "../x": the name points outside the archive`},
		"a longer way out": {tar.Header{Typeflag: tar.TypeReg, Name: "a/../../x"}, `A: "a/../../x": the name points outside the archive`},
		"an absolute path": {tar.Header{Typeflag: tar.TypeReg, Name: "/etc/x"}, `A: "/etc/x": the name points outside the archive`},
		"a link":           {tar.Header{Typeflag: tar.TypeSymlink, Name: "l", Linkname: "/etc"}, `A: "l": neither a file nor a folder`},
		"a hard link":      {tar.Header{Typeflag: tar.TypeLink, Name: "l", Linkname: "manifest.yaml"}, `A: "l": neither a file nor a folder`},
		"a device":         {tar.Header{Typeflag: tar.TypeChar, Name: "d"}, `A: "d": neither a file nor a folder`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := unpacked(t, site, c.entry)
			require.EqualError(t, err, c.want)
		})
	}
	_, err := unpacked(t, tar.Header{Typeflag: tar.TypeReg, Name: "site.yaml"})
	require.EqualError(t, err, "A does not contain manifest.yaml")
	_, err = unpacked(t, tar.Header{Typeflag: tar.TypeReg, Name: "web app/manifest.yaml"})
	require.EqualError(t, err, `the archive A does not contain manifest.yaml, but "web app/manifest.yaml": pack the files without the folder around them (tar -czf ARCHIVE -C "web app" .)`)
	_, err = unpacked(t, site, site)
	require.ErrorContains(t, err, "file exists")
	text := filepath.Join(t.TempDir(), "x.tgz")
	require.NoError(t, os.WriteFile(text, []byte("no gzip"), 0o600))
	_, err = (&Unpacker{Temp: t.TempDir()}).Unpack(t.Context(), Archive{Path: text})
	require.EqualError(t, err, text+": unexpected EOF")
}

// FuzzUnpack unpacks entries of any name and kind, and checks that nothing is written outside of the folder.
func FuzzUnpack(f *testing.F) {
	for _, name := range []string{"x", "../x", "/x", "a/../../x", "./a//b/", "manifest.yaml/x", "a\x00b", "."} {
		f.Add(name, byte(tar.TypeReg))
	}
	f.Add("l", byte(tar.TypeSymlink))
	f.Add("d/", byte(tar.TypeDir))
	f.Fuzz(func(t *testing.T, name string, kind byte) {
		var packed bytes.Buffer
		w := tar.NewWriter(&packed)
		if w.WriteHeader(&tar.Header{Name: name, Typeflag: kind, Linkname: "../out"}) != nil || w.Close() != nil {
			return
		}
		around := t.TempDir()
		inside := filepath.Join(around, "inside")
		require.NoError(t, os.Mkdir(inside, 0o700))
		root, err := os.OpenRoot(inside)
		require.NoError(t, err)
		defer root.Close()
		header, err := tar.NewReader(&packed).Next()
		if err != nil {
			return
		}
		_ = unpackOne(header, bytes.NewReader(nil), root)
		entries, err := os.ReadDir(around)
		require.NoError(t, err)
		require.Len(t, entries, 1)
		require.NoError(t, filepath.WalkDir(inside, func(path string, e os.DirEntry, err error) error {
			require.NoError(t, err)
			require.True(t, e.IsDir() || e.Type().IsRegular(), path)
			return nil
		}))
	})
}

// TestUnpackedBefore checks that archives which one Unpacker has unpacked are not unpacked again by another, which
// learns no secret.
func TestUnpackedBefore(t *testing.T) {
	served := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		served++
		_, _ = w.Write(packed(t, site))
	}))
	defer s.Close()
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("local.tgz", packed(t, site), 0o600))
	url := strings.Replace(s.URL, "//", "//ann:hunter2@", 1) + "/site.tgz?token=hunter2"
	first := &Unpacker{Temp: t.TempDir()}
	read := func(u *Unpacker, path string) string {
		origin, err := FindManifest(path)
		require.NoError(t, err)
		f, _, err := origin.Read(t.Context(), u)
		require.NoError(t, err)
		return f.Folder()
	}
	folders := map[string]string{}
	for _, path := range []string{url, "local.tgz", url} {
		folders[path] = read(first, path)
	}
	require.Equal(t, 2, served)
	list, err := first.Unpacked()
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.NotContains(t, fmt.Sprint(list), "hunter2")

	second := &Unpacker{Before: list}
	require.NotContains(t, Plain(url), "hunter2")
	require.Equal(t, list[0].Folder, read(second, Plain(url)))
	require.Equal(t, folders["local.tgz"], read(second, Plain("local.tgz")))
	require.Equal(t, 2, served)

	read(first, strings.Replace(url, "token=hunter2", "token=hunter3", 1))
	_, err = first.Unpacked()
	require.EqualError(t, err, "two archives have the URL "+s.URL+"/site.tgz?…, with different users or query strings: rename one of them")
	require.NoError(t, first.Close())
}
