//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A lockout is a mistake in a manifest after which no login works any more.
type lockout struct {
	name string
	// resources make it on a host with systemd, and plain on one without, whose services have
	// scripts in /etc/init.d; "" is for a mistake that such a host has not.
	resources, plain string
	// cuts marks a mistake that also cuts its own connection.
	cuts bool
	// reboots has the host start again in the end, for which the resources have to see.
	reboots bool
}

// Resources that make sshd read its configuration, on a host with systemd and on one without.
const (
	restartSSH      = "- service: [{ssh: {subscribe: [%s]}}]"
	restartSSHPlain = "- exec: [{service ssh restart: {refresh_only: true, subscribe: [%s]}}]"
)

// lockouts are the lock-outs of the documentation, in its order.
var lockouts = []lockout{
	{
		name: "sshd Port",
		resources: `
- file: [{/etc/ssh/sshd_config.d/port.conf: {alias: port, content: "Port 2200\n", owner: root, group: root, mode: "0644"}}]
` + fmt.Sprintf(restartSSH, "file#port"),
		plain: `
- file: [{/etc/ssh/sshd_config.d/port.conf: {alias: port, content: "Port 2200\n", owner: root, group: root, mode: "0644"}}]
` + fmt.Sprintf(restartSSHPlain, "file#port"),
	},
	{
		name: "AllowUsers",
		resources: `
- line: [{only: {path: /etc/ssh/sshd_config, line: AllowUsers ops, regexp: ^AllowUsers}}]
` + fmt.Sprintf(restartSSH, "line#only"),
		plain: `
- line: [{only: {path: /etc/ssh/sshd_config, line: AllowUsers ops, regexp: ^AllowUsers}}]
` + fmt.Sprintf(restartSSHPlain, "line#only"),
	},
	{
		name: "bad sshd_config", // a script of /etc/init.d would look at it first
		resources: `
- line: [{password: {path: /etc/ssh/sshd_config, line: PasswordAuthentcation no, regexp: "^#?PasswordAuthentication"}}]
` + fmt.Sprintf(restartSSH, "line#password"),
	},
	{
		name: "PAM",
		resources: `
- line: [{accounts: {path: /etc/pam.d/sshd, line: account required pam_deny.so, after: pam_nologin}}]`,
		plain: `
- line: [{accounts: {path: /etc/pam.d/sshd, line: account required pam_deny.so, after: pam_nologin}}]`,
	},
	{
		name: "sudoers",
		resources: `
- file: [{/etc/sudoers.d/fleet: {content: "ops ALL=(ALL:ALL) NOPASSWD: ALL\n", owner: root, group: root, mode: "0440"}}]`,
		plain: `
- file: [{/etc/sudoers.d/fleet: {content: "ops ALL=(ALL:ALL) NOPASSWD: ALL\n", owner: root, group: root, mode: "0440"}}]`,
	},
	{
		name: "authorized key removed",
		resources: `
- file: [{/home/deploy/.ssh/authorized_keys: {content: "", owner: root, group: root, mode: "0644"}}]`,
		plain: `
- file: [{/home/deploy/.ssh/authorized_keys: {ensure: absent}}]`,
	},
	{
		name: "default route",
		cuts: true,
		resources: `
- file: [{/etc/network/interfaces.d/eth0: {alias: eth0, content: "auto eth0\niface eth0 inet static\n\taddress ADDRESS/24\n", owner: root, group: root, mode: "0644"}}]
- service: [{networking: {subscribe: [file#eth0]}}]`,
		plain: `
- file: [{/etc/network/interfaces.d/eth0: {alias: eth0, content: "auto eth0\niface eth0 inet static\n\taddress ADDRESS/24\n", owner: root, group: root, mode: "0644"}}]
- exec: [{service networking restart: {refresh_only: true, subscribe: [file#eth0]}}]`,
	},
	{
		name: "nftables drop",
		resources: `
- file: [{/etc/nftables.conf: {alias: rules, content: "` + dropRules + `", owner: root, group: root, mode: "0644"}}]
- service: [{nftables: {subscribe: [file#rules]}}]`,
		plain: `
- file: [{/etc/nftables.conf: {alias: rules, content: "` + dropRules + `", owner: root, group: root, mode: "0755"}}]
- exec: [{nft -f /etc/nftables.conf: {refresh_only: true, subscribe: [file#rules]}}]`,
	},
	{
		name: "interface down",
		cuts: true,
		resources: `
- line: [{auto: {path: /etc/network/interfaces.d/eth0, line: auto eth0, ensure: absent}}]
- service: [{networking: {subscribe: [line#auto]}}]`,
		plain: `
- line: [{auto: {path: /etc/network/interfaces.d/eth0, line: auto eth0, ensure: absent}}]
- exec: [{service networking restart: {refresh_only: true, subscribe: [line#auto]}}]`,
	},
	{
		name: "shell /bin/false",
		resources: `
- user: [{deploy: {shell: /bin/false}}]`,
		plain: `
- user: [{deploy: {shell: /bin/false}}]`,
	},
	{
		name: "sshd masked",
		resources: `
- service: [{ssh: {ensure: stopped, masked: true}}]`,
	},
	{
		name:    "reboot",
		reboots: true,
		resources: `
- file: [{/etc/ssh/sshd_config.d/port.conf: {content: "Port 2200\n", owner: root, group: root, mode: "0644"}}]
- exec: [{systemctl --no-block reboot: }]`,
	},
}

