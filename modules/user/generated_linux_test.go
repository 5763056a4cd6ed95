package user_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/accounts/accountstest"
	"github.com/ccm-push/ccm-push/modules/file"
	"github.com/ccm-push/ccm-push/modules/group"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/user"
)

// generator makes users, groups and files that get into each other's way.
type generator struct{ *rand.Rand }

func (g generator) pick(from ...string) string { return from[g.IntN(len(from))] }

// some is a list of the given properties.
func (g generator) some(properties ...string) string {
	var given []string
	for _, p := range properties {
		if g.IntN(3) == 0 {
			given = append(given, ","+p)
		}
	}
	return strings.Join(given, "")
}

func (g generator) step() modtest.Step {
	name, groupName := g.pick("bob", "app", "web"), g.pick("app", "web", "docker", "wheel", "bob")
	s := modtest.Step{Noop: g.IntN(10) == 0}
	switch g.IntN(8) {
	case 0:
		s.Type, s.Properties = "group", fmt.Sprintf(`{"name":%q,"ensure":"absent"}`, groupName)
	case 1, 2:
		s.Type, s.Properties = "group", fmt.Sprintf(`{"name":%q%s}`, groupName, g.some(`"gid":`+g.pick("901", "1700", "1800"), `"system":true`))
	case 3:
		s.Type, s.Properties = "user", fmt.Sprintf(`{"name":%q,"ensure":"absent"%s}`, name, g.some(`"remove_home":true`))
	case 4:
		s.Type = "file"
		s.Properties = fmt.Sprintf(`{"name":"/home/%s/%s","content":"x","owner":%q,"group":%q,"mode":"0600"}`, name, g.pick("x", ".profile", ".ssh"), name, groupName)
	default:
		s.Type, s.Properties = "user", g.user(name, groupName)
	}
	return s
}

func (g generator) user(name, groupName string) string {
	return fmt.Sprintf(`{"name":%q%s}`, name, g.some(
		`"uid":`+g.pick("1500", "1700", "1701"),
		fmt.Sprintf(`"group":%q`, groupName),
		fmt.Sprintf(`"groups":[%q],"append":%s`, g.pick("docker", "wheel", "app", "users"), g.pick("true", "false")),
		`"groups":[]`,
		fmt.Sprintf(`"shell":%q`, g.pick("/bin/sh", "/bin/bash")),
		fmt.Sprintf(`"home":%q`, g.pick("/home/app", "/home/bob", "/home/a/b")),
		`"create_home":`+g.pick("true", "false"),
		fmt.Sprintf(`"comment":%q`, g.pick("", "Bob", "App")),
		fmt.Sprintf(`"password_hash":%q`, g.pick("*", "!", accountstest.Hash, "!"+accountstest.Hash)),
		`"password_lock":`+g.pick("true", "false"),
		fmt.Sprintf(`"expires":%q`, g.pick("never", "2031-02-03")),
		fmt.Sprintf(`"ssh_keys":[%q]`, key),
	))
}

// TestPredictsGenerated runs random catalogs: the certain predictions of a check run come true.
func TestPredictsGenerated(t *testing.T) { accountstest.Private(t, predictsGenerated) }

func predictsGenerated(t *testing.T) {
	types := modules.Registry{accountstest.Fresh(t, user.Type(), nil), accountstest.Fresh(t, group.Type(), nil), file.Type()}
	var all modtest.Tally
	seeds := uint64(100)
	if testing.Short() {
		seeds /= 10
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			g := generator{rand.New(rand.NewPCG(seed, 0))}
			s := modtest.Scenario{Steps: []modtest.Step{{Type: "group", Properties: `{"name":"root"}`}}}
			for range 1 + g.IntN(8) {
				s.Steps = append(s.Steps, g.step())
			}
			tally := modtest.Predicts(t, types, s)
			all.All, all.Certain = all.All+tally.All, all.Certain+tally.Certain
		})
	}
	t.Logf("%d of %d predictions were certain", all.Certain, all.All)
}

func TestPredictsGeneratedWithBusybox(t *testing.T) {
	accountstest.Private(t, func(t *testing.T) {
		accountstest.Busybox(t)
		predictsGenerated(t)
	})
}
