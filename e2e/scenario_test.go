//go:build e2e

package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

// A stage is a host with systemd and a package manager on which the scenarios
// are played.
type stage struct {
	*fleet
	host, family string
	setup        string // makes the repository of packages
	functions    string // for the shell: install NAME [VERSION], and forget, which removes all test packages
	web          string // address of a server that has app.tar.gz
	restore      string // takes the repository away
}

// resetStage leaves nothing of an earlier scenario. /opt/e2e is an empty
// directory then.
const resetStage = `
[ -z "$(systemctl list-units --all --plain --no-legend 'e2e-*')" ] || systemctl stop 'e2e-*'
forget
rm -rf /opt/e2e /etc/apt/sources.list.d/example.sources /etc/apt/keyrings/example.asc /etc/e2e-*.d /usr/local/bin/e2e-* /etc/systemd/system/e2e-* /etc/systemd/system/*.wants/e2e-* /etc/alternatives/e2e-* /var/lib/dpkg/alternatives/e2e-* /run/e2e-* /tmp/e2e-*
systemctl daemon-reload
systemctl reset-failed
for u in $(sed -n 's/^\(e2e[a-z]*\):.*/\1/p' /etc/passwd); do crontab -r -u $u 2>/dev/null; userdel -f -r $u 2>/dev/null; done
for g in $(sed -n 's/^\(e2e[a-z]*\):.*/\1/p' /etc/group); do groupdel $g; done
crontab -r 2>/dev/null
rm -rf /home/e2e*
named
rm -f /etc/modprobe.d/ccm-push.conf /etc/sudoers.d/e2e
mkdir -p /etc/modprobe.d /etc/modules-load.d
ln -sfn /usr/share/zoneinfo/Etc/UTC /etc/localtime
echo Etc/UTC >/etc/timezone
mkdir /opt/e2e
`

// lookAtStage prints everything that a check run must not change.
const lookAtStage = `
find /etc /opt /home /usr/local /srv /var/spool/cron -printf '%p %y%m %u:%g %s %T@ %l\n' | sort
systemctl show --property Id,ActiveState,SubState,MainPID,InvocationID,UnitFileState 'e2e-*'
packages
`

// aptWeb adds a package with a user, a configuration and a service that runs as
// soon as it is installed, as they do in Debian.
const aptWeb = `
cd /srv/e2e
tree=tree name=web
rm -rf tree; mkdir -p tree/DEBIAN tree/etc/e2e-web.d tree/lib/systemd/system
printf 'Package: e2e-web\nVersion: 1.0\nArchitecture: all\nMaintainer: e2e <e2e@localhost>\nDescription: test\n' >tree/DEBIAN/control
printf '#!/bin/sh\nid -u e2eweb >/dev/null 2>&1 || useradd --system e2eweb\nsystemctl daemon-reload\nsystemctl enable -q --now e2e-web\n' >tree/DEBIAN/postinst
printf '#!/bin/sh\nsystemctl disable -q --now e2e-web\n' >tree/DEBIAN/prerm
chmod 755 tree/DEBIAN/p*
echo 'workers = 1' >tree/etc/e2e-web.d/default
printf '[Service]\nExecStart=/bin/sleep 1000\n[Install]\nWantedBy=multi-user.target\n' >tree/lib/systemd/system/e2e-web.service
dpkg-deb --root-owner-group -b tree repo/e2e-web_1.0_all.deb >/dev/null
{ dpkg-deb -f repo/e2e-web_1.0_all.deb; echo "Filename: ./e2e-web_1.0_all.deb"; echo "Size: $(stat -c %s repo/e2e-web_1.0_all.deb)"; echo "SHA256: $(sha256sum <repo/e2e-web_1.0_all.deb | cut -d' ' -f1)"; echo; } >>repo/Packages
apt-get -qq update`

// aptSecurity adds a repository of security updates, with demo 1.1.
const aptSecurity = `
cd /srv/e2e/repo
list=dists/stable-security/main/binary-$(dpkg --print-architecture)/Packages
mkdir -p "$(dirname $list)"
sed -n '/^Package: e2e-demo$/,/^$/p' Packages | sed -n '/1\.1$/,/^$/p' | sed '1i Package: e2e-demo' >$list
printf 'Suite: stable-security\nCodename: e2e-security\nComponents: main\nArchitectures: %s\nSHA256:\n %s %s %s\n' \
	"$(dpkg --print-architecture)" "$(sha256sum <$list | cut -d' ' -f1)" "$(stat -c %s $list)" "${list#dists/stable-security/}" >dists/stable-security/Release
echo 'deb [trusted=yes] copy:/srv/e2e/repo stable-security main' >>/etc/apt/sources.list
apt-get -qq update 2>/dev/null`

