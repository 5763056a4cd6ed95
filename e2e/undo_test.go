//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// undoSite changes a resource of every type, both types that can be undone and types that cannot.
const undoSite = `
- name: everything
  hosts: s001
  ccm:
    resources:
      - group: [{e2eg: {gid: 4711}}]
      - user: [{e2eu: {uid: 4711, group: e2eg, shell: /bin/sh}}]
      - file:
          - defaults: {owner: root, group: root, mode: "0644"}
          - /srv/e2e/new: {ensure: directory, mode: "0755"}
          - /srv/e2e/new/f: {content: "new\n", owner: e2eu, group: e2eg}
          - /srv/e2e/old: {content: "new\n"}
          - /srv/e2e/whose: {owner: e2eu, group: e2eg, mode: "0600"}
          - /srv/e2e/gone: {ensure: absent, force: true}
          - /etc/systemd/system/e2e-app.service: {alias: unit, content: "[Service]\nExecStart=/bin/sleep 1000\n[Install]\nWantedBy=multi-user.target\n"}
      - link: [{/srv/e2e/link: {target: /srv/e2e/new}}]
      - line:
          - two: {path: /srv/e2e/lines, line: two = 3, regexp: ^two}
          - four: {path: /srv/e2e/lines, line: four}
      - cron: [{job: {command: "true", minute: 5, user: deploy}}]
      - scaffold: [{/srv/e2e/tree: {source: tree, purge: true}}]
      - archive:
          - /srv/e2e/app.tgz: {url: "%[1]s/app.tgz", username: deploy, password: s3cret, owner: root, group: root, extract_parent: /srv/e2e/app, creates: /srv/e2e/app/bin/app}
      - exec: [{"echo reload >>/srv/e2e-reloads": {provider: shell, refresh_only: true, subscribe: [file#unit]}}]
      - service:
          - e2e-app: {ensure: running, enable: true, subscribe: [file#unit]}
          - e2e-old: {ensure: stopped, enable: false}
      - exec: [{"touch /srv/e2e-command": {creates: /srv/e2e-command}}]
`

// undoState prints the state of all things of the site: an undo restores it.
const undoState = `cd /srv/e2e && find . -printf '%p %y %m %u %g %l\n' | sort; find . -type f | sort | xargs sha256sum
crontab -l -u deploy; getent passwd e2eu; getent group e2eg; ls /etc/systemd/system | grep e2e
for u in e2e-app e2e-old; do systemctl is-active $u; systemctl is-enabled $u; done; :`

