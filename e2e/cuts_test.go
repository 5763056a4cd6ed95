//go:build e2e

package e2e

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/faultproxy"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/record"
)

// cutSite makes hosts log each command, wait for each other (semaphores, values, once, batches, a rollout), and use
// their reported results. One of them fails, so it enters no further play.
const cutSite = `
- name: values
  hostfacts: [FIRST]
  ccm:
    resources:
      - exec:
          - token: {provider: shell, command: "echo token >>/tmp/e2e-ran; echo the token", control: {if: "Host.name == 'FIRST'"}, export: [stdout]}
          - begins: {provider: shell, command: "echo begins >>/tmp/e2e-ran; echo {{ Host.name }}", sema: ["door:2"], register: begun}
      - file:
          - defaults: {owner: root, group: root, mode: "0600"}
          - /tmp/e2e-token: {control: {unless: "Host.name == 'FIRST'"}, recv: {content: {host: FIRST, from: exec#token.stdout}}}
          - /tmp/e2e-conf: {content: "{{ Results.begun.stdout_trimmed }} after {{ Hosts['FIRST'].facts.host.info.os }}\n"}
      - exec:
          - restarts: {provider: shell, command: "echo restarts >>/tmp/e2e-ran", refreshonly: true, subscribe: [file#/tmp/e2e-conf]}
          - alone: {provider: shell, command: "echo values >>/tmp/e2e-once", once: true}
          - slow: {provider: shell, command: "sleep 0.3; echo slow >>/tmp/e2e-ran"}
          - fails: {provider: shell, command: "echo fails >>/tmp/e2e-failed; false", control: {if: "Host.name == 'FAILS'"}}
          - ends: {provider: shell, command: "echo ends >>/tmp/e2e-ran"}
- name: batches
  serial: [2, 100%]
  ccm:
    resources:
      - exec:
          - each: {provider: shell, command: "echo each >>/tmp/e2e-ran"}
          - one of a batch: {provider: shell, command: "echo batches >>/tmp/e2e-once", once: true}
- name: rollout
  hosts: "!FAILS"
  rollout: {batches: [1, rest], soak: 1s}
  ccm:
    resources:
      - exec:
          - rolled: {provider: shell, command: "echo rolled >>/tmp/e2e-ran"}
          - restarted: {provider: shell, command: "echo restarted >>/tmp/e2e-ran", refreshonly: true, subscribe: [exec#rolled]}
`

// fleetCuts are the parts of a run over workers that can be lost, and how they return. If the coordinator is killed,
// the other machine continues the run.
var fleetCuts = []struct {
	name string
	cut  func(*cutRun)
}{
	{"terminal killed", func(r *cutRun) { _ = syscall.Kill(-r.terminal.Process.Pid, syscall.SIGKILL) }},
	{"attached terminal killed", func(r *cutRun) {
		killed(r.watching)
		r.watch()
	}},
	{"coordinator's link cut", func(r *cutRun) { r.links[cutWorkers].Away(cutTime) }},
	{"workers' links cut", func(r *cutRun) {
		for _, l := range r.links[:cutWorkers] {
			l.Away(cutTime)
		}
	}},
	{"hosts' links cut", (*cutRun).cutHosts},
	{"broker killed", func(r *cutRun) {
		killed(r.broker)
		r.serve()
	}},
	{"worker killed", func(r *cutRun) {
		n := r.seen % cutWorkers
		killed(r.workers[n])
		r.workers[n] = r.work(n)
	}},
	{"coordinator killed", func(r *cutRun) {
		r.killed = true
		require.NoError(r.tb, r.coordinator.Kill())
	}},
}

const (
	cutWorkers = 3
	// cutTime is the duration of a cut of the links to the broker.
	cutTime = 2 * time.Second
)

