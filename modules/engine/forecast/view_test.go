package forecast

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/system"
)

// TestView reads several things as an entry of a graph that comes after some of the plans.
func TestView(t *testing.T) {
	unit := func(key string) modules.Effect { return modules.Effect{Kind: "unit", Key: key, State: key} }
	at := func(path string) modules.Effect {
		return modules.Effect{Kind: modules.PathEffect, Key: path, State: modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Regular}}}
	}
	below := modules.Effect{Kind: modules.BelowEffect, Key: "/opt/app"}
	probes := func(reads modules.EffectKind) func(h modules.Host) {
		return func(h modules.Host) {
			h.Commands.Probe(t.Context(), modules.Command{Argv: []string{"true"}, Reads: reads})
		}
	}
	looksUp := func(kind modules.EffectKind, key string) func(h modules.Host) {
		return func(h modules.Host) { h.Forecast.Lookup(kind, key) }
	}
	stats := func(path string) func(h modules.Host) { return func(h modules.Host) { h.Files.Stat(path) } }
	plans := map[int][]modules.Effect{0: {at("/srv/0")}, 1: {modules.Anything, at("/srv/1")}, 2: {unit("a")}, 3: {below}, 4: {modules.Anything}}
	for _, tt := range []struct {
		name   string
		before []int
		ask    func(h modules.Host)
		want   string
	}{
		{"nothing comes before: a path", nil, stats("/srv/x"), ""},
		{"nothing comes before: any program", nil, probes(""), ""},
		{"nothing comes before: a program that reads packages", nil, probes("package"), ""},
		{"nothing comes before: a program that reads units, of which one changes", nil, probes("unit"), "2"},
		{"nothing comes before: a package", nil, looksUp("package", "a"), ""},
		{"nothing comes before: what is planned nevertheless", nil, stats("/srv/0"), "0"},
		{"nothing comes before: a unit that is planned nevertheless", nil, looksUp("unit", "a"), "2"},
		{"nothing comes before: where anything may change", nil, stats("/opt/app/x"), "3"},
		{"nothing comes before: what is missing", nil, looksUp(modules.AnyEffect, ""), "4"},
		{"something certain: another path", []int{0}, stats("/srv/x"), ""},
		{"something certain: that path", []int{0}, stats("/srv/0"), ""},
		{"something certain: a program", []int{0}, probes(""), "0"},
		{"nothing comes before: a program that reads certain paths", nil, looksUp(modules.ProbeEffect, "/srv/x\n/etc"), ""},
		{"nothing comes before: a program that reads a changed path", nil, looksUp(modules.ProbeEffect, "/etc\n/srv/0"), "0"},
		{"nothing comes before: a program that reads below a changed directory", nil, looksUp(modules.ProbeEffect, "/opt/app/x"), "3"},
		{"something certain: a program that reads other paths", []int{0}, looksUp(modules.ProbeEffect, "/srv/x"), "0"},
		{"anything: a path", []int{0, 1}, stats("/srv/x"), "1"},
		{"anything: its own path", []int{1}, stats("/srv/1"), ""},
		{"anything, later: its own path", []int{1, 4}, stats("/srv/1"), "4"},
		{"anything: a path from before", []int{0, 1}, stats("/srv/0"), "1"},
		{"anything: a package", []int{1}, looksUp("package", "a"), "1"},
		{"anything: a unit from after that", []int{1, 2}, looksUp("unit", "a"), ""},
		{"anything: an account", []int{1}, func(h modules.Host) { h.Accounts.UserID(t.Context(), "root") }, "1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := New(system.New())
			for i := range len(plans) {
				f.Record(Plan{Entry: i, Ref: string(rune('0' + i)), Effects: f.Settled(plans[i])})
			}
			before := func(entry int) bool { return slices.Contains(tt.before, entry) }
			p := &Prediction{}
			tt.ask(f.Host(t.Context(), f.Behind(before), p, modules.Discard{}))
			require.Equal(t, tt.want, p.Because.Ref)
			f.Begin()
			p = &Prediction{}
			tt.ask(f.Host(t.Context(), f.Behind(func(int) bool { return false }), p, modules.Discard{}))
			list := &Prediction{}
			tt.ask(f.Host(t.Context(), f.Everything(), list, modules.Discard{}))
			require.Equal(t, list.doubted, p.doubted, "in a later play all of it comes before")
		})
	}
}

type unmounted struct{}

func (unmounted) Mounted() bool { return false }

// TestLikelyReads returns the grade of a program that most likely reads two paths.
func TestLikelyReads(t *testing.T) {
	at := func(path string) modules.Effect {
		return modules.Effect{Kind: modules.PathEffect, Key: path, State: modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Regular}}}
	}
	for name, tt := range map[string]struct {
		plans []modules.Effect
		want  modules.Grade
	}{
		"nothing":             {nil, modules.Certain},
		"another path":        {[]modules.Effect{at("/srv/other")}, modules.Likely},
		"no effect":           {[]modules.Effect{{Kind: modules.ElsewhereEffect}}, modules.Likely},
		"a path that differs": {modules.Differ("", "/srv/other"), modules.Likely},
		"the path":            {[]modules.Effect{at("/srv/read")}, modules.Unknown},
		"a path below":        {[]modules.Effect{at("/srv/dir/x")}, modules.Unknown},
		"a directory above":   {[]modules.Effect{{Kind: modules.BelowEffect, Key: "/srv"}}, modules.Unknown},
		"a unit":              {[]modules.Effect{at("/srv/other"), {Kind: "unit", Key: "a"}}, modules.Likely},
		"a kind":              {[]modules.Effect{{Kind: modules.KindEffect, Key: "package"}}, modules.Likely},
		"a mount":             {[]modules.Effect{{Kind: modules.MountEffect, Key: "/srv", State: unmounted{}}}, modules.Unknown},
		"another mount":       {[]modules.Effect{{Kind: modules.MountEffect, Key: "/mnt", State: unmounted{}}}, modules.Likely},
		"anything":            {[]modules.Effect{modules.Anything}, modules.Unknown},
	} {
		f, p := New(system.New()), &Prediction{}
		if tt.plans != nil {
			f.Record(Plan{Ref: "a#a", Effects: f.Settled(tt.plans)})
		}
		grade, ok := f.Host(t.Context(), f.Everything(), p, modules.Discard{}).Forecast.Lookup(modules.ProbeEffect, "/srv/read\n/srv/dir")
		require.True(t, ok)
		require.Equal(t, tt.want, grade, name)
		require.Equal(t, tt.want != modules.Certain, p.Because.Ref == "a#a", name)
	}
}
