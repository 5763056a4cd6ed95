package workers

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue/queuetest"
)

// TestOneLogin: a host that the same worker takes through several plays is logged in to once. Before the run, one host
// is logged in to, to find out whether it accepts workers.
func TestOneLogin(t *testing.T) {
	const play = "- hosts: web*\n  ccm: {resources: [exec: [{\"true\": }]]}\n"
	s := newSite(t, strings.Repeat(play, 3), "gate", "web1", "web2", "web3")
	inv := "all:\n  hosts:\n"
	for name, srv := range s.hosts {
		jump := ", jump: gate"
		if name == "gate" {
			jump = ""
		}
		inv += fmt.Sprintf("    %s: {connect: {address: %q, port: %d, user: %s, known_hosts: %q%s}}\n", name, srv.Host, srv.Port, srv.User, srv.KnownHosts, jump)
	}
	q := queuetest.New(0)
	s.work(q, "worker", "")
	connections := func(names ...string) (sum int64) {
		for _, name := range names {
			sum += s.hosts[name].Stats().Connections
		}
		return sum
	}

	c, warned := s.coordinator(q, s.runner(inv))
	summary := s.run(c)
	require.Equal(t, 3, summary.Totals.Hosts.OK)
	require.Empty(t, warned.all())
	require.EqualValues(t, 3+1, connections("web1", "web2", "web3"))
	require.EqualValues(t, 1+1, connections("gate"))

	// A host whose connection has been cut meanwhile is logged in to again.
	before := connections("web1", "web2", "web3")
	got := &recorded{hook: func(e events.Event) {
		if p, ok := e.(events.PlayStart); ok && p.Number == 2 {
			s.hosts["web1"].Cut()
		}
	}}
	c, warned = s.coordinator(q, s.runner(inv, got))
	summary = s.run(c)
	require.Equal(t, 3, summary.Totals.Hosts.OK)
	require.Empty(t, warned.all())
	require.GreaterOrEqual(t, connections("web1", "web2", "web3")-before, int64(3+1+1))
}
