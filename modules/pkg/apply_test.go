package pkg_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/pkg"
)

// said collects the messages of a resource.
type said struct{ lines []string }

func (s *said) Message(level, text string) { s.lines = append(s.lines, level+": "+text) }
func (s *said) Output(modules.Exit)        {}
func (s *said) State(modules.State)        {}

// A machine is a host of an archive that packages are applied on.
type machine struct {
	modules.Host
	root string
	said
}

func (a *archive) machine(t *testing.T, status string) *machine {
	m := &machine{root: modtest.Root(t)}
	modtest.Build(t, m.root, dpkgTree(status))
	m.Host = a.host(m.root)
	m.Report = &m.said
	return m
}

func (m *machine) decode(t *testing.T, properties string) modules.Resource {
	t.Helper()
	return modtest.Decode(t, modules.Registry{pkg.Type()}, "package", properties, m.root)
}

func TestApplyWaitsForTheLock(t *testing.T) {
	m := newArchive(t).machine(t, "")
	lock, err := os.OpenFile(filepath.Join(m.root, "var/lib/dpkg/lock-frontend"), os.O_CREATE|os.O_RDWR, 0o640)
	require.NoError(t, err)
	defer lock.Close()
	require.NoError(t, syscall.FcntlFlock(lock.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK}))
	res := m.decode(t, `{"name":"demo","lock_timeout":"1s"}`)
	plan, err := res.Check(t.Context(), modules.ReadOnly(m.Host))
	require.NoError(t, err, "looking takes no lock")
	err = res.Apply(t.Context(), m.Host, plan)
	require.ErrorContains(t, err, "the package database is in use by process ")
	comm, readErr := os.ReadFile("/proc/self/comm") // a test binary may have any name
	require.NoError(t, readErr)
	require.ErrorContains(t, err, " ("+strings.TrimSpace(string(comm))+"), and was not free within 1s")

	require.NoError(t, lock.Close())
	require.NoError(t, res.Apply(t.Context(), m.Host, plan))
}

// TestFetchWaitsForTheLock: apt-get itself does not wait for the lock of its lists.
func TestFetchWaitsForTheLock(t *testing.T) {
	a := newArchive(t)
	m := a.machine(t, "")
	a.fetched(t, 2*time.Hour)
	lock, err := os.OpenFile(filepath.Join(a.dir, "lists/lock"), os.O_CREATE|os.O_RDWR, 0o640)
	require.NoError(t, err)
	defer lock.Close()
	require.NoError(t, syscall.FcntlFlock(lock.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK}))
	counter := &counting{Commands: m.Commands, after: func(n int) {
		if n == 2 {
			lock.Close()
		}
	}}
	m.Commands = counter
	res := m.decode(t, `{"name":"demo","cache_valid":"1h","lock_timeout":"5m"}`)
	plan, err := res.Check(t.Context(), modules.ReadOnly(m.Host))
	require.NoError(t, err)
	require.NoError(t, res.Apply(t.Context(), m.Host, plan))
	require.GreaterOrEqual(t, counter.transactions, 4, "two in vain, the lists, their time, and the package")
}

// TestApplyInSpiteOfOthers uses a host with a package that fails in every transaction.
func TestApplyInSpiteOfOthers(t *testing.T) {
	m := newArchive(t).machine(t, "")
	apply := func(properties string) error {
		res := m.decode(t, properties)
		plan, err := res.Check(t.Context(), modules.ReadOnly(m.Host))
		require.NoError(t, err)
		require.True(t, plan.Pending())
		return res.Apply(t.Context(), m.Host, plan)
	}
	const why = "apt-get install ended with exit code 100: cannot start; dpkg: error processing package broken (--configure): " +
		"installed broken package post-installation script subprocess returned error exit status 3"
	require.EqualError(t, apply(`{"name":"broken"}`), why)
	require.NoError(t, apply(`{"name":"demo"}`))
	require.Equal(t, []string{"warning: this package has the desired state, but: " + why}, m.lines)
	require.EqualError(t, apply(`{"name":"broken","ensure":"latest"}`), why)
	require.NoError(t, apply(`{"name":"broken","ensure":"absent"}`))
}

func TestCheckSaysWhatElseGoes(t *testing.T) {
	m := newArchive(t).machine(t, has(ok, "left", "1.0", "Conflicts: right\n")+has(ok, "demo", "1.0", "")+has(ok, "needs-demo", "1.0", "Depends: demo\n"))
	for properties, want := range map[string]string{
		`{"name":"right"}`:                  "warning: this removes also: left",
		`{"name":"demo","ensure":"absent"}`: "warning: this removes also: needs-demo",
	} {
		h := modules.ReadOnly(m.Host)
		heard := new(said)
		h.Report = heard
		_, err := m.decode(t, properties).Check(t.Context(), h)
		require.NoError(t, err)
		require.Equal(t, []string{want}, heard.lines)
	}
}

