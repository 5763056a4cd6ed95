package modtest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

// A teller is a reporter that checks the states that resources report.
type teller struct {
	modules.Reporter
	t *testing.T
}

// State implements [modules.Reporter].
func (r teller) State(s modules.State) {
	r.t.Helper()
	for _, part := range append([]json.RawMessage{s.Before, s.After}, s.Restart...) {
		require.True(r.t, part == nil || json.Valid(part), "a state is no JSON: %s", part)
	}
}

// sends checks that a resource that has had its turn sends JSON, and nothing that it
// does not name.
func sends(t *testing.T, h modules.Host, res modules.Resource) {
	t.Helper()
	sender, ok := res.(modules.Sender)
	if !ok {
		return
	}
	names := sender.Sends()
	require.NotContains(t, names, "state", "that is what its state is received as")
	values, err := sender.Sent(t.Context(), modules.ReadOnly(h))
	require.NoError(t, err)
	for name, value := range values {
		require.Contains(t, names, name)
		require.True(t, json.Valid(value), "%s is no JSON: %s", name, value)
	}
}

// answers checks that a resource answers the queries that it supports, and refuses others.
func answers(t *testing.T, h modules.Host, res modules.Resource) {
	t.Helper()
	q, ok := res.(modules.Querier)
	if !ok {
		return
	}
	require.NotEmpty(t, q.Queries())
	_, err := q.Query(t.Context(), modules.ReadOnly(h), "no such question")
	require.Error(t, err)
}