// TestFleetUndo takes a run back on a host with a real systemd, real accounts and a real cron.
func TestFleetUndo(t *testing.T) {
	f := startServiceHost(t)
	s := startStore(t, f.bridgeAddress(), false)
	s.files["/app.tgz"] = gzipped(t, packApp(t, 1<<20))
	write(t, f.path("site.yaml"), fmt.Sprintf(undoSite, s.URL))
	write(t, f.path("tree/one"), "one\n")
	write(t, f.path("tree/in/two"), "two\n")
	for _, as := range [][]string{{"-i", "root.yaml"}, {"-i", "deploy.yaml", "-b"}} {
		t.Run(strings.Join(as, " "), func(t *testing.T) {
			f := f.in(t)
			f.sh("s001", dropServices)
			f.sh("s001", `rm -rf /var/lib/ccm-push /srv/e2e*; userdel e2eu; groupdel e2eg; set -e
mkdir -p /srv/e2e/gone/deep /srv/e2e/tree/in /srv/e2e/app/bin; cd /srv/e2e; crontab -u deploy -r || :; echo '1 1 1 1 1 kept' | crontab -u deploy -
echo old >old; chmod 640 old; chown deploy:deploy old; seq 100000 >gone/deep/large; ln -s large gone/deep/link; echo whose >whose
printf 'one\ntwo = 2\nthree\n' >lines; ln -s /nowhere link; echo older >tree/one; echo purged >tree/purged; echo before >app/bin/app
printf '[Service]\nExecStart=/bin/sleep 1000\n[Install]\nWantedBy=multi-user.target\n' >/etc/systemd/system/e2e-old.service
systemctl daemon-reload; systemctl enable --now e2e-old`)
			marked := []string{"/srv/e2e/old", "/srv/e2e/whose", "/srv/e2e/lines", "/srv/e2e/gone/deep/large", "/srv/e2e/tree/one", "/srv/e2e/tree/purged"}
			f.marks("s001", marked...)
			before, attributes := f.sh("s001", undoState), f.attributes("s001", marked...)
			require.Contains(t, attributes[0], "user.e2e")
			require.Contains(t, attributes[0], "system.posix_acl_access")
			f.push(append(as, "site.yaml")...).requireCode(t, 0)
			after := f.sh("s001", undoState)
			require.NotEqual(t, before, after)
			require.Equal(t, "700 root\n", f.sh("s001", "stat -c '%a %U' /var/lib/ccm-push/history"))

			foretold := f.push("undo", "--check", "--output", "json")
			foretold.requireCode(t, 0)
			require.Equal(t, after, f.sh("s001", undoState), "a check run has changed something")
			r := f.push("undo", "--yes", "--output", "json")
			r.requireCode(t, 0)
			require.Equal(t, before, f.sh("s001", undoState), r.stdout)
			require.Equal(t, attributes, f.attributes("s001", marked...), r.stdout)
			f.requireForetold(outcomes(foretold.events(t)), outcomes(r.events(t)))
			require.Equal(t, "reload\nreload\n", f.sh("s001", "cat /srv/e2e-reloads"))
			require.Equal(t, "", f.sh("s001", "cat /srv/e2e-command"), "what a command has made stays")
			require.Contains(t, r.stdout, "left unchanged: type exec does not report its changes")

			r = f.push("undo", runID.FindString(r.stdout)) // and forth again, with the accounts
			r.requireCode(t, 0)
			require.Equal(t, after, f.sh("s001", undoState))
		})
	}
}

// TestFleetUndoNamesPackages takes back a run that has installed a package: it is named, with
// the call that would remove it.
func TestFleetUndoNamesPackages(t *testing.T) {
	f := aptFamily(t)
	write(t, f.path("root.yaml"), f.tool("inventory"))
	f.sh("h001", f.install+" e2e-demo=1.0")
	write(t, f.path("site.yaml"), "{hosts: h001, ccm: {resources: [package: [e2e-demo: {ensure: latest}, e2e-left: ]]}}")
	f.push("-i", "root.yaml", "site.yaml").requireCode(t, 0)
	r := f.push("undo", "--yes")
	r.requireCode(t, 0)
	for _, call := range []string{"package e2e-left ensure=absent", "package e2e-demo ensure=1.0"} {
		require.Contains(t, r.stdout, "left unchanged: packages are neither downgraded nor removed; the ad-hoc call that would: "+call)
		f.push(append([]string{"-i", "root.yaml", "h001"}, strings.Fields(call)...)...).requireCode(t, 0)
	}
	require.Equal(t, "demo 1.0\n", strings.ReplaceAll(f.sh("h001", f.state), " installed", ""))
}

// undoneServices are services whose files a run changes: d1 reads a file that it subscribes to, d2 has its unit
// file changed, d3 reads a drop-in that it does not subscribe to.
const undoneServices = `
- hosts: s001
  confirm: %s
  confirm_within: 12s
  data: {conf: T=infinity, start: /bin/sleep infinity}
  ccm:
    resources:
      - file:
          - defaults: {owner: root, group: root, mode: "0644"}
          - /etc/systemd/system/e2e-d1.service: {content: "[Service]\nExecStart=/bin/sh -c '. /etc/e2e-d1.conf; exec sleep $T'\n"}
          - /etc/systemd/system/e2e-d3.service: {content: "[Service]\nExecStart=/bin/sleep infinity\n"}
          - /etc/e2e-d1.conf: {alias: conf, content: "{{ Data.conf }}\n"}
          - /etc/systemd/system/e2e-d2.service: {alias: unit, content: "[Service]\nExecStart={{ Data.start }}\n"}
          - /etc/systemd/system/e2e-d3.service.d: {ensure: directory, mode: "0755"}
          - /etc/systemd/system/e2e-d3.service.d/x.conf: {alias: dropin, content: "[Service]\nExecStart=\nExecStart={{ Data.start }}\n"}
      - exec: [{"systemctl daemon-reload; systemctl try-restart e2e-d3": {provider: shell, refresh_only: true, returns: [0, 1], subscribe: [file#dropin]}}]
      - service:
          - e2e-d1: {subscribe: [file#conf]}
          - e2e-d2: {subscribe: [file#unit]}
          - e2e-d3:
`

