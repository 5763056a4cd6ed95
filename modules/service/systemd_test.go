package service_test

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/service"
)

// mayChangeHost skips tests that start, stop and mask units of the host they run on, unless the environment permits it:
// e2e runs them on hosts of its own.
func mayChangeHost(t *testing.T) {
	t.Helper()
	if os.Getenv("SERVICE_TEST_HOST") != "systemd" {
		t.Skip("NOT TESTED here: needs a host with systemd that may be changed; e2e has some (SERVICE_TEST_HOST=systemd)")
	}
	require.DirExists(t, "/run/systemd/system")
}

// onSystemd has a host without any units of these tests.
func onSystemd(t *testing.T) {
	t.Helper()
	mayChangeHost(t)
	t.Cleanup(func() { sh(t, clean) })
	sh(t, clean)
}

// clean removes the units of these tests.
const clean = `
u=$(systemctl list-units --all --plain --no-legend 'sv-*' | sed 's/ .*//'); [ -z "$u" ] || systemctl stop $u 2>/dev/null
rm -rf /etc/systemd/system/sv-* /etc/systemd/system/*.wants/sv-* /run/systemd/system/sv-* /run/systemd/system/*.wants/sv-* \
	/usr/local/lib/systemd/system/sv-* /opt/sv-* /etc/init.d/sv-* /etc/rc?.d/*sv-* /run/sv-*
mkdir -p /usr/local/lib/systemd/system
systemctl daemon-reload
systemctl reset-failed`

func sh(t *testing.T, script string) string {
	t.Helper()
	out, err := exec.Command("/bin/sh", "-c", script).CombinedOutput()
	require.NoError(t, err, "%s\n%s", script, out)
	return string(out)
}

// unitFile is a script that writes a unit file.
func unitFile(path string, lines ...string) string {
	return "cat >" + path + " <<'END'\n" + strings.Join(lines, "\n") + "\nEND\n"
}

const (
	etc   = "/etc/systemd/system/"
	local = "/usr/local/lib/systemd/system/"
)

var (
	install = "[Install]\nWantedBy=multi-user.target"
	sleeps  = "[Service]\nExecStart=/bin/sleep 1000"

	plain     = unitFile(etc+"sv-a.service", sleeps, install)
	other     = unitFile(local+"sv-b.service", sleeps, install) // may be masked
	reloads   = unitFile(etc+"sv-a.service", sleeps, "ExecReload=/bin/touch /run/sv-reloaded", install)
	instances = unitFile(etc+"sv-t@.service", sleeps, install)
	static    = unitFile(etc+"sv-s.service", sleeps)
	oneshot   = unitFile(etc+"sv-o.service", "[Service]\nType=oneshot\nExecStart=/bin/touch /run/sv-ran", install)
	unwanted  = unitFile(etc+"sv-o.service", "[Service]\nType=oneshot\nExecStart=/bin/touch /run/sv-ran")
	remains   = unitFile(etc+"sv-o.service", "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true", install)
	loops     = unitFile(etc+"sv-l.service", "[Unit]\nStartLimitIntervalSec=0\n[Service]\nExecStart=/bin/false\nRestart=always\nRestartSec=5s")
	looping   = loops + "systemctl start sv-l; until systemctl show -p SubState sv-l | grep auto-restart; do :; done"
	timer     = unitFile(etc+"sv-a.timer", "[Timer]\nOnCalendar=daily", install) + plain
	bad       = unitFile(etc+"sv-x.service", "[Service]", install)
	linked    = unitFile("/opt/sv-k.service", sleeps, install) + "systemctl link /opt/sv-k.service\n"
	aliased   = unitFile(etc+"sv-a.service", sleeps, install, "Alias=sv-alias.service")
	script    = scriptFor("2 3 4 5", "0 1 6")
	early     = scriptFor("S", "")
)

// scriptFor is a script of System V that starts and stops in the given runlevels.
func scriptFor(starts, stops string) string {
	return unitFile("/etc/init.d/sv-old", "#!/bin/sh", "### BEGIN INIT INFO", "# Provides: sv-old", "# Required-Start:", "# Required-Stop:",
		"# Default-Start: "+starts, "# Default-Stop: "+stops, "# Short-Description: old", "### END INIT INFO", "exit 0") +
		"chmod 755 /etc/init.d/sv-old; systemctl daemon-reload\n"
}