// dropRules forget to allow SSH. Established connections stay.
const dropRules = `flush ruleset\ntable inet filter {\n  chain input {\n    type filter hook input priority filter; policy drop;\n` +
	`    ct state established,related accept\n    iif lo accept\n    tcp dport 443 accept\n  }\n}\n`

// lockoutSetup configures the usual ways to a host: interfaces and a default route, a firewall, a key of the user
// deploy. The controller is behind the gateway.
const lockoutSetup = `set -e
printf 'auto eth0\niface eth0 inet static\n\taddress %[1]s/24\n\tgateway %[2]s\n' >/etc/network/interfaces.d/eth0
chown root:adm /etc/network/interfaces.d/eth0; chmod 640 /etc/network/interfaces.d/eth0
install -d -o deploy -g deploy -m 700 /home/deploy/.ssh
install -o deploy -g deploy -m 600 /etc/ssh/fleet_keys /home/deploy/.ssh/authorized_keys
sed -i 's|^AuthorizedKeysFile.*|AuthorizedKeysFile .ssh/authorized_keys|' /etc/ssh/sshd_config.d/fleet.conf
ip address flush dev eth0
if test -d /run/systemd/system; then
	systemctl -q enable nftables; systemctl restart nftables networking ssh
else
	nft -f /etc/nftables.conf; service networking restart
	echo Port %[3]d >/etc/ssh/sshd_config.d/port.conf; rm -f /run/sshd.pid; service ssh start
fi`

// plainPort is the port of sshd on a host without systemd. The host's first process is another sshd, with which the
// host would die.
const plainPort = 2222

// lockoutRepair is the repair at the console of a host, after the files have been restored.
const lockoutRepair = `if test -d /run/systemd/system; then
	systemctl daemon-reload; systemctl reset-failed; systemctl restart networking nftables ssh
else
	service networking restart; nft -f /etc/nftables.conf; service ssh restart
fi`

// Where inventories and configurations of the fleet name its known hosts.
var (
	knownHosts     = regexp.MustCompile(`known_hosts: [^}]*}`)
	knownHostsFile = regexp.MustCompile(`UserKnownHostsFile .*`)
)

// A lockoutHost is a host of a fleet, with the means to cut it off and bring it back.
type lockoutHost struct {
	*fleet
	host  string
	plain bool
	at    string   // its address
	as    []string // arguments of ccm-push: the inventory, and the users
}

