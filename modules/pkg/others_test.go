package pkg

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

// Output of zypper 1.14.42 and pacman 6.0.2. The output of apk is written after its sources (apk-tools 2.14 and 3), not
// recorded.
const (
	zypperSearch = `<?xml version='1.0'?>
<stream>
<message type="info">Loading repository data...</message>
<search-result version="0.0">
<solvable-list>
<solvable status="installed" name="demo" kind="package" edition="3.0-1" arch="noarch" repository="(System Packages)"/>
<solvable status="other-version" name="demo" kind="package" edition="2:1.1-1" arch="x86_64" repository="e2e"/>
</solvable-list>
</search-result>
</stream>
`
	zypperSummary = `<install-summary download-size="6049" space-usage-diff="0" packages-to-change="3">
<to-upgrade>
<solvable type="package" name="demo" edition="2.0-1" arch="noarch" edition-old="1.0-1" arch-old="noarch" summary="test">
<description>Problem: none, this is what a package says</description></solvable>
</to-upgrade>
<to-remove>
<solvable type="package" name="left" edition="1.0-1" arch="noarch" summary="test">
<description>test</description></solvable>
</to-remove>
</install-summary>
`
	zypperProblem = `<prompt id="1">
<description>Problem: nothing provides nosuch needed by needy-1.0-1.noarch
 Solution 1: do not install needy-1.0-1.noarch
 Solution 2: break needy-1.0-1.noarch by ignoring some of its dependencies
</description>
<text>Choose from above solutions by number or cancel</text>
</prompt>
<message type="error">No provider of &apos;a&lt;b&apos; found.</message>
`
	zypperLock = `<message type="error">System management is locked by the application with pid 7 (zypper).
Close this application before trying again.</message>
`
	zypperInformation = `
Information for package demo:
-----------------------------
Repository     : e2e
Version        : 2:2.0-1
Description    :
    Version    : 9

package 'nosuch' not found.
`
	pacmanSynced = `Repository      : testing
Name            : demo
Version         : 3.0-1
Description     : a demo

Repository      : extra
Name            : demo
Version         : 1:2.0-1

Repository      : extra
Name            : other
Version         : 1.0-1
`
	apkPolicies = `demo policy:
  1.0-r0:
    lib/apk/db/installed
    https://dl-cdn.alpinelinux.org/alpine/v3.20/main
  1.1-r0:
    https://dl-cdn.alpinelinux.org/alpine/v3.20/main
  2.0-r0:
    @edge https://dl-cdn.alpinelinux.org/alpine/edge/main
own policy:
  1.0-r0:
    usr/lib/apk/db/installed
`
	apkSimulation = `(1/4) Purging left (1.0-r0)
(2/4) Upgrading demo (1.0-r0 -> 1.1-r0)
(3/4) Installing libx@edge (3.0-r1)
(4/4) Reinstalling same (1.0-r0)
OK: 7 MiB in 15 packages
`
	apkRefusal = `  nosuch (no such package):
    required by: world[nosuch]
`
	apkStays = `World updated, but the following packages are not removed due to:
  demo: needs-demo

OK: 7 MiB in 15 packages
`
)

func TestZypperOutput(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       zypperOutput
	}{
		{"a search", zypperSearch, zypperOutput{rows: []rpmRow{{"demo", "2:1.1-1", "x86_64"}}}},
		{"a summary", zypperSummary, zypperOutput{done: []consequence{{"demo", "2.0-1"}, {"left", ""}}}},
		{"a problem", zypperProblem, zypperOutput{reasons: []string{
			"Problem: nothing provides nosuch needed by needy-1.0-1.noarch", "No provider of 'a<b' found.",
		}}},
		{"a lock", zypperLock, zypperOutput{reasons: []string{
			"System management is locked by the application with pid 7 (zypper).", "Close this application before trying again.",
		}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var o zypperOutput
			feed(test.text, o.line)
			require.Equal(t, test.want, o)
		})
	}
	require.Equal(t, "process 7 (zypper)", zypperHolder(zypperLock))
	require.Equal(t, "another process", zypperHolder(""))
	info := zypperInfo{versions: map[string]string{}}
	feed(zypperInformation, info.line)
	require.Equal(t, map[string]string{"demo": "2:2.0-1"}, info.versions)
	for code, want := range map[int]bool{0: true, 102: true, 106: true, 4: false, 7: false, 104: false, 107: false} {
		require.Equal(t, want, zypperFine(code), code)
	}
}

