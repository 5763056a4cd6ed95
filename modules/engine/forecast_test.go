package engine

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

// strangers knows no accounts.
type strangers struct{ modules.Accounts }

func (strangers) UserID(context.Context, string) (int, error)  { return 0, modules.ErrNoAccount }
func (strangers) GroupID(context.Context, string) (int, error) { return 0, modules.ErrNoAccount }

func TestForecastOfAccounts(t *testing.T) {
	f := newForecast(modules.Host{Accounts: strangers{}})
	seven := 7
	f.record(noScope, "user#app", modules.Plan{Effects: []modules.Effect{
		{Kind: modules.UserEffect, Key: "app", State: modules.AccountState{Exists: true}},
		{Kind: modules.UserEffect, Key: "fixed", State: modules.AccountState{Exists: true, ID: &seven}},
		{Kind: modules.GroupEffect, Key: "old", State: modules.AccountState{}},
	}}, "")
	for _, tc := range []struct {
		name    string
		ask     func(modules.Host) (int, error)
		id      int
		err     error
		because string
	}{
		{"an id that the host will choose", func(h modules.Host) (int, error) { return h.Accounts.UserID(t.Context(), "app") }, unknownID, nil, "user#app"},
		{"an id that is known", func(h modules.Host) (int, error) { return h.Accounts.UserID(t.Context(), "fixed") }, 7, nil, ""},
		{"removed", func(h modules.Host) (int, error) { return h.Accounts.GroupID(t.Context(), "old") }, 0, modules.ErrNoAccount, ""},
		{"never heard of", func(h modules.Host) (int, error) { return h.Accounts.UserID(t.Context(), "nobody") }, 0, modules.ErrNoAccount, ""},
	} {
		w := &witness{}
		id, err := tc.ask(f.host(t.Context(), f.everything(), w, modules.Discard{}))
		require.ErrorIs(t, err, tc.err, tc.name)
		require.Equal(t, tc.id, id, tc.name)
		require.Equal(t, tc.because, w.because, tc.name)
	}
}

func TestForecastOfATypesOwnKind(t *testing.T) {
	f := newForecast(modules.Host{})
	lookup := func() (any, bool, string) {
		w := &witness{}
		state, ok := f.host(t.Context(), f.everything(), w, modules.Discard{}).Forecast.Lookup("package", "nginx")
		return state, ok, w.because
	}
	state, ok, because := lookup()
	require.Equal(t, []any{nil, false, ""}, []any{state, ok, because})
	f.record(noScope, "package#nginx", modules.Plan{Effects: []modules.Effect{{Kind: "package", Key: "nginx", State: "1.0"}}}, "")
	state, ok, because = lookup()
	require.Equal(t, []any{"1.0", true, ""}, []any{state, ok, because})
	f.record(noScope, "exec#apt", modules.Plan{Effects: []modules.Effect{modules.Anything}}, "")
	_, ok, because = lookup()
	require.Equal(t, []any{true, "exec#apt"}, []any{ok, because}, "a command may have removed it again")
	f.record(noScope, "package#nginx", modules.Plan{Effects: []modules.Effect{{Kind: "package", Key: "nginx", State: "1.1"}}}, "file#key")
	state, _, because = lookup()
	require.Equal(t, []any{"1.1", "file#key"}, []any{state, because}, "the plan itself was uncertain")
}
