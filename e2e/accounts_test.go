//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
)

// TestAccountTypes runs the conformance tests of the types that change accounts:
// they need root, whom other tests do without.
func TestAccountTypes(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		needs.Skip(t, "changing accounts needs root")
	}
	cmd := exec.Command("go", "test", "-count", "1", fmt.Sprintf("-short=%t", testing.Short()), "-v", "./modules/group", "./modules/user")
	cmd.Dir = ".."
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "--- PASS: TestPredictsGenerated (")
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "NOT TESTED") || strings.Contains(line, "predictions were certain") {
			t.Log(strings.TrimSpace(line))
		}
	}
}

const accountsSite = `
- hosts: all
  data: {hash: "*", key: "KEY"}
  ccm:
    resources:
      - group:
          - e2eapps: {gid: 1877}
          - e2esys: {system: true}
      - user:
          - e2eapp:
              uid: 1876
              group: e2eapps
              groups: [e2esys]
              shell: /bin/sh
              comment: The App
              password_hash: "{{ Data.hash }}"
              expires: never
              ssh_keys: ["{{ Data.key }}"]
              ssh_keys_exclusive: true
          - e2etwo: {system: true, create_home: false, shell: /usr/sbin/nologin}
      - file:
          - /home/e2eapp/etc: {ensure: directory, owner: e2eapp, group: e2eapps, mode: "0750"}
          - /home/e2eapp/etc/conf: {content: "x", owner: e2eapp, group: e2eapps, mode: "0640"}
      - exec:
          - id -un > /home/e2eapp/who:
              provider: shell
              user: e2eapp
              creates: /home/e2eapp/who
`

const accountsGone = `
- hosts: all
  ccm:
    resources:
      - user: [defaults: {ensure: absent}, e2eapp: {remove_home: true}, e2etwo: {}]
      - group: [defaults: {ensure: absent}, e2eapps: {}, e2esys: {}, e2etwo: {}]
`

// TestFleetAccounts creates users and groups with their homes and keys, logs in as one of them, and removes all. A
// check run predicts each run.
func TestFleetAccounts(t *testing.T) {
	f := startFleet(t)
	t.Cleanup(func() {
		for _, host := range hosts {
			f.sh(host, "userdel e2eapp; userdel e2etwo; groupdel e2eapps; groupdel e2esys; rm -rf /home/e2eapp; true")
		}
	})
	output(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "e2e", "-f", f.path("key"))
	public, err := os.ReadFile(f.path("key.pub"))
	require.NoError(t, err)
	hash := strings.TrimSpace(output(t, "openssl", "passwd", "-6", "-salt", "e2e", "hunter2"))
	write(t, f.path("accounts.yaml"), strings.ReplaceAll(accountsSite, "KEY", strings.TrimSpace(string(public))))
	write(t, f.path("gone.yaml"), accountsGone)

	f.foretells("accounts.yaml", "-e", "hash="+hash)
	require.Equal(t, "e2eapp\n", f.sh("h001", "cat /home/e2eapp/who"))
	require.Equal(t, "e2eapp:"+hash+"\n", f.sh("h002", "cut -d: -f1,2 /etc/shadow | grep e2eapp"))
	require.Equal(t, "e2eapp e2eapps 700\ne2eapp e2eapps 600\n", f.sh("h003", "cd /home/e2eapp/.ssh && stat -c '%U %G %a' . authorized_keys"))
	f.logsIn()

	f.awaits("h001", "! pgrep -u e2eapp")
	f.foretells("gone.yaml")
	require.False(t, f.holds("h001", "grep -q e2e /etc/passwd /etc/group || test -e /home/e2eapp"))
}

// foretells makes a check run, the run itself, in which all must succeed, and a
// second one, which changes nothing.
func (f *fleet) foretells(manifest string, flags ...string) {
	f.Helper()
	args := func(more ...string) []string {
		return append(append([]string{"-i", "root.yaml", "--detailed-exitcode", "--output", "json"}, flags...), more...)
	}
	r := f.push(args("--check", "--diff", manifest)...)
	r.requireCode(f, 8)
	predicted := outcomes(r.events(f))
	r = f.push(args("--diff", manifest)...)
	r.requireCode(f, 8)
	require.NotContains(f, r.stdout, "$6$", "a hash is shown")
	f.requireForetold(predicted, outcomes(r.events(f)))
	f.push(args(manifest)...).requireCode(f, 0)
}

// logsIn opens a session as the new user, with the new key.
func (f *fleet) logsIn() {
	f.Helper()
	config := f.tool("inventory", "--ssh", "--user", "e2eapp")
	write(f, f.path("ssh_config"), config)
	out := output(f, "ssh", "-F", f.path("ssh_config"), "-o", "IdentitiesOnly=yes", "-o", "IdentityFile="+f.path("key"), "h001", "id -Gn")
	require.Equal(f, "e2eapps e2esys\n", out)
}
