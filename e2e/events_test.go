//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// eventsSite has a service that counts its starts and reloads, and events for it. A command between the change and the
// events fails as long as a file is there.
const eventsSite = `
- name: app
  hosts: s001
  data: {a: "1", b: "1", stop: "1", off: "1"}
  ccm:
    fail_on_error: true
    resources:
      - file:
          - defaults: {owner: root, group: root, mode: "0644"}
          - /etc/e2e: {ensure: directory, mode: "0755"}
          - /etc/systemd/system/e2e-app.service:
              content: "[Service]\nExecStartPre=/bin/sh -c 'echo start >>/run/e2e-ran'\nExecStart=/bin/sleep 1000\nExecReload=/bin/sh -c 'echo reload >>/run/e2e-ran'\nExecStop=/bin/sh -c 'echo stop >>/run/e2e-ran'\n"
      - service: [{e2e-app: {}}]
      - file:
          - defaults: {owner: root, group: root, mode: "0644"}
          - /etc/e2e/a: {alias: a, content: "{{ Data.a }}"}
          - /etc/e2e/b: {alias: b, content: "{{ Data.b }}"}
          - /etc/e2e/stop: {alias: stop, content: "{{ Data.stop }}"}
          - /etc/e2e/off: {alias: off, content: "{{ Data.off }}"}
      - exec: [{"test ! -e /run/e2e-cut": {readonly: true}}]
      - service:
          - e2e-app: {alias: reload app, refreshonly: true, action: reload, subscribe: [file#b]}
          - e2e-app: {alias: restart app, refreshonly: true, subscribe: [file#a, file#stop]}
          - e2e-app: {alias: stop app, refreshonly: true, action: stop, subscribe: [file#off]}
          - e2e-none: {refreshonly: true, action: reload, subscribe: [file#off], control: {if: "Data.off == 'never'"}}
          - e2e-missing: {refreshonly: true, subscribe: [exec#test ! -e /run/e2e-cut]}
`

// TestFleetEvents notifies the events of a service in all ways.
func TestFleetEvents(t *testing.T) {
	f := startServiceHost(t)
	write(t, f.path("site.yaml"), eventsSite)
	f.sh("s001", "rm -rf /var/lib/ccm-push /run/e2e-*")
	args := func(vars map[string]string, more ...string) []string {
		list := append([]string{"-i", "root.yaml"}, more...)
		for k, v := range vars {
			list = append(list, "-e", k+"="+v)
		}
		return append(list, "site.yaml")
	}
	vars := map[string]string{}
	ran := func() string {
		return strings.Join(strings.Fields(f.sh("s001", "cat /run/e2e-ran; : >/run/e2e-ran")), " ")
	}
	changed := func(text string) (list []string) {
		for line := range strings.Lines(text) {
			if fields := strings.Fields(line); len(fields) > 2 && fields[0] == "s001" || len(fields) > 1 && strings.HasPrefix(line, " ") {
				at := strings.Index(line, "service#")
				if at >= 0 && strings.Contains(line[:at], "change") {
					list = append(list, strings.TrimSpace(strings.SplitN(line[at:], "  ", 2)[0]))
				}
			}
		}
		return list
	}
	// All files are new, so that all events are due: no reload runs, and the service is stopped at the end.
	f.push(args(nil)...).requireCode(t, 0)
	require.Equal(t, "start stop start stop", ran())
	f.push(args(nil)...).requireCode(t, 0)
	require.Equal(t, "start", ran())
	for n, step := range []struct {
		name   string
		change []string
		ran    string
		says   string
	}{
		{"nothing", nil, "", ""},
		{"one", []string{"b"}, "reload", "reloaded via subscribe"},
		{"two notifications", []string{"a", "stop"}, "stop start", "restarted via subscribe"},
		{"restart wins", []string{"a", "b"}, "stop start", "not reloaded, because service#restart app restarts it in this run"},
		{"stop", []string{"off"}, "stop", "stopped via subscribe"},
	} {
		for _, key := range step.change {
			vars[key] = fmt.Sprint(n + 2)
		}
		check := f.push(args(vars, "--check")...)
		require.Empty(t, ran(), "%s: a check run", step.name)
		r := f.push(args(vars, "-v")...)
		r.requireCode(t, 0)
		require.Equal(t, step.ran, ran(), "%s: %s", step.name, r.stdout)
		require.Contains(t, r.stdout, step.says, step.name)
		require.Equal(t, changed(check.stdout), changed(r.stdout), "%s: the check run\n%s\n%s", step.name, check.stdout, r.stdout)
	}
	require.Contains(t, f.sh("s001", "systemctl is-active e2e-app || true"), "inactive")

	// The service is repaired, and a stop that nothing notifies does not stop it again.
	f.push(args(vars)...).requireCode(t, 0)
	require.Equal(t, "start", ran())

	for _, cut := range []struct {
		change []string
		ran    string
	}{
		{[]string{"b"}, "reload"},
		{[]string{"a", "b"}, "stop start"},
		{[]string{"off"}, "stop"},
	} {
		f.sh("s001", "touch /run/e2e-cut")
		for _, key := range cut.change {
			vars[key] += "x"
		}
		f.push(args(vars)...).requireCode(t, 2)
		require.Empty(t, ran())
		require.Contains(t, f.sh("s001", "cat /var/lib/ccm-push/refreshes.json"), "service#e2e-app")
		f.sh("s001", "rm /run/e2e-cut")
		check := f.push(args(vars, "--check")...)
		r := f.push(args(vars)...)
		r.requireCode(t, 0)
		require.Equal(t, cut.ran, ran(), r.stdout)
		require.Equal(t, changed(check.stdout), changed(r.stdout), "the check run\n%s\n%s", check.stdout, r.stdout)
		require.Contains(t, r.stdout, "which did not get to it")
		f.push(args(vars)...)
		require.NotContains(t, ran(), "reload")
	}
}
