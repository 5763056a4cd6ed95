package timezone

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/file"
	"github.com/ccm-push/ccm-push/modules/link"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

func tree(target, named string) []modtest.Node {
	all := []modtest.Node{{Path: "etc", Dir: true}}
	for _, dir := range []string{"usr", "usr/share", "usr/share/zoneinfo", "usr/share/zoneinfo/Europe"} {
		all = append(all, modtest.Node{Path: dir, Dir: true})
	}
	all = append(all, modtest.Node{Path: "usr/share/zoneinfo/Europe/Vienna", Text: "v"}, modtest.Node{Path: "usr/share/zoneinfo/UTC", Text: "u"})
	if target != "" {
		all = append(all, modtest.Node{Path: "etc/localtime", Link: target})
	}
	if named != "" {
		all = append(all, modtest.Node{Path: "etc/timezone", Text: named})
	}
	return all
}

func TestConverges(t *testing.T) {
	const vienna, utc = "../usr/share/zoneinfo/Europe/Vienna", "/usr/share/zoneinfo/UTC"
	change := func(property, have, want string) modules.Change {
		return modules.Change{Property: property, Have: have, Want: want}
	}
	with := func(more string) string { return `{"root":"$ROOT",` + more + `}` }
	modtest.Converges(t, modtest.Rooted(Type()), []modtest.Fixture{
		{
			Name: "another zone, on Debian", Tree: tree(utc, "UTC\n"), Properties: with(`"name":"Europe/Vienna"`),
			Action: "set the time zone", Changes: []modules.Change{change("timezone", "UTC", "Europe/Vienna"), change("timezone file", "UTC", "Europe/Vienna")},
		},
		{
			Name: "another zone", Tree: tree(utc, ""), Properties: with(`"name":"this","zone":"Europe/Vienna"`),
			Action: "set the time zone", Changes: []modules.Change{change("timezone", "UTC", "Europe/Vienna")},
		},
		{
			Name: "none yet", Tree: tree("", ""), Properties: with(`"name":"UTC"`),
			Action: "set the time zone", Changes: []modules.Change{change("timezone", absent, "UTC")},
		},
		{
			Name: "the file of Debian alone", Tree: tree(utc, "x\n"), Properties: with(`"name":"UTC"`),
			Action: "set the time zone", Changes: []modules.Change{change("timezone file", "x", "UTC")},
		},
		{
			Name: "a link to something else", Tree: tree("zone", ""), Properties: with(`"name":"UTC"`),
			Action: "set the time zone", Changes: []modules.Change{change("timezone", "zone", "UTC")},
		},
		{
			Name: "no link", Tree: append(tree("", ""), modtest.Node{Path: "etc/localtime", Text: "u"}), Properties: with(`"name":"UTC"`), Past: true,
			Action: "set the time zone", Changes: []modules.Change{change("timezone", "file", "UTC")},
		},
		{Name: "as it shall be", Tree: tree(vienna, "Europe/Vienna"), Properties: with(`"name":"Europe/Vienna"`)},
		{Name: "written otherwise", Tree: tree("/usr/share/zoneinfo/Europe/Vienna", ""), Properties: with(`"name":"Europe/Vienna"`)},
		{
			Name: "unknown", Tree: tree(utc, ""), Properties: with(`"name":"Mars/Base"`),
			Err: "this host has no time zone Mars/Base (to list the zones: timedatectl list-timezones; the package tzdata contains them)",
		},
	}...)
}

func TestPredicts(t *testing.T) {
	step := func(zone string) modtest.Step {
		return modtest.Step{Type: "timezone", Properties: `{"root":"$ROOT","name":"` + zone + `"}`}
	}
	modtest.Predicts(t, modules.Registry{modtest.Rooted(Type()), file.Type(), link.Type()}, modtest.Scenario{
		Tree: tree("/usr/share/zoneinfo/UTC", "UTC\n"),
		Steps: []modtest.Step{
			step("Europe/Vienna"),
			step("Europe/Vienna"),
			{Type: "link", Properties: `{"name":"$ROOT/etc/localtime","target":"../usr/share/zoneinfo/Europe/Vienna"}`},
			{Type: "file", Properties: `{"name":"$ROOT/etc/timezone","ensure":"absent"}`},
			step("UTC"),
			{Type: "file", Properties: `{"name":"$ROOT/usr/share/zoneinfo/Mars","content":"m","mode":"0644"}`},
			step("Mars"),
		},
		Want: []string{"changed", "stable", "stable", "changed", "changed", "changed", "changed"},
	})
}

func TestValidate(t *testing.T) {
	const wrong = "this is not a time zone (write a name such as Europe/Vienna or UTC; timedatectl list-timezones lists them)"
	for name, ok := range map[string]bool{"UTC": true, "Etc/GMT+1": true, "America/Argentina/Buenos_Aires": true, "../etc": false, "/UTC": false, "a b": false, "UTC/": false} {
		err := (&Timezone{Name: name}).Validate()
		if ok {
			require.NoError(t, err, name)
			continue
		}
		require.EqualError(t, err, "name: "+wrong, name)
		require.EqualError(t, (&Timezone{Name: "this", Zone: name}).Validate(), "zone: "+wrong, name)
	}
}

// TestReversal restores the zone, also after another one, and removes the link if there was none.
func TestReversal(t *testing.T) {
	for _, was := range []string{"/usr/share/zoneinfo/UTC", "lost", ""} {
		root := t.TempDir()
		modtest.Build(t, root, tree(was, "Other\n"))
		with := func(zone string) modules.Reverser { return modtest.In(root, &Timezone{Name: "this", Zone: zone}) }
		modtest.Undone(t, root, with("Europe/Vienna"), with("UTC"))
	}
}

func TestDescribe(t *testing.T) {
	for target, want := range map[string]string{"../usr/share/zoneinfo/Europe/Vienna": `{"ensure":"present","zone":"Europe/Vienna"}`, "": `{"ensure":"absent"}`} {
		modtest.Describes(t, modtest.OnTree(t, tree(target, "")), &Timezone{Name: "UTC"}, want)
	}
}
