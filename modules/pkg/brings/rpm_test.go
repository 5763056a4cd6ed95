package brings_test

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules/pkg/brings"
)

// buildRPM makes a package file from the rest of a spec.
func buildRPM(t testing.TB, name, spec string) *brings.Package {
	t.Helper()
	needs.Program(t, "rpmbuild")
	needs.Program(t, "rpm2cpio")
	dir := t.TempDir()
	text := "Name: " + name + "\nVersion: 1.0\nRelease: 1\nSummary: test\nLicense: none\nBuildArch: noarch\nAutoReqProv: no\n" + spec
	require.NoError(t, os.WriteFile(filepath.Join(dir, "spec"), []byte(text), 0o644))
	build := exec.Command("rpmbuild", "--quiet", "-bb", "--define", "_topdir "+dir, "--define", "_rpmdir "+dir,
		"--define", "_build_name_fmt %%{NAME}.rpm", filepath.Join(dir, "spec"))
	build.Env = append(os.Environ(), "HOME="+dir)
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	file := filepath.Join(dir, name+".rpm")
	info, err := os.Stat(file)
	require.NoError(t, err)
	return &brings.Package{Name: name, Version: "1.0-1", Fresh: true, File: brings.File{URI: "file://" + file, Size: info.Size(), Built: "now"}}
}

const demoSpec = `Epoch: 0
%description
test
%install
cd %{buildroot}
mkdir -p etc/demo/conf.d usr/sbin usr/lib/systemd/system usr/lib/systemd/system-preset usr/lib/sysusers.d var/lib/demo usr/share/doc/demo
for name in demo kept same moved named; do echo "it's $name" >etc/demo/$name.conf; done
touch etc/demo/ghost etc/demo/empty
echo doc >usr/share/doc/demo/README
echo x >usr/sbin/demod; ln usr/sbin/demod usr/sbin/demod2; ln -s demo.conf etc/demo/link
for name in demo idle odd; do printf '[Service]\nExecStart=/usr/sbin/demod\n[Install]\nWantedBy=multi-user.target\n' >usr/lib/systemd/system/$name.service; done
printf '[Service]\nExecStart=/usr/sbin/demod\n' >usr/lib/systemd/system/static.service
echo 'disable idle.*' >usr/lib/systemd/system-preset/50-demo.preset
echo 'u demo-s - "Runs demo" /var/lib/demo' >usr/lib/sysusers.d/demo.conf
%pre
getent group demo-g >/dev/null || groupadd -r demo-g
getent passwd demo-t >/dev/null || useradd -r -g demo-g -d /var/lib/demo -s /sbin/nologin -c "Demo" demo-t
exit 0
%post
if [ $1 -eq 1 ] && [ -x "/usr/lib/systemd/systemd-update-helper" ]; then
    # Initial installation
    /usr/lib/systemd/systemd-update-helper install-system-units demo.service idle.service || :
fi
systemctl enable odd >/dev/null 2>&1 || :
sed -i s/a/b/ /etc/demo/named.conf
%preun
rm -f /etc/demo-not-now
%postun -p /sbin/ldconfig
%posttrans
alternatives --install /usr/bin/demo demo /usr/sbin/demod 10
%triggerin -- other < 3
touch /etc/demo-trigger
%files
%config(noreplace) /etc/demo/kept.conf
%config(noreplace) /etc/demo/same.conf
%config /etc/demo/moved.conf
%config /etc/demo/demo.conf
%config /etc/demo/named.conf
%config /etc/demo/empty
%ghost /etc/demo/ghost
%attr(2750,demo-t,root) /etc/demo/conf.d
/etc/demo/link
/usr/lib/*
%doc /usr/share/doc/demo/README
%attr(755,root,root) /usr/sbin/demod*
%attr(700,root,root) %dir /var/lib/demo
`