// A situation is the state of a host, a service, and the expected changes.
type situation struct {
	name, setup, properties string
	action                  string
	changes                 []modules.Change
	err                     string // error of Check
	again                   string // changes that a second Check plans
	past                    bool   // as in [modtest.Fixture]
	stays                   string // why it cannot be undone
}

var (
	startedIt  = modtest.Change("ensure", "stopped", "running")
	stoppedIt  = modtest.Change("ensure", "running", "stopped")
	enabledIt  = modtest.Change("enable", "false", "true")
	disabledIt = modtest.Change("enable", "true", "false")
	maskedIt   = modtest.Change("masked", "false", "true")
	unmaskedIt = modtest.Change("masked", "true", "false")
	rereadIt   = modtest.Change("unit_file", "changed since it was read", "read")
)

func list(changes ...modules.Change) []modules.Change { return changes }

var situations = []situation{
	{name: "start", setup: plain, properties: `"name":"sv-a"`, action: "started", changes: list(startedIt)},
	{name: "start, with its suffix", setup: plain, properties: `"name":"sv-a.service"`, action: "started", changes: list(startedIt)},
	{name: "runs", setup: plain + "systemctl start sv-a", properties: `"name":"sv-a"`},
	{name: "stop", setup: plain + "systemctl start sv-a", properties: `"name":"sv-a","ensure":"stopped"`, action: "stopped", changes: list(stoppedIt)},
	{name: "is stopped", setup: plain, properties: `"name":"sv-a","ensure":"stopped"`},
	{name: "start and enable", setup: plain, properties: `"name":"sv-a","enable":true`, action: "started and enabled", changes: list(startedIt, enabledIt)},
	{name: "start and disable", setup: plain + "systemctl enable sv-a", properties: `"name":"sv-a","enable":false`, action: "started and disabled", changes: list(startedIt, disabledIt)},
	{name: "enable", setup: plain + "systemctl start sv-a", properties: `"name":"sv-a","enable":true`, action: "enabled", changes: list(enabledIt)},
	{name: "enable what is stopped", setup: plain, properties: `"name":"sv-a","ensure":"stopped","enable":true`, action: "enabled", changes: list(enabledIt)},
	{name: "disable", setup: plain + "systemctl enable --now sv-a", properties: `"name":"sv-a","enable":false`, action: "disabled", changes: list(disabledIt)},
	{name: "stop and disable", setup: plain + "systemctl enable --now sv-a", properties: `"name":"sv-a","ensure":"stopped","enable":false`, action: "stopped and disabled", changes: list(stoppedIt, disabledIt)},
	{name: "enabled", setup: plain + "systemctl enable --now sv-a", properties: `"name":"sv-a","enable":true`},
	{name: "enabled until the next boot", setup: plain + "systemctl enable --runtime --now sv-a", properties: `"name":"sv-a","enable":false`, action: "disabled", changes: list(disabledIt),
		stays: "service sv-a.service is enabled only until the next boot, and no property restores that; run on the host: systemctl enable --runtime sv-a.service"},
	{name: "enabled until the next boot, to be enabled", setup: plain + "systemctl enable --runtime --now sv-a", properties: `"name":"sv-a","enable":true`, action: "enabled", changes: list(enabledIt),
		stays: "service sv-a.service is enabled only until the next boot, and no property restores that; run on the host: systemctl enable --runtime sv-a.service"},

	{name: "static is enabled", setup: static + "systemctl start sv-s", properties: `"name":"sv-s","enable":true`},
	{name: "static cannot be disabled", setup: static, properties: `"name":"sv-s","enable":false`, err: "service sv-s.service is static: it cannot be disabled, because other units or programs start it; to prevent that, write masked: true with ensure: stopped"},
	{name: "an instance", setup: instances, properties: `"name":"sv-t@1","enable":true`, action: "started and enabled", changes: list(startedIt, enabledIt)},
	{name: "an instance that is as it should be", setup: instances + "systemctl enable --now sv-t@2", properties: `"name":"sv-t@2","enable":true`},
	{name: "an instance beside another", setup: instances + "systemctl enable --now sv-t@2", properties: `"name":"sv-t@1.service","ensure":"stopped","enable":false`},
	{name: "a linked unit file", setup: linked, properties: `"name":"sv-k","enable":true`, action: "started and enabled", changes: list(startedIt, enabledIt), stays: "the path /etc/systemd/system/sv-k.service is a link to the unit file, and systemctl removes the link when it disables the service; write a link resource for this path"},
	{name: "a linked unit file that is enabled", setup: linked + "systemctl enable --now sv-k", properties: `"name":"sv-k","ensure":"stopped"`, action: "stopped", changes: list(stoppedIt)},
	{name: "another kind of unit", setup: timer, properties: `"name":"sv-a.timer","enable":true`, action: "started and enabled", changes: list(startedIt, enabledIt)},
	{name: "a script of System V, enabled", setup: script, properties: `"name":"sv-old","enable":true`, action: "started and enabled", changes: list(startedIt, enabledIt)},
	{name: "a script of System V for the start of the system, enabled", setup: early, properties: `"name":"sv-old","enable":true`, action: "started and enabled", changes: list(startedIt, enabledIt)},
	{name: "a script of System V, disabled", setup: script + "systemctl enable sv-old; systemctl start sv-old", properties: `"name":"sv-old","enable":false`, action: "disabled", changes: list(disabledIt)},

	{name: "a oneshot", setup: oneshot, properties: `"name":"sv-o","enable":true`, action: "started and enabled", changes: list(startedIt, enabledIt)},
	{name: "a oneshot that has ended well", setup: oneshot + "systemctl enable --now sv-o", properties: `"name":"sv-o","enable":true`},
	{name: "a oneshot that nothing refers to", setup: unwanted, properties: `"name":"sv-o"`, action: "started", changes: list(startedIt), again: "started"},
	{name: "a oneshot that remains", setup: remains, properties: `"name":"sv-o"`, action: "started", changes: list(startedIt)},
	{name: "a oneshot that shall be stopped", setup: oneshot + "systemctl enable --now sv-o", properties: `"name":"sv-o","ensure":"stopped"`},

	{name: "what has failed is stopped", setup: static + "systemctl start sv-s; systemctl kill -s KILL sv-s; until systemctl is-failed sv-s; do sleep 0.05; done", properties: `"name":"sv-s","ensure":"stopped"`},
	{name: "what has failed is started", setup: static + "systemctl start sv-s; systemctl kill -s KILL sv-s; until systemctl is-failed sv-s; do sleep 0.05; done", properties: `"name":"sv-s"`, action: "started", changes: list(modtest.Change("ensure", "failed", "running")), past: true},
	{name: "what fails all the time is stopped", setup: looping, properties: `"name":"sv-l","ensure":"stopped"`, action: "stopped", changes: list(modtest.Change("ensure", "activating", "stopped")), stays: "service sv-l.service is activating, neither running nor stopped"},

	{name: "missing", properties: `"name":"sv-nope"`, err: "service sv-nope.service not found; install it first, or correct its name"},
	{name: "missing, to be enabled", properties: `"name":"sv-nope","ensure":"stopped","enable":true`, err: "service sv-nope.service not found; install it first, or correct its name"},
	{name: "missing is stopped", properties: `"name":"sv-nope","ensure":"stopped"`},
	{name: "missing is disabled", properties: `"name":"sv-nope.timer","ensure":"stopped","enable":false,"masked":false`},
	{name: "missing can be masked", properties: `"name":"sv-nope","ensure":"stopped","masked":true`, action: "masked", changes: list(maskedIt)},
	{name: "gone, but still running", setup: plain + "systemctl start sv-a; rm /etc/systemd/system/sv-a.service; systemctl daemon-reload", properties: `"name":"sv-a","ensure":"stopped"`, action: "stopped", changes: list(stoppedIt), stays: "service sv-a.service runs without a unit file, and could not be started again"},
	{name: "a unit file that is no good", setup: bad, properties: `"name":"sv-x"`, err: "service sv-x.service cannot be used: Unit sv-x.service has a bad unit file setting; to see which, run on the host: systemd-analyze verify /etc/systemd/system/sv-x.service"},
	{name: "a unit file that is no good, stopped", setup: bad, properties: `"name":"sv-x","ensure":"stopped"`},

	{name: "mask", setup: other + "systemctl enable --now sv-b", properties: `"name":"sv-b","ensure":"stopped","masked":true`, action: "stopped and masked", changes: list(stoppedIt, maskedIt)},
	{name: "disable and mask", setup: other + "systemctl enable sv-b", properties: `"name":"sv-b","ensure":"stopped","enable":false,"masked":true`, action: "disabled and masked", changes: list(disabledIt, maskedIt)},
	{name: "masked", setup: other + "systemctl mask sv-b", properties: `"name":"sv-b","ensure":"stopped","masked":true,"enable":false`},
	{name: "masked is stopped", setup: other + "systemctl mask sv-b", properties: `"name":"sv-b","ensure":"stopped"`},
	{name: "masked cannot start", setup: other + "systemctl mask sv-b", properties: `"name":"sv-b"`, err: "service sv-b.service is masked, so it cannot be started; write masked: false as well"},
	{name: "masked cannot be enabled", setup: other + "systemctl mask sv-b", properties: `"name":"sv-b","ensure":"stopped","enable":true`, err: "service sv-b.service is masked, so it cannot be enabled; write masked: false as well"},
	{name: "masked and running is left alone", setup: other + "systemctl start sv-b; systemctl mask sv-b", properties: `"name":"sv-b"`},
	{name: "unmask", setup: other + "systemctl mask sv-b", properties: `"name":"sv-b","masked":false,"enable":true`, action: "unmasked, started and enabled", changes: list(unmaskedIt, startedIt, enabledIt)},
	{name: "unmask until the next boot", setup: other + "systemctl mask --runtime sv-b", properties: `"name":"sv-b","masked":false,"ensure":"stopped"`, action: "unmasked", changes: list(unmaskedIt),
		stays: "service sv-b.service is masked only until the next boot, and no property restores that; run on the host: systemctl mask --runtime sv-b.service"},
	{name: "not masked", setup: other + "systemctl start sv-b", properties: `"name":"sv-b","masked":false`},
	{name: "a mask has no place", setup: plain, properties: `"name":"sv-a","ensure":"stopped","masked":true`, err: "service sv-a.service cannot be masked, because the unit file /etc/systemd/system/sv-a.service exists; remove the file, or move it to /usr/local/lib/systemd/system"},

	{name: "by another name", setup: aliased + "systemctl enable --now sv-a", properties: `"name":"sv-alias","enable":true`},
	{name: "stopped by another name", setup: aliased + "systemctl enable --now sv-a", properties: `"name":"sv-alias","ensure":"stopped"`, action: "stopped", changes: list(stoppedIt)},
	{name: "not disabled by another name", setup: aliased + "systemctl enable --now sv-a", properties: `"name":"sv-alias","enable":false`, err: "service sv-alias.service is an alias of sv-a.service and cannot be disabled under this name; write the name sv-a.service"},

	{name: "the unit file has changed", setup: plain + "systemctl start sv-a; sed -i s/1000/2000/ /etc/systemd/system/sv-a.service", properties: `"name":"sv-a"`, action: "read its unit file again", changes: list(rereadIt), past: true},
	{name: "a drop-in has come", setup: plain + "systemctl start sv-a; mkdir /etc/systemd/system/sv-a.service.d; printf '[Service]\\nNice=3\\n' >/etc/systemd/system/sv-a.service.d/a.conf", properties: `"name":"sv-a","enable":true`, action: "enabled", changes: list(rereadIt, enabledIt)},
	{name: "a unit file has come that goes first", setup: other + "systemctl start sv-b; sed s/1000/2000/ " + local + "sv-b.service >" + etc + "sv-b.service", properties: `"name":"sv-b"`, action: "read its unit file again", changes: list(rereadIt), past: true},
	{name: "an empty drop-in says nothing", setup: plain + "systemctl start sv-a; mkdir " + etc + "sv-a.service.d; ln -s /dev/null " + etc + "sv-a.service.d/a.conf", properties: `"name":"sv-a"`},
	{name: "a drop-in of a template", setup: instances + "systemctl start sv-t@1; mkdir " + etc + "sv-t@.service.d; printf '[Service]\\nNice=3\\n' >" + etc + "sv-t@.service.d/a.conf", properties: `"name":"sv-t@1"`, action: "read its unit file again", changes: list(rereadIt), past: true},
	{name: "a unit file that can be enabled by now", setup: static + "systemctl start sv-s; " + unitFile(etc+"sv-s.service", sleeps, install), properties: `"name":"sv-s","enable":true`, action: "enabled", changes: list(rereadIt, enabledIt)},
	{name: "the unit file has been mended", setup: bad + "systemctl start sv-x; " + unitFile(etc+"sv-x.service", sleeps, install), properties: `"name":"sv-x"`, action: "started", changes: list(startedIt)},
}

