//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// hostAddress matches the address of a host and its SSH port, which depends on the network of the fleet.
var hostAddress = regexp.MustCompile(`\b10\.\d+\.\d+\.\d+:22\b`)

// as writes an inventory for a user of the fleet, and password files.
func (f *fleet) as(user string) string {
	f.Helper()
	write(f, f.path(user+".yaml"), f.tool("inventory", "--user", user))
	return user + ".yaml"
}

func (f *fleet) password(text string) string {
	f.Helper()
	path := f.path("password")
	os.Remove(path)
	require.NoError(f, os.WriteFile(path, []byte(text+"\n"), 0o600))
	return path
}

// setPassword changes the password of a user of h001 until the test ends.
func (f *fleet) setPassword(user, now, later string) {
	f.Helper()
	f.chpasswd(user, now)
	f.Cleanup(func() { f.chpasswd(user, later) })
}

func (f *fleet) chpasswd(user, password string) {
	f.Helper()
	f.sh("h001", "chpasswd <<'END'\n"+user+":"+password+"\nEND")
}

// set changes a host until the test ends.
func (f *fleet) set(does, undoes string) {
	f.Helper()
	f.sh("h001", does)
	f.Cleanup(func() { f.sh("h001", undoes) })
}

// An escalation is a way to become another user, and the expected output: the name of the new user, or the error.
type escalation struct {
	login, method, as, password string
	want                        string
}

func (e escalation) String() string {
	return strings.Join([]string{e.login, e.method, e.as, e.password}, " ")
}

func (e escalation) run(f *fleet) string {
	args := []string{"-i", f.as(e.login), "-b", "--become-method", e.method, "--become-user", e.as, "--progress", "none"}
	if e.password != "" {
		args = append(args, "--become-password-file", f.password(e.password))
	}
	r := f.push(append(args, "h001", "exec", "id -un")...)
	require.Empty(f, r.stderr)
	if r.code == 0 {
		return strings.TrimSuffix(strings.TrimPrefix(r.stdout, "== h001: exit 0\n"), "\n1 host: 1 ok; "+r.stdout[strings.LastIndex(r.stdout, " ")+1:])
	}
	require.Equal(f, 2, r.code)
	told, _, _ := strings.Cut(hostAddress.ReplaceAllString(r.stdout, "AT"), "\nh001: ")
	return strings.TrimPrefix(told, "h001  failed   become: AT: escalation refused: ")
}

const (
	nopw        = "sudo: a password is required\n    hint: give the password of %[1]s with -K or --become-password-file, or let %[1]s run commands as %[2]s without a password (sudoers: NOPASSWD)"
	norule      = "deployno is not in the sudoers file.\n    hint: allow deployno to run commands as %s: ccm-push sudoers prints the rule for the sudoers file of the host"
	again       = "sudo rejected the password\n    hint: check that this is the password of deploypw on this host"
	runsNothing = "/bin/sh as root could run nothing, not even id: permission denied\n    hint: look for noexec (Defaults) and NOEXEC (in a rule) in sudoers; on the host, sudo -l -U "
	suWrong     = "su: Authentication failure\n    hint: check that this is the password of %s on this host"
)

// escalations returns all methods, with the right password, a wrong one, an unnecessary one, and none, to root and to
// another user.
func escalations() []escalation {
	var all []escalation
	for _, as := range []string{"root", "app"} {
		own := map[string]string{"root": "rootpw", "app": "app"}[as]
		all = append(all,
			escalation{"deploy", "sudo", as, "", as},
			escalation{"deploy", "sudo", as, "not asked for", as},
			escalation{"deploypw", "sudo", as, "deploypw", as},
			escalation{"deploypw", "sudo", as, "wrong", again},
			escalation{"deploypw", "sudo", as, "", fmt.Sprintf(nopw, "deploypw", as)},
			escalation{"deployno", "sudo", as, "deployno", fmt.Sprintf(norule, as)},
			escalation{"deploy", "su", as, own, as},
			escalation{"deploy", "su", as, "wrong", fmt.Sprintf(suWrong, as)},
			escalation{"deploy", "su", as, "", "su requires a password\n    hint: give the password of " + as + " with -K or --become-password-file"},
			escalation{"deploy", "doas", as, "", as},
			escalation{"deploy", "doas", as, "not asked for", as},
			escalation{"deploypw", "doas", as, "deploypw", as},
			escalation{"deploypw", "doas", as, "wrong", "doas: Authentication failed\n    hint: check that this is the password of deploypw on this host"},
			escalation{"deploypw", "doas", as, "", "doas: Authentication required\n    hint: give the password of deploypw with -K or --become-password-file, or let deploypw run commands as " + as + " without a password (doas.conf: nopass)"},
			escalation{"deployno", "doas", as, "deployno", "doas: Operation not permitted\n    hint: let deployno run commands as " + as + " in doas.conf"},
		)
	}
	return append(all, escalation{"root", "su", "app", "", "app"})
}