// TestRPMEffects reads a package of rpm, and predicts its installation.
func TestRPMEffects(t *testing.T) {
	p := buildRPM(t, "demo", demoSpec)
	packages := []*brings.Package{p}
	require.NoError(t, fetcher(t).LookRPM(t.Context(), look, packages))
	installed, err := brings.ParseHeaders("H 'seer' 0 1 1\nX '/bin/sh' 'touch /etc/seen'\nX '/bin/sh' 'touch /etc/not-seen'\nL 0 '/usr/sbin'\nL 1 '/opt'\n" +
		"X '/bin/sh' 'echo \"it'\\''s\" >/etc/quoted'\nL 0 'demo'\nH 'systemd' 0 1 1\nX '<lua>' 'x(\"/usr/bin/systemd-sysusers\")'\nL 0 '/usr/lib/sysusers.d'\nX '<lua>' 'x(\"/usr/bin/systemctl\")'\nL 0 '/usr/lib/systemd/system'\n")
	require.NoError(t, err)
	files := map[string]string{
		"run/systemd/system/": "", "usr/lib/x": "", "usr/sbin/x": "", "var/lib/demo/": "", "etc/passwd": "root:x:0:0::/root:/bin/sh\n", "etc/group": "root:x:0:\n",
		"etc/demo/kept.conf": "mine\n", "etc/demo/same.conf": "it's same\n", "etc/demo/moved.conf": "mine\n",
		"usr/lib/systemd/system-preset/99-default.preset": "# comment\nenable demo.service\ndisable *\n",
	}
	effects, err := brings.Effects(host(t, files), packages, installed)
	require.NoError(t, err)
	got := lines(effects)
	for _, want := range []string{
		`path /etc/demo/demo.conf file 644 "it's demo\n"`,
		`path /etc/demo/empty file 644 ""`,
		`path /etc/demo/link symlink 777`,
		`path /etc/demo/conf.d directory 20000750 partial`,
		`path /usr/sbin/demod file 755 partial`,
		`path /var/lib/demo directory 755 partial`,
		`path /usr/lib/systemd/system/static.service file 644 "[Service]\nExecStart=/usr/sbin/demod\n"`,
		`path /etc/systemd/system/multi-user.target.wants/demo.service symlink 777`,
		`unit demo.service`, `unit idle.service`, `unit static.service`,
		`differs /usr/lib/systemd/system/odd.service`,
		`differs /etc/demo/named.conf`, `differs /etc/demo/same.conf`, `differs /etc/demo/moved.conf`, `differs /etc/demo/ghost`,
		`differs /etc/demo/kept.conf.rpmnew`,
		`differs /etc/demo-trigger`, `differs /etc/seen`, `differs /etc/quoted`, `differs /etc/alternatives/demo`, `differs /usr/bin/demo`,
		`user demo-t true`, `user demo-s true`, `group demo-g true`,
		`elsewhere `,
	} {
		require.Contains(t, got, want)
	}
	text := strings.Join(got, "\n")
	for _, never := range []string{"CERTAIN", "demo-not-now", "not-seen", "kept.conf\n", "unit odd", "README", "wants/idle", "path /etc/systemd/system/multi-user.target.wants/odd", "/usr/bin/systemctl", "ld.so.cache"} {
		require.NotContains(t, text, never)
	}

	t.Run("presets of the host", func(t *testing.T) {
		files["etc/systemd/system-preset/00-own.preset"] = "disable demo.service\n"
		effects, err := brings.Effects(host(t, files), packages, nil)
		require.NoError(t, err)
		require.NotContains(t, strings.Join(lines(effects), "\n"), "wants/demo.service")
	})
	t.Run("an installed version, and another package", func(t *testing.T) {
		p := buildRPM(t, "demo", demoSpec)
		former, err := brings.ParseHeaders("H 'demo' 0 0 1\nS PREUN (none) '/bin/sh' 'touch /etc/left'\nS POSTIN (none) '/bin/sh' 'touch /etc/entered'\n" +
			"F '/etc/demo/kept.conf' 33188 17 'root' 'root' 5 '' '' 1\nF '/etc/absent' 33188 0 'root' 'root' 5 '' '' 1\n")
		require.NoError(t, err)
		p.Fresh, p.Former = false, []brings.Control{former[0].Control}
		require.NoError(t, fetcher(t).LookRPM(t.Context(), look, []*brings.Package{p}))
		effects, err := brings.Effects(host(t, files), []*brings.Package{p}, nil)
		require.NoError(t, err)
		got := lines(effects)
		require.Contains(t, got, "differs /etc/left")
		require.Contains(t, got, "differs /etc/demo/kept.conf")
		require.NotContains(t, got, "differs /etc/entered")
		require.NotContains(t, got, "differs /etc/absent")
		require.NotContains(t, strings.Join(got, "\n"), "unit ")
	})
}

// TestRPMDownloads fetches as little as possible of a large package.
func TestRPMDownloads(t *testing.T) {
	p := buildRPM(t, "large", "%description\ntest\n%install\nmkdir -p %{buildroot}/etc %{buildroot}/usr/share/large\necho x >%{buildroot}/etc/large.conf\nhead -c 3000000 /dev/urandom >%{buildroot}/usr/share/large/data\n%files\n%config /etc/large.conf\n/usr/share/large\n")
	local := strings.TrimPrefix(p.File.URI, "file://")
	files := []brings.File{{URI: "file:" + local, Name: "large.rpm"}}
	s := serve(t, files, nil)
	p.File.URI = files[0].URI
	f := fetcher(t)
	f.Proxy = func(brings.File, *url.URL) (*url.URL, error) { return nil, nil }
	for range 2 { // the second time from the cache
		require.NoError(t, f.LookRPM(t.Context(), look, []*brings.Package{p}))
		effects, err := brings.Effects(host(t, map[string]string{"etc/x": "", "usr/share/x": ""}), []*brings.Package{p}, nil)
		require.NoError(t, err)
		require.Contains(t, lines(effects), `path /etc/large.conf file 644 "x\n"`)
		require.Contains(t, lines(effects), `path /usr/share/large/data file 644`)
		require.LessOrEqual(t, s.bytes.Load(), int64(128<<10))
		require.LessOrEqual(t, s.requests.Load(), int64(3))
	}
	p.Version = "1.0-2"
	require.Error(t, f.LookRPM(t.Context(), look, []*brings.Package{p}), "another version than the lists say")
	p.Version = "1.0-1"
	p.File.Size++
	require.Error(t, f.LookRPM(t.Context(), look, []*brings.Package{p}), "another file than the lists say")
	p.File.Size--
	data, err := os.ReadFile(local)
	require.NoError(t, err)
	data[5000] ^= 0xff // in the header
	require.NoError(t, os.WriteFile(local, data, 0o644))
	require.Error(t, fetcher(t).LookRPM(t.Context(), look, []*brings.Package{p}))
}

