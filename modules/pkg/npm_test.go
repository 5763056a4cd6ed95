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
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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

// TestNPM has the real npm install for a project, from a registry of this test.
func TestNPM(t *testing.T) {
	if err := exec.Command("/usr/bin/npm", "--version").Run(); err != nil {
		t.Skip("NOT TESTED: there is no npm")
	}
	registry, root := npmRegistry(t), t.TempDir()
	h := modtest.Host()
	of := func(properties string) *pkg.Package {
		return modtest.Decode(t, modules.Registry{pkg.Type()}, "package",
			`{"name":"@e2e/demo","provider":"npm","directory":"`+root+`/app","index":"`+registry+`","options":["--cache=`+root+`/cache"],`+properties+`}`, "").(*pkg.Package)
	}
	require.NoError(t, os.Mkdir(root+"/app", 0o755))
	for _, step := range []struct {
		properties, action string
		changes            []modules.Change
		back               string // ensure of what undoes it
	}{
		{`"ensure":">= 1.0.0, < 2"`, "installed version 1.1.0", change("ensure", "absent", "1.1.0"), "absent"},
		{`"ensure":"1.1.0"`, "", nil, ""},
		{`"ensure":"latest"`, "upgraded to 2.0.0", change("version", "1.1.0", "2.0.0"), "1.1.0"},
		{`"ensure":"1.0.0"`, "downgraded to 1.0.0", change("version", "2.0.0", "1.0.0"), "2.0.0"},
		{`"ensure":"absent"`, "uninstalled", change("ensure", "1.0.0", "absent"), "1.0.0"},
	} {
		p := of(step.properties)
		plan, err := p.Check(t.Context(), modules.ReadOnly(h))
		require.NoError(t, err, step.properties)
		require.Equal(t, step.action, plan.Action)
		require.Equal(t, step.changes, plan.Changes)
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

// below are files of a host, kept below a directory of this one.
type below struct {
	modules.FileReader
	root string
}

func (b below) Stat(path string) (modules.FileInfo, error) { return b.FileReader.Stat(b.root + path) }

// recorded are commands that print what npm 9.2 and 11 have printed, by the words behind npm.
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

// TestNPMRecorded understands what npm prints, where there is none.
func TestNPMRecorded(t *testing.T) {
	root := modtest.Root(t)
	modtest.Build(t, root, []modtest.Node{{Path: "usr", Dir: true}, {Path: "usr/bin", Dir: true}, {Path: "usr/bin/npm", Text: "#!\n"}})
	says := func(code int, stdout, stderr string) modules.Exit {
		return modules.Exit{Code: code, Stdout: modules.Output{Text: stdout}, Stderr: modules.Output{Text: stderr}}
	}
	h := modtest.Host()
	h.Files.FileReader = below{h.Files.FileReader, root}
	h.Commands = recorded{
		"ls --global --depth=0 --json":                            says(1, `{"name":"lib","problems":["missing: x@1"],"dependencies":{"npm":{"version":"11.19.1","overridden":false},"x":{"required":"1","missing":true}}}`, "npm error code ELSPROBLEMS\n"),
		"view --global npm version --json":                        says(0, `"11.20.0"`, ""),
		"view --global gone version --json":                       says(1, `{"error":{"code":"E404","summary":"Not Found - GET https://registry.npmjs.org/gone - Not found","detail":""}}`, "npm error code E404\n"),
		"view --global down version --json":                       says(1, `{"error":{"code":"ECONNREFUSED","summary":"request failed","detail":""}}`, "npm ERR! code ECONNREFUSED\nnpm ERR! request failed\n\nnpm ERR! A complete log of this run can be found in: /root/.npm/_logs/x.log\n"),
		"install --global npm@11.20.0 --dry-run --ignore-scripts": says(0, "\nchanged 1 package in 1s\n", ""),
	}
	of := func(name, ensure string) (modules.Plan, error) {
		p := &pkg.Package{Name: name, Ensure: ensure, Provider: "npm", LockTimeout: "2m"}
		return p.Check(t.Context(), h)
	}
	plan, err := of("npm", "latest")
	require.NoError(t, err)
	require.Equal(t, "upgraded to 11.20.0", plan.Action)
	_, err = of("gone", "present")
	require.EqualError(t, err, `the registry of npm has no package "gone"`)
	_, err = of("down", "present")
	require.EqualError(t, err, "npm view ended with exit code 1: code ECONNREFUSED; request failed")
}