// startLockoutHost starts a host for one test alone, which may change it at will.
func startLockoutHost(t *testing.T, plain bool) *lockoutHost {
	t.Helper()
	h := &lockoutHost{fleet: leaseFleet(t), host: "s001", plain: plain}
	number, kind, port := "1.11", []string{"up", "1", "--systemd"}, 22
	if plain {
		h.host, number, kind, port = "h001", "0.11", []string{"up", "1"}, plainPort
	}
	h.at = h.address(number)
	h.tool("down")
	h.tool(kind...)
	t.Cleanup(func() { h.tool("down") })
	if !plain {
		h.awaits(h.host, "systemctl is-active multi-user.target")
	}
	h.sh(h.host, fmt.Sprintf(lockoutSetup, h.at, h.address("255.1"), plainPort))
	// The fleet writes the keys of a host again whenever it starts.
	h.marks(h.host, strings.Fields(h.sh(h.host, "find "+marked+" -type f ! -name fleet_keys ! -name 'ssh_host_*' 2>/dev/null; :"))...)
	h.sh(h.host, "mkdir -m 700 /var/e2e-before && for d in /etc /home/deploy/.ssh; do mkdir -p /var/e2e-before/$(dirname $d); cp -a $d /var/e2e-before/$d; done")

	own := func(text string) string { // an inventory of the fleet, for this host
		text = strings.ReplaceAll(text, "port: 22,", fmt.Sprintf("port: %d,", port))
		return strings.ReplaceAll(text, "Port 22\n", fmt.Sprintf("Port %d\n", port))
	}
	known := h.sh(h.host, "cut -d' ' -f 1,2 /etc/ssh/ssh_host_ed25519_key.pub")
	write(t, h.path("known_hosts"), fmt.Sprintf("%[1]s,[%[1]s]:%[2]d,[%[1]s]:2200 %[3]s", h.at, plainPort, known))
	write(t, h.path("hosts.yaml"), knownHosts.ReplaceAllString(own(h.tool("inventory", "--user", "deploy")), "known_hosts: "+h.path("known_hosts")+"}"))
	write(t, h.path("ssh_config"), knownHostsFile.ReplaceAllString(own(h.tool("inventory", "--ssh", "--user", "deploy")), "UserKnownHostsFile "+h.path("known_hosts")))
	h.as = []string{"-i", "hosts.yaml", "-b"}
	require.Eventually(t, h.letsIn, time.Minute, 100*time.Millisecond, "nobody gets in at the beginning")
	return h
}

// letsIn reports whether OpenSSH's own client can log in, by a connection of its own, and become root.
func (h *lockoutHost) letsIn() bool {
	cmd := exec.Command("ssh", "-F", h.path("ssh_config"), "-o", "BatchMode=yes", "-o", "ConnectTimeout=2", "-S", "none", h.host, "sudo", "-n", "true")
	return cmd.Run() == nil
}

// site writes a manifest.
func (h *lockoutHost) site(name, resources, keys string) {
	resources = indented(strings.ReplaceAll(resources, "ADDRESS", h.at))
	write(h, h.path(name), fmt.Sprintf("- name: site\n  hosts: %s\n%s  ccm:\n    resources:\n%s", h.host, keys, resources))
}

func indented(resources string) string {
	var text strings.Builder
	for line := range strings.Lines(strings.TrimSpace(resources)) {
		text.WriteString("      " + line)
	}
	return text.String() + "\n"
}

// apply is a run of a manifest.
func (h *lockoutHost) apply(site string, args ...string) *exec.Cmd {
	return pushCommand(h, h.dir, slices.Concat(h.as, []string{"--output", "json"}, args, []string{site})...)
}

// impatient are arguments for a host that does not answer any more.
func (l lockout) impatient() []string {
	if l.cuts {
		return []string{"--idle-timeout", "5"}
	}
	return nil
}

// repair restores a host from outside.
func (h *lockoutHost) repair(before tree) {
	h.Helper()
	for _, path := range h.tree(h.host).differs(before) {
		if strings.HasPrefix(path, "/") {
			h.sh(h.host, fmt.Sprintf("rm -rf '%[1]s'; if test -e '/var/e2e-before%[1]s' -o -L '/var/e2e-before%[1]s'; then cp -a '/var/e2e-before%[1]s' '%[1]s'; fi", path))
		}
	}
	h.sh(h.host, lockoutRepair)
	require.Eventually(h, h.letsIn, time.Minute, 100*time.Millisecond, "%s cannot be repaired", h.host)
}

