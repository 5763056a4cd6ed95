package unpack_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/archive/format"
	"github.com/ccm-push/ccm-push/modules/archive/unpack"
)

const manyMiB = 100 << 20

// archive is an archive of these bytes.
func archive(f format.Format, b []byte) *unpack.Archive {
	return &unpack.Archive{
		File: bytes.NewReader(b), Size: int64(len(b)), Format: f, MaxSize: manyMiB,
	}
}

// An item is an entry of an archive to be made.
type item struct {
	name   string
	kind   byte // type of tar; 0 means a file, or a directory if the name ends in a slash
	mode   int64
	body   string
	target string
}

var packed = time.Date(2020, 5, 17, 1, 2, 3, 0, time.UTC)

func tarOf(t testing.TB, items ...item) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, i := range items {
		h := &tar.Header{
			Name: i.name, Typeflag: i.kind, Mode: i.mode, Size: int64(len(i.body)), Linkname: i.target, ModTime: packed,
			Uid: 4711, Gid: 4712, Uname: "packer", Gname: "packers",
		}
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
			if strings.HasSuffix(i.name, "/") {
				h.Typeflag = tar.TypeDir
			}
		}
		require.NoError(t, w.WriteHeader(h))
		_, err := w.Write([]byte(i.body))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

func zipOf(t testing.TB, items ...item) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, i := range items {
		h := &zip.FileHeader{Name: i.name, Method: zip.Deflate, Modified: packed}
		mode := fs.FileMode(i.mode)
		switch i.kind {
		case tar.TypeSymlink:
			mode |= fs.ModeSymlink
			i.body = i.target
		case tar.TypeFifo:
			mode |= fs.ModeNamedPipe
		}
		if mode != 0 {
			h.SetMode(mode)
		}
		f, err := w.CreateHeader(h)
		require.NoError(t, err)
		_, err = f.Write([]byte(i.body))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

func gzipped(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(b)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

func zstandard(t testing.TB, b []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	defer w.Close()
	return w.EncodeAll(b, nil)
}

// xzTar is a tar file of a file a/hello with the text "hello\n", made by xz.
const xzTar = "/Td6WFoAAATm1rRGAgAhARYAAAB0L+Wj4Cf/AH1dADCLvBunjDRE4cIHdekACY2x7Ma/QRrc+x7UQ+nWzNFOQf/jV1sAalnIsfSo5FDNyM1McwOFIK7Hbz0YFT6lTeUAm4QHhD/62scT5ux4grTH0CG2dIQiBBQIAcAKQFp40dfL58aIgsF6MQp1VBfacwuS5qUGEx8LfNKsrH8AAAAAAJoRYIbfF3FOAAGZAYBQAABtIrlFscRn+wIAAAAABFla"

// extract inspects and extracts into a new directory, and returns its contents.
func extract(t *testing.T, a *unpack.Archive, last string) (map[string]string, error) {
	t.Helper()
	dir := t.TempDir()
	err := extractTo(t.Context(), a, dir, last)
	return tree(t, dir), err
}

func extractTo(ctx context.Context, a *unpack.Archive, dir, last string) error {
	entries, _, err := a.Inspect(ctx)
	if err != nil {
		return err
	}
	into, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer into.Close()
	done, err := a.Extract(ctx, into, last, kept)
	if err == nil && done != entries {
		err = fmt.Errorf("%d of %d entries", done, entries)
	}
	return err
}

// kept is a sync that does nothing.
func kept(*os.Root) error { return nil }

// tree describes all contents of a directory.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		switch {
		case info.Mode().Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			found[name] = "-> " + target
			return err
		case info.Mode().IsRegular():
			b, err := os.ReadFile(path)
			found[name] = text + " " + string(b)
			return err
		}
		found[name] = text
		return nil
	}))
	return found
}

