package user

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/accounts/accountstest"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

func changes(properties ...string) []modules.Change {
	var all []modules.Change
	for i := 0; i < len(properties); i += 3 {
		all = append(all, modules.Change{Property: properties[i], Have: properties[i+1], Want: properties[i+2]})
	}
	return all
}

func created(properties ...string) []modules.Change {
	return changes(append([]string{"ensure", "absent", "present"}, properties...)...)
}

// newUsers are situations that both sets of tools master.
func newUsers() []modtest.Fixture {
	const action = "created the user"
	return []modtest.Fixture{
		{Name: "new", Properties: `{"name":"app"}`, Action: action, Changes: created()},
		{Name: "new, of the system", Properties: `{"name":"app","system":true,"create_home":false,"shell":"/usr/sbin/nologin"}`, Action: action, Changes: created("shell", "absent", "/usr/sbin/nologin")},
		{
			Name:       "new, with everything",
			Properties: `{"name":"app","uid":1700,"group":"wheel","groups":["docker","100"],"shell":"/bin/bash","home":"/home/app-1","comment":"The App","password_hash":"` + accountstest.Hash + `","password_lock":true,"expires":"never","ssh_keys":["` + annKey + `"]}`,
			Action:     action,
			Changes: created("uid", "absent", "1700", "group", "absent", "wheel", "groups", "absent", "docker,users", "comment", "absent", "The App",
				"home", "absent", "/home/app-1", "shell", "absent", "/bin/bash", "expires", "absent", "never", "password_hash", "absent", "[hash]", "password_lock", "absent", "true",
				"ssh_keys", "absent", annPrint),
		},
		{Name: "new, no password", Properties: `{"name":"app","password_hash":"*"}`, Action: action, Changes: created("password_hash", "absent", "*")},
		{Name: "new, group of the same name", Properties: `{"name":"wheel"}`, Action: action, Changes: created()},
		{Name: "new, home is there", Properties: `{"name":"app","home":"/home/bob"}`, Action: action, Changes: created("home", "absent", "/home/bob")},
		{Name: "new, id of a group", Properties: `{"name":"app","uid":900}`, Action: action, Changes: created("uid", "absent", "900")},
		{Name: "absent", Properties: `{"name":"app","ensure":"absent","remove_home":true}`},
		{Name: "removed", Properties: `{"name":"bob","ensure":"absent"}`, Action: "removed the user", Changes: changes("ensure", "present", "absent")},
		{
			Name: "removed with the home", Properties: `{"name":"bob","ensure":"absent","remove_home":true}`,
			Action: "removed the user", Changes: changes("ensure", "present", "absent", "home", "/home/bob", "absent"),
		},
		{
			Name:       "as it should be",
			Properties: `{"name":"bob","uid":1500,"group":"bob","groups":["docker"],"shell":"/bin/sh","home":"/home/bob","create_home":true,"comment":"Bob","password_hash":"` + accountstest.Hash + `","password_lock":false,"expires":"never"}`,
		},
		{Name: "the primary group is none of the others", Properties: `{"name":"bob","groups":["docker","1500"]}`},
		{Name: "groups that are there", Properties: `{"name":"bob","groups":["docker"],"append":true}`},
		{Name: "another group", Properties: `{"name":"bob","groups":["wheel"]}`, Action: "updated the user", Changes: changes("groups", "docker", "wheel")},
		{Name: "one more group", Properties: `{"name":"bob","groups":["wheel"],"append":true}`, Action: "updated the user", Changes: changes("groups", "docker", "docker,wheel")},
		{Name: "no groups", Properties: `{"name":"bob","groups":[]}`, Action: "updated the user", Changes: changes("groups", "docker", "none")},
		{Name: "another password", Properties: `{"name":"bob","password_hash":"*"}`, Action: "updated the user", Changes: changes("password_hash", "[hash]", "*")},
		{Name: "unlocked already", Properties: `{"name":"bob","password_lock":false}`},
		{Name: "locked", Properties: `{"name":"bob","password_lock":true}`, Action: "updated the user", Changes: changes("password_lock", "false", "true")},
		{Name: "keys", Properties: `{"name":"bob","ssh_keys":["` + annKey + `","` + beaKey + `"]}`, Action: "updated the user", Changes: changes("ssh_keys", "absent", annPrint, "ssh_keys", "absent", beaPrint)},
		{Name: "no keys", Properties: `{"name":"bob","ssh_keys":[],"ssh_keys_exclusive":true}`},
		{Name: "id that is taken", Properties: `{"name":"app","uid":1500}`, Err: `uid: 1500 is the id of user "bob" already`},
		{Name: "no group", Properties: `{"name":"app","group":"apps"}`, Err: `group: group "apps" does not exist; create the group with an earlier group resource`},
		{Name: "no group with that id", Properties: `{"name":"app","group":"4242"}`, Err: `group: group "4242" does not exist; create the group with an earlier group resource`},
		{Name: "no other group", Properties: `{"name":"bob","groups":["docker","apps"]}`, Err: `groups[1]: group "apps" does not exist; create the group with an earlier group resource`},
		{Name: "nothing to unlock", Properties: `{"name":"app","password_lock":false}`, Err: `password_lock: user "app" has no password, so without the lock anyone could log in; set "password_hash"`},
		{Name: "no place for a home", Properties: `{"name":"app","home":"/home/a/b"}`, Err: `home: "/home/a" is not a directory; let an earlier file resource make it`},
		{Name: "no home for keys", Properties: `{"name":"nobody","ssh_keys":["` + annKey + `"]}`, Err: `ssh_keys: user "nobody" has no home, since "/nonexistent" is not there; set create_home: true`},
	}
}

