//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A watcher is ccm-push watch under way.
type watcher struct {
	*fleet
	cmd    *exec.Cmd
	events <-chan watchEvent
	stderr *bytes.Buffer
}

// A watchEvent is a line of what it tells.
type watchEvent struct {
	Event, Host, Type, Name, Status, Error, Cause, Message string
	Settled                                                bool
	Polled, Resources                                      int
	Unsettled                                              []string
	Writer                                                 struct {
		PID                    int
		Program, User, Package string
	}
	at time.Time
}

// watch starts ccm-push watch, and returns when the host is watched.
func (f *fleet) watch(args ...string) *watcher {
	f.Helper()
	w := &watcher{fleet: f, cmd: pushCommand(f, f.dir, append([]string{"watch", "-i", "root.yaml", "--output", "json"}, args...)...), stderr: new(bytes.Buffer)}
	stdout, err := w.cmd.StdoutPipe()
	require.NoError(f, err)
	w.cmd.Stderr = w.stderr
	require.NoError(f, w.cmd.Start())
	events, ended := make(chan watchEvent, 1000), make(chan struct{})
	w.events = events
	go func() {
		defer close(ended)
		defer close(events)
		lines := bufio.NewScanner(stdout)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			e := watchEvent{at: time.Now()}
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
				e.Error = fmt.Sprintf("%s: %v", lines.Bytes(), err)
			}
			events <- e
		}
	}()
	f.Cleanup(func() {
		_ = w.cmd.Process.Signal(os.Interrupt)
		<-ended
		_ = w.cmd.Wait()
	})
	return w
}

// awaitsEvent waits for an event, and lets go of those before it.
func (w *watcher) awaitsEvent(what string, is func(watchEvent) bool) watchEvent {
	w.Helper()
	var before []watchEvent
	limit := time.After(time.Minute)
	for {
		select {
		case e, ok := <-w.events:
			require.True(w, ok, "%s: it has ended: %s", what, w.stderr)
			if is(e) {
				return e
			}
			before = append(before, e)
		case <-limit:
			require.Fail(w, "waited for a minute", "%s: only %+v; %s", what, before, w.stderr)
		}
	}
}

const watchTypesSite = `
- hosts: s001
  ccm:
    resources:
      - file:
          - /etc/watched: {ensure: directory}
          - /etc/watched/motd: {content: "hello\n", mode: "0644"}
          - /etc/watched/below: {ensure: directory}
          - /etc/watched/below/f: {content: "f\n"}
          - /etc/systemd/system/watched.service:
              content: |
                [Service]
                ExecStart=/bin/sleep infinity
                [Install]
                WantedBy=multi-user.target
      - link: [{/etc/watched/link: {target: motd}}]
      - line: [{/etc/watched/motd: {line: hello}}]
      - package: [{watched-demo: {}}]
      - user: [{watched: {shell: /bin/sh}}]
      - group: [{watchedgroup: {}}]
      - cron: [{watched: {command: "true"}}]
      - service:
          - watched: {enable: true, subscribe: ["file#/etc/systemd/system/watched.service"]}
          - never-there: {ensure: stopped}
      - exec: [{"touch /etc/watched/made": {creates: /etc/watched/made}}]
`

// demoPackage installs a package that has nothing.
const demoPackage = `cd /tmp && mkdir -p watched-demo/DEBIAN && printf 'Package: watched-demo\nVersion: 1\nArchitecture: all\nMaintainer: t <t@localhost>\nDescription: t\n' >watched-demo/DEBIAN/control
dpkg-deb --root-owner-group -b watched-demo watched-demo.deb >/dev/null && dpkg -i watched-demo.deb >/dev/null`

// watchedEdits are what people and programs do to a host, and take back.
var watchedEdits = []struct{ name, resource, edit, mend string }{
	{"a unit is stopped", "service#watched", "systemctl stop watched", "systemctl start watched"},
	{"a unit fails", "service#watched", "systemctl kill -s KILL watched", "systemctl restart watched"},
	{"a unit is disabled", "service#watched", "systemctl disable watched", "systemctl enable watched"},
	{"a link of a unit is removed", "service#watched", "rm /etc/systemd/system/multi-user.target.wants/watched.service; systemctl daemon-reload",
		"ln -s /etc/systemd/system/watched.service /etc/systemd/system/multi-user.target.wants/; systemctl daemon-reload"},
	{"a drop-in", "service#watched", "mkdir -p /etc/systemd/system/watched.service.d && echo [Service] >/etc/systemd/system/watched.service.d/x.conf",
		"rm -r /etc/systemd/system/watched.service.d"},
	{"a package is removed", "package#watched-demo", "dpkg --purge watched-demo", demoPackage},
	{"a user has another shell", "user#watched", "usermod -s /bin/false watched", "usermod -s /bin/sh watched"},
	{"a user is removed", "user#watched", "userdel watched", "useradd -M -s /bin/sh watched"},
	{"a group is removed", "group#watchedgroup", "groupdel watchedgroup", "groupadd watchedgroup"},
	{"a crontab is edited", "cron#watched", "crontab -l | sed 's/true/false/' | crontab -", "crontab -l | sed 's/false/true/' | crontab -"},
	{"a crontab is removed", "cron#watched", "crontab -l >/tmp/crontab; crontab -r", "crontab /tmp/crontab"},
	{"a file is written", "file#/etc/watched/motd", "echo more >>/etc/watched/motd", "echo hello >/etc/watched/motd"},
	{"an editor renames", "file#/etc/watched/motd", "sed -i s/hello/hullo/ /etc/watched/motd", "sed -i s/hullo/hello/ /etc/watched/motd"},
	{"a mode", "file#/etc/watched/motd", "chmod 600 /etc/watched/motd", "chmod 644 /etc/watched/motd"},
	{"a mount over it", "file#/etc/watched/below/f", "mount -t tmpfs tmpfs /etc/watched/below", "umount /etc/watched/below"},
	{"a directory is exchanged", "file#/etc/watched/below/f", "mv /etc/watched/below /etc/watched/old; mkdir /etc/watched/below",
		"rmdir /etc/watched/below; mv /etc/watched/old /etc/watched/below"},
	{"a link leads elsewhere", "link#/etc/watched/link", "ln -sfn nowhere /etc/watched/link", "ln -sfn motd /etc/watched/link"},
	{"what was created is gone", "exec#touch /etc/watched/made", "rm /etc/watched/made", "touch /etc/watched/made"},
}

