package seport

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/semanage/semanagetest"
)

func with(more string) string { return `{"root":"$ROOT",` + more + `}` }

const ofPolicy = "as the policy has it"

func TestConverges(t *testing.T) {
	kept := semanagetest.Kept(store, "# auto\nportcon tcp 8081 system_u:object_r:http_cache_port_t:s0\nportcon udp 10000 - 10010 system_u:object_r:http_port_t:s0\n")
	modtest.Converges(t, modtest.Rooted(Type()), []modtest.Fixture{
		{
			Name: "a port", Tree: semanagetest.Disabled(), Properties: with(`"name":"8081","type":"http_port_t"`),
			Action: "gave it a type", Changes: []modules.Change{modtest.Change("type", ofPolicy, "http_port_t")},
		},
		{
			Name: "a range, with levels", Tree: semanagetest.Disabled(kept), Properties: with(`"name":"20000-20010/udp","type":"http_port_t","range":"s0-s0:c0.c1023"`),
			Action: "gave it a type", Changes: []modules.Change{modtest.Change("type", ofPolicy, "http_port_t"), modtest.Change("range", ofPolicy, "s0-s0:c0.c1023")},
		},
		{
			Name: "one of the policy", Tree: semanagetest.Disabled(), Properties: with(`"name":"80/tcp","type":"ssh_port_t"`),
			Action: "gave it a type", Changes: []modules.Change{modtest.Change("type", ofPolicy, "ssh_port_t")},
		},
		{
			Name: "another type", Tree: semanagetest.Running(kept), Properties: with(`"name":"8081/tcp","type":"http_port_t"`),
			Action: "changed it", Changes: []modules.Change{modtest.Change("type", "http_cache_port_t", "http_port_t")},
		},
		{Name: "kept already", Tree: semanagetest.Disabled(kept), Properties: with(`"name":"10000-10010/udp","type":"http_port_t","range":"s0"`)},
		{
			Name: "absent", Tree: semanagetest.Disabled(kept), Properties: with(`"name":"10000-10010/udp","ensure":"absent"`),
			Action: "left it to the policy", Changes: []modules.Change{modtest.Change("type", "http_port_t", ofPolicy), modtest.Change("range", "s0", ofPolicy)},
		},
		{Name: "absent already", Tree: semanagetest.Disabled(kept), Properties: with(`"name":"8081/udp","ensure":"absent"`)},
		{Name: "no SELinux", Properties: with(`"name":"8081","type":"http_port_t"`), Err: "this host has no SELinux: the file /etc/selinux/config does not exist (install a policy, such as selinux-policy-targeted or selinux-policy-default)"},
		{Name: "no SELinux, and absent", Properties: with(`"name":"8081","ensure":"absent"`)},
		{
			Name: "no policy", Tree: []modtest.Node{{Path: "etc", Dir: true}, {Path: "etc/selinux", Dir: true}, {Path: "etc/selinux/config", Text: "SELINUXTYPE=mls\n"}}, Properties: with(`"name":"8081","type":"http_port_t"`),
			Err: "this host has no policy mls, which /etc/selinux/config names: neither /var/lib/selinux/mls/active nor /etc/selinux/mls/active is there",
		},
	}...)
}

// TestRefused checks that the error of semanage is reported.
func TestRefused(t *testing.T) {
	root := modtest.Root(t)
	modtest.Build(t, root, semanagetest.Disabled())
	p := &Seport{Name: "8081", Type: "no_t"}
	h := modtest.RootedHost(root, modtest.Host())
	plan, err := p.Check(t.Context(), modules.ReadOnly(h))
	require.NoError(t, err)
	require.True(t, plan.MayFail)
	require.EqualError(t, p.Apply(t.Context(), h, plan), "semanage ended with exit code 1: ValueError: Type no_t is invalid")
}

