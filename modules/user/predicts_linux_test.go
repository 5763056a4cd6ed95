package user_test

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/accounts/accountstest"
	"github.com/ccm-push/ccm-push/modules/exec"
	"github.com/ccm-push/ccm-push/modules/file"
	"github.com/ccm-push/ccm-push/modules/group"
	"github.com/ccm-push/ccm-push/modules/line"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/user"
)

func step(typ, properties string) modtest.Step {
	return modtest.Step{Type: typ, Properties: properties}
}

func scenarios() []modtest.Scenario {
	return []modtest.Scenario{
		{
			Name: "group, user, files",
			Steps: []modtest.Step{
				step("group", `{"name":"apps","gid":1800}`),
				step("user", `{"name":"app","uid":1700,"group":"apps","groups":["wheel"]}`),
				step("file", `{"name":"/home/app/etc","ensure":"directory","owner":"app","group":"apps","mode":"0700"}`),
				step("file", `{"name":"/home/app/etc/conf","content":"x","owner":"app","group":"apps","mode":"0600"}`),
				step("file", `{"name":"/home/app/.profile","content":"# profile\n","owner":"app","group":"apps","mode":"0644"}`),
				step("file", `{"name":"/home/app/.profile","content":"# other\n","owner":"app","group":"apps","mode":"0644"}`),
				step("file", `{"name":"/home/app","ensure":"directory","owner":"app","group":"apps","mode":"0750"}`),
				step("file", `{"name":"/home/app","ensure":"directory","owner":"root","group":"bob","mode":"0755"}`),
			},
			Want: []string{"changed", "changed", "changed", "changed", "stable", "changed", "stable", "changed"},
		},
		{
			Name: "a user with a group of the same name and id",
			Steps: []modtest.Step{
				step("user", `{"name":"app","uid":1700}`),
				step("file", `{"name":"/home/app/x","content":"x","owner":"app","group":"app","mode":"0600"}`),
				step("group", `{"name":"app"}`),
				step("group", `{"name":"app","ensure":"absent"}`),
				step("user", `{"name":"other","group":"app"}`),
				step("user", `{"name":"third","uid":1700}`),
			},
			Want: []string{"changed", "changed", "stable", "failed", "changed", "failed"},
		},
		{
			Name: "ids that the host chooses",
			Steps: []modtest.Step{
				step("group", `{"name":"apps"}`),
				step("user", `{"name":"app","group":"apps"}`),
				step("user", `{"name":"app","group":"apps","groups":["docker"],"append":true}`),
				step("file", `{"name":"/home/app/x","content":"x","owner":"app","group":"apps","mode":"0600"}`),
				step("group", `{"name":"apps","ensure":"absent"}`),
				step("file", `{"name":"/home/other","content":"x","owner":"bob","group":"bob","mode":"0600"}`),
			},
			Want: []string{"changed", "changed", "changed", "changed", "failed", "changed"},
		},
		{
			Name: "keys in a new home",
			Steps: []modtest.Step{
				step("user", `{"name":"app","uid":1700,"ssh_keys":["`+key+`"]}`),
				step("user", `{"name":"app","ssh_keys":["`+key+`"],"ssh_keys_exclusive":true}`),
				step("file", `{"name":"/home/app/.ssh","ensure":"directory","owner":"app","group":"app","mode":"0700"}`),
				step("file", `{"name":"/home/app/.ssh/authorized_keys","content":"`+key+`\n","owner":"app","group":"app","mode":"0600"}`),
				step("user", `{"name":"app","ssh_keys":[],"ssh_keys_exclusive":true}`),
			},
			Want: []string{"changed", "stable", "stable", "stable", "changed"},
		},
		{
			Name: "removed with home and group",
			Steps: []modtest.Step{
				step("user", `{"name":"bob","ensure":"absent","remove_home":true}`),
				step("file", `{"name":"/home/bob/x","content":"x","owner":"root","group":"root","mode":"0600"}`),
				step("file", `{"name":"/home/x","content":"x","owner":"bob","group":"root","mode":"0600"}`),
				step("file", `{"name":"/home/x","content":"x","owner":"root","group":"bob","mode":"0600"}`),
				step("user", `{"name":"bob","ensure":"absent"}`),
				step("user", `{"name":"rob","uid":1500}`),
				step("user", `{"name":"bob"}`),
			},
			Want: []string{"changed", "failed", "failed", "failed", "stable", "changed", "changed"},
		},
		{
			Name: "changed twice",
			Steps: []modtest.Step{
				step("user", `{"name":"bob","shell":"/bin/bash","comment":"B","groups":["wheel"],"password_lock":true}`),
				step("user", `{"name":"bob","shell":"/bin/bash","comment":"B","groups":["wheel"],"password_lock":true}`),
				step("user", `{"name":"bob","shell":"/bin/sh","groups":["docker"],"append":true,"password_lock":false,"password_hash":"*","expires":"2031-02-03"}`),
			},
			Want: []string{"changed", "stable", "changed"},
		},
		{
			Name: "predicted only",
			Steps: []modtest.Step{
				{Type: "user", Properties: `{"name":"app","uid":1700}`, Noop: true},
				step("user", `{"name":"other","uid":1700}`),
				{Type: "user", Properties: `{"name":"app","shell":"/bin/sh","comment":"new"}`, Noop: true},
				step("file", `{"name":"/home/x","content":"x","owner":"app","group":"root","mode":"0600"}`),
			},
			Want: []string{"changed", "changed", "changed", "failed"},
		},
		{
			Name: "after something that nobody knows",
			Steps: []modtest.Step{
				step("exec", `{"name":"groupadd mystery"}`),
				step("user", `{"name":"app","group":"mystery"}`),
			},
			Want: []string{"changed likely", "changed unknown"},
		},
		{
			Name: "a new id for a user and the files",
			Steps: []modtest.Step{
				step("user", `{"name":"bob","uid":1501}`),
				step("file", `{"name":"/home/bob","ensure":"directory","owner":"bob","group":"bob","mode":"0755"}`),
			},
			Want: []string{"changed likely", "changed unknown"},
		},
	}
}

