//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
)

// dropServices removes the units of these tests.
const dropServices = `u=$(systemctl list-units --all --plain --no-legend 'e2e-*' | sed 's/ .*//'); [ -z "$u" ] || systemctl stop $u
rm -rf /etc/e2e /etc/systemd/system/e2e-* /etc/systemd/system/*.wants/e2e-* /usr/local/lib/systemd/system/e2e-* /run/e2e-*
systemctl unmask cron; systemctl start cron; systemctl daemon-reload; systemctl reset-failed`

// startServiceHost adds s001, which has a real systemd, to the fleet.
func startServiceHost(t *testing.T) *fleet {
	t.Helper()
	f := startFleet(t)
	if !strings.Contains(f.tool("status"), "s001\t") {
		f.tool("up", "1", "--systemd")
		t.Cleanup(func() { f.tool("down", "s001") })
	}
	f.awaits("s001", "systemctl is-active multi-user.target")
	write(t, f.path("root.yaml"), f.tool("inventory"))
	write(t, f.path("deploy.yaml"), f.tool("inventory", "--user", "deploy"))
	f.sh("s001", dropServices)
	t.Cleanup(func() { f.sh("s001", dropServices) })
	return f
}

// TestFleetServiceConforms takes the tests of the type that need a systemd of their own to
// some, a part of them to each.
func TestFleetServiceConforms(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "service.test")
	build := exec.Command("go", "test", "-c", "-o", program, "github.com/ccm-push/ccm-push/modules/service")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	outputOf(t, build)
	var passed atomic.Int64
	var declared sync.Map // by path: whether a situation changes it
	t.Cleanup(func() {
		require.Greater(t, passed.Load(), int64(200))
		var unchanged []string
		for name, changed := range declared.Range {
			if !changed.(bool) {
				unchanged = append(unchanged, name.(string))
			}
		}
		require.Empty(t, unchanged, "plans declare these paths, and no situation changes anything there")
	})
	const parts = 4
	for part := range parts + 1 {
		name, args := fmt.Sprintf("converges, %d of %d", part+1, parts), []string{"-test.run", "OnSystemdConverges"}
		if part == parts {
			name, args = "else", []string{"-test.run", "OnSystemd", "-test.skip", "OnSystemdConverges"}
		}
		t.Run(name, func(t *testing.T) {
			f := startServiceHost(t)
			f.send("s001", program, "/run/e2e-service.test")
			said := f.tool(append([]string{"exec", "s001", "env", "SERVICE_TEST_HOST=systemd", fmt.Sprintf("SERVICE_TEST_PART=%d/%d", part%parts, parts),
				"HOME=/root", "TMPDIR=/tmp", "/run/e2e-service.test", "-test.v", "-test.count", "1"}, args...)...)
			require.NotContains(t, said, "--- SKIP")
			passed.Add(int64(strings.Count(said, "--- PASS: ")))
			for _, line := range regexp.MustCompile(`: (un)?changed paths: (.*)`).FindAllStringSubmatch(said, -1) {
				for _, name := range strings.Fields(line[2]) {
					if changed := line[1] == ""; changed {
						declared.Store(name, true)
					} else {
						declared.LoadOrStore(name, false)
					}
				}
			}
		})
	}
}

const serviceSite = `
- name: app
  hosts: s001
  data: {level: info, seconds: 1000}
  ccm:
    resources:
      - file:
          - defaults: {owner: root, group: root, mode: "0644"}
          - /etc/e2e: {ensure: directory, mode: "0755"}
          - /etc/e2e/app.conf: {alias: conf, content: "level = {{ Data.level }}\n"}
          - /etc/systemd/system/e2e-app.service:
              alias: unit
              content: |
                [Service]
                ExecStart=/bin/sleep {{ Data.seconds }}
                ExecReload=/bin/touch /run/e2e-reloaded
                [Install]
                WantedBy=multi-user.target
          - /etc/systemd/system/e2e-work@.service:
              content: |
                [Service]
                ExecStart=/bin/sleep 1000
                [Install]
                WantedBy=multi-user.target
          - /etc/systemd/system/e2e-once.service:
              content: |
                [Service]
                Type=oneshot
                ExecStart=/bin/touch /run/e2e-once
                [Install]
                WantedBy=multi-user.target
      - service:
          - e2e-app: {enable: true, subscribe: [file#conf, file#unit]}
          - e2e-work@{{ Item }}: {each: [1, 2], enable: true}
          - e2e-once: {enable: true}
          - cron: {ensure: stopped, enable: false}
          - ssh: {enable: true}
          - e2e-nothing: {ensure: stopped, enable: false}
`

