package builtin_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// below are the files of a host, stored below a directory of this one.
type below struct {
	modules.FileReader
	root string
}

func (b below) Stat(path string) (modules.FileInfo, error) { return b.FileReader.Stat(b.root + path) }
func (b below) Open(path string) (io.ReadCloser, error)    { return b.FileReader.Open(b.root + path) }
func (b below) List(path string) ([]string, error)         { return b.FileReader.List(b.root + path) }

// known are the accounts that a host has, wherever from.
type known struct{ modules.Accounts }

func (known) UserID(_ context.Context, name string) (int, error) {
	switch name {
	case "ann":
		return 1001, nil
	case "remote":
		return 5000, nil
	}
	return 0, modules.ErrNoAccount
}
func (known) GroupID(ctx context.Context, name string) (int, error) { return known{}.UserID(ctx, name) }
func (known) UserName(_ context.Context, uid int) string {
	return map[int]string{0: "root", 1001: "ann"}[uid]
}

// TestWatch lists the watched sources of each type, on a host with these files.
func TestWatch(t *testing.T) {
	const (
		passwd  = "ann:x:1001:1001::/home/ann:/bin/sh\n"
		systemd = "run/systemd/system/"
		dpkg    = "/var/lib/dpkg/status /var/lib/dpkg/arch PATH/apt-get"
		cronOf  = "PATH/crontab /etc/passwd /etc/cron.allow /etc/cron.deny /var/spool/cron/ann /var/spool/cron/tabs/ann /var/spool/cron/crontabs/ann"
		nginx   = "/run/systemd/system " +
			"/etc/systemd/system/nginx.service /run/systemd/system/nginx.service /usr/local/lib/systemd/system/nginx.service " +
			"/usr/lib/systemd/system/nginx.service /lib/systemd/system/nginx.service /etc/init.d/nginx /etc/containers/systemd/nginx.container"
		dropIns = "/etc/systemd/system/nginx.service.d /run/systemd/system/nginx.service.d /usr/local/lib/systemd/system/nginx.service.d " +
			"/usr/lib/systemd/system/nginx.service.d /lib/systemd/system/nginx.service.d"
	)
	for _, tc := range []struct {
		name, kind, properties string
		files                  string // files by path; a path that ends with / is a directory
		want                   modules.Sources
	}{
		{"a file", "file", `{"name":"/a/f","mode":"0644"}`, "", modules.Sources{Paths: words("/a/f")}},
		{"with an owner", "file", `{"name":"/a/f","owner":"ann","group":"0"}`, "", modules.Sources{Paths: words("/a/f /etc/passwd /etc/group")}},
		{"a directory", "file", `{"name":"/a","ensure":"directory"}`, "a/", modules.Sources{Paths: words("/a")}},
		{"a directory with all that is in it", "file", `{"name":"/a","ensure":"directory","recurse":true,"mode":"u=rwX"}`, "a/", modules.Sources{Paths: words("/a"), Trees: words("/a")}},
		{"a directory that is to go", "file", `{"name":"/a","ensure":"absent"}`, "a/", modules.Sources{Paths: words("/a"), Trees: words("/a")}},
		{"what has gone", "file", `{"name":"/a","ensure":"absent"}`, "", modules.Sources{Paths: words("/a")}},

		{"a link", "link", `{"name":"/a/l","target":"t"}`, "", modules.Sources{Paths: words("/a/l /a/t")}},
		{"a directory in its way", "link", `{"name":"/a/l","target":"/t","force":true}`, "a/l/", modules.Sources{Paths: words("/a/l /t"), Trees: words("/a/l")}},

		{"a line", "line", `{"name":"x","path":"/a/f","line":"x"}`, "", modules.Sources{Paths: words("/a/f")}},
		{"a file for a line", "line", `{"name":"/a/f","line":"x","create":true,"group":"ann"}`, "", modules.Sources{Paths: words("/a/f /etc/group")}},

		{"an archive", "archive", `{"name":"/a/x.tgz","url":"https://h/x.tgz","extract_parent":"/b","creates":"/b/x","owner":"ann"}`, "",
			modules.Sources{Paths: words("/a/x.tgz /b/x /b /etc/passwd")}},
		{"an archive that is to go", "archive", `{"name":"/a/x.tgz","ensure":"absent"}`, "", modules.Sources{Paths: words("/a/x.tgz")}},

		{"a scaffold", "scaffold", `{"name":"/a","tree":{"nodes":[{"path":"d","mode":493},{"path":"d/f","content":"x"}],"mode":493}}`, "a/",
			modules.Sources{Paths: words("/a /a/d /a/d/f")}},
		{"a scaffold that purges", "scaffold", `{"name":"/a","purge":true,"tree":{"nodes":[{"path":"f","content":"x"}],"mode":493}}`, "a/",
			modules.Sources{Paths: words("/a /a/f"), Trees: words("/a"), Mounts: true}},

		{"a crontab", "cron", `{"name":"x","command":"true","user":"ann"}`, "", modules.Sources{Paths: words(cronOf)}},
		{"a crontab of nobody", "cron", `{"name":"x","command":"true","user":"bob"}`, "", modules.Sources{Paths: words("PATH/crontab /etc/passwd")}},

		{"a user", "user", `{"name":"ann","shell":"/bin/sh"}`, "etc/passwd", modules.Sources{Paths: words("/etc/passwd /etc/group")}},
		{"with a password", "user", `{"name":"ann","password_hash":"*"}`, "etc/passwd", modules.Sources{Paths: words("/etc/passwd /etc/group /etc/shadow")}},
		{"with a home", "user", `{"name":"ann","create_home":true}`, "etc/passwd", modules.Sources{Paths: words("/etc/passwd /etc/group /home/ann")}},
		{"with another home, and keys", "user", `{"name":"ann","home":"/h","ssh_keys":[]}`, "etc/passwd",
			modules.Sources{Paths: words("/etc/passwd /etc/group /h/.ssh/authorized_keys")}},
		{"from elsewhere", "user", `{"name":"remote"}`, "etc/passwd", modules.Sources{Paths: words("/etc/passwd /etc/group"), Polled: "it is in a name service of the host"}},
		{"no user", "user", `{"name":"bob","ensure":"absent"}`, "etc/passwd", modules.Sources{Paths: words("/etc/passwd /etc/group")}},
		{"a group", "group", `{"name":"staff","ensure":"absent"}`, "", modules.Sources{Paths: words("/etc/group /etc/passwd")}},
		{"a group from elsewhere", "group", `{"name":"remote"}`, "", modules.Sources{Paths: words("/etc/group /etc/passwd"), Polled: "it is in a name service of the host"}},

		{"dpkg", "package", `{"name":"nginx"}`, "usr/bin/apt-get usr/bin/dpkg-query", modules.Sources{Paths: words(dpkg), Trees: words("/var/lib/dpkg/updates /var/lib/dpkg/triggers")}},
		{"rpm", "package", `{"name":"nginx"}`, "usr/bin/dnf usr/bin/rpm",
			modules.Sources{Paths: words("/var/lib/rpm/rpmdb.sqlite /var/lib/rpm/Packages.db /var/lib/rpm/Packages PATH/dnf")}},
		{"apk", "package", `{"name":"nginx"}`, "sbin/apk", modules.Sources{Paths: words("/etc/apk/world /lib/apk/db/installed /usr/lib/apk/db/installed PATH/apk")}},
		{"pacman", "package", `{"name":"nginx"}`, "usr/bin/pacman usr/bin/pacman-conf", modules.Sources{Paths: words("/var/lib/pacman/db.lck /etc/pacman.conf PATH/pacman")}},
		{"no package manager", "package", `{"name":"nginx"}`, "", modules.Sources{Paths: words("PATH/apt-get PATH/dnf5 PATH/dnf PATH/zypper PATH/yum PATH/apk PATH/pacman")}},

		{"a service", "service", `{"name":"nginx"}`, systemd, modules.Sources{Paths: words(nginx), Trees: words(dropIns), Units: words("nginx.service")}},
		{"enabled", "service", `{"name":"nginx","enable":true}`, systemd,
			modules.Sources{Paths: words(nginx), Trees: words(dropIns), Units: words("nginx.service")}},
		{"of OpenRC", "service", `{"name":"nginx"}`, "sbin/openrc-run", modules.Sources{Paths: words("/run/systemd/system"), Polled: "only systemd sends events about services"}},
		{"of nothing", "service", `{"name":"nginx"}`, "", modules.Sources{Paths: words("/run/systemd/system"), Polled: "only systemd sends events about services"}},

		{"a command", "exec", `{"name":"true"}`, "", modules.Sources{}},
		{"for refreshes", "exec", `{"name":"true","refreshonly":true}`, "", modules.Sources{}},
		{"that creates something", "exec", `{"name":"true","creates":"/a/f/","cwd":"/b","user":"ann"}`, "", modules.Sources{Paths: words("/a/f /b /etc/passwd")}},
		{"with a guard", "exec", `{"name":"true","unless":"test -e /a/f"}`, "", modules.Sources{Paths: words("/a/f"), Polled: "files and services that its guards read"}},
		{"with a guard that reads shared memory", "exec", `{"name":"true","unless":"test -e /dev/shm/f -o -e /dev/null"}`, "",
			modules.Sources{Paths: []string{"/dev/shm/f"}, Polled: "files and services that its guards read"}},
		{"with guards of a shell", "exec", `{"name":"true","provider":"shell","onlyif":"[ \"$(cat /a/f)\" = \"x\" ] && /b/check --to=/c/d >/dev/null 2>>/c/log","unless":"grep -q x /a/*.d '/e f' /proc/1/stat"}`, "",
			modules.Sources{Paths: words("/a/f /b/check /c/d /e"), Polled: "files and services that its guards read"}},
		{"that only looks", "exec", `{"name":"true","readonly":true}`, "", modules.Sources{Polled: "files and services that it reads"}},

		{"DSC", "dsc", `{"name":"x","type":"A/B"}`, "", modules.Sources{Polled: "only the programs of DSC resources know their state"}},
		{"libral", "ral", `{"name":"x","type":"host"}`, "", modules.Sources{Polled: "only the providers of libral know the state of their resources"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root := t.TempDir()
			for _, name := range strings.Fields(tc.files) {
				path := filepath.Join(root, name)
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				if strings.HasSuffix(name, "/") {
					require.NoError(t, os.MkdirAll(path, 0o755))
				} else {
					require.NoError(t, os.WriteFile(path, []byte(passwd), 0o644))
				}
			}
			h := modtest.Host()
			h.Files.FileReader = below{h.Files.FileReader, root}
			h.Accounts = known{}
			res := modtest.Decode(t, builtin.Types(), tc.kind, tc.properties, root)
			got, err := res.(modules.Watcher).Watch(t.Context(), modules.ReadOnly(h))
			require.NoError(t, err)
			tc.want.Paths = programs(tc.want.Paths)
			require.Equal(t, tc.want, got)
		})
	}
}

func words(text string) []string { return strings.Fields(text) }

// programs replaces PATH by all folders of the search path.
func programs(paths []string) (all []string) {
	for _, path := range paths {
		name, ok := strings.CutPrefix(path, "PATH")
		if !ok {
			all = append(all, path)
			continue
		}
		for dir := range strings.SplitSeq(modules.DefaultPath, ":") {
			all = append(all, dir+name)
		}
	}
	return all
}

// TestAllTypesWatch checks that each type implements [modules.Watcher], except types that no host has.
func TestAllTypesWatch(t *testing.T) {
	var others []string
	for _, typ := range builtin.Types() {
		if _, ok := typ.New().(modules.Watcher); !ok {
			others = append(others, typ.Name)
		}
	}
	require.Equal(t, []string{"apply"}, slices.Sorted(slices.Values(others)))
}
