//go:build e2e

package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A theme is a part of a host. Its resources and the commands before them concern the same few paths, accounts and
// settings, so that they often meet.
type theme struct {
	before []string // commands of sh that change the host before a manifest is checked
	shapes []shape
}

// A shape is resources of a type.
type shape struct {
	typ   string
	names []string
	parts [][]string // the properties are one text of each part; empty texts are left out
}

// A drawnResource is a resource of a generated manifest.
type drawnResource struct {
	typ, name, properties string
	verb                  string // "subscribe", "require", or empty
	to                    string // the resource that it subscribes to or requires
}

func (r drawnResource) ref() string { return r.typ + "#" + r.name }

// A fidelityCase is a host before a manifest is checked, and the manifest.
type fidelityCase struct {
	before    []string
	resources []drawnResource
}

// unitLinks are the links that `systemctl enable` creates.
var unitLinks = []string{
	"/etc/systemd/system/multi-user.target.wants/fid-a.service", "/etc/systemd/system/fid-alias.service",
	"/etc/systemd/system/fid-a.service.requires/fid-b.service", "/etc/systemd/system/sockets.target.wants/fid-c.socket",
}

var (
	texts      = []string{`content: "1\n"`, `content: "2\n"`, `content: "1\r\n2\r\n"`, `content: "1"`, `content: ""`, ""}
	modes      = []string{`mode: "0644"`, `mode: "0644"`, `mode: "0600"`, `mode: "u+x"`, ""}
	owners     = []string{"owner: root", "owner: root", "owner: root", "owner: fida", ""}
	groups     = []string{"group: root", "group: root", "group: root", "group: fidg", ""}
	absent     = [][]string{{"ensure: absent"}}
	anyFile    = []string{"/srv/fid/a", "/srv/fid/b", "/srv/fid/d/x", "/srv/fid/d/y", "/srv/fid/l/x", "/srv/fid/l", "/srv/fid/hard", "/srv/fid/new/x", "/etc/fid.conf"}
	someLines  = []string{`line: "# fid 1"`, `line: "# fid 2", regexp: "^# fid"`, "ensure: absent, regexp: fid", `block: "fid:1\nfid:2"`}
	publics    = []string{"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAED7nlnqWY7VFewQlPSkKNqF2RB0Z+15k3zEaojud33", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMfpQb4L8YB70ZH90xHu4goo3u+EhiCsuSuGqVGvaqFq"}
	forwarding = []string{"net.ipv4.ip_forward", "net.ipv4.conf.all.forwarding", "net.ipv4.conf.default.forwarding", "net.ipv4.conf.lo.forwarding",
		"net.ipv6.conf.all.forwarding", "net.ipv6.conf.default.forwarding", "net.ipv6.conf.lo.forwarding", "net.ipv6.conf.all.disable_ipv6", "net.ipv6.conf.default.disable_ipv6", "net.ipv6.conf.lo.disable_ipv6"}
)

// themes are drawn from. Each name in them is one that resetFidelity knows.
var themes = map[string]theme{
	"files": {
		before: []string{
			"echo 1 >/srv/fid/a", "printf '1\\r\\n' >/srv/fid/a", "ln -s d /srv/fid/l", "ln -s a /srv/fid/l", "ln -s nowhere /srv/fid/l", "echo x >/srv/fid/d/x", "chmod 2750 /srv/fid/d",
			"printf '[s]\\nk = 1\\n' >/srv/fid/i.ini", "ln /srv/fid/a /srv/fid/hard", "mkdir -p /srv/fid/new/deep; echo 1 >/srv/fid/new/x", "mkdir /srv/fid/a", "echo 3 >/etc/fid.conf",
		},
		shapes: []shape{
			{"file", anyFile, [][]string{texts, modes, owners, groups, {"", "", "", `validate: "grep -q 1 %s"`}}},
			{"file", anyFile, absent},
			{"file", []string{"/srv/fid/d", "/srv/fid/new", "/srv/fid/l", "/srv/fid/new/deep"}, [][]string{{"ensure: directory"}, {`mode: "0755"`, `mode: "0700"`, `mode: "g+s"`, "", `mode: "0755", recurse: true`}, owners, groups}},
			{"file", []string{"/srv/fid/d", "/srv/fid/new", "/srv/fid/l"}, [][]string{{"ensure: absent"}, {"force: true"}}},
			{"link", []string{"/srv/fid/l", "/srv/fid/d/l", "/srv/fid/b"}, [][]string{{"target: /srv/fid/d", "target: d", "target: a", "target: /srv/fid/new"}, {"", "force: true"}}},
			{"link", []string{"/srv/fid/l", "/srv/fid/d/l"}, absent},
			{"line", []string{"fid1", "fid2", "fid3"}, [][]string{{"path: /srv/fid/a", "path: /srv/fid/b", "path: /srv/fid/i.ini", "path: /srv/fid/hard", "path: /srv/fid/l/x", "path: /etc/fid.conf"}, someLines, {"", "create: true"}}},
			{"replace", []string{"/srv/fid/a", "/srv/fid/l/x", "/srv/fid/hard", "/srv/fid/i.ini"}, [][]string{{`regexp: "^1$"`, `regexp: "fid", replace: "dif"`, `regexp: "1", replace: "3"`}, {"", "after: '^\\[s\\]'"}}},
			{"ini", []string{"/srv/fid/i.ini", "/etc/fid.conf"}, [][]string{{"section: s", "section: t"}, {`option: k, value: "1"`, `option: k, value: "2"`, "option: k, ensure: absent", `option: k2, value: "1"`}, {"", "create: true"}}},
			{"ini", []string{"fid section"}, [][]string{{"path: /srv/fid/i.ini"}, {"section: s"}, {"ensure: absent"}}},
			{"exec", []string{"touch /srv/fid/a", "mkdir /srv/fid/new", "rm -f /srv/fid/b", "sh -c 'echo 9 >>/srv/fid/a'"}, [][]string{{"creates: /srv/fid/a", "creates: /srv/fid/new", `onlyif: "test -e /srv/fid/a"`, `unless: "grep -q fid /srv/fid/a"`, "refreshonly: true", "refreshonly: true"}}},
			{"exec", []string{"true", "false", "/srv/fid/d/none"}, [][]string{{"", "readonly: true", "refreshonly: true", "returns: [1]", "creates: /srv/fid/b"}}},
		},
	},
	"services": {
		before: []string{
			"systemctl enable -q fid-a", "systemctl enable -q fid-b", "systemctl start fid-a", "systemctl start fid-b", "systemctl mask -q fid-b", "systemctl enable -q fid-c.socket",
			"mkdir -p /etc/systemd/system/fid-a.service.d; printf '[Service]\\nNice=1\\n' >/etc/systemd/system/fid-a.service.d/fid.conf; systemctl daemon-reload",
		},
		shapes: []shape{
			{"service", []string{"fid-a", "fid-b", "fid-c", "fid-c.socket", "fid-d", "fid-none"}, [][]string{{"ensure: running", "ensure: running, enable: true", "ensure: running, enable: false", "ensure: stopped, enable: true", "ensure: stopped, masked: true", "ensure: stopped, masked: false"}, {"", "", "reload: true"}}},
			{"service", []string{"fid-a", "fid-b"}, [][]string{{"ensure: running", "ensure: stopped"}, {"enable: true", "enable: false"}}},
			{"link", unitLinks, [][]string{{"target: /usr/local/lib/systemd/system/fid-a.service", "target: /usr/local/lib/systemd/system/fid-b.service", "ensure: absent"}}},
			{"file", slices.Concat(unitLinks, []string{"/etc/systemd/system/fid.target.wants", "/etc/systemd/system/fid-b.service"}), absent},
			{"file", []string{"/etc/systemd/system/fid-a.service", "/etc/systemd/system/fid-new.service"}, [][]string{{`content: "[Service]\nExecStart=/bin/sleep 1001\n[Install]\nWantedBy=multi-user.target\n"`, `content: "[Service]\nExecStart=/nowhere\n"`}, {`mode: "0644"`}}},
			{"service", []string{"fid-new"}, [][]string{{"ensure: running", "ensure: stopped"}, {"", "enable: true"}}},
			{"ini", []string{"/etc/systemd/system/fid-a.service.d/fid.conf"}, [][]string{{"section: Service"}, {`option: Nice, value: "2"`, `option: Nice, ensure: absent`}, {"create: true"}}},
			{"file", []string{"/etc/systemd/system/fid-a.service.d"}, [][]string{{"ensure: directory", "ensure: absent, force: true"}}},
			{"exec", []string{"systemctl daemon-reload", "systemctl start fid-b"}, [][]string{{"", "refreshonly: true", `onlyif: "systemctl is-enabled fid-a"`}}},
		},
	},
	"accounts": {
		before: []string{
			"useradd -u 4101 -m fida", "groupadd -g 4102 fidg", "useradd -M fidb", "echo 'fidb:x:4105:100::/home/fidb:/bin/sh' >>/etc/passwd", "passwd -q -l fida", "touch /var/mail/fida", "mkdir /home/fida",
			"useradd -m fida; install -d -m 700 -o fida -g fida /home/fida/.ssh; echo '" + publics[0] + "' >/home/fida/.ssh/authorized_keys; chown fida: /home/fida/.ssh/authorized_keys", "echo 'fidg:x:4102:fida' >>/etc/group",
		},
		shapes: []shape{
			{"user", []string{"fida", "fidb"}, [][]string{{"uid: 4101", "uid: 4103", "", ""}, {"", "groups: [fidg]", "group: fidg", "groups: []"}, {"", "create_home: false", "create_home: true", "home: /srv/fid/home"}, {"", "comment: fid", "shell: /bin/sh", "password_lock: true", `password_hash: "*"`, "expires: 2030-12-31", "system: true"}}},
			{"user", []string{"fida", "fidb"}, [][]string{{"ensure: absent"}, {"", "remove_home: true"}}},
			{"group", []string{"fidg", "fida"}, [][]string{{"gid: 4102", "gid: 4104", "gid: 4101", "", "", "system: true", "ensure: absent"}}},
			{"line", []string{"fid1", "fid2", "fid3"}, [][]string{{"path: /etc/subuid", "path: /etc/subgid", "path: /etc/group", "path: /etc/gshadow", "path: /etc/passwd", "path: /etc/shadow"}, {`line: "# fid 1"`, `line: "fida:100000:65536", regexp: "^fida:"`, "ensure: absent, regexp: fidb"}}},
			{"authorized_key", []string{"fid key", "fid other"}, [][]string{{"user: fida"}, {"key: " + publics[0], "key: " + publics[1]}, {"", "exclusive: true", "ensure: absent"}}},
			{"file", []string{"/home/fida", "/home/fida/.ssh"}, [][]string{{"ensure: directory", "ensure: absent, force: true"}}},
			{"file", []string{"/home/fida/x", "/home/fida/.ssh/authorized_keys", "/srv/fid/a"}, [][]string{{`content: "x\n"`, ""}, {"owner: fida", "owner: fidb", "owner: root"}, {"group: fida", "group: fidg", ""}, {`mode: "0600"`}}},
			{"file", []string{"/var/mail/fida", "/etc/subuid", "/etc/gshadow"}, [][]string{{`mode: "0600"`, `mode: "0640"`}}},
			{"sudoers", []string{"fid"}, [][]string{{"rules: ['fida ALL=(root) NOPASSWD: /bin/true']", "rules: ['fida ALL=(fidb) ALL', '%fidg ALL=(ALL) ALL']", "ensure: absent"}}},
			{"exec", []string{"true", "touch /srv/fid/a"}, [][]string{{"user: fida", `unless: "id fida"`, `onlyif: "getent group fidg"`}}},
		},
	},
	"cron": {
		before: []string{"echo '0 1 * * * true' | crontab -", "useradd -u 4101 -m fida; echo '0 1 * * * true' | crontab -u fida -", "printf 'MAILTO=root\\n#Ansible: fid1\\n* * * * * true\\n' | crontab -"},
		shapes: []shape{
			{"cron", []string{"fid1", "fid2"}, [][]string{{`command: "true"`, `command: "true # %"`}, {"", `hour: "3"`, "special: daily", "disabled: true"}, {"", "", "user: fida"}}},
			{"cron", []string{"fid1", "fid2"}, [][]string{{"ensure: absent"}, {"", "user: fida"}}},
			{"file", []string{"/var/spool/cron/crontabs/root", "/var/spool/cron/crontabs/fida"}, [][]string{{`mode: "0600"`, "ensure: absent", `content: "1 1 * * * true\n", mode: "0600"`}}},
			{"line", []string{"fid4", "fid5"}, [][]string{{"path: /var/spool/cron/crontabs/root", "path: /var/spool/cron/crontabs/fida"}, {`line: "2 2 * * * true"`, `ensure: absent, regexp: "true"`}, {"", "create: true"}}},
			{"user", []string{"fida"}, [][]string{{"uid: 4101", "ensure: absent", "ensure: absent, remove_home: true"}}},
			{"exec", []string{"crontab -r", "crontab -l"}, [][]string{{"", `onlyif: "crontab -l"`, "refreshonly: true"}}},
		},
	},
	"sysctl": {
		before: []string{"sysctl -qw net.ipv4.ip_forward=1", "sysctl -qw net.ipv6.conf.all.disable_ipv6=1", "sysctl -qw net.ipv4.conf.lo.forwarding=1", "printf '# fid\\nnet.ipv4.ip_forward=1\\nnet/ipv4/ip_forward = 0\\n' >/etc/sysctl.d/90-ccm-push.conf", "echo 'net.ipv4.ip_forward=0' >/etc/sysctl.d/99-fid.conf"},
		shapes: []shape{
			{"sysctl", forwarding, [][]string{{`value: "1"`, `value: "0"`}, {"", "persist: false", "runtime: false"}}},
			{"sysctl", forwarding, [][]string{{`value: "1"`}, {"", "persist: false"}}},
			{"sysctl", []string{"net/ipv4/ip_forward", "net.ipv4.ip_local_port_range", "net.ipv4.fid_none"}, [][]string{{`value: "1"`, `value: "32768 60000"`, "value: fid", "ensure: absent"}}},
			{"line", []string{"fid6", "fid7"}, [][]string{{"path: /etc/sysctl.d/90-ccm-push.conf"}, {`line: "net.ipv4.ip_forward = 0"`, `line: "# fid"`, `ensure: absent, regexp: forward`}, {"", "create: true"}}},
			{"file", []string{"/etc/sysctl.d/90-ccm-push.conf"}, [][]string{{`mode: "0600"`, "ensure: absent", `content: "net.ipv4.ip_forward = 1\n"`}}},
			{"exec", []string{"sysctl -qw net.ipv4.ip_forward=0", "sysctl --system"}, [][]string{{"refreshonly: true", `onlyif: "grep 1 /proc/sys/net/ipv4/ip_forward"`, ""}}},
		},
	},
	"mounts": {
		before: []string{"mount --bind /srv/fid/ba /srv/fid/bb", "mount -t tmpfs tmpfs /srv/fid/m", "mount -t tmpfs tmpfs /srv/fid/m; mount -t tmpfs tmpfs /srv/fid/m", "echo 1 >/srv/fid/ba/x", "mount -t tmpfs -o size=4k tmpfs /srv/fid/m; echo 1 >/srv/fid/m/full",
			"echo '/srv/fid/ba /srv/fid/bb none bind 0 0' >>/etc/fstab", "touch /srv/fid/ba/x; mount --bind /srv/fid/ba/x /srv/fid/ba/x", "ln -s m /srv/fid/lm", "mount -t tmpfs -o ro tmpfs /srv/fid/m", "mkdir /srv/fid/m/sub; mount -t tmpfs tmpfs /srv/fid/m/sub"},
		shapes: []shape{
			{"mount", []string{"/srv/fid/bb", "/srv/fid/m", "/srv/fid/lm", "/srv/fid/new"}, [][]string{{"", "ensure: present"}, {"device: tmpfs, fstype: tmpfs", "device: tmpfs, fstype: tmpfs, options: [size=1m]", "device: /srv/fid/ba, fstype: none, options: [bind]", "device: /srv/fid/none, fstype: none, options: [bind]"}}},
			{"mount", []string{"/srv/fid/bb", "/srv/fid/m", "/srv/fid/lm"}, [][]string{{"ensure: absent", "ensure: unmounted, device: tmpfs, fstype: tmpfs"}}},
			{"file", []string{"/srv/fid/ba/x", "/srv/fid/bb/x", "/srv/fid/m/x", "/srv/fid/lm/x", "/srv/fid/m/sub/x"}, [][]string{texts, modes}},
			{"file", []string{"/srv/fid/ba/x", "/srv/fid/bb/x", "/srv/fid/m/x", "/srv/fid/m/full"}, absent},
			{"file", []string{"/srv/fid/m", "/srv/fid/bb", "/srv/fid/ba", "/srv/fid/m/sub"}, [][]string{{"ensure: directory", `ensure: directory, mode: "0700"`, "ensure: absent, force: true"}}},
			{"line", []string{"fid8", "fid9"}, [][]string{{"path: /srv/fid/ba/x", "path: /srv/fid/bb/x", "path: /etc/fstab"}, {`line: "# fid 1"`, "ensure: absent, regexp: fid"}, {"", "create: true"}}},
			{"exec", []string{"mount -a", "umount /srv/fid/m"}, [][]string{{"refreshonly: true", `onlyif: "mountpoint -q /srv/fid/m"`}}},
		},
	},
	"attributes": {
		before: []string{"{ echo 1 >/srv/fid/b; chattr +i /srv/fid/b; }", "{ echo 1 >/srv/fid/d/y; chattr +a /srv/fid/d/y; }", "echo 1 >/srv/fid/d/x; chattr +i /srv/fid/d", "echo 1 >/srv/fid/d/x; chattr +a /srv/fid/d", "touch /srv/fid/i.ini; chattr +i /srv/fid/i.ini"},
		shapes: []shape{
			{"file", []string{"/srv/fid/b", "/srv/fid/d/x", "/srv/fid/d/y", "/srv/fid/d/new"}, [][]string{texts, modes, owners}},
			{"file", []string{"/srv/fid/b", "/srv/fid/d/x", "/srv/fid/d/y"}, absent},
			{"file", []string{"/srv/fid/d"}, [][]string{{`ensure: directory, mode: "0755", recurse: true`, "ensure: directory", `ensure: directory, mode: "0711"`, "ensure: absent, force: true"}}},
			{"line", []string{"fid10", "fid11"}, [][]string{{"path: /srv/fid/b", "path: /srv/fid/d/y", "path: /srv/fid/d/x"}, someLines, {"", "create: true"}}},
			{"link", []string{"/srv/fid/d/l", "/srv/fid/b"}, [][]string{{"target: x"}, {"", "force: true"}}},
			{"ini", []string{"/srv/fid/i.ini"}, [][]string{{`section: s, option: k, value: "1"`}}},
			{"exec", []string{"chattr -i /srv/fid/b", "chattr -R -i -a /srv/fid/d"}, [][]string{{"", "refreshonly: true"}}},
		},
	},
	"packages": {
		before: []string{"inst demo_1.0", "inst demo_2.0", "inst demo_1.0; echo mine >/etc/e2e-demo.d/version", "inst demo_1.0; apt-mark -q hold e2e-demo", "inst demo_1.0; dpkg -r e2e-demo", "inst web_1.0", "inst left_1.0", "inst mta-a_1.0"},
		shapes: []shape{
			{"package", []string{"e2e-demo"}, [][]string{{"ensure: present", "ensure: latest", `ensure: "1.1"`, `ensure: "9"`, "ensure: absent", "hold: true", "hold: false"}}},
			{"package", []string{"e2e-one", "e2e-broken", "e2e-left", "e2e-right", "e2e-mta", "e2e-mta-b", "e2e-none", "e2e-web"}, [][]string{{"ensure: present", "ensure: present", "ensure: latest", "ensure: absent"}}},
			{"upgrade", []string{"all"}, [][]string{{""}}},
			{"file", []string{"/etc/e2e-demo.d/version", "/etc/e2e-one.d/version", "/etc/e2e-web.d/default"}, [][]string{{`content: "mine\n"`, "ensure: absent", `mode: "0600"`}}},
			{"line", []string{"fid12"}, [][]string{{"path: /etc/e2e-demo.d/version", "path: /etc/e2e-web.d/default"}, {`line: "# fid"`}, {"", "create: true"}}},
			{"service", []string{"e2e-web"}, [][]string{{"ensure: running", "ensure: stopped"}, {"", "enable: true", "enable: false"}}},
			{"file", []string{"/etc/systemd/system/multi-user.target.wants/e2e-web.service", "/etc/e2e-demo.d"}, [][]string{{"ensure: absent, force: true"}}},
			{"user", []string{"e2eweb"}, [][]string{{"system: true", "comment: web", "ensure: absent"}}},
			{"exec", []string{"true", "touch /srv/fid/a"}, [][]string{{"refreshonly: true", `onlyif: "test -e /etc/e2e-demo.d/version"`, "creates: /etc/e2e-one.d/version"}}},
		},
	},
	"host": {
		before: []string{"hostname fid-old", "echo fid-old >/etc/hostname", "ln -sfn /usr/share/zoneinfo/Europe/Vienna /etc/localtime", "echo 'en_US.UTF-8 UTF-8' >/etc/locale.gen", "echo LANG=de_AT.UTF-8 >/etc/default/locale"},
		shapes: []shape{
			{"hostname", []string{"s001", "fid-new"}, [][]string{{"", "pretty: Fid"}}},
			{"file", []string{"/etc/hostname", "/etc/timezone", "/etc/machine-info", "/etc/default/locale"}, [][]string{{`content: "fid-old\n", mode: "0644"`, `mode: "0644"`, "ensure: absent"}}},
			{"line", []string{"fid13", "fid14"}, [][]string{{"path: /etc/hosts", "path: /etc/hostname", "path: /etc/timezone", "path: /etc/locale.gen", "path: /etc/default/locale"}, {`line: "# fid"`, `ensure: absent, regexp: "fid|LANG"`}}},
			{"timezone", []string{"Europe/Vienna", "Etc/UTC", "Fid/None"}, [][]string{{""}}},
			{"link", []string{"/etc/localtime"}, [][]string{{"target: /usr/share/zoneinfo/Europe/Vienna", "target: ../usr/share/zoneinfo/Etc/UTC"}}},
			{"locale", []string{"C.UTF-8", "de_AT.UTF-8", "de_XX.UTF-8"}, [][]string{{"", "", "default: true", "ensure: absent"}}},
			{"file", []string{"/usr/lib/locale/locale-archive"}, [][]string{{`mode: "0644"`, `mode: "0600"`, "ensure: absent"}}},
			{"alternatives", []string{"fid-editor"}, [][]string{{"path: /bin/true", "path: /bin/false", "path: /bin/none"}, {"link: /usr/local/bin/fid-editor"}, {"", "priority: 10", "ensure: present"}}},
			{"alternatives", []string{"fid-editor"}, [][]string{{"ensure: auto", "ensure: absent, path: /bin/true"}}},
			{"link", []string{"/usr/local/bin/fid-editor", "/etc/alternatives/fid-editor"}, [][]string{{"target: /bin/false", "ensure: absent"}}},
		},
	},
}

// undrawn names shapes whose predictions are known to be certain and wrong: no case with them is drawn.
var undrawn = map[string]*regexp.Regexp{}

func isUndrawn(text string) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(undrawn)), func(known *regexp.Regexp) bool { return known.MatchString(text) })
}