// process is the main process of the service.
func (f *fleet) process(unit string) string {
	f.Helper()
	return f.sh("s001", "systemctl show -p MainPID --value "+unit)
}

// TestFleetService has services whose unit files come with the same manifest.
func TestFleetService(t *testing.T) {
	f := startServiceHost(t)
	write(t, f.path("service.yaml"), serviceSite)
	f.foretells("service.yaml", "-l", "s001")
	require.True(t, f.holds("s001", "systemctl is-active e2e-app e2e-work@1 e2e-work@2 && systemctl is-enabled e2e-app e2e-work@1 e2e-once && test -e /run/e2e-once"))
	require.False(t, f.holds("s001", "systemctl is-active cron || systemctl is-enabled cron"))

	converge := func(code int, flags ...string) map[string]event {
		r := f.push(append([]string{"-i", "root.yaml", "-l", "s001", "--detailed-exitcode", "--output", "json", "service.yaml"}, flags...)...)
		r.requireCode(t, code)
		return outcomes(r.events(t))
	}
	app := func(all map[string]event) event { return all["app s001 service#e2e-app"] }

	t.Run("a changed file restarts it", func(t *testing.T) {
		before := f.process("e2e-app")
		e := app(converge(8, "-e", "level=debug", "--check"))
		require.Equal(t, []any{"changed", true}, []any{e.Status, e.Refreshed})
		require.Equal(t, before, f.process("e2e-app"), "a check run has changed something")
		e = app(converge(8, "-e", "level=debug"))
		require.Equal(t, []any{"changed", true}, []any{e.Status, e.Refreshed})
		require.NotEqual(t, before, f.process("e2e-app"))
		converge(0, "-e", "level=debug")
	})
	t.Run("a changed unit file is read", func(t *testing.T) {
		converge(8, "-e", "level=debug", "-e", "seconds=2000")
		require.Contains(t, f.sh("s001", "tr '\\0' ' ' </proc/$(systemctl show -p MainPID --value e2e-app)/cmdline"), "sleep 2000")
		require.Equal(t, "no\n", f.sh("s001", "systemctl show -p NeedDaemonReload --value e2e-app"))
	})
	t.Run("a stopped service is started, not restarted", func(t *testing.T) {
		f.sh("s001", "systemctl stop e2e-app")
		e := app(converge(8, "-e", "level=warning", "-e", "seconds=2000"))
		require.Equal(t, []any{"changed", false}, []any{e.Status, e.Refreshed})
	})
	t.Run("reload", func(t *testing.T) {
		write(t, f.path("service.yaml"), strings.Replace(serviceSite, "{enable: true, subscribe:", "{enable: true, reload: true, subscribe:", 1))
		before := f.process("e2e-app")
		e := app(converge(8, "-e", "level=error", "-e", "seconds=2000"))
		require.Equal(t, []any{"changed", true}, []any{e.Status, e.Refreshed})
		require.Equal(t, before, f.process("e2e-app"))
		require.True(t, f.holds("s001", "test -e /run/e2e-reloaded"))
	})
	t.Run("enabled is what a boot starts", func(t *testing.T) {
		f.sh("s001", "systemctl stop e2e-app e2e-work@1 e2e-work@2; rm /run/e2e-once; systemctl start multi-user.target")
		f.awaits("s001", "systemctl is-active e2e-app e2e-work@1 e2e-work@2 && test -e /run/e2e-once")
		require.False(t, f.holds("s001", "systemctl is-active cron"), "it is disabled")
		converge(0, "-e", "level=error", "-e", "seconds=2000")
	})
}

