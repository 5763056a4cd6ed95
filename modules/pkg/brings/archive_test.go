package brings_test

import (
	"archive/tar"
	"bytes"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/pkg/brings"
)

func TestTar(t *testing.T) {
	long := "./etc/" + strings.Repeat("long/", 40) + "name"
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range []tar.Header{
		{Name: "./etc/", Mode: 0o755, Typeflag: tar.TypeDir},
		{Name: long, Mode: 0o4755, Uid: 7, Gid: 8, Uname: "u", Gname: "g", Size: 3, Typeflag: tar.TypeReg},
		{Name: "./usr/link", Linkname: "../etc", Mode: 0o777, Typeflag: tar.TypeSymlink},
		{Name: "./usr/hard", Linkname: long, Typeflag: tar.TypeLink},
	} {
		h.Format = tar.FormatGNU
		require.NoError(t, w.WriteHeader(&h))
		if h.Size > 0 {
			_, err := w.Write([]byte("abc"))
			require.NoError(t, err)
		}
	}
	require.NoError(t, w.Close())
	entries, whole, err := brings.ReadTar(b.Bytes())
	require.NoError(t, err)
	require.True(t, whole)
	require.Equal(t, []brings.Entry{
		{Path: "/etc", Kind: modules.Directory, Mode: 0o755},
		{Path: long[1:], Kind: modules.Regular, Mode: 0o755 | fs.ModeSetuid, UID: 7, GID: 8, User: "u", Group: "g", Data: []byte("abc")},
		{Path: "/usr/link", Kind: modules.Symlink, Mode: 0o777, Target: "../etc"},
		{Path: "/usr/hard", Kind: modules.Regular, Hard: true, Target: long[1:]},
	}, entries)

	for n := range b.Len() { // cut off anywhere
		some, whole, err := brings.ReadTar(b.Bytes()[:n])
		require.NoError(t, err)
		require.LessOrEqual(t, len(some), len(entries))
		require.Equal(t, entries[:len(some)], append([]brings.Entry{}, some...))
		if whole {
			require.Len(t, some, len(entries))
		}
	}
	_, _, err = brings.ReadTar(bytes.Repeat([]byte("x"), 1024))
	require.Error(t, err)
}

func TestControlEnd(t *testing.T) {
	const first = "!<arch>\ndebian-binary   0           0     0     100644  4         `\n2.0\n"
	control := func(size string) string {
		return "control.tar.xz  0           0     0     100644  " + (size + "          ")[:10] + "`\n"
	}
	for text, want := range map[string]int64{
		first + control("6012"):   72 + 60 + 6012,
		first:                     0,
		first[:30]:                0,
		first + control("")[:20]:  0,
		first + control("-1"):     -1,
		first + control("many"):   -1,
		"not an archive":          -1,
		strings.Repeat(first, 20): -1,
	} {
		got, err := brings.ControlEnd([]byte(text))
		if want < 0 {
			require.Error(t, err, text)
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
}

func TestControl(t *testing.T) {
	c, err := brings.ParseControl(tarOf(t, map[string]string{
		"./control":   "Package: demo\n",
		"./conffiles": "/etc/demo.conf\nremove-on-upgrade /etc/old.conf\n",
		"./md5sums":   "d41d8cd98f00b204e9800998ecf8427e  usr/bin/demo\nd41d8cd98f00b204e9800998ecf8427e  etc/demo.conf\n",
		"./postinst":  "#!/bin/sh\n",
		"./prerm":     "#!/bin/sh\n",
		"./triggers":  "activate-noawait ldconfig\ninterest /usr/share/demo\n",
	}))
	require.NoError(t, err)
	require.Equal(t, brings.Control{Files: []string{"/usr/bin/demo"}, Conffiles: []string{"/etc/demo.conf"}, Scripts: []string{"#!/bin/sh\n"}, Triggers: []string{"ldconfig"}}, c)
	_, err = brings.ParseControl(tarOf(t, map[string]string{"./md5sums": "x"}))
	require.Error(t, err)
}

func FuzzReadTar(f *testing.F) {
	f.Add(tarOf(f, map[string]string{"./etc/a": "text", "./b": ""}))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, _, _ := brings.ReadTar(data)
		for _, e := range entries {
			require.LessOrEqual(t, len(e.Data), len(data))
			require.True(t, strings.HasPrefix(e.Path, "/"))
		}
	})
}

func FuzzControlEnd(f *testing.F) {
	f.Add([]byte("!<arch>\ndebian-binary   0           0     0     100644  4         `\n2.0\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if end, err := brings.ControlEnd(data); err == nil {
			require.GreaterOrEqual(t, end, int64(0))
		}
	})
}

func FuzzParseControl(f *testing.F) {
	f.Add(tarOf(f, map[string]string{"./control": "Package: demo\n", "./md5sums": "d41d8cd98f00b204e9800998ecf8427e  usr/bin/demo\n", "./conffiles": "/etc/a\n"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := brings.ParseControl(data)
		if err != nil {
			return
		}
		for _, name := range append(c.Files, c.Conffiles...) {
			require.True(t, strings.HasPrefix(name, "/"))
		}
	})
}
