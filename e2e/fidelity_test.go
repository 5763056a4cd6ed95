//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	fidelityCI   = 20               // seeds of a commit
	fidelityTime = 60 * time.Second // after which no further seed of a commit begins
)

// resetFidelity leaves nothing of an earlier manifest, and makes what all begin with.
const resetFidelity = `
for m in /srv/fid/bb /srv/fid/m; do umount -q $m 2>/dev/null; done
chattr -R -i -a /srv/fid 2>/dev/null
systemctl stop fid-a fid-b 2>/dev/null; systemctl unmask -q fid-a fid-b 2>/dev/null
rm -rf /srv/fid /etc/fid.conf /etc/systemd/system/fid-* /etc/systemd/system/*/fid-* /usr/local/lib/systemd/system/fid-* /etc/sysctl.d/90-ccm-push.conf
crontab -r 2>/dev/null; crontab -u fida -r 2>/dev/null
for u in fida fidb; do userdel -f -r $u; groupdel $u; done 2>/dev/null
groupdel fidg 2>/dev/null
rm -f /var/mail/fid*
sed -i '/fid/d' /etc/passwd /etc/group /etc/shadow /etc/gshadow /etc/subuid /etc/subgid /etc/fstab
sysctl -q net.ipv4.conf.all.forwarding=0 net.ipv4.conf.default.forwarding=0 net.ipv4.conf.lo.forwarding=0
mkdir -p /srv/fid/d /srv/fid/ba /srv/fid/bb /srv/fid/m /usr/local/lib/systemd/system
printf '[Service]\nExecStart=/bin/sleep 1000\n[Install]\nWantedBy=multi-user.target\nAlias=fid-alias.service\n' >/usr/local/lib/systemd/system/fid-a.service
printf '[Service]\nExecStart=/bin/sleep 1000\n[Install]\nRequiredBy=fid-a.service\nWantedBy=fid.target\n' >/usr/local/lib/systemd/system/fid-b.service
systemctl daemon-reload; systemctl reset-failed
`

// A drawer chooses what a manifest of a seed has, by chance.
type drawer struct{ *rand.Rand }

func (d drawer) of(texts ...string) string { return texts[d.IntN(len(texts))] }

// before changes the host before a manifest is checked.
func (d drawer) before() string {
	var some []string
	for range d.IntN(4) {
		some = append(some, d.of("echo 1 >/srv/fid/a", "ln -s d /srv/fid/l", "ln -s a /srv/fid/l", "echo x >/srv/fid/d/x", "systemctl enable -q fid-a", "systemctl enable -q fid-b", "systemctl start fid-a",
			"useradd -u 4101 -m fida", "groupadd -g 4102 fidg", "echo '0 1 * * * true' | crontab -", "mount --bind /srv/fid/ba /srv/fid/bb", "mount -t tmpfs tmpfs /srv/fid/m",
			"{ echo 1 >/srv/fid/b; chattr +i /srv/fid/b; }", "{ echo 1 >/srv/fid/d/y; chattr +a /srv/fid/d/y; }", "chattr +i /srv/fid/d", "printf '[s]\\nk = 1\\n' >/srv/fid/i.ini", "echo 1 >/srv/fid/ba/x", "ln /srv/fid/a /srv/fid/hard"))
	}
	return strings.Join(some, "; ")
}

