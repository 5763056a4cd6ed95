package service_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// carryOut checks, refreshes if requested, applies and verifies.
func carryOut(t *testing.T, properties string, refresh bool) (modules.Plan, error) {
	t.Helper()
	return carryOutOn(t, modtest.Host(), properties, refresh)
}

func carryOutOn(t *testing.T, h modules.Host, properties string, refresh bool) (modules.Plan, error) {
	t.Helper()
	res := modtest.Decode(t, builtin.Types(), "service", "{"+properties+"}", "")
	plan, err := modules.Compare(t.Context(), res, modules.ReadOnly(h))
	require.NoError(t, err)
	if refresh {
		if plan, err = res.(modules.Refresher).Refresh(t.Context(), modules.ReadOnly(h), plan); err != nil {
			return plan, err
		}
	}
	if !plan.Pending() {
		return plan, nil
	}
	if err := res.Apply(t.Context(), h, plan); err != nil {
		return plan, err
	}
	return plan, res.(modules.Verifier).Verify(t.Context(), h, plan)
}

// failing is a unit file of a service that fails.
func failing(lines ...string) string {
	return unitFile(etc+"sv-f.service", append([]string{"[Service]"}, lines...)...)
}

func TestOnSystemdFailures(t *testing.T) {
	onSystemd(t)
	for _, tc := range []struct{ name, setup, properties, err, log string }{
		{
			"it dies at once", failing("ExecStart=/bin/sh -c 'echo no secret here; exit 3'"), `"name":"sv-f"`,
			"service is failed, expected running: it ended with exit status 3", "no secret here",
		},
		{
			"it dies soon", failing("ExecStart=/bin/sh -c 'sleep 0.2; echo no secret here; exit 3'"), `"name":"sv-f"`,
			"service is failed, expected running: it ended with exit status 3", "no secret here",
		},
		{
			"it ends", failing("ExecStart=/bin/true"), `"name":"sv-f"`,
			"service is stopped, expected running: it ended by itself, with exit status 0", "Deactivated successfully",
		},
		{
			"it ends by a signal", failing("ExecStart=/bin/sh -c 'kill -KILL $$$$'"), `"name":"sv-f"`,
			"service is failed, expected running: it ended by signal", "code=killed",
		},
		{
			"it dies again and again", failing("ExecStart=/bin/false", "Restart=always", "RestartSec=10"), `"name":"sv-f"`,
			"service is activating, expected running: it ended with exit status 1", "status=1/FAILURE",
		},
		{
			"it lives a little and is restarted", failing("ExecStart=/bin/sleep 0.3", "Restart=always", "RestartSec=1ms"), `"name":"sv-f"`,
			"service keeps being restarted", "Scheduled restart job",
		},
		{
			"it does not get ready", failing("Type=forking", "ExecStart=/bin/sh -c 'echo no secret here; exit 1'"), `"name":"sv-f"`,
			"start sv-f.service: Job for sv-f.service failed because the control process exited with error code.", "no secret here",
		},
		{
			"it takes too long", failing("ExecStartPre=/bin/sleep 100", "ExecStart=/bin/sleep 100"), `"name":"sv-f","timeout":"1s"`,
			"start sv-f.service: it has not ended within 1s", "Starting sv-f.service",
		},
		{
			"a oneshot fails", failing("Type=oneshot", "ExecStart=/bin/false"), `"name":"sv-f"`,
			"start sv-f.service: Job for sv-f.service failed because the control process exited with error code.", "status=1/FAILURE",
		},
		{
			"a condition is not met", unitFile(etc+"sv-f.service", "[Unit]", "ConditionPathExists=/nowhere", sleeps, install), `"name":"sv-f","enable":true`,
			"service is stopped, expected running: a condition of its unit file is not met", "",
		},
		{
			"earlier runs have logged too", failing("ExecStart=/bin/sh -c 'echo run $$(cat /run/sv-n)'") +
				"for n in 1 2 3; do echo $n >/run/sv-n; systemctl start sv-f; sleep 0.3; done; echo 4 >/run/sv-n\n", `"name":"sv-f"`,
			"service is stopped, expected running: it ended by itself, with exit status 0", "run 4",
		},
		{
			"it may not be started by hand", unitFile(etc+"sv-f.service", "[Unit]", "RefuseManualStart=yes", sleeps), `"name":"sv-f"`,
			"start sv-f.service: Failed to start sv-f.service: Operation refused, unit sv-f.service may be requested by dependency only (it is configured to refuse manual start/stop).", "",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sh(t, clean)
			sh(t, tc.setup)
			_, err := carryOut(t, tc.properties, false)
			require.Error(t, err)
			text, log, _ := strings.Cut(err.Error(), "; its log ends with:\n  ")
			require.Equal(t, tc.err, text)
			require.Contains(t, log, tc.log)
			require.NotContains(t, log, "run 3")
			require.LessOrEqual(t, strings.Count(log, "\n"), 9)
			var r modules.Redactor
			require.ErrorAs(t, err, &r)
			require.Equal(t, tc.err, r.Redacted(), "what a service logs may be secret")
		})
	}
}