func TestPredicts(t *testing.T) {
	step := func(properties string) modtest.Step {
		return modtest.Step{Type: "seport", Properties: with(properties)}
	}
	modtest.Predicts(t, modules.Registry{modtest.Rooted(Type())}, modtest.Scenario{
		Tree: semanagetest.Disabled(),
		Steps: []modtest.Step{
			step(`"name":"8081","type":"http_port_t"`),
			step(`"name":"8081/tcp","type":"http_port_t","range":"s0"`),
			step(`"name":"8081/udp","type":"http_port_t"`),
			step(`"name":"8081","ensure":"absent"`),
			step(`"name":"8081","ensure":"absent"`),
		},
		Want: []string{"changed", "stable", "changed", "changed", "stable"},
	})
}

func TestParse(t *testing.T) {
	for line, want := range map[string]port{"portcon tcp 8081 system_u:object_r:http_port_t:s0": {"tcp", 8081, 8081}, "portcon udp 1 - 2 u:r:t": {"udp", 1, 2}} {
		is, _, ok := parse(line)
		require.True(t, ok)
		require.Equal(t, want, is)
	}
	for _, line := range []string{"", "portcon", "portcon tcp many u:r:t", "nodecon tcp 1 u:r:t", "portcon tcp 1 - two u:r:t"} {
		_, _, ok := parse(line)
		require.False(t, ok, line)
	}
}

func TestReversal(t *testing.T) {
	for name, test := range map[string]struct {
		tree      []modtest.Node
		resources []Seport
	}{
		"nothing was kept": {semanagetest.Disabled(), []Seport{{Name: "8081", Ensure: present, Type: "http_port_t"}, {Name: "8081", Ensure: present, Type: "ssh_port_t"}}},
		"another type":     {semanagetest.Disabled(semanagetest.Kept(store, "# This file is auto-generated\nportcon tcp 8081 system_u:object_r:ssh_port_t:s0\n")), []Seport{{Name: "8081", Ensure: absent}}},
	} {
		t.Run(name, func(t *testing.T) {
			modtest.UndoneOn(t, test.tree, test.resources)
		})
	}
}

func TestValidate(t *testing.T) {
	modtest.Decodes(t, Type(), map[string]string{
		`{"name":"8080","type":"http_port_t"}`:      "",
		`{"name":"1-65535/sctp","ensure":"absent"}`: "",
		`{"name":"http","type":"http_port_t"}`:      `name: "http" is not a port (write 8080/tcp or 10000-10100/udp)`,
		`{"name":"0","type":"http_port_t"}`:         `name: "0" is not a range of ports from 1 to 65535`,
		`{"name":"9-8/tcp","type":"http_port_t"}`:   `name: "9-8/tcp" is not a range of ports from 1 to 65535`,
		`{"name":"80"}`:                           `type: "type" cannot be empty (write one such as http_port_t; semanage port -l lists them)`,
		`{"name":"80","type":"a b"}`:              `type: "a b" is not an SELinux type`,
		`{"name":"80","type":"t","range":"s0 x"}`: `range: "s0 x" is not a range of levels`,
	})
}

func TestDescribe(t *testing.T) {
	modtest.Describes(t, modtest.OnTree(t, semanagetest.Disabled(semanagetest.Kept(store, "portcon tcp 8081 system_u:object_r:http_port_t:s0\n"))), &Seport{Name: "8081"}, `{"ensure":"present","type":"http_port_t","range":"s0"}`)
}

// TestOrdinaryUser requires a refusal for a user without the right to change the configuration of SELinux.
func TestOrdinaryUser(t *testing.T) {
	modtest.AsOrdinaryUser(t, func(t *testing.T) {
		root := modtest.Root(t)
		modtest.Build(t, root, semanagetest.Disabled())
		require.NoError(t, os.Chmod(root+"/etc/selinux", 0o555))
		t.Cleanup(func() { os.Chmod(root+"/etc/selinux", 0o755) })
		_, err := (&Seport{Name: "8081", Type: "http_port_t"}).Check(t.Context(), modtest.RootedHost(root, modules.ReadOnly(modtest.Host())))
		require.EqualError(t, err, `only root may change SELinux; use "become"`)
	})
}
