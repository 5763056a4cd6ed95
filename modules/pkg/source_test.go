package pkg_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// deb returns the path, the bytes and the checksum of a package of the archive.
func (a *archive) deb(t testing.TB, name string) (path string, b []byte, checksum string) {
	path = filepath.Join(a.dir, "repo", name)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	sum := sha256.Sum256(b)
	return path, b, "sha256:" + hex.EncodeToString(sum[:])
}

func TestConvergesFromFiles(t *testing.T) {
	a := newArchive(t)
	a.fetched(t, time.Minute)
	path, _, checksum := a.deb(t, "demo_1.1_all.deb")
	of := func(name, status, properties string) modtest.Fixture {
		return modtest.Fixture{Name: name, Tree: dpkgTree(status), Properties: `{"root":"$ROOT","name":"demo","path":"` + path + `",` + properties + `}`}
	}
	changed := of("absent", "", `"checksum":"`+checksum+`"`)
	changed.Action, changed.Changes = "installed version 1.1", change("ensure", "absent", "1.1")
	newer := of("newer", has(ok, "demo", "2.0", ""), `"ensure":"1.1"`)
	newer.Action, newer.Changes = "downgraded to 1.1", change("version", "2.0", "1.1")
	other := of("another version", "", `"ensure":"1.2"`)
	other.Err = "the file holds version 1.1 of demo, and not 1.2"
	wrong := of("another checksum", "", `"checksum":"`+"sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"+`"`)
	wrong.Err = path + ` has the checksum "` + checksum[7:] + `", and not "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"`
	another := of("another package", "", `"name":"tool"`)
	another.Err = `the file holds the package "demo", and not "tool"`
	gone := modtest.Fixture{Name: "no file", Tree: dpkgTree(""), Properties: `{"root":"$ROOT","name":"demo","path":"/nowhere/demo.deb"}`, Err: "cannot read /nowhere/demo.deb: no such file on this host"}
	modtest.Converges(t, a.rooted(), changed, newer, other, wrong, another, gone,
		of("there, whatever is in the file", has(ok, "demo", "2.0", ""), `"ensure":"present"`))
}

// TestSource gets the file from the controller: from the start of the catalog, a file of the play and a URL.
func TestSource(t *testing.T) {
	a := newArchive(t)
	_, b, checksum := a.deb(t, "demo_1.1_all.deb")
	content := modules.BytesContent(b)
	src := modules.Source{
		File: func(_ context.Context, path string) (modules.Content, error) {
			require.Equal(t, "demo.deb", path)
			return content, nil
		},
		Download: func(_ context.Context, d modules.Download) (modules.Content, error) {
			require.Equal(t, modules.Download{URL: "https://example.net/demo.deb", SHA256: checksum[7:], MaxSize: 4 << 30}, d)
			return content, nil
		},
	}
	for _, test := range []struct{ status, properties, action, err string }{
		{"", `{"name":"demo","source":"demo.deb"}`, "installed", ""},
		{"", `{"name":"demo","ensure":"1.1","source":"https://example.net/demo.deb","checksum":"` + checksum + `"}`, "installed version 1.1", ""},
		{has(ok, "demo", "2.0", ""), `{"name":"demo","ensure":"1.1","source":"demo.deb"}`, "downgraded to 1.1", ""},
		{has(ok, "demo", "1.0", ""), `{"name":"demo","ensure":"> 1.0, < 2","source":"demo.deb","hold":true}`, "brought to > 1.0, < 2. put on hold", ""},
		{has(ok, "demo", "1.0", ""), `{"name":"demo","source":"demo.deb"}`, "", ""},
		{"", `{"name":"demo","ensure":"absent","source":"demo.deb"}`, "", ""},
		{"", `{"name":"demo","ensure":"2.0","source":"demo.deb"}`, "installed version 2.0", "the file holds version 1.1 of demo, and not 2.0"},
		{"", `{"name":"tool","source":"demo.deb"}`, "installed", `the file holds the package "demo", and not "tool"`},
	} {
		t.Run(test.properties, func(t *testing.T) {
			m := a.machine(t, test.status)
			m.Private = t.TempDir()
			res := m.decode(t, test.properties)
			require.NoError(t, res.(modules.Preparer).Prepare(t.Context(), src))
			require.NoError(t, res.Validate())
			plan, err := res.Check(t.Context(), modules.ReadOnly(m.Host))
			require.NoError(t, err)
			require.Equal(t, test.action, plan.Action)
			require.Equal(t, test.action != "", plan.MayFail, "nobody has seen the file")
			if test.action == "" {
				return
			}
			err = res.Apply(t.Context(), m.Host, plan)
			left, listed := os.ReadDir(m.Private)
			require.NoError(t, listed)
			require.Empty(t, left)
			if test.err != "" {
				require.EqualError(t, err, test.err)
				return
			}
			require.NoError(t, err)
			again, err := res.Check(t.Context(), modules.ReadOnly(m.Host))
			require.NoError(t, err)
			require.False(t, again.Pending(), again.Action)
		})
	}
}
