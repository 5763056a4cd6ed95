package forecast

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/system"
)

// TestForecastOfAPackage predicts some paths of a new folder. Other paths in it may exist, too.
func TestForecastOfAPackage(t *testing.T) {
	path := func(kind modules.FileKind, text string) modules.PathState {
		s := modules.PathState{FileInfo: modules.FileInfo{Kind: kind, Mode: 0o755}}
		if text != "" {
			s.Content = modules.TextContent(text)
		}
		return s
	}
	effects := []modules.Effect{
		{Kind: modules.PathEffect, Key: "/opt/brought", State: path(modules.Directory, ""), Likely: true},
		{Kind: modules.PathEffect, Key: "/opt/brought/known", State: path(modules.Regular, "text"), Likely: true},
		{Kind: modules.PathEffect, Key: "/opt/brought/binary", State: path(modules.Regular, ""), Likely: true},
		{Kind: modules.PathEffect, Key: "/opt/brought/odd", State: path(modules.Directory, ""), Likely: true},
		{Kind: modules.PathEffect, Key: "/opt/brought/odd/known", State: path(modules.Regular, "text"), Likely: true},
		{Kind: "unit", Key: "brought.service", State: "active", Likely: true},
	}
	effects = append(effects, modules.Differ("", "/opt/brought/odd", "/opt/brought/named")...)
	for name, tt := range map[string]struct {
		ask  func(modules.Host)
		want modules.Grade
	}{
		"known":               {func(h modules.Host) { h.Files.Digest("/opt/brought/known") }, modules.Likely},
		"not in the folder":   {func(h modules.Host) { h.Files.Stat("/opt/brought/new") }, modules.Likely},
		"named by a script":   {func(h modules.Host) { h.Files.Stat("/opt/brought/named") }, modules.Unknown},
		"names in the folder": {func(h modules.Host) { h.Files.List("/opt/brought") }, modules.Unknown},
		"an unknown content":  {func(h modules.Host) { h.Files.Digest("/opt/brought/binary") }, modules.Unknown},
		"opened":              {func(h modules.Host) { h.Files.Open("/opt/brought/binary") }, modules.Unknown},
		"in an odd folder":    {func(h modules.Host) { h.Files.Stat("/opt/brought/odd/new") }, modules.Unknown},
		"elsewhere":           {func(h modules.Host) { h.Files.Stat("/opt/other") }, modules.Likely},
		"a user":              {func(h modules.Host) { h.Accounts.UserID(t.Context(), "root") }, modules.Likely},
		"the unit":            {func(h modules.Host) { h.Forecast.Lookup("unit", "brought.service") }, modules.Likely},
		"another unit":        {func(h modules.Host) { probe(t, h, "unit") }, modules.Likely},
		"offers":              {func(h modules.Host) { probe(t, h, modules.OffersEffect) }, modules.Likely},
		"any program":         {func(h modules.Host) { probe(t, h, "") }, modules.Unknown},
	} {
		f := New(system.New())
		f.Record(Plan{Entry: 0, Ref: "package#p", Effects: f.Settled(append(effects[:len(effects):len(effects)], modules.Elsewhere))})
		p := &Prediction{}
		tt.ask(f.Host(t.Context(), f.Everything(), p, modules.Discard{}))
		require.Equal(t, Doubt{"package#p", tt.want}, p.Because, name)
	}
	f := New(system.New())
	f.Record(Plan{Entry: 0, Ref: "package#p", Effects: f.Settled(append(effects[:len(effects):len(effects)], modules.Anything))})
	p := &Prediction{}
	probe(t, f.Host(t.Context(), f.Everything(), p, modules.Discard{}), "unit")
	require.Equal(t, modules.Unknown, p.Because.Grade)
}

func probe(t *testing.T, h modules.Host, reads modules.EffectKind) {
	_, err := h.Commands.Probe(t.Context(), modules.Command{Argv: []string{"true"}, Reads: reads})
	require.NoError(t, err)
}