// TestFleetServiceFails has services that do not start, and services that must not be started.
func TestFleetServiceFails(t *testing.T) {
	f := startServiceHost(t)
	f.sh("s001", `printf '[Service]\nExecStart=/bin/sh -c "echo the port is taken; exit 3"\n' >/etc/systemd/system/e2e-dies.service`)
	r := f.push("-i", "root.yaml", "s001", "service", "e2e-dies")
	r.requireCode(t, 2)
	require.Contains(t, r.stdout, "service is failed, expected running: it ended with exit status 3; its log ends with:")
	require.Contains(t, r.stdout, "the port is taken")

	r = f.push("-i", "root.yaml", "s001", "service", "cron", "ensure=stopped", "masked=true")
	r.requireCode(t, 0)
	require.Contains(t, r.stdout, "stopped and masked")
	for _, flag := range []string{"--check", "--diff"} {
		r = f.push("-i", "root.yaml", flag, "s001", "service", "cron")
		r.requireCode(t, 2)
		require.Contains(t, r.stdout, "service cron.service is masked, so it cannot be started; write masked: false as well")
		r = f.push("-i", "deploy.yaml", flag, "s001", "service", "ssh", "ensure=stopped")
		r.requireCode(t, 2)
		require.Contains(t, r.stdout, `only root may change services here; use "become"`)
	}
	require.True(t, f.holds("s001", "systemctl is-active ssh"))
	f.push("-i", "deploy.yaml", "-b", "s001", "service", "cron", "masked=false").requireCode(t, 0)
	require.True(t, f.holds("s001", "systemctl is-active cron"))

	r = f.push("-i", "root.yaml", "h001", "service", "cron")
	r.requireCode(t, 2)
	require.Contains(t, r.stdout, "no suitable provider found: neither systemd nor OpenRC runs this host")
}

// openRCImage is a Debian with OpenRC, which is made once.
func openRCImage(t *testing.T) string {
	t.Helper()
	cache := os.Getenv("FLEET_CACHE")
	if cache == "" {
		cache = "/var/cache/ccm-push-fleet"
	}
	image := filepath.Join(cache, "bookworm-openrc")
	if _, err := os.Stat(image); err == nil {
		return image
	}
	needs.Program(t, "mmdebstrap") // which brings OpenRC
	require.NoError(t, os.MkdirAll(cache, 0o755))
	require.NoError(t, os.RemoveAll(image+".new"))
	output(t, "mmdebstrap", "--quiet", "--variant=minbase", "--include=openrc", "bookworm", image+".new")
	require.NoError(t, os.Rename(image+".new", image))
	return image
}

// openRCTest has the calls of the host program, one line each, and the state that a script finds afterwards. OpenRC is
// not the init here, but it was started.
const openRCTest = `set -e
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
openrc sysinit >/dev/null 2>&1; openrc default >/dev/null 2>&1
cat >/etc/init.d/demo <<'END'
#!/sbin/openrc-run
command=/bin/sleep
command_args=1000
command_background=yes
pidfile=/run/demo.pid
extra_started_commands=reload
reload() { : >/run/reloaded; }
END
sed 's/demo/dies/; s/sleep/false/' /etc/init.d/demo >/etc/init.d/dies
printf '#!/sbin/openrc-run\nstart() { eerror "no secret here"; return 1; }\n' >/etc/init.d/broken
chmod 755 /etc/init.d/*
# OpenRC says started once there is a pid, which is not yet that of the command.
begin() { rc-service demo start >/dev/null; until grep -q sleep /proc/$(cat /run/demo.pid)/cmdline; do :; done; }
run() { echo "{\"type\":\"service\",\"properties\":{$1}}" | /ccm-module run $2 | sed 's/,"ns":[0-9]*//; s/.*"status"://' || true; }
`

