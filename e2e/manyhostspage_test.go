//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
)

// TestFleetManyHostsPage sets up workers with the commands of docs/guide/many-hosts.md: a broker and two workers on
// hosts, and three hosts that they process. invite and join print the text of the page.
func TestFleetManyHostsPage(t *testing.T) {
	const broker, first, second = "s004", "s005", "s006"
	f := startNamedHosts(t, "web1", "web2", "web3", "nats", "paris1", "paris2")
	f.trustAll()
	text, err := os.ReadFile("../docs/guide/many-hosts.md")
	require.NoError(t, err)
	_, setUp, _ := sectionOf(string(text), "Set up workers")
	_, runs, _ := sectionOf(string(text), "Run a play with workers")
	blocks := pageBlock.FindAllStringSubmatch(setUp, -1)
	require.Len(t, blocks, 5, "of the broker, hosts.yaml, your machine, invite and join")
	lines := func(block []string) []string { return strings.Split(strings.TrimSpace(block[3]), "\n") }
	m := &manyHosts{fleet: f, name: f.address("1.14")}

	f.send(broker, programPath(t, "ccm-push-broker"), "/usr/bin/ccm-push-broker")
	adds, serves := lines(blocks[0])[0], lines(blocks[0])[1]
	f.sh(broker, "cd /root && "+adds)
	m.background(broker, m.here(serves))
	for _, name := range []string{"ops.nk", "ops.pem"} {
		require.NoError(t, os.WriteFile(f.path(name), []byte(f.sh(broker, "cat /root/"+name)), 0o600))
	}
	require.Equal(t, "hosts.yaml", blocks[1][1])
	write(t, f.path("hosts.yaml"), f.here(blocks[1][3]))
	for _, line := range lines(blocks[2]) {
		if strings.HasPrefix(line, "export ") {
			m.exports = m.here(line) + "; "
			continue
		}
		m.begin("", line).ends(t)
	}
	invites, joins := strings.TrimPrefix(lines(blocks[3])[0], "$ "), strings.TrimPrefix(lines(blocks[4])[0], "$ ")
	for i, machine := range []string{first, second} {
		name := fmt.Sprint("paris", i+1)
		m.prepare(machine)
		invite := m.begin("", invites)
		require.Eventually(t, func() bool { return m.copied("token", machine) }, time.Minute, 50*time.Millisecond, "%s", &invite.printed)
		join := m.begin(machine, strings.Replace(joins, "paris1", name, 1))
		for _, one := range []*typing{invite, join} {
			require.Eventually(t, func() bool { return strings.Contains(one.printed.String(), "[y/N] ") }, time.Minute, 50*time.Millisecond, "%s", &one.printed)
		}
		prints := fingerprints.FindAllString(invite.printed.String()+join.printed.String(), -1)
		require.Len(t, prints, 2)
		require.Equal(t, prints[0], prints[1])
		invite.answers(t, "y")
		join.answers(t, "y")
		for block, printed := range map[int]string{3: invite.ends(t), 4: join.ends(t)} {
			_, want, _ := strings.Cut(blocks[block][3], "\n")
			require.Equal(t, m.plain(want), m.plain(strings.ReplaceAll(printed, name, "paris1")))
			if block == 4 {
				starts := strings.Split(strings.TrimSpace(printed), "\n")
				m.background(machine, onWorker(starts[len(starts)-1]))
			}
		}
	}

	write(t, f.path("site.yaml"), "- name: site\n  ccm: {resources: [file: [/etc/e2e-page: {content: \"{{ Host.name }} of {{ Host.user }}\\n\", owner: root, group: root, mode: \"0644\"}]]}\n")
	command := strings.TrimSpace(pageBlock.FindStringSubmatch(runs)[3])
	printed := m.begin("", command+" --wait-workers 1m").ends(t)
	require.Contains(t, printed, "3 hosts: 3 ok; 3 resources: 3 changed, 0 stable")
	for i, host := range []string{"s001", "s002", "s003"} {
		require.Equal(t, fmt.Sprintf("web%d of deploy\n", i+1), f.sh(host, "cat /etc/e2e-page"))
	}
	_, table, _ := sectionOf(string(text), "Which workers there are")
	shown := lines(pageBlock.FindStringSubmatch(table))
	listed := strings.Split(m.begin("", strings.TrimPrefix(shown[0], "$ ")).ends(t), "\n")
	require.Equal(t, strings.Fields(shown[1]), strings.Fields(listed[0]))
	for _, name := range []string{"paris1", "paris2"} {
		require.Regexp(t, "(?m)^"+name+" +paris +connected ", strings.Join(listed, "\n"))
	}
	// One worker is lost: the other one of the site has all hosts.
	f.sh(first, "pkill -KILL ccm-push")
	require.Contains(t, m.begin("", command).ends(t), "3 hosts: 3 ok; 3 resources: 0 changed, 3 stable")
}

