package forecast

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
		{"an id that the host will choose", func(h modules.Host) (int, error) { return h.Accounts.UserID(t.Context(), "app") }, unknownID, nil, "user#app"},
		{"an id that is known", func(h modules.Host) (int, error) { return h.Accounts.UserID(t.Context(), "fixed") }, 7, nil, ""},
		{"removed", func(h modules.Host) (int, error) { return h.Accounts.GroupID(t.Context(), "old") }, 0, modules.ErrNoAccount, ""},
		{"never heard of", func(h modules.Host) (int, error) { return h.Accounts.UserID(t.Context(), "nobody") }, 0, modules.ErrNoAccount, ""},
	} {
		p := &Prediction{}
		id, err := tc.ask(f.Host(t.Context(), f.Everything(), p, modules.Discard{}))
		require.ErrorIs(t, err, tc.err, tc.name)
		require.Equal(t, tc.id, id, tc.name)
		require.Equal(t, tc.because, p.Because, tc.name)
	}
}

func TestForecastOfATypesOwnKind(t *testing.T) {
	f := New(modules.Host{})
	lookup := func() (any, bool, string) {
		p := &Prediction{}
		state, ok := f.Host(t.Context(), f.Everything(), p, modules.Discard{}).Forecast.Lookup("package", "nginx")
		return state, ok, p.Because
	}
	state, ok, because := lookup()
	require.Equal(t, []any{nil, false, ""}, []any{state, ok, because})
	f.Record(Plan{Entry: -1, Ref: "package#nginx", Effects: []modules.Effect{{Kind: "package", Key: "nginx", State: "1.0"}}})
	state, ok, because = lookup()
	require.Equal(t, []any{"1.0", true, ""}, []any{state, ok, because})
	f.Record(Plan{Entry: -1, Ref: "exec#apt", Effects: []modules.Effect{modules.Anything}})
	_, ok, because = lookup()
	require.Equal(t, []any{true, "exec#apt"}, []any{ok, because}, "a command may have removed it again")
	f.Record(Plan{Entry: -1, Ref: "package#nginx", Effects: []modules.Effect{{Kind: "package", Key: "nginx", State: "1.1"}}, Doubt: "file#key"})
	state, _, because = lookup()
	require.Equal(t, []any{"1.1", "file#key"}, []any{state, because}, "the plan itself was uncertain")
}
