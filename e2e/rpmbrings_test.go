//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// rpmPackages makes a repository on a host: a server with configuration, units, users and scripts, a package that it
// needs, and one that it replaces. The package e2e-base provides the shell, and has triggers.
const rpmPackages = `set -e
rm -rf /srv/e2e; mkdir -p /srv/e2e/repo /srv/e2e/base; cd /srv/e2e
add() { # FOLDER NAME VERSION FIELDS, and the rest of the spec as input
	{ printf '%s\n' "Name: $2" "Version: $3" 'Release: 1' 'Summary: test' 'License: none' 'BuildArch: noarch' 'AutoReqProv: no' "$4" '%description' test; cat; } >spec
	rpmbuild --quiet -bb --define '_topdir /srv/e2e/top' --define "_rpmdir /srv/e2e/$1" \
		--define '_build_name_fmt %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm' spec >log 2>&1 || { cat log; exit 1; }
}
add base e2e-base 1.0 'Provides: /bin/sh' <<'SPEC'
%filetriggerin -- /usr/share/e2e-data
echo seen >/etc/e2e-seen
%triggerin -- e2e-web
echo web >/etc/e2e-triggered
%filetriggerin -- /usr/share/e2e-other
echo other >/etc/e2e-not-triggered
%files
SPEC
add base e2e-old 1.0 '' <<'SPEC'
%install
mkdir -p %{buildroot}/etc; echo old >%{buildroot}/etc/e2e-old.conf
%postun
echo gone >/etc/e2e-old-gone
%files
/etc/e2e-old.conf
SPEC
add repo e2e-lib 1.0 '' <<'SPEC'
%install
mkdir -p %{buildroot}/usr/share/e2e-data; echo data >%{buildroot}/usr/share/e2e-data/data
%files
/usr/share/e2e-data
SPEC
add repo e2e-vague 1.0 '' <<'SPEC'
%install
mkdir -p %{buildroot}/etc/e2e-vague %{buildroot}/usr/bin
echo 1 >%{buildroot}/etc/e2e-vague/vague.conf; printf '#!/bin/sh\necho 2 >/etc/e2e-vague/vague.conf\n' >%{buildroot}/usr/bin/e2e-vague
%post
/usr/bin/e2e-vague --setup
%files
%config /etc/e2e-vague/vague.conf
%attr(755,root,root) /usr/bin/e2e-vague
SPEC
add repo e2e-web 2.0 'Requires: e2e-lib
Obsoletes: e2e-old < 2
Epoch: 1' <<'SPEC'
%install
mkdir -p %{buildroot}/etc/e2e-web/conf.d %{buildroot}/usr/sbin %{buildroot}/usr/lib/systemd/system %{buildroot}/usr/lib/systemd/system-preset %{buildroot}/usr/lib/sysusers.d %{buildroot}/var/lib/e2e-web
cd %{buildroot}
printf 'port = 80\nworkers = 1\n' >etc/e2e-web/web.conf
for name in other mine yours plain; do echo untouched >etc/e2e-web/$name.conf; done
ln -s web.conf etc/e2e-web/link.conf
printf '#!/bin/sh\nexec sleep infinity\n' >usr/sbin/e2e-webd
for name in web idle; do printf '[Service]\nExecStart=/usr/sbin/e2e-webd\nExecReload=/bin/true\n[Install]\nWantedBy=multi-user.target\n' >usr/lib/systemd/system/e2e-$name.service; done
echo 'disable e2e-idle.service' >usr/lib/systemd/system-preset/50-e2e.preset
echo 'u e2e-sys - "It runs" /var/lib/e2e-web /usr/sbin/nologin' >usr/lib/sysusers.d/e2e-web.conf
%pre
getent passwd e2e-web >/dev/null || useradd -r -d /var/lib/e2e-web -s /usr/sbin/nologin e2e-web
useradd -r e2e-plain
%post
if [ $1 -eq 1 ] ; then
	systemd-sysusers /usr/lib/sysusers.d/e2e-web.conf >/dev/null 2>&1 || :
	systemctl --no-reload preset e2e-web.service e2e-idle.service >/dev/null 2>&1 || :
fi
mkdir -p /var/lib/dpkg/alternatives
update-alternatives --install /usr/bin/e2e-editor e2e-editor /usr/sbin/e2e-webd 10 >/dev/null
[ -e /etc/e2e-web/made.conf ] || echo made >/etc/e2e-web/made.conf
%preun
if [ $1 -eq 0 ] ; then
	systemctl --no-reload disable --now e2e-web.service e2e-idle.service >/dev/null 2>&1 || :
	update-alternatives --remove e2e-editor /usr/sbin/e2e-webd
fi
%postun
systemctl daemon-reload >/dev/null 2>&1 || :
%files
%config(noreplace) /etc/e2e-web/web.conf
%config /etc/e2e-web/other.conf
%config(noreplace) /etc/e2e-web/mine.conf
%config /etc/e2e-web/yours.conf
%attr(640,root,root) /etc/e2e-web/plain.conf
%attr(2750,root,root) %dir /etc/e2e-web/conf.d
/etc/e2e-web/link.conf
%attr(755,root,root) /usr/sbin/e2e-webd
/usr/lib/systemd/system/e2e-*.service
/usr/lib/systemd/system-preset/50-e2e.preset
/usr/lib/sysusers.d/e2e-web.conf
%attr(750,e2e-web,root) %dir /var/lib/e2e-web
SPEC
createrepo_c -q repo
`