// part is the part of the situations to run, such as "1/4"; all by default.
func part(t *testing.T) (which, of int) {
	t.Helper()
	text := cmp.Or(os.Getenv("SERVICE_TEST_PART"), "0/1")
	_, err := fmt.Sscanf(text, "%d/%d", &which, &of)
	require.NoError(t, err, "SERVICE_TEST_PART=%s", text)
	require.Less(t, which, of)
	return which, of
}

// TestOnSystemdConverges takes a real systemd through every situation. With SERVICE_TEST_PART, it prints the declared
// paths for the test that sees all parts.
func TestOnSystemdConverges(t *testing.T) {
	onSystemd(t)
	which, of := part(t)
	declared := &modtest.Declared{}
	for i, s := range situations {
		if i%of != which {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			sh(t, clean)
			sh(t, s.setup)
			properties := "{" + s.properties + "}"
			res := modtest.Decode(t, builtin.Types(), "service", properties, "")
			before := everything(t)
			plan, _ := res.Check(t.Context(), modules.ReadOnly(modtest.Host()))
			if plan.Pending() {
				_, err := res.(modules.Reverser).Reversal(t.Context(), modules.ReadOnly(modtest.Host()), nil)
				if s.stays == "" {
					require.NoError(t, err)
				} else {
					require.EqualError(t, err, s.stays)
				}
			}
			if s.setup != looping { // this one restarts all the time
				require.Equal(t, before, everything(t), "Check has changed something")
			}
			modtest.Converges(t, afresh(t, s.setup), modtest.Fixture{
				Name: "converges", Properties: properties, Action: s.action, Changes: s.changes, Err: s.err, Past: s.past, Outside: unitFolders(t),
				Declared: declared,
			})
			if s.err == "" {
				sh(t, clean)
				sh(t, s.setup)
				_, err := carryOut(t, s.properties, false)
				require.NoError(t, err)
				plan, err := res.Check(t.Context(), modules.ReadOnly(modtest.Host()))
				require.NoError(t, err)
				require.Equal(t, s.again, plan.Action, "a second Check")
			}
		})
	}
	changed, unchanged := declared.Paths()
	// insserv writes its three files together. Which of them changes depends on the other scripts of the host.
	unchanged = slices.DeleteFunc(unchanged, func(name string) bool { return strings.HasPrefix(name, "/etc/init.d/.depend.") })
	t.Logf("changed paths: %s", strings.Join(changed, " "))
	t.Logf("unchanged paths: %s", strings.Join(unchanged, " "))
	if of == 1 {
		require.Empty(t, unchanged, "plans declare these paths, and no situation changes anything there")
	}
}

// unitFolders are the folders in which enabling, disabling and masking change links.
func unitFolders(t *testing.T) []string {
	folders := []string{"/etc/systemd", "/run/systemd/system"}
	for _, pattern := range []string{"/etc/init.d", "/etc/rc?.d"} {
		some, err := filepath.Glob(pattern)
		require.NoError(t, err)
		folders = append(folders, some...)
	}
	return folders
}

// afresh is the type, its every resource in the situation that setup makes.
func afresh(t *testing.T, setup string) modules.Type {
	typ := service.Type()
	real := typ.New
	typ.New = func() modules.Resource {
		sh(t, clean)
		sh(t, setup)
		return real()
	}
	return typ
}

// everything is systemd's state of the units of these tests, and the files and links that define and enable units.
func everything(t *testing.T) string {
	return sh(t, `systemctl show -p Id,ActiveState,UnitFileState,NeedDaemonReload,MainPID,InvocationID 'sv-*'
		find /etc/systemd /run/systemd/system /usr/local/lib/systemd /etc/rc?.d -printf '%p %l %T@\n' | sort`)
}