func TestPacmanOutput(t *testing.T) {
	var info pacmanInfo
	feed(pacmanSynced, info.line)
	require.Equal(t, []source{{version: "3.0-1", repository: "testing"}, {version: "1:2.0-1", repository: "extra"}}, info.sources("demo"))
	s, ok := pick(info.sources("demo"), "1:2.0")
	require.True(t, ok)
	require.Equal(t, "extra/demo", s.target("demo"))
	_, ok = pick(info.sources("demo"), "2.0")
	require.False(t, ok)
	for file, want := range map[string]string{
		"demo-1:2.0-1-any.pkg.tar.zst":        "1:2.0-1",
		"demo-2.0-1.1-x86_64.pkg.tar":         "2.0-1.1",
		"demo-2.0-1-any.pkg.tar.zst.sig":      "",
		"demo-2.0-1-any.pkg.tar.zst.part":     "",
		"demo-more-2.0-1-any.pkg.tar.zst":     "",
		"demon-2.0-1-any.pkg.tar.zst":         "",
		"demo-2.0-any.pkg.tar.zst":            "",
		"demo--1-any.pkg.tar.zst":             "",
		"demo-2.0-1-any.tar.zst":              "",
		"download-demo-2.0-1-any.pkg.tar.zst": "",
	} {
		version, ok := cachedVersion(file, "demo")
		require.Equal(t, want, version, file)
		require.Equal(t, want != "", ok, file)
	}
	for line, want := range map[string]consequence{
		"demo\t2.0-1": {"demo", "2.0-1"}, "loading packages...": {}, ":: there\tare conflicts": {}, "demo\t": {}, "": {},
	} {
		c, ok := pacmanConsequence(line, install)
		require.Equal(t, want, c, line)
		require.Equal(t, want != consequence{}, ok, line)
	}
	c, _ := pacmanConsequence("demo\t2.0-1", remove)
	require.Equal(t, consequence{"demo", ""}, c)
}

func TestApkOutput(t *testing.T) {
	p := apkPolicy{versions: map[string][]apkVersion{}}
	feed(apkPolicies, p.line)
	require.Equal(t, []apkVersion{
		{version: "1.0-r0", installed: true, available: true}, {version: "1.1-r0", available: true}, {version: "2.0-r0"},
	}, p.versions["demo"])
	require.Equal(t, []string{"1.0-r0", "1.1-r0"}, p.available("demo"))
	require.Empty(t, p.available("own"))
	require.Equal(t, []apkVersion{{version: "1.0-r0", installed: true}}, p.versions["own"])
	for _, test := range []struct {
		text    string
		done    []consequence
		reasons []string
	}{
		{apkSimulation, []consequence{{"left", ""}, {"demo", "1.1-r0"}, {"libx", "3.0-r1"}}, nil},
		{apkRefusal, nil, []string{"nosuch (no such package):", "required by: world[nosuch]"}},
		{apkStays, nil, []string{"demo: needs-demo"}},
	} {
		var o apkOutput
		feed(test.text, o.line)
		require.Equal(t, test.done, o.done)
		require.Equal(t, test.reasons, o.reasons)
	}
	require.True(t, apkLocked().MatchString("ERROR: Unable to lock database: Resource temporarily unavailable"))
	require.True(t, apkLocked().MatchString("ERROR: Unable to lock database: temporary error (try again later)"))
	require.False(t, apkLocked().MatchString("ERROR: Unable to lock database: Permission denied"))
}

