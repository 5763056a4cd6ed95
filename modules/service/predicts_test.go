package service_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/wire"
)

func services(properties ...string) []modtest.Step {
	var steps []modtest.Step
	for _, p := range properties {
		steps = append(steps, modtest.Step{Type: "service", Properties: "{" + p + "}"})
	}
	return steps
}

// written is a step that writes a file of root.
func written(path, content string) modtest.Step {
	return modtest.Step{Type: "file", Properties: `{"name":"` + path + `","owner":"root","group":"root","mode":"0644","content":"` + content + `"}`}
}

// TestOnSystemdPredicts runs checks on a real systemd: they change nothing, and their certain predictions come true.
func TestOnSystemdPredicts(t *testing.T) {
	onSystemd(t)
	tally := modtest.Tally{}
	subscribed := services(`"name":"sv-a"`)[0]
	subscribed.Subscribe = []int{0}
	both := plain + other + "systemctl enable --now sv-a sv-b"
	for _, s := range []struct {
		name, setup string
		steps       []modtest.Step
		want        []string
	}{
		{"nothing to do", both, services(`"name":"sv-a"`, `"name":"sv-b","enable":true`), []string{"stable", "stable"}},
		{
			"a file that is none of its business", both,
			append([]modtest.Step{written("/run/sv-motd", "hi")}, services(`"name":"sv-a"`, `"name":"sv-b","enable":false`)...),
			[]string{"changed", "stable", "changed"},
		},
		{
			"a file it is subscribed to", both,
			append([]modtest.Step{written("/run/sv-conf", "hi"), subscribed}, services(`"name":"sv-b"`)...),
			[]string{"changed", "changed refreshed likely", "stable likely"},
		},
		{
			"a new unit file", "",
			append([]modtest.Step{written(etc+"sv-a.service", `[Service]\nExecStart=/bin/sleep 1000\n[Install]\nWantedBy=multi-user.target\n`)}, services(`"name":"sv-a","enable":true`)...),
			[]string{"changed", "changed likely"},
		},
		{
			"another unit file", both,
			append([]modtest.Step{written(etc+"sv-a.service", `[Service]\nExecStart=/bin/sleep 2000\n`), subscribed}, services(`"name":"sv-b"`)...),
			[]string{"changed", "changed refreshed likely", "stable likely"},
		},
		{
			"another unit file, not subscribed to", both,
			append([]modtest.Step{written(etc+"sv-a.service", `[Service]\nExecStart=/bin/sleep 2000\n`)}, services(`"name":"sv-b"`, `"name":"sv-a"`)...),
			[]string{"changed", "stable", "changed likely"},
		},
		{
			"a unit file that goes", both,
			append([]modtest.Step{{Type: "file", Properties: `{"name":"` + etc + `sv-a.service","ensure":"absent"}`}}, services(`"name":"sv-a"`)...),
			[]string{"changed", "changed unknown"},
		},
		{
			"one unit twice", both,
			services(`"name":"sv-a","enable":false`, `"name":"sv-a.service","enable":false`, `"name":"sv-a","enable":true`, `"name":"sv-a","enable":true`),
			[]string{"changed", "stable", "changed", "stable"},
		},
		{
			"another unit in between", both,
			services(`"name":"sv-a","enable":false`, `"name":"sv-b","enable":false`, `"name":"sv-a","enable":true`),
			[]string{"changed", "changed likely", "changed likely"},
		},
		{
			"masked, then wanted", other,
			services(`"name":"sv-b","ensure":"stopped","masked":true`, `"name":"sv-b"`, `"name":"sv-b","ensure":"stopped","masked":false`),
			[]string{"changed", "failed", "changed likely"},
		},
		{
			"masked, then the mask is taken away", other,
			append(services(`"name":"sv-b","ensure":"stopped","masked":true`), modtest.Step{Type: "file", Properties: `{"name":"` + etc + `sv-b.service","ensure":"absent"}`}),
			[]string{"changed", "changed"},
		},
		{
			"unmasked, then enabled", other + "systemctl mask sv-b",
			services(`"name":"sv-b","ensure":"stopped","masked":false`, `"name":"sv-b","ensure":"stopped","enable":true`),
			[]string{"changed likely", "changed unknown"},
		},
		{
			"a unit file that is to go, of what is not there", "",
			append([]modtest.Step{written(etc+"sv-a.service", `[Service]`), {Type: "file", Properties: `{"name":"` + etc + `sv-a.service","ensure":"absent"}`}}, services(`"name":"sv-a","ensure":"stopped"`)...),
			[]string{"changed", "changed", "stable unknown"},
		},
		{
			"started, then enabled", plain,
			services(`"name":"sv-a"`, `"name":"sv-a","enable":true`, `"name":"sv-a"`),
			[]string{"changed likely", "changed likely", "stable likely"},
		},
		{
			"a package that may bring it", "",
			append([]modtest.Step{{Type: "exec", Properties: `{"name":"true"}`}}, services(`"name":"sv-a","ensure":"stopped"`, `"name":"sv-a"`)...),
			[]string{"changed likely", "stable unknown", "changed unknown"},
		},
		{"not there", "", services(`"name":"sv-a"`, `"name":"sv-a","ensure":"stopped"`), []string{"failed", "stable"}},
	} {
		t.Run(s.name, func(t *testing.T) {
			sh(t, clean)
			sh(t, s.setup)
			one := modtest.Predicts(t, builtin.Types(), modtest.Scenario{Steps: s.steps, Want: s.want})
			tally.All, tally.Certain = tally.All+one.All, tally.Certain+one.Certain
		})
	}
	t.Logf("%d of %d predictions were certain, and all of those right", tally.Certain, tally.All)
	require.Positive(t, tally.Certain)
}