// inAccounts makes the suite compare the trees in which tools of accounts change something.
func inAccounts(fixtures []modtest.Fixture) []modtest.Fixture {
	for i := range fixtures {
		fixtures[i].Outside = []string{"/etc", "/home", "/var/mail", "/var/log"}
	}
	return fixtures
}

func TestConverges(t *testing.T) { accountstest.Private(t, converges) }

func converges(t *testing.T) {
	const updated = "updated the user"
	modtest.Converges(t, accountstest.Fresh(t, Type(), nil), inAccounts(append(newUsers(),
		modtest.Fixture{Name: "new, with an end", Properties: `{"name":"app","expires":"2031-02-03"}`, Action: "created the user", Changes: created("expires", "absent", "2031-02-03")},
		modtest.Fixture{
			Name:       "other texts",
			Properties: `{"name":"bob","uid":1501,"group":"wheel","shell":"/bin/bash","home":"/home/robert","comment":"","expires":"2031-02-03"}`,
			Action:     updated,
			Changes:    changes("uid", "1500", "1501", "group", "bob", "wheel", "comment", "Bob", "", "home", "/home/bob", "/home/robert", "shell", "/bin/sh", "/bin/bash", "expires", "never", "2031-02-03"),
		},
		modtest.Fixture{Name: "a new home", Properties: `{"name":"bob","home":"/home/robert","create_home":true}`, Action: updated, Changes: changes("home", "/home/bob", "/home/robert", "create_home", "absent", "present")},
		modtest.Fixture{Name: "id of another user", Properties: `{"name":"bob","uid":1}`, Err: `uid: 1 is the id of user "daemon" already`},
	))...)
}

func TestConvergesWithBusybox(t *testing.T) { accountstest.Private(t, convergesWithBusybox) }

func convergesWithBusybox(t *testing.T) {
	accountstest.Busybox(t)
	needs := `: setting it for user "bob" needs usermod, which is missing here; install shadow`
	modtest.Converges(t, accountstest.Fresh(t, Type(), nil), inAccounts(append(newUsers(),
		modtest.Fixture{Name: "another shell", Properties: `{"name":"bob","shell":"/bin/bash"}`, Err: "shell" + needs},
		modtest.Fixture{Name: "another end", Properties: `{"name":"bob","expires":"2031-02-03"}`, Err: "expires" + needs},
		modtest.Fixture{Name: "new, with an end", Properties: `{"name":"app","expires":"2031-02-03"}`, Err: `expires: setting it for user "app" needs usermod, which is missing here; install shadow`},
	))...)
}

// TestCheckChangesNothing looks at the files themselves.
func TestCheckChangesNothing(t *testing.T) { accountstest.Private(t, checkChangesNothing) }

func checkChangesNothing(t *testing.T) {
	look := func() []map[string]modtest.Seen {
		return []map[string]modtest.Seen{modtest.Snapshot(t, "/etc"), modtest.Snapshot(t, "/home")}
	}
	before := look()
	for _, f := range newUsers() {
		res := modtest.Decode(t, modules.Registry{Type()}, "user", f.Properties, "")
		res.Check(t.Context(), modules.ReadOnly(modtest.Host()))
		require.Equal(t, before, look(), f.Name)
	}
}

