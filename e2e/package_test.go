//go:build e2e

package e2e

import (
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A family is hosts with one package manager and a repository of tiny packages:
// demo 1.0, 1.1 and 2.0, one to five, broken, which does not install, mta-a and
// mta-b, which provide mta, and left and right, which exclude each other.
type family struct {
	*fleet
	host string
	// Shell commands.
	setup, restore string
	state          string // prints name and version of the test packages, sorted
	transactions   string // prints how many there have been
	install        string // takes package=version or package-version
	remove         string // all of the test packages
	lock, unlock   string
	// What the package manager calls things.
	version func(string) string // as it is installed
	pinned  string              // between name and version
	holder  string              // of the lock
	trouble string              // that e2e-broken makes
}

func aptFamily(t *testing.T) *family { return aptOn(startFleet(t), "h001") }

// aptOn has the packages on a host.
func aptOn(hosts *fleet, host string) *family {
	f := &family{
		fleet: hosts, host: host, pinned: "=", holder: "process ", trouble: "cannot start",
		version:      func(v string) string { return v },
		setup:        aptSetup,
		restore:      "rm -rf /srv/e2e && rm -f /etc/apt/sources.list /etc/apt/sources.list.d/* && cp -a /etc/apt/e2e-saved/. /etc/apt/ && rm -r /etc/apt/e2e-saved",
		state:        "dpkg-query -W -f '${Package} ${Version} ${db:Status-Status}\\n' e2e-* 2>/dev/null | sed -n 's/^e2e-\\(.*\\) installed$/\\1/p'",
		transactions: "cat /var/log/apt/history.log 2>/dev/null | grep -c ^Start-Date || true",
		install:      "apt-get -qq install --allow-downgrades",
		remove:       "apt-mark unhold $(dpkg-query -W -f '${Package} ' e2e-*) >/dev/null 2>&1; dpkg --purge --force-all $(dpkg-query -W -f '${Package} ' e2e-*) >/dev/null 2>&1 || true",
		lock:         "apt-get -qq install e2e-slow >/dev/null 2>&1 </dev/null & until test -e /tmp/e2e-locked; do sleep 0.05; done",
		unlock:       "touch /tmp/e2e-go; while pgrep -x apt-get >/dev/null; do sleep 0.05; done",
	}
	f.begin()
	return f
}

// aptSetup makes the repository, which is all that the host knows then.
const aptSetup = `set -e
rm -rf /srv/e2e; mkdir -p /srv/e2e/repo
[ -d /etc/apt/e2e-saved ] || { mkdir /etc/apt/e2e-saved; cp -a /etc/apt/sources.list* /etc/apt/e2e-saved/; }
rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/*
cd /srv/e2e
add() { # NAME VERSION FIELDS POSTINST
	rm -rf tree; mkdir -p tree/DEBIAN tree/etc
	printf 'Package: e2e-%s\nVersion: %s\nArchitecture: all\nMaintainer: e2e <e2e@localhost>\nDescription: test\n' "$1" "$2" >tree/DEBIAN/control
	[ -z "$3" ] || echo "$3" >>tree/DEBIAN/control
	[ -z "$4" ] || { printf '#!/bin/sh\n%s\n' "$4" >tree/DEBIAN/postinst; chmod 755 tree/DEBIAN/postinst; }
	mkdir -p "tree/etc/e2e-$1.d"; echo "$2" >"tree/etc/e2e-$1.d/version"
	deb="repo/e2e-$1_$2_all.deb"
	dpkg-deb --root-owner-group -b tree "$deb" >/dev/null
	{ dpkg-deb -f "$deb"; echo "Filename: ./$(basename "$deb")"; echo "Size: $(stat -c %s "$deb")"; echo "SHA256: $(sha256sum <"$deb" | cut -d' ' -f1)"; echo; } >>repo/Packages
}
add demo 1.0; add demo 1.1; add demo 2.0
for name in one two three four five; do add $name 1.0; done
add broken 1.0 '' 'echo cannot start >&2; exit 3'
add mta-a 1.0 'Provides: e2e-mta'; add mta-b 1.0 'Provides: e2e-mta'
add slow 1.0 '' 'touch /tmp/e2e-locked; until test -e /tmp/e2e-go; do sleep 0.05; done'
add left 1.0 'Conflicts: e2e-right'; add right 1.0
echo 'deb [trusted=yes] copy:/srv/e2e/repo ./' >/etc/apt/sources.list
apt-get -qq update`

// startOther has a host of another kind than Debian. One that is up stays up.
func startOther(t *testing.T, kind, host string) *fleet {
	t.Helper()
	f := leaseFleet(t)
	if !strings.Contains(f.tool("status"), "\t"+kind+"\tup\n") {
		f.tool("up", "1", "--"+kind)
		t.Cleanup(func() { f.tool("down", host) })
	}
	write(t, f.path("root.yaml"), f.tool("inventory"))
	return f
}

func dnfFamily(t *testing.T) *family {
	f := &family{
		fleet: startOther(t, "rpm", "r001"), host: "r001", pinned: "-", holder: "process ", trouble: "cannot start",
		version:      func(v string) string { return v + "-1" },
		setup:        rpmRepository + dnfSetup,
		restore:      "rm -rf /srv/e2e /etc/yum.repos.d/e2e.repo",
		state:        "rpm -qa --qf '%{NAME} %{VERSION}-%{RELEASE}\\n' 'e2e-*' | sed 's/^e2e-//' | sort",
		transactions: "dnf -q history list 2>/dev/null | grep -c '^ *[0-9]' || true",
		install:      installRPM,
		remove:       "rpm -e $(rpm -qa 'e2e-*') >/dev/null 2>&1 || true",
		lock:         "echo 1 >/var/lib/dnf/rpmdb_lock.pid", // a process that lives
		unlock:       "rm /var/lib/dnf/rpmdb_lock.pid",
	}
	f.begin()
	return f
}

// rpmRepository makes the repository of hosts with rpm.
const rpmRepository = `set -e
rm -rf /srv/e2e; mkdir -p /srv/e2e/repo
cd /srv/e2e
add() { # NAME VERSION FIELDS SCRIPT
	cat >spec <<-SPEC
		Name: e2e-$1
		Version: $2
		Release: 1
		Summary: test
		License: none
		BuildArch: noarch
		AutoReqProv: no
		$3
		%description
		test
		%install
		mkdir -p %{buildroot}/etc/e2e-$1.d
		echo $2 >%{buildroot}/etc/e2e-$1.d/version
		$4
		%files
		%config(noreplace) /etc/e2e-$1.d/version
	SPEC
	rpmbuild --quiet -bb --define '_topdir /srv/e2e/top' --define '_rpmdir /srv/e2e/repo' \
		--define '_build_name_fmt %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm' spec >log 2>&1 || { cat log; exit 1; }
}
add demo 1.0; add demo 1.1; add demo 2.0
for name in one two three four five; do add $name 1.0; done
add broken 1.0 '' '%pre -p <lua>
error("cannot start")'
add mta-a 1.0 'Provides: e2e-mta'; add mta-b 1.0 'Provides: e2e-mta'
add left 1.0 'Conflicts: e2e-right'; add right 1.0
add epoch 5.8 'Epoch: 2'
createrepo_c -q repo
`

// installRPM takes NAME-VERSION-RELEASE.
const installRPM = `file() { rpm -U --quiet --oldpackage "/srv/e2e/repo/$1.noarch.rpm"; }; file`

const dnfSetup = `printf '%s\n' '[e2e]' 'name=e2e' 'baseurl=file:///srv/e2e/repo' 'gpgcheck=0' >/etc/yum.repos.d/e2e.repo
dnf -q --refresh makecache`

// zypperFamily has the same host without dnf, so that zypper is found.
func zypperFamily(t *testing.T) *family {
	f := &family{
		fleet: startOther(t, "rpm", "r001"), host: "r001", pinned: "-", holder: "process ", trouble: "cannot start",
		version:      func(v string) string { return v + "-1" },
		setup:        rpmRepository + zypperSetup,
		restore:      "rm -rf /srv/e2e /etc/zypp/repos.d/e2e.repo /etc/zypp/locks; mv /usr/lib/hidden/dnf* /usr/bin/",
		state:        "rpm -qa --qf '%{NAME} %{VERSION}-%{RELEASE}\\n' 'e2e-*' | sed 's/^e2e-//' | sort",
		transactions: "grep -c 'zypper.*install.*--auto-agree' /var/log/zypp/history || true",
		install:      installRPM,
		// libsolv cannot bring its copy of a database up to date that has become empty.
		remove: "rpm -e $(rpm -qa 'e2e-*') >/dev/null 2>&1; rm -rf /var/cache/zypp/solv/@System",
		lock:   "echo 1 >/run/zypp.pid", // a process that lives
		unlock: "rm /run/zypp.pid",
	}
	f.begin()
	return f
}

const zypperSetup = `mkdir -p /etc/zypp/repos.d
printf '%s\n' '[e2e]' 'name=e2e' 'enabled=1' 'autorefresh=1' 'baseurl=dir:///srv/e2e/repo' 'gpgcheck=0' >/etc/zypp/repos.d/e2e.repo
mv /usr/bin/dnf* /usr/lib/hidden/
zypper -q -n refresh`

// pacmanFamily has a repository, in which every package has one version, and a
// cache with others.
func pacmanFamily(t *testing.T) *family {
	f := &family{
		fleet: startOther(t, "pacman", "p001"), host: "p001", pinned: "-", holder: "another process", trouble: "unable to satisfy dependency 'e2e-nowhere' required by e2e-broken",
		version:      func(v string) string { return v + "-1" },
		setup:        pacmanSetup,
		restore:      "rm -rf /srv/e2e /var/cache/pacman/pkg/e2e-*",
		state:        "pacman -Q | sed -n 's/^e2e-//p' | sort",
		transactions: "grep -c 'transaction started' /var/log/pacman.log || true",
		install:      `file() { pacman --noconfirm -U "/srv/e2e/repo/$1-any.pkg.tar.gz"; }; file`,
		remove:       "pacman --noconfirm -Rdd $(pacman -Qq | grep '^e2e-') >/dev/null 2>&1 || true",
		lock:         "touch /var/lib/pacman/db.lck",
		unlock:       "rm /var/lib/pacman/db.lck",
	}
	f.begin()
	return f
}

const pacmanSetup = `set -e
rm -rf /srv/e2e; mkdir -p /srv/e2e/repo /var/cache/pacman/pkg
cd /srv/e2e
add() { # NAME VERSION FIELDS SCRIPT
	rm -rf tree; mkdir -p "tree/etc/e2e-$1.d"; echo "$2" >"tree/etc/e2e-$1.d/version"
	printf '%s\n' "pkgname = e2e-$1" "pkgbase = e2e-$1" "pkgver = $2" 'pkgdesc = test' 'builddate = 1700000000' \
		'packager = e2e' 'size = 10' 'arch = any' "backup = etc/e2e-$1.d/version" >tree/.PKGINFO
	[ -z "$3" ] || echo "$3" >>tree/.PKGINFO
	(cd tree && bsdtar -czf "../repo/e2e-$1-$2-any.pkg.tar.gz" .PKGINFO etc)
}
add demo 1.0-1; add demo 1.1-1; add demo 2.0-1
for name in one two three four five; do add $name 1.0-1; done
add broken 1.0-1 'depend = e2e-nowhere'
add mta-a 1.0-1 'provides = e2e-mta'; add mta-b 1.0-1 'provides = e2e-mta'
add left 1.0-1 'conflict = e2e-right'; add right 1.0-1
add needs-demo 1.0-1 'depend = e2e-demo'
add epoch 2:5.8-1
add member 1.0-1 'group = e2e-group'
cd repo; repo-add -q e2e.db.tar.gz *.pkg.tar.gz >/dev/null 2>&1
cp *.pkg.tar.gz /var/cache/pacman/pkg/
printf '%s\n' '[options]' 'Architecture = auto' 'SigLevel = Never' '[e2e]' 'Server = file:///srv/e2e/repo' >/etc/pacman.conf
pacman --noconfirm -Sy >/dev/null`

func (f *family) begin() {
	f.Helper()
	f.sh(f.host, f.setup)
	f.Cleanup(func() { f.sh(f.host, f.remove+"; "+f.restore) })
}

// reset leaves exactly these packages installed: "demo=1.0".
func (f *family) reset(packages ...string) {
	f.Helper()
	f.sh(f.host, f.remove+"; rm -rf /tmp/e2e-* /etc/e2e*")
	for _, p := range packages {
		name, version, _ := strings.Cut(p, "=")
		f.sh(f.host, f.install+" e2e-"+name+f.pinned+f.version(version))
	}
}

// A packageRow is a list of resources on a host with some packages.
type packageRow struct {
	name      string
	before    []string
	command   string // run on the host as well, before
	resources string // e2e- is put before the names of packages
	want      []string
	errors    []string // parts of the errors, in the order of the resources
	after     []string // installed, with versions
	one       bool     // all in one transaction
	quarrels  bool     // with itself, so that a second run changes something again
}

// converge takes a row through a check run, which changes nothing and whose
// certain predictions are right, a run, and a second one, which changes nothing.
func (f *family) converge(t *testing.T, row packageRow) {
	f.reset(row.before...)
	if row.command != "" {
		f.sh(f.host, row.command)
	}
	write(t, f.path("packages.yaml"), "ccm:\n  resources:\n"+row.resources)
	push := func(args ...string) []event {
		r := f.push(append([]string{"-i", "root.yaml", "-l", f.host, "--output", "json"}, append(args, "packages.yaml")...)...)
		return only(r.events(t), "result")
	}
	untouched := f.sh(f.host, f.state)
	predicted := push("--check")
	require.Equal(t, untouched, f.sh(f.host, f.state), "a check run has changed something")
	began := f.sh(f.host, f.transactions)
	results := push()
	var statuses, errors []string
	for i, e := range results {
		statuses = append(statuses, e.Status)
		if e.Error != "" {
			errors = append(errors, e.Error)
		}
		if predicted[i].Certain {
			require.Equal(t, e.Status, predicted[i].Status, e.Name)
		}
	}
	require.Equal(t, row.want, statuses, "%+v", results)
	require.Len(t, errors, len(row.errors), "%q", errors)
	for i, part := range row.errors {
		require.Contains(t, errors[i], part)
	}
	var after strings.Builder
	for _, p := range row.after {
		name, version, _ := strings.Cut(p, "=")
		fmt.Fprintf(&after, "%s %s\n", name, f.version(version))
	}
	require.Equal(t, after.String(), f.sh(f.host, f.state))
	if row.one {
		require.NotEqual(t, began, f.sh(f.host, f.transactions))
		require.Equal(t, strings.TrimSpace(began)+" and one more", f.oneLess())
	}
	if len(row.errors) > 0 || row.quarrels {
		return
	}
	for _, e := range push() {
		require.Contains(t, []string{"stable", "skipped"}, e.Status, "the second run: %+v", e)
	}
}

// oneLess says how many transactions there have been before the last.
func (f *family) oneLess() string {
	return strings.TrimSpace(f.sh(f.host, "echo $(($("+f.transactions+") - 1))")) + " and one more"
}

// rows are what every package manager does.
func (f *family) rows() []packageRow {
	v := f.version
	return []packageRow{
		{name: "install", resources: "    - package: [e2e-demo: {ensure: present}]\n", want: []string{"changed"}, after: []string{"demo=2.0"}},
		{name: "present is the default", before: []string{"demo=1.0"}, resources: "    - package: [e2e-demo: ]\n", want: []string{"stable"}, after: []string{"demo=1.0"}},
		{name: "install a version", resources: "    - package: [e2e-demo: {ensure: \"" + v("1.0") + "\"}]\n", want: []string{"changed"}, after: []string{"demo=1.0"}},
		{name: "upgrade", before: []string{"demo=1.0"}, resources: "    - package: [e2e-demo: {ensure: \"" + v("1.1") + "\"}]\n", want: []string{"changed"}, after: []string{"demo=1.1"}},
		{name: "downgrade", before: []string{"demo=2.0"}, resources: "    - package: [e2e-demo: {ensure: \"" + v("1.0") + "\"}]\n", want: []string{"changed"}, after: []string{"demo=1.0"}},
		{name: "a range", before: []string{"demo=2.0"}, resources: "    - package: [e2e-demo: {ensure: \">= 1.0, < 2\"}]\n", want: []string{"changed"}, after: []string{"demo=1.1"}},
		{
			name: "from files beside the manifest", before: []string{"demo=2.0"},
			resources: "    - package: [e2e-demo: {ensure: \"" + v("1.1") + "\", source: demo.package}]\n    - package: [e2e-one: {source: demo.package}]\n",
			want:      []string{"changed", "failed"}, errors: []string{`the file holds the package "e2e-demo", and not "e2e-one"`}, after: []string{"demo=1.1"},
		},
		{name: "latest", before: []string{"demo=1.0"}, resources: "    - package: [e2e-demo: {ensure: latest}]\n", want: []string{"changed"}, after: []string{"demo=2.0"}},
		{name: "latest already", before: []string{"demo=2.0"}, resources: "    - package: [e2e-demo: {ensure: latest}]\n", want: []string{"stable"}, after: []string{"demo=2.0"}},
		{name: "remove", before: []string{"demo=1.0"}, resources: "    - package: [e2e-demo: {ensure: absent}]\n", want: []string{"changed"}},
		{name: "remove what is not there", resources: "    - package: [e2e-demo: {ensure: absent}]\n", want: []string{"stable"}},
		{name: "unknown", resources: "    - package: [e2e-nothing: ]\n", want: []string{"failed"}, errors: []string{`package "e2e-nothing" is in no package list`}},
		{
			name: "names that are a pattern of another one", resources: "    - package: [e2e-d.mo: , e2e-demo+: {ensure: latest}, e2e-d.m.: {ensure: absent}]\n", want: []string{"failed", "failed", "stable"},
			errors: []string{`package "e2e-d.mo" is in no package list`, `package "e2e-demo+" is in no package list`},
		},
		{
			name: "a version that nobody has", before: []string{"demo=1.0"}, resources: "    - package: [e2e-demo: {ensure: \"9\"}]\n", want: []string{"failed"},
			errors: []string{`version 9 of "e2e-demo" is not available; available: ` + v("2.0")}, after: []string{"demo=1.0"},
		},
		{name: "virtual, and provided", before: []string{"mta-a=1.0"}, resources: "    - package: [e2e-mta: ]\n", want: []string{"stable"}, after: []string{"mta-a=1.0"}},
		{
			name: "locked", command: f.lock, resources: "    - package: [e2e-demo: {lock_timeout: 1s}]\n", want: []string{"failed"},
			errors: []string{"the package database is in use by " + f.holder},
		},
		{
			name: "five in one transaction", one: true,
			resources: "    - package: [e2e-one: , e2e-two: , e2e-three: {ensure: latest}, e2e-four: {ensure: \"" + v("1.0") + "\"}, e2e-five: ]\n",
			want:      []string{"changed", "changed", "changed", "changed", "changed"}, after: []string{"five=1.0", "four=1.0", "one=1.0", "three=1.0", "two=1.0"},
		},
		{
			name: "one of them is broken", resources: "    - package: [e2e-one: , e2e-broken: , e2e-two: , e2e-three: {require: [\"package#e2e-broken\"]}]\n",
			want: []string{"changed", "failed", "changed", "skipped"}, errors: []string{f.trouble}, after: []string{"one=1.0", "two=1.0"},
		},
		{
			name: "a package, its configuration, and what listens to both",
			resources: "    - package: [e2e-demo: ]\n    - file: [/etc/e2e-demo.d/conf: {content: hi, owner: root, group: root, mode: \"0644\"}]\n" +
				"    - exec: [touch /tmp/e2e-reloaded: {refreshonly: true, subscribe: [\"package#e2e-demo\", \"file#/etc/e2e-demo.d/conf\"]}]\n",
			want: []string{"changed", "changed", "changed"}, after: []string{"demo=2.0"},
		},
		{
			name: "the same package twice", quarrels: true, resources: "    - package:\n        - e2e-demo: {ensure: \"" + v("1.0") + "\", alias: first}\n        - e2e-demo: {ensure: latest, alias: second}\n        - e2e-demo: {alias: third}\n",
			want: []string{"changed", "changed", "stable"}, after: []string{"demo=2.0"},
		},
	}
}

func (f *family) run(t *testing.T, rows []packageRow) {
	one, err := base64.StdEncoding.DecodeString(f.sh(f.host, "base64 -w 0 /srv/e2e/repo/e2e-demo[-_]1.1*"))
	require.NoError(t, err)
	write(t, f.path("demo.package"), string(one))
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			if row.command == f.lock {
				t.Cleanup(func() { f.sh(f.host, f.unlock) })
			}
			f.converge(t, row)
		})
	}
}

