package pkg

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

// The outputs below are from apt 2.6.1, dpkg 1.21.22, dnf 4.14.0 and rpm 4.18.0.
const (
	policyOfBash = `bash:
  Installed: 5.2.15-2+b8
  Candidate: 5.2.15-2+b13
  Version table:
     5.2.15-2+b13 500
        500 http://deb.debian.org/debian bookworm/main amd64 Packages
 *** 5.2.15-2+b8 100
        100 /var/lib/dpkg/status
`
	policyOfVirtual = `mta:
  Installed: (none)
  Candidate: (none)
  Version table:
`
	simulation = `NOTE: This is only a simulation!
      apt-get needs root privileges for real execution.
Reading package lists...
Building dependency tree...
The following packages will be REMOVED:
  left
The following NEW packages will be installed:
  right
1 upgraded, 1 newly installed, 1 to remove and 1 not upgraded.
Remv left [1.0]
Inst zip [3.0-13] (3.0-13+deb12u1 Debian-Security:12/oldstable-security [amd64])
Inst right (1.0 localhost [all])
Conf zip (3.0-13+deb12u1 Debian-Security:12/oldstable-security [amd64])
`
	unmetDependencies = `Building dependency tree...
Some packages could not be installed. This may mean that you have
requested an impossible situation.

The following packages have unmet dependencies:
 libudev1 : PreDepends: libc6 (>= 2.33)
            but it is not going to be installed
 needy : Depends: nosuch but it is not installable
E: Unable to correct problems, you have held broken packages.
`
	brokenScript = `Unpacking only (1.0) ...
Setting up only (1.0) ...
Setting up broken (1.0) ...
cannot start
dpkg: error processing package broken (--configure):
 installed broken package post-installation script subprocess returned error exit status 3
Errors were encountered while processing:
 broken
`
	dnfTable = `Dependencies resolved.
================================================================================
 Package           Architecture       Version              Repository      Size
================================================================================
Installing:
 tdep              noarch             2:1.0-1              t              5.4 k
     replacing  told-name.noarch 0.9-1
Installing dependencies:
 tdemo             noarch             2.0-2                t              5.4 k
 a-name-that-takes-more-than-its-column
                   x86_64             1.0-1                t              5.4 k
Removing:
 told              noarch             1.0-1                @t               0  
Removing dependent packages:
 tneeds            noarch             1.0-1                @t               0  

Transaction Summary
================================================================================
Install  2 Packages
`
	dnfScript = `  Running scriptlet: e2e-broken-1.0-1.noarch                                1/1
error: lua script failed: [string "%prein(e2e-broken-1.0-1.noarch)"]:1: cannot start

  Verifying        : e2e-broken-1.0-1.noarch                                1/1
`
	dnfLockedOut = `RPMDB already locked by 1
  The application with PID 1 is: systemd
    Memory :  12 M RSS ( 19 MB VSZ)
`
)

func feed(text string, line func(string)) {
	for l := range strings.Lines(text) {
		line(strings.TrimSuffix(l, "\n"))
	}
}

func TestAptPolicy(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       aptPolicy
	}{
		{"installed", policyOfBash, aptPolicy{known: true, candidate: "5.2.15-2+b13", versions: []string{"5.2.15-2+b13", "5.2.15-2+b8"}, table: true, from: map[string][]string{
			"5.2.15-2+b13": {"http://deb.debian.org/debian bookworm/main amd64 Packages"}, "5.2.15-2+b8": {"/var/lib/dpkg/status"},
		}}},
		{"virtual", policyOfVirtual, aptPolicy{known: true, table: true}},
		{"unknown", "", aptPolicy{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var p aptPolicy
			feed(test.text, p.line)
			require.Equal(t, test.want, p)
		})
	}
	require.Equal(t, "6, 5, 4, 3, 2, …", words(some([]string{"6", "5", "4", "3", "2", "1"})))
}