// kinds makes a resource of each family.
var kinds = map[string]func(d drawer) (typ, name, properties string){
	"file": func(d drawer) (string, string, string) {
		return "file", d.of("/srv/fid/a", "/srv/fid/b", "/srv/fid/d/x", "/srv/fid/d/y", "/srv/fid/l/x", "/srv/fid/ba/x", "/srv/fid/bb/x", "/srv/fid/m/x", "/srv/fid/hard", "/etc/fid.conf"),
			d.of(`content: "1\n", mode: "0644"`, `content: "2\n", mode: "0644"`, `mode: "0600"`, `content: "1\n", mode: "0600"`, `ensure: absent`) + ownedBy(d)
	},
	"folder": func(d drawer) (string, string, string) {
		return "file", d.of("/srv/fid/d", "/srv/fid/m", "/srv/fid/bb", "/srv/fid/ba", "/srv/fid/new", "/srv/fid/l"), d.of(`ensure: directory, mode: "0755"`, `ensure: directory, mode: "0700"`, `ensure: absent, force: true`)
	},
	"link": func(d drawer) (string, string, string) {
		return "link", d.of("/srv/fid/l", "/etc/systemd/system/multi-user.target.wants/fid-a.service", "/etc/systemd/system/fid-alias.service", "/etc/systemd/system/fid-a.service.requires/fid-b.service"),
			d.of("target: /srv/fid/d", "target: /usr/local/lib/systemd/system/fid-a.service", "target: /usr/local/lib/systemd/system/fid-b.service", "ensure: absent")
	},
	"line": func(d drawer) (string, string, string) {
		return "line", "fid" + strconv.Itoa(d.IntN(1000)), "path: " + d.of("/etc/subuid", "/etc/subgid", "/etc/group", "/etc/gshadow", "/srv/fid/a", "/srv/fid/i.ini", "/var/spool/cron/crontabs/root", "/etc/fid.conf", "/etc/sysctl.d/90-ccm-push.conf") +
			d.of(`, line: "# fid 1"`, `, line: "# fid 2"`, `, ensure: absent, regexp: fid`)
	},
	"unit link as a file": func(d drawer) (string, string, string) {
		return "file", d.of("/etc/systemd/system/multi-user.target.wants/fid-a.service", "/etc/systemd/system/fid-alias.service", "/etc/systemd/system/fid.target.wants"), "ensure: absent"
	},
	"service": func(d drawer) (string, string, string) {
		return "service", d.of("fid-a", "fid-b"), d.of("ensure: running, enable: true", "ensure: stopped, enable: true", "ensure: stopped, enable: false", "ensure: stopped, masked: true", "ensure: stopped, masked: false")
	},
	"user": func(d drawer) (string, string, string) {
		return "user", d.of("fida", "fidb"), d.of("uid: 4101", "uid: 4103, groups: [fidg]", "create_home: false", "ensure: absent", "ensure: absent, remove_home: true", "comment: fid")
	},
	"group": func(d drawer) (string, string, string) {
		return "group", d.of("fidg", "fida"), d.of("gid: 4102", "gid: 4104", "{}", "ensure: absent")
	},
	"cron": func(d drawer) (string, string, string) {
		return "cron", d.of("fid1", "fid2"), d.of(`command: "true"`, `command: "true", hour: "3"`, "ensure: absent", `command: "true", user: fida`)
	},
	"crontab as a file": func(d drawer) (string, string, string) {
		return "file", d.of("/var/spool/cron/crontabs/root", "/var/spool/cron/crontabs/fida", "/var/mail/fida", "/home/fida"), d.of(`mode: "0600"`, "ensure: absent, force: true")
	},
	"sysctl": func(d drawer) (string, string, string) {
		return "sysctl", d.of("net.ipv4.ip_forward", "net.ipv4.conf.all.forwarding", "net.ipv4.conf.default.forwarding", "net.ipv4.conf.lo.forwarding"), d.of(`value: "1"`, `value: "0"`, `value: "1", persist: false`, `value: "1", runtime: false`)
	},
	"ini": func(d drawer) (string, string, string) {
		return "ini", "/srv/fid/i.ini", d.of(`section: s, option: k, value: "1", create: true`, `section: s, option: k, value: "2"`, `section: s, option: k, ensure: absent`, `section: t, option: k, value: "1", create: true`)
	},
	"mount": func(d drawer) (string, string, string) {
		return "mount", d.of("/srv/fid/bb", "/srv/fid/m"), d.of("device: tmpfs, fstype: tmpfs", "device: /srv/fid/ba, fstype: none, options: [bind]", "ensure: absent", "ensure: unmounted, device: tmpfs, fstype: tmpfs")
	},
	"locale": func(d drawer) (string, string, string) {
		return "locale", d.of("C.UTF-8", "de_AT.UTF-8"), "ensure: present"
	},
	"locales as a file": func(d drawer) (string, string, string) {
		return "file", "/usr/lib/locale/locale-archive", `mode: "0644"`
	},
	"package": func(d drawer) (string, string, string) {
		return "package", d.of("cron", "fid-none", "coreutils"), d.of("ensure: present", "hold: true", "hold: false")
	},
	"exec": func(d drawer) (string, string, string) {
		return "exec", d.of("true", "touch /srv/fid/a", "mkdir /srv/fid/new"), d.of(`creates: /srv/fid/a`, `creates: /srv/fid/new`, `onlyif: "test -e /srv/fid/a"`, `unless: "id fida"`)
	},
}

func ownedBy(d drawer) string {
	if d.IntN(4) > 0 {
		return ""
	}
	return d.of(", owner: fida", ", group: fidg")
}