func TestFleetPackagesApt(t *testing.T) {
	f := aptFamily(t)
	f.run(t, append(f.rows(),
		packageRow{
			name: "held", before: []string{"demo=1.0"}, command: "apt-mark -qq hold e2e-demo",
			resources: "    - package:\n        - e2e-demo: {ensure: latest, alias: a}\n        - e2e-demo: {ensure: absent, alias: b}\n        - e2e-demo: {alias: c}\n",
			want:      []string{"failed", "failed", "stable"}, after: []string{"demo=1.0"},
			errors: []string{"e2e-demo is held at 1.0; to let it change, run: apt-mark unhold e2e-demo", "e2e-demo is held at 1.0"},
		},
		packageRow{
			name: "put on hold, and changed nevertheless", before: []string{"demo=1.0"}, command: "apt-mark -qq hold e2e-demo",
			resources: "    - package:\n        - e2e-demo: {ensure: \"1.1\", hold: true, alias: a}\n        - e2e-one: {hold: true}\n    - exec: [apt-mark showhold | grep -c e2e- | grep -q 2: {onlyif: \"false\"}]\n",
			want:      []string{"changed", "changed", "stable"}, after: []string{"demo=1.1", "one=1.0"},
		},
		packageRow{
			name: "torn by dpkg", before: []string{"demo=1.0"}, command: "sed -i '/^Package: e2e-demo$/,/^$/s/^Status: .*/Status: install reinstreq half-installed/' /var/lib/dpkg/status",
			resources: "    - package:\n        - e2e-demo: {ensure: absent, alias: a}\n        - e2e-demo: {alias: b}\n",
			want:      []string{"failed", "changed"}, after: []string{"demo=1.0"}, errors: []string{"e2e-demo is reinstreq half-installed, and dpkg cannot remove it: first install the package again"},
		},
		packageRow{
			name: "one replaces the other", before: []string{"left=1.0"}, resources: "    - package: [e2e-right: ]\n",
			want: []string{"changed"}, after: []string{"right=1.0"},
		},
		packageRow{
			name: "configuration that was changed stays", before: []string{"demo=1.0"}, command: "echo mine >/etc/e2e-demo.d/version",
			resources: "    - package: [e2e-demo: {ensure: latest}]\n    - exec: [\"grep -q mine /etc/e2e-demo.d/version\": {onlyif: \"false\"}]\n",
			want:      []string{"changed", "stable"}, after: []string{"demo=2.0"},
		},
	))
}