// TestOnSystemdPredictsChanges changes unit files: the predicted changes of their services are the real ones, also if an
// earlier resource has systemd read the files again.
func TestOnSystemdPredictsChanges(t *testing.T) {
	onSystemd(t)
	e := &engine.Engine{Host: modtest.Host(), Now: time.Now}
	e.Decode = func(entry *wire.Entry) (modules.Resource, error) {
		return builtin.Types().Decode(entry.Type, entry.Properties)
	}
	unitFile := func(name string) modtest.Step {
		return written(etc+name, `[Service]\nExecStart=/bin/sleep 1234\n[Install]\nWantedBy=multi-user.target\n`)
	}
	again := modtest.Step{Type: "exec", Properties: `{"name":"systemctl daemon-reload"}`}
	for name, steps := range map[string][]modtest.Step{
		"a new unit file":               append([]modtest.Step{unitFile("sv-a.service")}, services(`"name":"sv-a","enable":true`)...),
		"a new unit file, read before":  append([]modtest.Step{unitFile("sv-a.service"), again}, services(`"name":"sv-a"`)...),
		"another unit file":             append([]modtest.Step{unitFile("sv-b.service")}, services(`"name":"sv-b","ensure":"stopped"`)...),
		"another one, read before":      append([]modtest.Step{unitFile("sv-b.service"), again}, services(`"name":"sv-b","ensure":"stopped"`)...),
		"another one, read too early":   append([]modtest.Step{again, unitFile("sv-b.service")}, services(`"name":"sv-b","ensure":"stopped"`)...),
		"two, both read with the first": append([]modtest.Step{unitFile("sv-a.service"), unitFile("sv-b.service")}, services(`"name":"sv-a","enable":true`, `"name":"sv-b","ensure":"stopped"`)...),
	} {
		t.Run(name, func(t *testing.T) {
			sh(t, clean)
			sh(t, other+"systemctl start sv-b")
			changes := func(check bool) (all [][]modules.Change) {
				cat := &wire.Catalog{Check: check}
				for _, s := range steps {
					cat.Entries = append(cat.Entries, wire.Entry{Type: s.Type, Name: s.Type, Properties: []byte(s.Properties)})
				}
				_, err := e.Run(t.Context(), cat, func(r *wire.Result) error {
					require.Empty(t, r.Error)
					all = append(all, r.Changes)
					return nil
				})
				require.NoError(t, err)
				return all
			}
			predicted := changes(true)
			require.Equal(t, changes(false), predicted)
		})
	}
}

// TestOnSystemdPreload queries units of all kinds at once, and each by itself.
func TestOnSystemdPreload(t *testing.T) {
	onSystemd(t)
	sh(t, plain+other+instances+oneshot+static+timer+bad+aliased+script+"systemctl daemon-reload; systemctl start sv-a sv-t@1; systemctl mask sv-b; systemctl disable sv-o")
	var all []modules.Resource
	for _, name := range []string{"sv-a", "sv-a.timer", "sv-b", "sv-t@1", "sv-t@2", "sv-o", "sv-s", "sv-x", "sv-alias", "sv-old", "sv-nothing", "dbus.socket", "multi-user.target", "sv-a.service"} {
		all = append(all, modtest.Decode(t, builtin.Types(), "service", `{"name":"`+name+`","ensure":"stopped"}`, ""))
	}
	alone := modules.ReadOnly(modtest.Host())
	answer, err := all[0].(modules.Preloader).Preload(t.Context(), alone, all)
	require.NoError(t, err)
	together := alone
	recalled := 0
	together.Preload = func(modules.EffectKind) any { recalled++; return answer }
	for _, res := range all {
		want, wantErr := res.Check(t.Context(), alone)
		plan, err := res.Check(t.Context(), together)
		require.Equal(t, wantErr, err)
		require.Equal(t, want, plan)
	}
	require.Equal(t, len(all), recalled)
}

// TestOnSystemdOrdinaryUser runs as a user who may read but not change units.
func TestOnSystemdOrdinaryUser(t *testing.T) {
	mayChangeHost(t)
	modtest.AsOrdinaryUser(t, func(t *testing.T) {
		h := modules.ReadOnly(modtest.Host())
		plan, err := modtest.Decode(t, builtin.Types(), "service", `{"name":"cron"}`, "").Check(t.Context(), h)
		require.NoError(t, err)
		require.Equal(t, modules.Plan{}, plan)
		_, err = modtest.Decode(t, builtin.Types(), "service", `{"name":"cron","ensure":"stopped"}`, "").Check(t.Context(), h)
		require.EqualError(t, err, `only root may change services here; use "become"`)
	})
}
