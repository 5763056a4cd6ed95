//go:build e2e

package e2e

import (
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// canary is a secret that comes into runs in a way of its own.
func canary(way string) string { return "canary-" + way + "-7Wq2" }

// ways are the ways of the twelve secrets: plain and marked values in files, values and files encrypted by
// ansible-vault and age, the output of a program, the command line, a resource's own content, a result of a host, and a
// password.
var ways = []string{
	"marked", "vaulted", "vaultfile", "aged", "agefile", "printed", "extra", "stdin", "overridden", "content", "registered", "become",
}

// TestFleetCanaries sends each secret to a host, and searches for it in all other places: in everything that is printed
// and written here, in the host's files, and in /proc there.
func TestFleetCanaries(t *testing.T) {
	f := startFleet(t)
	f.setPassword("deploypw", canary("become"), "deploypw")
	f.sh("h001", "umask 77; echo "+canary("registered")+" > /tmp/e2e-hostsecret")
	args, sources := f.writeCanaries()

	f.sh("h001", `rm -f /tmp/e2e-stop /tmp/e2e-found; (while test ! -e /tmp/e2e-stop; do
		grep -azlE 'canary-[a-z]+-7Wq[2]' /proc/[0-9]*/cmdline /proc/[0-9]*/environ >> /tmp/e2e-found 2>/dev/null
	done; touch /tmp/e2e-over) > /dev/null 2>&1 < /dev/null &`)
	var said strings.Builder
	call := func(code int, words ...string) {
		t.Helper()
		cmd := pushCommand(t, f.dir, append(words, args...)...)
		cmd.Stdin = strings.NewReader("stdin: !secret " + canary("stdin") + "\n")
		r := ended(t, cmd)
		r.requireCode(t, code)
		said.WriteString(r.stdout + r.stderr)
	}
	call(0, "--check", "--diff", "-vv", "site.yaml")
	call(2, "--diff", "-vv", "--log", "run.jsonl", "--report", "run.html", "--report", "run.md", "--junit", "run.xml", "--trace", "run.otlp", "--metrics", "run.prom", "site.yaml")
	call(2, "--diff", "-v", "--output", "json", "site.yaml")
	call(2, "-q", "site.yaml")
	call(0, "render", "site.yaml", "h001")
	call(0, "explain", "site.yaml", "h001", "file#/etc/e2e/aged")
	for _, words := range [][]string{{"runs"}, {"runs", "show", "last"}, {"-i", "deploypw.yaml", "inventory", "--list"}} {
		r := f.push(words...)
		said.WriteString(r.stdout + r.stderr)
	}
	f.sh("h001", "touch /tmp/e2e-stop")
	f.awaits("h001", "test -e /tmp/e2e-over")

	require.Contains(t, said.String(), "[secret]")
	for _, way := range ways {
		if way != "become" {
			require.Equal(t, canary(way), strings.TrimSpace(f.sh("h001", "cat /etc/e2e/"+way)), "the control: it has come to the host")
		}
		require.NotContains(t, said.String(), canary(way))
		require.NotContains(t, said.String(), base64.StdEncoding.EncodeToString([]byte(canary(way)))[:16])
	}
	require.Empty(t, f.sh("h001", "cat /tmp/e2e-found"), "in command lines or environments")
	// Only root can read the records for undo (docs/guide/undo.md), and history: false keeps nothing.
	require.Empty(t, f.sh("h001", "grep -rlE 'canary-[a-z]+-7Wq2' /var /home /root /tmp /run /etc 2>/dev/null |"+
		" grep -v -e ^/etc/e2e/ -e ^/tmp/e2e-hostsecret -e ^/var/lib/ccm-push/history/ || true"))
	require.Empty(t, f.sh("h001", "find /var/lib/ccm-push/history ! -user root -o -type f -perm /077"))
	require.NoError(t, filepath.WalkDir(f.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || sources[path] {
			return err
		}
		text, err := os.ReadFile(path)
		require.NotRegexp(t, `canary-[a-z]+-7Wq2`, string(text), path)
		return err
	}))
}

// writeCanaries writes a project with all secrets, and returns the arguments of its runs and the files with a plain
// one.
func (f *fleet) writeCanaries() (args []string, sources map[string]bool) {
	f.Helper()
	sources = map[string]bool{}
	clear := func(name, text string) string {
		write(f, f.path(name), text)
		sources[f.path(name)] = true
		return f.path(name)
	}
	encrypt := func(name, text string, words ...string) {
		write(f, f.path(name), text)
		f.push(append(words, name)...).requireCode(f, 0)
	}
	require.NoError(f, os.MkdirAll(f.path(".ssh"), 0o700))
	output(f, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f.path(".ssh/id_ed25519"))
	public, err := os.ReadFile(f.path(".ssh/id_ed25519.pub"))
	require.NoError(f, err)
	write(f, f.path(".ccm-secrets.yaml"), fmt.Sprintf("people: {me: %s}\nrules: [{path: '**', to: me}]\n", strings.Join(strings.Fields(string(public))[:2], " ")))
	write(f, f.path("vault-password"), "correct horse\n")
	require.NoError(f, os.Chmod(f.path("vault-password"), 0o600))
	vault := func(words ...string) string {
		cmd := exec.Command("ansible-vault", append(words, "--vault-password-file", f.path("vault-password"))...)
		cmd.Stderr = nil
		text, err := cmd.Output()
		require.NoError(f, err)
		return string(text)
	}

	printed := clear("printed.txt", canary("printed")+"\n")
	clear("group_vars/all/marked.yaml", "marked: !secret "+canary("marked")+"\nprinted: {secret: {cmd: [cat, "+printed+"]}}\n")
	write(f, f.path("group_vars/all/vaulted.yaml"), vault("encrypt_string", "--name", "vaulted", canary("vaulted")))
	encrypt("group_vars/all/aged.yaml", "aged: !secret "+canary("aged")+"\n", "secret", "encrypt")
	encrypt("agefile.yaml", "agefile: "+canary("agefile")+"\n", "secret", "encrypt", "--whole")
	write(f, f.path("vaultfile.yaml"), "vaultfile: "+canary("vaultfile")+"\n")
	vault("encrypt", f.path("vaultfile.yaml"))
	clear("extra.yaml", "extra: !secret "+canary("extra")+"\n")
	sources[f.password(canary("become"))] = true
	var files strings.Builder
	for _, way := range ways[:9] {
		fmt.Fprintf(&files, "          - /etc/e2e/%s: {content: \"{{ Data.%[1]s }}\\n\"}\n", way)
	}
	clear("site.yaml", `
- name: canaries
  hosts: h001
  data: {overridden: nothing}
  overrides: {"host:h001": {overridden: !secret `+canary("overridden")+`}}
  hierarchy: {order: ["host:{{ Host.name }}"]}
  vars_files: [vaultfile.yaml, agefile.yaml]
  ccm:
    resources:
      - file:
          - /etc/e2e: {ensure: directory}
`+files.String()+`          - /etc/e2e/content: {content: "`+canary("content")+`\n", sensitive: true}
      - exec:
          - base64 /etc/e2e/marked: {}
          - cat /etc/e2e/vaulted: {}
          - cat /tmp/e2e-hostsecret: {readonly: true, sensitive: true, register: said}
      - file:
          - /etc/e2e/registered: {content: "{{ Results.said.stdout }}"}
          - /etc/e2e/none/aged: {content: "{{ Data.aged }}"}
`)
	return []string{
		"-i", f.as("deploypw"), "-b", "--become-password-file", "password", "--vault-password-file", "vault-password", "-e", "@extra.yaml", "-e", "@-",
	}, sources
}
