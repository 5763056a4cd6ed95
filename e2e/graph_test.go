//go:build e2e

package e2e

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// dropShuffled removes what the resources of this test have made.
const dropShuffled = `crontab -u e2eshuf -r; userdel e2eshuf; groupdel e2eshuf; groupdel e2emore; rm -rf /srv/e2e-shuf /usr/local/bin/e2e-shuf; :`

// shuffledResources depend on each other through their types and names: the manifest has only one notification and the
// source of one value.
var shuffledResources = []string{
	`service: [{e2e-shuf: {enable: true}}]`,
	`file: [{/srv/e2e-shuf/conf/app.conf: {content: "x\n", owner: e2eshuf, group: e2eshuf, mode: "0640", notify: ["service#e2e-shuf"]}}]`,
	`file: [{/srv/e2e-shuf/conf: {ensure: directory, owner: e2eshuf, group: e2emore, mode: "0750"}}]`,
	`file: [{/srv/e2e-shuf: {ensure: directory, owner: root, group: e2eshuf, mode: "0755"}}]`,
	`file: [{/srv/e2e-shuf/run.sh: {content: "#!/bin/sh\nexec sleep infinity\n", owner: root, group: root, mode: "0755"}}]`,
	`file: [{/etc/systemd/system/e2e-shuf.service: {content: "[Service]\nUser=e2eshuf\nExecStart=/srv/e2e-shuf/run.sh\n[Install]\nWantedBy=multi-user.target\n", owner: root, group: root, mode: "0644"}}]`,
	`user: [{e2eshuf: {group: e2eshuf, groups: [e2emore], home: /srv/e2e-shuf/home}}]`,
	`group: [{e2eshuf: {}}]`,
	`group: [{e2emore: {}}]`,
	`exec: [{token: {command: /srv/e2e-shuf/token.sh, creates: /srv/e2e-shuf/token}}]`,
	`file: [{/srv/e2e-shuf/token.sh: {content: "#!/bin/sh\ntouch /srv/e2e-shuf/token; echo from $$\n", owner: root, group: root, mode: "0755"}}]`,
	`file: [{/srv/e2e-shuf/conf/token: {owner: e2eshuf, group: e2eshuf, mode: "0600", recv: {content: "exec#token.stdout"}}}]`,
	`line: [{one: {path: /srv/e2e-shuf/conf/app.conf, line: one, ensure: absent}}]`,
	`cron: [{job: {user: e2eshuf, command: /srv/e2e-shuf/run.sh}}]`,
	`link: [{/usr/local/bin/e2e-shuf: {target: /srv/e2e-shuf/run.sh}}]`,
}

func shuffledSite(seed uint64, strategy string) string {
	list := append([]string(nil), shuffledResources...)
	rand.New(rand.NewPCG(seed, 1)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return "hosts: s001\n" + strategy + "\nccm:\n  resources:\n    - " + strings.Join(list, "\n    - ") + "\n"
}

// TestFleetGraph: resources in any order converge in one run, and not without the edges that ccm-push adds.
func TestFleetGraph(t *testing.T) {
	f := startServiceHost(t)
	t.Cleanup(func() { f.sh("s001", dropServices+"\n"+dropShuffled) })
	for seed := range uint64(4) {
		f.sh("s001", dropServices+"\n"+dropShuffled+"\nrm -rf /root/.cache")
		write(t, f.path("graph.yaml"), shuffledSite(seed, fmt.Sprintf("strategy: graph\nparallel: %d", 1+seed*3)))
		r := f.push("-i", "root.yaml", "--check", "--output", "json", "graph.yaml")
		r.requireCode(t, 0)
		predicted := outcomes(r.events(t))
		r = f.push("-i", "root.yaml", "--output", "json", "graph.yaml")
		r.requireCode(t, 0)
		f.requireForetold(predicted, outcomes(r.events(t)))
		r = f.push("-i", "root.yaml", "--detailed-exitcode", "graph.yaml")
		r.requireCode(t, 0)
		require.True(t, f.holds("s001", "systemctl is-active e2e-shuf && systemctl is-enabled e2e-shuf && grep -q '^from ' /srv/e2e-shuf/conf/token"))
		require.Equal(t, "e2eshuf e2emore 750\n", f.sh("s001", "stat -c '%U %G %a' /srv/e2e-shuf/conf"))
	}
	f.sh("s001", dropServices+"\n"+dropShuffled)
	// In the order of this list, which begins with the resource that needs all others.
	write(t, f.path("bare.yaml"), "hosts: s001\nstrategy: linear\nccm:\n  resources:\n    - "+strings.Join(withoutReferences(), "\n    - ")+"\n")
	f.push("-i", "root.yaml", "bare.yaml").requireCode(t, 2)
}

// withoutReferences returns the resources without the references that order them.
func withoutReferences() []string {
	var all []string
	for _, one := range shuffledResources {
		if !strings.Contains(one, "recv:") {
			all = append(all, strings.Replace(one, `, notify: ["service#e2e-shuf"]`, "", 1))
		}
	}
	return all
}
