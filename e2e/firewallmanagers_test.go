//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// firewalldVariable adds firewalld, whose image is made for this test alone: make e2e-firewalld.
const firewalldVariable = "CCM_FIREWALLD"

// ufwHost has apt, and firewalldHost has rpm. Both have rules of their own: SSH and a door are open.
var (
	ufwHost = firewallHost{
		name:   "s001",
		begin:  "ufw allow 22/tcp && ufw allow 8023/tcp && ufw --force enable",
		rules:  "grep -v '^$' /etc/ufw/user.rules /etc/ufw/user6.rules; iptables -S; ip6tables -S",
		byHand: "iptables -D ufw-user-input -p tcp --dport 443 -j ACCEPT",
		again:  "systemctl restart ufw",
	}
	firewalldHost = firewallHost{
		name:   "rs001",
		begin:  "until firewall-cmd --state; do sleep 0.2; done; firewall-cmd --permanent --add-port=8023/tcp && firewall-cmd --reload",
		rules:  "for zone in public internal; do firewall-cmd --zone=$zone --list-all | sort; firewall-cmd --permanent --zone=$zone --list-all | sort; done", // rules of one priority are in no order
		byHand: "firewall-cmd --remove-service=https",
		again:  "systemctl restart firewalld; until firewall-cmd --state; do sleep 0.2; done",
	}
)

// startManagedHosts starts hosts on which a program manages the rules. It omits the host with rpm unless its image is
// requested.
func startManagedHosts(t *testing.T, apt, rpm firewallHost) (*fleet, []firewallHost) {
	t.Helper()
	f := startBeside(t, apt.name)
	apt.address, rpm.address = f.address("1.11"), f.address("3.11")
	all := []firewallHost{apt}
	if os.Getenv(firewalldVariable) == "" {
		t.Log("NOT TESTED: firewalld, for which an image is made: make e2e-firewalld")
	} else {
		up := f.command("up", "1", "--systemd", "--rpm")
		up.Env = append(up.Env, "FLEET_PACKAGES=firewalld,netbase")
		outputOf(t, up)
		t.Cleanup(func() { f.tool("down", rpm.name) })
		all = append(all, rpm)
	}
	f.beginFirewalls(all)
	return f, all
}

// TestFleetFirewallManagers has the real ufw and the real firewalld manage rules: for packets of IPv4, now and after
// the program has reloaded its rules; for IPv6, by the programs' lists. Predictions come true, rules that were removed
// by hand are found, and undo restores the former rules, also a rule that was made absent. A change that locks the run
// out is reverted.
func TestFleetFirewallManagers(t *testing.T) {
	f, all := startManagedHosts(t, ufwHost, firewalldHost)
	both := func(port int, want string) {
		t.Helper()
		requireKnocks(t, all, port, want)
	}
	rules := func() []string { return f.firewallRules(all) }
	us := f.routeTo(all[0].address)
	before := rules()
	both(443, "dropped")

	site := func(name, keys, resources string) {
		write(t, f.path(name), "- name: site\n  hosts: all\n"+keys+"  ccm:\n    resources:\n"+resources)
	}
	site("doors.yaml", "", fmt.Sprintf(`
    - firewall:
        - https: {service: https}
        - mail: {service: submission} # which firewalld knows by another name
        - no door: {port: 8023, action: drop, source: [%s, "2001:db8::/32"]}
        - by the interface: {port: 9200, interface: eth0, control: {if: "Facts.host.info.hostname == 's001'"}}
        - of a zone: {port: 9200, zone: internal, control: {if: "Facts.host.info.hostname == 'rs001'"}}
`, us))
	opened := func() {
		t.Helper()
		both(443, "open")
		both(8023, "dropped")
		both(22, "open")
	}
	applied := runID.FindString(f.appliesAsForetold("doors.yaml", all).stdout)
	opened()
	r := f.push("-i", "hosts.yaml", "-b", "doors.yaml")
	r.requireCode(t, 0)
	require.Equal(t, len(all), strings.Count(r.stdout, "s001: 0 changed, 4 stable"), r.stdout)

	for _, h := range all {
		f.sh(h.name, h.byHand)
	}
	both(443, "dropped")
	f.push("-i", "hosts.yaml", "-b", "watch", "--once", "doors.yaml").requireCode(t, 8)
	for _, h := range all {
		f.sh(h.name, h.again)
	}
	opened()

	f.push("-i", "hosts.yaml", "-b", "undo", applied, "--yes").requireCode(t, 0)
	require.Equal(t, before, rules())

	// A rule with ensure: absent may have any owner: its content identifies it.
	site("gone.yaml", "", `
    - firewall:
        - the door: {port: 8023, ensure: absent}
        - not here: {port: 25, ensure: absent}
`)
	applied = runID.FindString(f.appliesAsForetold("gone.yaml", all).stdout)
	both(8023, "dropped")
	r = f.push("-i", "hosts.yaml", "-b", "gone.yaml")
	r.requireCode(t, 0)
	require.Equal(t, len(all), strings.Count(r.stdout, "s001: 0 changed, 2 stable"), r.stdout)
	f.push("-i", "hosts.yaml", "-b", "undo", applied, "--yes").requireCode(t, 0)
	both(8023, "open")
	require.Equal(t, before, rules())

	site("gopher.yaml", "", "\n    - firewall: [gopher: {service: gopher}]\n")
	r = f.push("-i", "hosts.yaml", "-b", "gopher.yaml")
	r.requireCode(t, 1)
	require.Contains(t, r.stderr, `no ports are known of a service "gopher"`)
	require.Contains(t, r.stderr, `write its "port" and "protocol"`)
	require.Equal(t, before, rules())

	// An unknown zone is an error: it is neither skipped nor created.
	site("wrong.yaml", "", "\n    - firewall: [https: {port: 444, zone: nowhere}]\n")
	r = f.push("-i", "hosts.yaml", "-b", "wrong.yaml")
	r.requireCode(t, 2)
	require.Contains(t, r.stdout, "zone needs firewalld, which does not run on this host")
	if len(all) > 1 {
		require.Contains(t, r.stdout, `firewalld has no zone "nowhere"`)
	}
	require.Equal(t, before, rules())

	site("mistake.yaml", "  confirm_within: 5s\n", fmt.Sprintf("\n    - firewall: [ssh: {service: ssh, action: drop, source: [%s]}]\n", us))
	r = f.push("-i", "hosts.yaml", "-b", "mistake.yaml")
	r.requireCode(t, 18)
	require.Equal(t, len(all), strings.Count(r.stdout, "taken back  firewall#ssh  removed the rule"), r.stdout)
	both(22, "open")
	require.Equal(t, before, rules())
}
