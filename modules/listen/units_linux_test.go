package listen

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
)

// startBus starts a private bus at a socket, and returns a function that ends it.
func startBus(t *testing.T, socket string) (end func()) {
	t.Helper()
	needs.Program(t, "dbus-daemon")
	config := filepath.Join(t.TempDir(), "bus.conf")
	require.NoError(t, os.WriteFile(config, []byte(`<busconfig><type>system</type><listen>unix:path=`+socket+`</listen>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow own="*"/><allow eavesdrop="true"/></policy></busconfig>`), 0o600))
	cmd := exec.Command("dbus-daemon", "--nofork", "--print-address=1", "--config-file="+config)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	end = sync.OnceFunc(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	t.Cleanup(end)
	_, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return end
}

// An initSystem answers the listener's requests to systemd.
type initSystem struct {
	mu      sync.Mutex
	aliases map[string]string
}

func (*initSystem) Subscribe() *dbus.Error { return nil }

func (s *initSystem) GetUnit(name string) (dbus.ObjectPath, *dbus.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if unit, ok := s.aliases[name]; ok {
		return unitPath(unit), nil
	}
	return "", dbus.NewError(systemd+".NoSuchUnit", []any{"Unit " + name + " not loaded."})
}

// A unitState answers how a unit is.
type unitState struct{ now atomic.Value }

func (u *unitState) Get(of, property string) (dbus.Variant, *dbus.Error) {
	if of != systemd+".Unit" || property != "ActiveState" {
		return dbus.Variant{}, dbus.NewError("org.freedesktop.DBus.Error.UnknownProperty", nil)
	}
	return dbus.MakeVariant(u.now.Load()), nil
}

// startInit starts an initSystem on the bus.
func startInit(t *testing.T, address string, s *initSystem) *dbus.Conn {
	t.Helper()
	conn, err := dbus.Connect(address)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	require.NoError(t, conn.Export(s, systemdPath, manager))
	_, err = conn.RequestName(systemd, dbus.NameFlagDoNotQueue)
	require.NoError(t, err)
	return conn
}

// await waits for a hint that is so.
func await(t *testing.T, l *Listener, so func(Hint) bool) {
	t.Helper()
	limit := time.After(time.Minute)
	for {
		select {
		case h := <-l.Hints():
			if so(h) {
				return
			}
		case <-limit:
			t.Fatal("no such hint")
		}
	}
}

// TestUnits checks units on a bus that appears and disappears, like the owner of systemd's name there.
func TestUnits(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "bus")
	address := "unix:path=" + socket
	l, err := start(func(line string) { t.Log(line) }, address)
	require.NoError(t, err)
	defer l.Close()
	sources := []modules.Sources{{Paths: []string{"/etc/passwd"}}, {Units: []string{"a.service"}}, {Units: []string{"b@1.service", "alias.service"}}}
	listen := func() []string {
		polled, err := l.Listen(t.Context(), sources)
		require.NoError(t, err)
		return polled
	}
	require.Equal(t, []string{"", "no system bus", "no system bus"}, listen())
	heard(t, l)
	end := startBus(t, socket)
	await(t, l, func(h Hint) bool { return slices.Contains(h.Sources, 1) })
	require.Equal(t, []string{"", "systemd is not on the system bus", "systemd is not on the system bus"}, listen())

	s := &initSystem{aliases: map[string]string{"alias.service": "real.service", "a.service": "a.service"}}
	conn := startInit(t, address, s)
	for slices.Contains(listen(), "systemd is not on the system bus") {
		await(t, l, func(h Hint) bool { return slices.Contains(h.Sources, 1) })
	}
	require.Equal(t, []string{"", "", ""}, listen())
	quiet := func() {
		for range 3 { // earlier requests are finished by then
			require.NoError(t, l.ask(t.Context()))
			heard(t, l)
		}
	}
	quiet()
	emit := func(path dbus.ObjectPath, signal string, values ...any) {
		require.NoError(t, conn.Emit(path, signal, values...))
	}
	const changed = "org.freedesktop.DBus.Properties.PropertiesChanged"
	properties := []any{systemd + ".Unit", map[string]dbus.Variant{"ActiveState": dbus.MakeVariant("failed")}, []string{}}
	for _, test := range []struct {
		path   dbus.ObjectPath
		signal string
		values []any
		want   []int
	}{
		{unitPath("a.service"), changed, properties, []int{1}},
		{unitPath("b@1.service"), changed, properties, []int{2}},
		{unitPath("real.service"), changed, properties, []int{2}},
		{unitPath("other.service"), changed, properties, nil},
		{systemdPath, manager + ".JobRemoved", []any{uint32(1), dbus.ObjectPath("/job"), "real.service", "done"}, []int{2}},
		{systemdPath, manager + ".UnitNew", []any{"a.service", unitPath("a.service")}, nil},
		{systemdPath, manager + ".UnitRemoved", []any{"other.service", unitPath("other.service")}, nil},
		{systemdPath, manager + ".UnitFilesChanged", nil, []int{1, 2}},
		{systemdPath, manager + ".Reloading", []any{true}, []int{1, 2}},
		{systemdPath, manager + ".JobRemoved", []any{"not what it should be"}, nil},
	} {
		emit(test.path, test.signal, test.values...)
		require.Equal(t, test.want, heard(t, l).Sources, "%s of %s", test.signal, test.path)
	}

	// A unit that is loaded has not changed, unless it is active then.
	state := new(unitState)
	state.now.Store("inactive")
	require.NoError(t, conn.Export(state, unitPath("a.service"), "org.freedesktop.DBus.Properties"))
	for _, now := range []struct {
		state string
		want  []int
	}{{"inactive", nil}, {"active", []int{1}}, {"active", nil}, {"inactive", []int{1}}, {"inactive", nil}} {
		quiet()
		state.now.Store(now.state)
		emit(systemdPath, manager+".UnitNew", "a.service", unitPath("a.service"))
		require.Equal(t, now.want, heard(t, l).Sources, now.state)
	}

	// A unit that is loaded later may turn out to have the name as an alias.
	quiet()
	s.mu.Lock()
	s.aliases["b@1.service"] = "c@1.service"
	s.mu.Unlock()
	emit(systemdPath, manager+".UnitNew", "c@1.service", unitPath("c@1.service"))
	await(t, l, func(h Hint) bool { return slices.Equal(h.Sources, []int{2}) })
	emit(unitPath("c@1.service"), changed, properties...)
	require.Equal(t, []int{2}, heard(t, l).Sources)
	for _, there := range []bool{false, true, false} { // a systemctl query loads and unloads it like this
		s.mu.Lock()
		if delete(s.aliases, "b@1.service"); there {
			s.aliases["b@1.service"] = "c@1.service"
		}
		s.mu.Unlock()
		emit(systemdPath, manager+".UnitRemoved", "c@1.service", unitPath("c@1.service"))
		require.Empty(t, heard(t, l).Sources, there)
	}

	end()
	await(t, l, func(h Hint) bool { return slices.Equal(h.Sources, []int{1, 2}) })
	require.Equal(t, "no system bus", listen()[1])
	require.NoError(t, os.Remove(socket))
	defer startBus(t, socket)()
	startInit(t, address, s)
	await(t, l, func(h Hint) bool { return h.All == "the system bus was away" })
	for slices.Contains(listen(), "systemd is not on the system bus") {
		await(t, l, func(h Hint) bool { return slices.Contains(h.Sources, 1) })
	}
}