const dropUndoneServices = `systemctl stop e2e-d1 e2e-d2 e2e-d3; systemctl reset-failed; rm -rf /etc/systemd/system/e2e-d* /etc/e2e-d1.conf /var/lib/ccm-push; systemctl daemon-reload; :`

// TestFleetUndoStartsServices holds that a service which ran before a run runs after its undo, with the
// earlier files, even if the run left it failed.
func TestFleetUndoStartsServices(t *testing.T) {
	f := startServiceHost(t)
	states := func() string {
		return f.sh("s001", `for u in e2e-d1 e2e-d2 e2e-d3; do systemctl is-active $u; systemctl show -p NeedDaemonReload --value $u; done; :`)
	}
	const allRun = "active\nno\nactive\nno\nactive\nno\n"
	f.sh("s001", dropUndoneServices)
	write(t, f.path("site.yaml"), fmt.Sprintf(undoneServices, "never"))
	f.push("-i", "root.yaml", "site.yaml").requireCode(t, 0)
	require.Equal(t, allRun, states())

	f.push("-i", "root.yaml", "-e", `conf="exit 1"`, "-e", `start="/bin/false"`, "site.yaml").requireCode(t, 2)
	require.NotEqual(t, allRun, states())
	r := f.push("undo", "--yes")
	r.requireCode(t, 0)
	require.Equal(t, allRun, states(), r.stdout)
	require.Equal(t, "T=infinity\n", f.sh("s001", "cat /etc/e2e-d1.conf"))
	require.Contains(t, f.sh("s001", "systemctl show -p ExecStart e2e-d3"), "sleep")
	r = f.push("-i", "root.yaml", "--check", "site.yaml")
	r.requireCode(t, 0)
	require.Regexp(t, `0 would change, [0-9]+ stable`, r.stdout)

	// A service that was stopped since stays stopped, and is named.
	f.push("-i", "root.yaml", "-e", `conf="T=1000"`, "-e", `start="/bin/sleep 1000"`, "site.yaml").requireCode(t, 0)
	f.sh("s001", "systemctl stop e2e-d1 e2e-d2")
	r = f.push("undo", "--yes")
	r.requireCode(t, 0)
	require.Equal(t, "inactive\nno\ninactive\nno\nactive\nno\n", states(), r.stdout)
	for _, name := range []string{"e2e-d1", "e2e-d2"} {
		require.Contains(t, r.stdout, "service#"+name+"  not refreshed: its state has changed since the run (ensure: stopped)")
	}

	// A host that takes a change back by itself does the same.
	f.push("-i", "root.yaml", "site.yaml").requireCode(t, 0)
	require.Equal(t, allRun, states())
	locked := strings.Replace(fmt.Sprintf(undoneServices, "always"), "          - /etc/e2e-d1.conf",
		"          - /etc/ssh/sshd_config.d/e2e.conf: {alias: locked, content: \"DenyUsers *\\n\"}\n          - /etc/e2e-d1.conf", 1)
	write(t, f.path("locked.yaml"), locked+"          - ssh: {subscribe: [file#locked]}\n")
	r = f.push("-i", "root.yaml", "-e", `conf="exit 1"`, "-e", `start="/bin/false"`, "locked.yaml")
	r.requireCode(t, 16+2)
	require.Contains(t, r.stdout, "taken back  service#e2e-d2  started")
	require.Equal(t, allRun, states(), r.stdout)
	require.Equal(t, "T=infinity\n", f.sh("s001", "cat /etc/e2e-d1.conf"))
	f.sh("s001", dropUndoneServices)
}