// resetFidelity leaves nothing of an earlier manifest, makes what all begin with, and prints what a manifest may change.
const resetFidelity = `
for m in $(awk '$5 ~ "^/srv/fid/" { print $5 }' /proc/self/mountinfo | tac); do umount -l $m; done
chattr -R -i -a /srv/fid 2>/dev/null
systemctl stop 'fid-*' 'e2e-*' 2>/dev/null; systemctl unmask -q fid-a fid-b fid-c fid-d e2e-web 2>/dev/null
set -- $(dpkg-query -W -f '${Package} ' 'e2e-*' 2>/dev/null); [ $# = 0 ] || { apt-mark unhold $*; dpkg --purge --force-all $*; } >/dev/null 2>&1
update-alternatives --remove-all fid-editor 2>/dev/null
rm -rf /srv/fid /etc/fid.conf* /etc/e2e-*.d /etc/systemd/system/fid* /etc/systemd/system/*/fid-* /etc/systemd/system/*/e2e-* /usr/local/lib/systemd/system/fid-* /etc/sysctl.d/90-ccm-push.conf /etc/sysctl.d/99-fid.conf /etc/sudoers.d/fid \
	/usr/local/bin/fid-editor /etc/alternatives/fid-editor /var/lib/dpkg/alternatives/fid-editor /etc/locale.gen /etc/default/locale /etc/locale.conf /usr/lib/locale/locale-archive /etc/machine-info
crontab -r 2>/dev/null; rm -f /var/spool/cron/crontabs/fid*
for u in fida fidb e2eweb; do userdel -f -r $u; groupdel $u; done 2>/dev/null
groupdel fidg 2>/dev/null
rm -rf /var/mail/fid* /home/fid*
sed -i '/fid/d; /e2eweb/d' /etc/passwd /etc/group /etc/shadow /etc/gshadow /etc/subuid /etc/subgid /etc/fstab /etc/hosts
chown root:root /etc/subuid; chown root:shadow /etc/gshadow; chmod 644 /etc/subuid; chmod 640 /etc/gshadow
sysctl -q net.ipv4.ip_local_port_range='32768 60999' net.ipv4.ip_forward=0 net.ipv6.conf.all.forwarding=0 net.ipv6.conf.all.disable_ipv6=0
for v in 4 6; do for i in all default lo; do echo 0 >/proc/sys/net/ipv$v/conf/$i/forwarding; [ $v = 4 ] || echo 0 >/proc/sys/net/ipv6/conf/$i/disable_ipv6; done; done
hostname s001; echo s001 >/etc/hostname; ln -sfn /usr/share/zoneinfo/Etc/UTC /etc/localtime; echo Etc/UTC >/etc/timezone
chmod 644 /etc/hostname /etc/timezone
mkdir -p /srv/fid/d /srv/fid/ba /srv/fid/bb /srv/fid/m /usr/local/lib/systemd/system /etc/systemd/system/sockets.target.wants /etc/systemd/system/multi-user.target.wants
cd /usr/local/lib/systemd/system
printf '[Service]\nExecStart=/bin/sleep 1000\n[Install]\nWantedBy=multi-user.target\nAlias=fid-alias.service\n' >fid-a.service
printf '[Service]\nExecStart=/bin/sleep 1000\nExecReload=/bin/true\n[Install]\nRequiredBy=fid-a.service\nWantedBy=fid.target\n' >fid-b.service
printf '[Service]\nExecStart=/bin/sleep 1000\n[Install]\nAlso=fid-c.socket\n' >fid-c.service
printf '[Socket]\nListenStream=/run/fid-c\n[Install]\nWantedBy=sockets.target\n' >fid-c.socket
printf '[Service]\nExecStart=/bin/sleep 1000\n' >fid-d.service
systemctl daemon-reload; systemctl reset-failed
cd /
find /srv/fid /home /etc /usr/local/lib/systemd /usr/local/bin /var/spool/cron /var/mail /usr/lib/locale \( -path /etc/ssh -o -path '/etc/*-' \) -prune -o -type d -printf '%p %y %m %U %G\n' -o -printf '%p %y %m %U %G %l\n' | sort
cat /etc/passwd /etc/group /etc/shadow /etc/gshadow /etc/subuid /etc/subgid /etc/fstab /etc/hosts
dpkg-query -W | grep e2e; grep /srv/fid /proc/self/mountinfo; hostname
grep . /proc/sys/net/ipv[46]/conf/*/forwarding /proc/sys/net/ipv6/conf/*/disable_ipv6
systemctl list-units --all --plain --no-legend 'fid*' 'e2e*'
exec >/dev/null 2>&1
inst() { for p; do dpkg -i /srv/e2e/repo/e2e-${p}_all.deb; done; }
`

