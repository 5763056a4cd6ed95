package builds

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// pack makes a build of some bytes.
func pack(t *testing.T, goos, arch, program string) Build {
	t.Helper()
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	_, err := zw.Write([]byte(program))
	require.NoError(t, err)
	require.NoError(t, zw.Close())
	sum := sha256.Sum256([]byte(program))
	return Build{OS: goos, Arch: arch, ID: "id-1", SHA256: hex.EncodeToString(sum[:]), Size: int64(len(program))}.WithCompressed(b.Bytes())
}

// fill writes builds to a folder.
func fill(t *testing.T, list ...Build) string {
	t.Helper()
	dir := t.TempDir()
	var entries []Entry
	for _, b := range list {
		e, err := b.Write(dir)
		require.NoError(t, err)
		entries = append(entries, e)
	}
	require.NoError(t, WriteIndex(dir, entries))
	return dir
}

func TestLoadGivesWhatWasWritten(t *testing.T) {
	full := pack(t, "linux", "amd64", "one and more")
	full.Full = true
	want := []Build{pack(t, "linux", "amd64", "one"), pack(t, "freebsd", "arm64", "another"), full}
	got, err := Load(fill(t, want...))
	require.NoError(t, err)
	require.Len(t, got, len(want))
	for i, program := range []string{"one", "another", "one and more"} {
		b, err := got[i].Program()
		require.NoError(t, err)
		require.Equal(t, program, string(b))
		got[i].Compressed, want[i].Compressed = nil, nil
	}
	require.Equal(t, want, got)
}

func TestLoadErrors(t *testing.T) {
	file := "ccm-module_linux_amd64.gz"
	tests := []struct {
		name   string
		damage func(dir string) error
		want   string
	}{
		{"no index", func(dir string) error { return os.Remove(filepath.Join(dir, IndexFile)) }, "host programs in DIR: open index.json: no such file or directory"},
		{"no file", func(dir string) error { return os.Remove(filepath.Join(dir, file)) }, "host programs in DIR: stat ccm-module_linux_amd64.gz: no such file or directory"},
		{"other size", func(dir string) error { return os.WriteFile(filepath.Join(dir, file), []byte("x"), 0o644) }, "host programs in DIR: ccm-module_linux_amd64.gz has 1 bytes, but index.json records 27"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := fill(t, pack(t, "linux", "amd64", "one"))
			require.NoError(t, tt.damage(dir))
			_, err := Load(dir)
			require.EqualError(t, err, strings.ReplaceAll(tt.want, "DIR", dir))
		})
	}
}

func TestProgramErrors(t *testing.T) {
	tests := []struct {
		name   string
		damage func(b *Build)
		want   string
	}{
		{"not gzip", func(b *Build) { *b = b.WithCompressed([]byte("plain text, not gzip")) }, "host program linux/amd64: gzip: invalid header"},
		{"cut", func(b *Build) { packed, _ := b.Compressed(); *b = b.WithCompressed(packed[:15]) }, "host program linux/amd64: unexpected EOF"},
		{"longer", func(b *Build) { b.Size-- }, "host program linux/amd64 does not have the 2 bytes that the index records"},
		{"shorter", func(b *Build) { b.Size++ }, "host program linux/amd64 does not have the 4 bytes that the index records"},
		{"other hash", func(b *Build) { b.SHA256 = "00" }, "host program linux/amd64 has SHA-256 7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed, but the index records 00"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := pack(t, "linux", "amd64", "one")
			tt.damage(&b)
			_, err := b.Program()
			require.EqualError(t, err, tt.want)
			b.Full = true
			_, err = b.Program()
			require.EqualError(t, err, "full "+tt.want)
		})
	}
}