// TestFleetWatchTypes has a host with systemd changed in the ways that its resources may be, and
// each told: when it is not as it shall be, and when it is so again. Then nothing more goes on.
func TestFleetWatchTypes(t *testing.T) {
	f := startCronHost(t)
	clean := func() {
		f.sh("s001", "umount /etc/watched/below 2>/dev/null; systemctl disable -q --now watched 2>/dev/null; rm -rf /etc/watched /etc/systemd/system/watched.service* /tmp/watched-demo* /tmp/crontab; systemctl daemon-reload; "+
			"dpkg --purge watched-demo >/dev/null 2>&1; userdel watched 2>/dev/null; groupdel watchedgroup 2>/dev/null; true")
	}
	clean()
	t.Cleanup(clean)
	f.sh("s001", demoPackage)
	write(t, f.path("watched.yaml"), watchTypesSite)
	w := f.watch("watched.yaml")
	began := w.awaitsEvent("watched", func(e watchEvent) bool { return e.Event == "watched" })
	require.Zero(t, began.Polled, "all of it is heard")
	require.Empty(t, began.Unsettled, "all of it is as it shall be")
	var took []time.Duration
	for _, e := range watchedEdits {
		told := func(script string, settled bool) watchEvent {
			t.Helper()
			begun := time.Now()
			f.sh("s001", script)
			done := time.Now()
			event := w.awaitsEvent(fmt.Sprintf("%s: settled %t", e.name, settled), func(now watchEvent) bool {
				return now.Event == "drift" && now.Type+"#"+now.Name == e.resource && now.Settled == settled
			})
			took = append(took, event.at.Sub(done))
			t.Logf("%-30s %-30s settled %-5t %5d ms behind its end, %5d behind its begin; by %+v", e.name, e.resource, settled,
				event.at.Sub(done).Milliseconds(), event.at.Sub(begun).Milliseconds(), event.Writer)
			return event
		}
		drifted := told(e.edit, false)
		if drifted.Status != "failed" { // no repository has the package
			require.Equal(t, "drift", drifted.Cause, e.name)
		}
		told(e.mend, true)
	}
	slices.Sort(took)
	t.Logf("from the end of an edit until it is told: median %v, of %d", took[len(took)/2], len(took))

	w.requireIdle("s001")
}

// requireIdle holds that what is asked of a host does not lead to more questions.
func (w *watcher) requireIdle(host string) {
	w.Helper()
	const pause = 8 * time.Second // several times that for settling
	time.Sleep(pause)
	asked := func() string { return w.sh(host, childTime) }
	before := asked()
	require.NotEmpty(w, before)
	for len(w.events) > 0 {
		<-w.events
	}
	time.Sleep(pause)
	require.Equal(w, before, asked(), "programs were started although nothing has changed")
	require.Empty(w, w.events)
}

// childTime prints, of each host program, how long its children have worked.
const childTime = `for p in /proc/[0-9]*; do case $(readlink $p/exe) in *ccm*) cut -d" " -f1,16,17 $p/stat;; esac; done`

// TestFleetWatchRPM has a package removed that rpm knows, whose database changes when it is asked, too.
func TestFleetWatchRPM(t *testing.T) {
	f := startOther(t, "rpm", "r001")
	clean := func() { f.sh("r001", "rpm -e --quiet watched-demo 2>/dev/null; rm -rf /tmp/watched") }
	clean()
	t.Cleanup(clean)
	const install = `mkdir -p /tmp/watched && cd /tmp/watched && printf '%s\n' 'Name: watched-demo' 'Version: 1' 'Release: 1' 'Summary: t' 'License: none' 'BuildArch: noarch' '%description' t '%files' >spec &&
		rpmbuild --quiet -bb --define '_topdir /tmp/watched' --define '_rpmdir /tmp/watched' spec && rpm -i --quiet noarch/*.rpm`
	f.sh("r001", install)
	write(t, f.path("watched.yaml"), "- hosts: r001\n  ccm: {resources: [{package: [{watched-demo: {}}]}]}\n")
	w := f.watch("watched.yaml")
	began := w.awaitsEvent("watched", func(e watchEvent) bool { return e.Event == "watched" })
	require.Zero(t, began.Polled)
	f.sh("r001", "rpm -e watched-demo")
	w.awaitsEvent("drift", func(e watchEvent) bool { return e.Event == "drift" && !e.Settled })
	f.sh("r001", "rpm -i --quiet /tmp/watched/noarch/*.rpm")
	w.awaitsEvent("settled", func(e watchEvent) bool { return e.Event == "drift" && e.Settled })
	w.requireIdle("r001")
}
