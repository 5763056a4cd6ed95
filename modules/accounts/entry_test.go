package accounts

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const passwdText = "root:x:0:0:root:/root:/bin/bash\n# comment\n+::::::\nshort:x:1\nbad:x:-1:0:::\nbob:!:1500:1501:Bob, 1:/home/bob:/bin/sh"

func TestParseUsers(t *testing.T) {
	require.Equal(t, []User{
		{Name: "root", Password: "x", Comment: "root", Home: "/root", Shell: "/bin/bash"},
		{Name: "bob", Password: "!", UID: 1500, GID: 1501, Comment: "Bob, 1", Home: "/home/bob", Shell: "/bin/sh"},
	}, ParseUsers(passwdText))
}

func TestParseGroups(t *testing.T) {
	require.Equal(t, []Group{{Name: "root", Members: []string{}}, {Name: "docker", GID: 900, Members: []string{"a", "b"}}},
		ParseGroups("root:x:0:\n:x:1:\ndocker:x:900:a,b\nlarge:x:4294967295:\n"))
}

func TestParseShadows(t *testing.T) {
	require.Equal(t, []Shadow{{Name: "a", Hash: "!", Expires: ""}, {Name: "b", Hash: "$6$x", Expires: "20000"}},
		ParseShadows("a:!:1:0:99999:7:::\nb:$6$x:1:0:99999:7::20000:\nc:x\n"))
}

func TestID(t *testing.T) {
	for text, want := range map[string]int{"0": 0, "007": 7, "2147483646": 2147483646} {
		id, ok := ID(text)
		require.True(t, ok, text)
		require.Equal(t, want, id)
	}
	for _, text := range []string{"", "-1", "+1", "4294967295", "1a", " 1", "99999999999999999999"} {
		_, ok := ID(text)
		require.False(t, ok, text)
	}
}

func TestParseDefaults(t *testing.T) {
	for _, test := range []struct {
		name, defs, useradd string
		want                Defaults
	}{
		{"none", "", "", Defaults{Base: "/home", Skel: "/etc/skel", HomeMode: 0o755, Shell: "/bin/sh", MailDir: "/var/mail"}},
		{"Debian", "UMASK\t\t022\n#HOME_MODE 0700\nUSERGROUPS_ENAB yes\n", "SHELL=/bin/sh\n# HOME=/srv\n", Defaults{PrivateGroups: true, Base: "/home", Skel: "/etc/skel", HomeMode: 0o755, Shell: "/bin/sh", MailDir: "/var/mail"}},
		{"Red Hat", "UMASK 022\nHOME_MODE 0700\nUSERGROUPS_ENAB yes\n", "HOME=/home\nSHELL=/bin/bash\nSKEL=/etc/skel\n", Defaults{PrivateGroups: true, Base: "/home", Skel: "/etc/skel", HomeMode: 0o700, Shell: "/bin/bash", MailDir: "/var/mail"}},
		{"the mode first", "HOME_MODE 0711\nUMASK 077\n", "HOME=/srv/home/\nSKEL=skel\n", Defaults{Base: "/srv/home", Skel: "/etc/skel", HomeMode: 0o711, Shell: "/bin/sh", MailDir: "/var/mail"}},
		{"mail", "MAIL_DIR /var/spool/mail\n", "CREATE_MAIL_SPOOL=yes\n", Defaults{Base: "/home", Skel: "/etc/skel", HomeMode: 0o755, Shell: "/bin/sh", MailDir: "/var/spool/mail"}},
		{"no mail", "MAIL_DIR /var/spool/mail\n", "CREATE_MAIL_SPOOL=no\n", Defaults{Base: "/home", Skel: "/etc/skel", HomeMode: 0o755, Shell: "/bin/sh"}},
		{"nonsense", "HOME_MODE 0999\nUMASK 7777\nUSERGROUPS_ENAB\n", "SHELL=\"/bin/ksh\"\n=\n", Defaults{Base: "/home", Skel: "/etc/skel", HomeMode: 0o755, Shell: "/bin/ksh", MailDir: "/var/mail"}},
	} {
		t.Run(test.name, func(t *testing.T) { require.Equal(t, test.want, ParseDefaults(test.defs, test.useradd)) })
	}
}

func FuzzParseUsers(f *testing.F) {
	f.Add(passwdText)
	f.Fuzz(func(t *testing.T, text string) {
		users := ParseUsers(text)
		var b strings.Builder
		for _, u := range users {
			fmt.Fprintf(&b, "%s:%s:%d:%d:%s:%s:%s\n", u.Name, u.Password, u.UID, u.GID, u.Comment, u.Home, u.Shell)
		}
		require.Equal(t, users, ParseUsers(b.String()))
	})
}

func FuzzParseGroups(f *testing.F) {
	f.Add("root:x:0:\ndocker:x:900:a,b\n")
	f.Fuzz(func(t *testing.T, text string) {
		groups := ParseGroups(text)
		var b strings.Builder
		for _, g := range groups {
			fmt.Fprintf(&b, "%s:x:%d:%s\n", g.Name, g.GID, strings.Join(g.Members, ","))
		}
		require.Equal(t, groups, ParseGroups(b.String()))
	})
}

func FuzzParseShadows(f *testing.F) {
	f.Add("a:!:1:0:99999:7:::\nb:$6$x:1:0:99999:7::20000:\n")
	f.Fuzz(func(t *testing.T, text string) {
		shadows := ParseShadows(text)
		var b strings.Builder
		for _, s := range shadows {
			fmt.Fprintf(&b, "%s:%s::::::%s:\n", s.Name, s.Hash, s.Expires)
		}
		require.Equal(t, shadows, ParseShadows(b.String()))
	})
}

func FuzzParseDefaults(f *testing.F) {
	f.Add("UMASK\t022\nHOME_MODE 0700\n", "HOME=/home\nSKEL=\"/etc/skel\"\n")
	f.Fuzz(func(t *testing.T, defs, useradd string) {
		d := ParseDefaults(defs, useradd)
		require.Equal(t, fs.ModePerm, d.HomeMode|fs.ModePerm)
		for _, dir := range []string{d.Base, d.Skel, d.Shell} {
			require.Equal(t, "/", dir[:1])
		}
	})
}
