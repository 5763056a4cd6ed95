package forecast

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/system"
)

// strangers knows no accounts.
type strangers struct{ modules.Accounts }

func (strangers) UserID(context.Context, string) (int, error)  { return 0, modules.ErrNoAccount }
func (strangers) GroupID(context.Context, string) (int, error) { return 0, modules.ErrNoAccount }
func (strangers) UserName(context.Context, int) string         { return "" }

// TestForecastOfAccountFiles predicts accounts after a plan that changes the files in which they are.
func TestForecastOfAccountFiles(t *testing.T) {
	id := 7
	user := modules.Effect{Kind: modules.UserEffect, Key: "root", State: modules.AccountState{Exists: true, ID: &id}}
	text := func(name string) modules.Effect {
		return modules.Effect{Kind: modules.PathEffect, Key: name, State: modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Regular}}}
	}
	for _, tt := range []struct {
		name    string
		effects []modules.Effect
		want    string
	}{
		{"a line of passwd", []modules.Effect{text("/etc/passwd")}, "1"},
		{"a line of group", []modules.Effect{text("/etc/group")}, "1"},
		{"another file", []modules.Effect{text("/etc/hosts")}, ""},
		{"a program that edits passwd", modules.Differ("", "/etc/passwd"), "1"},
		{"a user", append(modules.Differ("accounts.user", "/etc/passwd", "/etc/group"), user), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := New(system.New())
			f.Record(Plan{Entry: -1, Ref: "1", Effects: f.Settled(tt.effects)})
			p := &Prediction{}
			_, err := f.Host(t.Context(), f.Everything(), p, modules.Discard{}).Accounts.UserID(t.Context(), "root")
			require.NoError(t, err)
			require.Equal(t, tt.want, p.Because.Ref)
		})
	}
}

func TestForecastOfAccounts(t *testing.T) {
	f := New(modules.Host{Accounts: strangers{}})
	seven := 7
	f.Record(Plan{Entry: -1, Ref: "user#app", Effects: []modules.Effect{
		{Kind: modules.UserEffect, Key: "app", State: modules.AccountState{Exists: true}},
		{Kind: modules.UserEffect, Key: "fixed", State: modules.AccountState{Exists: true, ID: &seven}},
		{Kind: modules.GroupEffect, Key: "old", State: modules.AccountState{}},
	}})
	for _, tc := range []struct {
		name    string
		ask     func(modules.Host) (int, error)
		id      int
		err     error
		because string
	}{
		{"an id that the host will choose", func(h modules.Host) (int, error) { return h.Accounts.UserID(t.Context(), "app") }, modules.PlaceholderID("app"), nil, "user#app"},
		{"its name only", func(h modules.Host) (int, error) { return modules.ByName(h.Accounts).UserID(t.Context(), "app") }, modules.PlaceholderID("app"), nil, ""},
		{"an id that is known", func(h modules.Host) (int, error) { return h.Accounts.UserID(t.Context(), "fixed") }, 7, nil, ""},
		{"removed", func(h modules.Host) (int, error) { return h.Accounts.GroupID(t.Context(), "old") }, 0, modules.ErrNoAccount, ""},
		{"never heard of", func(h modules.Host) (int, error) { return h.Accounts.UserID(t.Context(), "nobody") }, 0, modules.ErrNoAccount, ""},
	} {
		p := &Prediction{}
		id, err := tc.ask(f.Host(t.Context(), f.Everything(), p, modules.Discard{}))
		require.ErrorIs(t, err, tc.err, tc.name)
		require.Equal(t, tc.id, id, tc.name)
		require.Equal(t, tc.because, p.Because.Ref, tc.name)
	}
	h := f.Host(t.Context(), f.Everything(), &Prediction{}, modules.Discard{})
	require.Equal(t, "app", h.Accounts.UserName(t.Context(), modules.PlaceholderID("app")), "it has its name before the host has chosen its id")
	require.Equal(t, "fixed", h.Accounts.UserName(t.Context(), 7))
	require.NotEqual(t, modules.PlaceholderID("app"), modules.PlaceholderID("web"))
}