func TestExtract(t *testing.T) {
	items := []item{
		{name: "./", mode: 0o700},
		{name: "./app/", mode: 0o555},
		{name: "./app/run", mode: 0o4777, body: "#!/bin/sh\n"},
		{name: "app/lib/deep/conf", mode: 0o640, body: "x"},
		{name: "app//odd", body: "no mode"},
		{name: "app/current", kind: tar.TypeSymlink, target: "lib/deep"},
		{name: "app/lib/up", kind: tar.TypeSymlink, target: "../run"},
		{name: "app/lib/away", kind: tar.TypeSymlink, target: "nothing"},
	}
	want := map[string]string{
		"app":               "drwxr-xr-x",
		"app/run":           "-rwxr-xr-x #!/bin/sh\n",
		"app/lib":           "drwxr-xr-x",
		"app/lib/deep":      "drwxr-xr-x",
		"app/lib/deep/conf": "-rw-r----- x",
		"app/odd":           "-rw-r--r-- no mode",
		"app/current":       "-> lib/deep",
		"app/lib/up":        "-> ../run",
		"app/lib/away":      "-> nothing",
	}
	plain := tarOf(t, items...)
	for f, b := range map[format.Format][]byte{
		format.Tar: plain, format.TarGzip: gzipped(t, plain), format.TarZstd: zstandard(t, plain), format.Zip: zipOf(t, items...),
	} {
		t.Run(string(f), func(t *testing.T) {
			got, err := extract(t, archive(f, b), "")
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}
	t.Run("xz", func(t *testing.T) {
		b, err := base64.StdEncoding.DecodeString(xzTar)
		require.NoError(t, err)
		got, err := extract(t, archive(format.TarXZ, b), "")
		require.NoError(t, err)
		require.Equal(t, map[string]string{"a": "drwxr-xr-x", "a/hello": "-rw-r--r-- hello\n"}, got)
	})
}

func TestTop(t *testing.T) {
	for _, test := range []struct{ names, want []string }{
		{[]string{"./", "./app/", "app/x", "README", "lib/deep/x"}, []string{"README", "app/", "lib/"}},
		{[]string{"f", "e", "d", "c", "b", "a"}, []string{"a", "b", "c", "d", "e", "…"}},
		{nil, nil},
	} {
		var items []item
		for _, name := range test.names {
			items = append(items, item{name: name})
		}
		a := archive(format.Tar, tarOf(t, items...))
		_, _, err := a.Inspect(t.Context())
		require.NoError(t, err)
		require.Equal(t, test.want, a.Top())
	}
}

func TestExtractKeepsTimesAndHardLinks(t *testing.T) {
	b := tarOf(t, item{name: "a", body: "x"}, item{name: "b/c", kind: tar.TypeLink, target: "a"})
	for _, last := range []string{"", "a", "b/c"} {
		dir := t.TempDir()
		for range 2 { // also over existing files
			require.NoError(t, extractTo(t.Context(), archive(format.Tar, b), dir, last))
			require.Equal(t, map[string]string{"a": "-rw-r--r-- x", "b": "drwxr-xr-x", "b/c": "-rw-r--r-- x"}, tree(t, dir))
			one, err := os.Stat(filepath.Join(dir, "a"))
			require.NoError(t, err)
			other, err := os.Stat(filepath.Join(dir, "b/c"))
			require.NoError(t, err)
			require.True(t, os.SameFile(one, other))
			require.True(t, one.ModTime().Equal(packed))
		}
	}
}

// TestExtractReplaces checks that existing files are replaced as a whole, and directories are kept.
func TestExtractReplaces(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "d"), 0o700))
	write("d/old", "kept")
	write("d/f", "old and longer")
	write("outside", "kept")
	require.NoError(t, os.Symlink("outside", filepath.Join(dir, "l")))
	require.NoError(t, os.Link(filepath.Join(dir, "d/f"), filepath.Join(dir, "other")))
	b := tarOf(t, item{name: "d/", mode: 0o755}, item{name: "d/f", body: "new"}, item{name: "l", body: "a file now"})
	require.NoError(t, extractTo(t.Context(), archive(format.Tar, b), dir, ""))
	require.Equal(t, map[string]string{
		"d": "drwx------", "d/old": "-rw------- kept", "d/f": "-rw-r--r-- new",
		"l": "-rw-r--r-- a file now", "outside": "-rw------- kept", "other": "-rw------- old and longer",
	}, tree(t, dir))
}

