package workers

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue/queuetest"
)

// TestPlaysThatCannotBeRead has a play read a file of the operator that no worker gets: the run is refused without a
// change.
func TestPlaysThatCannotBeRead(t *testing.T) {
	s := newSite(t, "vars_files: [own.yaml]\nccm: {resources: [exec: [{\"true\": }]]}\n", "web1", "web2")
	s.write("own.yaml", "a: 1\n")
	q := queuetest.New(0)
	s.work(q, "worker", "")
	got := &recorded{}
	c, warned := s.coordinator(q, s.runner(s.inventory(nil), got))
	c.Size = 1
	c.Recipe.Without = append(c.Recipe.Without, s.paths("own.yaml")...)
	require.NoError(t, c.Begin(t.Context()))
	_, err := c.Runner.Run(t.Context(), nil)
	require.NoError(t, c.Close(t.Context()))
	require.ErrorContains(t, err, "--workers: packing the play's files for workers: "+s.dir+"/own.yaml: the play is read from it, but workers never get this file: it is an inventory, key or password file of the operator")
	require.ErrorContains(t, err, "hint: ")
	require.Empty(t, got.lines(s))
	require.Empty(t, warned.all())
}

func TestTold(t *testing.T) {
	result := func(index int, status events.Status, kept bool) events.Result {
		return events.Result{Type: "exec", Name: "x", Index: index, Status: status, Kept: kept}
	}
	hello := events.Message{Kind: events.Pre, Text: "hello"}
	one := &told{}
	require.True(t, one.isNew(hello))
	require.True(t, one.isNew(hello), "what is said twice is told twice")
	require.True(t, one.isNew(result(0, events.Changed, false)))
	one.again()
	require.False(t, one.isNew(hello))
	require.False(t, one.isNew(hello))
	require.True(t, one.isNew(hello))
	require.False(t, one.isNew(result(0, events.Changed, true)), "the host had kept it")
	one.again()
	require.True(t, one.isNew(result(0, events.Changed, false)), "it was changed again")
	one.again()
	require.False(t, one.isNew(result(0, events.Stable, false)))
	require.True(t, one.isNew(result(1, events.Stable, false)))
	other := result(1, events.Stable, true)
	other.Name = "another resource"
	require.True(t, one.isNew(other))

	alike := &told{} // the first resource of a play, and the first one of its rollout's steps after it
	for range 2 {
		require.True(t, alike.isNew(result(0, events.Stable, false)))
	}
	alike.again()
	require.False(t, alike.isNew(result(0, events.Stable, true)))
	require.False(t, alike.isNew(result(0, events.Stable, true)))
	require.True(t, alike.isNew(result(0, events.Stable, true)))
}