func TestFleetPackagesDnf(t *testing.T) {
	f := dnfFamily(t)
	row := func(name, ensure string, before []string, want string) packageRow {
		return packageRow{
			name: name, before: before, resources: "    - package: [e2e-demo: {ensure: \"" + ensure + "\"}]\n",
			want: []string{want}, after: []string{"demo=1.1"},
		}
	}
	f.run(t, append(f.rows(),
		row("a version without a release", "1.1", []string{"demo=1.0"}, "changed"),
		row("it is there already", "1.1", []string{"demo=1.1"}, "stable"),
		row("with epoch and release", "0:1.1-1", []string{"demo=2.0"}, "changed"),
		packageRow{
			name: "a hold without the plugin for it", before: []string{"demo=1.0"}, resources: "    - package: [e2e-demo: {hold: true}]\n",
			want: []string{"failed"}, errors: []string{"install python3-dnf-plugin-versionlock"}, after: []string{"demo=1.0"},
		},
		packageRow{
			name: "an epoch", resources: "    - package: [e2e-epoch: {ensure: \"2:5.8-1\", alias: a}]\n    - package: [e2e-epoch: {ensure: \"5.8\", alias: b}]\n",
			want: []string{"changed", "stable"}, after: []string{"epoch=5.8"},
		},
		packageRow{
			name: "one excludes the other", before: []string{"left=1.0"}, resources: "    - package: [e2e-right: ]\n",
			want: []string{"failed"}, errors: []string{"conflicts with e2e-right"}, after: []string{"left=1.0"},
		},
		packageRow{
			name: "a virtual package is installed", resources: "    - package: [e2e-mta: ]\n",
			want: []string{"changed"}, after: []string{"mta-a=1.0"},
		},
	))
}

