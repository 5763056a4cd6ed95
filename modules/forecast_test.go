package modules

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// strangers knows no accounts.
type strangers struct{ Accounts }

func (strangers) UserID(context.Context, string) (int, error)  { return 0, ErrNoAccount }
func (strangers) GroupID(context.Context, string) (int, error) { return 0, ErrNoAccount }

func TestForecastOfAccounts(t *testing.T) {
	f := newForecast(Host{Accounts: strangers{}})
	seven := 7
	f.record("user#app", Plan{Effects: []Effect{
		{Kind: UserEffect, Key: "app", State: AccountState{Exists: true}},
		{Kind: UserEffect, Key: "fixed", State: AccountState{Exists: true, ID: &seven}},
		{Kind: GroupEffect, Key: "old", State: AccountState{}},
	}}, "")
	for _, tc := range []struct {
		name    string
		ask     func(Host) (int, error)
		id      int
		err     error
		because string
	}{
		{"an id that the host will choose", func(h Host) (int, error) { return h.Accounts.UserID(t.Context(), "app") }, unknownID, nil, "user#app"},
		{"an id that is known", func(h Host) (int, error) { return h.Accounts.UserID(t.Context(), "fixed") }, 7, nil, ""},
		{"removed", func(h Host) (int, error) { return h.Accounts.GroupID(t.Context(), "old") }, 0, ErrNoAccount, ""},
		{"never heard of", func(h Host) (int, error) { return h.Accounts.UserID(t.Context(), "nobody") }, 0, ErrNoAccount, ""},
	} {
		w := &witness{}
		id, err := tc.ask(f.host(t.Context(), w, discard{}))
		require.ErrorIs(t, err, tc.err, tc.name)
		require.Equal(t, tc.id, id, tc.name)
		require.Equal(t, tc.because, w.because, tc.name)
	}
}

func TestForecastOfATypesOwnKind(t *testing.T) {
	f := newForecast(Host{})
	lookup := func() (any, bool, string) {
		w := &witness{}
		state, ok := f.host(t.Context(), w, discard{}).Forecast.Lookup("package", "nginx")
		return state, ok, w.because
	}
	state, ok, because := lookup()
	require.Equal(t, []any{nil, false, ""}, []any{state, ok, because})
	f.record("package#nginx", Plan{Effects: []Effect{{Kind: "package", Key: "nginx", State: "1.0"}}}, "")
	state, ok, because = lookup()
	require.Equal(t, []any{"1.0", true, ""}, []any{state, ok, because})
	f.record("exec#apt", Plan{Effects: []Effect{Anything}}, "")
	_, ok, because = lookup()
	require.Equal(t, []any{true, "exec#apt"}, []any{ok, because}, "a command may have removed it again")
	f.record("package#nginx", Plan{Effects: []Effect{{Kind: "package", Key: "nginx", State: "1.1"}}}, "file#key")
	state, _, because = lookup()
	require.Equal(t, []any{"1.1", "file#key"}, []any{state, because}, "the plan itself was uncertain")
}
