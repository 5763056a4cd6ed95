package selinux

import (
	"testing"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/semanage/semanagetest"
)

func with(more string) string { return `{"root":"$ROOT",` + more + `}` }

func TestConverges(t *testing.T) {
	modtest.Converges(t, modtest.Rooted(Type()), []modtest.Fixture{
		{
			Name: "at boot", Tree: semanagetest.Disabled(), Properties: with(`"name":"enforcing","policy":"targeted"`),
			Action: "made SELinux enforcing", Changes: []modules.Change{modtest.Change("mode at boot", "permissive", "enforcing")},
		},
		{
			Name: "now and at boot", Tree: semanagetest.Running(), Properties: with(`"name":"enforcing"`),
			Action: "made SELinux enforcing", Changes: []modules.Change{modtest.Change("mode", "permissive", "enforcing"), modtest.Change("mode at boot", "permissive", "enforcing")},
		},
		{
			Name: "somebody has changed it meanwhile", Tree: append(semanagetest.Running(), modtest.Node{Path: "sys/fs/selinux/enforce", Text: "1"}), Properties: with(`"name":"for a test","mode":"permissive"`),
			Action: "made SELinux permissive", Changes: []modules.Change{modtest.Change("mode", "enforcing", "permissive")},
		},
		{
			Name: "disabled from the next boot on", Tree: append(semanagetest.Running(), modtest.Node{Path: "sys/fs/selinux/enforce", Text: "1"}), Properties: with(`"name":"disabled"`),
			Action: "made SELinux disabled", Changes: []modules.Change{modtest.Change("mode", "enforcing", "permissive"), modtest.Change("mode at boot", "permissive", "disabled")},
		},
		{
			Name: "another policy", Tree: semanagetest.Disabled(modtest.Node{Path: "etc/selinux/mls", Dir: true}, modtest.Node{Path: "etc/selinux/mls/policy", Dir: true}), Properties: with(`"name":"permissive","policy":"mls"`),
			Action: "made SELinux permissive", Changes: []modules.Change{modtest.Change("policy", "targeted", "mls")},
		},
		{Name: "permissive already", Tree: semanagetest.Running(), Properties: with(`"name":"permissive","policy":"targeted"`)},
		{Name: "no SELinux, and none wanted", Properties: with(`"name":"disabled"`)},
		{
			Name: "no SELinux", Tree: []modtest.Node{{Path: "etc", Dir: true}, {Path: "etc/selinux", Dir: true}}, Properties: with(`"name":"enforcing"`),
			Err: "/etc/selinux/config is not there (this host has no SELinux; install a policy, such as selinux-policy-targeted or selinux-policy-default)",
		},
		{
			Name: "no such policy", Tree: semanagetest.Disabled(), Properties: with(`"name":"enforcing","policy":"mls"`),
			Err: "this host has no policy mls: no directory /etc/selinux/mls/policy (install the package selinux-policy-mls)",
		},
	}...)
}

func TestPredicts(t *testing.T) {
	step := func(properties string) modtest.Step {
		return modtest.Step{Type: "selinux", Properties: with(properties)}
	}
	modtest.Predicts(t, modules.Registry{modtest.Rooted(Type())}, modtest.Scenario{
		Tree:  semanagetest.Running(),
		Steps: []modtest.Step{step(`"name":"enforcing"`), step(`"name":"enforcing"`), step(`"name":"disabled"`), step(`"name":"permissive"`)},
		Want:  []string{"changed", "stable", "changed", "changed"},
	})
}

func TestReversal(t *testing.T) {
	for name, test := range map[string]struct {
		tree      []modtest.Node
		resources []Selinux
	}{
		"at boot":         {semanagetest.Disabled(), []Selinux{{Name: "enforcing"}, {Name: "disabled"}}},
		"now and at boot": {semanagetest.Running(), []Selinux{{Name: "enforcing"}, {Name: "permissive"}, {Name: "enforcing"}}},
	} {
		t.Run(name, func(t *testing.T) {
			modtest.UndoneOn(t, test.tree, test.resources)
		})
	}
}

func TestValidate(t *testing.T) {
	modtest.Decodes(t, Type(), map[string]string{
		`{"name":"enforcing","policy":"targeted"}`:  "",
		`{"name":"for a test","mode":"permissive"}`: "",
		`{"name":"on"}`:                        `name: "on" is not a mode (write enforcing, permissive or disabled, or the property "mode")`,
		`{"name":"enforcing","policy":"../x"}`: `policy: "../x" is not a policy: write the name of a folder in /etc/selinux`,
	})
}

func TestDescribe(t *testing.T) {
	modtest.Describes(t, modtest.OnTree(t, semanagetest.Running()), &Selinux{Name: "enforcing"}, `{"ensure":"present","mode":"permissive","boot":"permissive","policy":"targeted"}`)
}
