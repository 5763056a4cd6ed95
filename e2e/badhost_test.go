//go:build e2e

package e2e

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A badHost is a fault of h001, with the operator's whole output.
type badHost struct {
	name          string
	breaks, mends string   // scripts that root runs on the host
	user          string   // deploy unless set
	args          []string // exec echo hello unless set
	code          int
	want          string
}

// shown is the output without what differs from run to run.
func (r run) shown() string {
	text := regexp.MustCompile(`(?m)^to continue: .*\n`).ReplaceAllString(r.stdout, "")
	return regexp.MustCompile(`\b[0-9.]+m?s\b`).ReplaceAllString(text, "TIME") + r.stderr
}

// test breaks the host, runs ccm-push, and repairs the host in any case.
func (b badHost) test(t *testing.T, f *fleet) {
	f = f.in(t)
	f.clean()
	f.sh("h001", b.breaks)
	t.Cleanup(func() { f.sh("h001", b.mends) })
	inventory := "deploy.yaml"
	if b.user == "root" {
		inventory = "root.yaml"
	}
	args := b.args
	if args == nil {
		args = []string{"h001", "exec", "echo hello"}
	}
	r := f.push(append([]string{"-i", inventory}, args...)...)
	require.Equal(t, b.want, strings.ReplaceAll(r.shown(), f.address("0.11"), "10.78.0.11"))
	require.Equal(t, b.code, r.code)
}

const wellDone = "== h001: exit 0\nhello\n1 host: 1 ok; TIME\n"

// failedAt returns the output of an ad-hoc run on a host that failed as a whole.
func failedAt(phase, text string) string {
	return "h001  failed   " + phase + ": 10.78.0.11:22: " + text + "\nh001: 0 changed, 0 stable (failed: " + phase + ", TIME)\n1 host: 0 ok, 1 failed; TIME\n"
}

const (
	tryShell = "check that the shell of this user runs commands, and that sshd does not force another command (ForceCommand, or command= in authorized_keys); to test: ssh deploy@10.78.0.11 echo ok"
	mendRC   = "cp /root/bashrc /home/deploy/.bashrc"
	profile  = "cp /home/deploy/.bashrc /root/bashrc; cat > /home/deploy/.bashrc <<'END'\n"
)

// bash reads ~/.bashrc before sshd's command.
var badShells = []badHost{
	{
		name: "a login message", breaks: profile + "echo 'Welcome to h001'; printf '\\033[1mno newline'\nEND", mends: mendRC,
		want: wellDone,
	},
	{
		name: "a profile that exits", breaks: profile + "exit 0\nEND", mends: mendRC, code: 2,
		want: failedAt("start", "the host program did not answer: exit status 0\n    hint: "+tryShell),
	},
	{
		name: "a profile that prints and exits", breaks: profile + "echo 'closed until Monday'; exit 3\nEND", mends: mendRC, code: 2,
		want: failedAt("start", "the host program did not answer: exit status 3\n    hint: the login shell printed \"closed until Monday\\n\"; "+tryShell),
	},
	{
		name: "a profile that draws and exits", breaks: profile + "printf '\\033[2Jclosed\\n' >&2; exit 1\nEND", mends: mendRC, code: 2,
		want: failedAt("start", "the host program did not answer: exit status 1: \\x1b[2Jclosed\n    hint: "+tryShell),
	},
	{
		name: "no login", breaks: "usermod -s /usr/sbin/nologin deploy", mends: "usermod -s /bin/bash deploy", code: 2,
		want: failedAt("start", "the host program did not answer: exit status 1\n    hint: the login shell printed \"This account is currently not available.\\n\"; "+tryShell),
	},
	{
		name: "a shell that is not there", breaks: "usermod -s /bin/gone deploy", mends: "usermod -s /bin/bash deploy", code: 4,
		want: "h001  unreachable  authenticate 10.78.0.11:22: authentication refused: ssh: unable to authenticate, attempted methods [none publickey], no supported methods remain\n" +
			"    hint: ccm-push offered these keys for the user deploy: key; check authorized_keys of this user on the host\nh001: 0 changed, 0 stable (unreachable: authentication refused, TIME)\n1 host: 0 ok, 1 unreachable; TIME\n",
	},
	{
		name: "nobody to become", breaks: ":", mends: ":", args: []string{"--become-user", "nobody-at-all", "h001", "exec", "true"}, code: 2,
		want: failedAt("become", "escalation refused: sudo: unknown user nobody-at-all\n    hint: make the account nobody-at-all on the host, or name another become_user"),
	},
	{
		name: "an architecture without a build", user: "root", code: 2,
		breaks: "printf '#!/bin/sh\\necho Linux sparc64\\n' > /root/uname; chmod 755 /root/uname; mount --bind /root/uname $(readlink -f /bin/uname); " +
			"if test -e /proc/sys/kernel/arch; then echo sparc64 > /root/arch; mount --bind /root/arch /proc/sys/kernel/arch; fi",
		mends: "umount $(readlink -f /bin/uname); ! test -e /root/arch || umount /proc/sys/kernel/arch",
		want:  failedAt("install", "no build for this host: it is \"linux/sparc64\"\n    hint: builds exist for linux/amd64"),
	},
}

func TestFleetBadShells(t *testing.T) {
	f := startFleet(t)
	for _, b := range badShells {
		t.Run(b.name, func(t *testing.T) { b.test(t, f) })
	}
}