// A drawer chooses what the case of a seed has, by chance.
type drawer struct{ *rand.Rand }

func (d drawer) of(texts ...string) string { return texts[d.IntN(len(texts))] }

// drawFidelity returns the case of a seed.
func drawFidelity(seed uint64) fidelityCase {
	d := drawer{rand.New(rand.NewPCG(seed, 0))}
	for {
		if c := d.fidelityCase(); !isUndrawn(c.text()) {
			return c
		}
	}
}

func (d drawer) fidelityCase() (c fidelityCase) {
	names := slices.Sorted(maps.Keys(themes))
	var parts []theme
	for range 1 + d.IntN(3) {
		parts = append(parts, themes[names[d.IntN(len(names))]])
	}
	for range d.IntN(4) {
		before := d.of(parts[d.IntN(len(parts))].before...)
		if !slices.Contains(c.before, before) {
			c.before = append(c.before, before)
		}
	}
	seen := map[string]bool{}
	for range 2 + d.IntN(8) {
		shapes := parts[d.IntN(len(parts))].shapes
		r := d.resource(shapes[d.IntN(len(shapes))])
		if seen[r.ref()] {
			continue
		}
		seen[r.ref()] = true
		if n := len(c.resources); n > 0 {
			earlier := c.resources[d.IntN(n)].ref()
			switch chance := d.IntN(10); {
			case strings.Contains(r.properties, "refreshonly"), r.typ == "service" && chance < 4:
				r.verb, r.to = "subscribe", earlier
			case chance == 9:
				r.verb, r.to = "require", earlier
			}
		}
		if r.verb == "" {
			r.properties = strings.TrimPrefix(strings.Replace(r.properties, "refreshonly: true", "", 1), ", ")
		}
		c.resources = append(c.resources, r)
	}
	return c
}