// TestFleetCuts cuts a run over three workers, with ccm-push-broker, at events. The hosts' logs and the records must
// equal those of an uncut run. With CCM_CUTS=N, each cut is made alone at each Nth event of CCM_CUTS_HOSTS hosts, in as
// many parallel runs as CCM_CUTS_FLEET hosts suffice for. Otherwise all cuts are made in one run of six hosts, at
// events that CCM_SEED chooses.
func TestFleetCuts(t *testing.T) {
	number := func(name string) int {
		n, _ := strconv.Atoi(os.Getenv(name))
		return n
	}
	every, size := number("CCM_CUTS"), cmp.Or(number("CCM_CUTS_HOSTS"), 6)
	total := max(number("CCM_CUTS_FLEET"), size)
	random := seeded(t)
	f := leaseFleet(t)
	if strings.Count(f.tool("status"), "\tlight\tup\n") < total {
		f.tool("up", fmt.Sprint(total))
		t.Cleanup(func() { f.tool("down") })
	}
	t.Cleanup(f.clean)
	lines := map[string]string{}
	var names []string
	for line := range strings.Lines(f.tool("inventory")) {
		if name, _, ok := strings.Cut(strings.TrimSpace(line), ": {"); ok {
			names, lines[name] = append(names, name), line
		}
	}
	f.trustsAuthority(names...)
	free := make(chan []string, total/size)
	for group := range slices.Chunk(names[:total/size*size], size) {
		free <- group
	}
	var want cutOutcome
	take := func(t *testing.T, cuts map[int]string) cutOutcome {
		group := <-free
		defer func() { free <- group }()
		r := newCutRun(t, f, group, lines)
		defer r.close()
		got := r.take(cuts)
		if len(cuts) > 0 {
			assert.Equal(t, want, got, "%v", cuts)
		}
		return got
	}
	want = take(t, nil)
	require.Len(t, want.Told, 12*size-4)
	if every == 0 {
		cuts := map[int]string{}
		for i, n := range random.Perm(len(want.Told) * 3 / 4)[:len(fleetCuts)] {
			cuts[1+n] = fleetCuts[i].name
		}
		take(t, cuts)
		return
	}
	for _, kind := range fleetCuts {
		for n := 1 + random.IntN(every); n < len(want.Told); n += every {
			t.Run(fmt.Sprintf("%s at %d", kind.name, n), func(t *testing.T) {
				t.Parallel()
				take(t, map[int]string{n: kind.name})
			})
		}
	}
}

// A cutOutcome is the outcome of a run, independent of the hosts' names.
type cutOutcome struct {
	Told  []string       // results in the records, except of failed resources
	Did   []string       // commands that ran on each host, in order, and the final state
	Alone map[string]int // how often what runs once has run, on all hosts together
}

// A cutRun is a run with its parts. Its last link belongs to the coordinator.
type cutRun struct {
	tb          testing.TB
	fleet       *fleet
	names       []string
	dir         string // where it is begun
	there       string // machine on which others follow and continue it
	address     string // address of the broker
	broker      *exec.Cmd
	links       []*faultproxy.Proxy
	workers     []*exec.Cmd
	terminal    *exec.Cmd
	watching    *exec.Cmd
	watched     *text // its output
	coordinator *os.Process
	begun       struct {
		Run string
		PID int
	}
	seen   int // results
	killed bool
	said   text // output of workers, the broker and the continued run
}

