package listen

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"
)

// systemBus is the address of the system bus in the D-Bus specification.
const systemBus = "unix:path=/run/dbus/system_bus_socket"

// Names of systemd on the bus: org.freedesktop.systemd1(5).
const (
	systemd     = "org.freedesktop.systemd1"
	systemdPath = dbus.ObjectPath("/org/freedesktop/systemd1")
	unitsPath   = "/org/freedesktop/systemd1/unit/"
	manager     = "org.freedesktop.systemd1.Manager"
)

// busAnswers is the timeout of a request to the bus, and busAgain the first pause after a failed connection.
const (
	busAnswers             = 10 * time.Second
	busAgain, busAgainMost = time.Second, 30 * time.Second
)

// units has the systemd units of sources. The listener's mutex guards it, except where noted.
type units struct {
	address string // address of the bus; it never changes
	wanted  map[string][]int
	paths   map[dbus.ObjectPath][]string // names of wanted units, of which some are aliases
	states  map[string]string            // states of wanted units; inactive ones are omitted, loaded or not
	why     string                       // they are polled; "" they are heard of
	conn    *dbus.Conn                   // nil without a connection
	cancel  context.CancelFunc           // nil if attend is not running
	ended   chan struct{}
	asked   chan chan struct{} // requests to find all wanted units again; not guarded
	stale   chan bool          // the same without a waiting caller; true: systemd is another process. Not guarded
}

// unitPath returns the object of a unit, as sd_bus_path_encode(3) makes it.
func unitPath(name string) dbus.ObjectPath {
	var b strings.Builder
	b.WriteString(unitsPath)
	for i, c := range []byte(name) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9' && i > 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	if name == "" {
		b.WriteByte('_')
	}
	return dbus.ObjectPath(b.String())
}

// want sets the units of the given sources. It returns the sources with new units.
func (l *Listener) want() (fresh []int) {
	u := &l.units
	before := u.wanted
	u.wanted = map[string][]int{}
	for i, s := range l.given {
		for _, name := range s.Units {
			if u.wanted[name] = append(u.wanted[name], i); before[name] == nil {
				fresh = append(fresh, i)
			}
		}
	}
	if len(u.wanted) > 0 && u.cancel == nil {
		ctx, cancel := context.WithCancel(context.Background()) // until Close
		u.cancel = cancel
		go l.attend(ctx) // Close waits for it
	}
	return fresh
}

// ask makes attend look for the wanted units on the bus, and waits for that.
func (l *Listener) ask(ctx context.Context) error {
	done := make(chan struct{})
	select {
	case l.units.asked <- done:
	case <-l.units.ended:
		return ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("waiting for the system bus: %w", ctx.Err())
	}
	<-done
	return nil
}

// attend keeps a connection to the bus until the context ends.
func (l *Listener) attend(ctx context.Context) {
	u := &l.units
	defer close(u.ended)
	pause, lost := busAgain, false
	for {
		began := time.Now()
		why := l.serve(ctx, lost)
		if ctx.Err() != nil {
			return
		}
		l.mu.Lock()
		lost = lost || u.conn != nil
		u.conn = nil
		if u.why != why {
			u.why = why
			l.log(why + ": units are polled")
			l.tell(Hint{Sources: l.ofUnits()})
		}
		l.mu.Unlock()
		if pause = min(2*pause, busAgainMost); time.Since(began) > busAgainMost {
			pause = busAgain
		}
		wait := time.NewTimer(pause)
		for waiting := true; waiting; {
			select {
			case <-ctx.Done():
				wait.Stop()
				return
			case done := <-u.asked:
				close(done)
			case <-wait.C:
				waiting = false
			}
		}
	}
}

