package fcontext

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/semanage/semanagetest"
)

func with(more string) string { return `{"root":"$ROOT",` + more + `}` }

const ofPolicy = "as the policy has it"

func TestConverges(t *testing.T) {
	kept := semanagetest.Kept(store, "# auto\n/srv/web(/.*)?    system_u:object_r:httpd_sys_content_t:s0\n/srv/web(/.*)? -d staff_u:object_r:etc_t:s0\n/srv/no    <<none>>\n")
	modtest.Converges(t, modtest.Rooted(Type()), modtest.Kept("labels", "", []modtest.Fixture{
		{
			Name: "paths", Tree: semanagetest.Disabled(), Properties: with(`"name":"/srv/web(/.*)?","type":"httpd_sys_content_t","restorecon":["$ROOT/srv"]`),
			Action: "gave a label to its paths", Changes: []modules.Change{modtest.Change("type", ofPolicy, "httpd_sys_content_t")},
		},
		{
			Name: "of one kind, of a user", Tree: semanagetest.Disabled(), Properties: with(`"name":"/srv/web(/.*)?","type":"etc_t","ftype":"f","user":"staff_u","range":"s0:c1"`),
			Action: "gave a label to its paths", Changes: []modules.Change{modtest.Change("type", ofPolicy, "etc_t"), modtest.Change("user", ofPolicy, "staff_u"), modtest.Change("range", ofPolicy, "s0:c1")},
		},
		{
			Name: "another type", Tree: semanagetest.Disabled(kept), Properties: with(`"name":"data","target":"/srv/web(/.*)?","ftype":"d","type":"httpd_sys_content_t"`),
			Action: "changed the label of its paths", Changes: []modules.Change{modtest.Change("type", "etc_t", "httpd_sys_content_t")},
		},
		{
			Name: "left as they are", Tree: semanagetest.Disabled(kept), Properties: with(`"name":"/srv/web(/.*)?","type":"<<none>>"`),
			Action: "changed the label of its paths", Changes: []modules.Change{modtest.Change("type", "httpd_sys_content_t", "<<none>>")},
		},
		{Name: "kept already", Tree: semanagetest.Disabled(kept), Properties: with(`"name":"/srv/web(/.*)?","type":"httpd_sys_content_t","user":"system_u"`)},
		{Name: "none already", Tree: semanagetest.Disabled(kept), Properties: with(`"name":"/srv/no","type":"<<none>>"`)},
		{
			Name: "absent", Tree: semanagetest.Disabled(kept), Properties: with(`"name":"/srv/web(/.*)?","ensure":"absent"`), Action: "left its paths to the policy",
			Changes: []modules.Change{modtest.Change("type", "httpd_sys_content_t", ofPolicy), modtest.Change("user", "system_u", ofPolicy), modtest.Change("range", "s0", ofPolicy)},
		},
		{Name: "absent already", Tree: semanagetest.Disabled(kept), Properties: with(`"name":"/srv/web(/.*)?","ensure":"absent","ftype":"f"`)},
		{
			Name: "with files that get it", Tree: semanagetest.Running(), Properties: with(`"name":"/srv/web(/.*)?","type":"httpd_sys_content_t","restorecon":["$ROOT/srv"]`), Stays: "labels",
			Action: "gave a label to its paths. had restorecon set it", Changes: []modules.Change{modtest.Change("type", ofPolicy, "httpd_sys_content_t")},
		},
		{Name: "no SELinux", Properties: with(`"name":"/srv/web(/.*)?","type":"httpd_sys_content_t"`), Err: "this host has no SELinux: the file /etc/selinux/config does not exist (install a policy, such as selinux-policy-targeted or selinux-policy-default)"},
		{Name: "no SELinux, and absent", Properties: with(`"name":"/srv/web(/.*)?","ensure":"absent"`)},
	})...)
}

// TestLabels uses files whose labels differ from the stored ones.
func TestLabels(t *testing.T) {
	root := modtest.Root(t)
	modtest.Build(t, root, semanagetest.Running(semanagetest.Kept(store, "/srv/web(/.*)? system_u:object_r:httpd_sys_content_t:s0\n")))
	f := &Fcontext{Name: "/srv/web(/.*)?", Type: "httpd_sys_content_t"}
	h := modtest.RootedHost(root, modtest.Host())
	plan, err := f.Check(t.Context(), modules.ReadOnly(h))
	require.NoError(t, err)
	require.False(t, plan.Pending(), "nobody has asked for restorecon")

	f.Restorecon = []string{root + "/srv"}
	plan, err = f.Check(t.Context(), modules.ReadOnly(h))
	require.NoError(t, err)
	require.Equal(t, "had restorecon set labels", plan.Action)
	require.Equal(t, []modules.Change{modtest.Change("labels", "of files differ: Would relabel /srv/web from var_t to httpd_sys_content_t", "as the policy has them")}, plan.Changes)
	require.NoError(t, f.Apply(t.Context(), h, plan))
	plan, err = f.Check(t.Context(), modules.ReadOnly(h))
	require.NoError(t, err)
	require.False(t, plan.Pending())
}