// rpmReset brings the host to the state before the run. Two files of the package are there already.
const rpmReset = `rpm -e --nodeps $(rpm -qa 'e2e-*') >/dev/null 2>&1; userdel e2e-web 2>/dev/null; userdel e2e-sys 2>/dev/null; userdel e2e-plain 2>/dev/null; groupdel e2e-web 2>/dev/null; groupdel e2e-sys 2>/dev/null
rm -rf /etc/e2e-* /var/lib/e2e-* /srv/e2e-*; systemctl daemon-reload`

const rpmSite = `
ccm:
  resources:
    - package: [e2e-web: {}]
    - file:
        - /etc/e2e-web/web.conf: {content: "port = 8080\nworkers = 1\n", owner: root, group: root, mode: "0644"}
        - /etc/e2e-web/other.conf: {content: "untouched\n", owner: root, group: root, mode: "0644"}
        - /etc/e2e-web/mine.conf: {content: "mine\n", owner: root, group: root, mode: "0644"}
        - /etc/e2e-web/yours.conf: {content: "yours\n", owner: root, group: root, mode: "0644"}
        - /etc/e2e-web/plain.conf: {content: "untouched\n", owner: root, group: root, mode: "0644"}
        - /etc/e2e-web/conf.d: {ensure: directory, owner: root, group: root, mode: "0755"}
        - /etc/e2e-web/conf.d/site.conf: {content: "x\n", mode: "0644"}
        - /etc/e2e-web/made.conf: {content: "made\n", mode: "0644"}
        - /etc/e2e-seen: {content: "seen\n", mode: "0644"}
        - /etc/e2e-triggered: {content: "web\n", mode: "0644"}
        - /etc/e2e-not-triggered: {content: "other\n", mode: "0644"}
        - /etc/e2e-old.conf: {ensure: absent}
        - /srv/e2e-web: {ensure: directory, owner: e2e-web, mode: "0750"}
        - /etc/e2e-kept: {content: "kept\n", mode: "0644"}
    - link:
        - /etc/e2e-web/link.conf: {target: web.conf}
        - /usr/bin/e2e-editor: {target: /usr/sbin/e2e-webd}
    - line: [workers: {path: /etc/e2e-web/web.conf, regexp: "^workers", line: workers = 4}]
    - user:
        - e2e-sys: {home: /var/lib/e2e-web, shell: /usr/sbin/nologin}
        - e2e-plain: {shell: /bin/false}
    - service:
        - e2e-idle: {ensure: stopped, enable: false}
        - e2e-web: {enable: true, ensure: running, reload: true, subscribe: ["file#/etc/e2e-web/web.conf"]}
        - cron: {enable: true}
    - package: [e2e-vague: {}]
    - file:
        - /etc/e2e-vague/vague.conf: {content: "1\n", mode: "0644"}
`

