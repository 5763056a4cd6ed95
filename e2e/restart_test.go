//go:build e2e

package e2e

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// restartSite changes a file that a service reads, and makes the run wait between the change and the restart until a
// test opens the gate. The gate contains the process id of the host program.
const restartSite = `
- name: app
  hosts: s001
  data: {level: info}
  ccm:
    resources:
      - file:
          - defaults: {owner: root, group: root, mode: "0644"}
          - /etc/e2e: {ensure: directory, mode: "0755"}
          - /etc/systemd/system/e2e-app.service:
              content: "[Service]\nExecStart=/bin/sleep 1000\n"
          - /etc/e2e/app.conf: {alias: conf, content: "level = {{ Data.level }}\n"}
      - exec:
          - gate:
              provider: shell
              command: echo $PPID > /run/e2e-new && mv /run/e2e-new /run/e2e-waits; while ! test -e /run/e2e-go; do sleep 0.05; done
              unless: test -e /run/e2e-go
      - service:
          - e2e-app:
              subscribe: [file#conf]
              health_checks:
                - {command: systemctl is-active e2e-app, tries: 3}
`

// TestFleetNoRestartIsLost ends runs between a change and the restart that follows
// from it: the next run restarts the service once, and the third does nothing.
func TestFleetNoRestartIsLost(t *testing.T) {
	f := startServiceHost(t)
	write(t, f.path("site.yaml"), restartSite)
	invocation := func() string { return f.sh("s001", "systemctl show -p InvocationID --value e2e-app") }
	f.sh("s001", "rm -rf /var/lib/ccm-push; touch /run/e2e-go")
	f.push("-i", "root.yaml", "site.yaml").requireCode(t, 0)
	for _, end := range []struct{ name, how string }{
		{"the host program is killed", "kill -9 $(cat /run/e2e-waits)"},
		{"the connection is cut", "kill -9 $(ps -o ppid= -p $(cat /run/e2e-waits))"},
	} {
		t.Run(end.name, func(t *testing.T) {
			f := f.in(t)
			before := invocation()
			f.sh("s001", "rm -f /run/e2e-go /run/e2e-waits")
			level := "level=" + strings.ReplaceAll(end.name, " ", "-")
			first := pushCommand(t, f.dir, "-i", "root.yaml", "-e", level, "--reconnect", "0", "--no-record", "site.yaml")
			var said bytes.Buffer
			first.Stdout, first.Stderr = &said, &said
			require.NoError(t, first.Start())
			f.awaits("s001", "test -e /run/e2e-waits")
			require.Contains(t, f.sh("s001", "stat -c '%a %U' /var/lib/ccm-push /var/lib/ccm-push/refreshes.json; cat /var/lib/ccm-push/refreshes.json"),
				"700 root\n600 root\n"+`{"refresh":[{"resource":"service#e2e-app","changed":"file#conf",`)
			f.sh("s001", end.how)
			require.Error(t, first.Wait(), said.String())
			require.Contains(t, said.String(), "lost")
			f.sh("s001", "touch /run/e2e-go")
			require.Equal(t, before, invocation(), "not restarted yet")

			const why = "restarted via subscribe; file#conf had changed in run "
			f.awaits("s001", "! pgrep -f 'serv[e] '") // the one whose connection was cut completes its current resource
			foretold := f.push("-i", "root.yaml", "-e", level, "--check", "site.yaml")
			foretold.requireCode(t, 0)
			require.Regexp(t, `s001 +untold +run 01\w+ of .*, did this and could not report it: \d results?`, foretold.stdout)
			require.Contains(t, foretold.stdout, "    changed  file#/etc/e2e/app.conf")
			require.Contains(t, foretold.stdout, "would change  service#e2e-app  would have "+why)
			second := f.push("-i", "root.yaml", "-e", level, "--lock-timeout", "20", "--output", "json", "site.yaml")
			second.requireCode(t, 0)
			require.NotContains(t, second.stdout, `"untold"`, "the check run has acknowledged it")
			require.Contains(t, second.stdout, `"refreshed":true`)
			require.Contains(t, second.stdout, why)
			restarted := invocation()
			require.NotEqual(t, before, restarted)
			require.False(t, f.holds("s001", "test -e /var/lib/ccm-push/refreshes.json"))

			third := f.push("-i", "root.yaml", "-e", level, "site.yaml")
			third.requireCode(t, 0)
			require.Contains(t, third.stdout, "0 changed")
			require.Equal(t, restarted, invocation())
		})
	}
}

