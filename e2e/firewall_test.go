//go:build e2e

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A firewallHost is a host with a firewall, and its commands: start the firewall, list all rules, remove active rules
// by hand, and reload the saved rules.
type firewallHost struct{ name, address, begin, rules, byHand, again string }

// closedRules allow SSH and one of the two doors.
const closedRules = `flush ruleset
table inet filter {
	chain input {
		type filter hook input priority filter; policy drop;
		ct state established,related accept
		iif lo accept
		tcp dport { 22, 8023 } accept
	}
}
`

// doors starts a listener on two ports: 443 is closed by closedRules, 8023 is open.
const doors = "systemctl -q is-active e2e-doors || systemd-run -q --unit e2e-doors /usr/sbin/sshd -D -p 443 -p 8023"

// nftablesHost is one whose service loads rules from a file.
func nftablesHost(name, address, loads string) firewallHost {
	return firewallHost{
		name: name, address: address,
		begin:  "cat >" + loads + " <<'RULES'\n" + closedRules + "RULES\nsystemctl daemon-reload; systemctl -q enable nftables && systemctl restart nftables",
		rules:  "nft --stateless list ruleset; tail -n +1 /etc/nftables* /etc/sysconfig/nftables* 2>/dev/null; :",
		byHand: "nft flush chain inet ccm_push input",
		again:  "systemctl restart nftables", // flushes all rules, as a boot does
	}
}

// startFirewallHosts starts a host with apt and one with rpm. That one has the nft of the other one, and the service as
// Fedora has it.
func startFirewallHosts(t *testing.T) (*fleet, []firewallHost) {
	t.Helper()
	f := leaseFleet(t)
	f.tool("up", "1", "--systemd")
	f.tool("up", "1", "--systemd", "--rpm")
	t.Cleanup(func() { f.tool("down", "s001", "rs001") })
	nft := f.command("exec", "s001", "sh", "-c", "tar -ch /usr/sbin/nft $(ldd /usr/sbin/nft | sed -n 's/.*=> \\([^ ]*\\) .*/\\1/p') 2>/dev/null")
	text, err := nft.Output()
	require.NoError(t, err)
	unpack := f.command("exec", "rs001", "tar", "-x", "-C", "/", "--skip-old-files")
	unpack.Stdin = bytes.NewReader(text)
	outputOf(f, unpack)
	f.sh("rs001", `mkdir -p /etc/sysconfig && printf '[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/usr/sbin/nft -f /etc/sysconfig/nftables.conf\nExecStop=/usr/sbin/nft flush ruleset\n[Install]\nWantedBy=multi-user.target\n' >/etc/systemd/system/nftables.service`)
	all := []firewallHost{nftablesHost("s001", f.address("1.11"), "/etc/nftables.conf"), nftablesHost("rs001", f.address("3.11"), "/etc/sysconfig/nftables.conf")}
	f.beginFirewalls(all)
	return f, all
}

// beginFirewalls starts the firewalls of hosts, and the listeners on their doors.
func (f *fleet) beginFirewalls(all []firewallHost) {
	f.Helper()
	for _, h := range all {
		f.awaits(h.name, "systemctl is-active multi-user.target")
		f.sh(h.name, h.begin)
		f.sh(h.name, doors)
	}
	requireKnocks(f, all, 8023, "open")
	write(f, f.path("hosts.yaml"), f.tool("inventory", "--user", "deploy"))
}

// firewallRules are all rules of each host.
func (f *fleet) firewallRules(all []firewallHost) (texts []string) {
	f.Helper()
	for _, h := range all {
		texts = append(texts, f.sh(h.name, h.rules))
	}
	return texts
}

// appliesAsForetold applies a manifest to hosts as a check run has predicted, which has changed nothing. Each of them confirms.
func (f *fleet) appliesAsForetold(manifest string, all []firewallHost) run {
	f.Helper()
	before := f.firewallRules(all)
	r := f.push("-i", "hosts.yaml", "-b", "--check", "--output", "json", manifest)
	r.requireCode(f, 0)
	predicted := outcomes(r.events(f))
	require.Equal(f, before, f.firewallRules(all), "a check run has changed something")
	r = f.push("-i", "hosts.yaml", "-b", "--output", "json", manifest)
	r.requireCode(f, 0)
	f.requireForetold(predicted, outcomes(r.events(f)))
	require.Len(f, only(r.events(f), "confirmed"), len(all), r.stdout)
	return r
}

// knocks returns the outcome of a connection to a port: "open", "refused" or "dropped".
func knocks(address string, port int) string {
	const patience = 2 * time.Second // longer than a packet takes that is not dropped
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(address, fmt.Sprint(port)), patience)
	switch {
	case err == nil:
		conn.Close()
		return "open"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	}
	return "dropped"
}