func FuzzOthersOutput(f *testing.F) {
	for _, text := range []string{
		zypperSearch, zypperSummary, zypperProblem, zypperLock, zypperInformation, pacmanSynced, apkPolicies, apkSimulation, apkRefusal, apkStays,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var z zypperOutput
		var a apkOutput
		var s pacmanInfo
		info := zypperInfo{versions: map[string]string{}}
		p := apkPolicy{versions: map[string][]apkVersion{}}
		for _, line := range []func(string){z.line, a.line, s.line, info.line, p.line} {
			feed(text, line)
		}
		require.LessOrEqual(t, len(z.reasons), maxReasons)
		require.LessOrEqual(t, len(a.reasons), maxReasons)
		for _, c := range append(z.done, a.done...) {
			require.NotEmpty(t, c.name)
			require.NotContains(t, c.name, " ")
		}
		for _, found := range s.found {
			require.NotContains(t, found.target(found.name)[:len(found.repository)], "/")
		}
		for _, version := range info.versions {
			require.Contains(t, text, version)
		}
		zypperHolder(text)
		cachedVersion(text, "demo")
	})
}

// programs is a host that has these programs, and nothing else.
type programs []string

func (p programs) Stat(name string) (modules.FileInfo, error) {
	if path.Dir(name) == "/usr/bin" && slices.Contains(p, path.Base(name)) {
		return modules.FileInfo{Kind: modules.Regular}, nil
	}
	if strings.HasPrefix("/usr/bin/", name) {
		return modules.FileInfo{Kind: modules.Directory}, nil
	}
	return modules.FileInfo{}, &fs.PathError{Op: "lstat", Path: name, Err: fs.ErrNotExist}
}

func TestWhichManager(t *testing.T) {
	for _, test := range []struct {
		has      programs
		provider string
		want     string // expected commands, or the error
	}{
		{programs{"apt-get", "dpkg-query", "dnf", "rpm", "zypper"}, "", "apt-get"},
		{programs{"apt-get", "dpkg-query", "dnf", "rpm", "zypper"}, "dnf", "dnf"},
		{programs{"apt-get", "dpkg-query", "dnf", "rpm", "zypper"}, "zypper", "zypper"},
		{programs{"dnf5", "dnf", "yum", "rpm"}, "", "dnf5"},
		{programs{"dnf", "yum", "rpm"}, "", "dnf"},
		{programs{"yum", "rpm"}, "", "yum"},
		{programs{"yum", "zypper", "rpm"}, "", "zypper"},
		{programs{"yum", "zypper", "rpm"}, "dnf", "yum"},
		{programs{"apk"}, "", "apk"},
		{programs{"pacman", "pacman-conf"}, "", "pacman"},
		{programs{"dnf"}, "", "no package manager is found: none of apt-get, dnf5, dnf, zypper, yum, apk and pacman is in " + modules.DefaultPath},
		{programs{"apk"}, "pacman", "provider pacman needs pacman and pacman-conf in " + modules.DefaultPath},
	} {
		m, err := (&Package{Provider: test.provider}).manager(modules.Host{Files: modules.Files{FileReader: test.has}})
		if err != nil {
			require.EqualError(t, err, test.want)
			continue
		}
		var a *access
		switch m := m.(type) {
		case apt:
			a = m.access
		case dnf:
			a = m.access
		case zypper:
			a = m.access
		case apk:
			a = m.access
		case pacman:
			a = m.access
		}
		require.Equal(t, test.want, a.program, "%v", test)
	}
}

func (programs) Digest(string) (string, error)      { panic("not asked for") }
func (programs) Open(string) (io.ReadCloser, error) { panic("not asked for") }
func (programs) List(string) ([]string, error)      { panic("not asked for") }
func (programs) ModTime(string) (time.Time, error)  { panic("not asked for") }

// A dialogue contains the expected commands, and their answers.
type dialogue struct {
	t    *testing.T
	says map[string]modules.Exit // answers by command line
	ran  []string
}

func (d *dialogue) Probe(_ context.Context, c modules.Command) (modules.Exit, error) {
	line := strings.Join(c.Argv, " ")
	exit, ok := d.says[line]
	require.True(d.t, ok, "unexpected: %s", line)
	d.ran = append(d.ran, line)
	if c.OnLine != nil {
		feed(exit.Stdout.Text, c.OnLine)
	}
	return exit, nil
}

func (d *dialogue) Run(ctx context.Context, c modules.Command) (modules.Exit, error) {
	return d.Probe(ctx, c)
}

