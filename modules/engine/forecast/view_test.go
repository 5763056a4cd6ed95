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