// TestOnSystemdAction restarts and reloads services as requested, once for each call.
func TestOnSystemdAction(t *testing.T) {
	onSystemd(t)
	const pid = "systemctl show -p MainPID sv-a"
	for _, tc := range []struct {
		name, setup, properties string
		action                  string
		another                 bool // another process runs then
	}{
		{"it runs", plain + "systemctl start sv-a", `"name":"sv-a","action":"restarted"`, "restarted", true},
		{"it is stopped", plain, `"name":"sv-a","action":"restarted"`, "started", true},
		{"it can reload", reloads + "systemctl start sv-a", `"name":"sv-a","action":"reloaded"`, "reloaded", false},
		{"and enabled", plain + "systemctl start sv-a", `"name":"sv-a","action":"restarted","enable":true`, "restarted and enabled", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sh(t, clean)
			sh(t, tc.setup)
			before := sh(t, pid)
			plan, err := carryOut(t, tc.properties, false)
			require.NoError(t, err)
			require.Equal(t, tc.action, plan.Action)
			require.Equal(t, tc.another, before != sh(t, pid))
			require.Equal(t, tc.action == "reloaded", strings.Contains(sh(t, "ls /run"), "sv-reloaded"))
		})
	}
}

func TestOnSystemdRefresh(t *testing.T) {
	onSystemd(t)
	const pid, same = "systemctl show -p MainPID sv-a", "same process"
	for _, tc := range []struct {
		name, setup, properties string
		action                  string
		refreshed               bool
		process                 string // expected process: the same, another, or any
	}{
		{"it runs", plain + "systemctl start sv-a", `"name":"sv-a"`, "restarted via subscribe", true, "another"},
		{"it runs and is to be enabled", plain + "systemctl start sv-a", `"name":"sv-a","enable":true`, "restarted via subscribe and enabled", true, "another"},
		{"it is stopped", plain, `"name":"sv-a"`, "started", false, "another"},
		{"it shall be stopped", plain, `"name":"sv-a","ensure":"stopped"`, "", false, same},
		{"it shall be stopped, and runs", plain + "systemctl start sv-a", `"name":"sv-a","ensure":"stopped"`, "stopped", false, "another"},
		{"it can reload", reloads + "systemctl start sv-a", `"name":"sv-a","reload":true`, "reloaded via subscribe", true, same},
		{"it cannot reload", plain + "systemctl start sv-a", `"name":"sv-a","reload":true`, "restarted via subscribe", true, "another"},
		{"its unit file has changed", reloads + "systemctl start sv-a; sed -i s/1000/2000/ " + etc + "sv-a.service", `"name":"sv-a","reload":true`, "restarted via subscribe", true, "another"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sh(t, clean)
			sh(t, tc.setup)
			before := sh(t, pid)
			plan, err := carryOut(t, tc.properties, true)
			require.NoError(t, err)
			require.Equal(t, tc.action, plan.Action)
			require.Equal(t, tc.refreshed, plan.Refreshed)
			require.Equal(t, tc.process == same, before == sh(t, pid))
			require.Equal(t, plan.Action == "reloaded via subscribe", strings.Contains(sh(t, "ls /run"), "sv-reloaded"))
			require.Contains(t, sh(t, "systemctl show -p NeedDaemonReload sv-a"), "=no")
		})
	}
	t.Run("a oneshot runs again", func(t *testing.T) {
		sh(t, clean)
		sh(t, oneshot+"systemctl enable --now sv-o; rm /run/sv-ran")
		plan, err := carryOut(t, `"name":"sv-o"`, true)
		require.NoError(t, err)
		require.Equal(t, "restarted via subscribe", plan.Action)
		require.FileExists(t, "/run/sv-ran")
	})
	t.Run("it fails to reload", func(t *testing.T) {
		sh(t, clean)
		sh(t, unitFile(etc+"sv-a.service", sleeps, "ExecReload=/bin/false")+"systemctl start sv-a")
		_, err := carryOut(t, `"name":"sv-a","reload":true`, true)
		require.ErrorContains(t, err, "reload sv-a.service: Job for sv-a.service failed")
	})
	t.Run("it has failed too often, and is mended", func(t *testing.T) {
		sh(t, clean)
		sh(t, unitFile(etc+"sv-f.service", "[Unit]", "StartLimitIntervalSec=1h", "StartLimitBurst=2", "[Service]", "ExecStartPre=/usr/bin/test -e /run/sv-mended", "ExecStart=/bin/sleep 1000")+
			"for n in 1 2 3; do systemctl start sv-f; done; touch /run/sv-mended; ! systemctl start sv-f")
		_, err := carryOut(t, `"name":"sv-f"`, false)
		require.NoError(t, err)
	})
	t.Run("it is masked", func(t *testing.T) {
		sh(t, clean)
		sh(t, other+"systemctl start sv-b; systemctl mask sv-b")
		_, err := carryOut(t, `"name":"sv-b"`, true)
		require.EqualError(t, err, "service sv-b.service is masked, so it cannot be restarted; write masked: false as well")
	})
}