// manifest is the play of a seed.
func (d drawer) manifest() string {
	names := slices.Sorted(maps.Keys(kinds))
	seen, text := map[string]bool{}, "ccm:\n  resources:\n"
	for range 2 + d.IntN(7) {
		typ, name, properties := kinds[names[d.IntN(len(names))]](d)
		if seen[typ+name] {
			continue
		}
		seen[typ+name] = true
		if strings.Contains(properties, "absent") {
			properties = strings.Split(strings.Split(properties, ", owner")[0], ", group")[0]
		} else if typ == "file" && !strings.Contains(properties, "owner:") {
			properties += ", owner: root"
		}
		if typ == "file" && !strings.Contains(properties, "absent") && !strings.Contains(properties, "group:") {
			properties += ", group: root"
		}
		if properties == "{}" {
			properties = ""
		}
		text += fmt.Sprintf("    - %s: [%s: {%s}]\n", typ, name, properties)
	}
	return text
}

// TestFleetFidelity checks and runs random manifests on a host with systemd: no prediction is certain and wrong.
// CCM_FIDELITY=FROM-TO or a list chooses the seeds; without it the commit chooses them, and those of
// testdata/fidelity run as well. CCM_FIDELITY_STATE is a folder that keeps which seeds passed.
func TestFleetFidelity(t *testing.T) {
	text, err := os.ReadFile("testdata/fidelity")
	require.NoError(t, err)
	var s outcomeSeeds
	for line := range strings.Lines(string(text)) {
		seed, _, _ := strings.Cut(line, " ")
		if n, err := strconv.ParseUint(strings.TrimSpace(seed), 10, 64); err == nil {
			s.seeds = append(s.seeds, n)
		}
	}
	if chosen := os.Getenv("CCM_FIDELITY"); chosen == "" {
		s.seeds, s.until = append(s.seeds, seedsOfCommit(t, fidelityCI)...), time.Now().Add(fidelityTime)
	} else {
		s.seeds = seedsIn(t, chosen)
	}
	if folder := os.Getenv("CCM_FIDELITY_STATE"); folder != "" {
		s.remember(t, folder)
	}
	f := startServiceHost(t)
	t.Cleanup(func() { f.command("exec", "s001", "sh", "-c", resetFidelity).Run() })
	all, certain, wrong := map[string]int{}, map[string]int{}, 0
	for _, seed := range s.seeds {
		if !s.until.IsZero() && time.Now().After(s.until) {
			t.Logf("NOT TESTED: %s are over", fidelityTime)
			break
		}
		if mistakes := f.fidelity(t, seed, all, certain); len(mistakes) > 0 {
			wrong += len(mistakes)
			continue
		}
		if s.passed != nil {
			fmt.Fprintln(s.passed, seed)
		}
	}
	for _, typ := range slices.Sorted(maps.Keys(all)) {
		t.Logf("%-10s %4d of %4d predictions were certain", typ, certain[typ], all[typ])
	}
	require.Zero(t, wrong, "predictions that were certain and wrong")
}

// fidelity checks and runs the manifest of a seed, and returns what was certain and wrong.
func (f *fleet) fidelity(t *testing.T, seed uint64, all, certain map[string]int) (mistakes []string) {
	d := drawer{rand.New(rand.NewPCG(seed, 0))}
	before, manifest := d.before(), d.manifest()
	f.command("exec", "s001", "sh", "-c", resetFidelity+before).Run()
	write(t, filepath.Join(f.dir, "fidelity.yaml"), manifest)
	results := func(flags ...string) (all []foretold) {
		r := f.push(append([]string{"-i", "root.yaml", "-l", "s001", "--output", "json"}, append(flags, "fidelity.yaml")...)...)
		for line := range strings.Lines(r.stdout) {
			var result foretold
			require.NoError(t, json.Unmarshal([]byte(line), &result), "%q", line)
			if result.Event == "result" {
				all = append(all, result)
			}
		}
		require.NotEmpty(t, all, "seed %d\n%s\n%s\n%s", seed, manifest, r.stdout, r.stderr)
		return all
	}
	predicted := results("--check")
	real := results()
	for i, p := range predicted {
		all[p.Type]++
		if !p.Certain {
			continue
		}
		certain[p.Type]++
		if i >= len(real) || p.essence() != real[i].essence() {
			mistakes = append(mistakes, "predicted "+p.essence())
			if i < len(real) {
				mistakes[len(mistakes)-1] += "\n     real " + real[i].essence() + " " + real[i].Error
			}
		}
	}
	if len(mistakes) > 0 {
		t.Errorf("seed %d\nbefore: %s\n%s%s", seed, before, manifest, strings.Join(mistakes, "\n"))
	}
	return mistakes
}
