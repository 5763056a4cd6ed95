package pkg_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

// TestListsAreFetched uses hosts whose lists are young but useless.
func TestListsAreFetched(t *testing.T) {
	const fetches = "fetched the package lists and installed"
	for _, test := range []struct {
		name       string
		age        time.Duration
		change     func(t *testing.T, a *archive)
		properties string
		action     string
		err        string
	}{
		{"young", 30 * time.Minute, nil, `"name":"demo","cache_valid":"1h"`, "installed version 2.0", ""},
		{"none", 30 * time.Minute, loseLists, `"name":"demo","cache_valid":"1h"`, fetches, ""},
		{"a new source", 30 * time.Minute, func(t *testing.T, a *archive) { a.write(t, "parts/more.list", "") },
			`"name":"demo","cache_valid":"1h"`, fetches, ""},
		{"another source", 30 * time.Minute, func(t *testing.T, a *archive) { a.touch(t, "sources.list") },
			`"name":"demo","cache_valid":"1h"`, fetches, ""},
		{"a source is gone", 30 * time.Minute, func(t *testing.T, a *archive) { a.touch(t, "parts") },
			`"name":"demo","cache_valid":"1h"`, fetches, ""},
		{"always", 0, nil, `"name":"demo","cache_valid":"0s"`, fetches, ""},
		{"always, but it is there", 0, nil, `"name":"tool","cache_valid":"0s"`, "", ""},
		{"unknown", 30 * time.Minute, nil, `"name":"fresh","cache_valid":"1h"`, fetches, ""},
		{"an unknown version", 30 * time.Minute, nil, `"name":"demo","ensure":"3.0","cache_valid":"1h"`, fetches, ""},
		{"none, never fetched", 30 * time.Minute, loseLists, `"name":"demo"`, "",
			`package "demo" is in no package list: /var/lib/apt/lists is empty; set cache_valid: 1h to fetch the lists`},
		{"unknown, never fetched", 30 * time.Minute, nil, `"name":"fresh"`, "",
			`package "fresh" is in no package list (fetched 30 minutes ago); check the name, or set cache_valid: 1h to fetch new lists`},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := newArchive(t)
			a.fetched(t, test.age)
			if test.change != nil {
				test.change(t, a)
			}
			m := a.machine(t, has(ok, "tool", "1.0", ""))
			res := m.decode(t, "{"+test.properties+"}")
			plan, err := res.Check(t.Context(), modules.ReadOnly(m.Host))
			if test.err != "" {
				require.EqualError(t, err, test.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.action, plan.Action)
		})
	}
}

// TestListsAreFetchedOnce uses a repository that gets a package after its lists were fetched, and a name that no
// repository has.
func TestListsAreFetchedOnce(t *testing.T) {
	a := newArchive(t)
	a.fetched(t, 30*time.Minute)
	m := a.machine(t, "")
	var packages bytes.Buffer
	a.add(t, &packages, control{"fresh", "1.0", "", ""}, "all")
	a.write(t, "repo/Packages", packages.String())
	apply := func(properties string) error {
		res := m.decode(t, properties)
		plan, err := res.Check(t.Context(), modules.ReadOnly(m.Host))
		if err != nil {
			return err
		}
		if err := res.Apply(t.Context(), m.Host, plan); err != nil {
			return err
		}
		plan, err = res.Check(t.Context(), modules.ReadOnly(m.Host))
		require.NoError(t, err)
		require.Equal(t, modules.Plan{}, plan)
		return nil
	}
	require.NoError(t, apply(`{"name":"fresh","cache_valid":"1h"}`))
	require.NoError(t, apply(`{"name":"fresh","ensure":"latest","cache_valid":"0s"}`), "what has just been fetched is young enough")
	err := apply(`{"name":"nosuch","cache_valid":"1h"}`)
	require.Regexp(t, `^package "nosuch" is in no package list \(fetched \d+ seconds ago\); `+
		`check the name, and that one of its repositories is set up \(/etc/apt/sources\.list, /etc/apt/sources\.list\.d\)$`, err.Error())
}

// TestListsOfAPredictedSource uses a repository that an earlier resource would set up.
func TestListsOfAPredictedSource(t *testing.T) {
	a := newArchive(t)
	m := a.machine(t, "")
	h := modules.ReadOnly(m.Host)
	h.Forecast = changing("/etc/apt/sources.list")
	plan, err := m.decode(t, `{"name":"fresh","cache_valid":"1h"}`).Check(t.Context(), h)
	require.NoError(t, err)
	require.Equal(t, "fetched the package lists and installed", plan.Action)
}

// changing is a forecast in which one file changes.
type changing string

func (c changing) Lookup(kind modules.EffectKind, key string) (any, bool) {
	return nil, kind == modules.PathEffect && key == string(c)
}

// loseLists removes the lists, as builders of images do.
func loseLists(t *testing.T, a *archive) {
	t.Helper()
	dir := filepath.Join(a.dir, "lists")
	info, err := os.Stat(dir)
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(dir, "*_*"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		require.NoError(t, os.Remove(f))
	}
	require.NoError(t, os.Chtimes(dir, info.ModTime(), info.ModTime()))
}

func (a *archive) touch(t *testing.T, name string) {
	t.Helper()
	now := time.Now()
	require.NoError(t, os.Chtimes(filepath.Join(a.dir, name), now, now))
}