func TestFleetPackagesZypper(t *testing.T) {
	f := zypperFamily(t)
	row := func(name, ensure string, before []string, want string) packageRow {
		return packageRow{
			name: name, before: before, resources: "    - package: [e2e-demo: {ensure: \"" + ensure + "\"}]\n",
			want: []string{want}, after: []string{"demo=1.1"},
		}
	}
	f.run(t, append(f.rows(),
		row("a version without a release", "1.1", []string{"demo=1.0"}, "changed"),
		row("it is there already", "1.1", []string{"demo=1.1"}, "stable"),
		row("with epoch and release", "0:1.1-1", []string{"demo=2.0"}, "changed"),
		packageRow{
			name: "an epoch", resources: "    - package: [e2e-epoch: {ensure: \"2:5.8-1\", alias: a}]\n    - package: [e2e-epoch: {ensure: \"5.8\", alias: b}]\n",
			want: []string{"changed", "stable"}, after: []string{"epoch=5.8"},
		},
		packageRow{
			name: "put on hold, and changed nevertheless", before: []string{"demo=1.0"}, command: "zypper -q addlock e2e-demo",
			resources: "    - package:\n        - e2e-demo: {ensure: \"1.1\", hold: true}\n        - e2e-one: {hold: true}\n",
			want:      []string{"changed", "changed"}, after: []string{"demo=1.1", "one=1.0"},
		},
		packageRow{
			name: "taken off hold", command: "zypper -q addlock e2e-demo e2e-one", before: []string{"demo=1.0"},
			resources: "    - package: [e2e-demo: {ensure: latest, hold: false}, e2e-one: {hold: false}]\n",
			want:      []string{"changed", "changed"}, after: []string{"demo=2.0", "one=1.0"},
		},
		packageRow{
			name: "locked by somebody", before: []string{"demo=1.0"}, command: "zypper -q addlock e2e-demo",
			resources: "    - package: [e2e-demo: {ensure: latest}]\n", want: []string{"failed"}, after: []string{"demo=1.0"}, errors: []string{"e2e-demo"},
		},
		packageRow{
			name: "one excludes the other", command: "zypper -q removelock e2e-demo", before: []string{"left=1.0"}, resources: "    - package: [e2e-right: ]\n",
			want: []string{"failed"}, errors: []string{"conflicts with e2e-right"}, after: []string{"left=1.0"},
		},
		packageRow{
			name: "a virtual package is installed", resources: "    - package: [e2e-mta: ]\n",
			want: []string{"changed"}, after: []string{"mta-a=1.0"},
		},
		packageRow{
			name: "fetching the lists", command: "touch -d '2 hours ago' /var/cache/zypp/raw", resources: "    - package: [e2e-demo: {cache_valid: 1h}]\n",
			want: []string{"changed"}, after: []string{"demo=2.0"},
		},
	))
}