var fingerprints = regexp.MustCompile(`([A-Z2-7]{4}-){3}[A-Z2-7]{4}`)

// manyHosts are the machines of the page.
type manyHosts struct {
	*fleet
	name    string // address of the broker, in place of its name
	exports string // the variables that the page sets
}

func (m *manyHosts) here(text string) string {
	return strings.ReplaceAll(m.fleet.here(text), "nats.example.com", m.name)
}

// plain returns the output of a command, without parts that differ between runs.
func (m *manyHosts) plain(text string) string {
	text = strings.NewReplacer(m.name, "nats.example.com", m.path("../home"), "/home/you", "/home/deploy", "/home/w").Replace(text)
	text = fingerprints.ReplaceAllString(text, "FINGERPRINT")
	return strings.TrimSpace(regexp.MustCompile(`\d\d:\d\d:\d\d`).ReplaceAllString(text, "TIME"))
}

// prepare installs ccm-push on the machine of a worker.
func (m *manyHosts) prepare(machine string) {
	m.send(machine, programPath(m, "ccm-push"), "/usr/bin/ccm-push")
	m.sh(machine, "mkdir -p /usr/lib/e2e-modules")
	entries, err := os.ReadDir(moduleDir(m))
	require.NoError(m, err)
	for _, e := range entries {
		m.send(machine, filepath.Join(moduleDir(m), e.Name()), "/usr/lib/e2e-modules/"+e.Name())
	}
}

// copied copies a file of this machine to the machine of a worker, once it is there.
func (m *manyHosts) copied(name, machine string) bool {
	text, err := os.ReadFile(m.path(name))
	if err != nil || !bytes.HasSuffix(text, []byte("\n")) {
		return false
	}
	cmd := m.command("exec", machine, "sh", "-c", "cat >/home/deploy/"+name+" && chown deploy /home/deploy/"+name)
	cmd.Stdin = bytes.NewReader(text)
	outputOf(m, cmd)
	return true
}

// onWorker is a command line for the account of a worker.
func onWorker(line string) string {
	return "runuser -u deploy -- env HOME=/home/deploy bash -c " + quoted(`cd; ccm-push() { /usr/bin/ccm-push --module-dir /usr/lib/e2e-modules "$@"; }; `+line)
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// background runs a command on a host until the end of the test.
func (m *manyHosts) background(host, line string) {
	cmd := m.command("exec", host, "sh", "-c", line)
	var printed text
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &printed, &printed, time.Second // the host ends the command later
	require.NoError(m, cmd.Start())
	m.Cleanup(func() {
		killed(cmd)
		if m.Failed() {
			m.Log(host, line, printed.String())
		}
	})
}

// A typing is a command on a terminal, of this machine or of the account of a worker.
type typing struct {
	cmd      *exec.Cmd
	terminal *os.File
	printed  text
	reading  sync.WaitGroup
	line     string
}

func (m *manyHosts) begin(machine, line string) *typing {
	c := &typing{line: line}
	if machine == "" {
		c.cmd = exec.Command("bash", "-c", fmt.Sprintf("ccm-push() { %s --module-dir %s --progress none \"$@\"; }; %s%s", programPath(m, "ccm-push"), moduleDir(m), m.exports, line))
		c.cmd.Dir = m.dir
		c.cmd.Env = []string{"HOME=" + m.path("../home"), "USER=root", "TERM=dumb", "PATH=/usr/bin:/bin"}
	} else {
		ssh := []string{"-tt", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", "-i", m.path("../home/.ssh/id_ed25519")}
		number := strings.TrimLeft(machine, "s0")
		c.cmd = exec.Command("ssh", append(ssh, "deploy@"+m.address("1.1"+number), `ccm-push() { /usr/bin/ccm-push --module-dir /usr/lib/e2e-modules "$@"; }; `+line)...)
	}
	var err error
	c.terminal, err = pty.Start(c.cmd)
	require.NoError(m, err)
	c.reading.Go(func() { _, _ = io.Copy(&c.printed, c.terminal) })
	m.Cleanup(func() {
		if c.cmd.ProcessState == nil {
			killed(c.cmd)
		}
		c.terminal.Close()
	})
	return c
}

func (c *typing) answers(t *testing.T, text string) {
	t.Helper()
	_, err := c.terminal.WriteString(text + "\n")
	require.NoError(t, err)
}

// ends waits until the command ends well, and returns the text of the terminal.
func (c *typing) ends(t *testing.T) string {
	t.Helper()
	err := c.cmd.Wait()
	c.reading.Wait()
	require.NoError(t, err, "%s\n%s", c.line, &c.printed)
	return strings.ReplaceAll(c.printed.String(), "\r\n", "\n")
}