func newCutRun(tb testing.TB, f *fleet, names []string, lines map[string]string) *cutRun {
	dir := tb.TempDir()
	r := &cutRun{tb: tb, fleet: f, names: names, dir: filepath.Join(dir, "here"), there: filepath.Join(dir, "there")}
	inventory := "all:\n  hosts:\n"
	for _, name := range names {
		inventory += lines[name]
	}
	write(tb, filepath.Join(r.dir, "hosts.yaml"), inventory)
	write(tb, filepath.Join(r.dir, "site.yaml"), strings.NewReplacer("FIRST", names[0], "FAILS", names[1]).Replace(cutSite))
	for _, name := range []string{"ca", "ca.pub", "ca.sh", "worker", "worker.pub"} {
		outputOf(tb, exec.Command("cp", "-p", f.path(name), r.dir))
	}
	require.NoError(tb, os.CopyFS(r.there, os.DirFS(r.dir)))
	require.NoError(tb, os.Chmod(filepath.Join(r.there, "ca"), 0o600))
	var operators string
	for _, dir := range []string{r.dir, r.there} {
		key := filepath.Join(dir, "coordinator")
		outputOf(tb, exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", filepath.Base(dir), "-f", key))
		public, err := os.ReadFile(key + ".pub")
		require.NoError(tb, err)
		operators += string(public)
	}
	for _, dir := range []string{r.dir, r.there} {
		write(tb, filepath.Join(dir, "operators"), operators)
	}
	for _, role := range []string{"coordinator", "worker"} {
		outputOf(tb, exec.Command(programPath(tb, "ccm-push-broker"), "user", "add", role, "--role", role, "--dir", filepath.Join(r.dir, "broker"), "--out", filepath.Join(r.dir, role+".nk")))
	}
	r.address = freeAddress(tb)
	r.serve()
	for range cutWorkers + 1 {
		l, err := faultproxy.Listen(r.address)
		require.NoError(tb, err)
		r.links = append(r.links, l)
	}
	for n := range cutWorkers {
		r.workers = append(r.workers, r.work(n))
	}
	r.each("rm -rf /tmp/e2e-*")
	return r
}

func freeAddress(tb testing.TB) string {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	defer free.Close()
	return free.Addr().String()
}

// close ends what still runs.
func (r *cutRun) close() {
	if r.tb.Failed() {
		r.tb.Log(r.said.String())
	}
	for _, cmd := range append([]*exec.Cmd{r.terminal, r.watching, r.broker}, r.workers...) {
		if cmd != nil && cmd.ProcessState == nil {
			killed(cmd)
		}
	}
	if r.coordinator != nil {
		_ = r.coordinator.Kill()
	}
	for _, l := range r.links {
		_ = l.Close()
	}
}

func killed(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// serve starts the broker, with its stored data.
func (r *cutRun) serve() {
	r.broker = exec.Command(programPath(r.tb, "ccm-push-broker"), "--dir", filepath.Join(r.dir, "broker"), "--listen", r.address)
	require.NoError(r.tb, r.broker.Start())
	require.Eventually(r.tb, func() bool {
		conn, err := net.Dial("tcp", r.address)
		if err == nil {
			err = conn.Close()
		}
		return err == nil
	}, time.Minute, 20*time.Millisecond)
}

// command is a call of ccm-push in a folder that reaches the broker as a user of it, at a port.
func (r *cutRun) command(dir, as string, port string, args ...string) *exec.Cmd {
	cmd := pushCommand(r.tb, dir, append(args, "--workers", "tls://localhost:"+port)...)
	cmd.Env = append(cmd.Env, "NATS_CA="+filepath.Join(r.dir, "broker", "ca.pem"), "NATS_NKEY="+filepath.Join(r.dir, as+".nk"))
	return cmd
}

func (r *cutRun) work(n int) *exec.Cmd {
	cmd := r.command(r.dir, "worker", strconv.Itoa(r.links[n].Port()), "worker", "--key", "worker", "--coordinators", "operators")
	cmd.Stderr = &r.said
	require.NoError(r.tb, cmd.Start())
	return cmd
}

// elsewhere is a call on the other machine, whose link is never cut.
func (r *cutRun) elsewhere(args ...string) *exec.Cmd {
	_, port, err := net.SplitHostPort(r.address)
	require.NoError(r.tb, err)
	return r.command(r.there, "coordinator", port, append(args, "--workers-key", "coordinator", "--workers-operators", "operators", "--output", "json")...)
}

// watch has a terminal of the other machine follow the run.
func (r *cutRun) watch() {
	r.watching, r.watched = r.elsewhere("attach", r.begun.Run), &text{}
	r.watching.Stdout, r.watching.Stderr = r.watched, &r.said
	require.NoError(r.tb, r.watching.Start())
}

// begin begins the run, which leaves its terminal: a shell that stays.
func (r *cutRun) begin() {
	push := r.command(r.dir, "coordinator", strconv.Itoa(r.links[cutWorkers].Port()), "-i", "hosts.yaml", "--workers-key", "coordinator", "--workers-operators", "operators",
		"--workers-list", "worker.pub", "--ca-command", "./ca.sh", "--shard", strconv.Itoa(max(2, len(r.names)/6)), "--detach", "--output", "json", "site.yaml")
	r.terminal = exec.Command("/bin/sh", append([]string{"-c", `"$0" "$@"; exec sleep 3600`}, push.Args...)...)
	r.terminal.Dir, r.terminal.Env, r.terminal.Stderr = push.Dir, push.Env, os.Stderr
	r.terminal.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := r.terminal.StdoutPipe()
	require.NoError(r.tb, err)
	require.NoError(r.tb, r.terminal.Start())
	line, err := bufio.NewReader(out).ReadBytes('\n')
	require.NoError(r.tb, err)
	require.NoError(r.tb, json.Unmarshal(line, &r.begun), "%s", line)
	r.coordinator = processOf(r.tb, r.begun.PID)
}

// cutHosts kills the SSH sessions of root on all hosts.
func (r *cutRun) cutHosts() {
	var all sync.WaitGroup
	for _, name := range r.names {
		all.Go(func() { _ = r.fleet.command("exec", name, "pkill", "-KILL", "-f", "^sshd: root@").Run() })
	}
	all.Wait()
}

// each runs a script on each host, past SSH, and returns their output.
func (r *cutRun) each(script string) []string {
	printed, errs := make([]string, len(r.names)), make([]error, len(r.names))
	var all sync.WaitGroup
	for i, name := range r.names {
		all.Go(func() {
			out, err := r.fleet.command("exec", name, "sh", "-c", script).CombinedOutput()
			printed[i], errs[i] = string(out), err
		})
	}
	all.Wait()
	for i, err := range errs {
		require.NoError(r.tb, err, "%s: %s", r.names[i], printed[i])
	}
	return printed
}

// take completes the run. cuts is by the number of the result before each cut.
func (r *cutRun) take(cuts map[int]string) cutOutcome {
	r.begin()
	r.watch()
	follow := pushCommand(r.tb, r.dir, "attach", r.begun.Run, "--output", "json")
	out, err := follow.StdoutPipe()
	require.NoError(r.tb, err)
	var said text
	follow.Stderr = &said
	require.NoError(r.tb, follow.Start())
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		require.NoError(r.tb, err)
		var e event
		require.NoError(r.tb, json.Unmarshal(line, &e), "%s", line)
		if e.Event != "result" {
			continue
		}
		r.seen++
		for _, c := range fleetCuts {
			if cuts[r.seen] == c.name && !r.killed {
				c.cut(r)
			}
		}
	}
	_ = follow.Wait() // it ends as the run
	fmt.Fprintln(&r.said, said.String())
	store := r.dir
	if r.killed {
		store = r.there
		r.resume()
	} else {
		require.Equal(r.tb, 2, follow.ProcessState.ExitCode(), "%s", &said)
	}
	told := r.told(filepath.Join(store, ".local/state/ccm-push/runs"), &said)
	if !r.killed {
		_ = r.watching.Wait()
		require.Equal(r.tb, 2, r.watching.ProcessState.ExitCode(), "%s", r.watched)
		var watched []string
		for _, e := range (run{stdout: r.watched.String()}).events(r.tb) {
			if e.Event == "result" && e.Name != "fails" && !e.Check {
				watched = append(watched, r.line(e.Host, e.Play, e.Name, e.Status, e.Error))
			}
		}
		slices.Sort(watched)
		require.Equal(r.tb, told, watched)
	}
	return r.did(told)
}

// resume continues the run on the other machine, as soon as that is allowed.
func (r *cutRun) resume() {
	var out []byte
	require.Eventually(r.tb, func() bool {
		out, _ = r.elsewhere("resume", r.begun.Run).CombinedOutput()
		return !strings.Contains(string(out), "is coordinated by")
	}, 5*time.Minute, time.Second)
	require.Contains(r.tb, string(out), `"event":"summary"`)
	r.said.Write(out)
}

// line is a result, whatever its host is called.
func (r *cutRun) line(host, play, name, status, why string) string {
	return strings.TrimSpace(fmt.Sprintf("%02d %s %s %s %s", slices.Index(r.names, host), play, name, status, why))
}

// told returns the results in records.
func (r *cutRun) told(folder string, said fmt.Stringer) (all []string) {
	runs, err := record.Store{Folder: folder}.List()
	require.NoError(r.tb, err)
	own := map[string]bool{}
	for _, run := range runs {
		own[run.Run] = true
	}
	for _, run := range runs {
		for e, err := range run.Events() {
			require.NoError(r.tb, err)
			if u, is := e.(events.Untold); is && !own[u.Earlier] { // of the cut before on these hosts, whose record is not here
				continue
			}
			switch e := e.(type) {
			case events.Result:
				if e.Name != "fails" && !e.Check {
					all = append(all, r.line(e.Host, e.Play, e.Name, string(e.Status), e.Error))
				}
			case events.Untold, events.HostFailed, events.Unreachable, events.Interrupted:
				text, _ := json.Marshal(e)
				all = append(all, fmt.Sprintf("%T %s", e, text))
			}
		}
	}
	slices.Sort(all)
	return all
}

// did adds the logs of the hosts.
func (r *cutRun) did(told []string) cutOutcome {
	all := cutOutcome{Told: told, Alone: map[string]int{}}
	for i, printed := range r.each("cd /tmp; cat e2e-once 2>/dev/null; echo; cat e2e-ran; tail -n 1 e2e-failed 2>/dev/null; cat e2e-token 2>/dev/null; sed s/$(hostname)/NAME/ e2e-conf") {
		once, did, _ := strings.Cut("\n"+printed, "\n\n")
		for _, name := range strings.Fields(once) {
			all.Alone[name]++
		}
		all.Did = append(all.Did, fmt.Sprintf("%02d %s", i, strings.Join(strings.Split(strings.TrimSpace(did), "\n"), "; ")))
	}
	return all
}