// dnfSecurity has dnf know that demo 1.1 is a security update.
const dnfSecurity = `
cat >updateinfo.xml <<'XML'
<?xml version="1.0" encoding="UTF-8"?>
<updates><update from="e2e" status="stable" type="security" version="1">
<id>E2E-1</id><title>demo</title><issued date="2024-01-01 00:00:00"/><severity>Important</severity><description>test</description>
<pkglist><collection short="e2e"><name>e2e</name>
<package name="e2e-demo" version="1.1" release="1" epoch="0" arch="noarch" src="e2e-demo-1.1-1.src.rpm"><filename>e2e-demo-1.1-1.noarch.rpm</filename></package>
</collection></pkglist></update></updates>
XML
modifyrepo_c updateinfo.xml repo/repodata >/dev/null
dnf -q --refresh makecache`

// dnfWeb adds the same package for dnf, where services do not start by
// themselves.
const dnfWeb = `
cd /srv/e2e
cat >spec <<'SPEC'
Name: e2e-web
Version: 1.0
Release: 1
Summary: test
License: none
BuildArch: noarch
AutoReqProv: no
%description
test
%pre -p <lua>
os.execute("id -u e2eweb >/dev/null 2>&1 || useradd --system e2eweb")
%install
mkdir -p %{buildroot}/etc/e2e-web.d %{buildroot}/lib/systemd/system
echo 'workers = 1' >%{buildroot}/etc/e2e-web.d/default
printf '[Service]\nExecStart=/bin/sleep 1000\n[Install]\nWantedBy=multi-user.target\n' >%{buildroot}/lib/systemd/system/e2e-web.service
%files
%config(noreplace) /etc/e2e-web.d/default
/lib/systemd/system/e2e-web.service
SPEC
rpmbuild --quiet -bb --define '_topdir /srv/e2e/top' --define '_rpmdir /srv/e2e/repo' \
	--define '_build_name_fmt %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm' spec >log 2>&1 || { cat log; exit 1; }
createrepo_c -q repo
dnf -q --refresh makecache`

// stages returns the hosts, one for each package manager. Running ones stay up.
func stages(t *testing.T) []*stage {
	t.Helper()
	f := leaseFleet(t)
	all := []*stage{
		{
			host: "s001", family: "apt", setup: aptSetup + aptWeb + aptSecurity,
			functions: `packages() { dpkg-query -W; }
named() { hostname s001; echo s001 >/etc/hostname; rm -f /etc/machine-info; }
install() { apt-get -qq install "$1${2:+=$2}" >/tmp/e2e-install 2>&1 || { cat /tmp/e2e-install; return 1; }; }
forget() { set -- /var/lib/dpkg/info/e2e-*.list; [ ! -e "$1" ] || dpkg --purge --force-all $(dpkg-query -W -f '${Package} ' 'e2e-*') >/dev/null 2>&1; }
`,
			restore: "rm -rf /srv/e2e && rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/* && cp -a /etc/apt/e2e-saved/. /etc/apt/ && rm -r /etc/apt/e2e-saved",
		},
		{
			host: "rs001", family: "dnf", setup: rpmRepository + dnfSetup + dnfWeb + dnfSecurity,
			functions: `packages() { rpm -qa | sort; }
named() { hostname rs001; echo rs001 >/etc/hostname; rm -f /etc/machine-info; }
install() { rpm -U --quiet "$(ls /srv/e2e/repo/$1-${2:-[0-9]}*.rpm | sort -V | tail -n 1)" >/tmp/e2e-install 2>&1 || { cat /tmp/e2e-install; return 1; }; }
forget() { p=$(rpm -qa 'e2e-*'); [ -z "$p" ] || rpm -e $p >/dev/null 2>&1; }
`,
			restore: "rm -rf /srv/e2e /etc/yum.repos.d/e2e.repo",
		},
	}
	for i, kind := range [][]string{{"--systemd"}, {"--systemd", "--rpm"}} {
		s := all[i]
		s.fleet = &fleet{t, t.TempDir(), f.number}
		if !strings.Contains(s.tool("status"), s.host+"\t") {
			s.tool(append([]string{"up", "1"}, kind...)...)
			t.Cleanup(func() { s.tool("down", s.host) })
		}
	}
	web := serveArchive(f)
	for _, s := range all {
		s.web = web
		s.awaits(s.host, "systemctl is-active multi-user.target")
		write(t, s.path("root.yaml"), s.tool("inventory"))
		require.NoError(t, os.CopyFS(s.dir, os.DirFS("testdata/scenarios")))
		require.NoError(t, os.CopyFS(filepath.Join(s.dir, "resources"), os.DirFS("testdata/foreign/resources")))
		s.sh(s.host, s.setup)
		t.Cleanup(func() { s.sh(s.host, s.functions+resetStage+"rm -rf /opt/e2e; "+s.restore) })
	}
	return all
}

