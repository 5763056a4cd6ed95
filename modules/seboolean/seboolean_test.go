package seboolean

import (
	"testing"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/semanage/semanagetest"
)

func with(more string) string { return `{"root":"$ROOT",` + more + `}` }

const ofPolicy = "as the policy has it"

func TestConverges(t *testing.T) {
	const others = "# auto\nftpd_full_access=1\nhttpd_can_network_connect=0\n"
	modtest.Converges(t, modtest.Rooted(Type()), []modtest.Fixture{
		{
			Name: "kept, where SELinux does not run", Tree: semanagetest.Disabled(), Properties: with(`"name":"httpd_can_network_connect","value":true`),
			Action: "kept it on", Changes: []modules.Change{modtest.Change("kept", ofPolicy, "on")},
		},
		{
			Name: "kept otherwise", Tree: semanagetest.Disabled(semanagetest.Kept(store, others)), Properties: with(`"name":"httpd_can_network_connect","value":true`),
			Action: "kept it on", Changes: []modules.Change{modtest.Change("kept", "off", "on")},
		},
		{Name: "kept already", Tree: semanagetest.Disabled(semanagetest.Kept(store, others)), Properties: with(`"name":"ftpd_full_access","value":true`)},
		{
			Name: "forgotten, and the others are not", Tree: semanagetest.Disabled(semanagetest.Kept(store, others)), Properties: with(`"name":"ftpd_full_access","ensure":"absent"`),
			Action: "left it to the policy", Changes: []modules.Change{modtest.Change("kept", "on", ofPolicy)},
		},
		{Name: "nothing is kept", Tree: semanagetest.Disabled(), Properties: with(`"name":"ftpd_full_access","ensure":"absent"`)},
		{
			Name: "now and at boot", Tree: semanagetest.Running(), Properties: with(`"name":"httpd_can_network_connect","value":true`),
			Action: "kept it on", Changes: []modules.Change{modtest.Change("value", "off", "on"), modtest.Change("kept", ofPolicy, "on")},
		},
		{
			Name: "now alone", Tree: semanagetest.Running(), Properties: with(`"name":"httpd_can_network_connect","value":true,"persistent":false`),
			Action: "turned it on", Changes: []modules.Change{modtest.Change("value", "off", "on")},
		},
		{
			Name: "somebody has turned it on meanwhile", Tree: semanagetest.Running(semanagetest.Kept(store, "httpd_can_network_connect=1\n")), Properties: with(`"name":"httpd_can_network_connect","value":true`),
			Action: "turned it on", Changes: []modules.Change{modtest.Change("value", "off", "on")},
		},
		{
			Name: "no such boolean", Tree: semanagetest.Running(), Properties: with(`"name":"httpd_fly","value":true`),
			Err: "the policy that runs on this host has no boolean httpd_fly",
		},
		{
			Name: "nothing to have it now", Tree: semanagetest.Disabled(), Properties: with(`"name":"httpd_can_network_connect","value":true,"persistent":false`),
			Err: `SELinux does not run on this host, so a boolean has only its stored value, not a current one: remove the property "persistent"`,
		},
		{Name: "no SELinux", Properties: with(`"name":"httpd_can_network_connect","value":true`), Err: "this host has no SELinux: the file /etc/selinux/config does not exist (install a policy, such as selinux-policy-targeted or selinux-policy-default)"},
		{Name: "no SELinux, and nothing to keep", Properties: with(`"name":"httpd_can_network_connect","ensure":"absent"`)},
	}...)
}

func TestPredicts(t *testing.T) {
	step := func(properties string) modtest.Step {
		return modtest.Step{Type: "seboolean", Properties: with(properties)}
	}
	modtest.Predicts(t, modules.Registry{modtest.Rooted(Type())}, modtest.Scenario{
		Tree: semanagetest.Running(),
		Steps: []modtest.Step{
			step(`"name":"httpd_can_network_connect","value":true`),
			step(`"name":"httpd_can_network_connect","value":true`),
			step(`"name":"httpd_can_network_connect","ensure":"absent"`),
			step(`"name":"httpd_can_network_connect","value":true,"persistent":false`),
			step(`"name":"httpd_can_network_connect","value":false`),
		},
		Want: []string{"changed", "stable", "changed", "stable", "changed"},
	})
}

func TestReversal(t *testing.T) {
	for name, test := range map[string]struct {
		tree      []modtest.Node
		resources []Seboolean
	}{
		"nothing was kept":     {semanagetest.Running(), []Seboolean{{Name: "httpd_can_network_connect", Ensure: present, Value: new(true)}}},
		"kept, and turned off": {semanagetest.Running(semanagetest.Kept(store, "# This file is auto-generated\nhttpd_can_network_connect=1\n")), []Seboolean{{Name: "httpd_can_network_connect", Ensure: present, Value: new(false)}, {Name: "httpd_can_network_connect", Ensure: absent}}},
		"now alone":            {semanagetest.Running(), []Seboolean{{Name: "httpd_can_network_connect", Ensure: present, Value: new(true), Persistent: new(false)}}},
		"SELinux does not run": {semanagetest.Disabled(), []Seboolean{{Name: "httpd_can_network_connect", Ensure: present, Value: new(true)}}},
	} {
		t.Run(name, func(t *testing.T) {
			modtest.UndoneOn(t, test.tree, test.resources)
		})
	}
}

func TestValidate(t *testing.T) {
	modtest.Decodes(t, Type(), map[string]string{
		`{"name":"httpd_enable_cgi","value":true}`:         "",
		`{"name":"a b","value":true}`:                      `name: "a b" is not a valid boolean: use letters, digits and underscores`,
		`{"name":"a"}`:                                     `value: "value" cannot be empty (write true or false)`,
		`{"name":"a","ensure":"absent","value":true}`:      "value: an absent boolean has the value of the policy",
		`{"name":"a","ensure":"absent","persistent":true}`: "persistent: 'persistent' is about a value, and absent has none",
	})
}

func TestDescribe(t *testing.T) {
	modtest.Describes(t, modtest.OnTree(t, semanagetest.Running(semanagetest.Kept(store, "httpd_can_network_connect=1\n"))), &Seboolean{Name: "httpd_can_network_connect"}, `{"ensure":"present","value":"off","kept":"on"}`)
}
