//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// sshdSays adds to the configuration of a host's sshd until the test ends.
func (f *fleet) sshdSays(host, text string) {
	f.Helper()
	const file = "/etc/ssh/sshd_config.d/a-e2e.conf" // the first word on something counts
	f.sh(host, "echo '"+text+"' >"+file+" && kill -HUP 1")
	f.Cleanup(func() { f.sh(host, "rm "+file+" && kill -HUP 1") })
	f.awaits(host, "test -n \"$(echo | timeout 2 bash -c 'exec 3<>/dev/tcp/127.0.0.1/22; head -n 1 <&3')\"")
}

// TestFleetMaxSessions has a sshd allow one session per connection: plays of several users,
// files of the controller, and a host program that is replaced by the full one.
func TestFleetMaxSessions(t *testing.T) {
	f := startFleet(t)
	f.sshdSays("h001", "MaxSessions 1")
	write(t, f.path("site.yaml"), `
- {hosts: h001, ccm: {resources: [exec: ["id -un >/tmp/e2e-first": {provider: shell}]]}}
- {hosts: h001, become: true, ccm: {resources: [exec: ["id -un >/tmp/e2e-second": {provider: shell}]]}}
- {hosts: h001, ccm: {resources: [exec: ["id -un >/tmp/e2e-third": {provider: shell}]]}}
`)
	r := f.push("-i", "deploy.yaml", "site.yaml")
	r.requireCode(t, 0)
	require.Equal(t, "deploy\nroot\ndeploy\n", f.sh("h001", "cat /tmp/e2e-first /tmp/e2e-second /tmp/e2e-third"))
	f.push("-i", "deploy.yaml", "-b", "footprint", "h001").requireCode(t, 0)
}

// TestFleetMaxStartups crowds a jump host that drops half of the connections without a login when there are two, and
// all when there are four: ten runs at once, to hosts behind it.
func TestFleetMaxStartups(t *testing.T) {
	f := startFleet(t)
	f.sshdSays("h001", "MaxStartups 2:50:4")
	var list strings.Builder
	list.WriteString("all:\n  hosts:\n")
	for line := range strings.Lines(f.tool("inventory")) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch name {
		case "h001":
			fmt.Fprintf(&list, "    %s: %s\n", name, rest)
		case "h002", "h003":
			for i := range 10 { // as if there were many
				fmt.Fprintf(&list, "    %s-%d: %s\n", name, i, strings.Replace(rest, "connect: {", "connect: {jump: h001, ", 1))
			}
		}
	}
	write(t, f.path("hosts.yaml"), list.String())
	var runs sync.WaitGroup
	said := make([]bytes.Buffer, 10)
	failed := make([]error, len(said))
	for i := range said {
		run := pushCommand(t, f.dir, "-i", "hosts.yaml", "--connect-retries", "10", "h00[2-3]-*", "exec", "true")
		run.Stdout, run.Stderr = &said[i], &said[i]
		runs.Go(func() { failed[i] = run.Run() })
	}
	runs.Wait()
	for i := range said {
		require.NoError(t, failed[i], said[i].String())
		require.Contains(t, said[i].String(), "20 hosts: 20 ok")
	}
}
