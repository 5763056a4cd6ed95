//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFleetForeign manages a host with built-in types, DSC resources in the three forms of their manifests, and libral
// providers of both conventions, in one play in the order of the graph.
func TestFleetForeign(t *testing.T) {
	f := startServiceHost(t)
	clean := func() {
		f.sh("s001", "systemctl disable --now e2e-foreign || true; rm -rf /etc/systemd/system/e2e-foreign.service /etc/e2e; systemctl daemon-reload")
	}
	clean()
	t.Cleanup(clean)
	require.NoError(t, os.CopyFS(filepath.Join(f.dir, "foreign"), os.DirFS("testdata/foreign")))
	for program, from := range map[string]string{
		"e2eapp": "app", "e2esetting": "setting", "providers/key.prov": "key",
	} {
		buildProgram(t, f.path("foreign/resources/"+program), "./testdata/foreign/"+from)
	}
	// As from a repository that has lost the modes of files.
	require.NoError(t, os.Chmod(f.path("foreign/resources/banner.sh"), 0o644))
	run := func(args ...string) run {
		return f.push(append([]string{"-i", "root.yaml", "--detailed-exitcode", "--output", "json"}, args...)...)
	}

	r := run("--check", "foreign/site.yaml")
	r.requireCode(t, 8)
	predicted := outcomes(r.events(t))
	require.Len(t, predicted, 11)
	require.False(t, f.holds("s001", "test -e /etc/e2e"), "a check run has changed something")

	r = run("foreign/site.yaml")
	r.requireCode(t, 8)
	real := outcomes(r.events(t))
	f.requireForetold(predicted, real)
	for name, e := range real {
		require.Equal(t, "changed", e.Status, name)
		require.Equal(t, e.Status, predicted[name].Status, "%s: predicted, if not with certainty", name)
	}
	require.True(t, f.holds("s001", "systemctl is-active e2e-foreign && systemctl is-enabled e2e-foreign"))
	require.True(t, f.holds("s001", "cmp /etc/e2e/token /etc/e2e/received"))
	require.Equal(t, "Hello there\ngood day\nupdates=on\n12green\n",
		f.sh("s001", "cd /etc/e2e && cat banner greeting app.conf keys/one keys/two marks/wall"))

	r = run("foreign/site.yaml")
	r.requireCode(t, 0)
	for name, e := range outcomes(r.events(t)) {
		require.Equal(t, "stable", e.Status, name)
	}

	// Exactly the drifted resources are found.
	f.sh("s001", "echo x >/etc/e2e/banner; rm /etc/e2e/app.conf; echo red >/etc/e2e/marks/wall; printf 3 >/etc/e2e/keys/two")
	drifted := []string{"dsc#banner", "E2E.App/Setting#app", "ral#/etc/e2e/marks/wall", "ral#two"}
	var runs []map[string]event
	for _, args := range [][]string{{"--check", "foreign/site.yaml"}, {"foreign/site.yaml"}} {
		r = run(args...)
		r.requireCode(t, 8)
		var changed []string
		runs = append(runs, outcomes(r.events(t)))
		for _, e := range only(r.events(t), "result") {
			if e.Status != "stable" {
				changed = append(changed, e.Type+"#"+e.Name)
			}
		}
		require.ElementsMatch(t, drifted, changed)
	}
	f.requireForetold(runs[0], runs[1])
	for name, e := range runs[0] { // the success of a foreign program cannot be predicted
		require.Equal(t, e.Status == "stable", e.Certain, name)
	}
	run("foreign/site.yaml").requireCode(t, 0)
}

// buildProgram builds a static program.
func buildProgram(t *testing.T, program, pkg string) {
	t.Helper()
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, pkg)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
