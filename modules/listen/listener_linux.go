package listen

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/mountinfo"
)

// ErrClosed is the error of a closed Listener.
var ErrClosed = errors.New("the listener is closed")

// asleep is the shortest sleep of the host that is reported, and askAsleep the interval between two checks for it.
const asleep, askAsleep = time.Second, 5 * time.Second

// A Listener listens to the host. All its methods may be called at once.
type Listener struct {
	log       func(string)
	inotify   int    // -1 if not available
	noInotify string // why
	mountinfo int    // -1 if not available
	fanotify  int    // -1 if not available
	marker    int    // a file without a name; -1 if not available
	wake      int
	slept     func() time.Duration // total since the host started; called under mu
	ended     chan struct{}        // the reader has
	hints     chan Hint            // at most one, into which later ones are merged

	listening sync.Mutex // held by Listen, outside of mu

	mu      sync.Mutex
	units   units
	handles map[string][]*dir // directories whose writers are reported, by handle
	stray   int               // marks of directories that are elsewhere
	closed  bool
	given   []modules.Sources
	targets map[string]*target // by key
	mounts  []int              // sources that are about mounts
	points  map[string]bool    // where something is mounted
	dirs    map[string]*dir
	wds     map[int][]*dir // several, where a directory is mounted twice
	round   uint64
	dirty   map[*target]bool // to be walked
	told    map[*target]bool // to be hinted
	regrow  []string         // paths in trees
	markers map[int]chan struct{}
	drains  []chan struct{} // without a marker
}

// New starts a listener without sources. log is called with a description of each problem.
func New(log func(string)) (*Listener, error) { return start(log, systemBus) }

func start(log func(string), bus string) (*Listener, error) {
	l := &Listener{
		log: log, inotify: -1, mountinfo: -1, marker: -1, slept: slept,
		ended: make(chan struct{}), hints: make(chan Hint, 1),
		targets: map[string]*target{}, dirs: map[string]*dir{}, wds: map[int][]*dir{},
		dirty: map[*target]bool{}, told: map[*target]bool{}, markers: map[int]chan struct{}{},
		handles: map[string][]*dir{},
	}
	l.units = units{address: bus, ended: make(chan struct{}), asked: make(chan chan struct{}), stale: make(chan bool, 1)}
	var err error
	if l.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	if l.inotify, err = unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK); err != nil {
		l.inotify, l.noInotify = -1, instanceError(err)
		log(l.noInotify)
	}
	l.fanotify = openWriters()
	if l.mountinfo, err = unix.Open(mountinfo.File, unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		l.mountinfo = -1
		log(fmt.Sprintf("opening %s: %v", mountinfo.File, err))
	}
	if l.marker, err = unix.MemfdCreate("marker", unix.MFD_CLOEXEC); err != nil {
		l.marker = -1 // Drain does without
	}
	l.mountPoints()
	go l.read(slept()) // Close waits for it
	return l, nil
}

// Close ends listening, and Hints.
func (l *Listener) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	l.rouse()
	attended := l.units.cancel
	l.mu.Unlock()
	<-l.ended
	if attended != nil {
		attended()
		<-l.units.ended
	}
	for _, fd := range []int{l.inotify, l.fanotify, l.mountinfo, l.marker, l.wake} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
	close(l.hints)
	return nil
}

// Hints returns the channel of hints. At most one hint waits: later events are merged into it until it is received.
func (l *Listener) Hints() <-chan Hint { return l.hints }

// rouse wakes the reader.
func (l *Listener) rouse() {
	unix.Write(l.wake, binary.NativeEndian.AppendUint64(nil, 1)) // full is roused, too
}