func TestDNFSettings(t *testing.T) {
	s := brings.DNFSettings{"main": {}}
	s.Add("[main]\nproxy=http://main:3128\ntsflags = nodocs,\n  noscripts\n# x\n")
	s.Add("[a]\nname=a\n[b]\nproxy = http://b:1\nsslverify=1\n[c]\nproxy=_none_\n[d]\nusername=me\n[e]\nsslverify=0\n[f]\nproxy=socks5://x\n[g]\nproxy=http://$basearch:1\n")
	require.Equal(t, []string{"nodocs", "noscripts"}, s.List("tsflags"))
	for origin, want := range map[string]string{"a": "http://main:3128", "b": "http://b:1", "c": "<nil>", "d": "error", "e": "error", "f": "error", "g": "error", "h": "error"} {
		p, err := s.Proxy(brings.File{Origin: origin}, nil)
		got := "error"
		if err == nil && p == nil {
			got = "<nil>"
		} else if err == nil {
			got = p.String()
		}
		require.Equal(t, want, got, origin)
	}
}

func TestRPMEnd(t *testing.T) {
	p := buildRPM(t, "small", "%description\ntest\n%files\n")
	data, err := os.ReadFile(strings.TrimPrefix(p.File.URI, "file://"))
	require.NoError(t, err)
	size, whole, err := brings.RPMEnd(data)
	require.NoError(t, err)
	require.True(t, whole)
	require.LessOrEqual(t, size, int64(len(data)))
	need, steps := int64(96), 0
	for whole = false; !whole; steps++ {
		need, whole, err = brings.RPMEnd(data[:need])
		require.NoError(t, err)
	}
	require.Equal(t, size, need)
	require.Equal(t, 3, steps)
	_, _, err = brings.RPMEnd([]byte("<html>"))
	require.Error(t, err)
}

func FuzzRPMEnd(f *testing.F) {
	f.Add([]byte("\xed\xab\xee\xdb" + strings.Repeat("\x00", 92) + "\x8e\xad\xe8\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x08" + strings.Repeat("\x00", 8) + "\x8e\xad\xe8\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x08"))
	f.Fuzz(func(t *testing.T, data []byte) {
		size, whole, err := brings.RPMEnd(data)
		if err == nil {
			require.Positive(t, size)
			require.True(t, whole || size > int64(len(data)))
		}
	})
}

func FuzzParseHeaders(f *testing.F) {
	f.Add("H 'a' 1 2 3\nX '/bin/sh' 'it'\\''s'\nL 0 'b'\nS PREIN 1 '/bin/sh' 'x'\nF '/etc/a' 33188 17 'root' 'root' 5 '' '' 1\npackage c is not installed\n")
	f.Fuzz(func(t *testing.T, text string) {
		headers, err := brings.ParseHeaders(text)
		if err != nil {
			return
		}
		for _, h := range headers {
			for _, name := range append(h.Files, h.Conffiles...) {
				require.True(t, strings.HasPrefix(name, "/"))
			}
			require.NotNil(t, h.Name)
		}
	})
}

func FuzzReadCPIO(f *testing.F) {
	f.Add([]byte("07070100000001000081a4000000000000000000000001000000000000000400000000000000000000000000000000000000080000000 ./etc/a\x00\x00abc\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for name, text := range brings.ReadCPIO(data) {
			require.True(t, strings.HasPrefix(name, "/"))
			require.LessOrEqual(t, len(text), len(data))
		}
	})
}

func FuzzDNFSettings(f *testing.F) {
	f.Add("[main]\nproxy=http://x:1\n [a]\n[b]\nk=v\n more\n")
	f.Fuzz(func(_ *testing.T, text string) {
		s := brings.DNFSettings{"main": {}}
		s.Add(text)
		s.List("tsflags")
		_, _ = s.Proxy(brings.File{Origin: "b"}, nil)
	})
}