func says(text string) modules.Exit { return modules.Exit{Stdout: modules.Output{Text: text}} }

// TestApkCommands checks the commands of apk against its manual, without an apk to run.
func TestApkCommands(t *testing.T) {
	d := &dialogue{t: t, says: map[string]modules.Exit{
		"apk policy demo":            says(apkPolicies),
		"apk policy demo own":        says(apkPolicies),
		"apk policy nosuch":          says(""),
		"apk policy mta":             says(""),
		"date -r /var/cache/apk +%s": says("1000000000\n"),
		"date +%s":                   says("1000007200\n"),
		"find -L /var/cache/apk -mindepth 1 -maxdepth 1 -name APKINDEX*": says("/var/cache/apk/APKINDEX.1.tar.gz\n"),
		"apk version -t 1.0-r0 1.1-r0":                                   says("<\n"),
		"apk version -t x 1.1-r0":                                        says("?\n"),
		"apk info -e mta":                                                says("mta-a\n"),
		"apk add --simulate --no-progress mta":                           says("OK: 7 MiB in 15 packages\n"),
		"apk add --simulate --no-progress nosuch":                        {Code: 1, Stdout: modules.Output{Text: apkRefusal}},
		"apk add --upgrade --no-progress --simulate demo":                says(apkSimulation),
		"apk add --upgrade --no-progress demo own=1.0-r0":                says(apkSimulation),
		"apk del --no-progress --simulate demo":                          says(apkStays),
		"apk del --no-progress demo":                                     {Code: 99, Stderr: modules.Output{Text: "ERROR: Unable to lock database: Resource temporarily unavailable\n"}},
	}}
	a := apk{&access{Commands: d}}
	state, err := a.installed(t.Context(), "demo")
	require.NoError(t, err)
	require.Equal(t, State{Installed: true, Version: "1.0-r0"}, state)
	states, offers := map[string]State{}, map[string]string{}
	require.NoError(t, a.survey(t.Context(), []string{"demo", "own"}, states))
	require.Equal(t, map[string]State{"demo": {Installed: true, Version: "1.0-r0"}, "own": {Installed: true, Version: "1.0-r0"}}, states)
	require.NoError(t, a.offers(t.Context(), []string{"demo", "own"}, offers))
	require.Equal(t, map[string]string{"demo": "1.1-r0"}, offers)

	for _, test := range []struct{ name, version, want, err string }{
		{"demo", "", "1.1-r0", ""},
		{"demo", "1.0-r0", "1.0-r0", ""},
		{"demo", "9", "", `version 9 of "demo" is not available; available: 1.1-r0, 1.0-r0`},
		{"mta", "", "", ""},
		{"mta", "1", "", `no version of "mta" is available, so not 1`},
		{"nosuch", "", "", `package "nosuch" is in no package list (fetched 2 hours ago); check the name, or set cache_valid: 1h to fetch new lists`},
	} {
		version, err := a.offer(t.Context(), test.name, test.version)
		require.Equal(t, test.want, version)
		if test.err == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, test.err)
		}
	}
	provider, err := a.provider(t.Context(), "mta")
	require.NoError(t, err)
	require.Equal(t, "mta-a", provider)
	_, err = a.order(t.Context(), "x", "1.1-r0")
	require.EqualError(t, err, `apk cannot compare the versions "x" and "1.1-r0"`)

	done, err := a.rehearse(t.Context(), transaction{verb: install, items: []item{{name: "demo", version: "1.1-r0"}}})
	require.NoError(t, err)
	require.Len(t, done, 3)
	_, err = a.rehearse(t.Context(), transaction{verb: remove, items: []item{{name: "demo"}}})
	require.EqualError(t, err, "apk del --no-progress --simulate demo ended with exit code 0: demo: needs-demo")
	require.NoError(t, a.carryOut(t.Context(), transaction{verb: install, items: []item{{name: "demo", version: "1.1-r0"}, {name: "own", version: "1.0-r0", pinned: true}}}))
	require.EqualError(t, a.carryOut(t.Context(), transaction{verb: remove, items: []item{{name: "demo"}}}),
		"the package database is in use by another process, and was not free within 0s")
}

