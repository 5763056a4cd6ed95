//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
)

// bring copies providers of modules/ral into the folder resources/ of a play.
func bring(t *testing.T, dir string, from string) {
	t.Helper()
	to := filepath.Join(dir, "resources")
	require.NoError(t, os.CopyFS(to, os.DirFS(filepath.Join("../modules/ral/testdata", from))))
}

const ralServiceSite = `
- name: app
  hosts: s001
  data: {ensure: running, enable: "true"}
  ccm:
    resources:
      - file:
          - /etc/systemd/system/e2e-ral.service:
              owner: root
              group: root
              mode: "0644"
              content: "[Service]\nExecStart=/bin/sleep 1000\n[Install]\nWantedBy=multi-user.target\n"
      - exec:
          - systemctl daemon-reload: {refreshonly: true, subscribe: ["file#/etc/systemd/system/e2e-ral.service"]}
      - ral:
          - e2e-ral: {type: service, provider: systemd, properties: {ensure: "{{ Data.ensure }}", enable: "{{ Data.enable }}"}}
`

// TestFleetRalService manages a service of a real systemd with a provider in bash that is not installed there.
func TestFleetRalService(t *testing.T) {
	f := startServiceHost(t)
	bring(t, f.dir, "libral")
	write(t, f.path("site.yaml"), ralServiceSite)
	run := func(args ...string) run {
		return f.push(append([]string{"-i", "root.yaml", "--detailed-exitcode"}, args...)...)
	}
	r := run("--check", "site.yaml")
	r.requireCode(t, 8)
	require.Contains(t, r.stdout, "2 would change, 0 stable, 1 would fail")
	require.False(t, f.holds("s001", "systemctl is-active e2e-ral"))

	r = run("site.yaml")
	r.requireCode(t, 8)
	require.Contains(t, r.stdout, "ral#e2e-ral  set enable, ensure through service::systemd")
	require.True(t, f.holds("s001", "systemctl is-active e2e-ral && systemctl is-enabled e2e-ral"))
	r = run("site.yaml")
	r.requireCode(t, 0)
	require.Contains(t, r.stdout, "3 stable")

	// From here on nothing is pending, so the states in a check run are exact.
	f.sh("s001", "systemctl stop e2e-ral")
	r = run("--check", "--output", "json", "site.yaml")
	r.requireCode(t, 8)
	require.Contains(t, r.stdout, `"changes":[{"property":"ensure","have":"stopped","want":"running"}]`)
	run("site.yaml").requireCode(t, 8)
	require.True(t, f.holds("s001", "systemctl is-active e2e-ral"))

	run("-e", "ensure=stopped", "-e", "enable=mask", "site.yaml").requireCode(t, 2) // its own unit file is where the mask would be
	f.sh("s001", "mv /etc/systemd/system/e2e-ral.service /usr/local/lib/systemd/system/ 2>/dev/null || { mkdir -p /usr/local/lib/systemd/system; mv /etc/systemd/system/e2e-ral.service /usr/local/lib/systemd/system/; }; systemctl daemon-reload")
	write(t, f.path("site.yaml"), strings.ReplaceAll(ralServiceSite, "/etc/systemd/system/", "/usr/local/lib/systemd/system/"))
	run("-e", "ensure=stopped", "-e", "enable=mask", "site.yaml").requireCode(t, 8)
	require.Equal(t, "masked\n", f.sh("s001", "systemctl is-enabled e2e-ral || true"))
	run("-e", "ensure=stopped", "-e", "enable=mask", "site.yaml").requireCode(t, 0)
	run("site.yaml").requireCode(t, 8)
	require.True(t, f.holds("s001", "systemctl is-active e2e-ral && systemctl is-enabled e2e-ral"))

	write(t, f.path("nope.yaml"), "ccm:\n  resources:\n    - ral:\n        - e2e-nope: {provider: \"service::systemd\", properties: {ensure: running}}\n")
	r = run("--limit", "s001", "--output", "json", "nope.yaml")
	r.requireCode(t, 2)
	require.Contains(t, r.stdout, `"error_kind":"unknown"`)

	// A user without permission gets the provider's own message, and nothing is half done.
	f.sh("s001", "systemctl stop e2e-ral")
	write(t, f.path("only.yaml"), "- hosts: s001\n  ccm:\n    resources:\n      - ral:\n          - e2e-ral: {type: service, properties: {ensure: running}}\n")
	r = f.push("-i", "deploy.yaml", "only.yaml")
	r.requireCode(t, 2)
	require.Contains(t, r.stdout, "provider service::systemd: ")
	require.False(t, f.holds("s001", "systemctl is-active e2e-ral"))
	f.push("-i", "deploy.yaml", "--become", "only.yaml").requireCode(t, 0)
	require.True(t, f.holds("s001", "systemctl is-active e2e-ral"))

	for _, who := range []string{"root.yaml", "deploy.yaml"} {
		f.push("-i", who, "clean", "s001").requireCode(t, 0)
	}
	require.Empty(t, f.sh("s001", "find / -xdev -name 'systemd.prov' 2>/dev/null || true"))
}

// TestRalOverRealSSHD has a provider that speaks JSON, with a companion, in a graph
// and in file order, on this machine.
func TestRalOverRealSSHD(t *testing.T) {
	t.Parallel()
	needs.Program(t, "python3")
	for _, strategy := range []string{"linear", "graph"} {
		t.Run(strategy, func(t *testing.T) {
			s := startSSHD(t, "")
			s.inventory(t, s.port, "id", "known_hosts")
			bring(t, s.dir, "providers")
			var b strings.Builder
			b.WriteString("- strategy: " + strategy + "\n  ccm:\n    resources:\n      - ral:\n")
			for _, name := range []string{"a", "b", "c", "d"} {
				b.WriteString("          - " + name + ": {type: kv, provider: python, properties: {ensure: present, value: \"it's " + name + "\", \"on\": true, tags: [x, " + name + "]}}\n")
			}
			write(t, s.path("site.yaml"), b.String())
			r := push(t, s.dir, "-i", "hosts.yaml", "--check", "--detailed-exitcode", "site.yaml")
			r.requireCode(t, 8)
			require.Contains(t, r.stdout, "4 would change")
			require.NotContains(t, s.said(t, "calls"), "set")
			r = push(t, s.dir, "-i", "hosts.yaml", "--detailed-exitcode", "site.yaml")
			r.requireCode(t, 8)
			require.Contains(t, r.stdout, "4 changed")
			require.Equal(t, 1, strings.Count(s.said(t, "calls"), "set "), "they go together")
			r = push(t, s.dir, "-i", "hosts.yaml", "--detailed-exitcode", "--output", "json", "site.yaml")
			r.requireCode(t, 0)
			require.Contains(t, r.stdout, `"state":{"before":`)
			var store map[string]struct {
				Value string
				On    bool
				Tags  []string
			}
			require.NoError(t, json.Unmarshal([]byte(s.said(t, "store.json")), &store))
			require.Len(t, store, 4)
			require.Equal(t, "it's d", store["d"].Value)
			require.Equal(t, []string{"x", "d"}, store["d"].Tags)
		})
	}
}

// said returns a file that a provider has written next to itself on the host.
func (s *server) said(t *testing.T, name string) string {
	t.Helper()
	found, err := filepath.Glob(s.path("home/.cache/ccm-push/resources/*/files/" + name))
	require.NoError(t, err)
	require.Len(t, found, 1)
	text, err := os.ReadFile(found[0])
	require.NoError(t, err)
	return string(text)
}
