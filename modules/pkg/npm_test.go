package pkg_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/pkg"
)

// npmRegistry is a registry that has @e2e/demo in some versions.
func npmRegistry(t *testing.T) string {
	t.Helper()
	tarball := func(version string) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		w := tar.NewWriter(z)
		text := fmt.Sprintf(`{"name":"@e2e/demo","version":%q}`, version)
		require.NoError(t, w.WriteHeader(&tar.Header{Name: "package/package.json", Mode: 0o644, Size: int64(len(text))}))
		_, err := w.Write([]byte(text))
		require.NoError(t, err)
		require.NoError(t, w.Close())
		require.NoError(t, z.Close())
		return b.Bytes()
	}
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if version, ok := strings.CutPrefix(r.URL.Path, "/files/"); ok {
			_, _ = w.Write(tarball(version))
			return
		}
		if !strings.HasPrefix(strings.ToLower(r.URL.EscapedPath()), "/@e2e%2fdemo") {
			http.NotFound(w, r)
			return
		}
		versions := map[string]any{}
		for _, v := range []string{"1.0.0", "1.1.0", "2.0.0", "2.1.0-rc.1"} {
			sum := sha512.Sum512(tarball(v))
			versions[v] = map[string]any{"name": "@e2e/demo", "version": v, "dist": map[string]string{
				"tarball": server.URL + "/files/" + v, "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:]),
			}}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"name": "@e2e/demo", "dist-tags": map[string]string{"latest": "2.0.0"}, "versions": versions})
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// prefixed are commands for which npm keeps global packages below a directory of the test, and trusts no configuration.
type prefixed struct {
	modules.Commands
	root string
}

func (p prefixed) command(c modules.Command) modules.Command {
	c.Env = append(slices.Clone(c.Env), "npm_config_prefix="+p.root, "npm_config_cache="+p.root+"/cache", "npm_config_userconfig="+p.root+"/none")
	return c
}

func (p prefixed) Probe(ctx context.Context, c modules.Command) (modules.Exit, error) {
	return p.Commands.Probe(ctx, p.command(c))
}

func (p prefixed) Run(ctx context.Context, c modules.Command) (modules.Exit, error) {
	return p.Commands.Run(ctx, p.command(c))
}

// TestNPM runs the real npm, for a project and globally, with a registry of this test.
func TestNPM(t *testing.T) {
	needs.Extra(t, "/usr/bin/npm")
	registry, root := npmRegistry(t), t.TempDir()
	h := modtest.Host()
	h.Commands = prefixed{h.Commands, root}
	for _, where := range []string{`"directory":"` + root + `/app",`, ""} {
		of := func(properties string) *pkg.Package {
			return modtest.Decode(t, modules.Registry{pkg.Type()}, "package",
				`{"name":"@e2e/demo","provider":"npm",`+where+`"index":"`+registry+`",`+properties+`}`, "").(*pkg.Package)
		}
		steps := []struct {
			properties, action string
			changes            []modules.Change
			back               string // ensure of the reversal
		}{
			{`"ensure":">= 1.0.0, < 2"`, "installed version 1.1.0", change("ensure", "absent", "1.1.0"), "absent"},
			{`"ensure":"1.1.0"`, "", nil, ""},
			{`"ensure":"latest"`, "upgraded to 2.0.0", change("version", "1.1.0", "2.0.0"), "1.1.0"},
			{`"ensure":"1.0.0"`, "downgraded to 1.0.0", change("version", "2.0.0", "1.0.0"), "2.0.0"},
			{`"ensure":"absent"`, "uninstalled", change("ensure", "1.0.0", "absent"), "1.0.0"},
		}
		if where == "" || testing.Short() { // npm takes its time
			steps = append(steps[:1], steps[2])
		}
		for _, step := range steps {
			p := of(step.properties)
			plan, err := p.Check(t.Context(), modules.ReadOnly(h))
			require.NoError(t, err, step.properties)
			require.Equal(t, step.action, plan.Action)
			require.Equal(t, step.changes, plan.Changes)
			require.Equal(t, step.back == "absent", plan.MayFail, "only before the directory is there npm tries nothing out")
			if step.action == "" {
				continue
			}
			back, err := p.Reversal(t.Context(), modules.ReadOnly(h), nil)
			require.NoError(t, err)
			require.Equal(t, step.back, back["ensure"])
			require.NoError(t, p.Apply(t.Context(), h, plan))
			plan, err = p.Check(t.Context(), modules.ReadOnly(h))
			require.NoError(t, err)
			require.False(t, plan.Pending(), "%+v", plan)
		}
		_, err := of(`"ensure":"3.0.0"`).Check(t.Context(), modules.ReadOnly(h))
		require.EqualError(t, err, `version 3.0.0 of "@e2e/demo" is not available; available: 2.1.0-rc.1, 2.0.0, 1.1.0, 1.0.0`)
		p := of(`"ensure":"present"`)
		p.Name = "e2e-none"
		_, err = p.Check(t.Context(), modules.ReadOnly(h))
		require.EqualError(t, err, `the registry of npm has no package "e2e-none"`)
	}
}

