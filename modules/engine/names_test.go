package engine

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
	f := newForecast(modules.Host{Accounts: nameless{}})
	seven := 7
	f.record(noScope, "user#app", modules.Plan{Effects: []modules.Effect{
		{Kind: modules.UserEffect, Key: "app", State: modules.AccountState{Exists: true, ID: &seven}},
		{Kind: modules.UserEffect, Key: "gone", State: modules.AccountState{}},
		{Kind: modules.GroupEffect, Key: "apps", State: modules.AccountState{Exists: true, ID: &seven}},
	}}, "exec#before")
	w := &witness{}
	accounts := f.host(t.Context(), f.everything(), w, modules.Discard{}).Accounts
	require.Equal(t, "?", accounts.UserName(t.Context(), 0))
	require.Empty(t, w.because)
	require.Equal(t, "app", accounts.UserName(t.Context(), 7))
	require.Equal(t, "exec#before", w.because)
	require.Equal(t, "apps", accounts.GroupName(t.Context(), 7))
}

// TestForecastOfPartialPaths asks for more than is known of a path.
func TestForecastOfPartialPaths(t *testing.T) {
	f := newForecast(modules.Host{Files: modules.Files{FileReader: emptyDisk{}}})
	f.record(noScope, "user#app", modules.Plan{Effects: []modules.Effect{{
		Kind: modules.PathEffect, Key: "/home", State: modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Directory}, Partial: true},
	}}}, "")
	w := &witness{}
	info, err := f.host(t.Context(), f.everything(), w, modules.Discard{}).Files.Stat("/home")
	require.NoError(t, err)
	require.Equal(t, modules.Directory, info.Kind)
	require.Equal(t, "user#app", w.because)
}

// emptyDisk has nothing.
type emptyDisk struct{ modules.FileReader }

func (emptyDisk) Stat(string) (modules.FileInfo, error) { return modules.FileInfo{}, fs.ErrNotExist }
