//go:build e2e

package e2e

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
)

// hosts are the hosts of the fleet that the tests use.
var hosts = []string{"h001", "h002", "h003"}

// A fleet is hosts of e2e/fleet, for a test alone, and a folder with a site for them.
type fleet struct {
	testing.TB
	dir    string
	number int // FLEET
}

// fleets holds the numbers of the free fleets: six, or the numbers in FLEET ("5 9"). That many host tests run at once,
// if -parallel allows it: each test uses about a quarter of a processor.
var fleets = func() chan int {
	own := strings.Fields(cmp.Or(os.Getenv("FLEET"), "0 1 2 3 4 5"))
	numbers := make(chan int, len(own))
	for _, text := range own {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > 9 {
			panic(fmt.Sprintf("FLEET=%s: %q is no number of a fleet (0-9)", os.Getenv("FLEET"), text))
		}
		numbers <- n
	}
	return numbers
}()

// leaseFleet gives a test a fleet until its end; tests with other fleets run in parallel.
func leaseFleet(t *testing.T) *fleet {
	t.Helper()
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		needs.Skip(t, "hosts need Linux and root")
	}
	t.Parallel()
	f := &fleet{t, t.TempDir(), <-fleets}
	t.Cleanup(func() { fleets <- f.number })
	return f
}

// in is the same fleet in another test, such as one of its own.
func (f *fleet) in(tb testing.TB) *fleet { return &fleet{tb, f.dir, f.number} }

// startFleet has three clean hosts. A fleet that is up stays up.
func startFleet(t *testing.T) *fleet {
	t.Helper()
	f := leaseFleet(t)
	if strings.Count(f.tool("status"), "\tlight\tup\n") < len(hosts) {
		f.tool("up", fmt.Sprint(len(hosts)))
		t.Cleanup(func() { f.tool("down") })
	}
	f.clean()
	t.Cleanup(f.clean)
	require.NoError(t, os.CopyFS(f.dir, os.DirFS("testdata/site")))
	write(t, f.path("root.yaml"), f.tool("inventory"))
	write(t, f.path("deploy.yaml"), f.tool("inventory", "--user", "deploy"))
	return f
}

func (f *fleet) path(name string) string { return filepath.Join(f.dir, name) }

// address returns an address of its network: "0.11" is the address of h001.
func (f *fleet) address(host string) string { return fmt.Sprintf("10.%d.%s", 78+f.number, host) }

func (f *fleet) command(args ...string) *exec.Cmd {
	cmd := exec.Command("fleet/fleet", args...)
	cmd.Env = append(os.Environ(), fmt.Sprint("FLEET=", f.number))
	return cmd
}

func (f *fleet) tool(args ...string) string {
	f.Helper()
	return outputOf(f, f.command(args...))
}

// send writes a program to a host, past SSH.
func (f *fleet) send(host, program, to string) {
	f.Helper()
	text, err := os.ReadFile(program)
	require.NoError(f, err)
	cmd := f.command("exec", host, "sh", "-c", "cat >"+to+" && chmod 755 "+to)
	cmd.Stdin = bytes.NewReader(text)
	outputOf(f, cmd)
}

// sh runs a script as root on a host, past SSH.
func (f *fleet) sh(host, script string) string {
	f.Helper()
	return f.tool("exec", host, "sh", "-c", script)
}

// holds reports whether a condition of sh is true on a host.
func (f *fleet) holds(host, condition string) bool {
	return f.command("exec", host, "sh", "-c", condition).Run() == nil
}

func (f *fleet) awaits(host, condition string) {
	f.Helper()
	require.Eventually(f, func() bool { return f.holds(host, condition) }, time.Minute, 50*time.Millisecond, "%s: %s", host, condition)
}

// clean removes what tests leave on hosts. A host program that is ending may still write there.
func (f *fleet) clean() {
	for _, host := range hosts {
		f.awaits(host, "rm -rf /etc/e2e /tmp/e2e-* /root/.cache /home/deploy/.cache /var/tmp/ccm-push-* /var/lib/ccm-push")
	}
}

func (f *fleet) push(args ...string) run {
	f.Helper()
	return push(f, f.dir, args...)
}

// An event is a line of --output json.
type event struct {
	Event, Play, Host, On, Type, Name, Status, Error, Phase string
	Message, Because                                        string
	Tries                                                   int
	Check, Refreshed, Certain                               bool
	State                                                   any // a string for a host, an object for a resource
	Hosts                                                   json.RawMessage
}

// events reads JSON Lines, of which nothing else may be on stdout.
func (r run) events(tb testing.TB) []event {
	tb.Helper()
	var all []event
	for line := range strings.Lines(r.stdout) {
		var e event
		require.NoError(tb, json.Unmarshal([]byte(line), &e), "%q", line)
		all = append(all, e)
	}
	require.NotEmpty(tb, all)
	require.Equal(tb, "summary", all[len(all)-1].Event)
	return all
}