// serveArchive serves app.tar.gz, with a file "run", to the hosts of the fleet.
func serveArchive(t *fleet) (address string) {
	t.Helper()
	listener := t.listen("0")
	var archive bytes.Buffer
	zipped := gzip.NewWriter(&archive)
	tarred := tar.NewWriter(zipped)
	require.NoError(t, tarred.WriteHeader(&tar.Header{Name: "run", Typeflag: tar.TypeReg, Mode: 0o755}))
	require.NoError(t, errors.Join(tarred.Close(), zipped.Close()))
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "app.tar.gz", time.Time{}, bytes.NewReader(archive.Bytes()))
	}))
	server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return listener.Addr().String()
}

// listen listens on the address of this machine that the hosts of the fleet reach.
func (f *fleet) listen(port string) net.Listener {
	f.Helper()
	bridge, err := net.InterfaceByName(fmt.Sprint("ccmpush", f.number))
	require.NoError(f, err)
	addresses, err := bridge.Addrs()
	require.NoError(f, err)
	require.NotEmpty(f, addresses)
	listener, err := net.Listen("tcp", net.JoinHostPort(addresses[0].(*net.IPNet).IP.String(), port))
	require.NoError(f, err)
	return listener
}

// A scene is a manifest of testdata/scenarios. Its comments have its purpose, the families of hosts, the commands
// before it, and the outcome of each resource in the first run and in the second.
type scene struct {
	name         string
	on           string   // empty means all families
	packages     bool     // it uses packages
	before       []string // for sh, with the functions of the stage
	first, again []string // again: nil if nothing changes or fails
}

var sceneLine = regexp.MustCompile(`(?m)^# (on|before|first|again): (.*)$`)

func readScene(t *testing.T, path string) scene {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	s := scene{name: strings.TrimSuffix(filepath.Base(path), ".yaml"), packages: strings.Contains(string(text), "package")}
	for _, m := range sceneLine.FindAllStringSubmatch(string(text), -1) {
		switch m[1] {
		case "on":
			s.on = m[2]
		case "before":
			s.before = append(s.before, m[2])
		case "first":
			s.first = strings.Fields(m[2])
		case "again":
			s.again = strings.Fields(m[2])
		}
	}
	require.NotEmpty(t, s.first, path)
	return s
}

// A foretold is a result of which a check run may have been certain.
type foretold struct {
	Event, Type, Name, Status, Message, Error, Because string
	Refreshed, Certain                                 bool
	Changes                                            []modules.Change
	Diff                                               json.RawMessage // a text; in other events it has another meaning
}

// essence returns the parts of a prediction that have to be right.
func (r *foretold) essence() string {
	text := fmt.Sprintf("%s#%s %s refreshed=%v", r.Type, r.Name, r.Status, r.Refreshed)
	if r.Status == "changed" {
		text += fmt.Sprintf(" %s %q", strings.ReplaceAll(r.Message, "Would have ", ""), r.Changes)
	}
	return text
}

// play runs a scenario's manifest and returns its results.
func (s *stage) play(t *testing.T, c scene, flags ...string) []foretold {
	t.Helper()
	r := push(t, s.dir, append([]string{"-i", "root.yaml", "-l", s.host, "-e", "web=" + s.web, "--output", "json"}, append(flags, c.name+".yaml")...)...)
	var results []foretold
	for line := range strings.Lines(r.stdout) {
		var result foretold
		require.NoError(t, json.Unmarshal([]byte(line), &result), "%q", line)
		if result.Event == "result" {
			results = append(results, result)
		}
	}
	require.NotEmpty(t, results, "stdout:\n%s\nstderr:\n%s", r.stdout, r.stderr)
	return results
}

// perform makes a check run, which changes nothing; the run itself, in which all certain predictions come true; and a
// second one.
func (s *stage) perform(t *testing.T, c scene) (certain, all int) {
	t.Helper()
	f := s.in(t)
	untouched := f.sh(s.host, s.functions+resetStage+strings.Join(append(c.before, ""), " || exit 1\n")+lookAtStage)
	predicted := s.play(t, c, "--check")
	require.Empty(t, differing(untouched, f.sh(s.host, s.functions+lookAtStage)), "the check run has changed something")
	first := s.play(t, c)
	require.Equal(t, c.first, statuses(first), "%s", describe(first))
	for i, p := range predicted {
		if !p.Certain {
			continue
		}
		certain++
		require.Less(t, i, len(first), "not reached: %s", p.essence())
		require.Equal(t, first[i].essence(), p.essence(), "%s", first[i].Error)
	}
	again := s.play(t, c)
	if c.again != nil {
		require.Equal(t, c.again, statuses(again), "%s", describe(again))
	} else {
		require.False(t, slices.ContainsFunc(again, func(r foretold) bool { return r.Status == "changed" || r.Status == "failed" }), "%s", describe(again))
	}
	return certain, len(predicted)
}