// TestFleetEscalations tries all escalations on hosts with several login shells; with -short, only sh tries those to
// other users than root.
func TestFleetEscalations(t *testing.T) {
	f := startFleet(t)
	for _, shell := range []string{"/bin/sh", "/usr/bin/fish", "/bin/csh"} {
		t.Run(shell[strings.LastIndex(shell, "/")+1:], func(t *testing.T) {
			f := f.in(t)
			users := "deploy deploypw deployno app root"
			f.set("for u in "+users+"; do usermod -s "+shell+" $u; done", "for u in "+users+"; do usermod -s /bin/bash $u; done")
			for _, e := range escalations() {
				if testing.Short() && shell != "/bin/sh" && e.as != "root" {
					continue
				}
				t.Run(e.String(), func(t *testing.T) { require.Equal(t, e.want, e.run(f.in(t))) })
			}
			f.clean()
		})
	}
}

// TestFleetPasswordBytes has passwords that shells, terminals and templates would
// all like to have a word with.
func TestFleetPasswordBytes(t *testing.T) {
	f := startFleet(t)
	for name, password := range map[string]string{
		"quotes":  "{{7*7}}$(id)\"'\\ #é`x`!",
		"long":    strings.Repeat("long ", 60),
		"control": "a\x01\x03\x04\x08\x11\x13\x15\x16\x17\x1a\x1c\x7fb\xff\xfe",
	} {
		t.Run(name, func(t *testing.T) {
			f := f.in(t)
			f.setPassword("deploypw", password, "deploypw")
			f.setPassword("root", password, "rootpw")
			for _, e := range []escalation{
				{"deploypw", "sudo", "root", password, "root"}, {"deploypw", "doas", "root", password, "root"}, {"deploy", "su", "root", password, "root"},
			} {
				require.Equal(t, e.want, e.run(f), e.method)
			}
		})
	}
}

// TestFleetHardEscalation has hosts that make it hard to become root.
func TestFleetHardEscalation(t *testing.T) {
	f := startFleet(t)
	sudo := escalation{"deploypw", "sudo", "root", "deploypw", "root"}
	su := escalation{"deploy", "su", "root", "rootpw", "root"}
	rule := func(text string) (does, undoes string) {
		return "echo '" + text + "' > /etc/sudoers.d/test; chmod 440 /etc/sudoers.d/test; visudo -qc", "rm /etc/sudoers.d/test"
	}
	pam := func(service, line string) (does, undoes string) {
		return "cp -p /etc/pam.d/" + service + " /root/pam; (echo '" + line + "'; cat /root/pam) > /etc/pam.d/" + service, "mv /root/pam /etc/pam.d/" + service
	}
	german := func() (does, undoes string) {
		return "echo LC_ALL=de_DE.UTF-8 > /etc/default/locale", "rm /etc/default/locale"
	}
	for _, test := range []struct {
		name   string
		set    func() (does, undoes string)
		become escalation
		want   string
	}{
		{"a terminal is required", func() (string, string) { return rule("Defaults requiretty") }, sudo, "root"},
		{"a terminal is required, without a password", func() (string, string) { return rule("Defaults requiretty") }, escalation{"deploy", "sudo", "root", "", ""}, "root"},
		{"a terminal is required, and none shared", func() (string, string) { return rule("Defaults requiretty, !use_pty") }, sudo, "root"},
		{"a terminal is required, wrong password", func() (string, string) { return rule("Defaults requiretty") }, escalation{"deploypw", "sudo", "root", "wrong", ""}, again},
		{"a lecture, always", func() (string, string) { return rule("Defaults lecture=always") }, sudo, "root"},
		{"one attempt", func() (string, string) { return rule("Defaults passwd_tries=1") }, escalation{"deploypw", "sudo", "root", "wrong", ""},
			"sudo: 1 incorrect password attempt\n    hint: check that this is the password of deploypw on this host"},
		{"another account's password is requested", func() (string, string) { return rule("Defaults targetpw") }, escalation{"deploypw", "sudo", "app", "deploypw", ""},
			"sudo rejected the password\n    hint: check that this is the password of app on this host; sudo on this host requests this password, not the password of deploypw (sudoers: targetpw, rootpw or runaspw)"},
		{"another account's password", func() (string, string) { return rule("Defaults targetpw") }, escalation{"deploypw", "sudo", "app", "app", ""}, "app"},
		{"the password of root, in one attempt", func() (string, string) { return rule("Defaults rootpw, passwd_tries=1") }, escalation{"deploypw", "sudo", "app", "wrong", ""},
			"sudo: 1 incorrect password attempt\n    hint: check that this is the password of root on this host; sudo on this host requests this password, not the password of deploypw (sudoers: targetpw, rootpw or runaspw)"},
		{"programs may run no others", func() (string, string) { return rule("Defaults noexec") }, sudo, runsNothing + "deploypw prints what applies"},
		{"programs may run no others, without a password", func() (string, string) { return rule("Defaults noexec") }, escalation{"deploy", "sudo", "root", "", ""}, runsNothing + "deploy prints what applies"},
		{"a PATH without programs", func() (string, string) { return rule("Defaults secure_path=/no:/such") }, escalation{"deploy", "sudo", "root", "", ""},
			"/bin/sh as root found no program, not even id, in PATH=\"/no:/such\"\n    hint: check secure_path in sudoers: it must contain the directories of the system's programs, such as /usr/bin; on the host, sudo -l -U deploy prints what applies"},
		{"PAM takes its time", func() (string, string) { return pam("sudo", "auth required pam_exec.so /bin/sleep 32") }, sudo, "root"},
		{"only wheel may", func() (string, string) { return pam("su", "auth required pam_wheel.so") }, su,
			"su: Permission denied\n    hint: may deploy use su, and can root log in there (PAM, group wheel, its shell)?"},
		{"no shell to su to", func() (string, string) { return "usermod -s /usr/sbin/nologin app", "usermod -s /bin/bash app" }, escalation{"deploy", "su", "app", "app", ""},
			"This account is currently not available.\n    hint: may deploy use su, and can app log in there (PAM, group wheel, its shell)?"},
		{"in German", german, escalation{"deployno", "sudo", "root", "deployno", ""}, fmt.Sprintf(norule, "root")},
		{"su in German", german, escalation{"deploy", "su", "root", "wrong", ""}, fmt.Sprintf(suWrong, "root")},
		{"no terminals", func() (string, string) {
			const conf = "/etc/ssh/sshd_config.d/test.conf"
			return "echo PermitTTY no > " + conf + "; kill -HUP 1; sleep 1", "rm " + conf + "; kill -HUP 1; sleep 1"
		}, su, "the host refused a terminal, which su needs: ssh: pty-req failed\n    hint: look for PermitTTY in sshd_config, and for no-pty or restrict in authorized_keys"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := f.in(t)
			f.set(test.set())
			require.Equal(t, test.want, test.become.run(f))
		})
	}
}

