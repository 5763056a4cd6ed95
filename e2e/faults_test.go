//go:build e2e

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/faultproxy"
)

// behind writes an inventory in which a host of the fleet is reached through a port of the loopback.
func (f *fleet) behind(host string, port int) string {
	f.Helper()
	for line := range strings.Lines(f.tool("inventory")) {
		if address := regexp.MustCompile(`address: ([0-9.]+), port: 22,`).FindStringSubmatch(line); address != nil && strings.HasPrefix(line, "    "+host+":") {
			line = strings.Replace(line, address[0], fmt.Sprintf("address: 127.0.0.1, port: %d,", port), 1)
			line = regexp.MustCompile(`known_hosts: [^}]*`).ReplaceAllString(line, "known_hosts: "+f.path("known_hosts"))
			write(f, f.path("proxy.yaml"), "all:\n  hosts:\n"+line)
			key := f.sh(host, "cut -d' ' -f 1,2 /etc/ssh/ssh_host_ed25519_key.pub")
			write(f, f.path("known_hosts"), fmt.Sprintf("[127.0.0.1]:%d %s", port, key))
			return "proxy.yaml"
		}
	}
	f.Fatalf("there is no host %s", host)
	return ""
}

// seeded returns random numbers, whose seed CCM_SEED sets.
func seeded(tb testing.TB) *rand.Rand {
	tb.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("CCM_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(tb, err)
	}
	tb.Logf("CCM_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// startsSite is ten resources, one of which is a service that counts its starts, however many
// there are in ten seconds.
const startsSite = `
- name: app
  hosts: s001
  data: {level: info}
  ccm:
    resources:
      - file:
          - defaults: {owner: root, group: root, mode: "0644"}
          - /etc/e2e: {ensure: directory, mode: "0755"}
          - /etc/systemd/system/e2e-app.service:
              content: "[Unit]\nStartLimitIntervalSec=0\n[Service]\nExecStartPre=/bin/sh -c 'echo start >>/run/e2e-starts'\nExecStart=/bin/sleep 1000\n"
          - /etc/e2e/large: {content: "{{ Data.level }} LARGE"}
          - /etc/e2e/app.conf: {alias: conf, content: "level = {{ Data.level }}\n"}
      - exec:
          - first: {provider: shell, command: "echo first >>/run/e2e-ran", unless: "grep -qx {{ Data.level }} /run/e2e-first"}
          - note: {provider: shell, command: "echo {{ Data.level }} >/run/e2e-first", refreshonly: true, subscribe: [exec#first]}
      - service:
          - e2e-app: {subscribe: [file#conf]}
      - file:
          - /etc/e2e/after: {content: "{{ Data.level }}", owner: root, group: root, mode: "0644"}
      - exec:
          - "echo reloaded >>/run/e2e-ran": {provider: shell, refreshonly: true, subscribe: [file#/etc/e2e/after]}
          - "true": {unless: "true"}
`

// TestFleetFaults has connections to OpenSSH and systemd go wrong at some places, as TestFaults
// of playbooks does at all: a service is restarted once.
func TestFleetFaults(t *testing.T) {
	f := startServiceHost(t)
	write(t, f.path("site.yaml"), strings.Replace(startsSite, "LARGE", strings.Repeat("0123456789", 3000), 1))
	address := f.address("1.11") + ":22"
	random := seeded(t)
	uncut, err := faultproxy.Listen(address)
	require.NoError(t, err)
	args := func(inventory, level string, more ...string) []string {
		return append([]string{"-i", inventory, "-e", "level=" + level, "--idle-timeout", "3", "--deadline", "start=20", "--deadline", "handshake=20", "--deadline", "auth=20", "--reconnect", "60", "--lock-timeout", "60", "site.yaml"}, more...)
	}
	f.sh("s001", "rm -rf /var/lib/ccm-push /run/e2e-*")
	// The host program is there, and the service runs. Sending the program has no deadline of seconds: it takes longer
	// while other tests run.
	f.push("-i", "root.yaml", "-e", "level=none", "site.yaml").requireCode(t, 0)
	want := f.push(args(f.behind("s001", uncut.Port()), "uncut", "--output", "json")...)
	want.requireCode(t, 0)
	told := outcomes(want.events(t))
	require.Len(t, told, 10)
	passed := [2]faultproxy.Passed{uncut.Passed(0, faultproxy.ToServer), uncut.Passed(0, faultproxy.FromServer)}
	require.NoError(t, uncut.Close())
	n := 10
	if !testing.Short() {
		n = 100
	}
	for i := range n {
		fault := faultproxy.Fault{Kind: faultproxy.Kinds[i%len(faultproxy.Kinds)], Direction: faultproxy.Direction(random.IntN(2))}
		all := passed[fault.Direction]
		if i/len(faultproxy.Kinds)%2 == 0 {
			fault.Packets = all.Packets/2 + random.IntN(all.Packets/2)
		} else {
			fault.Bytes = all.Bytes/2 + random.Int64N(all.Bytes/2)
		}
		t.Run(fault.String(), func(t *testing.T) {
			f := f.in(t)
			p, err := faultproxy.Listen(address, fault)
			require.NoError(t, err)
			defer p.Close()
			f.sh("s001", "rm -f /run/e2e-starts /run/e2e-ran")
			level := fmt.Sprint("level", i)
			known := map[string]string{}
			var said string
			for again := true; again; {
				r := f.push(args(f.behind("s001", p.Port()), level, "--output", "json")...)
				said += r.stdout + r.stderr
				again = r.code != 0
				for name, e := range outcomes(r.events(t)) {
					if e.Status == "changed" {
						require.Empty(t, known[name], said)
						known[name] = e.Status
					}
				}
				require.Less(t, strings.Count(said, `"event":"summary"`), 4, said)
			}
			for name, e := range told {
				// A later run reports results that an earlier run could not report, by another event.
				if e.Status == "changed" && known[name] == "" {
					require.Regexp(t, `"event":"untold".*"name":"`+regexp.QuoteMeta(e.Name), said, name)
				}
			}
			require.Equal(t, "start\n", f.sh("s001", "cat /run/e2e-starts"), said)
			require.Equal(t, "first\nreloaded\n", f.sh("s001", "cat /run/e2e-ran"), said)
			after := f.push(args("root.yaml", level)...)
			after.requireCode(t, 0)
			require.Contains(t, after.stdout, "0 changed", said)
			f.awaits("s001", "! pgrep -f 'serv[e] '")
			require.Equal(t, "start\n", f.sh("s001", "cat /run/e2e-starts"))
		})
	}
}