// TestSystemd needs root and a host that runs systemd.
func TestSystemd(t *testing.T) {
	if _, err := os.Stat("/run/systemd/system"); err != nil || os.Getuid() != 0 {
		t.Skip("systemd does not run here, or this is not root")
	}
	l := newListener(t)
	const unit, other = "listen-test.service", "listen-alias.service"
	run := func(args ...string) {
		t.Helper()
		out, err := exec.Command("systemctl", args...).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	file := "/run/systemd/system/" + unit
	t.Cleanup(func() {
		exec.Command("systemctl", "stop", unit).Run()
		os.Remove(file)
		os.Remove("/run/systemd/system/" + other)
		exec.Command("systemctl", "daemon-reload").Run()
	})
	polled, err := l.Listen(t.Context(), []modules.Sources{{Units: []string{unit}}, {Units: []string{other}}, {Units: []string{"unconcerned.service"}}})
	require.NoError(t, err)
	require.Equal(t, []string{"", "", ""}, polled)
	heard(t, l)
	for range 3 { // a query loads and unloads it
		run("show", unit)
		require.Empty(t, heard(t, l).Sources)
	}
	require.NoError(t, os.WriteFile(file, []byte("[Service]\nExecStart=/bin/sleep 1000\n[Install]\nWantedBy=multi-user.target\n"), 0o644))
	require.NoError(t, os.Symlink(unit, "/run/systemd/system/"+other))
	for _, what := range [][]string{
		{"daemon-reload"}, {"start", unit}, {"kill", "-s", "KILL", unit}, {"reset-failed"}, {"start", other}, {"restart", unit}, {"stop", other},
		{"enable", "--runtime", unit}, {"disable", "--runtime", unit}, {"start", unit}, {"daemon-reexec"}, {"stop", unit},
	} {
		run(what...)
		var hinted []int
		require.Eventually(t, func() bool { // a killed process is seen when it is waited for
			hinted = append(hinted, heard(t, l).Sources...)
			return slices.Contains(hinted, 0)
		}, time.Minute, 100*time.Millisecond, what)
		require.Eventually(t, func() bool { return !slices.Contains(l.pollsUnits(t), "not") }, time.Minute, 100*time.Millisecond, "systemd executes itself")
		heard(t, l)
	}
}

func (l *Listener) pollsUnits(t *testing.T) []string {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Fields(l.units.why)
}

// TestUnitPath checks names as systemd writes them.
func TestUnitPath(t *testing.T) {
	for name, want := range map[string]string{
		"ssh.service": "ssh_2eservice", "0a.mount": "_30a_2emount", `a-b@\x2d.service`: `a_2db_40_5cx2d_2eservice`, "": "_", "ä": "_c3_a4",
	} {
		require.Equal(t, dbus.ObjectPath(unitsPath+want), unitPath(name))
	}
}

// FuzzUnitPath checks that each name has an object of its own that D-Bus accepts.
func FuzzUnitPath(f *testing.F) {
	f.Add("ssh.service", "ssh_2eservice")
	f.Fuzz(func(t *testing.T, a, b string) {
		require.True(t, unitPath(a).IsValid(), fmt.Sprint(unitPath(a)))
		require.Equal(t, a == b, unitPath(a) == unitPath(b))
	})
}