// Listen sets the sources of the listener. It returns for each the reason why it is (also) polled; "" means that all
// its changes cause events. Sources with a new place are hinted at once, since the place may have changed after the
// check that named it; a caller that checks after Listen may ignore that hint. A waiting hint is kept: its indexes
// become the new indexes of all sources that share a place with its old ones.
func (l *Listener) Listen(ctx context.Context, sources []modules.Sources) (polled []string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l.listening.Lock()
	defer l.listening.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, ErrClosed
	}
	waiting := l.take()
	before := l.given
	// Polled targets are tried again.
	l.round++
	for _, t := range l.targets {
		t.sources = t.sources[:0]
		if t.why != "" {
			l.dirty[t] = true
		}
	}
	l.given, l.mounts = slices.Clone(sources), l.mounts[:0]
	for i, s := range sources {
		for _, key := range keys(s) {
			t := l.targets[key]
			if t == nil {
				tree := strings.HasPrefix(key, treeKey)
				t = &target{path: key[1:], tree: tree}
				l.targets[key] = t
				l.again([]*target{t}, true)
			}
			if n := len(t.sources); n == 0 || t.sources[n-1] != i {
				t.sources = append(t.sources, i)
			}
		}
		if s.Mounts {
			l.mounts = append(l.mounts, i)
		}
	}
	for key, t := range l.targets {
		if len(t.sources) == 0 {
			l.forget(t)
			delete(l.targets, key)
		}
	}
	l.settle()
	fresh := l.want()
	l.tell(l.renamed(before, waiting))
	if len(fresh) > 0 {
		l.mu.Unlock()
		err = l.ask(ctx)
		l.mu.Lock()
		if l.closed {
			return nil, ErrClosed
		}
		l.tell(Hint{Sources: fresh})
	}
	return l.polled(), err
}

// The first byte of a key is its kind.
const pathKey, treeKey = "p", "t"

// keys returns the targets of sources.
func keys(s modules.Sources) []string {
	var all []string
	for _, p := range s.Paths {
		all = append(all, pathKey+p)
	}
	for _, p := range s.Trees {
		all = append(all, treeKey+p)
	}
	return all
}

// renamed converts a hint for the previous sources to the current ones.
func (l *Listener) renamed(before []modules.Sources, h Hint) Hint {
	now := Hint{All: h.All}
	for _, old := range h.Sources {
		var of []int
		if old < len(l.given) {
			of = append(of, old)
		}
		for _, key := range keys(before[old]) {
			if t := l.targets[key]; t != nil {
				of = append(of, t.sources...)
			}
		}
		for _, name := range before[old].Units {
			of = append(of, l.units.wanted[name]...)
		}
		if before[old].Mounts {
			of = append(of, l.mounts...)
		}
		hint := Hint{Sources: of}
		if w, ok := h.Writers[old]; ok {
			hint.Writers = map[int]Writer{}
			for _, i := range of {
				hint.Writers[i] = w
			}
		}
		now = now.merge(hint)
	}
	return now
}

// polled returns for each source the reason why it is polled.
func (l *Listener) polled() []string {
	polled := make([]string, len(l.given))
	for i, s := range l.given {
		why := s.Polled
		for _, key := range keys(s) {
			why = cmp.Or(why, l.targets[key].why)
		}
		if len(s.Units) > 0 {
			why = cmp.Or(why, l.units.why)
		}
		if s.Mounts && l.mountinfo < 0 {
			why = cmp.Or(why, "no file "+mountinfo.File)
		}
		if len(s.Paths)+len(s.Trees)+len(s.Units) == 0 && !s.Mounts {
			why = cmp.Or(why, "it causes no events")
		}
		polled[i] = why
	}
	return polled
}

// take returns and removes the waiting hint, if there is one.
func (l *Listener) take() Hint {
	select {
	case h := <-l.hints:
		return h
	default:
		return Hint{}
	}
}

// tell sends a hint, merged with all targets in told. It never blocks, since there is no other sender.
func (l *Listener) tell(h Hint) {
	var all []int
	for t := range l.told {
		all = append(all, t.sources...)
		delete(l.told, t)
	}
	h = l.take().merge(h).merge(Hint{Sources: all})
	if !h.empty() && !l.closed {
		l.hints <- h
	}
}

// Drain returns when all events that the kernel and systemd had sent before the call are in Hints.
func (l *Listener) Drain(ctx context.Context) error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return ErrClosed
	}
	passed := make(chan struct{})
	l.mark(passed)
	l.mu.Unlock()
	select {
	case <-passed:
		return l.passUnits(ctx)
	case <-l.ended:
		return ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("waiting for earlier events of the host: %w", ctx.Err())
	}
}

