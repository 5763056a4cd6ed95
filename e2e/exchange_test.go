//go:build e2e

package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// exchangeSite has h001 make a token that the other hosts get.
const exchangeSite = `strategy: graph
ccm:
  resources:
    - exec:
        - token:
            provider: shell
            command: test ! -e /tmp/e2e-refuse && tr -d - </proc/sys/kernel/random/uuid | tee /tmp/e2e-token
            creates: /tmp/e2e-token
            control: {if: "Data.gives"}
            export: [stdout]
    - file:
        - defaults: {owner: root, group: root, mode: "0600"}
        - /tmp/e2e-received:
            control: {unless: "Data.gives"}
            recv: {content: {host: h001, from: exec#token.stdout}}
        - /tmp/e2e-after: {content: "x\n", control: {unless: "Data.gives"}, require: ["file#/tmp/e2e-received"]}
        - /tmp/e2e-beside: {content: "x\n"}
`

// TestFleetExchange uses a value of one host in files of others: it is unknown before its sender runs, the same
// everywhere, and missing for all receivers if the sender fails.
func TestFleetExchange(t *testing.T) {
	f := startFleet(t)
	write(t, f.path("gives.yaml"), "all:\n  hosts:\n    h001: {gives: true}\n    h002: {gives: false}\n    h003: {gives: false}\n")
	write(t, f.path("exchange.yaml"), exchangeSite)
	run := func(code int, args ...string) map[string]event {
		r := f.push(append([]string{"-i", "root.yaml", "-i", "gives.yaml", "--output", "json"}, append(args, "exchange.yaml")...)...)
		r.requireCode(t, code)
		all := outcomes(r.events(t))
		require.Len(t, all, 12)
		return all
	}
	predicted := run(0, "--check")
	for _, host := range hosts[1:] {
		e := predicted["exchange "+host+" file#/tmp/e2e-received"]
		require.Equal(t, "changed", e.Status)
		require.False(t, e.Certain)
		require.Equal(t, "Would have received content from exec#token of h001; known after apply", e.Message)
		require.False(t, predicted["exchange "+host+" file#/tmp/e2e-after"].Certain)
		require.True(t, predicted["exchange "+host+" file#/tmp/e2e-beside"].Certain)
	}

	f.sh("h001", "touch /tmp/e2e-refuse")
	real := run(2)
	f.requireForetold(predicted, real)
	require.Equal(t, "failed", real["exchange h001 exec#token"].Status)
	for _, host := range hosts[1:] {
		e := real["exchange "+host+" file#/tmp/e2e-received"]
		require.Equal(t, "failed", e.Status)
		require.Equal(t, `receiving content: exec#token of h001 has failed, so it has sent no "stdout"`, e.Error)
		after := real["exchange "+host+" file#/tmp/e2e-after"]
		require.Equal(t, "skipped", after.Status)
		require.Equal(t, "file#/tmp/e2e-received", after.Because)
		require.False(t, f.holds(host, "test -e /tmp/e2e-received -o -e /tmp/e2e-after"))
		require.Equal(t, "changed", real["exchange "+host+" file#/tmp/e2e-beside"].Status)
	}

	f.sh("h001", "rm /tmp/e2e-refuse")
	predicted = run(0, "--check")
	f.requireForetold(predicted, run(0))
	token := f.sh("h001", "cat /tmp/e2e-token")
	require.Len(t, token, 33)
	for _, host := range hosts[1:] {
		require.Equal(t, token+"root root 600\n", f.sh(host, "cat /tmp/e2e-received; stat -c '%U %G %a' /tmp/e2e-received"))
	}
	for _, args := range [][]string{{"--check"}, nil} {
		for name, e := range run(0, args...) {
			require.Contains(t, []string{"stable", "skipped"}, e.Status, name)
			require.True(t, e.Certain, name)
		}
	}

	// An unreachable host sends nothing.
	write(t, f.path("gives.yaml"), "all:\n  hosts:\n    h001: {gives: true, connect: {address: 127.0.0.1, port: 1}}\n    h002: {gives: false}\n    h003: {gives: false}\n")
	r := f.push("-i", "root.yaml", "-i", "gives.yaml", "--output", "json", "exchange.yaml")
	r.requireCode(t, 6)
	e := outcomes(r.events(t))["exchange h002 file#/tmp/e2e-received"]
	require.Equal(t, "failed", e.Status)
	require.Contains(t, e.Error, "h001")
}