// put makes a file, a directory (no text) or a link (to "-> text") of a user.
func put(t *testing.T, name, text string, mode os.FileMode, uid int) {
	t.Helper()
	switch {
	case len(text) > 3 && text[:3] == "-> ":
		require.NoError(t, os.Symlink(text[3:], name))
	case text == "":
		require.NoError(t, os.MkdirAll(name, mode))
	default:
		require.NoError(t, os.WriteFile(name, []byte(text), mode))
	}
	require.NoError(t, os.Lchown(name, uid, uid))
	if text == "" || text[0] != '-' {
		require.NoError(t, os.Chmod(name, mode))
	}
}

func apply(t *testing.T, properties string) (modules.Plan, error) {
	t.Helper()
	res := modtest.Decode(t, modules.Registry{Type()}, "user", properties, "")
	plan, err := res.Check(t.Context(), modules.ReadOnly(modtest.Host()))
	if err != nil || !plan.Pending() {
		return plan, err
	}
	if err := res.Apply(t.Context(), modtest.Host(), plan); err != nil {
		return plan, err
	}
	left, err := res.Check(t.Context(), modules.ReadOnly(modtest.Host()))
	require.NoError(t, err)
	require.Equal(t, modules.Plan{}, left)
	return plan, nil
}

// TestKeys begins with an existing authorized_keys.
func TestKeys(t *testing.T) { accountstest.Private(t, keysOfBob) }

func keysOfBob(t *testing.T) {
	const file = "/home/bob/.ssh/authorized_keys"
	other := "restrict " + annKey
	for _, test := range []struct {
		name, have, properties string
		changes                []modules.Change
		want                   string
	}{
		{"one more", "# mine\n" + annKey, `"ssh_keys":["` + beaKey + `"]`, changes("ssh_keys", "absent", beaPrint), "# mine\n" + annKey + "\n" + beaKey},
		{"the same", annKey + "\n\nnonsense\n", `"ssh_keys":["` + annKey + `"]`, nil, annKey + "\n\nnonsense\n"},
		{"other options", "a\n" + annKey + "\n" + beaKey + "\n" + annKey + "\n", `"ssh_keys":["` + other + `"]`,
			changes("ssh_keys", annPrint+" with other options or another comment", annPrint), "a\n" + other + "\n" + beaKey + "\n"},
		{"no others", "# mine\nnonsense\n" + annKey + "\n" + beaKey + "\n", `"ssh_keys":["` + annKey + `"],"ssh_keys_exclusive":true`,
			changes("ssh_keys", "a line without a key", "absent", "ssh_keys", beaPrint, "absent"), annKey + "\n"},
		{"none", annKey + "\n", `"ssh_keys":[],"ssh_keys_exclusive":true`, changes("ssh_keys", annPrint, "absent"), ""},
		{"comments may stay", "# mine\n" + annKey + "\n", `"ssh_keys":["` + annKey + `"],"ssh_keys_exclusive":true`, nil, "# mine\n" + annKey + "\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			accountstest.Reset(t)
			put(t, filepath.Dir(file), "", 0o700, 1500)
			put(t, file, test.have, 0o600, 1500)
			plan, err := apply(t, `{"name":"bob",`+test.properties+`}`)
			require.NoError(t, err)
			require.Equal(t, test.changes, plan.Changes)
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, test.want, string(text))
		})
	}
	t.Run("modes", func(t *testing.T) {
		accountstest.Reset(t)
		put(t, filepath.Dir(file), "", 0o775, 1500)
		put(t, file, annKey+"\n", 0o644, 1500)
		plan, err := apply(t, `{"name":"bob","ssh_keys":["`+annKey+`"]}`)
		require.NoError(t, err)
		require.Equal(t, changes("ssh_keys", "~/.ssh with mode 0775", "~/.ssh with mode 0700",
			"ssh_keys", "~/.ssh/authorized_keys with mode 0644", "~/.ssh/authorized_keys with mode 0600"), plan.Changes)
	})
}

// TestTricksOfUsers uses traps that a user could set for root.
func TestTricksOfUsers(t *testing.T) { accountstest.Private(t, tricksOfUsers) }

