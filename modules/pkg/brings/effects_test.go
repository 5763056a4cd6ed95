package brings_test

import (
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/accounts"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/pkg/brings"
)

// chroot shows the files of a folder as the files of a host.
type chroot struct {
	modules.FileReader
	root string
}

func (c chroot) Open(name string) (io.ReadCloser, error) {
	return c.FileReader.Open(path.Join(c.root, name))
}

func (c chroot) Stat(name string) (modules.FileInfo, error) {
	return c.FileReader.Stat(path.Join(c.root, name))
}
func (c chroot) List(name string) ([]string, error) {
	return c.FileReader.List(path.Join(c.root, name))
}

// host is a host with some files, and nothing else.
func host(t testing.TB, files map[string]string) modules.Host {
	t.Helper()
	h := modtest.Host()
	root := t.TempDir()
	for name, text := range files {
		at := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
		switch target, link := strings.CutPrefix(text, "->"); {
		case link:
			require.NoError(t, os.Symlink(target, at))
		case strings.HasSuffix(name, "/"):
			require.NoError(t, os.MkdirAll(at, 0o755))
		default:
			require.NoError(t, os.WriteFile(at, []byte(text), 0o644))
		}
	}
	h.Files.FileReader = chroot{h.Files.FileReader, root}
	return h
}

const unit = "[Unit]\nDescription=demo\n[Service]\nExecStart=/usr/sbin/demod\nExecReload=/bin/kill -HUP $MAINPID\n[Install]\nWantedBy=multi-user.target\nAlias=demon.service\n"

// lines describes the effects, one a line.
func lines(effects []modules.Effect) (all []string) {
	for _, e := range effects {
		line := string(e.Kind) + " " + e.Key
		switch s := e.State.(type) {
		case modules.PathState:
			line += fmt.Sprintf(" %s %o", s.Kind, s.Mode)
			if text, ok := s.Content.Bytes(); ok {
				line += fmt.Sprintf(" %q", text)
			}
			if s.Partial {
				line += " partial"
			}
		case modules.AccountState:
			line += fmt.Sprint(" ", s.Exists)
		}
		switch {
		case e.Likely, e.Kind == modules.ElsewhereEffect:
		case e.Kind == modules.DiffersEffect:
			line += " with new files"
		default:
			line += " CERTAIN"
		}
		all = append(all, line)
	}
	return all
}