func TestFleetPackagesPacman(t *testing.T) {
	f := pacmanFamily(t)
	f.run(t, append(f.rows(),
		packageRow{
			name: "a version without a release", before: []string{"demo=2.0"}, resources: "    - package: [e2e-demo: {ensure: \"1.1\"}]\n",
			want: []string{"changed"}, after: []string{"demo=1.1"},
		},
		packageRow{
			name: "an epoch", resources: "    - package: [e2e-epoch: {ensure: \"2:5.8-1\"}]\n",
			want: []string{"changed"}, after: []string{"epoch=2:5.8"},
		},
		packageRow{
			name: "held", before: []string{"demo=1.0"}, command: "sed -i '/^SigLevel/i IgnorePkg = e2e-de*' /etc/pacman.conf",
			resources: "    - package:\n        - e2e-demo: {ensure: latest, alias: a}\n        - e2e-demo: {ensure: absent, alias: b}\n        - e2e-demo: {alias: c}\n",
			want:      []string{"failed", "failed", "stable"}, after: []string{"demo=1.0"},
			errors: []string{"e2e-demo is held at 1.0-1; to let it change, take it out of IgnorePkg in /etc/pacman.conf", "e2e-demo is held at 1.0-1"},
		},
		packageRow{
			name: "one excludes the other", command: "sed -i '/^IgnorePkg/d' /etc/pacman.conf", before: []string{"left=1.0"}, resources: "    - package: [e2e-right: ]\n",
			want: []string{"failed"}, errors: []string{"e2e-right and e2e-left are in conflict"}, after: []string{"left=1.0"},
		},
		packageRow{
			name: "others need it", before: []string{"demo=1.0", "needs-demo=1.0"}, resources: "    - package: [e2e-demo: {ensure: absent}]\n",
			want: []string{"failed"}, errors: []string{"removing e2e-demo breaks dependency 'e2e-demo' required by e2e-needs-demo"}, after: []string{"demo=1.0", "needs-demo=1.0"},
		},
		packageRow{
			name: "a group", resources: "    - package: [e2e-group: ]\n",
			want: []string{"failed"}, errors: []string{`"e2e-group" is a group of packages; name the packages of it that are wanted`},
		},
		packageRow{
			name: "a virtual package is installed", resources: "    - package: [e2e-mta: ]\n",
			want: []string{"changed"}, after: []string{"mta-a=1.0"},
		},
		packageRow{
			name: "fetching the lists", command: "touch -d '2 hours ago' /var/lib/pacman/sync", resources: "    - package: [e2e-demo: {cache_valid: 1h}]\n",
			want: []string{"changed"}, after: []string{"demo=2.0"},
		},
	))
}

// TestFleetPackageOrders takes the tests of our orders of versions to hosts that
// have the tools.
func TestFleetPackageOrders(t *testing.T) {
	for name, host := range map[string]string{"pacman": "p001", "rpm": "r001"} {
		t.Run(name, func(t *testing.T) {
			f := startOther(t, name, host)
			program := f.path("pkg.test")
			build := exec.Command("go", "test", "-c", "-o", program, "github.com/ccm-push/ccm-push/modules/pkg")
			build.Env = append(os.Environ(), "CGO_ENABLED=0")
			out, err := build.CombinedOutput()
			require.NoError(t, err, "%s", out)
			f.send(host, program, "/run/e2e-pkg.test")
			said := f.tool("exec", host, "env", "TMPDIR=/tmp", "/run/e2e-pkg.test",
				"-test.run", "TestOrdersAreThoseOfTheTools/"+name, "-test.v", "-pairs", "20000", fmt.Sprintf("-test.short=%t", testing.Short()))
			require.Contains(t, said, "--- PASS: TestOrdersAreThoseOfTheTools/"+name, said)
		})
	}
}
