//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pipWheels makes wheels in /srv/wheels, the same ones on each host.
const pipWheels = `mkdir /srv/wheels
python3 - <<'END'
import zipfile
for version in ["1.0", "1.1", "2.0"]:
    info = f"e2e_demo-{version}.dist-info/"
    files = {"e2e_demo.py": f"version = '{version}'\n", info + "METADATA": f"Metadata-Version: 2.1\nName: e2e-demo\nVersion: {version}\n",
             info + "WHEEL": "Wheel-Version: 1.0\nGenerator: e2e\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    files[info + "RECORD"] = "".join(f"{path},,\n" for path in files) + info + "RECORD,,\n"
    with zipfile.ZipFile(f"/srv/wheels/e2e_demo-{version}-py3-none-any.whl", "w") as wheel:
        for path, text in files.items():
            wheel.writestr(zipfile.ZipInfo(path), text)
END
`

// pipSite is about a virtualenv of a user, which is made, and about the Python of the host. The folder of wheels stands for an index.
const pipSite = `
name: libraries
hosts: s001
ccm:
  resources:
    - package:
        - defaults: {provider: pip, options: [--no-index, --find-links=/srv/wheels]}
        - e2e-demo: {virtualenv: /home/app/env, user: app, ensure: "{{ Data.ensure }}"}
        - e2e_demo: {break_system_packages: true, ensure: "< 2"}
`

// pipState lists the installed packages with their owners.
const pipState = `find /home/app/env /usr/local/lib/python3.11 -name 'e2e*.dist-info' -printf '%u %h %f\n' 2>/dev/null | sed 's,lib/python3.11/[a-z]*-packages,,' | sort`

// TestFleetPip has the real pip of Debian install packages: for a user, into a virtualenv that is made, and for root into the
// host's own Python, which is the operating system's.
func TestFleetPip(t *testing.T) {
	f := startBeside(t, "s001")
	write(t, f.path("site.yaml"), pipSite)
	f.sh("s001", pipWheels)
	apply := func(ensure string, flags ...string) map[string]event {
		t.Helper()
		r := f.push(append([]string{"-i", "root.yaml", "--output", "json", "-e", "ensure=" + ensure, "site.yaml"}, flags...)...)
		r.requireCode(t, 0)
		return outcomes(r.events(t))
	}
	const hosts = "root /usr/local/ e2e_demo-1.1.dist-info\n"
	for _, step := range []struct{ ensure, does, have string }{
		{"1.0", "made the virtualenv /home/app/env and installed version 1.0", "app /home/app/env/ e2e_demo-1.0.dist-info\n" + hosts},
		{"latest", "upgraded to 2.0", "app /home/app/env/ e2e_demo-2.0.dist-info\n" + hosts},
		{"absent", "uninstalled", hosts},
	} {
		before := f.sh("s001", pipState)
		predicted := apply(step.ensure, "--check")
		require.Equal(t, before, f.sh("s001", pipState), "a check run has changed something")
		require.Equal(t, "Would have "+step.does, predicted["libraries s001 package#e2e-demo"].Message)
		real := apply(step.ensure)
		for name, e := range predicted {
			require.Equal(t, e.Status, real[name].Status, name)
		}
		require.Equal(t, step.have, f.sh("s001", pipState))
		for name, e := range apply(step.ensure, "--check") {
			require.Equal(t, "stable", e.Status, "%s: %s", name, e.Message)
			require.True(t, e.Certain, name)
		}
		if step.ensure == "latest" {
			undo := f.push("undo", "--check")
			undo.requireCode(t, 0)
			call := "package e2e-demo ensure=1.0 options=--no-index,--find-links=/srv/wheels provider=pip user=app virtualenv=/home/app/env"
			require.Contains(t, undo.stdout, "left unchanged: packages are neither downgraded nor removed; the ad-hoc call that would: "+call+"\n")
			f.push(append([]string{"-i", "root.yaml", "s001"}, strings.Fields(call)...)...).requireCode(t, 0)
			require.Contains(t, f.sh("s001", pipState), "e2e_demo-1.0.dist-info\n")
		}
	}
	require.Empty(t, f.sh("s001", "find /home/app/env -user root"), "a user's virtualenv has something of root's")

	// Without permission, the operating system's Python stays unchanged, also if pip does not find the package.
	for _, option := range []string{"--find-links=/srv/wheels", "--find-links=/srv/none"} {
		r := f.push("-i", "root.yaml", "s001", "package", "e2e-demo", "provider=pip", "ensure=2.0", "options=--no-index,"+option)
		r.requireCode(t, 2)
		require.Contains(t, r.stdout, "python3 belongs to the operating system, so pip must not change its packages (PEP 668: /usr/lib/python3.11/EXTERNALLY-MANAGED)")
	}
	require.Equal(t, hosts, f.sh("s001", pipState))
}
