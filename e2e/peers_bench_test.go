//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A peer is another tool that can bring about W30.
type peer struct {
	name    string
	program string
	// command runs it over hosts of a folder with the workload.
	command func(f *benchFleet, n int) *exec.Cmd
	missing func() string // why it cannot run here; "" if it can
}

var peers = []peer{
	{"ansible", "ansible-playbook", ansible("ansible_default.cfg"), ansibleLacks("")},
	{"ansible-tuned", "ansible-playbook", ansible("ansible_tuned.cfg"), ansibleLacks("")},
	{"mitogen", "ansible-playbook", ansible("ansible_mitogen.cfg"), ansibleLacks(mitogenStrategy)},
	{"pyinfra", "pyinfra", func(f *benchFleet, n int) *exec.Cmd {
		return exec.Command("pyinfra", "-y", "--ssh-user", "root", "--ssh-key", filepath.Join(f.state, "key"),
			"--data", "ssh_known_hosts_file="+filepath.Join(f.state, "known_hosts"), strings.Join(f.names(n), ","), "pyinfra.py")
	}, func() string { return "" }},
}

// mitogenStrategy is the folder of plugins of Debian's ansible-mitogen.
const mitogenStrategy = "/usr/lib/python3/dist-packages/ansible_mitogen/plugins/strategy"

func ansibleLacks(folder string) func() string {
	return func() string {
		if _, err := os.Stat(folder); folder != "" && err != nil {
			return err.Error()
		}
		return ""
	}
}

func ansible(config string) func(*benchFleet, int) *exec.Cmd {
	return func(f *benchFleet, n int) *exec.Cmd {
		cmd := exec.Command("ansible-playbook", "-i", "ansible_hosts", "--limit", strings.Join(f.hosts[:n], ","), "ansible.yml")
		cmd.Env = append(os.Environ(), "ANSIBLE_CONFIG="+filepath.Join(f.dir, config))
		return cmd
	}
}

// names are the addresses of the first n hosts.
func (f *benchFleet) names(n int) []string {
	var all []string
	for _, port := range f.ports[:n] {
		host, _, _ := strings.Cut(port, ":")
		all = append(all, host)
	}
	return all
}

// BenchmarkPeers runs the W30 workload with other tools, alternating with ccm-push, on the same hosts: "x-ours" is
// their time divided by ccm-push's, for the first run and for a converged host.
func BenchmarkPeers(b *testing.B) {
	b.Setenv("FLEET_PACKAGES", "python3")
	f := startBenchFleet(b, 10, "command -v python3")
	f.peerFiles()
	for _, n := range []int{1, 10} {
		for _, p := range peers {
			b.Run(fmt.Sprintf("%s/hosts=%d", p.name, n), func(b *testing.B) {
				if _, err := exec.LookPath(p.program); err != nil {
					b.Skipf("NOT MEASURED: %v", err)
				}
				if why := p.missing(); why != "" {
					b.Skipf("NOT MEASURED: %s", why)
				}
				f.against(b, p, n)
			})
		}
	}
}

// against runs a peer and ccm-push in turns.
func (f *benchFleet) against(b *testing.B, p peer, n int) {
	run := func(cmd *exec.Cmd) cost {
		cmd.Dir = f.dir
		return ran(b, cmd)
	}
	var first, firstOurs, converged, convergedOurs []cost
	for b.Loop() {
		f.fresh(n)
		first = append(first, run(p.command(f, n)))
		converged = append(converged, run(p.command(f, n)))
		f.fresh(n)
		firstOurs = append(firstOurs, run(f.push(n)))
		convergedOurs = append(convergedOurs, run(f.push(n)))
	}
	wall := func(c cost) float64 { return float64(c.wall) / float64(time.Second) }
	b.ReportMetric(median(first, wall), "first-s")
	b.ReportMetric(median(first, wall)/median(firstOurs, wall), "first-x-ours")
	b.ReportMetric(median(converged, wall), "converged-s")
	b.ReportMetric(median(converged, wall)/median(convergedOurs, wall), "converged-x-ours")
}

// peerFiles writes the configurations and inventory of the peers.
func (f *benchFleet) peerFiles() {
	f.Helper()
	hosts := ""
	for i, name := range f.hosts {
		address, port, _ := strings.Cut(f.ports[i], ":")
		hosts += fmt.Sprintf("%s ansible_host=%s ansible_port=%s ansible_user=root ansible_python_interpreter=/usr/bin/python3\n", name, address, port)
	}
	write(f, filepath.Join(f.dir, "ansible_hosts"), hosts)
	base := fmt.Sprintf("[defaults]\nretry_files_enabled = false\nprivate_key_file = %s\n", filepath.Join(f.state, "key"))
	known := "-o UserKnownHostsFile=" + filepath.Join(f.state, "known_hosts")
	configs := map[string]string{
		"ansible_default.cfg": base + "[ssh_connection]\nssh_args = -C -o ControlMaster=auto -o ControlPersist=60s " + known + "\n",
		"ansible_tuned.cfg": base + "forks = 50\n[ssh_connection]\npipelining = true\n" +
			"ssh_args = -o ControlMaster=auto -o ControlPersist=60s " + known + "\n",
		"ansible_mitogen.cfg": base + "forks = 50\nstrategy_plugins = " + mitogenStrategy + "\nstrategy = mitogen_linear\n" +
			"[ssh_connection]\nssh_args = " + known + "\n",
	}
	for name, text := range configs {
		write(f, filepath.Join(f.dir, name), text)
	}
	require.NotEmpty(f, f.ports)
}