// TestFleetSecretsAreNowhere looks at every command line and environment on the
// host, and on this machine, again and again while a run has a password.
func TestFleetSecretsAreNowhere(t *testing.T) {
	f := startFleet(t)
	const secret = "sw0rdf1sh-sw0rdf1sh"
	f.setPassword("deploypw", secret, "deploypw")
	f.setPassword("root", secret, "rootpw")
	sampler := `n=0; : > /tmp/e2e-found; while test ! -e /tmp/e2e-stop; do ` +
		`grep -azl sw0rdf1sh-sw0rdf1s[h] /proc/[0-9]*/cmdline /proc/[0-9]*/environ >> /tmp/e2e-found 2>/dev/null; n=$((n+1)); done; echo $n > /tmp/e2e-rounds`
	f.sh("h001", "rm -f /tmp/e2e-*; ("+sampler+") > /dev/null 2>&1 < /dev/null &")
	for _, e := range []escalation{
		{"deploypw", "sudo", "root", secret, "root"}, {"deploypw", "doas", "root", secret, "root"}, {"deploy", "su", "root", secret, "root"},
		{"deploypw", "sudo", "app", secret, "app"},
	} {
		require.Equal(t, e.want, e.run(f))
	}
	// The control: the sampler finds a secret that is there.
	f.sh("h001", "LEAK="+secret+" sleep 1")
	f.sh("h001", "touch /tmp/e2e-stop")
	f.awaits("h001", "test -s /tmp/e2e-rounds")
	found := strings.Fields(f.sh("h001", "sort -u /tmp/e2e-found"))
	require.NotEmpty(t, found, "the sampler finds nothing, also not what is there")
	require.LessOrEqual(t, len(found), 4, "%v", found) // the sh and the sleep of the control, cmdline and environ
	t.Logf("%s rounds", f.sh("h001", "cat /tmp/e2e-rounds"))
	require.Empty(t, f.sh("h001", "grep -rl "+secret[:10]+"s[h] /home /root /tmp /var/tmp /var/log /run 2>/dev/null || true"))
}

