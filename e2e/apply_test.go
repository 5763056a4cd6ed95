//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
)

// applySite has manifests in manifests, of which one fails.
const applySite = `
-- apply.yaml --
- hosts: s001
  data: {dir: /srv/apply-e2e}
  ccm:
    resources:
      - file: [/srv/apply-e2e: {ensure: directory, owner: root, group: root, mode: "0755"}]
      - apply:
          - web: {alias: good, require: [file#/srv/apply-e2e]}
          - web: {alias: bad, data: {dir: /srv/apply-e2e, name: bad, command: "false"}}
      - exec:
          - after good: {command: touch /srv/apply-e2e/after-good, refreshonly: true, subscribe: [file#/srv/apply-e2e/good.conf]}
          - of the whole: {command: touch /srv/apply-e2e/whole, refreshonly: true, subscribe: [apply#good]}
          - after bad: {command: touch /srv/apply-e2e/after-bad, require: [apply#bad]}
-- web/manifest.yaml --
data: {name: good, command: "true"}
ccm:
  fail_on_error: true
  pre_message: "{{ Data.name }} on {{ Facts.host.info.os }}"
  resources:
    - apply: [../base/manifest.yaml: ]
    - exec: ["decide {{ Data.name }}": {command: "{{ Data.command }}", creates: "/srv/apply-e2e/{{ Data.name }}.done"}]
    - file: ["{{ Data.dir }}/{{ Data.name }}.conf": {source: files/conf, owner: root, group: root, mode: "0644", require: ["file#{{ Data.dir }}/{{ Data.name }}.base"]}]
-- web/files/conf --
` + "\n"

// TestFleetApply applies nested manifests on a real host: their own data, failures, and references from outside.
func TestFleetApply(t *testing.T) {
	f := startFleet(t)
	if !strings.Contains(f.tool("status"), "s001\t") {
		f.tool("up", "1", "--systemd")
		t.Cleanup(func() { f.tool("down", "s001") })
	}
	write(t, f.path("root.yaml"), f.tool("inventory"))
	archive := txtar.Parse([]byte(applySite))
	archive.Files = append(archive.Files, txtar.File{Name: "base/manifest.yaml", Data: []byte(`
ccm:
  resources:
    - file: ["{{ Data.dir }}/{{ Data.name }}.base": {content: "base of {{ Data.name }}", owner: root, group: root, mode: "0644"}]
`)})
	for _, file := range archive.Files {
		path := f.path(file.Name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if file.Name == "web/files/conf" { // too large to travel in the catalog
			file.Data = []byte(strings.Repeat("conf\n", 1000))
		}
		write(t, path, string(file.Data))
	}
	f.sh("s001", "rm -rf /srv/apply-e2e /root/.cache")
	t.Cleanup(func() { f.sh("s001", "rm -rf /srv/apply-e2e /root/.cache") })

	r := f.push("-i", "root.yaml", "--output", "json", "-l", "s001", "apply.yaml")
	r.requireCode(t, 2)
	var seen []string
	for _, e := range r.events(t) {
		switch e.Event {
		case "result":
			seen = append(seen, strings.TrimSpace(e.Status+" "+e.Type+"#"+strings.ReplaceAll(e.Name, "/srv/apply-e2e", "")))
		case "message":
			seen = append(seen, "message")
		}
	}
	require.Equal(t, []string{
		"changed file#",
		"message",
		"changed file#/good.base", "changed apply#../base/manifest.yaml", "changed exec#decide good", "changed file#/good.conf", "changed apply#web",
		"message",
		"changed file#/bad.base", "changed apply#../base/manifest.yaml", "failed exec#decide bad", "skipped file#/bad.conf", "failed apply#web",
		"changed exec#after good", "changed exec#of the whole", "skipped exec#after bad",
	}, seen)
	require.True(t, f.holds("s001", "test -e /srv/apply-e2e/after-good -a -e /srv/apply-e2e/whole -a ! -e /srv/apply-e2e/after-bad -a ! -e /srv/apply-e2e/bad.conf"))
	require.Equal(t, "5000\n", f.sh("s001", "stat -c %s /srv/apply-e2e/good.conf"))
}