func tricksOfUsers(t *testing.T) {
	const ssh, file = "/home/bob/.ssh", "/home/bob/.ssh/authorized_keys"
	keys := `{"name":"bob","ssh_keys":["` + annKey + `"]}`
	gone := `{"name":"bob","ensure":"absent","remove_home":true}`
	for _, test := range []struct {
		name, properties string
		prepare          func()
		err              string
	}{
		{"a link for .ssh", keys, func() { put(t, ssh, "-> /root", 0, 1500) }, `ssh_keys: "` + ssh + `" is a symlink instead of a directory; refusing to put keys there`},
		{"a link for the file", keys, func() { put(t, ssh, "", 0o700, 1500); put(t, file, "-> /etc/shadow", 0, 1500) }, `ssh_keys: "` + file + `" is a symlink instead of a file; refusing to put keys there`},
		{"another name of a file", keys, func() { put(t, ssh, "", 0o700, 1500); put(t, file, "root's", 0o600, 0) }, `ssh_keys: the path "` + file + `" belongs to user 0 instead of user "bob", so ccm-push does not write keys to it`},
		{"a directory of root", keys, func() { put(t, ssh, "", 0o700, 0) }, `ssh_keys: the path "` + ssh + `" belongs to user 0 instead of user "bob", so ccm-push does not write keys to it`},
		{"a home of root", keys, func() { require.NoError(t, os.Chown("/home/bob", 0, 0)) }, `ssh_keys: the home "/home/bob" belongs to user 0, not to user "bob", so ccm-push does not create the folder ".ssh" in it`},
		{"home is a link", gone, func() {
			require.NoError(t, os.Rename("/home/bob", "/home/real"))
			put(t, "/home/bob", "-> /home/real", 0, 0)
		}, `remove_home: refusing to remove "/home/bob", which is not a directory`},
		{"home of somebody else", gone, func() { require.NoError(t, os.Chown("/home/bob", 1, 1)) }, `remove_home: refusing to remove "/home/bob", which belongs to user 1`},
		{"home in a place of the user", gone, func() { require.NoError(t, os.Chown("/home", 1500, 1500)) }, `remove_home: "/home" is not a directory that only root can change`},
	} {
		t.Run(test.name, func(t *testing.T) {
			accountstest.Reset(t)
			t.Cleanup(func() { require.NoError(t, os.Chown("/home", 0, 0)) })
			test.prepare()
			before := modtest.Snapshot(t, "/home")
			_, err := apply(t, test.properties)
			require.EqualError(t, err, test.err)
			require.Equal(t, before, modtest.Snapshot(t, "/home"))
		})
	}
}

// TestLinksThatComeLate exchanges .ssh for a link after Check.
func TestLinksThatComeLate(t *testing.T) { accountstest.Private(t, linksThatComeLate) }

func linksThatComeLate(t *testing.T) {
	victim := "/home/victim"
	for _, exclusive := range []bool{false, true} {
		t.Run(fmt.Sprint(exclusive), func(t *testing.T) {
			accountstest.Reset(t)
			put(t, "/home/bob/.ssh", "", 0o700, 1500)
			put(t, "/home/bob/.ssh/authorized_keys", beaKey+"\n", 0o600, 1500)
			put(t, victim, "", 0o700, 0)
			put(t, victim+"/authorized_keys", "secret", 0o600, 0)
			res := modtest.Decode(t, modules.Registry{Type()}, "user", fmt.Sprintf(`{"name":"bob","ssh_keys":[%q],"ssh_keys_exclusive":%v}`, annKey, exclusive), "")
			plan, err := res.Check(t.Context(), modules.ReadOnly(modtest.Host()))
			require.NoError(t, err)
			require.True(t, plan.Pending())
			require.NoError(t, os.Rename("/home/bob/.ssh", "/home/bob/kept"))
			put(t, "/home/bob/.ssh", "-> "+victim, 0, 1500)
			before := modtest.Snapshot(t, victim)
			require.Error(t, res.Apply(t.Context(), modtest.Host(), plan))
			require.Equal(t, before, modtest.Snapshot(t, victim))
		})
	}
}

// TestRemovedTreeFollowsNoLinks removes a home with a link out of it.
func TestRemovedTreeFollowsNoLinks(t *testing.T) {
	accountstest.Private(t, func(t *testing.T) {
		put(t, "/home/kept", "", 0o755, 0)
		put(t, "/home/kept/file", "text", 0o644, 0)
		put(t, "/home/bob/out", "-> /home/kept", 0, 1500)
		_, err := apply(t, `{"name":"bob","ensure":"absent","remove_home":true}`)
		require.NoError(t, err)
		require.NoDirExists(t, "/home/bob")
		require.FileExists(t, "/home/kept/file")
	})
}