// TestCertain uses types that the policy certainly has.
func TestCertain(t *testing.T) {
	root := modtest.Root(t)
	modtest.Build(t, root, semanagetest.Disabled())
	for typ, unsure := range map[string]bool{"httpd_sys_content_t": false, "<<none>>": false, "other_t": true} {
		plan, err := (&Fcontext{Name: "/srv", Type: typ}).Check(t.Context(), modtest.RootedHost(root, modules.ReadOnly(modtest.Host())))
		require.NoError(t, err)
		require.Equal(t, unsure, plan.MayFail, typ)
	}
}

func TestPredicts(t *testing.T) {
	step := func(properties string) modtest.Step {
		return modtest.Step{Type: "fcontext", Properties: with(properties)}
	}
	modtest.Predicts(t, modules.Registry{modtest.Rooted(Type())}, modtest.Scenario{
		Tree: semanagetest.Disabled(),
		Steps: []modtest.Step{
			step(`"name":"/srv","type":"httpd_sys_content_t"`),
			step(`"name":"/srv","type":"httpd_sys_content_t","user":"system_u","range":"s0"`),
			step(`"name":"/srv","type":"httpd_sys_content_t","ftype":"d"`),
			step(`"name":"/srv","ensure":"absent"`),
			step(`"name":"/srv","ensure":"absent"`),
		},
		Want: []string{"changed", "stable", "changed", "changed", "stable"},
	})
}

func TestReversal(t *testing.T) {
	for name, test := range map[string]struct {
		tree      []modtest.Node
		resources []Fcontext
	}{
		"nothing was kept": {semanagetest.Disabled(), []Fcontext{{Name: "/srv", Ensure: present, Type: "etc_t", Ftype: "d"}, {Name: "/srv", Ensure: present, Type: "var_t", Ftype: "d"}}},
		"another label":    {semanagetest.Disabled(semanagetest.Kept(store, "# This file is auto-generated\n/srv staff_u:object_r:etc_t:s0:c1\n")), []Fcontext{{Name: "/srv", Ensure: absent}}},
		"none":             {semanagetest.Disabled(semanagetest.Kept(store, "# This file is auto-generated\n/srv <<none>>\n")), []Fcontext{{Name: "/srv", Ensure: present, Type: "etc_t"}}},
	} {
		t.Run(name, func(t *testing.T) {
			modtest.UndoneOn(t, test.tree, test.resources)
		})
	}
}

func TestValidate(t *testing.T) {
	modtest.Decodes(t, Type(), map[string]string{
		`{"name":"/srv(/.*)?","type":"etc_t"}`:                          "",
		`{"name":"data","target":"/srv","type":"<<none>>","ftype":"d"}`: "",
		`{"name":"srv","type":"etc_t"}`:                                 `name: "srv" is not a valid regular expression for paths: it must begin with a slash, and have no spaces or quotes (write one such as /srv/web(/.*)?)`,
		`{"name":"data","target":"/a b","type":"etc_t"}`:                `target: "/a b" is not a valid regular expression for paths: it must begin with a slash, and have no spaces or quotes (write one such as /srv/web(/.*)?)`,
		`{"name":"/srv"}`:                                     `type: "type" cannot be empty (write one such as httpd_sys_content_t; semanage fcontext -l lists them)`,
		`{"name":"/srv","type":"a b"}`:                        `type: "a b" is not an SELinux type`,
		`{"name":"/srv","type":"<<none>>","user":"system_u"}`: "type: <<none>> has neither user nor range",
		`{"name":"/srv","type":"t","user":"a b"}`:             `user: "a b" is not an SELinux user`,
		`{"name":"/srv","type":"t","range":"a b"}`:            `range: "a b" is not a range of levels`,
		`{"name":"/srv","type":"t","restorecon":["srv"]}`:     "restorecon[0]: file path must be absolute (write a path that begins with /)",
	})
}

func TestDescribe(t *testing.T) {
	modtest.Describes(t, modtest.OnTree(t, semanagetest.Disabled(semanagetest.Kept(store, "/srv -- system_u:object_r:etc_t:s0\n"))), &Fcontext{Name: "/srv", Ftype: "f"}, `{"ensure":"present","type":"etc_t","user":"system_u","range":"s0"}`)
}