const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEEOGX6xGnshsMq9mlK8nWv1NyVHqIXcMQupHjJtBaJA ann@home"

func TestPredicts(t *testing.T) { accountstest.Private(t, predicts) }

func predicts(t *testing.T) {
	types := modules.Registry{accountstest.Fresh(t, user.Type(), nil), group.Type(), file.Type(), exec.Type()}
	for _, s := range scenarios() {
		t.Run(s.Name, func(t *testing.T) { modtest.Predicts(t, types, s) })
	}
}

// TestPredictsLeftovers uses files of deleted accounts: a new account may get the id of one of them.
func TestPredictsLeftovers(t *testing.T) {
	accountstest.Private(t, func(t *testing.T) {
		prepare := func() {
			for name, uid := range map[string]int{"nameless": 1501, "same": 1501, "bobs": 1500} {
				require.NoError(t, os.WriteFile("/home/"+name, []byte("x"), 0o644))
				require.NoError(t, os.Chown("/home/"+name, uid, uid))
			}
		}
		types := modules.Registry{accountstest.Fresh(t, user.Type(), prepare), file.Type(), exec.Type(), line.Type()}
		owned := func(name, rest string) modtest.Step {
			return step("file", `{"name":"/home/`+name+`","owner":"app","group":"app"`+rest+`}`)
		}
		modtest.Predicts(t, types, modtest.Scenario{
			Name: "files that exist",
			Steps: []modtest.Step{
				step("user", `{"name":"app"}`),
				owned("nameless", ""), owned("same", `,"content":"y"`), owned("bobs", `,"content":"y"`), owned("new", `,"content":"y","mode":"0600"`),
				step("file", `{"name":"/home/new","owner":"1501"}`),
				step("line", `{"name":"l","path":"/home/lines","line":"l","create":true,"owner":"app","group":"app"}`),
				step("exec", `{"name":"true","user":"app"}`),
			},
			Want: []string{"changed", "changed unknown", "changed unknown", "changed", "changed", "changed unknown", "changed", "changed likely"},
		})
		modtest.Predicts(t, types, modtest.Scenario{
			Name:  "a removed account",
			Steps: []modtest.Step{step("user", `{"name":"bob","ensure":"absent"}`), step("user", `{"name":"app"}`), owned("bobs", "")},
			Want:  []string{"changed", "changed", "changed unknown"},
		})
	})
}

// TestPredictsWithBusybox makes no home that is known in all respects.
func TestPredictsWithBusybox(t *testing.T) {
	accountstest.Private(t, func(t *testing.T) {
		accountstest.Busybox(t)
		types := modules.Registry{accountstest.Fresh(t, user.Type(), nil), group.Type(), file.Type(), exec.Type()}
		for _, s := range scenarios() {
			s.Want = nil
			t.Run(s.Name, func(t *testing.T) { modtest.Predicts(t, types, s) })
		}
	})
}

// TestDirectoryUsers uses a getent with a user and a group that are in no file.
func TestDirectoryUsers(t *testing.T) { accountstest.Private(t, directoryUsers) }