// requireKnocks waits until a connection to a port of each host has the wanted outcome. It tries all hosts at once,
// since a dropped packet takes the whole timeout.
func requireKnocks(tb testing.TB, all []firewallHost, port int, want string) {
	tb.Helper()
	var g sync.WaitGroup
	for _, h := range all {
		g.Go(func() {
			assert.EventuallyWithT(tb, func(c *assert.CollectT) {
				assert.Equal(c, want, knocks(h.address, port))
			}, time.Minute, 50*time.Millisecond, "%s: port %d", h.name, port)
		})
	}
	g.Wait()
	if tb.Failed() {
		tb.FailNow()
	}
}

// TestFleetFirewall opens one door and closes another, on hosts whose own rules drop everything else: for packets, now
// and after a reload of the rules. Undo restores the former rules. A change that locks the run out is refused, or
// reverted.
func TestFleetFirewall(t *testing.T) {
	f, all := startFirewallHosts(t)
	both := func(port int, want string) {
		t.Helper()
		requireKnocks(t, all, port, want)
	}
	rules := func() []string { return f.firewallRules(all) }
	us := f.routeTo(all[0].address)
	site := func(name, keys, resources string) {
		write(t, f.path(name), "- name: site\n  hosts: s001:rs001\n"+keys+"  ccm:\n    resources:\n"+resources)
	}
	before := rules()
	both(443, "dropped")
	both(8023, "open")

	site("doors.yaml", "", fmt.Sprintf(`
    - firewall:
        - https: {service: https}
        - no door: {port: 8023, action: drop, source: [%s, "2001:db8::/32"]}
        - told: {port: 8000-8022, action: reject, interface: eth0}
        - not here: {port: 25, ensure: absent}
`, us))
	f.appliesAsForetold("doors.yaml", all)
	opened := func() {
		t.Helper()
		both(443, "open")
		both(8023, "dropped")
		both(8022, "refused")
		both(22, "open")
	}
	opened()
	r := f.push("-i", "hosts.yaml", "-b", "doors.yaml")
	r.requireCode(t, 0)
	require.Contains(t, r.stdout, "s001: 0 changed, 4 stable")
	require.NotContains(t, r.stdout, "warning")
	for _, h := range all {
		f.sh(h.name, h.again)
	}
	opened()
	f.sh("s001", all[0].byHand)
	require.Equal(t, "open", knocks(all[0].address, 8023))
	r = f.push("-i", "hosts.yaml", "-b", "doors.yaml")
	r.requireCode(t, 0)
	require.Contains(t, r.stdout, "rs001: 0 changed, 4 stable")
	opened()

	site("gone.yaml", "", `
    - firewall:
        - https: {service: https, ensure: absent}
        - no door: {ensure: absent}
        - told: {ensure: absent}
`)
	f.appliesAsForetold("gone.yaml", all)
	require.Equal(t, before, rules())
	f.push("-i", "hosts.yaml", "-b", "undo", "last", "--yes").requireCode(t, 0)
	opened()
	before = rules()

	// After this change no login would work: that is known before any change.
	site("nobody.yaml", "", `
    - firewall: [ssh: {service: ssh, action: drop}]
`)
	for _, flags := range [][]string{{"--check"}, nil} {
		r = f.push(append([]string{"-i", "hosts.yaml", "-b", "nobody.yaml"}, flags...)...)
		r.requireCode(t, 2)
		require.Contains(t, r.stdout, fmt.Sprintf("this change would lock out the login of this run, from %s to port 22", us))
	}
	require.Equal(t, before, rules())

	// The interface of a login is known only from the login itself. On one host the controller is killed.
	const mistake = `
    - firewall: [ssh: {service: ssh, action: drop, interface: eth0}]
`
	site("mistake.yaml", "  confirm_within: 5s\n", mistake)
	site("killed.yaml", "  confirm_within: 5s\n", mistake+"    - exec: [gate: {provider: shell, command: \"touch /run/e2e-waits; sleep 60\"}]\n")
	cmd := pushCommand(f, f.dir, "-i", "hosts.yaml", "-b", "-l", "rs001", "killed.yaml")
	require.NoError(t, cmd.Start())
	f.awaits("rs001", "test -e /run/e2e-waits")
	require.Equal(t, "dropped", knocks(all[1].address, 22))
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	r = f.push("-i", "hosts.yaml", "-b", "-l", "s001", "mistake.yaml")
	r.requireCode(t, 18)
	require.Contains(t, r.stdout, "taken back  firewall#ssh  removed the rule")
	require.Eventually(t, func() bool { return knocks(all[1].address, 22) == "open" }, 2*time.Minute, 100*time.Millisecond, "rs001 does not let itself in again")
	both(22, "open")
	require.Eventually(t, func() bool { return rules()[1] == before[1] }, time.Minute, 100*time.Millisecond)
	require.Equal(t, before, rules())
}