// serve connects to the bus and looks for units there until the connection ends. It returns the reason for a missing
// connection.
func (l *Listener) serve(ctx context.Context, lost bool) (why string) {
	u := &l.units
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	limit := time.AfterFunc(busAnswers, cancel) // ends the connection if it does not get so far
	conn, err := dbus.Connect(u.address, dbus.WithContext(ctx),
		dbus.WithAuth(dbus.AuthExternal(strconv.Itoa(os.Getuid()))), dbus.WithSignalHandler(unitSignals{l}))
	if err != nil {
		limit.Stop()
		return "no system bus"
	}
	defer conn.Close()
	err = errors.Join(
		conn.AddMatchSignalContext(ctx, dbus.WithMatchSender(systemd), dbus.WithMatchPathNamespace(systemdPath)),
		conn.AddMatchSignalContext(ctx, dbus.WithMatchSender("org.freedesktop.DBus"), dbus.WithMatchMember("NameOwnerChanged"), dbus.WithMatchArg(0, systemd)),
	)
	if err != nil {
		limit.Stop()
		return fmt.Sprintf("listening to the system bus: %v", err)
	}
	l.subscribe(ctx, conn)
	if !limit.Stop() {
		return "the system bus does not answer"
	}
	l.mu.Lock()
	u.conn = conn
	if lost {
		l.tell(Hint{All: "the system bus was away"})
	}
	l.mu.Unlock()
	for {
		select {
		case <-conn.Context().Done():
			return "no system bus"
		case done := <-u.asked:
			l.bounded(ctx, func(ctx context.Context) { l.find(ctx, conn) })
			close(done)
		case again := <-u.stale:
			l.bounded(ctx, func(ctx context.Context) {
				if again {
					l.subscribe(ctx, conn)
				} else {
					l.find(ctx, conn)
				}
			})
		}
	}
}

func (l *Listener) bounded(ctx context.Context, do func(context.Context)) {
	ctx, cancel := context.WithTimeout(ctx, busAnswers)
	defer cancel()
	do(ctx)
}

// call calls a method of systemd, without starting systemd.
func call(ctx context.Context, conn *dbus.Conn, method string, args ...any) *dbus.Call {
	return conn.Object(systemd, systemdPath).CallWithContext(ctx, method, dbus.FlagNoAutoStart, args...)
}

// subscribe subscribes to systemd's events, and finds all units again.
func (l *Listener) subscribe(ctx context.Context, conn *dbus.Conn) {
	err := call(ctx, conn, manager+".Subscribe").Err
	if dbusError(err) == systemd+".AlreadySubscribed" {
		err = nil
	}
	why := ""
	switch name := dbusError(err); {
	case err == nil:
	case name == "org.freedesktop.DBus.Error.NameHasNoOwner", name == "org.freedesktop.DBus.Error.ServiceUnknown":
		why = "systemd is not on the system bus"
	default:
		why = fmt.Sprintf("subscribing to systemd's events of units: %v", err)
	}
	l.mu.Lock()
	l.units.why = why
	l.tell(Hint{Sources: l.ofUnits()})
	l.mu.Unlock()
	l.find(ctx, conn)
}

// dbusError returns the name of an error, if it is from the bus.
func dbusError(err error) string {
	var e dbus.Error
	if errors.As(err, &e) {
		return e.Name
	}
	return ""
}