// differing are the lines that only one of two texts has.
func differing(before, after string) []string {
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	there := func(in []string) func(string) bool {
		return func(line string) bool { return slices.Contains(in, line) }
	}
	return slices.Concat(slices.DeleteFunc(slices.Clone(a), there(b)), slices.DeleteFunc(slices.Clone(b), there(a)))
}

func statuses(results []foretold) []string {
	var list []string
	for _, r := range results {
		list = append(list, r.Status)
	}
	return list
}

func describe(results []foretold) string {
	var b strings.Builder
	for _, r := range results {
		fmt.Fprintf(&b, "%s %s\n", r.essence(), r.Error)
	}
	return b.String()
}

// TestFleetScenarios runs chains of resources, as people write them, on a host of each family. The families differ in
// packages: with -short, scenes without packages alternate between the families.
func TestFleetScenarios(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/scenarios/*.yaml")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(paths), 60)
	for half, name := range []string{"first half", "second half"} {
		t.Run(name, func(t *testing.T) {
			families := stages(t)
			for mine, s := range families {
				t.Run(s.family, func(t *testing.T) {
					t.Parallel()
					certain, all := 0, 0
					for i, path := range paths {
						c := readScene(t, path)
						turn := i%len(families) == mine
						if i/len(families)%2 != half || c.on != "" && c.on != s.family || testing.Short() && !c.packages && !turn {
							continue
						}
						t.Run(c.name, func(t *testing.T) {
							right, of := s.perform(t, c)
							certain, all = certain+right, all+of
						})
					}
					t.Logf("%s: %d of %d predictions were certain, and all of those right", s.family, certain, all)
				})
			}
		})
	}
}

// TestFleetCCMRequests sends requests of CCM's ensure API to the host program, as a tool on the host would.
func TestFleetCCMRequests(t *testing.T) {
	for _, s := range stages(t) {
		t.Run(s.family, func(t *testing.T) {
			f := s.in(t)
			f.sh(s.host, s.functions+resetStage+"rm -rf /root/.cache/ccm-push; install e2e-web\n")
			s.play(t, scene{name: "template-then-restart"}) // which leaves the host program there
			ask := func(kind, properties string) (answer ccmAnswer) {
				request := fmt.Sprintf(`{"protocol":"io.choria.ccm.v1.resource.ensure.request","type":%q,"properties":%s}`, kind, properties)
				out := f.sh(s.host, "echo '"+request+"' | /root/.cache/ccm-push/[0-9a-f]* run")
				require.NoError(t, json.Unmarshal([]byte(out), &answer), out)
				require.Empty(t, answer.Error, out)
				return answer
			}
			version, arch := "1.0", "all"
			if s.family == "dnf" {
				version, arch = "1.0-1", "noarch"
			}
			a := ask("package", `{"name":"e2e-web"}`).State
			require.Equal(t, []any{s.family, version, false}, []any{a.Provider, a.FinalEnsure, a.Changed})
			require.Equal(t, map[string]any{"name": "e2e-web", "version": version, "arch": arch, "provider": s.family}, a.Status.Metadata)

			a = ask("service", `{"name":"e2e-web","enable":true}`).State
			require.Equal(t, []any{"systemd", "running", "running"}, []any{a.Provider, a.RequestedEnsure, a.FinalEnsure})
			require.Equal(t, map[string]any{"name": "e2e-web", "provider": "systemd", "enabled": true, "running": true}, a.Status.Metadata)

			a = ask("service", `{"name":"e2e-web","ensure":"stopped","enable":false}`).State
			require.Equal(t, []any{"stopped", true}, []any{a.FinalEnsure, a.Changed})
			require.Equal(t, map[string]any{"name": "e2e-web", "provider": "systemd", "enabled": false, "running": false}, a.Status.Metadata)

			a = ask("package", `{"name":"e2e-web","ensure":"absent"}`).State
			require.Equal(t, []any{"absent", true}, []any{a.FinalEnsure, a.Changed})
			require.Equal(t, map[string]any{"name": "e2e-web", "version": "absent", "provider": s.family}, a.Status.Metadata)

			a = ask("package", `{"name":"e2e-nothing"}`).State
			require.True(t, a.Failed)
			require.Contains(t, a.Errors[0], `package "e2e-nothing" is in no package list`)
		})
	}
}

// A ccmAnswer has the compared parts of an answer of the ensure API.
type ccmAnswer struct {
	Error string
	State struct {
		Provider        string
		RequestedEnsure string `json:"requested_ensure"`
		FinalEnsure     string `json:"final_ensure"`
		Changed, Failed bool
		Errors          []string `json:"error"`
		Status          struct{ Metadata map[string]any }
	}
}
