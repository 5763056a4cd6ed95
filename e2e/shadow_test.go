//go:build e2e

package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
)

// TestFleetShadow compares check runs of Ansible and ccm-push on a host: first with the conversion of the playbook, then with another
// manifest.
func TestFleetShadow(t *testing.T) {
	needs.Program(t, "ansible-playbook")
	const host = "s001"
	f := startBeside(t, host)
	f.sh(host, "echo old >/srv/old; echo same >/srv/same; chmod 644 /srv/old /srv/same")
	t.Cleanup(func() { f.sh(host, "rm -f /srv/old /srv/same") })
	write(t, f.path("ssh_config"), f.tool("inventory", "--ssh"))
	write(t, f.path("ansible.cfg"), "[ssh_connection]\npipelining = true\nssh_args = -F "+f.path("ssh_config")+"\n")
	write(t, f.path("hosts"), host+" ansible_user=root ansible_python_interpreter=/usr/bin/python3\n")
	write(t, f.path("site.yml"), `
- hosts: all
  tasks:
    - name: changed
      copy: {content: "new\n", dest: /srv/old, mode: "0644"}
      notify: restart cron
    - name: equal
      copy: {content: "same\n", dest: /srv/same, mode: "0644"}
    - name: users
      user: {name: "{{ item }}"}
      loop: [root, shadow1]
    - name: lines
      lineinfile: {path: /srv/same, line: "{{ item }}"}
      loop: [same, more]
    - command: "true"
  handlers:
    - name: restart cron
      service: {name: cron, state: restarted}
`)
	shadow := func(code int, args ...string) string {
		r := f.push(append([]string{"from-ansible", "--shadow", "-i", "hosts", "-F", "ssh_config", "site.yml"}, args...)...)
		require.Equal(t, code, r.code, "%s\n%s", r.stdout, r.stderr)
		return r.stdout
	}
	equal := shadow(0)
	require.Equal(t, "5 compared: 4 equal, 0 different, 1 unknown\ntasks not compared: command 1\nresources not compared: exec 1\n", equal)

	write(t, f.path("other.yaml"), `
- hosts: all
  ccm:
    resources:
      - file:
          - /srv/same: {content: "other\n", owner: root, group: root, mode: "0644"}
          - /srv/only-here: {content: "x", owner: root, group: root, mode: "0644"}
      - user: [{shadow1: {}}]
`)
	require.Equal(t, `s001  path /srv/old
    Ansible: would change it (site.yml:4 changed)
    ccm-push: no resource
s001  path /srv/only-here
    Ansible: no task
    ccm-push: would change it
s001  service cron
    Ansible: would change it (site.yml:17 restart cron)
    ccm-push: no resource
6 compared: 3 equal, 3 different, 0 unknown
tasks not compared: command 1
`, shadow(8, "other.yaml"))
}
