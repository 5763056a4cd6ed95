//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReverseOverRealSSHD removes resources from a manifest: a check run predicts the undo, a run restores the former
// state, and a second run does nothing.
func TestReverseOverRealSSHD(t *testing.T) {
	t.Parallel()
	s := startSSHD(t, "")
	s.inventory(t, s.port, "id", "known_hosts")
	require.NoError(t, os.Mkdir(s.path("root"), 0o755))
	before := strings.Repeat("what was there\x00\xff\n", 1000) // more than travels inline, and no text
	write(t, s.path("root/old"), before)
	write(t, s.path("root/lines"), "one\ntwo = 2\nthree")
	require.NoError(t, os.Chmod(s.path("root/old"), 0o640))
	require.NoError(t, os.Symlink("/nowhere", s.path("root/link")))
	site := func(resources string) {
		write(t, s.path("site.yaml"), fmt.Sprintf("name: reversed\nremembered_as: e2e/reverse-%d\nstrategy: graph\nccm:\n  resources:\n%s", os.Getpid(), resources))
	}
	run := func(args ...string) map[string]event {
		t.Helper()
		r := push(t, s.dir, append([]string{"-i", "hosts.yaml", "--output", "json"}, append(args, "site.yaml")...)...)
		r.requireCode(t, 0)
		return outcomes(r.events(t))
	}
	statuses := func(all map[string]event) map[string]string {
		list := map[string]string{}
		for name, e := range all {
			list[strings.ReplaceAll(name, s.path("root"), "")] = e.Status
		}
		return list
	}
	site(`    - file:
        - defaults: {owner: "{{ Data.me }}", group: "{{ Data.group }}", mode: "0600", reverse: true}
        - "{{ Data.root }}/old": {content: "mine\n"}
        - "{{ Data.root }}/dir": {ensure: directory}
        - "{{ Data.root }}/dir/new": {content: "mine\n"}
    - line: [{"{{ Data.root }}/lines": {line: two = 3, regexp: ^two, reverse: true}}]
    - link: [{"{{ Data.root }}/link": {target: /somewhere, reverse: true}}]
    - exec: [{"true": {}}]
`)
	run()
	changed, err := os.ReadFile(s.path("root/lines"))
	require.NoError(t, err)
	require.Equal(t, "one\ntwo = 3\nthree", string(changed))
	site("    - exec: [{\"true\": {}}]\n")
	want := map[string]string{
		"reversed web1 exec#true": "changed", "reversed web1 file#/old": "changed", "reversed web1 file#/dir": "changed", "reversed web1 file#/dir/new": "changed",
		"reversed web1 line#/lines": "changed", "reversed web1 link#/link": "changed",
	}
	require.Equal(t, want, statuses(run("--check")))
	require.Equal(t, map[string]string{"reversed web1 exec#true": "changed"}, statuses(run("--start-at", "exec#true")))
	require.FileExists(t, s.path("root/dir/new"))
	require.Equal(t, want, statuses(run()))

	text, err := os.ReadFile(s.path("root/old"))
	require.NoError(t, err)
	require.Equal(t, before, string(text))
	info, err := os.Stat(s.path("root/old"))
	require.NoError(t, err)
	require.Equal(t, "-rw-r-----", info.Mode().String())
	text, err = os.ReadFile(s.path("root/lines"))
	require.NoError(t, err)
	require.Equal(t, "one\ntwo = 2\nthree", string(text))
	target, err := os.Readlink(s.path("root/link"))
	require.NoError(t, err)
	require.Equal(t, "/nowhere", target)
	require.NoDirExists(t, s.path("root/dir"))
	require.Equal(t, map[string]string{"reversed web1 exec#true": "changed"}, statuses(run()), "it is undone once")
}