// hostile are archives that are refused before anything is written.
var hostile = []struct {
	name  string
	items []item
	err   string
}{
	{"absolute", []item{{name: "/etc/x"}}, `"/etc/x" is an absolute path`},
	{"up", []item{{name: "../x"}}, `"../x" leads up by a .. element`},
	{"up in the middle", []item{{name: "a/../../x"}}, `"a/../../x" leads up by a .. element`},
	{"up and down", []item{{name: "a/../x"}}, `"a/../x" leads up by a .. element`},
	{"the directory above", []item{{name: "a"}, {name: ".."}}, `".." leads up by a .. element`},
	{"a link out", []item{{name: "l", kind: tar.TypeSymlink, target: "../x"}}, `"l" links to "../x", which is outside of the tree`},
	{"an absolute link", []item{{name: "l", kind: tar.TypeSymlink, target: "/etc"}}, `"l" links to "/etc", which is outside of the tree`},
	{"a link out behind a link", []item{
		{name: "d/l", kind: tar.TypeSymlink, target: ".."}, {name: "x", kind: tar.TypeSymlink, target: "d/l/../y"},
	}, `"x" links to "d/l/../y": .. is allowed only at the beginning`},
	{"through a link", []item{{name: "l", kind: tar.TypeSymlink, target: "d"}, {name: "l/x"}}, `"l/x" is below "l", which is a symbolic link in the archive`},
	{"below a file", []item{{name: "f"}, {name: "f/x/y"}}, `"f/x/y" is below "f", which is a file in the archive`},
	{"a directory becomes a link", []item{{name: "d/x"}, {name: "d", kind: tar.TypeSymlink, target: "e"}}, `"d" is there twice: as a directory and as a symbolic link`},
	{"a link becomes a file", []item{{name: "l", kind: tar.TypeSymlink, target: "e"}, {name: "l", body: "x"}}, `"l" is there twice: as a symbolic link and as a file`},
	{"a fifo", []item{{name: "p", kind: tar.TypeFifo}}, `"p" is neither a file nor a directory nor a link`},
	{"a long element", []item{{name: strings.Repeat("x", 256)}}, `"` + strings.Repeat("x", 256) + `" has an element of more than 255 bytes`},
	{"deep", []item{{name: strings.Repeat("d/", 64) + "x"}}, `"` + strings.Repeat("d/", 64) + `x" is more than 64 directories deep`},
}

func TestHostile(t *testing.T) {
	for _, tt := range hostile {
		t.Run(tt.name, func(t *testing.T) {
			got, err := extract(t, archive(format.Tar, tarOf(t, tt.items...)), "")
			require.EqualError(t, err, tt.err)
			require.Empty(t, got)
		})
		t.Run(tt.name+" in zip", func(t *testing.T) {
			got, err := extract(t, archive(format.Zip, zipOf(t, tt.items...)), "")
			require.EqualError(t, err, tt.err)
			require.Empty(t, got)
		})
	}
}

func TestHostileTar(t *testing.T) {
	for _, tt := range []struct {
		name  string
		items []item
		err   string
	}{
		{"a device", []item{{name: "sda", kind: tar.TypeBlock}}, `"sda" is neither a file nor a directory nor a link`},
		{"a character device", []item{{name: "null", kind: tar.TypeChar}}, `"null" is neither a file nor a directory nor a link`},
		{"a hard link out", []item{{name: "h", kind: tar.TypeLink, target: "../etc/shadow"}}, `"h" is a hard link: "../etc/shadow" leads up by a .. element`},
		{"an absolute hard link", []item{{name: "h", kind: tar.TypeLink, target: "/etc/shadow"}}, `"h" is a hard link: "/etc/shadow" is an absolute path`},
		{"a hard link to what is on the host", []item{{name: "h", kind: tar.TypeLink, target: "secret"}}, `the archive contains the hard link "h" to "secret", but no earlier file with this name`},
		{"a hard link to a link", []item{{name: "l", kind: tar.TypeSymlink, target: "x"}, {name: "h", kind: tar.TypeLink, target: "l"}}, `the archive contains the hard link "h" to "l", but no earlier file with this name`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := extract(t, archive(format.Tar, tarOf(t, tt.items...)), "")
			require.EqualError(t, err, tt.err)
			require.Empty(t, got)
		})
	}
}

func TestHostileZip(t *testing.T) {
	for _, tt := range []struct {
		name  string
		items []item
		err   string
	}{
		{"backslashes", []item{{name: `..\x`}}, `"..\\x" has a backslash in its name`},
		{"a NUL byte in a link", []item{{name: "l", kind: tar.TypeSymlink, target: "a\x00b"}}, `"l" links to a path with a NUL byte`},
		{"a long link", []item{{name: "l", kind: tar.TypeSymlink, target: strings.Repeat("x/", 3000)}}, `"l" is a link to a path of more than 4096 bytes`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := extract(t, archive(format.Zip, zipOf(t, tt.items...)), "")
			require.EqualError(t, err, tt.err)
			require.Empty(t, got)
		})
	}
}

