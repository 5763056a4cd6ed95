//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
)

// gateSite makes a run wait between two changes until a test opens the gate. The gate contains the process id of the
// host program.
const gateSite = `
- hosts: h001
  ccm:
    resources:
      - file:
          - defaults: {owner: root, group: root, mode: "0644"}
          - /etc/e2e: {ensure: directory, mode: "0755"}
          - /etc/e2e/before: {content: "before"}
      - exec:
          - gate:
              provider: shell
              command: echo ran >>/tmp/e2e-ran; echo $PPID >/tmp/e2e-new && mv /tmp/e2e-new /tmp/e2e-waits; while ! test -e /tmp/e2e-go; do sleep 0.05; done
              unless: test -e /tmp/e2e-go
      - file:
          - /etc/e2e/after: {content: "after", owner: root, group: root, mode: "0644"}
`

// TestFleetKilledController kills ccm-push during a run. The current resource ends, its result is recorded, and the run
// is resumed.
func TestFleetKilledController(t *testing.T) {
	f := startFleet(t)
	write(t, f.path("site.yaml"), gateSite)
	run := pushCommand(t, f.dir, "-i", "root.yaml", "site.yaml")
	require.NoError(t, run.Start())
	f.awaits("h001", "test -e /tmp/e2e-waits")
	require.NoError(t, run.Process.Kill())
	require.Error(t, run.Wait())
	require.Regexp(t, `site\.yaml +killed: 1 host(, 1 not started)?; \d changed`, f.push("runs").stdout)
	require.True(t, f.holds("h001", "pgrep -f 'serv[e] '"), "the command that is running ends")
	f.sh("h001", "touch /tmp/e2e-go")
	f.awaits("h001", "! pgrep -f 'serv[e] '")
	require.False(t, f.holds("h001", "test -e /etc/e2e/after"), "nothing else begins")

	r := f.push("resume")
	r.requireCode(t, 0)
	require.NotContains(t, r.stdout, "untold", "it is told as what this run has done")
	require.Contains(t, r.stdout, "changed  exec#gate  executed")
	require.Contains(t, r.stdout, "changed  file#/etc/e2e/after")
	require.Regexp(t, `[2-4] changed, 0 stable`, r.stdout, "and what was not in the record yet")
	require.Equal(t, "ran\n", f.sh("h001", "cat /tmp/e2e-ran"))
	again := f.push("-i", "root.yaml", "site.yaml")
	again.requireCode(t, 0)
	require.NotContains(t, again.stdout, "untold")
}

// memoryCgroup creates a control group with a memory limit, and returns its folder and the file of the limit.
func memoryCgroup(t *testing.T, name string) (dir, limit string) {
	t.Helper()
	for _, c := range []struct{ root, limit string }{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, // version 1
		{"/sys/fs/cgroup", "memory.max"},
		{"/sys/fs/cgroup/unified", "memory.max"},
	} {
		dir = filepath.Join(c.root, name)
		_, err := os.Stat(filepath.Join(c.root, "cgroup.procs"))
		if err != nil || os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { os.Remove(dir) })
		if _, err := os.Stat(filepath.Join(dir, c.limit)); err == nil {
			return dir, filepath.Join(dir, c.limit)
		}
	}
	needs.Skip(t, "the memory of control groups cannot be limited here")
	return "", ""
}

// outsidePID returns the machine's number of a host's process.
func (f *fleet) outsidePID(host, inside string) string {
	f.Helper()
	namespace := func(pid string) string {
		link, _ := os.Readlink(filepath.Join("/proc", pid, "ns/pid"))
		return link
	}
	shell := strings.Fields(f.sh(host, "readlink /proc/1/ns/pid"))[0]
	all, err := filepath.Glob("/proc/[0-9]*/status")
	require.NoError(f, err)
	for _, file := range all {
		status, err := os.ReadFile(file)
		pid := filepath.Base(filepath.Dir(file))
		if err != nil || namespace(pid) != shell {
			continue
		}
		for line := range strings.Lines(string(status)) {
			if ids, found := strings.CutPrefix(line, "NSpid:"); found && strings.Fields(ids)[len(strings.Fields(ids))-1] == inside {
				return pid
			}
		}
	}
	f.Fatalf("no process is %s on %s", inside, host)
	return ""
}

