package natsdata

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/registry"
)

// TestSnapshot: the hosts of a play get the registrations as of the first request.
func TestSnapshot(t *testing.T) {
	s, _ := store(t)
	r := Registry{s, registry.Stream}
	require.NoError(t, r.Reach(t.Context()))
	missing := r.Snapshot()
	_, err := missing.Registrations(t.Context(), "*", "*", "*", "*")
	require.ErrorContains(t, err, "NATS has no stream")
	require.NoError(t, r.Prepare(t.Context(), 1, time.Minute))
	require.NoError(t, r.Register(t.Context(), []registry.Registration{at("192.0.2.3", 80)}))

	one := r.Snapshot()
	want := []any{map[string]any{
		"Cluster": "eu", "Service": "web", "Protocol": "http", "Address": "192.0.2.3", "Port": int64(80), "Priority": int64(10), "TTL": "", "Annotations": map[string]any{},
	}}
	list, err := one.Registrations(t.Context(), "eu", "*", "*", "*")
	require.NoError(t, err)
	require.Equal(t, want, list)
	without := at("192.0.2.4", 0)
	without.Port = nil
	require.NoError(t, r.Register(t.Context(), []registry.Registration{without}))
	list, err = one.Registrations(t.Context(), "eu", "*", "*", "*")
	require.NoError(t, err)
	require.Equal(t, want, list, "as it was")
	list, err = r.Snapshot().Registrations(t.Context(), "eu", "*", "*", "*")
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Nil(t, list[1].(map[string]any)["Port"])

	_, err = Registry{Store: s}.Snapshot().Registrations(t.Context(), "eu", "*", "*", "*")
	require.EqualError(t, err, "no stream of registrations is named")
}