func TestDpkgRow(t *testing.T) {
	for _, test := range []struct {
		line string
		want State
	}{
		{"install\tinstalled\tlibc6:amd64\t2.36-9+deb12u14\tamd64\t", State{Installed: true, Version: "2.36-9+deb12u14"}},
		{"hold\tinstalled\tmawk\t1.3.4\tamd64\tawk", State{Installed: true, Version: "1.3.4", Held: true}},
		{"install\ttriggers-awaited\tmawk\t1.3.4\tamd64\tawk", State{Installed: true, Version: "1.3.4"}},
		{"install\thalf-configured\tmawk\t1.3.4\tamd64\tawk", State{Unfinished: "half-configured", Version: "1.3.4"}},
		{"install\thalf-installed\tmawk\t1.3.4\tamd64\t\tok", State{Unfinished: "half-installed", Version: "1.3.4", Torn: true}},
		{"install\thalf-configured\tmawk\t1.3.4\tamd64\t\treinstreq", State{Unfinished: "reinstreq half-configured", Version: "1.3.4", Torn: true, Stuck: true}},
		{"deinstall\tconfig-files\tmawk\t1.3.4\tamd64\tawk", State{}},
		{"unknown\tnot-installed\tmawk\t\t\t", State{}},
		{"", State{}},
	} {
		require.Equal(t, test.want, parseDpkgRow(test.line).state(), test.line)
	}
	rows := []dpkgRow{parseDpkgRow("install\tinstalled\tmulti:i386\t1\ti386\t"), parseDpkgRow("install\tinstalled\tmulti:amd64\t2\tamd64\t")}
	require.True(t, ambiguous(rows))
	require.Equal(t, "2", stateOf(rows, "amd64").Version)
	require.Equal(t, State{}, stateOf(rows, "arm64"))

	r := parseDpkgRow("install\tinstalled\tx\t1\tall\tawk, mta (= 1.0), libx:any (= 2)")
	for _, name := range []string{"awk", "mta", "libx"} {
		require.True(t, r.provides(name), name)
	}
	require.False(t, r.provides("aw"))
	require.False(t, parseDpkgRow("").provides("awk"))
}

func TestAptOutput(t *testing.T) {
	for _, test := range []struct {
		name, text string
		done       []consequence
		reasons    []string
	}{
		{"a simulation", simulation, []consequence{{"left", ""}, {"zip", "3.0-13+deb12u1"}, {"right", "1.0"}}, nil},
		{"unmet dependencies", unmetDependencies, nil, []string{
			"libudev1 : PreDepends: libc6 (>= 2.33)", "but it is not going to be installed", "needy : Depends: nosuch but it is not installable",
		}},
		{"a script that fails", brokenScript, nil, []string{
			"cannot start", "dpkg: error processing package broken (--configure): installed broken package post-installation script subprocess returned error exit status 3",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var o aptOutput
			feed(test.text, o.line)
			require.Equal(t, test.done, o.done)
			require.Equal(t, test.reasons, o.reasons)
		})
	}
}

func TestLockedOut(t *testing.T) {
	for _, test := range []struct {
		name, stdout, stderr, holder string
		ok                           bool
	}{
		{
			"after waiting", "Waiting for cache lock: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 189 (python3)...",
			"E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), is another process using it?\n", "process 189 (python3)", true,
		},
		{
			"of the lists", "Reading package lists...",
			"E: Could not get lock /var/lib/apt/lists/lock. It is held by process 202 (apt-get)\nE: Unable to lock directory /var/lib/apt/lists/\n", "process 202 (apt-get)", true,
		},
		{
			"before apt 1.9.11", "",
			"E: Could not get lock /var/lib/dpkg/lock-frontend - open (11: Resource temporarily unavailable)\n", "another process", true,
		},
		{
			"not root", "",
			"E: Could not open lock file /var/lib/dpkg/lock-frontend - open (13: Permission denied)\n" +
				"E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), are you root?\n", "another process", false,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var o aptOutput
			feed(test.stdout, o.line)
			holder, ok := o.lockedOut(test.stderr)
			require.Equal(t, test.ok, ok)
			require.Equal(t, test.holder, holder)
		})
	}
	require.Equal(t, "process 1 (systemd)", dnfHolder(dnfLockedOut))
	require.Equal(t, "process 7", dnfHolder("metadata already locked by 7\n"))
	require.Equal(t, "another process", dnfHolder(""))
}

func TestDnfOutput(t *testing.T) {
	var o dnfOutput
	feed(dnfTable, o.line)
	require.Equal(t, []consequence{{"tdep", "2:1.0-1"}, {"told-name", ""}, {"tdemo", "2.0-2"}, {"a-name-that-takes-more-than-its-column", "1.0-1"}, {"told", ""}, {"tneeds", ""}}, o.done)
	o = dnfOutput{}
	feed(dnfScript, o.line)
	require.Equal(t, dnfOutput{reasons: []string{`error: lua script failed: [string "%prein(e2e-broken-1.0-1.noarch)"]:1: cannot start`}}, o)
}