// indexes are index files, and their errors.
var indexes = []struct{ name, text, want string }{
	{"empty", `{"builds":[]}`, ""},
	{"good", entry("linux", "amd64", "id-1", digest, 3, 27), ""},
	{"not JSON", `x`, "invalid character 'x' looking for beginning of value"},
	{"blanks behind it", "{\"builds\":[]} \n\t\r\n", ""},
	{"cut off", `{"builds":[]`, "unexpected EOF"},
	{"text behind it", `{"builds":[]} x`, "something follows the JSON object"},
	{"a brace behind it", `{"builds":[]}}`, "something follows the JSON object"},
	{"a second index behind it", `{"builds":[]}` + "\n" + entry("linux", "amd64", "id-1", digest, 3, 27), "something follows the JSON object"},
	{"a NUL behind it", "{\"builds\":[]}\x00", "something follows the JSON object"},
	{"unknown key", `{"build":[]}`, `json: unknown field "build"`},
	{"path as system", entry("../etc", "amd64", "id", digest, 1, 1), `"../etc" is not an operating system`},
	{"no architecture", entry("linux", "", "id", digest, 1, 1), `"" is not an architecture`},
	{"id for a shell", entry("linux", "amd64", "$(id)", digest, 1, 1), `ccm-module_linux_amd64.gz: "$(id)" is not a build id`},
	{"short hash", entry("linux", "amd64", "id", "00", 1, 1), `ccm-module_linux_amd64.gz: "00" is not a SHA-256`},
	{"no hash of the file", strings.Replace(entry("linux", "amd64", "id", digest, 1, 1), `,"compressed_sha256":"`+digest+`"`, "", 1), `ccm-module_linux_amd64.gz: compressed_sha256 "" is not a SHA-256; build the folder again with modules/builds/gen`},
	{"negative size", entry("linux", "amd64", "id", digest, -1, 1), `ccm-module_linux_amd64.gz: sizes -1 and 1 are not both above zero`},
	{"twice", strings.Replace(entry("linux", "arm", "id", digest, 1, 1), "]", ","+oneEntry("linux", "arm", "id", digest, 1, 1)+"]", 1), `ccm-module_linux_arm.gz is listed twice`},
	{"lean and full", strings.Replace(entry("linux", "arm", "id", digest, 1, 1), "]", ","+fullEntry("linux", "arm", "id", digest, 1, 1)+"]", 1), ""},
	{"full twice", `{"builds":[` + fullEntry("linux", "arm", "id", digest, 1, 1) + "," + fullEntry("linux", "arm", "id", digest, 1, 1) + `]}`, `ccm-module-full_linux_arm.gz is listed twice`},
}

var digest = strings.Repeat("0a", 32)

// fullEntry is an entry for the full program.
func fullEntry(goos, arch, id, sum string, size, compressed int) string {
	return strings.Replace(oneEntry(goos, arch, id, sum, size, compressed), `"id"`, `"full":true,"id"`, 1)
}

func oneEntry(goos, arch, id, sum string, size, compressed int) string {
	return fmt.Sprintf(`{"os":%q,"arch":%q,"id":%q,"sha256":%q,"size":%d,"compressed_size":%d,"compressed_sha256":%q}`, goos, arch, id, sum, size, compressed, digest)
}

func entry(goos, arch, id, sum string, size, compressed int) string {
	return `{"builds":[` + oneEntry(goos, arch, id, sum, size, compressed) + `]}`
}

func TestReadIndex(t *testing.T) {
	for _, tt := range indexes {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ReadIndex(fstest.MapFS{IndexFile: {Data: []byte(tt.text)}})
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, "index.json: "+tt.want)
		})
	}
}

func FuzzIndex(f *testing.F) {
	for _, tt := range indexes {
		f.Add([]byte(tt.text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, err := parseIndex(b)
		if err != nil {
			return
		}
		dir := t.TempDir()
		require.NoError(t, WriteIndex(dir, entries))
		again, err := ReadIndex(os.DirFS(dir))
		require.NoError(t, err)
		require.Equal(t, entries, again)
		_, err = Load(dir)
		if len(entries) > 0 {
			require.ErrorIs(t, err, fs.ErrNotExist, "no program is in the folder")
		} else {
			require.NoError(t, err)
		}
		for _, e := range entries {
			require.True(t, filepath.IsLocal(e.File()), e.File())
			require.NotContains(t, e.File(), "/")
		}
	})
}

// TestEmbeddedAreWhole checks the builds embedded in this test; in a clean clone there are none.
func TestEmbeddedAreWhole(t *testing.T) {
	list, err := Embedded()
	require.NoError(t, err)
	for _, b := range list {
		_, err := b.Program()
		require.NoError(t, err)
	}
}

func TestNoIndexMeansNoBuilds(t *testing.T) {
	list, err := readUnder(fstest.MapFS{"bin/README": {}}, "bin")
	require.NoError(t, err)
	require.Empty(t, list)
}