// TestFleetReconnect ends connections and host programs between a change and its restart: the same run continues, and
// restarts the service once.
func TestFleetReconnect(t *testing.T) {
	f := startServiceHost(t)
	write(t, f.path("site.yaml"), restartSite)
	invocation := func() string { return f.sh("s001", "systemctl show -p InvocationID --value e2e-app") }
	f.sh("s001", "rm -rf /var/lib/ccm-push; touch /run/e2e-go")
	f.push("-i", "root.yaml", "site.yaml").requireCode(t, 0)
	root, deploy := []string{"-i", "root.yaml"}, []string{"-i", "deploy.yaml", "-b"}
	for _, end := range []struct {
		name string
		as   []string
		how  string
	}{
		{"the host program is killed", root, "kill -9 $(cat /run/e2e-waits)"},
		{"the connection is cut", root, "kill -9 $(ps -o ppid= -p $(cat /run/e2e-waits))"},
		{"sshd is restarted and the connection cut", root, "systemctl restart ssh sshd 2>/dev/null; kill -9 $(ps -o ppid= -p $(cat /run/e2e-waits))"},
		{"a login that became root is killed", deploy, "pkill -KILL -u deploy"},
		{"a host program that became root is killed", deploy, "kill -9 $(cat /run/e2e-waits)"},
	} {
		t.Run(end.name, func(t *testing.T) {
			f := f.in(t)
			before := invocation()
			f.sh("s001", "rm -f /run/e2e-go /run/e2e-waits")
			level := "level=again-" + strings.ReplaceAll(end.name, " ", "-")
			run := pushCommand(t, f.dir, append(end.as, "-e", level, "site.yaml")...)
			var said bytes.Buffer
			run.Stdout, run.Stderr = &said, &said
			require.NoError(t, run.Start())
			f.awaits("s001", "test -e /run/e2e-waits")
			f.sh("s001", end.how)
			f.awaits("s001", "sleep 1; pgrep -f 'serv[e] '") // another program has come, and waits
			f.sh("s001", "touch /run/e2e-go")
			require.NoError(t, run.Wait(), said.String())
			require.Equal(t, 1, strings.Count(said.String(), "reconnected"), said.String())
			require.Equal(t, 1, strings.Count(said.String(), "changed  file#/etc/e2e/app.conf"), said.String())
			require.Equal(t, 1, strings.Count(said.String(), "changed  service#e2e-app  restarted via subscribe"), said.String())
			restarted := invocation()
			require.NotEqual(t, before, restarted)

			second := f.push(append(end.as, "-e", level, "site.yaml")...)
			second.requireCode(t, 0)
			require.Contains(t, second.stdout, "0 changed")
			require.NotContains(t, second.stdout, "untold")
			require.Equal(t, restarted, invocation())
			require.False(t, f.holds("s001", "test -e /var/lib/ccm-push/results.jsonl"))
		})
	}
}

// TestFleetChangeThatCannotBeNoted is not made.
func TestFleetChangeThatCannotBeNoted(t *testing.T) {
	f := startServiceHost(t)
	write(t, f.path("site.yaml"), restartSite)
	f.sh("s001", "rm -rf /var/lib/ccm-push; touch /run/e2e-go")
	f.push("-i", "root.yaml", "site.yaml").requireCode(t, 0)
	f.sh("s001", "mkdir -p -m 700 /var/lib/ccm-push && mount -t tmpfs -o ro,mode=700 tmpfs /var/lib/ccm-push")
	t.Cleanup(func() { f.sh("s001", "umount /var/lib/ccm-push") })
	for _, args := range [][]string{{"--check"}, nil} {
		r := f.push(append([]string{"-i", "root.yaml", "-e", "level=debug", "site.yaml"}, args...)...)
		r.requireCode(t, 2)
		require.Contains(t, r.stdout, "not done, because the refreshes that it causes cannot be recorded: ")
		require.Contains(t, r.stdout, "read-only")
		require.Equal(t, "level = info\n", f.sh("s001", "cat /etc/e2e/app.conf"))
	}
}

// TestFleetDamagedJournal restarts rather too much than too little.
func TestFleetDamagedJournal(t *testing.T) {
	f := startServiceHost(t)
	write(t, f.path("site.yaml"), restartSite)
	f.sh("s001", "rm -rf /var/lib/ccm-push; touch /run/e2e-go")
	f.push("-i", "root.yaml", "site.yaml").requireCode(t, 0)
	f.sh("s001", "mkdir -p -m 700 /var/lib/ccm-push && echo garbage >/var/lib/ccm-push/refreshes.json")
	r := f.push("-i", "root.yaml", "site.yaml")
	r.requireCode(t, 0)
	require.Contains(t, r.stdout, "warning: the record of due refreshes cannot be read, so all resources that subscribe are refreshed: invalid character 'g'")
	require.Contains(t, r.stdout, "it is now /var/lib/ccm-push/refreshes.json.damaged")
	require.Contains(t, r.stdout, "changed  service#e2e-app  restarted via subscribe; it may be due: the journal of refreshes was damaged")
	require.Contains(t, f.push("-i", "root.yaml", "site.yaml").stdout, "0 changed")
}
