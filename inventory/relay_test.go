package inventory

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRelays(t *testing.T) {
	inv := load(t, `
all:
  children:
    north:
      connect: {relay: gates}
      hosts:
        n1:
        n2: {connect: {relay: n1}}
        n3: {connect: {relay: none}}
        n4: {connect: {relay: null}}
    gates: {hosts: {g2: , g1: }}
    south: {hosts: {s1: }}
`)
	for host, want := range map[string][]string{"n1": {"g2", "g1"}, "n2": {"n1"}, "n3": {}, "n4": nil, "s1": nil} {
		hosts, said := inv.Relays(inv.Host(host).Connection())
		require.Equal(t, want != nil, said, host)
		var names []string
		for _, h := range hosts {
			names = append(names, h.Name)
		}
		require.ElementsMatch(t, want, names, host)
		if len(want) > 1 {
			require.Equal(t, want, names)
		}
	}
	require.Empty(t, inv.CheckRelays(inv.Hosts()...))
	require.Empty(t, inv.Refusals())

	inv = load(t, `
all:
  children:
    north: {connect: {relay: nobody}, hosts: {n1: , n2: }}
    south: {connect: {relay: "a b"}, hosts: {s1: }}
`)
	require.EqualError(t, inv.CheckRelays(inv.Hosts()...).Err(), `hosts.yml:4:30: relay: unknown group or host "nobody"
  hint: name a group, or one host, or write none`)
	require.ErrorContains(t, inv.Refusals().Err(), `hosts.yml:5:30: relay: "a b" is not a name`)
}