// TestOnSystemdEvents refreshes events, and also does not.
func TestOnSystemdEvents(t *testing.T) {
	onSystemd(t)
	runs := "systemctl start sv-a\n"
	for _, tc := range []struct {
		name, setup, properties string
		action                  string
		changes                 []modules.Change
		state                   string // afterwards
		err                     string
	}{
		{"restart", plain + runs, ``, "restarted via subscribe", nil, "active", ""},
		{"restart, stopped", plain, `,"action":"restart"`, "started via subscribe", list(startedIt), "active", ""},
		{"restart, other spelling", plain + runs, `,"action":"restarted"`, "restarted via subscribe", nil, "active", ""},
		{"restart, not there", "", ``, "", nil, "inactive", "service sv-a.service not found; install it first, or correct its name"},
		{"restart, disabled", plain + runs + "systemctl disable sv-a", ``, "restarted via subscribe", nil, "active", ""},
		{"restart, new unit file", plain + runs + "sed -i s/1000/2000/ " + etc + "sv-a.service", ``, "restarted via subscribe", list(rereadIt), "active", ""},
		{"reload", reloads + runs, `,"action":"reload"`, "reloaded via subscribe", nil, "active", ""},
		{"reload, stopped", reloads, `,"action":"reload"`, "", nil, "inactive", ""},
		{"reload, it cannot", plain + runs, `,"action":"reload"`, "", nil, "active", "service sv-a.service cannot be reloaded; write action: restart"},
		{"reload or restart", plain + runs, `,"reload":true`, "restarted via subscribe", nil, "active", ""},
		{"reload or restart, it can", reloads + runs, `,"reload":true`, "reloaded via subscribe", nil, "active", ""},
		{"reload, not there", "", `,"action":"reload"`, "", nil, "inactive", "service sv-a.service not found; install it first, or correct its name"},
		{"start", plain, `,"action":"start"`, "started via subscribe", list(startedIt), "active", ""},
		{"start, it runs", plain + runs, `,"action":"start"`, "", nil, "active", ""},
		{"stop", plain + runs, `,"action":"stop"`, "stopped via subscribe", list(stoppedIt), "inactive", ""},
		{"stop, stopped", plain, `,"action":"stop"`, "", nil, "inactive", ""},
		{"stop, not there", "", `,"action":"stop"`, "", nil, "inactive", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sh(t, clean)
			sh(t, tc.setup)
			properties := `"name":"sv-a","refreshonly":true` + tc.properties
			const look = "systemctl show -p ActiveState -p MainPID -p UnitFileState sv-a"
			before := sh(t, look)
			plan, err := carryOut(t, properties, false)
			require.NoError(t, err)
			require.False(t, plan.Pending())
			require.Equal(t, before, sh(t, look), "nothing has notified it")

			plan, err = carryOut(t, properties, true)
			if tc.err != "" {
				require.EqualError(t, err, tc.err)
			} else {
				require.NoError(t, err)
				require.Equal(t, tc.action, plan.Action)
				require.Equal(t, tc.action != "", plan.Refreshed)
				require.Equal(t, tc.changes, plan.Changes)
			}
			after := sh(t, look)
			require.Contains(t, after, "ActiveState="+tc.state+"\n")
			require.Equal(t, strings.HasPrefix(tc.action, "reloaded"), strings.Contains(sh(t, "ls /run"), "sv-reloaded"))
			if tc.action == "" || strings.HasPrefix(tc.action, "reloaded") {
				require.Equal(t, before, after)
			} else {
				require.NotEqual(t, before, after)
			}
		})
	}
}

// messages collects the messages of a resource.
type messages struct {
	modules.Reporter
	text string
}

func (m *messages) Message(level, text string) { m.text += level + ": " + text }

// TestOnSystemdForgets starts oneshots that systemd forgets and remembers, and reads the warnings.
func TestOnSystemdForgets(t *testing.T) {
	onSystemd(t)
	for _, tc := range []struct{ setup, said string }{
		{unwanted, "warning: the next run starts sv-o.service again, because systemd forgets an ended oneshot that nothing refers to; set enable: true, or RemainAfterExit=yes in its unit file"},
		{oneshot + "systemctl enable sv-o", ""},
		{remains, ""},
	} {
		sh(t, clean)
		sh(t, tc.setup)
		h, report := modtest.Host(), &messages{}
		h.Report = report
		_, err := carryOutOn(t, h, `"name":"sv-o"`, false)
		require.NoError(t, err)
		require.Equal(t, tc.said, report.text)
	}
}
