package forecast

import (
	"context"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

// nameless has no account for any id.
type nameless struct{ modules.Accounts }

func (nameless) UserName(context.Context, int) string  { return "?" }
func (nameless) GroupName(context.Context, int) string { return "?" }

// TestForecastOfNames asks for the accounts that will have an id.
func TestForecastOfNames(t *testing.T) {
	f := New(modules.Host{Accounts: nameless{}})
	seven := 7
	f.Record(Plan{Entry: -1, Ref: "user#app", Effects: []modules.Effect{
		{Kind: modules.UserEffect, Key: "app", State: modules.AccountState{Exists: true, ID: &seven}},
		{Kind: modules.UserEffect, Key: "gone", State: modules.AccountState{}},
		{Kind: modules.GroupEffect, Key: "apps", State: modules.AccountState{Exists: true, ID: &seven}},
	}, Doubt: "exec#before"})
	p := &Prediction{}
	accounts := f.Host(t.Context(), f.Everything(), p, modules.Discard{}).Accounts
	require.Equal(t, "?", accounts.UserName(t.Context(), 0))
	require.Empty(t, p.Because)
	require.Equal(t, "app", accounts.UserName(t.Context(), 7))
	require.Equal(t, "exec#before", p.Because)
	require.Equal(t, "apps", accounts.GroupName(t.Context(), 7))
}

// TestForecastOfPartialPaths asks for more than is known of a path.
func TestForecastOfPartialPaths(t *testing.T) {
	f := New(modules.Host{Files: modules.Files{FileReader: emptyDisk{}}})
	f.Record(Plan{Entry: -1, Ref: "user#app", Effects: []modules.Effect{{
		Kind: modules.PathEffect, Key: "/home", State: modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Directory}, Partial: true},
	}}})
	p := &Prediction{}
	info, err := f.Host(t.Context(), f.Everything(), p, modules.Discard{}).Files.Stat("/home")
	require.NoError(t, err)
	require.Equal(t, modules.Directory, info.Kind)
	require.Equal(t, "user#app", p.Because)
}

// emptyDisk has nothing.
type emptyDisk struct{ modules.FileReader }

func (emptyDisk) Stat(string) (modules.FileInfo, error) { return modules.FileInfo{}, fs.ErrNotExist }