// TestFleetPendingRPMs compares the predictions for a host without packages of rpm with the run.
func TestFleetPendingRPMs(t *testing.T) {
	f := &fleet{t, t.TempDir(), leaseFleet(t).number}
	if !strings.Contains(f.tool("status"), "rs001\t") {
		f.tool("up", "1", "--systemd", "--rpm")
		t.Cleanup(func() { f.tool("down", "rs001") })
	}
	f.awaits("rs001", "systemctl is-active multi-user.target")
	write(t, f.path("root.yaml"), f.tool("inventory"))
	t.Cleanup(func() { f.sh("rs001", rpmReset+"; rm -rf /srv/e2e /etc/yum.repos.d/e2e.repo") })
	f.sh("rs001", rpmPackages)
	write(t, f.path("web.yaml"), rpmSite)

	// The same repository, served to the host.
	site := t.TempDir()
	unpack := exec.Command("tar", "-x", "-C", site)
	unpack.Stdin = strings.NewReader(f.sh("rs001", "tar -c -C /srv/e2e/repo ."))
	require.NoError(t, unpack.Run())
	var parts atomic.Int64
	files := http.FileServer(http.Dir(site))
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".rpm") && r.Header.Get("Range") != "" {
			parts.Add(1)
		}
		files.ServeHTTP(w, r)
	}))
	server.Listener.Close()
	server.Listener = f.listen("0")
	server.Start()
	t.Cleanup(server.Close)

	results := func(flags ...string) (all []foretoldResult) {
		r := f.push(append([]string{"-i", "root.yaml", "-l", "rs001", "--diff", "--output", "json"}, append(flags, "web.yaml")...)...)
		all = r.foretold(f)
		require.Len(t, all, 25, "%s\n%s", r.stdout, r.stderr)
		return all
	}
	for _, base := range []string{"file:///srv/e2e/repo", "http://" + server.Listener.Addr().String()} {
		situation, _, _ := strings.Cut(base, ":")
		t.Run(situation, func(t *testing.T) {
			f.sh("rs001", rpmReset)
			f.sh("rs001", fmt.Sprintf(`set -e; rpm -i /srv/e2e/base/*.rpm
mkdir -p /etc/e2e-web; echo mine >/etc/e2e-web/mine.conf; echo yours >/etc/e2e-web/yours.conf
printf '%%s\n' '[e2e]' 'name=e2e' 'baseurl=%s' 'gpgcheck=0' >/etc/yum.repos.d/e2e.repo; dnf -q --refresh makecache`, base))
			before := f.sh("rs001", "rpm -qa | sort; find /etc /usr/lib/systemd | sort")
			predicted := results("--check")
			require.Equal(t, before, f.sh("rs001", "rpm -qa | sort; find /etc /usr/lib/systemd | sort"))
			require.Equal(t, situation == "http", parts.Load() > 0)
			real := results()
			c := &forecasts{}
			c.compare("web", situation, predicted, real)
			unknown := []string{}
			for _, p := range c.Predictions {
				if p.Grade == "unknown" {
					unknown = append(unknown, p.Resource)
					continue
				}
				require.Empty(t, p.Differs, "%s is %s\npredicted %s\n     real %s", p.Resource, p.Grade, p.Predicted, p.Real)
			}
			require.ElementsMatch(t, []string{
				"file#/etc/e2e-web/yours.conf", "file#/etc/e2e-web/made.conf", "file#/etc/e2e-seen", "file#/etc/e2e-triggered", "file#/etc/e2e-old.conf",
				"link#/usr/bin/e2e-editor", "file#/etc/e2e-vague/vague.conf",
			}, unknown)
		})
	}
}