// outcomes returns the outcome of every resource, by play, host and name.
func outcomes(all []event) map[string]event {
	byName := map[string]event{}
	for _, e := range all {
		if e.Event == "result" {
			byName[e.Play+" "+e.Host+" "+e.Type+"#"+e.Name] = e
		}
	}
	return byName
}

func only(all []event, name string) []event {
	var some []event
	for _, e := range all {
		if e.Event == name {
			some = append(some, e)
		}
	}
	return some
}

func TestFleetConverges(t *testing.T) {
	f := startFleet(t)
	f.sh("h001", "mkdir -p /etc/e2e/old/deep && echo other > /etc/e2e/motd")
	r := f.push("-i", "deploy.yaml", "--check", "--diff", "--detailed-exitcode", "--output", "json", "site.yaml")
	r.requireCode(t, 8)
	predicted := outcomes(r.events(t))
	require.False(t, f.holds("h002", "test -e /etc/e2e"), "a check run has changed something")

	r = f.push("-i", "deploy.yaml", "--detailed-exitcode", "--output", "json", "site.yaml")
	r.requireCode(t, 8)
	require.NotContains(t, r.stdout, "s3cret")
	f.requireForetold(predicted, outcomes(r.events(t)))
	f.requireSite()

	r = f.push("-i", "deploy.yaml", "--output", "json", "site.yaml")
	r.requireCode(t, 0)
	for name, e := range outcomes(r.events(t)) {
		if !strings.Contains(name, "only-predicted") {
			require.Contains(t, []string{"stable", "skipped"}, e.Status, name)
		}
	}
}

// requireForetold holds a check run against the run that followed.
func (f *fleet) requireForetold(predicted, real map[string]event) {
	f.Helper()
	require.Len(f, predicted, len(real))
	certain := 0
	for name, p := range predicted {
		if !p.Certain {
			continue
		}
		certain++
		require.Equal(f, p.Status, real[name].Status, name)
		require.Equal(f, p.Refreshed, real[name].Refreshed, name)
	}
	f.Logf("%d of %d predictions were certain, and all of those right", certain, len(real))
}

// requireSite looks at what the manifest has made, past SSH.
func (f *fleet) requireSite() {
	f.Helper()
	require.Equal(f, "Welcome to h001 (debian).\n", f.sh("h001", "cat /etc/e2e/motd"))
	require.Equal(f, "Welcome to h002 (special).\n", f.sh("h002", "cat /etc/e2e/motd"))
	require.Equal(f, "listen 8081; # debian\n", f.sh("h003", "cat /etc/e2e/blog.conf"))
	require.Equal(f, "shop and blog on linux\n", f.sh("h003", "cat /etc/e2e/go.conf"))
	require.Equal(f, "root root 600 s3cret\n", f.sh("h001", "stat -c '%U %G %a' /etc/e2e/secret | tr '\\n' ' '; cat /etc/e2e/secret"))
	require.Equal(f, "deploy\n", f.sh("h001", "cat /tmp/e2e-who"))
	require.Equal(f, "deploy deploy 640\n", f.sh("h001", "stat -c '%U %G %a' /tmp/e2e-home"))
	big, err := os.ReadFile(f.path("files/big"))
	require.NoError(f, err)
	require.Equal(f, string(big), f.sh("h001", "cat /etc/e2e/big"))
	for _, host := range hosts {
		require.True(f, f.holds(host, "test -e /etc/e2e/reloaded -a -s /etc/e2e/index"), host)
		require.False(f, f.holds(host, "test -e /etc/e2e/never -o -e /etc/e2e/only-predicted -o -e /etc/e2e/old"), host)
	}
}