func TestRPMRow(t *testing.T) {
	for line, want := range map[string]rpmRow{
		"fleet-demo\t0\t1.0\t1\tnoarch": {"fleet-demo", "1.0-1", "noarch"},
		"tepoch\t2\t1.0\t1.el9\tx86_64": {"tepoch", "2:1.0-1.el9", "x86_64"},
		"gpg-pubkey\t\t1a\t2b\t":        {"gpg-pubkey", "1a-2b", ""},
	} {
		row, ok := parseRPMRow(line)
		require.True(t, ok, line)
		require.Equal(t, want, row)
	}
	for _, line := range []string{"", "package fleet-demo is not installed", "a\tb\tc"} {
		_, ok := parseRPMRow(line)
		require.False(t, ok, line)
	}
	require.Equal(t, []string{"2-1", "1-1"}, ownVersions([]rpmRow{{"a", "1-1", "x86_64"}, {"a", "2-1", "i686"}, {"b", "3-1", "i686"}, {"a", "2-1", "x86_64"}}, "a"))
}

func TestEVR(t *testing.T) {
	for text, want := range map[string]evr{
		"5.8":         {"", "5.8", ""},
		"5.8-1.el9":   {"", "5.8", "1.el9"},
		"1:5.8-1.el9": {"1", "5.8", "1.el9"},
		"1:5.8":       {"1", "5.8", ""},
	} {
		require.Equal(t, want, parseEVR(text))
		require.Equal(t, text, want.String())
	}
	for name, want := range map[string][2]string{
		"glibc":             {"glibc", ""},
		"glibc.i686":        {"glibc", "i686"},
		"python3.11":        {"python3.11", ""},
		"python3.11.x86_64": {"python3.11", "x86_64"},
	} {
		base, arch := splitArch(name)
		require.Equal(t, want, [2]string{base, arch}, name)
	}
	require.Equal(t, "glibc-2:2.34-1.i686", dnfSpec(item{name: "glibc.i686", version: "2:2.34-1"}))
	require.Equal(t, "glibc.i686", dnfSpec(item{name: "glibc.i686"}))
}

func TestFailure(t *testing.T) {
	exit := modules.Exit{Code: 100, Stderr: modules.Output{Text: "W: old\n\nE: one\nE: two\n  three   four\nE: five\nE: Sub-process /usr/bin/dpkg returned an error code (1)\nE: six\nE: 7\nE: 8\nE: 9\nE: 10\nE: 11\n"}}
	err := failure("apt-get install", exit, nil)
	require.EqualError(t, err, "apt-get install ended with exit code 100: one; two; five; six; 7; 8; 9; 10; 11")
	require.Equal(t, "the package manager ended with exit code 100", err.(modules.Redactor).Redacted())
	require.EqualError(t, failure("rpm", modules.Exit{Code: 2}, []string{"a"}), "rpm ended with exit code 2: a")
	exit.Stderr.Text = "Error: \n Problem: conflicting requests\n  - nothing provides nosuch\n"
	require.EqualError(t, failure("dnf", exit, nil), "dnf ended with exit code 100: Error:; Problem: conflicting requests; - nothing provides nosuch")
	require.EqualError(t, failure("rpm", modules.Exit{Code: 2}, nil), "rpm ended with exit code 2")
}

// TestDpkgWords finds each status word of dpkg, and its meaning for ensure, in the table of the type's details.
func TestDpkgWords(t *testing.T) {
	text, err := os.ReadFile("examples/details.md")
	require.NoError(t, err)
	rows := map[dpkgMeaning]string{
		gone:         "installs it | nothing to do |",
		whole:        "nothing to do | removes it |",
		unconfigured: "configures it | removes it |",
		torn:         "installs it again | removes it |",
	}
	for word, meaning := range dpkgWords {
		if word != "" {
			require.Regexp(t, "(?m)^\\| (`.*, )?`"+word+"`(, .*)? \\| "+regexp.QuoteMeta(rows[meaning])+"$", string(text))
		}
	}
	require.Contains(t, string(text), "| any with `reinstreq` | installs it again | refused |")
}
