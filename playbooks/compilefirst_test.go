package playbooks

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// TestCompileFirst applies nothing on a good host while another one cannot be made
// ready, for whatever reason.
func TestCompileFirst(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		option sshtest.Option
		want   []string
	}{
		{"facts that make no sense", sshtest.Env("FAKE=facts"), []string{"web2 failed in facts", "web2 done: failed"}},
		{"no login is accepted", sshtest.RejectAuth(), []string{"web2 unreachable", "web2 done: unreachable"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			hosts := servers(t, "web1", "web3")
			hosts["web2"] = sshtest.Start(t, test.option)
			w := newWorld(t, hosts, "ccm: {resources: [{exec: [{\"true\": }]}]}").fake(t)
			w.Options.CompileFirst = true
			summary, err := w.Run(t.Context(), nil)
			require.NoError(t, err)
			require.Equal(t, append([]string{"play site 1/1: web1 web2 web3"}, test.want...), w.recorded.lines())
			require.Equal(t, []string{"web1", "web3"}, summary.NotStarted)
			require.Equal(t, []string{`play "site": 1 of 3 hosts could not be prepared; nothing was applied, and the run ends here`}, w.warnings)
		})
	}
}

func TestCompileFirstOfHostsThatAreWell(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		keep        int
		connections int64
	}{{0, 1}, {-1, 2}} { // without a place to keep them, connections are made again
		hosts := servers(t, "web1", "web2")
		w := newWorld(t, hosts, "serial: 1\nccm: {resources: [{exec: [{\"true\": }]}]}").fake(t)
		w.Options.CompileFirst, w.Options.Keep = true, test.keep
		require.Equal(t, []string{
			"play site 1/2: web1", "web1 exec#true changed", "web1 done: ok",
			"play site 2/2: web2", "web2 exec#true changed", "web2 done: ok",
		}, w.run(t))
		for _, srv := range hosts {
			require.Equal(t, test.connections, srv.Stats().Connections)
		}
	}
}