func TestEffects(t *testing.T) {
	files := []brings.File{
		build(t, "demo", map[string]string{
			"DEBIAN/conffiles":                "/etc/demo/demo.conf\n/etc/demo/named.conf\n/etc/demo/there.conf\n",
			"DEBIAN/md5sums":                  strings.Repeat("0", 32) + "  lib/systemd/system/demo.service\n" + strings.Repeat("0", 32) + "  usr/sbin/demod\n",
			"DEBIAN/postinst":                 "#!/bin/sh\nset -e\nadduser --system --group --home /var/lib/demo demo-t\nsed -i s/a/b/ /etc/demo/named.conf\nchmod 750 /var/lib/demo\n" + "deb-systemd-helper enable 'demo.service'\ndeb-systemd-invoke $_dh_action 'demo.service'\n",
			"etc/demo/demo.conf":              "x = 1\n",
			"etc/demo/named.conf":             "a\n",
			"etc/demo/there.conf":             "mine\n",
			"etc/demo/conf.d/.":               "",
			"lib/systemd/system/demo.service": unit,
			"usr/sbin/demod":                  "#!/bin/sh\n",
			"usr/share/bug/demo-bugs/.":       "",
			"var/lib/demo/.":                  "",
		}),
		build(t, "libdemo", map[string]string{
			"DEBIAN/md5sums":       strings.Repeat("0", 32) + "  usr/lib/libdemo.so.1\n",
			"DEBIAN/triggers":      "activate-noawait ldconfig\n",
			"usr/lib/libdemo.so.1": "x",
		}),
	}
	h := host(t, map[string]string{
		"etc/demo/there.conf": "kept\n", "run/systemd/system/": "", "lib": "->usr/lib", "usr/lib/x": "", "usr/sbin/x": "", "var/lib/x": "",
		"etc/passwd": "root:x:0:0::/root:/bin/sh\n", "etc/group": "root:x:0:\n",
		"var/lib/dpkg/triggers/File": "/usr/lib libc-bin/noawait\n/usr/sbin other\n", "var/lib/dpkg/triggers/ldconfig": "libc-bin/noawait\n",
		"var/lib/dpkg/info/other.postinst": "#!/bin/sh\ntouch /etc/other.cache\n",
	})
	f := fetcher(t)
	packages := packagesOf(files)
	require.NoError(t, f.Look(t.Context(), look, packages))
	effects, err := brings.Effects(h, packages, nil)
	require.NoError(t, err)
	got := lines(effects)
	for _, want := range []string{
		`path /etc/demo/demo.conf file 644 "x = 1\n"`,
		`path /etc/demo/conf.d directory 755`,
		`differs /etc/demo/named.conf`,
		`differs /etc/demo/there.conf.dpkg-dist`,
		`path /usr/lib/systemd/system/demo.service file 644 ` + fmt.Sprintf("%q", unit),
		`path /usr/sbin/demod file 644`,
		`differs /usr/share/bug/demo-bugs with new files`,
		`path /var/lib/demo directory 755 partial`,
		`user demo-t true`,
		`group demo-t true`,
		`unit demo.service`,
		`unit demon.service`,
		`path /etc/systemd/system/demon.service symlink 777`,
		`path /etc/systemd/system/multi-user.target.wants directory 755`,
		`path /etc/systemd/system/multi-user.target.wants/demo.service symlink 777`,
		`differs /etc/ld.so.cache with new files`,
		`differs /var/log/demo with new files`,
		`differs /etc/other.cache`,
		`elsewhere `,
	} {
		require.Contains(t, got, want)
	}
	for _, line := range got {
		require.NotContains(t, line, "CERTAIN")
		require.False(t, strings.HasPrefix(line, "path /etc/demo/there.conf"), line)
		require.False(t, strings.HasPrefix(line, "path /etc/demo/named.conf"), line)
		require.False(t, strings.HasPrefix(line, "path /etc/demo "), "the folder is there: %s", line)
	}

	t.Run("a service that may not start", func(t *testing.T) {
		h := host(t, map[string]string{"run/systemd/system/": "", "usr/sbin/policy-rc.d": "", "etc/passwd": "", "etc/group": ""})
		effects, err := brings.Effects(h, packages, nil)
		require.NoError(t, err)
		require.False(t, slices.ContainsFunc(effects, func(e modules.Effect) bool { return e.Kind == "unit" }))
		require.Contains(t, lines(effects), "differs /lib/systemd/system/demo.service")
	})
	t.Run("a service that needs a file", func(t *testing.T) {
		h := host(t, map[string]string{"run/systemd/system/": "", "etc/passwd": "", "etc/group": ""})
		for script, started := range map[string]bool{
			"cd /etc/needy; cp $template needy.conf\n": true,
			"cp $template /etc/needy/needy.conf\n":     true,
			"cd /etc/needy; cp $template other.conf\n": false,
			"echo edit needy.conf\n":                   false,
		} {
			packages := packagesOf([]brings.File{build(t, "needy", map[string]string{
				"DEBIAN/md5sums":                   strings.Repeat("0", 32) + "  lib/systemd/system/needy.service\n",
				"DEBIAN/postinst":                  "#!/bin/sh\n" + script + "deb-systemd-helper enable needy.service\ndeb-systemd-invoke $_dh_action needy.service\n",
				"lib/systemd/system/needy.service": "[Unit]\nConditionPathExists=/etc/needy/needy.conf\n" + unit,
			})})
			require.NoError(t, f.Look(t.Context(), look, packages))
			effects, err := brings.Effects(h, packages, nil)
			require.NoError(t, err)
			require.Equal(t, started, slices.Contains(lines(effects), "unit needy.service"), script)
		}
	})
	t.Run("files that dpkg omits", func(t *testing.T) {
		_, err := brings.Effects(host(t, map[string]string{"etc/dpkg/dpkg.cfg.d/slim": "path-exclude=/etc/demo/*\n"}), packages, nil)
		require.Error(t, err)
		_, err = brings.Effects(host(t, map[string]string{"etc/dpkg/dpkg.cfg.d/slim": "path-exclude /usr/share/doc/*\npath-exclude=/usr/share/man/*\n", "etc/passwd": "", "etc/group": ""}), packages, nil)
		require.NoError(t, err)
	})
	t.Run("other changes of users", func(t *testing.T) {
		packages := packagesOf([]brings.File{build(t, "groups", map[string]string{"DEBIAN/postinst": "#!/bin/sh\nusermod -aG adm games\n"})})
		require.NoError(t, f.Look(t.Context(), look, packages))
		effects, err := brings.Effects(h, packages, nil)
		require.NoError(t, err)
		require.Contains(t, effects, modules.Effect{Kind: modules.DiffersEffect, Key: "/etc/passwd", State: modules.UserEffect, Likely: true})
	})
	t.Run("systemctl makes its units unknown", func(t *testing.T) {
		packages := packagesOf([]brings.File{build(t, "caller", map[string]string{
			"DEBIAN/md5sums":                  strings.Repeat("0", 32) + "  lib/systemd/system/own.service\n" + strings.Repeat("0", 32) + "  lib/systemd/system/idle.service\n",
			"DEBIAN/postinst":                 "#!/bin/sh\nsystemctl enable other.service\nsystemctl preset own.service\n",
			"lib/systemd/system/own.service":  unit + "Also=fourth.timer\n",
			"lib/systemd/system/idle.service": unit,
		})})
		require.NoError(t, f.Look(t.Context(), look, packages))
		h := host(t, map[string]string{
			"run/systemd/system/": "", "lib": "->usr/lib", "usr/lib/systemd/system/other.service": "[Install]\nWantedBy=net.target\nAlso=third.socket\n",
			"etc/systemd/system/net.target.wants/": "", "usr/lib/x": "",
		})
		effects, err := brings.Effects(h, packages, nil)
		require.NoError(t, err)
		got := lines(effects)
		for _, id := range []string{"other.service", "third.socket", "own.service", "fourth.timer"} {
			require.Contains(t, got, "differs /usr/lib/systemd/system/"+id)
			require.Contains(t, got, "differs /etc/systemd/system/net.target.wants/"+id)
			require.Contains(t, got, "differs /etc/systemd/system/multi-user.target.wants/"+id)
			require.NotContains(t, got, "unit "+id)
		}
		require.Contains(t, got, "differs /etc/systemd/system/demon.service", "own.service has this alias")
		require.Contains(t, got, "unit idle.service")
		require.NotContains(t, got, "differs /etc/caller")

		packages = packagesOf([]brings.File{build(t, "caller", map[string]string{"DEBIAN/postinst": "#!/bin/sh\nsystemctl enable $(names)\n"})})
		require.NoError(t, f.Look(t.Context(), look, packages))
		effects, err = brings.Effects(h, packages, nil)
		require.NoError(t, err)
		require.Contains(t, lines(effects), "differs /usr/lib/systemd/system with new files")
	})
	t.Run("homes and shells of new users", func(t *testing.T) {
		packages := packagesOf([]brings.File{build(t, "users", map[string]string{
			"DEBIAN/postinst":               "#!/bin/sh\nadduser --system a\nuseradd -r b\nuseradd -d /srv/c -s /bin/c -c 'Its name' c\nsystemd-sysusers\n",
			"DEBIAN/md5sums":                strings.Repeat("0", 32) + "  usr/lib/sysusers.d/users.conf\n",
			"usr/lib/sysusers.d/users.conf": "u d - \"Its name\"\nu e - - /srv/e /bin/e\n",
		})})
		require.NoError(t, f.Look(t.Context(), look, packages))
		files := map[string]string{"etc/passwd": "", "etc/group": "", "etc/default/useradd": "HOME=/base\nSHELL=/bin/own\n"}
		effects, err := brings.Effects(host(t, files), packages, nil)
		require.NoError(t, err)
		got := map[string]string{}
		for _, e := range effects {
			if is, ok := e.State.(accounts.PredictedUser); ok {
				got[is.Name] = is.Home + " " + is.Shell
			}
		}
		require.Equal(t, map[string]string{
			"a": "/nonexistent /usr/sbin/nologin", "b": "/base/b /bin/own", "c": "/srv/c /bin/c", "d": "/ /usr/sbin/nologin", "e": "/srv/e /bin/e",
		}, got)
		require.NotContains(t, effects, modules.Effect{Kind: modules.DiffersEffect, Key: "/etc/passwd", State: modules.UserEffect, Likely: true})
		for name, unknown := range map[string]bool{"a": false, "b": false, "c": true, "d": true, "e": false} {
			comment := accounts.CommentEffect(name)
			require.Equal(t, unknown, slices.ContainsFunc(effects, func(e modules.Effect) bool { return e.Kind == comment.Kind && e.Key == comment.Key }), name)
		}
	})
	t.Run("scripts that may change anything", func(t *testing.T) {
		packages := packagesOf([]brings.File{build(t, "wild", map[string]string{"DEBIAN/postinst": "#!/bin/sh\nrm -rf \"/etc/$(hostname)\"\n"})})
		require.NoError(t, f.Look(t.Context(), look, packages))
		_, err := brings.Effects(h, packages, nil)
		require.Error(t, err)
	})
}