func (d drawer) resource(s shape) drawnResource {
	r := drawnResource{typ: s.typ, name: d.of(s.names...)}
	var some []string
	for _, part := range s.parts {
		if text := d.of(part...); text != "" {
			some = append(some, text)
		}
	}
	if d.IntN(25) == 0 {
		some = append(some, "noop: true")
	}
	r.properties = strings.Join(some, ", ")
	return r
}

// text is the case as testdata/fidelity keeps it: the commands before it in comments, and the manifest.
func (c fidelityCase) text() string {
	var b strings.Builder
	for _, before := range c.before {
		fmt.Fprintf(&b, "# before: %s\n", before)
	}
	b.WriteString("ccm:\n  resources:\n")
	for _, r := range c.resources {
		properties := r.properties
		if r.verb != "" {
			properties += fmt.Sprintf(", %s: [%q]", r.verb, r.to)
		}
		fmt.Fprintf(&b, "    - %s: [%q: {%s}]\n", r.typ, r.name, strings.TrimPrefix(properties, ", "))
	}
	return b.String()
}

// without returns the case without one of its commands or resources; false if nothing would be left.
func (c fidelityCase) without(n int) (fidelityCase, bool) {
	if n < len(c.before) {
		return fidelityCase{slices.Delete(slices.Clone(c.before), n, n+1), c.resources}, true
	}
	if len(c.resources) == 1 {
		return c, false
	}
	at := n - len(c.before)
	rest := slices.Delete(slices.Clone(c.resources), at, at+1)
	for i := range rest {
		if rest[i].to == c.resources[at].ref() {
			rest[i].verb, rest[i].to = "", ""
		}
	}
	return fidelityCase{c.before, rest}, true
}

