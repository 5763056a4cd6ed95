package forecast

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/system"
)

// TestForecastBelow has a directory in which anything may change, and paths that
// do and do not lead into it.
func TestForecastBelow(t *testing.T) {
	below := func(dir string) modules.Effect { return modules.Effect{Kind: modules.BelowEffect, Key: dir} }
	link := modules.Effect{Kind: modules.PathEffect, Key: "/srv/l", State: modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Symlink, Target: "/opt/app/x"}}}
	again := modules.Effect{Kind: modules.PathEffect, Key: "/opt/app/known", State: modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Regular}}}
	for _, tt := range []struct {
		name string
		dir  string
		ask  func(h modules.Host)
		want string
	}{
		{"in it", "/opt/app", func(h modules.Host) { h.Files.Stat("/opt/app/x/y") }, "archive#a"},
		{"itself", "/opt/app", func(h modules.Host) { h.Files.Stat("/opt/app") }, ""},
		{"beside it", "/opt/app", func(h modules.Host) { h.Files.Stat("/opt/apple") }, ""},
		{"above it", "/opt/app", func(h modules.Host) { h.Files.Stat("/opt") }, ""},
		{"what it holds", "/opt/app", func(h modules.Host) { h.Files.List("/opt/app") }, "archive#a"},
		{"through a link", "/opt/app", func(h modules.Host) { h.Files.Digest("/srv/l/y") }, "archive#a"},
		{"the link", "/opt/app", func(h modules.Host) { h.Files.Stat("/srv/l") }, ""},
		{"planned later", "/opt/app", func(h modules.Host) { h.Files.Stat("/opt/app/known") }, ""},
		{"an account", "/opt/app", func(h modules.Host) { h.Accounts.UserID(t.Context(), "root") }, ""},
		{"an account, in /etc", "/etc", func(h modules.Host) { h.Accounts.UserID(t.Context(), "root") }, "archive#a"},
		{"an account, in all of the disk", "/", func(h modules.Host) { h.Accounts.GroupID(t.Context(), "root") }, "archive#a"},
		{"other things", "/opt/app", func(h modules.Host) { h.Forecast.Lookup("package", "nginx") }, ""},
		{"other things, where they are kept", "/usr/lib/systemd", func(h modules.Host) { h.Forecast.Lookup("package", "nginx") }, "archive#a"},
		{"other things, above where they are kept", "/usr", func(h modules.Host) { h.Forecast.Lookup("package", "nginx") }, "archive#a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := New(system.New())
			f.Record(Plan{Entry: -1, Ref: "archive#a", Effects: []modules.Effect{below(tt.dir), link}})
			f.Record(Plan{Entry: -1, Ref: "file#known", Effects: []modules.Effect{again}})
			p := &Prediction{}
			tt.ask(f.Host(t.Context(), f.Everything(), p, modules.Discard{}))
			require.Equal(t, tt.want, p.Because)
		})
	}
}
