package group_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/accounts/accountstest"
	"github.com/ccm-push/ccm-push/modules/group"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

func ensure(have, want string) []modules.Change {
	return []modules.Change{{Property: "ensure", Have: have, Want: want}}
}

func fixtures() []modtest.Fixture {
	gid := modules.Change{Property: "gid", Have: "absent", Want: "1234"}
	return []modtest.Fixture{
		{Name: "new", Properties: `{"name":"app"}`, Action: "created the group", Changes: ensure("absent", "present")},
		{Name: "new, with an id", Properties: `{"name":"app","gid":1234}`, Action: "created the group", Changes: append(ensure("absent", "present"), gid)},
		{Name: "new, of the system", Properties: `{"name":"app","system":true}`, Action: "created the group", Changes: ensure("absent", "present")},
		{Name: "there", Properties: `{"name":"wheel"}`},
		{Name: "there, with an id", Properties: `{"name":"wheel","gid":901,"system":true}`},
		{Name: "root", Properties: `{"name":"root","gid":0}`},
		{Name: "absent", Properties: `{"name":"app","ensure":"absent"}`},
		{Name: "removed", Properties: `{"name":"docker","ensure":"absent"}`, Action: "removed the group", Changes: ensure("present", "absent")},
		{Name: "somebody's primary group", Properties: `{"name":"bob","ensure":"absent"}`, Err: `group "bob" is the primary group of bob; give them another one first`},
		{Name: "id of another new group", Properties: `{"name":"app","gid":901}`, Err: `gid: 901 is the id of group "wheel" already`},
		{Name: "id of another group", Properties: `{"name":"docker","gid":901}`, Err: `gid: 901 is the id of group "wheel" already`},
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
	modtest.Converges(t, accountstest.Fresh(t, group.Type(), nil), inAccounts(append(fixtures(),
		modtest.Fixture{
			Name: "another id", Properties: `{"name":"bob","gid":1234}`, Action: "updated the group",
			Changes: []modules.Change{{Property: "gid", Have: "1500", Want: "1234"}},
		},
	))...)
}

func TestConvergesWithBusybox(t *testing.T) { accountstest.Private(t, convergesWithBusybox) }

func convergesWithBusybox(t *testing.T) {
	accountstest.Busybox(t)
	modtest.Converges(t, accountstest.Fresh(t, group.Type(), nil), inAccounts(append(fixtures(),
		modtest.Fixture{
			Name: "another id", Properties: `{"name":"wheel","gid":1234}`,
			Err: `gid: the program groupmod, which changes the id of group "wheel", is missing on this host; install the package shadow`,
		},
	))...)
}

// TestPredicts uses groups that conflict with each other.
func TestPredicts(t *testing.T) { accountstest.Private(t, predicts) }

func predicts(t *testing.T) {
	types := modules.Registry{accountstest.Fresh(t, group.Type(), nil)}
	for _, s := range []modtest.Scenario{
		{
			Name:  "one id for two",
			Steps: []modtest.Step{{Type: "group", Properties: `{"name":"a","gid":1234}`}, {Type: "group", Properties: `{"name":"b","gid":1234}`}},
			Want:  []string{"changed", "failed"},
		},
		{
			Name: "made, kept, removed, made",
			Steps: []modtest.Step{
				{Type: "group", Properties: `{"name":"a","gid":1234}`},
				{Type: "group", Properties: `{"name":"a"}`},
				{Type: "group", Properties: `{"name":"a","ensure":"absent"}`},
				{Type: "group", Properties: `{"name":"b","gid":1234}`},
			},
			Want: []string{"changed", "stable", "changed", "changed"},
		},
		{
			Name:  "an id that becomes free",
			Steps: []modtest.Step{{Type: "group", Properties: `{"name":"wheel","ensure":"absent"}`}, {Type: "group", Properties: `{"name":"b","gid":901}`}},
			Want:  []string{"changed", "changed"},
		},
	} {
		t.Run(s.Name, func(t *testing.T) { modtest.Predicts(t, types, s) })
	}
}

// TestCheckChangesNothing looks at the files themselves.
func TestCheckChangesNothing(t *testing.T) { accountstest.Private(t, checkChangesNothing) }

func checkChangesNothing(t *testing.T) {
	for _, f := range fixtures() {
		res := modtest.Decode(t, modules.Registry{group.Type()}, "group", f.Properties, "")
		before := modtest.Snapshot(t, "/etc")
		res.Check(t.Context(), modules.ReadOnly(modtest.Host()))
		require.Equal(t, before, modtest.Snapshot(t, "/etc"), f.Name)
	}
}

// TestRefusesWithoutRoot runs as a user who may not write in /etc.
func TestRefusesWithoutRoot(t *testing.T) {
	needs.Program(t, "useradd")
	modtest.AsOrdinaryUser(t, func(t *testing.T) {
		res := modtest.Decode(t, modules.Registry{group.Type()}, "group", `{"name":"no-such-group"}`, "")
		_, err := res.Check(t.Context(), modules.ReadOnly(modtest.Host()))
		require.ErrorIs(t, err, os.ErrPermission)
		require.Regexp(t, `^user \d+ may not write in "/etc"; use "become"$`, err.Error())
	})
}