// TestFleetPartlyBroken has a host that is down, one whose key is unknown, one
// with a resource that fails, and one where all is well.
func TestFleetPartlyBroken(t *testing.T) {
	f := startFleet(t)
	key := regexp.MustCompile(`private_key: ([^,]*)`).FindStringSubmatch(f.tool("inventory"))[1]
	write(t, f.path("broken.yaml"), `all:
  hosts:
    h002: {command: "false"}
    h003: {connect: {known_hosts: nobody}}
    h250: {connect: {address: `+f.address("250.250")+`, private_key: `+key+`}}
`)
	write(t, f.path("nobody"), "")
	write(t, f.path("command.yaml"), `
- hosts: all
  data: {command: "true"}
  ccm:
    resources:
      - exec: [{"{{ Data.command }}": {alias: command}}]
      - file: [{/etc/e2e: {ensure: directory, owner: root, group: root, mode: "0755", require: [exec#command]}}]
- name: never for those that failed
  hosts: all
  ccm: {resources: [{exec: [{"touch /tmp/e2e-second": }]}]}
`)
	r := f.push("-i", "root.yaml", "-i", "broken.yaml", "-T", "5", "--output", "json", "command.yaml")
	r.requireCode(t, 6)
	all := r.events(t)
	states := map[string]string{}
	for _, e := range only(all, "host_done") {
		states[e.Host] = e.State.(string)
	}
	require.Equal(t, map[string]string{"h001": "ok", "h002": "failed", "h003": "unreachable", "h250": "unreachable"}, states)
	for _, e := range only(all, "unreachable") {
		t.Logf("%s: %s", e.Host, e.Error)
	}
	require.Equal(t, "skipped", outcomes(all)["command h002 file#/etc/e2e"].Status)
	require.True(t, f.holds("h001", "test -d /etc/e2e -a -e /tmp/e2e-second"))
	require.False(t, f.holds("h002", "test -e /etc/e2e -o -e /tmp/e2e-second"))
}

// background starts a run on h001 and waits until a condition is true there.
func (f *fleet) background(condition string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	f.Helper()
	cmd := pushCommand(f, f.dir, append([]string{"-i", "root.yaml", "-l", "h001"}, args...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(f, cmd.Start())
	f.awaits("h001", condition)
	return cmd, &out
}

// The first resource waits for a file, and then one more second, in which the host receives the stop.
const waiting = `
ccm:
  resources:
    - exec:
        - first:
            provider: shell
            command: "touch /tmp/e2e-started; until test -e /tmp/e2e-go; do sleep 0.1234; done; sleep 1; touch /tmp/e2e-finished"
        - touch /tmp/e2e-second:
`

func TestFleetInterruptedOnce(t *testing.T) {
	f := startFleet(t)
	write(t, f.path("waiting.yaml"), waiting)
	cmd, out := f.background("test -e /tmp/e2e-started", "waiting.yaml")
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	f.sh("h001", "touch /tmp/e2e-go")
	cmd.Wait()
	require.Equal(t, 130, cmd.ProcessState.ExitCode(), out)
	require.True(t, f.holds("h001", "test -e /tmp/e2e-finished"), "the resource that was running was not finished: %s", out)
	require.False(t, f.holds("h001", "test -e /tmp/e2e-second"), "another resource has begun: %s", out)
	f.awaits("h001", "! pgrep -f 'ccm-pus[h]'")
}

func TestFleetInterruptedTwice(t *testing.T) {
	f := startFleet(t)
	write(t, f.path("waiting.yaml"), waiting)
	cmd, out := f.background("pgrep -f 'sleep 0.123[4]'", "waiting.yaml")
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM)) // unlike a second SIGINT, it cannot merge with the first
	cmd.Wait()
	require.Equal(t, 130, cmd.ProcessState.ExitCode(), out)
	f.awaits("h001", "! pgrep -f 'e2e-starte[d]' && ! pgrep -f 'ccm-pus[h]'")
	require.False(t, f.holds("h001", "test -e /tmp/e2e-finished -o -e /tmp/e2e-second"), out)
}

// TestFleetBecome has a user who may use sudo; the host program is root's alone.
func TestFleetBecome(t *testing.T) {
	f := startFleet(t)
	r := f.push("-i", "deploy.yaml", "-b", "all", "exec", "id -un; id -gn; umask")
	r.requireCode(t, 0)
	require.Equal(t, 3, strings.Count(r.stdout, "root\nroot\n0022\n"), r.stdout)
	for _, host := range hosts {
		require.Equal(t, "root root 700\n", f.sh(host, "stat -c '%U %G %a' /root/.cache/ccm-push"))
		require.Equal(t, "root root 700\n", f.sh(host, "stat -c '%U %G %a' /root/.cache/ccm-push/[0-9a-f]*"))
		require.False(t, f.holds(host, "test -e /home/deploy/.cache"), "%s: deploy has a copy", host)
	}
	r = f.push("-i", "deploy.yaml", "all", "exec", "id -un")
	r.requireCode(t, 0)
	require.Equal(t, "deploy 700\n", f.sh("h001", "stat -c '%U %a' /home/deploy/.cache/ccm-push"))

	write(t, f.path("pw.yaml"), f.tool("inventory", "--user", "deploypw"))
	r = f.push("-i", "pw.yaml", "-b", "--output", "json", "h001", "exec", "id -un")
	r.requireCode(t, 2)
	failed := only(r.events(t), "host_failed")
	require.Len(t, failed, 1)
	require.Equal(t, "become", failed[0].Phase)
	t.Logf("sudo with a password: %s", failed[0].Error)
}