// find finds the objects of the wanted units: an alias has the object of the unit itself. Loading or unloading a unit
// is not a change: a systemctl query about a unit does both. A unit that is active when it is loaded, such as a mount,
// has changed, and systemd sends no other event for that.
func (l *Listener) find(ctx context.Context, conn *dbus.Conn) {
	u := &l.units
	l.mu.Lock()
	var names []string
	for name := range u.wanted {
		names = append(names, name)
	}
	heard := u.why == ""
	l.mu.Unlock()
	found, states := map[string][]dbus.ObjectPath{}, map[string]string{}
	for _, name := range names {
		paths := []dbus.ObjectPath{unitPath(name)}
		var p dbus.ObjectPath
		if heard && call(ctx, conn, manager+".GetUnit", name).Store(&p) == nil {
			if p != paths[0] {
				paths = append(paths, p)
			}
			if state := activeState(ctx, conn, p); state != "inactive" {
				states[name] = state
			}
		} // else it is not loaded: UnitNew is sent when it is
		found[name] = paths
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	before := u.paths
	u.paths = map[dbus.ObjectPath][]string{}
	var news []int
	for name, paths := range found {
		for _, p := range paths {
			if u.paths[p] = append(u.paths[p], name); !slices.Contains(before[p], name) {
				news = append(news, u.wanted[name]...)
			}
		}
		if states[name] != u.states[name] {
			news = append(news, u.wanted[name]...)
		}
	}
	for p, names := range before { // an alias of a unit that is not loaded now
		for _, name := range names {
			if u.wanted[name] != nil && !slices.Contains(u.paths[p], name) {
				u.paths[p] = append(u.paths[p], name)
			}
		}
	}
	u.states = states
	l.tell(Hint{Sources: news})
}

// activeState returns the active state of a loaded unit.
func activeState(ctx context.Context, conn *dbus.Conn, p dbus.ObjectPath) (state string) {
	var value dbus.Variant
	get := conn.Object(systemd, p).CallWithContext(ctx, "org.freedesktop.DBus.Properties.Get", dbus.FlagNoAutoStart, systemd+".Unit", "ActiveState")
	if get.Store(&value) == nil {
		state, _ = value.Value().(string)
	}
	return state
}

// ofUnits returns the sources with any unit.
func (l *Listener) ofUnits() (all []int) {
	for _, sources := range l.units.wanted {
		all = append(all, sources...)
	}
	return all
}

// at returns the sources with the unit of an object.
func (l *Listener) at(p dbus.ObjectPath) (all []int) {
	for _, name := range l.units.paths[p] {
		all = append(all, l.units.wanted[name]...)
	}
	return all
}

// unitSignals handles signals before the reply that follows them reaches its caller.
type unitSignals struct{ l *Listener }

func (s unitSignals) DeliverSignal(iface, member string, signal *dbus.Signal) {
	l := s.l
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	text := func(i int) string {
		if i < len(signal.Body) {
			word, _ := signal.Body[i].(string)
			return word
		}
		return ""
	}
	stale := func(other bool) { // mu is held, so this goroutine is the only sender
		select {
		case waiting := <-l.units.stale:
			other = other || waiting
		default:
		}
		l.units.stale <- other
	}
	switch member {
	case "PropertiesChanged":
		l.tell(Hint{Sources: l.at(signal.Path)})
	case "JobRemoved": // id, job, unit, result
		l.tell(Hint{Sources: l.at(unitPath(text(2)))})
	case "UnitNew", "UnitRemoved": // name, unit
		stale(false)
	case "Reloading": // it begins, or has ended
		l.tell(Hint{Sources: l.ofUnits()})
		stale(false)
	case "UnitFilesChanged":
		l.tell(Hint{Sources: l.ofUnits()})
	case "NameOwnerChanged": // name, old, new
		l.units.why = "systemd is not on the system bus"
		l.tell(Hint{Sources: l.ofUnits()})
		if text(2) != "" {
			stale(true)
		}
	}
}

// passUnits returns when all earlier events of systemd are handled, since the reply follows them.
func (l *Listener) passUnits(ctx context.Context) error {
	l.mu.Lock()
	conn := l.units.conn
	if l.units.why != "" || len(l.units.wanted) == 0 {
		conn = nil
	}
	l.mu.Unlock()
	if conn == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, busAnswers)
	defer cancel()
	if call(ctx, conn, "org.freedesktop.DBus.Peer.Ping"); ctx.Err() != nil {
		return fmt.Errorf("waiting for earlier events of systemd: %w", ctx.Err())
	}
	return l.ask(ctx) // a lost connection is reported separately
}