func TestForecastOfATypesOwnKind(t *testing.T) {
	f := New(modules.Host{})
	lookup := func() (any, bool, string) {
		p := &Prediction{}
		state, ok := f.Host(t.Context(), f.Everything(), p, modules.Discard{}).Forecast.Lookup("package", "nginx")
		return state, ok, p.Because.Ref
	}
	state, ok, because := lookup()
	require.Equal(t, []any{nil, false, ""}, []any{state, ok, because})
	f.Record(Plan{Entry: -1, Ref: "package#nginx", Effects: []modules.Effect{{Kind: "package", Key: "nginx", State: "1.0"}}})
	state, ok, because = lookup()
	require.Equal(t, []any{"1.0", true, ""}, []any{state, ok, because})
	f.Record(Plan{Entry: -1, Ref: "exec#apt", Effects: []modules.Effect{modules.Anything}})
	_, ok, because = lookup()
	require.Equal(t, []any{true, "exec#apt"}, []any{ok, because}, "a command may have removed it again")
	f.Record(Plan{Entry: -1, Ref: "package#nginx", Effects: []modules.Effect{{Kind: "package", Key: "nginx", State: "1.1"}}, Doubt: Doubt{"file#key", modules.Unknown}})
	state, _, because = lookup()
	require.Equal(t, []any{"1.1", "file#key"}, []any{state, because}, "the plan itself was uncertain")
}

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
		{"other things, where they are kept", "/usr/lib/systemd", func(h modules.Host) { h.Forecast.Lookup("unit", "nginx.service") }, "archive#a"},
		{"packages, where units are kept", "/usr/lib/systemd", func(h modules.Host) { h.Forecast.Lookup("package", "nginx") }, ""},
		{"an account, in another folder of /etc", "/etc/nginx", func(h modules.Host) { h.Accounts.UserID(t.Context(), "root") }, ""},
		{"other things, above where they are kept", "/usr", func(h modules.Host) { h.Forecast.Lookup("package", "nginx") }, "archive#a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := New(system.New())
			f.Record(Plan{Entry: -1, Ref: "archive#a", Effects: f.Settled([]modules.Effect{below(tt.dir), link})})
			f.Record(Plan{Entry: -1, Ref: "file#known", Effects: f.Settled([]modules.Effect{again})})
			p := &Prediction{}
			tt.ask(f.Host(t.Context(), f.Everything(), p, modules.Discard{}))
			require.Equal(t, tt.want, p.Because.Ref)
		})
	}
}

// nameless has no account for any id.
type nameless struct{ modules.Accounts }

func (nameless) UserName(context.Context, int) string  { return "?" }
func (nameless) GroupName(context.Context, int) string { return "?" }

// TestForecastOfNames looks up accounts by their future id.
func TestForecastOfNames(t *testing.T) {
	f := New(modules.Host{Accounts: nameless{}})
	seven := 7
	f.Record(Plan{Entry: -1, Ref: "user#app", Effects: []modules.Effect{
		{Kind: modules.UserEffect, Key: "app", State: modules.AccountState{Exists: true, ID: &seven}},
		{Kind: modules.UserEffect, Key: "gone", State: modules.AccountState{}},
		{Kind: modules.GroupEffect, Key: "apps", State: modules.AccountState{Exists: true, ID: &seven}},
	}, Doubt: Doubt{"exec#before", modules.Unknown}})
	p := &Prediction{}
	accounts := f.Host(t.Context(), f.Everything(), p, modules.Discard{}).Accounts
	require.Equal(t, "?", accounts.UserName(t.Context(), 0))
	require.Empty(t, p.Because.Ref)
	require.Equal(t, "app", accounts.UserName(t.Context(), 7))
	require.Equal(t, "exec#before", p.Because.Ref)
	require.Equal(t, "apps", accounts.GroupName(t.Context(), 7))
}

// TestForecastOfPartialPaths looks up properties of a path that are not predicted.
func TestForecastOfPartialPaths(t *testing.T) {
	f := New(modules.Host{Files: modules.Files{FileReader: emptyDisk{}}})
	f.Record(Plan{Entry: -1, Ref: "user#app", Effects: []modules.Effect{{
		Kind: modules.PathEffect, Key: "/home", State: modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Directory}, Partial: true},
	}}})
	p := &Prediction{}
	info, err := f.Host(t.Context(), f.Everything(), p, modules.Discard{}).Files.Stat("/home")
	require.NoError(t, err)
	require.Equal(t, modules.Directory, info.Kind)
	require.Equal(t, "user#app", p.Because.Ref)
}

// emptyDisk has nothing.
type emptyDisk struct{ modules.FileReader }

func (emptyDisk) Stat(string) (modules.FileInfo, error) { return modules.FileInfo{}, fs.ErrNotExist }

// TestForecastOfAttributes reads a file whose mode is only predicted: its text is there already.
func TestForecastOfAttributes(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(name, []byte("text"), 0o644))
	f := New(system.New())
	at, err := f.real.Files.Stat(name)
	require.NoError(t, err)
	at.Mode = 0o600
	f.Record(Plan{Entry: -1, Ref: "file#x", Effects: []modules.Effect{{Kind: modules.PathEffect, Key: name, State: modules.PathState{FileInfo: at}}}})
	h := f.Host(t.Context(), f.Everything(), &Prediction{}, modules.Discard{})
	seen, err := h.Files.Stat(name)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), seen.Mode)
	r, err := h.Files.Open(name)
	require.NoError(t, err)
	defer r.Close()
	require.True(t, modules.SameOwner(r, seen))
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, "text", string(text))
}
