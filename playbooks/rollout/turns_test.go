package rollout

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBrokenHostsTakeTurns changes hosts that were unavailable before: although they hold places already, they are not
// changed all at once.
func TestBrokenHostsTakeTurns(t *testing.T) {
	var hosts []Host
	for i := range 4 {
		hosts = append(hosts, Host{Name: fmt.Sprintf("web%d", i+1), Changes: true, Broken: true})
	}
	rules := Rules{MaxUnavailable: &Amount{Count: 1}, Stop: Limits{Failed: &Amount{Count: 2}}}
	require.Equal(t, []string{"web1", "web2", "web3", "web4"}, NewPlan(rules, hosts, Options{}).LeftOut())

	again := NewPlan(rules, hosts, Options{Again: map[string]bool{"web2": true}})
	require.Equal(t, [][]string{{"web2"}}, again.Batches, "an earlier run had begun it")
	require.Equal(t, []string{"web1", "web3", "web4"}, again.LeftOut())

	p := NewPlan(rules, hosts, Options{IncludeBroken: true})
	require.Empty(t, p.LeftOut())
	most, _ := p.Harm(64)
	require.Equal(t, 2, most)
	c := NewConductor(p, nil)
	require.True(t, c.Next())
	for _, name := range []string{"web1", "web2"} {
		require.Equal(t, name, c.Begin())
		require.Empty(t, c.Begin(), "one may be at work")
		c.End(name, Outcome{Failed: true, Touched: true})
	}
	require.Equal(t, "stop.failed", c.Stopped().Rule)
	require.Empty(t, c.Begin())
}