// boots waits until a host has gone down by itself, and has it start again.
func (h *lockoutHost) boots() {
	h.Helper()
	require.Eventually(h, func() bool { return strings.Contains(h.tool("status"), "\tdead\n") }, time.Minute, 50*time.Millisecond, "%s does not go down", h.host)
	h.boot()
}

// boot restarts a host in any state. Settings that the fleet adds to the host's own configuration are removed, since
// they would put the controller on the host's own network.
func (h *lockoutHost) boot() {
	h.Helper()
	h.tool("restart", h.host)
	h.awaits(h.host, "systemctl is-active multi-user.target")
	h.sh(h.host, "ip address del "+h.at+"/16 dev eth0")
}

// locksOut proves that a mistake is one: without protection no login works any more. Then it repairs the host.
func (h *lockoutHost) locksOut(l lockout, resources string, before tree) {
	h.Helper()
	h.site("unprotected.yaml", resources, "  confirm: never\n")
	cmd := h.apply("unprotected.yaml", append(l.impatient(), "--reconnect", "0")...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(h, cmd.Start())
	if l.reboots {
		h.boots()
	}
	cmd.Wait()
	if !l.reboots { // else the host may go down before it has reported that
		require.Contains(h, out.String(), `"status":"changed"`)
	}
	require.False(h, h.letsIn(), "%s locks nobody out: %s", l.name, out.String())
	require.NotEmpty(h, h.tree(h.host).differs(before))
	h.repair(before)
	h.tree(h.host).requireEqual(h.fleet, before, "the repair has left something: "+out.String())
}

// A way is a way to make or to end a run with a lock-out.
type way struct {
	name string
	// killed has ccm-push killed when the mistake has been made and the run is not at its end. With a
	// mistake that reboots, the host loses its power then.
	killed bool
	// shared has a user whose ssh_config shares connections, one of which is open.
	shared bool
}

var lockoutWays = []way{{name: ""}, {name: ", controller killed", killed: true}, {name: ", ControlMaster", shared: true}}

// gate makes a run wait until it is killed.
const gate = `
- exec: [{gate: {provider: shell, command: "touch /run/e2e-waits; while ! test -e /run/e2e-go; do sleep 0.05; done"}}]`

// returns makes the mistake with protection: the host reverts it, and has its former state.
func (h *lockoutHost) returns(l lockout, resources string, before tree, w way) {
	h.Helper()
	keys := "  confirm_within: 5s\n"
	if l.reboots {
		keys = "  confirm_within: 120s\n  confirm_boot: true\n" // it is the boot that takes it back
	}
	if w.killed {
		resources = strings.ReplaceAll(resources, "\n- exec: [{systemctl --no-block reboot: }]", "") + gate
	}
	h.site("protected.yaml", resources, keys)
	h.Cleanup(func() {
		if h.Failed() {
			h.Log(h.sh(h.host, "ps axfo pid,ppid,etimes,args; cd /var/lib/ccm-push && ls -l && tail -v -n +1 confirm*; test -d /run/systemd/system && journalctl --no-pager -n 60; :"))
		}
	})
	if w.shared {
		h.shares()
	}
	watch := h.watch()
	cmd := h.apply("protected.yaml", l.impatient()...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(h, cmd.Start())
	switch {
	case w.killed:
		h.awaits(h.host, "test -e /run/e2e-waits && rm /run/e2e-waits")
		if !l.reboots { // which would have made it one
			require.Eventually(h, func() bool { return !h.letsIn() }, time.Minute, 50*time.Millisecond, "%s locks nobody out", l.name)
		}
		if !l.cuts { // until then the host has waited for a controller that was there
			watch()
			watch = h.watch()
		}
		require.NoError(h, cmd.Process.Kill())
		if l.reboots {
			h.boot()
		}
	case l.reboots:
		h.boots()
	}
	cmd.Wait()
	said := out.String()
	h.Logf("%s%s: %s", l.name, w.name, said)
	require.Equal(h, 1, strings.Count(said, `"event":"armed"`), said)
	require.NotContains(h, said, `"event":"confirmed"`)
	told := strings.Count(said, `"event":"reverted"`)
	if !w.killed {
		require.Equal(h, 16, cmd.ProcessState.ExitCode()&16, said)
		require.Equal(h, 1, told, said)
	}
	require.Eventually(h, h.letsIn, time.Minute, 100*time.Millisecond, "%s does not let itself in again: %s", h.host, said)
	h.took(l, w, watch())

	// Another controller gets the reports that no controller has received.
	write(h, h.path("harmless.yaml"), "- {name: harmless, hosts: "+h.host+", ccm: {resources: [{exec: [{\"true\": {unless: \"true\"}}]}]}}\n")
	require.NoError(h, os.MkdirAll(h.path("other"), 0o755))
	for _, want := range []int{1 - told, 0} {
		other := h.apply("../harmless.yaml", "--lock-timeout", "60")
		other.Dir, other.Env = h.path("other"), append(other.Env, "HOME="+h.path("other"))
		for i, arg := range other.Args {
			if arg == "hosts.yaml" || arg == "names.yaml" || arg == "shared_config" {
				other.Args[i] = "../" + arg
			}
		}
		r := ended(h, other)
		r.requireCode(h, 0)
		require.Equal(h, want, strings.Count(r.stdout, `"event":"reverted"`), r.stdout)
	}
	h.tree(h.host).requireEqual(h.fleet, before, "after it was taken back: "+said)
}

// shares makes the user's ssh_config share connections, with one that is open and stays.
func (h *lockoutHost) shares() {
	h.Helper()
	dir, err := os.MkdirTemp("", "e2e") // a socket's path is short
	require.NoError(h, err)
	config, err := os.ReadFile(h.path("ssh_config"))
	require.NoError(h, err)
	write(h, h.path("shared_config"), string(config)+"  ControlMaster auto\n  ControlPath "+dir+"/%C\n  ControlPersist 60m\n")
	write(h, h.path("names.yaml"), "all: {hosts: {"+h.host+": }}\n")
	h.as = []string{"-i", "names.yaml", "--ssh-config", "shared_config", "-b"}
	ssh := func(args ...string) error {
		return exec.Command("ssh", append([]string{"-F", h.path("shared_config"), "-o", "BatchMode=yes"}, args...)...).Run()
	}
	require.NoError(h, ssh(h.host, "true"))
	require.NoError(h, ssh("-O", "check", h.host))
	h.Cleanup(func() {
		ssh("-O", "exit", h.host)
		os.RemoveAll(dir)
	})
}

// watch measures, if requested, how long no login works: from the last login that worked to the next one.
func (h *lockoutHost) watch() (stop func() time.Duration) {
	if !measures {
		return func() time.Duration { return 0 }
	}
	over := make(chan struct{})
	var watching sync.WaitGroup
	var longest time.Duration
	watching.Go(func() {
		last := time.Now()
		for {
			select {
			case <-over:
				return
			case <-time.After(100 * time.Millisecond):
			}
			if h.letsIn() {
				longest, last = max(longest, time.Since(last)), time.Now()
			}
		}
	})
	return func() time.Duration {
		close(over)
		watching.Wait()
		return longest
	}
}

// measures is set by make lockouts: all combinations, with the times without a login.
var measures = os.Getenv("CCM_LOCKOUTS") == "all"

// mostLockedOut is the longest allowed time without a login: five seconds that the host waits after the last message of
// the controller, five to revert the changes, and the time of the run before that.
const mostLockedOut = 20 * time.Second

// lockedOut has the times without a login, by lock-out and way.
var lockedOut = struct {
	sync.Mutex
	times map[string]time.Duration
}{times: map[string]time.Duration{}}

func (h *lockoutHost) took(l lockout, w way, time time.Duration) {
	if !measures {
		return
	}
	lockedOut.Lock()
	defer lockedOut.Unlock()
	lockedOut.times[fmt.Sprint(l.name, h.plain, w.name)] = time
	if !l.reboots {
		require.LessOrEqual(h, time, mostLockedOut, "%s%s", l.name, w.name)
	}
}

// lockoutTable is the table of docs/internals/lockouts.md.
func lockoutTable() string {
	var text strings.Builder
	for _, l := range lockouts {
		text.WriteString("| " + l.name)
		for _, plain := range []bool{false, true} {
			for _, w := range lockoutWays {
				took, found := lockedOut.times[fmt.Sprint(l.name, plain, w.name)]
				if !found {
					text.WriteString(" | -")
					continue
				}
				fmt.Fprintf(&text, " | %.1f s", took.Seconds())
			}
		}
		text.WriteString(" |\n")
	}
	return text.String()
}

// sample are the combinations that each run of the tests tries: lock-out, kind of host and way.
var sample = map[string]bool{
	"sshd Port with systemd":                      true,
	"sudoers without systemd, ControlMaster":      true,
	"sshd masked with systemd, controller killed": true,
}

// TestFleetLockouts makes mistakes that lock everybody out of real hosts. First, without protection,
// they have to do so.
func TestFleetLockouts(t *testing.T) {
	t.Parallel()
	all := measures || !testing.Short()
	if measures {
		t.Cleanup(func() { t.Logf("how long nobody got in:\n%s", lockoutTable()) })
	}
	for _, plain := range []bool{false, true} {
		for _, l := range lockouts {
			resources, name := l.resources, l.name+" with systemd"
			if plain {
				resources, name = l.plain, l.name+" without systemd"
			}
			var some []way
			for _, w := range lockoutWays {
				if all || sample[name+w.name] {
					some = append(some, w)
				}
			}
			if resources == "" || len(some) == 0 {
				continue
			}
			t.Run(name, func(t *testing.T) {
				h := startLockoutHost(t, plain)
				before := h.tree(h.host)
				h.locksOut(l, resources, before)
				for _, w := range some {
					t.Run("taken back"+w.name, func(t *testing.T) {
						h := *h
						h.fleet = h.in(t)
						h.returns(l, resources, before, w)
					})
				}
			})
		}
	}
}

// TestFleetConfirmed changes how a host is reached without a lock-out: the changes stay.
func TestFleetConfirmed(t *testing.T) {
	h := startLockoutHost(t, false)
	for _, test := range []struct{ name, resources, keys, then string }{
		{"a banner", `
- file: [{/etc/ssh/sshd_config.d/banner.conf: {alias: banner, content: "Banner /etc/issue.net\n", owner: root, group: root, mode: "0644"}}]
` + fmt.Sprintf(restartSSH, "file#banner"), "", "Port 22"},
		{"a port, where the controller looks for it", `
- file: [{/etc/ssh/sshd_config.d/port.conf: {alias: port, content: "Port 2200\n", owner: root, group: root, mode: "0644"}}]
` + fmt.Sprintf(restartSSH, "file#port"), "  confirm_via: [':2200']\n", "Port 2200"},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := *h
			h.fleet = h.in(t)
			h.site("site.yaml", test.resources, test.keys)
			r := ended(t, h.apply("site.yaml", "--detailed-exitcode"))
			r.requireCode(t, 8)
			require.Equal(t, 1, strings.Count(r.stdout, `"event":"armed"`), r.stdout)
			require.Equal(t, 1, strings.Count(r.stdout, `"event":"confirmed"`), r.stdout)
			require.NotContains(t, r.stdout, `"event":"reverted"`)

			text, err := os.ReadFile(h.path("hosts.yaml"))
			require.NoError(t, err)
			write(t, h.path("hosts.yaml"), strings.Replace(string(text), "port: 22,", "port: "+strings.TrimPrefix(test.then, "Port ")+",", 1))
			text, err = os.ReadFile(h.path("ssh_config"))
			require.NoError(t, err)
			write(t, h.path("ssh_config"), strings.Replace(string(text), "Port 22\n", test.then+"\n", 1))
			require.True(t, h.letsIn())
			r = ended(t, h.apply("site.yaml", "--detailed-exitcode"))
			r.requireCode(t, 0)
			require.NotContains(t, r.stdout, `"event":"armed"`)
			require.NotContains(t, r.stdout, `"event":"reverted"`)
			h.awaits(h.host, "! pgrep -f 'watchdo[g]'")
		})
	}
}
