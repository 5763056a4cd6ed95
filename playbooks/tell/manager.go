package tell

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/report"
)

// A Manager reports the state of this program to the service manager that has started it (sd_notify(3)): that hosts are
// watched, the current step, a sign of life, and the end.
type Manager struct {
	conn   *net.UnixConn
	beat   time.Duration // between two signs of life; 0 has none
	cancel context.CancelFunc
	alive  sync.WaitGroup

	mu    sync.Mutex
	state *report.Watch
	said  string // the last STATUS
}

// NewManager connects to the service manager that the environment names, or nil. state receives each event before it
// does.
func NewManager(getenv func(string) string, pid int, state *report.Watch) (*Manager, error) {
	path := getenv("NOTIFY_SOCKET")
	if path == "" {
		return nil, nil
	}
	if path[0] != '/' && path[0] != '@' { // an abstract one
		return nil, fmt.Errorf("NOTIFY_SOCKET %q is not the path of a socket", path)
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return nil, fmt.Errorf("NOTIFY_SOCKET: %w", err)
	}
	m := &Manager{conn: conn, state: state}
	if of := getenv("WATCHDOG_PID"); of == "" || of == strconv.Itoa(pid) {
		if µs, err := strconv.ParseInt(getenv("WATCHDOG_USEC"), 10, 64); err == nil && µs > 0 {
			m.beat = max(time.Duration(µs)*time.Microsecond/2, time.Millisecond) // half of it, as sd_watchdog_enabled(3) has it
		}
	}
	return m, nil
}

// Start sends signs of life until [Manager.Close] or the end of ctx. Then it reports that the program is about to end.
func (m *Manager) Start(ctx context.Context) {
	ctx, m.cancel = context.WithCancel(ctx)
	m.alive.Go(func() {
		defer m.send("STOPPING=1")
		if m.beat == 0 {
			<-ctx.Done()
			return
		}
		for tick := time.NewTicker(m.beat); ; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
				m.mu.Lock() // the reporting goroutine may hang
				m.mu.Unlock()
				m.send("WATCHDOG=1")
			}
		}
	})
}

// Report takes an event.
func (m *Manager) Report(e events.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var lines []string
	if _, begins := e.(events.WatchStart); begins {
		lines = append(lines, "READY=1")
	}
	if status := m.state.Status(); status != m.said && status != "" {
		m.said = status
		lines = append(lines, "STATUS="+status)
	}
	if len(lines) > 0 {
		m.send(lines...)
	}
}

// send sends lines. Errors are ignored: the run does not depend on the manager.
func (m *Manager) send(lines ...string) {
	_ = m.conn.SetWriteDeadline(time.Now().Add(time.Second))
	_, _ = m.conn.Write([]byte(strings.Join(lines, "\n")))
}

// Close reports that the program is about to end.
func (m *Manager) Close() error {
	m.cancel()
	m.alive.Wait()
	return m.conn.Close()
}