// TestOtherUpgrades checks the upgrade commands of other managers against their manuals.
func TestOtherUpgrades(t *testing.T) {
	const removes = `<install-summary>
<to-remove>
<solvable type="package" name="left" edition="1.0-1" arch="noarch" summary="test">
</to-remove>
`
	const rows = "demo\t0\t1.0\t1\tnoarch\n"
	for _, test := range []struct {
		name, program string
		by            Upgrader
		says          map[string]modules.Exit
		changes       string
		err           string
	}{
		{"dnf 4", "dnf", Upgrader{Security: true}, map[string]modules.Exit{
			"dnf --setopt=exit_on_lock=True --assumeno --setopt=obsoletes=False upgrade-minimal --security": says("Upgrading:\n demo noarch 1.1-1 e2e 6 k\n"),
			"rpm -q --qf RPM -- demo": says(rows),
		}, "[{demo 1.0-1 1.1-1}]", ""},
		{"dnf 5", "dnf5", Upgrader{Security: true}, map[string]modules.Exit{
			"dnf5 --assumeno --setopt=obsoletes=False upgrade --minimal --security": says("Upgrading:\n demo noarch 0:1.1-1 e2e 6 KiB\n   replacing demo noarch 0:1.0-1 e2e 6 KiB\n"),
			"rpm -q --qf RPM -- demo": says(rows),
		}, "[{demo 1.0-1 0:1.1-1}]", ""},
		{"all of dnf", "dnf", Upgrader{Removals: true}, map[string]modules.Exit{
			"dnf --setopt=exit_on_lock=True --assumeno upgrade": {Code: 1, Stderr: modules.Output{Text: "Error: no\n"}},
		}, "", "dnf upgrade ended with exit code 1: Error: no"},
		{"patches of zypper", "zypper", Upgrader{Security: true}, map[string]modules.Exit{
			"zypper --non-interactive --xmlout patch --category security --auto-agree-with-licenses --dry-run": says(zypperSummary),
			"rpm -q --qf RPM -- demo left": says(rows + "left\t0\t1.0\t1\tnoarch\n"),
		}, "", "this would remove left; to let it, write removals: true"},
		{"all of zypper", "zypper", Upgrader{Removals: true}, map[string]modules.Exit{
			"zypper --non-interactive --xmlout update --auto-agree-with-licenses --dry-run": says(removes),
			"rpm -q --qf RPM -- left": says("left\t0\t1.0\t1\tnoarch\n"),
		}, "[{left 1.0-1 absent}]", ""},
		{"all of apk", "apk", Upgrader{Removals: true}, map[string]modules.Exit{
			"apk upgrade --no-progress --simulate": says("(1/1) Upgrading demo (1.0-r0 -> 1.1-r0)\nOK: 7 MiB in 15 packages\n"),
			"apk policy demo":                      says(apkPolicies),
		}, "[{demo 1.0-r0 1.1-r0}]", ""},
		{"security of apk", "apk", Upgrader{Security: true}, nil, "", "apk cannot select security updates; upgrade all"},
		{"security of pacman", "pacman", Upgrader{Security: true}, nil, "", "pacman cannot select security updates; upgrade all"},
		{"all of pacman", "pacman", Upgrader{}, map[string]modules.Exit{
			"pacman --noconfirm --print --print-format %n\t%v -Su": says("demo\t2.0-1\n"),
			"pacman -Q -- demo":     says("demo 1.0-1\n"),
			"pacman-conf IgnorePkg": says(""),
		}, "[{demo 1.0-1 2.0-1}]", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			known := map[string]modules.Exit{}
			for line, exit := range test.says {
				known[strings.ReplaceAll(line, "RPM", rpmFormat)] = exit
			}
			var m manager
			for _, tool := range tools {
				if tool.program == test.program {
					m = tool.make(&access{Commands: &dialogue{t: t, says: known}, program: test.program})
				}
			}
			_, changes, err := test.by.look(t.Context(), modules.Host{}, m, m.(upgrader))
			if test.err != "" {
				require.EqualError(t, err, test.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.changes, fmt.Sprint(changes))
		})
	}
}