// TestBombs uses archives whose contents are larger than allowed.
func TestBombs(t *testing.T) {
	zeros := strings.Repeat("\x00", 3<<20)
	bomb := tarOf(t, item{name: "a", body: zeros}, item{name: "b", body: zeros})
	for f, b := range map[format.Format][]byte{
		format.Tar: bomb, format.TarGzip: gzipped(t, bomb), format.TarZstd: zstandard(t, bomb),
		format.Zip: zipOf(t, item{name: "a", body: zeros}, item{name: "b", body: zeros}),
	} {
		t.Run(string(f), func(t *testing.T) {
			a := archive(f, b)
			a.MaxSize = 5 << 20
			got, err := extract(t, a, "")
			require.EqualError(t, err, "more than 5 MiB come out of it")
			require.Empty(t, got)
			a.MaxSize = 8 << 20
			_, err = extract(t, a, "")
			require.NoError(t, err)
		})
	}
	t.Run("ratio", func(t *testing.T) {
		a := archive(format.TarGzip, gzipped(t, tarOf(t, item{name: "a", body: strings.Repeat("\x00", 70<<20)})))
		a.MaxRatio = 250
		got, err := extract(t, a, "")
		require.EqualError(t, err, "more than 250 times its own size comes out of it")
		require.Empty(t, got)
		a.MaxRatio = 0
		_, _, err = a.Inspect(t.Context())
		require.NoError(t, err)
	})
	t.Run("a file with holes", func(t *testing.T) {
		got, err := extract(t, archive(format.Tar, sparse(t)), "")
		require.EqualError(t, err, "more than 100 MiB come out of it")
		require.Empty(t, got)
	})
}

// sparse is a tar file of one file that is a hole of 1 TiB, in the old format of
// GNU tar, which no writer of the standard library has.
func sparse(t *testing.T) []byte {
	b := tarOf(t, item{name: "a"})
	field := func(at int, text string) { copy(b[at:], text) }
	field(156, "S")                                                // type
	field(257, "ustar  \x00")                                      // magic and version
	field(386, "00000000000\x00")                                  // start of the only part with data, in octal
	field(386+12, "00000000000\x00")                               // number of its bytes, in octal
	field(483, "\x80\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00") // size with the hole, in binary
	field(148, "        ")                                         // the checksum counts as blanks
	sum := 0
	for _, c := range b[:512] {
		sum += int(c)
	}
	field(148, fmt.Sprintf("%06o\x00 ", sum))
	return b
}

func TestDamaged(t *testing.T) {
	whole := tarOf(t, item{name: "a", body: strings.Repeat("some text ", 1000)})
	for _, tt := range []struct {
		name string
		of   format.Format
		b    []byte
		err  string
	}{
		{"an empty tar.gz", format.TarGzip, nil, "it is cut off or damaged: EOF"},
		{"no gzip", format.TarGzip, whole, "gzip: invalid header"},
		{"a cut tar", format.Tar, whole[:1500], "it is cut off or damaged: \"a\": unexpected EOF"},
		{"a cut tar.gz", format.TarGzip, gzipped(t, whole)[:100], "it is cut off or damaged: unexpected EOF"},
		{"a tar.gz whose checksum is cut off", format.TarGzip, gzipped(t, whole)[:len(gzipped(t, whole))-5], "it is cut off or damaged: unexpected EOF"},
		{"no tar", format.Tar, []byte(strings.Repeat("no tar at all\n", 100)), "archive/tar: invalid tar header"},
		{"no zip", format.Zip, whole, "zip: not a valid zip file"},
		{"no zstd", format.TarZstd, whole, "invalid input: magic number mismatch"},
		{"no xz", format.TarXZ, whole, "xz: file format not recognized"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := extract(t, archive(tt.of, tt.b), "")
			require.EqualError(t, err, tt.err)
			require.Empty(t, got)
		})
	}
	t.Run("a zip with a wrong checksum", func(t *testing.T) {
		b := zipOf(t, item{name: "a", body: "text"})
		i := bytes.Index(b, []byte("PK\x01\x02"))
		b[i+16]++ // its CRC-32
		got, err := extract(t, archive(format.Zip, b), "")
		require.EqualError(t, err, `"a": zip: checksum error`)
		require.Empty(t, got)
	})
	t.Run("a format that the program does not read", func(t *testing.T) {
		_, _, err := archive("tar.lz", whole).Inspect(t.Context())
		require.EqualError(t, err, "this program does not read tar.lz")
	})
}

