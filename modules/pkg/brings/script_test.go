package brings_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/pkg/brings"
)

// said describes what a script may change.
func said(t *brings.Touched) string {
	var all []string
	add := func(word string, names map[string]bool) {
		for _, name := range slices.Sorted(maps.Keys(names)) {
			all = append(all, word+name)
		}
	}
	add("", t.Paths)
	add("tree:", t.Trees)
	add("grows:", t.Grows)
	add("begin:", t.Begins)
	add("folder:", t.Folders)
	add("attr:", t.Attributes)
	add("group:", t.Groups)
	add("enabled:", t.Enabled)
	add("started:", t.Started)
	add("preset:", t.Preset)
	add("uncertain:", t.Uncertain)
	add("trigger:", t.Triggers)
	for _, name := range slices.Sorted(maps.Keys(t.Users)) {
		all = append(all, strings.TrimSuffix("user:"+name+":"+t.Users[name].Home, ":"))
	}
	for word, is := range map[string]bool{"ACCOUNTS": t.Accounts, "SYSUSERS": t.Sysusers, "RUNS": t.Runs, "VAGUE": t.Vague, "ANYTHING": t.Anything} {
		add("", map[string]bool{word: true})
		if !is {
			all = all[:len(all)-1]
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func TestScripts(t *testing.T) {
	const helpers = "tree:/var/lib/systemd/deb-systemd-helper-enabled tree:/var/lib/systemd/deb-systemd-helper-masked"
	for _, c := range []struct{ script, want string }{
		{"", ""},
		{"# rm /etc/x\nexit 0", ""},
		{"[ -x /usr/bin/foo ] || exit 0; command -v /bin/foo >/dev/null 2>&1", ""},
		{"test -e /etc/a && cat /etc/b | grep -q x /etc/c", ""},
		{"rm -f /etc/a", "/etc/a tree:/etc/a"},
		{"if [ -e /etc/a ]; then touch '/etc/b'; else mkdir -p \"/etc/c\"; fi", "/etc/b folder:/etc/c"},
		{"echo x >/etc/a; echo y >>\"/etc/b\"; cat </etc/c 2>/dev/null", "/etc/a /etc/b"},
		{"d=/var/log/n; chown root:adm $d; chmod 755 \"${d}\"; touch $d/access.log", "/var/log/n/access.log attr:/var/log/n"},
		{"chown -R u /srv/n", "/srv/n tree:/srv/n"},
		{"for f in a b; do rm /etc/n/$f; done", "/etc/n/a /etc/n/b tree:/etc/n/a tree:/etc/n/b"},
		{"f=$(ls /etc); touch /etc/n/$f.conf", "tree:/etc/n grows:/etc/n"},
		{"f=$(ls /etc); configure-n /etc/n/$f.conf; rm /etc/m/*", "VAGUE tree:/etc/n tree:/etc/m"},
		{"cp -r /usr/share/n /etc/n", "/etc/n /etc/n/n tree:/etc/n tree:/etc/n/n grows:/etc/n grows:/etc/n/n"},
		{"find /etc/n -maxdepth 1 -name 'a.*' -delete; find /etc/m -delete; find /etc/o -name x", "/etc/m begin:/etc/n/a. tree:/etc/m"},
		{"touch /etc/$2", "/etc/0"},
		{"case $1 in triggered) touch /etc/$2;; esac", "ANYTHING"},
		{"touch \"/etc/$(hostname)\"", "ANYTHING"},
		{"f() { chown a \"$2\"; mkdir ${1}/x; }\nf /etc/a /etc/b", "attr:/etc/b folder:/etc/a/x"},
		{"f() { shift; touch /etc/n/$1; }\nf /etc/a /etc/b", "tree:/etc/n grows:/etc/n"},
		{"rm -rf /etc", "ANYTHING /etc"},
		{"chmod 640 /var/log/name.log*", "begin:/var/log/name.log"},
		{"case \"$1\" in\n configure|abort-upgrade)\n  rm /etc/a ;;\n (x) ;;\nesac", "/etc/a tree:/etc/a"},
		{"case $1 in a) touch /etc/a;; esac", "/etc/a"},
		{"then=1; x=`rm /etc/a`; y=\"$(touch /etc/b)\"", "/etc/a /etc/b tree:/etc/a"},
		{"cat >/etc/a <<EOF\nrm /etc/b; isn't\nEOF\ntouch /etc/c", "/etc/a /etc/c"},
		{"cp /usr/share/n/x /etc/n.conf", "/etc/n.conf /etc/n.conf/x"},
		{"ln -sf /usr/share/n/x /etc/n.conf", "/etc/n.conf /etc/n.conf/x"},
		{"sed -i -e 's/a/b/' /etc/n.conf; sed 's/a/b/' /etc/m.conf", "/etc/n.conf"},
		{"ucf --three-way /usr/share/n/n.conf /etc/n.conf; ucfr n /etc/n.conf", "/etc/n.conf tree:/var/lib/ucf"},
		{"update-alternatives --install /usr/bin/e e /usr/bin/vi 10 --slave /usr/share/man/e.1 e.1 /x", "/etc/alternatives/e /etc/alternatives/e.1 /usr/bin/e /usr/share/man/e.1 /var/lib/alternatives/e /var/lib/alternatives/e.1 /var/lib/dpkg/alternatives/e /var/lib/dpkg/alternatives/e.1"},
		{"adduser --system --group --home /var/lib/n --no-create-home n >/dev/null", "/var/lib/n group:n user:n:/var/lib/n"},
		{"adduser --system --no-create-home n", "user:n"},
		{"quiet=; [ $x ] && quiet=--quiet; adduser --system $quiet --ingroup m n; adduser $quiet n tape", "ACCOUNTS user:n"},
		{"useradd -r -g m n; useradd -N o", "user:n user:o"},
		{"adduser --gid $G n", "user:n"},
		{"addgroup --gid 7 n", "group:n"},
		{"U=n; useradd -r $U; adduser n tape", "ACCOUNTS group:n user:n"},
		{"deb-systemd-helper enable 'n.service' >/dev/null || true", "enabled:n.service " + helpers},
		{"deb-systemd-invoke $_dh_action 'n.service' 'n.socket'", "started:n.service started:n.socket " + helpers},
		{"deb-systemd-helper --quiet was-enabled 'n.service'", ""},
		{"a=restart; [ $2 ] || a=start; invoke-rc.d n $a", "RUNS started:n.service"},
		{"invoke-rc.d n reload; invoke-rc.d --skip-systemd-native n start", "RUNS"},
		{"systemctl daemon-reload; systemctl --system is-active n", ""},
		{"systemctl enable --now n /lib/systemd/system/m.socket", "RUNS uncertain:m.socket uncertain:n.service"},
		{"systemctl try-restart n", "RUNS"},
		{"systemctl stop $(list)", "RUNS VAGUE uncertain:"},
		{"systemctl set-default n.target", "VAGUE uncertain:n.target"},
		{"systemctl --user enable n; systemctl --global preset n", "grows:/etc/systemd/user tree:/etc/systemd/user"},
		{"systemctl preset n.service; /usr/lib/systemd/systemd-update-helper install-system-units m.timer", "preset:m.timer preset:n.service"},
		{"useradd -d $HOMES n; useradd --base-dir /srv n", "ACCOUNTS VAGUE group:n user:n"},
		{"dpkg-maintscript-helper rm_conffile /etc/old.conf 1 -- \"$@\"", ""},
		{"dpkg-trigger --no-await ldconfig", "trigger:ldconfig"},
		{". /usr/share/debconf/confmodule\ndb_get n/x || true", ""},
		{". /usr/share/n/functions", "VAGUE"},
		{"configure-n /etc/n/a.conf", "/etc/n/a.conf VAGUE tree:/etc/n/a.conf"},
		{"f() { touch \"$1\"; }\nf /etc/a", "/etc/a"},
		{"echo 'it", "VAGUE"},
		{"#!/usr/bin/perl\nopen F, '>/etc/n.conf';", "/etc/n.conf VAGUE tree:/etc/n.conf"},
		{"su n -c 'touch /etc/a'", "/etc/a VAGUE tree:/etc/a"},
		{"a=\"$a$a\"; b=$b; touch $a$b/x", "VAGUE"},
	} {
		touched := brings.NewTouched()
		touched.Read(c.script, true)
		want := strings.Fields(c.want)
		slices.Sort(want)
		require.Equal(t, strings.Join(want, " "), said(touched), c.script)
	}
	touched := brings.NewTouched()
	touched.Read("dpkg-maintscript-helper rm_conffile /etc/old.conf 1 -- \"$@\"", false)
	require.Equal(t, "/etc/old.conf tree:/etc/old.conf", said(touched))
}

// TestScriptsThatTakeLong has variables whose values grow with each use.
func TestScriptsThatTakeLong(t *testing.T) {
	var text strings.Builder
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		for _, value := range []string{"$a$b$c", "$b$c$d", "$c$d$e", "1", "2", "3"} {
			text.WriteString(name + "=" + value + "\n")
		}
	}
	text.WriteString(strings.Repeat("rm /etc/$a$b$c$d$e\n", 100) + strings.Repeat("$(", 10000))
	touched := brings.NewTouched()
	touched.Read(text.String(), true)
	require.True(t, touched.Vague)
}

func FuzzTouchedRead(f *testing.F) {
	f.Add("#!/bin/sh\nset -e\ncase \"$1\" in configure) d=/var/log/n; [ -d $d ] || mkdir \"$d\" ;; esac\ncat <<EOF >/etc/x\n$(a)\nEOF\n")
	f.Fuzz(func(_ *testing.T, script string) { brings.NewTouched().Read(script, true) })
}