func TestTooMuch(t *testing.T) {
	file := build(t, "many", map[string]string{"DEBIAN/md5sums": strings.Repeat(strings.Repeat("0", 32)+"  usr/share/many/file\n", 70_000)})
	packages := packagesOf([]brings.File{file})
	require.NoError(t, fetcher(t).Look(t.Context(), look, packages))
	_, err := brings.Effects(host(t, nil), packages, nil)
	require.ErrorContains(t, err, "too many files")

	packages = packagesOf(slices.Repeat([]brings.File{file}, 201))
	require.ErrorContains(t, fetcher(t).Look(t.Context(), look, packages), "may fetch")

	large := build(t, "large", map[string]string{"DEBIAN/templates": noise(600 << 10), "usr/share/a": noise(1 << 20)})
	s := serve(t, []brings.File{large}, nil)
	large.URI = s.URL + "/" + large.Name
	require.ErrorContains(t, fetcher(t).Look(t.Context(), look, packagesOf([]brings.File{large})), "may fetch")
	require.LessOrEqual(t, s.bytes.Load(), int64(16<<10))

	bomb := build(t, "bomb", map[string]string{"DEBIAN/templates": strings.Repeat("x", 16<<20)})
	require.ErrorContains(t, fetcher(t).Look(t.Context(), look, packagesOf([]brings.File{bomb})), "may fetch")
}