// TestExtractStaysInItsDirectory uses links on the host that lead out of the directory.
func TestExtractStaysInItsDirectory(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "out")))
	err := extractTo(t.Context(), archive(format.Tar, tarOf(t, item{name: "a", body: "x"}, item{name: "out/x", body: "x"})), dir, "")
	require.EqualError(t, err, `putting "out/x" in place: path escapes from parent`)
	require.Empty(t, tree(t, outside))
	require.Equal(t, map[string]string{"a": "-rw-r--r-- x", "out": "-> " + outside}, tree(t, dir))
	// A file may take the place of the link itself.
	require.NoError(t, extractTo(t.Context(), archive(format.Tar, tarOf(t, item{name: "out", body: "x"})), dir, ""))
	require.Equal(t, "-rw-r--r-- x", tree(t, dir)["out"])
}

// TestDirectoriesKeepTheirGroup unpacks into a setgid directory, whose group new entries get.
func TestDirectoriesKeepTheirGroup(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o755|fs.ModeSetgid))
	require.NoError(t, extractTo(t.Context(), archive(format.Tar, tarOf(t, item{name: "d/", mode: 0o750}, item{name: "d/e/f"})), dir, ""))
	for name, mode := range map[string]fs.FileMode{"d": 0o750, "d/e": 0o755} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, fs.ModeDir|fs.ModeSetgid|mode, info.Mode(), name)
	}
}

// TestLastIsPlacedLast interrupts an extraction: the last file, which marks a complete extraction, must be missing.
func TestLastIsPlacedLast(t *testing.T) {
	b := tarOf(t, item{name: "first", body: "x"}, item{name: "marker", body: "x"}, item{name: "d", body: "x"})
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "d"), 0o700)) // in the way of the third
	require.EqualError(t, extractTo(t.Context(), archive(format.Tar, b), dir, "marker"), `putting "d" in place: file exists`)
	require.Equal(t, map[string]string{"first": "-rw-r--r-- x", "d": "drwx------"}, tree(t, dir))
	require.NoError(t, os.Remove(filepath.Join(dir, "d")))
	require.NoError(t, extractTo(t.Context(), archive(format.Tar, b), dir, "marker"))
	require.Equal(t, map[string]string{"first": "-rw-r--r-- x", "marker": "-rw-r--r-- x", "d": "-rw-r--r-- x"}, tree(t, dir))
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := archive(format.Tar, tarOf(t, item{name: "a", body: "x"}))
	_, _, err := a.Inspect(ctx)
	require.ErrorIs(t, err, context.Canceled)
	into, err := os.OpenRoot(t.TempDir())
	require.NoError(t, err)
	defer into.Close()
	_, err = a.Extract(ctx, into, "", kept)
	require.ErrorIs(t, err, context.Canceled)
}

// FuzzUnpack checks that any archive stays in its directory.
func FuzzUnpack(f *testing.F) {
	formats := []format.Format{format.Tar, format.TarGzip, format.TarXZ, format.TarZstd, format.Zip}
	for _, tt := range hostile {
		f.Add(0, tarOf(f, tt.items...))
		f.Add(4, zipOf(f, tt.items...))
	}
	good := tarOf(f, item{name: "d/", mode: 0o755}, item{name: "d/f", body: "x"}, item{name: "d/l", kind: tar.TypeSymlink, target: "f"}, item{name: "h", kind: tar.TypeLink, target: "d/f"})
	f.Add(0, good)
	f.Add(1, gzipped(f, good))
	f.Add(3, zstandard(f, good))
	xz, err := base64.StdEncoding.DecodeString(xzTar)
	require.NoError(f, err)
	f.Add(2, xz)
	f.Fuzz(func(t *testing.T, which int, b []byte) {
		a := archive(formats[uint(which)%uint(len(formats))], b)
		a.MaxSize = 1 << 20
		around := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(around, "secret"), []byte("secret"), 0o600))
		dir := filepath.Join(around, "into")
		require.NoError(t, os.Mkdir(dir, 0o700))
		err := extractTo(t.Context(), a, dir, "d/f")
		size := int64(0)
		require.NoError(t, filepath.WalkDir(around, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			if path != filepath.Join(around, "secret") && path != around && !strings.HasPrefix(path, dir) {
				return errors.New("outside: " + path)
			}
			require.Zero(t, info.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky))
			require.NotContains(t, d.Name(), ".ccm-", "a temporary file is left")
			if info.Mode().IsRegular() {
				size += info.Size()
			}
			return nil
		}))
		require.LessOrEqual(t, size, int64(4<<20))
		if err == nil {
			secret, err := os.ReadFile(filepath.Join(around, "secret"))
			require.NoError(t, err)
			require.Equal(t, "secret", string(secret))
		}
	})
}