// TestFleetOutOfMemory has the kernel kill the host program for the memory of its control
// group.
func TestFleetOutOfMemory(t *testing.T) {
	f := startFleet(t)
	dir, limit := memoryCgroup(t, fmt.Sprint("ccm-push-e2e-", f.number))
	write(t, f.path("site.yaml"), gateSite)
	run := pushCommand(t, f.dir, "-i", "root.yaml", "site.yaml")
	var said bytes.Buffer
	run.Stdout, run.Stderr = &said, &said
	require.NoError(t, run.Start())
	f.awaits("h001", "test -e /tmp/e2e-waits")
	pid := f.outsidePID("h001", strings.TrimSpace(f.sh("h001", "cat /tmp/e2e-waits")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(pid), 0))
	require.NoError(t, os.WriteFile(limit, []byte("4096"), 0))
	f.sh("h001", "touch /tmp/e2e-go")
	require.NoError(t, run.Wait(), said.String())
	require.Equal(t, 1, strings.Count(said.String(), "reconnected"), said.String())
	require.Regexp(t, "exit status 137: Killed|killed by signal KILL", said.String())
	require.Equal(t, 1, strings.Count(said.String(), "changed  file#/etc/e2e/before"), said.String())
	require.Equal(t, 1, strings.Count(said.String(), "changed  file#/etc/e2e/after"), said.String())
	require.Equal(t, "ran\n", f.sh("h001", "cat /tmp/e2e-ran"))
}

// TestFleetIgnoresTERM is about commands that end for no signal that can be ignored: at their
// timeout, when the run is killed, and when the host program is.
func TestFleetIgnoresTERM(t *testing.T) {
	f := startFleet(t)
	const stubborn = `trap "" TERM INT HUP; echo $$ >/tmp/e2e-stubborn; while :; do sleep 0.1; done`
	site := func(more string) {
		write(t, f.path("site.yaml"), "hosts: h001\nccm: {resources: [{exec: [{stubborn: {provider: shell, command: '"+stubborn+"'"+more+"}}, {after: {command: touch /tmp/e2e-after}}]}]}\n")
	}
	gone := func() { f.awaits("h001", "! kill -0 $(cat /tmp/e2e-stubborn) 2>/dev/null") }

	site(", timeout: 1s")
	r := f.push("-i", "root.yaml", "site.yaml")
	r.requireCode(t, 2)
	require.Contains(t, r.stdout, "failed   exec#stubborn")
	require.True(t, f.holds("h001", "test -e /tmp/e2e-after"))
	gone()

	site("")
	f.sh("h001", "rm /tmp/e2e-*")
	run := pushCommand(t, f.dir, "-i", "root.yaml", "site.yaml")
	require.NoError(t, run.Start())
	f.awaits("h001", "test -s /tmp/e2e-stubborn")
	for range 2 { // the first one lets the command end, the second one does not
		require.NoError(t, run.Process.Signal(syscall.SIGINT))
		f.sh("h001", "sleep 0.5")
	}
	require.Error(t, run.Wait())
	require.Equal(t, 130, run.ProcessState.ExitCode())
	gone()
	require.False(t, f.holds("h001", "test -e /tmp/e2e-after"))

	// The command survives a killed host program. The next run does not start while the command runs, and prints how to
	// end it.
	f.sh("h001", "rm /tmp/e2e-*")
	run = pushCommand(t, f.dir, "-i", "root.yaml", "--reconnect", "0", "site.yaml")
	require.NoError(t, run.Start())
	f.awaits("h001", "test -s /tmp/e2e-stubborn")
	f.sh("h001", "pkill -KILL -f 'serv[e] '")
	require.Error(t, run.Wait())
	r = f.push("-i", "root.yaml", "site.yaml")
	r.requireCode(t, 2)
	require.Regexp(t, "a killed run left commands on this host: .* to end them: ", r.stdout)
	_, end, _ := strings.Cut(r.stdout, "to end them: ")
	end, _, _ = strings.Cut(end, " (or kill -s KILL")
	f.sh("h001", end)
	require.True(t, f.holds("h001", "kill -0 $(cat /tmp/e2e-stubborn)"))
	f.sh("h001", strings.Replace(end, "kill", "kill -s KILL", 1))
	gone()
	write(t, f.path("site.yaml"), "hosts: h001\nccm: {resources: [{exec: [{after: {command: touch /tmp/e2e-after}}]}]}\n")
	f.push("-i", "root.yaml", "site.yaml").requireCode(t, 0)
}

