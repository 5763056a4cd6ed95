package reboot

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// TestConverges uses a host that needs no restart; a real restart needs real hosts.
func TestConverges(t *testing.T) {
	modtest.Converges(t, Type(), modtest.Fixture{Name: "notified of nothing", Properties: `{"name":"x","when":"notified"}`})
}

// asks is a host that requests a restart, or does not, with the program that restarts it.
type asks struct {
	modules.FileReader
	files map[string]bool
}

func (a asks) Stat(name string) (modules.FileInfo, error) {
	switch {
	case a.files[name]:
		return modules.FileInfo{Kind: modules.Regular, Mode: 0o755}, nil
	case filepath.Dir(name) == "/run", filepath.Dir(name) == "/run/systemd", filepath.Base(filepath.Dir(name)) == "bin", filepath.Base(filepath.Dir(name)) == "sbin":
		return modules.FileInfo{}, os.ErrNotExist
	}
	return a.FileReader.Stat(name)
}

func hostThat(t *testing.T, files ...string) modules.Host {
	h := modtest.Host()
	h.Private = t.TempDir()
	there := map[string]bool{"/usr/bin/apt-get": true}
	for _, name := range files {
		there[name] = true
	}
	h.Files.FileReader = asks{h.Files.FileReader, there}
	return h
}

func TestPlans(t *testing.T) {
	systemd := []string{"/run/systemd/system", "/usr/bin/systemctl"}
	for _, test := range []struct {
		name  string
		when  string
		files []string
		why   string // reason; empty means nothing to do
		err   string
	}{
		{"nothing is asked for", pending, systemd, "", ""},
		{"asked for by packages of Debian", pending, append(systemd, "/run/reboot-required"), "/run/reboot-required", ""},
		{"asked for by zypper", pending, append(systemd, "/run/reboot-needed"), "/run/reboot-needed", ""},
		{"always", always, []string{"/usr/sbin/reboot"}, "wanted in each run", ""},
		{"not notified", notified, systemd, "", ""},
		{"a container", always, nil, "", "neither systemctl nor reboot is found in " + modules.DefaultPath + ": a host without both, such as a container, is restarted from outside"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &Reboot{Name: "x", When: test.when, Timeout: "10m"}
			require.NoError(t, r.Validate())
			plan, err := r.Check(t.Context(), modules.ReadOnly(hostThat(t, test.files...)))
			switch {
			case os.Geteuid() != 0 && (test.why != "" || test.err != ""):
				require.EqualError(t, err, `only root may restart the host; use "become"`)
			case test.err != "":
				require.EqualError(t, err, test.err)
			case test.why == "":
				require.NoError(t, err)
				require.Equal(t, modules.Plan{}, plan)
			default:
				require.NoError(t, err)
				require.Equal(t, "restarted the host", plan.Action)
				require.Equal(t, []modules.Change{{Property: "restart", Have: test.why, Want: "done"}}, plan.Changes)
			}
		})
	}
}

// TestKnownOnlyByAProgram runs needs-restarting, without which a host with rpm cannot know whether it needs a restart.
func TestKnownOnlyByAProgram(t *testing.T) {
	h := hostThat(t, "/usr/bin/rpm")
	delete(h.Files.FileReader.(asks).files, "/usr/bin/apt-get")
	_, err := asked(t.Context(), h)
	require.EqualError(t, err, "only needs-restarting reports whether this host requires a restart, and it is not installed; install the package dnf-utils")
	h.Files.FileReader.(asks).files["/usr/bin/needs-restarting"] = true
	for code, want := range map[int]string{0: "", 1: "needs-restarting"} {
		h.Commands = ends{code}
		why, err := asked(t.Context(), h)
		require.NoError(t, err)
		require.Equal(t, want, why)
	}
	h.Commands = ends{2}
	_, err = asked(t.Context(), h)
	require.EqualError(t, err, "needs-restarting ended with exit code 2: ")
}

// ends are commands that all end alike.
type ends struct{ code int }

func (e ends) Probe(context.Context, modules.Command) (modules.Exit, error) {
	return modules.Exit{Code: e.code}, nil
}

func (e ends) Run(ctx context.Context, c modules.Command) (modules.Exit, error) {
	return e.Probe(ctx, c)
}

// TestBack runs the host program after a reboot: the restart is reported if the run continues, and not in another run.
func TestBack(t *testing.T) {
	h := hostThat(t)
	r := &Reboot{Name: "x", When: notified, Timeout: "10m"}
	noted := func(boot string) {
		require.NoError(t, os.WriteFile(notePath(h), []byte(`{"name":"x","boot":"`+boot+`","changes":[{"property":"restart","have":"notified","want":"done"}]}`), 0o600))
	}
	check := func(again bool) modules.Plan {
		r.Inform(modules.Circumstances{Again: again})
		plan, err := r.Check(t.Context(), modules.ReadOnly(h))
		require.NoError(t, err)
		return plan
	}
	boot, err := bootID(h.Files)
	require.NoError(t, err)
	noted("another")
	require.Equal(t, modules.Plan{}, check(false), "another run has had it start again")
	noted(boot)
	require.Equal(t, modules.Plan{}, check(true), "it has not gone down yet")
	noted("another")
	plan := check(true)
	require.Equal(t, "restarted the host", plan.Action)
	require.Equal(t, []modules.Change{{Property: "restart", Have: "notified", Want: "done"}}, plan.Changes)
	plan, err = r.Refresh(t.Context(), modules.ReadOnly(h), plan)
	require.NoError(t, err)
	require.True(t, plan.Refreshed)
	require.NoError(t, r.Apply(t.Context(), h, plan))
	require.NoError(t, r.Verify(t.Context(), h, plan))
	require.NoFileExists(t, notePath(h))
	require.Equal(t, modules.Plan{}, check(true))
}

func TestValidate(t *testing.T) {
	for timeout, ok := range map[string]bool{"10m": true, "1h30m": true, "9s": false, "25h": false, "soon": false} {
		err := (&Reboot{Name: "x", Timeout: timeout}).Validate()
		if ok {
			require.NoError(t, err, timeout)
		} else {
			require.EqualError(t, err, `timeout: timeout "`+timeout+`" is not a duration from 10s to 24h`)
		}
	}
}

func TestDescribe(t *testing.T) {
	h := hostThat(t, "/run/reboot-required")
	boot, err := bootID(h.Files)
	require.NoError(t, err)
	r := &Reboot{Name: "x", When: pending}
	modtest.Describes(t, h, r, `{"ensure":"pending","boot":"`+boot+`","asked":"/run/reboot-required"}`)
	sources, err := r.Watch(t.Context(), h)
	require.NoError(t, err)
	require.Equal(t, modules.Sources{Paths: asking}, sources)
}
