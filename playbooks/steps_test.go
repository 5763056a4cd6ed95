package playbooks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

// TestSteps checks the phases of a host one by one: their sums equal the reported totals.
func TestSteps(t *testing.T) {
	w := newWorld(t, servers(t, "web1"), `
- name: one
  ccm: {resources: [exec: ["true": ]]}
- name: two
  ccm: {resources: [exec: ["true": ]]}
`)
	var done events.HostDone
	w.recorded.watch = func(e events.Event) {
		if d, ok := e.(events.HostDone); ok {
			done = d
		}
	}
	w.run(t)
	var phases []string
	plays, sums := map[string][]int{}, map[string]time.Duration{}
	for _, s := range done.Steps {
		phases = append(phases, s.Phase)
		plays[s.Phase] = append(plays[s.Phase], s.Play)
		sums[s.Phase] += s.Took
	}
	require.Equal(t, []string{"login", "connect", "start", "compile", "apply", "compile", "apply"}, phases)
	require.Equal(t, []int{1, 2}, plays["apply"])
	require.Equal(t, done.Phases, events.Phases{Connect: sums["connect"], Start: sums["start"], Compile: sums["compile"], Apply: sums["apply"]})
	login, connect := done.Steps[0], done.Steps[1]
	require.False(t, login.Began.Before(connect.Began))
	require.LessOrEqual(t, login.Took, connect.Took)
}