// TestFidelityCases draws valid manifests, the same one of a seed again, and of many seeds each command and resource.
func TestFidelityCases(t *testing.T) {
	t.Parallel()
	drawn, dir, validate := map[string]bool{}, t.TempDir(), []string{"validate"}
	for seed := range uint64(3000) {
		c := drawFidelity(seed)
		if seed < 1000 {
			require.Equal(t, c.text(), drawFidelity(seed).text())
			name := fmt.Sprint(seed, ".yaml")
			write(t, filepath.Join(dir, name), c.text())
			validate = append(validate, name)
		}
		for _, before := range c.before {
			drawn[before] = true
		}
		for _, r := range c.resources {
			drawn[r.typ+" "+r.name] = true
		}
	}
	for name, theme := range themes {
		for _, before := range theme.before {
			require.Equal(t, !isUndrawn(before), drawn[before], "%s: %s", name, before)
		}
		for _, s := range theme.shapes {
			for _, n := range s.names {
				require.Equal(t, !isUndrawn(fmt.Sprintf("- %s: %s", s.typ, n)), drawn[s.typ+" "+n], "%s: %s %s", name, s.typ, n)
			}
		}
	}
	push(t, dir, validate...).requireCode(t, 0)
	kept, err := os.ReadDir("testdata/fidelity")
	require.NoError(t, err)
	for _, file := range kept {
		require.Regexp(t, `\.yaml$`, file.Name())
	}
}