// below are the files of a host, stored below a directory of this one.
type below struct {
	modules.FileReader
	modules.FileRights
	root string
}

func (b below) Stat(path string) (modules.FileInfo, error) { return b.FileReader.Stat(b.root + path) }

func (b below) MayReplace(path string) error { return b.FileRights.MayReplace(b.root + path) }

// recorded are commands that print recorded output of npm, by the arguments of npm.
type recorded map[string]modules.Exit

func (r recorded) Probe(_ context.Context, c modules.Command) (modules.Exit, error) {
	exit, ok := r[strings.Join(c.Argv[1:], " ")]
	if !ok {
		return modules.Exit{}, fmt.Errorf("nobody has recorded npm %q", c.Argv[1:])
	}
	return exit, nil
}

func (r recorded) Run(ctx context.Context, c modules.Command) (modules.Exit, error) {
	return r.Probe(ctx, c)
}

// npmSaid is the recorded output of a version of npm, with Node.js 20, for a prefix with @e2e/demo 1.1.0, and a
// registry such as [npmRegistry]. A second port has no registry. The user of the recorded installation of 2.0.0 had
// no write access. The files are named after the arguments of npm.
func npmSaid(t *testing.T, version string) recorded {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/npm-" + version + ".txtar")
	require.NoError(t, err)
	all := recorded{}
	for _, file := range archive.Files {
		words, stream, _ := strings.Cut(file.Name, " > ")
		exit := all[words]
		if code, failed := strings.CutPrefix(stream, "stderr, exit "); failed {
			exit.Stderr.Text = string(file.Data)
			exit.Code, err = strconv.Atoi(code)
			require.NoError(t, err)
		} else {
			exit.Stdout.Text = string(file.Data)
		}
		all[words] = exit
	}
	return all
}

// TestNPMRecorded parses recorded output of npm, so that it needs no npm.
func TestNPMRecorded(t *testing.T) {
	for _, version := range []string{"11.19.1", "9.2.0"} {
		root := modtest.Root(t)
		modtest.Build(t, root, []modtest.Node{{Path: "usr", Dir: true}, {Path: "usr/bin", Dir: true}, {Path: "usr/bin/npm", Text: "#!\n"}})
		h := modtest.Host()
		files := below{h.Files.FileReader, h.Files.FileRights, root}
		h.Files.FileReader, h.Files.FileRights = files, files
		h.Commands = npmSaid(t, version)
		of := func(name, ensure string) (modules.Plan, error) {
			p := &pkg.Package{Name: name, Ensure: ensure, Provider: "npm", LockTimeout: "2m"}
			return p.Check(t.Context(), h)
		}
		plan, err := of("@e2e/demo", ">= 1.0.0, < 2")
		require.NoError(t, err)
		require.False(t, plan.Pending())
		plan, err = of("@e2e/demo", "1.0.0")
		require.NoError(t, err)
		require.Equal(t, "downgraded to 1.0.0", plan.Action)
		_, err = of("gone", "present")
		require.EqualError(t, err, `the registry of npm has no package "gone"`)
		_, err = of("down", "present")
		require.EqualError(t, err, "npm view ended with exit code 1: FetchError: request to http://127.0.0.1:1/down failed, reason: connect ECONNREFUSED 127.0.0.1:1")
		p := &pkg.Package{Name: "@e2e/demo", Ensure: "latest", Provider: "npm", LockTimeout: "2m"}
		plan, err = p.Check(t.Context(), h)
		require.NoError(t, err)
		require.Equal(t, "upgraded to 2.0.0", plan.Action)
		require.Equal(t, change("version", "1.1.0", "2.0.0"), plan.Changes)
		require.ErrorContains(t, p.Apply(t.Context(), h, plan), "npm install ended with exit code 243: Error: EACCES: permission denied, ")
		if os.Getuid() != 0 {
			require.NoError(t, os.Mkdir(root+"/tmp", 0o555))
			_, err = p.Check(t.Context(), h)
			require.ErrorIs(t, err, fs.ErrPermission, "npm tries out what this user may not do")
		}
	}
}