func directoryUsers(t *testing.T) {
	getent := t.TempDir() + "/getent"
	script := "#!/bin/sh\ncase $2 in ann|2500) echo 'ann:*:2500:2500:Ann:/home/ann:/bin/sh';; staff|2600) echo 'staff:*:2600:';; *) exit 2;; esac\n"
	require.NoError(t, os.WriteFile(getent, []byte(script), 0o755))
	require.NoError(t, syscall.Mount(getent, "/usr/bin/getent", "", syscall.MS_BIND, ""))
	fixed := `user "ann" is not in /etc/passwd but in a name service of the host; change the user in the name service`
	for properties, want := range map[string]string{
		`{"name":"ann"}`: "",
		`{"name":"ann","uid":2500,"shell":"/bin/sh","home":"/home/ann","comment":"Ann"}`: "",
		`{"name":"ann","shell":"/bin/bash"}`:                                             fixed,
		`{"name":"ann","groups":["docker"]}`:                                             fixed,
		`{"name":"ann","password_lock":true}`:                                            fixed,
		`{"name":"ann","ensure":"absent"}`:                                               fixed,
		`{"name":"new","uid":2500}`:                                                      `uid: 2500 is the id of user "ann" already`,
		`{"name":"bob","uid":2500}`:                                                      `uid: 2500 is the id of user "ann" already`,
		`{"name":"staff-2","gid":2600}`:                                                  `gid: 2600 is the id of group "staff" already`,
		`{"name":"bob","groups":["staff"]}`:                                              `groups[0]: group "staff" is not in /etc/group but in a name service of the host; add members in the name service`,
		`{"name":"staff","gid":2600}`:                                                    "",
		`{"name":"staff","gid":2601}`:                                                    `gid: group "staff" is not in /etc/group but in a name service of the host, with id 2600; change the id in the name service`,
		`{"name":"staff","ensure":"absent"}`:                                             `group "staff" is not in /etc/group but in a name service of the host; remove the group in the name service`,
	} {
		typ := user.Type()
		if len(properties) > 16 && properties[9:14] == "staff" {
			typ = group.Type()
		}
		res := modtest.Decode(t, modules.Registry{typ}, typ.Name, properties, "")
		plan, err := res.Check(t.Context(), modules.ReadOnly(modtest.Host()))
		if want == "" {
			require.NoError(t, err, properties)
			require.Equal(t, modules.Plan{}, plan)
			continue
		}
		require.EqualError(t, err, want, properties)
	}
}

// TestWithoutShadowEntry uses a user whose entry in shadow(5) is missing: usermod would lock nothing, and report
// success.
func TestWithoutShadowEntry(t *testing.T) { accountstest.Private(t, withoutShadowEntry) }

func withoutShadowEntry(t *testing.T) {
	for properties, field := range map[string]string{
		`{"name":"nosh","password_lock":true}`:                                             "!",
		`{"name":"nosh","password_lock":true,"password_hash":"` + accountstest.Hash + `"}`: "!" + accountstest.Hash,
		`{"name":"nosh","password_lock":true,"expires":"2031-02-03"}`:                      "!",
	} {
		accountstest.Reset(t)
		passwd, err := os.OpenFile("/etc/passwd", os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = passwd.WriteString("nosh:x:6200:100::/home/nosh:/bin/sh\n")
		require.NoError(t, err)
		require.NoError(t, passwd.Close())
		check := func() (modules.Resource, modules.Plan) {
			res := modtest.Decode(t, modules.Registry{user.Type()}, "user", properties, "")
			plan, err := res.Check(t.Context(), modules.ReadOnly(modtest.Host()))
			require.NoError(t, err, properties)
			return res, plan
		}
		res, plan := check()
		require.True(t, plan.Pending(), properties)
		require.NoError(t, res.Apply(t.Context(), modtest.Host(), plan), properties)
		_, plan = check()
		require.Equal(t, modules.Plan{}, plan, properties)
		shadow, err := os.ReadFile("/etc/shadow")
		require.NoError(t, err)
		require.Contains(t, string(shadow), "nosh:"+field+":", properties)
	}
}

// TestGroupListsANewUser makes a user whose name is in a group before the user exists: the group is one of the user's then.
func TestGroupListsANewUser(t *testing.T) {
	accountstest.Private(t, func(t *testing.T) {
		groupListsANewUser(t)
		accountstest.Busybox(t)
		groupListsANewUser(t)
	})
}

func groupListsANewUser(t *testing.T) {
	for properties, want := range map[string]string{
		`{"name":"app"}`:                                   "",
		`{"name":"app","groups":[]}`:                       "ghosts -> none",
		`{"name":"app","groups":["docker"]}`:               "ghosts -> docker",
		`{"name":"app","groups":["docker","ghosts"]}`:      "ghosts -> docker,ghosts",
		`{"name":"app","groups":["docker"],"append":true}`: "ghosts -> docker,ghosts",
		`{"name":"app","groups":["ghosts"]}`:               "",
	} {
		accountstest.Reset(t)
		file, err := os.OpenFile("/etc/group", os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = file.WriteString("ghosts:x:6200:app\n")
		require.NoError(t, err)
		require.NoError(t, file.Close())
		check := func() (modules.Resource, modules.Plan) {
			res := modtest.Decode(t, modules.Registry{user.Type()}, "user", properties, "")
			plan, err := res.Check(t.Context(), modules.ReadOnly(modtest.Host()))
			require.NoError(t, err, properties)
			return res, plan
		}
		res, plan := check()
		got := ""
		for _, c := range plan.Changes {
			if c.Property == "groups" {
				got = c.Have + " -> " + c.Want
			}
		}
		require.Equal(t, want, got, properties)
		require.NoError(t, res.Apply(t.Context(), modtest.Host(), plan), properties)
		_, plan = check()
		require.Equal(t, modules.Plan{}, plan, properties)
	}
}
