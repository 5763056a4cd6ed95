//go:build e2e

package e2e

import (
	"path"
	"testing"

	"github.com/stretchr/testify/require"
)

// webPackages makes a repository on a host: a server with configuration, a unit, a user and scripts, and a library that the
// server needs.
const webPackages = `set -e
rm -rf /srv/e2e; mkdir -p /srv/e2e/repo /srv/e2e/tree; cd /srv/e2e
control() { mkdir -p tree/DEBIAN; printf 'Package: %s\nVersion: 1.0\nArchitecture: all\nMaintainer: e2e <e2e@localhost>\n%sDescription: test\n' "$1" "$2" >tree/DEBIAN/control; }
add() {
	(cd tree; find . -type f ! -path './DEBIAN/*' ! -path './etc/*' -printf '%P\0' | xargs -0 -r md5sum >DEBIAN/md5sums)
	deb=repo/$1_1.0_all.deb; dpkg-deb --root-owner-group -b tree "$deb" >/dev/null; rm -rf tree
	{ dpkg-deb -f "$deb"; echo "Filename: ./$1_1.0_all.deb"; echo "Size: $(stat -c %s "$deb")"; echo "SHA256: $(sha256sum <"$deb" | cut -d' ' -f1)"; echo; } >>repo/Packages
}
control libe2e ''; mkdir -p tree/usr/lib; echo library >tree/usr/lib/libe2e.so.1; printf 'activate-noawait ldconfig\n' >tree/DEBIAN/triggers; add libe2e
control e2e-web 'Depends: libe2e
'
mkdir -p tree/etc/e2e-web/conf.d tree/usr/sbin tree/lib/systemd/system tree/var/lib/e2e-web
printf 'port = 80\nworkers = 1\n' >tree/etc/e2e-web/web.conf; echo untouched >tree/etc/e2e-web/other.conf
printf '/etc/e2e-web/web.conf\n/etc/e2e-web/other.conf\n' >tree/DEBIAN/conffiles
printf '#!/bin/sh\nexec sleep infinity\n' >tree/usr/sbin/e2e-webd; chmod 755 tree/usr/sbin/e2e-webd
printf '[Service]\nExecStart=/usr/sbin/e2e-webd\nExecReload=/bin/true\n[Install]\nWantedBy=multi-user.target\n' >tree/lib/systemd/system/e2e-web.service
cat >tree/DEBIAN/postinst <<'POSTINST'
#!/bin/sh
set -e
if [ "$1" = configure ]; then
	getent passwd e2e-web >/dev/null || useradd --system --home-dir /var/lib/e2e-web --shell /usr/sbin/nologin e2e-web
	chown e2e-web /var/lib/e2e-web
	[ -e /etc/e2e-web/made.conf ] || echo made >/etc/e2e-web/made.conf
	deb-systemd-helper unmask 'e2e-web.service' >/dev/null || true
	if deb-systemd-helper --quiet was-enabled 'e2e-web.service'; then
		deb-systemd-helper enable 'e2e-web.service' >/dev/null || true
	else
		deb-systemd-helper update-state 'e2e-web.service' >/dev/null || true
	fi
	if [ -d /run/systemd/system ]; then
		systemctl --system daemon-reload >/dev/null || true
		if [ -n "$2" ]; then _dh_action=restart; else _dh_action=start; fi
		deb-systemd-invoke $_dh_action 'e2e-web.service' >/dev/null || true
	fi
fi
POSTINST
chmod 755 tree/DEBIAN/postinst; add e2e-web
[ -d /etc/apt/e2e-saved ] || { mkdir /etc/apt/e2e-saved; cp -a /etc/apt/sources.list* /etc/apt/e2e-saved/; }
rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/*
echo 'deb [trusted=yes] copy:/srv/e2e/repo ./' >/etc/apt/sources.list
apt-get -qq update`

const dropWebPackages = `dpkg --purge --force-all e2e-web libe2e >/dev/null 2>&1; userdel e2e-web 2>/dev/null; groupdel e2e-web 2>/dev/null
rm -rf /srv/e2e /srv/e2e-web /etc/e2e-web /etc/apt/sources.list /etc/apt/sources.list.d/*; [ ! -d /etc/apt/e2e-saved ] || { cp -a /etc/apt/e2e-saved/. /etc/apt/; rm -r /etc/apt/e2e-saved; }; true`

const webSite = `
ccm:
  resources:
    - package: [e2e-web: {}]
    - file:
        - /etc/e2e-web/web.conf: {content: "port = 8080\nworkers = 1\n", owner: root, group: root, mode: "0644"}
        - /etc/e2e-web/other.conf: {content: "untouched\n", owner: root, group: root, mode: "0644"}
        - /etc/e2e-web/conf.d/site.conf: {content: "x\n", mode: "0644"}
        - /etc/e2e-web/made.conf: {content: "made\n", mode: "0644"}
        - /srv/e2e-web: {ensure: directory, owner: e2e-web, mode: "0750"}
    - line: [workers: {path: /etc/e2e-web/web.conf, regexp: "^workers", line: workers = 4}]
    - service:
        - e2e-web: {enable: true, reload: true, subscribe: ["file#/etc/e2e-web/web.conf"]}
        - cron: {enable: true}
`

// TestFleetPendingPackages compares the predictions for a host without a package with the run.
func TestFleetPendingPackages(t *testing.T) {
	f := startServiceHost(t)
	t.Cleanup(func() { f.sh("s001", dropWebPackages) })
	f.sh("s001", dropWebPackages)
	f.sh("s001", webPackages)
	write(t, f.path("web.yaml"), webSite)
	results := func(flags ...string) (all []foretoldResult) {
		r := f.push(append([]string{"-i", "root.yaml", "-l", "s001", "--diff", "--output", "json"}, append(flags, "web.yaml")...)...)
		all = r.foretold(f)
		require.Len(t, all, 9, "%s\n%s", r.stdout, r.stderr)
		return all
	}
	predicted := results("--check")
	require.Empty(t, f.sh("s001", "ls /var/lib/ccm-push/packages/parts"), "the repository is on the host")
	real := results()
	c := &forecasts{}
	c.compare("web", "fresh", predicted, real)
	grades := map[string]string{}
	for _, p := range c.Predictions {
		grades[path.Base(p.Resource)] = p.Grade
		if p.Grade != "unknown" {
			require.Empty(t, p.Differs, "%s is %s\npredicted %s\n     real %s", p.Resource, p.Grade, p.Predicted, p.Real)
		}
	}
	delete(grades, "e2e-web") // the folder: its owner has no number yet
	require.Equal(t, map[string]string{
		"package#e2e-web": "likely", "web.conf": "likely", "other.conf": "likely", "site.conf": "likely", "made.conf": "unknown",
		"line#workers": "likely", "service#e2e-web": "likely", "service#cron": "likely",
	}, grades)
}