// TestFleetFullDisk leaves no space for the host program in its usual place: the program is installed elsewhere, and no
// file remains.
func TestFleetFullDisk(t *testing.T) {
	f := startFleet(t)
	for _, inventory := range []string{"root.yaml", "deploy.yaml"} { // as oneself, and through sudo
		t.Run(inventory, func(t *testing.T) {
			f.sh("h001", "mkdir -p -m 700 /root/.cache /root/.cache/ccm-push && mount -t tmpfs -o size=64k,mode=700 tmpfs /root/.cache/ccm-push")
			t.Cleanup(func() { f.sh("h001", "umount /root/.cache/ccm-push; rm -rf /root/.cache/ccm-push /var/tmp/ccm-push-0") })
			f.push("-i", inventory, "-b", "h001", "exec", "true").requireCode(t, 0)
			require.NotEmpty(t, f.sh("h001", "ls /var/tmp/ccm-push-0"))
			require.Empty(t, f.sh("h001", "ls -A /root/.cache/ccm-push"), "a part of a file was left")
		})
	}
}

// TestFleetHealsTheHostProgram starts with a damaged copy of the host program. A folder that others can write to is not
// used.
func TestFleetHealsTheHostProgram(t *testing.T) {
	f := startFleet(t)
	for _, test := range []struct{ name, damage, then string }{
		{"truncated", "truncate -s 1000 $f", "/root/.cache/ccm-push"},
		{"empty", "true > $f", "/root/.cache/ccm-push"},
		// Size, owner and mode are right: only its start shows the damage.
		{"of other bytes at its start", "dd if=/dev/zero of=$f bs=4096 count=16 conv=notrunc 2>&1", "/root/.cache/ccm-push"},
		{"of other bytes in the middle", "dd if=/dev/zero of=$f bs=4096 seek=16 count=900 conv=notrunc 2>&1", "/root/.cache/ccm-push"},
		{"not executable", "chmod 600 $f", "/root/.cache/ccm-push"},
		{"another user's", "chown deploy $f", "/root/.cache/ccm-push"},
		{"a symbolic link", "mv $f /root/.cache/other && ln -s /root/.cache/other $f", "/root/.cache/ccm-push"},
		{"a folder that others can write to", "chmod 777 /root/.cache/ccm-push", "/var/tmp/ccm-push-0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f.clean()
			f.push("-i", "root.yaml", "h001", "exec", "true").requireCode(t, 0)
			// A program that is just ending cannot be written to. (In dash, : > would end the shell.)
			f.sh("h001", "f=$(echo /root/.cache/ccm-push/[0-9a-f]*); n=0; until "+test.damage+"; do [ $((n += 1)) -lt 50 ] || exit 1; sleep 0.1; done")
			f.push("-i", "root.yaml", "h001", "exec", "true").requireCode(t, 0)
			f.push("-i", "root.yaml", "h001", "exec", "true").requireCode(t, 0)
			require.Equal(t, "root 700\nroot 700\n", f.sh("h001", "stat -c '%U %a' "+test.then+" "+test.then+"/[0-9a-f]*"))
		})
	}
}

func TestFleetLock(t *testing.T) {
	f := startFleet(t)
	write(t, f.path("waiting.yaml"), waiting)
	write(t, f.path("other.yaml"), "ccm: {resources: [{exec: [{touch /tmp/e2e-other: }]}]}\n")
	first, out := f.background("test -e /tmp/e2e-started", "waiting.yaml")

	r := f.push("-i", "root.yaml", "-l", "h001", "--output", "json", "other.yaml")
	r.requireCode(t, 2)
	failed := only(r.events(t), "host_failed")
	require.Len(t, failed, 1)
	require.Equal(t, "lock", failed[0].Phase)
	require.Contains(t, failed[0].Error, "another run is in progress on this host: root@")
	t.Logf("%s", failed[0].Error)

	// Check runs and ad-hoc commands do not wait.
	f.push("-i", "root.yaml", "-l", "h001", "--check", "other.yaml").requireCode(t, 0)
	f.push("-i", "root.yaml", "h001", "exec", "true").requireCode(t, 0)
	f.push("-i", "root.yaml", "facts", "h001", "host.info.os").requireCode(t, 0)
	require.False(t, f.holds("h001", "test -e /tmp/e2e-other"))

	second := pushCommand(t, f.dir, "-i", "root.yaml", "-l", "h001", "--lock-timeout", "60", "other.yaml")
	require.NoError(t, second.Start())
	f.sh("h001", "touch /tmp/e2e-go")
	require.NoError(t, first.Wait(), out)
	require.NoError(t, second.Wait())
	require.True(t, f.holds("h001", "test -e /tmp/e2e-second -a -e /tmp/e2e-other"))
}