// mark queues a marker after all events: the end of a watch (IN_IGNORED) is an event in the order of all others. The
// watch is on a file in memory without a name, so nothing has to be written anywhere. Without the marker the reader
// reads until no event is left.
func (l *Listener) mark(passed chan struct{}) {
	if l.inotify >= 0 && l.marker >= 0 {
		wd, err := unix.InotifyAddWatch(l.inotify, fmt.Sprintf("/proc/self/fd/%d", l.marker), unix.IN_DELETE_SELF)
		if err == nil {
			l.markers[wd] = passed
			unix.InotifyRmWatch(l.inotify, uint32(wd)) // it was added just now
			return
		}
	}
	l.drains = append(l.drains, passed)
	l.rouse()
}

// read reads events of the kernel until the listener is closed. slept is the total sleep of the host at the start.
func (l *Listener) read(slept time.Duration) {
	defer close(l.ended)
	buffer := make([]byte, 64<<10)
	for {
		fds := []unix.PollFd{ // poll ignores a descriptor of -1
			{Fd: int32(l.wake), Events: unix.POLLIN},
			{Fd: int32(l.mountinfo), Events: unix.POLLPRI},
			{Fd: int32(l.inotify), Events: unix.POLLIN},
			{Fd: int32(l.fanotify), Events: unix.POLLIN},
		}
		if _, err := unix.Poll(fds, int(askAsleep/time.Millisecond)); err != nil && err != unix.EINTR {
			l.log(fmt.Sprintf("poll: %v", err)) // ENOMEM
			time.Sleep(time.Second)
			continue
		}
		l.mu.Lock()
		if l.closed {
			l.mu.Unlock()
			return
		}
		if fds[0].Revents != 0 {
			unix.Read(l.wake, buffer)
		}
		if fds[1].Revents != 0 {
			l.mounted()
		}
		if now := l.slept(); now-slept >= asleep {
			l.tell(Hint{All: "the host was asleep"})
			slept = now
		}
		l.listen(buffer)
		l.mu.Unlock()
	}
}

// mounted checks all targets again: a mount is not an event of the directories that it hides.
func (l *Listener) mounted() {
	for _, t := range l.targets {
		l.dirty[t] = true
	}
	l.mountPoints()
	l.round++
	l.settle()
	l.tell(Hint{Sources: l.mounts})
}

// mountPoints reads the mount points.
func (l *Listener) mountPoints() {
	text, err := os.ReadFile(mountinfo.File)
	if err != nil {
		return // not available, which New has logged
	}
	l.points = map[string]bool{}
	for m := range mountinfo.Parse(string(text)) {
		l.points[m.Point] = true
	}
}

// unseenMounts handles mounts made since the reader's last poll.
func (l *Listener) unseenMounts() {
	fds := []unix.PollFd{{Fd: int32(l.mountinfo), Events: unix.POLLPRI}}
	if n, _ := unix.Poll(fds, 0); n > 0 {
		l.mounted()
	}
}

// listen handles pending events, for a while.
func (l *Listener) listen(buffer []byte) {
	var passed []chan struct{}
	var hint Hint
	n, err := unix.Read(l.inotify, buffer)
	if err != nil { // EAGAIN: no event; EBADF: no inotify
		n = 0
	}
	for e := range events(buffer[:n]) {
		if e.mask&unix.IN_Q_OVERFLOW != 0 {
			hint.All = "there were more events than fs.inotify.max_queued_events allows"
			for _, t := range l.targets {
				l.dirty[t] = true
			}
			// Their markers may be lost.
			lost := l.markers
			l.markers = map[int]chan struct{}{}
			for _, ch := range lost {
				l.mark(ch)
			}
		}
		if ch, ok := l.markers[e.wd]; ok && e.mask&unix.IN_IGNORED != 0 {
			delete(l.markers, e.wd)
			passed = append(passed, ch)
			continue
		}
		l.handle(e)
	}
	if n == 0 {
		passed = append(passed, l.drains...)
		l.drains = nil
	}
	l.round++
	l.settle()
	l.tell(hint)
	l.hearWriters(buffer)
	if len(passed) > 0 && l.mountinfo >= 0 {
		l.unseenMounts()
	}
	for _, ch := range passed {
		close(ch)
	}
	if len(l.drains) > 0 {
		l.rouse()
	}
}

// slept returns how long the host has been suspended since it started.
func slept() time.Duration {
	var awake, all unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &awake) != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &all) != nil {
		return 0
	}
	return time.Duration(all.Nano() - awake.Nano())
}