// TestFleetStuckFacts has a kernel file that can never be read to its end: the run continues without its facts.
func TestFleetStuckFacts(t *testing.T) {
	f := startFleet(t)
	f.set("mkfifo /run/e2e-stuck && mount --bind /run/e2e-stuck /proc/meminfo", "umount /proc/meminfo; rm /run/e2e-stuck")
	write(t, f.path("site.yaml"), "hosts: h001\nccm: {resources: [{file: [{/tmp/e2e-facts: {content: \"{{ Facts.memory.virtual.total ?? 'unknown' }} {{ Facts.host.info.os }}\", owner: root, group: root, mode: \"0644\"}}]}]}\n")
	r := f.push("-i", "root.yaml", "site.yaml")
	r.requireCode(t, 0)
	require.Contains(t, r.stderr, "h001: facts are incomplete: ")
	require.Contains(t, r.stderr, "memory: timed out after 2s")
	require.Equal(t, "unknown linux", f.sh("h001", "cat /tmp/e2e-facts"))
	f.awaits("h001", "! pgrep -f 'serv[e] '")
}

// TestFleetCutCommand ends the host program, and then the host, while a command runs that nothing makes safe to repeat.
func TestFleetCutCommand(t *testing.T) {
	f := startFleet(t)
	site := func(rest string) {
		write(t, f.path("site.yaml"), `hosts: h001
ccm:
  resources:
    - exec:
        - first: {provider: shell, command: "echo first >>/srv/e2e-log"}
        - long: {provider: shell, command: "echo begin >>/srv/e2e-log; sleep 3; echo end >>/srv/e2e-log"`+rest+`}
        - needs: {provider: shell, command: "echo needs >>/srv/e2e-log", require: [exec#long]}
        - last: {provider: shell, command: "echo last >>/srv/e2e-log"}
`)
	}
	log := func() string { return strings.TrimSpace(f.sh("h001", "cat /srv/e2e-log")) }
	for _, tt := range []struct {
		name, rest string
		cut        func()
		code       int
		said, want string
		resumed    string // after ccm-push resume
	}{
		{"host program killed", "", func() { f.sh("h001", "pkill -KILL -f 'serv[e] '") }, 2, "failed   exec#long  outcome unknown", "first\nbegin\nend\nlast", "first\nbegin\nend\nlast"},
		{"host program killed, a guard", `, unless: "false"`, func() { f.sh("h001", "pkill -KILL -f 'serv[e] '") }, 0, "the command was cut, and runs again", "first\nbegin\nend\nbegin\nend\nneeds\nlast", ""},
		{"host restarted", "", func() { require.NoError(t, f.command("restart", "h001").Run()) }, 2, "failed   exec#long  outcome unknown", "first\nbegin\nlast", "first\nbegin\nlast"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f.sh("h001", "rm -f /srv/e2e-log")
			site(tt.rest)
			run := pushCommand(t, f.dir, "-i", "root.yaml", "site.yaml")
			var out strings.Builder
			run.Stdout = &out
			require.NoError(t, run.Start())
			f.awaits("h001", "grep -qx begin /srv/e2e-log")
			tt.cut()
			_ = run.Wait()
			require.Equal(t, tt.code, run.ProcessState.ExitCode(), out.String())
			require.Contains(t, out.String(), tt.said)
			require.Equal(t, tt.want, log(), out.String())
			if tt.resumed == "" {
				return
			}
			require.Contains(t, out.String(), "hint: check the outcome of the command on h001")
			require.Contains(t, out.String(), "outcome unknown: exec#long on h001")
			r := f.push("resume")
			r.requireCode(t, 2)
			require.Contains(t, r.stdout, "failed   exec#long  outcome unknown")
			require.Equal(t, tt.resumed, log(), r.stdout)
			site(", rerun: true")
			r = f.push("resume", "--replan")
			r.requireCode(t, 0)
			require.Equal(t, tt.resumed+"\nbegin\nend\nneeds", log(), r.stdout)
		})
	}
}