// TestFleetRootTrustsNobody has a hostile login user while root installs and starts the program: with tools of its own
// in PATH, and directories that it swaps all the time. Each of these tools logs which user runs it.
func TestFleetRootTrustsNobody(t *testing.T) {
	f := startFleet(t)
	f.set(`mkdir -p /home/deploy/bin /tmp/e2e-evil; chmod 777 /tmp/e2e-evil
for c in uname ls id mkdir chmod rm mv wc head gzip sha256sum find env sh cat; do
	printf '#!/bin/sh\nPATH=/usr/bin:/bin\necho %s >> /tmp/e2e-evil/$(/usr/bin/id -u)\nexec /usr/bin/%s "$@"\n' $c $c > /home/deploy/bin/$c
	chmod 755 /home/deploy/bin/$c
done
chown -R deploy /home/deploy/bin
cp -p /home/deploy/.bashrc /root/bashrc
(echo 'export PATH=/home/deploy/bin:$PATH ENV=/home/deploy/env BASH_ENV=/home/deploy/env LD_PRELOAD=/home/deploy/x.so'; cat /root/bashrc) > /home/deploy/.bashrc
echo 'echo ENV >> /tmp/e2e-evil/$(/usr/bin/id -u)' > /home/deploy/env`,
		"rm -rf /home/deploy/bin /home/deploy/env; mv /root/bashrc /home/deploy/.bashrc; rm -rf /tmp/e2e-* /tmp/ccm-push-* /var/tmp/ccm-push-*")
	// The places that root falls back to are swapped for links and directories.
	f.sh("h001", `rm -f /tmp/e2e-stop; cat > /tmp/e2e-swap <<'END'
while test ! -e /tmp/e2e-stop; do
	for d in /tmp/ccm-push-0 /var/tmp/ccm-push-0; do
		mkdir -m 777 $d; ln -s /home/deploy/bin/ls $d/x; mv $d $d.$$; ln -s /home/deploy/bin $d; rm -rf $d $d.$$
		ln -s /root $d; rm -f $d
	done
done 2>/dev/null
END
su deploy -s /bin/sh -c 'sh /tmp/e2e-swap' > /dev/null 2>&1 < /dev/null &`)
	for i := range 6 {
		for _, e := range []escalation{
			{"deploy", "sudo", "root", "", "root"}, {"deploy", "doas", "root", "", "root"}, {"deploy", "su", "root", "rootpw", "root"},
		} {
			require.Equal(t, e.want, e.run(f), "%s, round %d", e.method, i)
			if i%2 == 0 {
				f.sh("h001", "rm -rf /root/.cache") // so that it is installed again
			} else {
				// Only the swapped places are left.
				f.sh("h001", "rm -rf /root/.cache; : > /root/.cache")
				e.run(f) // works or not, as the swapping goes
				f.sh("h001", "rm -f /root/.cache")
			}
		}
	}
	f.sh("h001", "touch /tmp/e2e-stop")
	require.Empty(t, f.sh("h001", "cat /tmp/e2e-evil/0 2>/dev/null || true"), "root has run what belongs to deploy")
	require.Empty(t, f.sh("h001", "find /home/deploy /tmp /var/tmp -user root -type f -name '[0-9a-f]*' -size +1000k 2>/dev/null | grep -v '/ccm-push-0/' || true"), "root has installed where deploy can write")
	// The control: deploy itself does run its own tools.
	f.push("-i", f.as("deploy"), "h001", "exec", "true").requireCode(t, 0)
	require.NotEmpty(t, f.sh("h001", "cat /tmp/e2e-evil/1000"))
}

// TestFleetSudoersRule has a host with exactly the rule that is printed for it.
func TestFleetSudoersRule(t *testing.T) {
	f := startFleet(t)
	f.as("deployno")
	r := f.push("-i", "deployno.yaml", "sudoers", "h001")
	r.requireCode(t, 0)
	f.set("cat > /etc/sudoers.d/test <<'END'\n"+r.stdout+"END\nchmod 440 /etc/sudoers.d/test; visudo -qc", "rm /etc/sudoers.d/test")
	for range 2 { // installed, and cached
		require.Equal(t, "root", escalation{"deployno", "sudo", "root", "", ""}.run(f))
	}
	require.Equal(t, fmt.Sprintf(nopw, "deployno", "app"), escalation{"deployno", "sudo", "app", "", ""}.run(f), "another user")
	for _, command := range []string{
		"id", "/bin/sh", "/bin/sh -c id", "/bin/sh -c 'set -f; id' sh x", "-u app /bin/sh -c id", "/bin/sh -i",
	} {
		require.False(t, f.holds("h001", "su deployno -s /bin/sh -c \"sudo -n "+strings.ReplaceAll(command, `"`, `\"`)+"\""), "sudo allows %s", command)
	}
}
