//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A managedHost is a host whose rules a program keeps: what begins it, what tells of all rules, takes one away by hand that is in
// force, and has the program load anew what it keeps.
type managedHost struct{ name, address, begin, rules, byHand, again string }

// firewalldVariable adds firewalld, whose image is made for this test alone: make e2e-firewalld.
const firewalldVariable = "CCM_FIREWALLD"

// startManagedHosts starts a host with apt and ufw, and one with rpm and firewalld, each with rules of its own: SSH and a door are open.
func startManagedHosts(t *testing.T) (*fleet, []managedHost) {
	t.Helper()
	f := startBeside(t, "s001")
	all := []managedHost{{
		name: "s001", address: f.address("1.11"),
		begin:  "ufw allow 22/tcp && ufw allow 8023/tcp && ufw --force enable",
		rules:  "grep -v '^$' /etc/ufw/user.rules /etc/ufw/user6.rules; iptables -S; ip6tables -S",
		byHand: "iptables -D ufw-user-input -p tcp --dport 443 -j ACCEPT",
		again:  "systemctl restart ufw",
	}}
	if os.Getenv(firewalldVariable) == "" {
		t.Log("NOT TESTED: firewalld, for which an image is made: make e2e-firewalld")
	} else {
		up := f.command("up", "1", "--systemd", "--rpm")
		up.Env = append(up.Env, "FLEET_PACKAGES=firewalld,netbase")
		outputOf(t, up)
		t.Cleanup(func() { f.tool("down", "rs001") })
		all = append(all, managedHost{
			name: "rs001", address: f.address("3.11"),
			begin:  "until firewall-cmd --state; do sleep 0.2; done; firewall-cmd --permanent --add-port=8023/tcp && firewall-cmd --reload",
			rules:  "for zone in public internal; do firewall-cmd --zone=$zone --list-all | sort; firewall-cmd --permanent --zone=$zone --list-all | sort; done", // rules of one priority are in no order
			byHand: "firewall-cmd --remove-service=https",
			again:  "systemctl restart firewalld; until firewall-cmd --state; do sleep 0.2; done",
		})
	}
	for _, h := range all {
		f.awaits(h.name, "systemctl is-active multi-user.target")
	}
	for _, h := range all {
		f.sh(h.name, h.begin)
		f.sh(h.name, doors)
		require.Eventually(t, func() bool { return knocks(h.address, 8023) == "open" }, time.Minute, 50*time.Millisecond, h.name)
	}
	write(t, f.path("hosts.yaml"), f.tool("inventory", "--user", "deploy"))
	return f, all
}

// TestFleetFirewallManagers has the real ufw and the real firewalld keep rules: for packets of IPv4, now and when the program loads
// anew what it keeps; of IPv6, as the programs tell. What is predicted comes true, what goes by hand is found, and undo brings back
// what was there. Who locks the run out is let in again.
func TestFleetFirewallManagers(t *testing.T) {
	f, all := startManagedHosts(t)
	both := func(port int, want string) {
		t.Helper()
		// All at once: what is dropped takes as long as it is waited for.
		require.Eventually(t, func() bool {
			got := make([]string, len(all))
			var g sync.WaitGroup
			for i, h := range all {
				g.Go(func() { got[i] = knocks(h.address, port) })
			}
			g.Wait()
			return !slices.ContainsFunc(got, func(one string) bool { return one != want })
		}, time.Minute, 50*time.Millisecond, "port %d is not %s on all hosts", port, want)
	}
	rules := func() (texts []string) {
		for _, h := range all {
			texts = append(texts, f.sh(h.name, h.rules))
		}
		return texts
	}
	us := f.routeTo(all[0].address)
	before := rules()
	both(443, "dropped")

	site := func(name, keys, resources string) {
		write(t, f.path(name), "- name: site\n  hosts: all\n"+keys+"  ccm:\n    resources:\n"+resources)
	}
	site("doors.yaml", "", fmt.Sprintf(`
    - firewall:
        - https: {service: https}
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
	r := f.push("-i", "hosts.yaml", "-b", "--check", "--output", "json", "doors.yaml")
	r.requireCode(t, 0)
	predicted := outcomes(r.events(t))
	require.Equal(t, before, rules(), "a check run has changed something")
	r = f.push("-i", "hosts.yaml", "-b", "--output", "json", "doors.yaml")
	r.requireCode(t, 0)
	f.requireForetold(predicted, outcomes(r.events(t)))
	require.Len(t, only(r.events(t), "confirmed"), len(all), r.stdout)
	var applied struct{ Run string }
	first, _, _ := strings.Cut(r.stdout, "\n")
	require.NoError(t, json.Unmarshal([]byte(first), &applied))
	opened()
	r = f.push("-i", "hosts.yaml", "-b", "doors.yaml")
	r.requireCode(t, 0)
	require.Equal(t, len(all), strings.Count(r.stdout, "s001: 0 changed, 3 stable"), r.stdout)

	for _, h := range all {
		f.sh(h.name, h.byHand)
	}
	both(443, "dropped")
	f.push("-i", "hosts.yaml", "-b", "watch", "--once", "doors.yaml").requireCode(t, 8)
	for _, h := range all {
		f.sh(h.name, h.again)
	}
	opened()

	f.push("-i", "hosts.yaml", "-b", "undo", applied.Run, "--yes").requireCode(t, 0)
	require.Equal(t, before, rules())

	// No zone is left out in silence, or made.
	site("wrong.yaml", "", "\n    - firewall: [https: {port: 444, zone: nowhere}]\n")
	r = f.push("-i", "hosts.yaml", "-b", "wrong.yaml")
	r.requireCode(t, 2)
	require.Contains(t, r.stdout, "zones are those of firewalld, which does not run on this host")
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