// TestServiceOnOpenRC runs the host program with a real OpenRC.
func TestServiceOnOpenRC(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		needs.Skip(t, "a root directory of its own needs root")
	}
	image, dir := openRCImage(t), t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "ccm-module"), "github.com/ccm-push/ccm-push/cmd/ccm-module")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, tc := range []struct{ name, script, want string }{
		{
			"check, start and enable", `run '"name":"demo","enable":true' --check; run '"name":"demo","enable":true'; run '"name":"demo","enable":true'; rc-service demo status 2>&1; ls -l /etc/runlevels/default | grep -c demo`,
			`"changed","check":true,"i":0,"grade":"likely","because":"service#demo","message":"Would have started and enabled","changes":[{"property":"ensure","have":"stopped","want":"running"},{"property":"enable","have":"false","want":"true"}]}
"changed","check":false,"i":0,"message":"started and enabled","changes":[{"property":"ensure","have":"stopped","want":"running"},{"property":"enable","have":"false","want":"true"}]}
"stable","check":false,"i":0}
 * status: started
1
`,
		},
		{
			"stop, and disable in all runlevels", `begin; rc-update -q add demo default; rc-update -q add demo boot; run '"name":"demo","ensure":"stopped","enable":false'; run '"name":"demo","ensure":"stopped","enable":false'; rc-service demo status 2>&1 || true; ls /etc/runlevels/*/demo 2>/dev/null || echo none`,
			`"changed","check":false,"i":0,"message":"stopped and disabled","changes":[{"property":"ensure","have":"running","want":"stopped"},{"property":"enable","have":"true","want":"false"}]}
"stable","check":false,"i":0}
 * status: stopped
none
`,
		},
		{
			"a process that is gone", `begin; kill $(cat /run/demo.pid); while kill -0 $(cat /run/demo.pid) 2>/dev/null; do :; done; run '"name":"demo"'; run '"name":"demo"'; kill -0 $(cat /run/demo.pid) && echo alive`,
			`"changed","check":false,"i":0,"message":"reset and started","changes":[{"property":"ensure","have":"crashed","want":"running"}]}
"stable","check":false,"i":0}
alive
`,
		},
		{
			"it dies", `run '"name":"dies"'`,
			`"failed","check":false,"i":0,"error":"failed to reach desired state: service is crashed, expected running","changes":[{"property":"ensure","have":"stopped","want":"running"}]}` + "\n",
		},
		{
			"it does not start", `run '"name":"broken"'`,
			`"failed","check":false,"i":0,"error":"start broken: ERROR: broken failed to start","changes":[{"property":"ensure","have":"stopped","want":"running"}]}` + "\n",
		},
		{
			"what cannot be", `run '"name":"nope"'; run '"name":"nope","ensure":"stopped"'; run '"name":"demo","masked":false'; run '"name":"demo","provider":"systemd"'`,
			`"failed","check":false,"i":0,"error":"service nope not found; install it first, or correct its name"}
"stable","check":false,"i":0}
"failed","check":false,"i":0,"error":"OpenRC cannot mask services; remove \"masked\""}
"failed","check":false,"i":0,"error":"provider is not manageable: systemd is not the init system of this host (no directory /run/systemd/system)"}
`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "root")
			output(t, "cp", "-a", image, root)
			output(t, "cp", filepath.Join(dir, "ccm-module"), filepath.Join(root, "ccm-module"))
			write(t, filepath.Join(root, "test.sh"), openRCTest+tc.script)
			cmd := exec.Command("unshare", "--mount", "--pid", "--uts", "--ipc", "--net", "--fork", "--kill-child", "chroot", root, "/bin/sh", "/test.sh")
			out, err := cmd.Output()
			require.NoError(t, err, "%s", out)
			require.Equal(t, tc.want, string(out))
		})
	}
}

// TestFleetServiceByWord enables and disables units that have other words than enabled and disabled.
func TestFleetServiceByWord(t *testing.T) {
	f := startServiceHost(t)
	f.sh("s001", `cd /etc/systemd/system
printf '[Service]\nExecStart=/bin/sleep 9999\n[Install]\nAlso=e2e-also.socket\n' >e2e-also.service
printf '[Socket]\nListenStream=/run/e2e-also\n[Install]\nWantedBy=sockets.target\n' >e2e-also.socket
printf '[Service]\nExecStart=/bin/sleep 9999\n[Install]\nWantedBy=multi-user.target\n' >e2e-runtime.service
printf '[Service]\nExecStart=/bin/sleep 9999\n' >e2e-static.service
systemctl daemon-reload; systemctl --quiet --runtime enable e2e-runtime`)
	words := func() string {
		return f.sh("s001", "systemctl is-enabled e2e-also.service e2e-also.socket e2e-runtime.service e2e-static.service || true")
	}
	require.Equal(t, "indirect\ndisabled\nenabled-runtime\nstatic\n", words())
	for _, row := range []struct {
		enable string
		codes  []int // exit statuses of the check, the run, and a second run
		words  string
	}{
		{"true", []int{8, 8, 0}, "indirect\nenabled\nenabled\nstatic\n"},
		{"false", []int{8, 8, 0}, "indirect\ndisabled\ndisabled\nstatic\n"},
	} {
		names := []string{"e2e-also", "e2e-runtime"}
		if row.enable == "true" {
			names = append(names, "e2e-static")
		}
		manifest := "ccm:\n  resources:\n    - service:\n        - defaults: {ensure: stopped, enable: " + row.enable + "}\n"
		for _, name := range names {
			manifest += "        - " + name + ": {}\n"
		}
		write(t, f.path("words.yaml"), manifest)
		for i, args := range [][]string{{"--check"}, nil, nil} {
			r := f.push(append([]string{"-i", "root.yaml", "-l", "s001", "--detailed-exitcode", "--output", "json", "words.yaml"}, args...)...)
			r.requireCode(t, row.codes[i])
			require.True(t, only(r.events(t), "result")[0].Certain)
		}
		require.Equal(t, row.words, words())
	}
}