// TestCacheValid uses old lists, and a repository with more packages than they contain.
func TestCacheValid(t *testing.T) {
	a := newArchive(t)
	m := a.machine(t, has(ok, "demo", "2.0", ""))
	a.fetched(t, 2*time.Hour)
	var packages bytes.Buffer
	a.add(t, &packages, control{"demo", "3.0", "", ""}, "all")
	a.add(t, &packages, control{"fresh", "1.0", "", ""}, "all")
	a.write(t, "repo/Packages", packages.String())

	look := func(properties string) (modules.Resource, modules.Plan) {
		res := m.decode(t, properties)
		plan, err := res.Check(t.Context(), modules.ReadOnly(m.Host))
		require.NoError(t, err)
		return res, plan
	}
	for _, stable := range []string{
		`{"name":"demo","ensure":"latest"}`,
		`{"name":"demo","ensure":"latest","cache_valid":"3h"}`,
		`{"name":"demo","cache_valid":"1h"}`,
		`{"name":"demo","ensure":"2.0","cache_valid":"1h"}`,
		`{"name":"fresh","ensure":"absent","cache_valid":"1h"}`,
	} {
		_, plan := look(stable)
		require.Equal(t, modules.Plan{}, plan, stable)
	}

	_, install := look(`{"name":"fresh","cache_valid":"1h"}`)
	require.Equal(t, "fetched the package lists and installed", install.Action)
	require.Equal(t, append(change("cache", "outdated", "valid"), change("ensure", "absent", "present")...), install.Changes)
	res, plan := look(`{"name":"demo","ensure":"latest","cache_valid":"1h"}`)
	require.Equal(t, "fetched the package lists and looked for the version", plan.Action)
	require.Equal(t, change("cache", "outdated", "valid"), plan.Changes)
	require.NoError(t, res.Apply(t.Context(), m.Host, plan))
	require.Equal(t, []string{"info: demo: upgraded to 3.0"}, m.lines)
	_, plan = look(`{"name":"demo","ensure":"latest","cache_valid":"1h"}`)
	require.Equal(t, modules.Plan{}, plan)

	a.fetched(t, 2*time.Hour)
	res, plan = look(`{"name":"demo","ensure":"latest","cache_valid":"1h"}`)
	require.True(t, plan.Pending())
	require.NoError(t, res.Apply(t.Context(), m.Host, plan), "nothing is newer")
	require.Len(t, m.lines, 1)
	_, plan = look(`{"name":"demo","ensure":"latest","cache_valid":"1h"}`)
	require.Equal(t, modules.Plan{}, plan)
}

// TestCheckFindsRefusals requests changes that an ordinary user may not make.
func TestCheckFindsRefusals(t *testing.T) { modtest.AsOrdinaryUser(t, checkFindsRefusals) }

func checkFindsRefusals(t *testing.T) {
	m := newArchive(t).machine(t, "")
	require.NoError(t, os.Chmod(filepath.Join(m.root, "var/lib/dpkg"), 0o555))
	_, err := m.decode(t, `{"name":"demo"}`).Check(t.Context(), modules.ReadOnly(m.Host))
	require.ErrorContains(t, err, "may not write in")
	require.True(t, strings.HasSuffix(err.Error(), `/var/lib/dpkg"; use "become"`), err)
}

func TestNoManager(t *testing.T) {
	h := modules.ReadOnly(host())
	h.Files.FileReader = nothing{h.Files.FileReader}
	for properties, want := range map[string]string{
		`{"name":"a"}`:                     "no package manager is found: none of apt-get, dnf5, dnf, zypper, yum, apk and pacman is in " + modules.DefaultPath,
		`{"name":"a","provider":"apt"}`:    "provider apt needs apt-get and dpkg-query in " + modules.DefaultPath,
		`{"name":"a","provider":"dnf"}`:    "provider dnf needs rpm and one of dnf5, dnf and yum in " + modules.DefaultPath,
		`{"name":"a","provider":"zypper"}`: "provider zypper needs zypper and rpm in " + modules.DefaultPath,
		`{"name":"a","provider":"apk"}`:    "provider apk needs apk in " + modules.DefaultPath,
		`{"name":"a","provider":"pacman"}`: "provider pacman needs pacman and pacman-conf in " + modules.DefaultPath,
	} {
		res := modtest.Decode(t, modules.Registry{pkg.Type()}, "package", properties, "/")
		_, err := res.Check(t.Context(), h)
		require.EqualError(t, err, want)
	}
}

// nothing has no files.
type nothing struct{ modules.FileReader }

func (nothing) Stat(path string) (modules.FileInfo, error) {
	return modules.FileInfo{}, &os.PathError{Op: "lstat", Path: path, Err: os.ErrNotExist}
}
