package system

import (
	"context"
	"os"
	"os/user"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

func noService(context.Context, string, string) string { return "" }

func TestLocalAccounts(t *testing.T) {
	me, err := user.Current()
	require.NoError(t, err)
	a := New().Accounts
	uid, err := a.UserID(t.Context(), me.Username)
	require.NoError(t, err)
	require.Equal(t, os.Getuid(), uid)
	require.Equal(t, me.Username, a.UserName(t.Context(), uid))
	group, err := user.LookupGroupId(me.Gid)
	require.NoError(t, err)
	gid, err := a.GroupID(t.Context(), group.Name)
	require.NoError(t, err)
	require.Equal(t, me.Gid, strconv.Itoa(gid))
	require.Equal(t, group.Name, a.GroupName(t.Context(), gid))
}

func TestIDsNeedNoAccount(t *testing.T) {
	a := &accounts{getent: noService}
	for text, want := range map[string]int{"0": 0, "1234567": 1234567, "007": 7} {
		uid, err := a.UserID(t.Context(), text)
		require.NoError(t, err)
		require.Equal(t, want, uid)
		gid, err := a.GroupID(t.Context(), text)
		require.NoError(t, err)
		require.Equal(t, want, gid)
	}
	require.Equal(t, "1234567", a.UserName(t.Context(), 1234567))
	require.Equal(t, "1234567", a.GroupName(t.Context(), 1234567))
}

func TestUnknownAccounts(t *testing.T) {
	a := &accounts{getent: noService}
	for _, name := range []string{"no-such-account", "", "-1", "+1", "4294967295"} {
		_, err := a.UserID(t.Context(), name)
		require.ErrorIs(t, err, modules.ErrNoAccount, name)
		_, err = a.GroupID(t.Context(), name)
		require.ErrorIs(t, err, modules.ErrNoAccount, name)
	}
}

func TestAccountsOfADirectoryService(t *testing.T) {
	asked := 0
	a := &accounts{
		getent: func(_ context.Context, database, key string) string {
			asked++
			switch database + " " + key {
			case "passwd ann-from-ldap", "passwd 710001":
				return "ann-from-ldap:*:710001:710002:Ann:/home/ann:/bin/sh\n"
			case "group staff-from-ldap":
				return "staff-from-ldap:*:710003:ann-from-ldap\n"
			case "passwd half-an-entry":
				return "half-an-entry:*:1\n"
			case "passwd bad-id":
				return "bad-id:*:x:1:::\n"
			}
			return ""
		},
		idGroups: func(context.Context, string) string { return "710002 710003\n" },
	}
	uid, err := a.UserID(t.Context(), "ann-from-ldap")
	require.NoError(t, err)
	require.Equal(t, 710001, uid)
	require.Equal(t, "ann-from-ldap", a.UserName(t.Context(), 710001))
	gid, err := a.GroupID(t.Context(), "staff-from-ldap")
	require.NoError(t, err)
	require.Equal(t, 710003, gid)
	require.Equal(t, 3, asked)

	_, err = a.UserID(t.Context(), "ann-from-ldap")
	require.NoError(t, err)
	require.Equal(t, 3, asked, "what is known is not asked for again")
	a.forget()
	person, err := a.person(t.Context(), "ann-from-ldap")
	require.NoError(t, err)
	require.Equal(t, account{name: "ann-from-ldap", id: 710001, gid: 710002, home: "/home/ann", shell: "/bin/sh", groups: []int{710002, 710003}}, person)
	require.Equal(t, 4, asked)

	_, err = a.UserID(t.Context(), "half-an-entry")
	require.EqualError(t, err, `user "half-an-entry": the entry has 3 fields instead of 7`)
	_, err = a.UserID(t.Context(), "bad-id")
	require.EqualError(t, err, `user "bad-id": "x" is not a numeric id`)
}

func FuzzParseEntry(f *testing.F) {
	f.Add("root:x:0:0:root:/root:/bin/bash\n")
	f.Add("staff:x:50:ann,bob")
	f.Add("::::::")
	f.Add("a:b:99999999999999999999:1:::")
	f.Fuzz(func(t *testing.T, line string) {
		e, ok := parseEntry(line)
		if !ok {
			return
		}
		if u, err := e.user(); err == nil {
			require.NotEmpty(t, u.name)
			require.GreaterOrEqual(t, u.id, 0)
			require.GreaterOrEqual(t, u.gid, 0)
		}
		if g, err := e.group(); err == nil {
			require.NotEmpty(t, g.name)
			require.GreaterOrEqual(t, g.id, 0)
		}
	})
}
