package system

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// A commandLog records the running commands in the lock file, so that the next run knows which commands this program
// has left if it dies. A command has a slot from before its start until its end. The records need to survive the
// program, not the host, so nothing is synced.
type commandLog struct {
	mu    sync.Mutex
	file  *os.File // the lock file; nil while the lock is not held
	start int64    // offset of the first slot
	used  []bool   // slots
	// unnoted, if set, is called between the start of a command and its note: tests die
	// there.
	unnoted func()
}

// slotSize is the size of a slot in bytes. No slot is on two pages, so a write to
// one is complete or absent if the program is killed.
const slotSize = 64

// marker is the variable by which a command is found that was started, but not noted
// when the program died.
const marker = "CCM_PUSH_COMMAND"

// mark is the marker of the command in a slot of a lock file. It is the same in every run,
// since what commands make of their environment may be kept.
func mark(file *os.File, slot int) string { return fmt.Sprintf("%s=%s:%d", marker, file.Name(), slot) }

// hold begins to note in a lock file that is held; slots begin at start.
func (f *commandLog) hold(file *os.File, start int64) {
	if f != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.file, f.start, f.used = file, start, nil
	}
}

func (f *commandLog) release() { f.hold(nil, 0) }

// A slot is the place of a command; nil notes nothing.
type slot struct {
	log    *commandLog
	number int
	from   uint64 // when it was taken, in ticks since the start of the host
}

// take notes that a command is about to start, and adds the marker to its environment.
func (f *commandLog) take(p *exec.Cmd) (*slot, error) {
	if f == nil {
		return nil, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		return nil, nil
	}
	number := slices.Index(f.used, false)
	if number < 0 {
		number = len(f.used)
		f.used = append(f.used, false)
	}
	s := &slot{f, number, ticks()}
	if err := s.write(note{from: s.from}.String()); err != nil {
		return nil, fmt.Errorf("recording a started process next to the lock: %w", err)
	}
	f.used[number] = true
	p.Env = append(p.Env, mark(f.file, number))
	return s, nil
}

// started notes the process of the command. If that fails, the next run finds the process by the marker.
func (s *slot) started(pid int) {
	if s == nil {
		return
	}
	if s.log.unnoted != nil {
		s.log.unnoted()
	}
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	_ = s.write(note{pid: pid, from: s.from, until: ticks()}.String())
}

// ended frees the slot: the command has ended, or was not started. If that fails, the next
// run sees that there is no such process.
func (s *slot) ended() {
	if s == nil {
		return
	}
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	_ = s.write("")
	s.log.used[s.number] = false
}

func (s *slot) write(text string) error {
	if s.log.file == nil {
		return os.ErrClosed
	}
	_, err := s.log.file.WriteAt(padded(text, slotSize), s.log.start+int64(s.number)*slotSize)
	return err
}

// padded is a line of size bytes.
func padded(text string, size int) []byte { return fmt.Appendf(nil, "%-*s\n", size-1, text) }

// A note is the content of a slot.
type note struct {
	mark string // marker of the command
	pid  int    // pid of the command, which leads a session; 0 if it was only about to be started
	// from and until are the first and the last moment at which it can have been
	// started, in ticks since the start of the host; 0 where the system does not report it.
	from, until uint64
}

func (n note) String() string { return fmt.Sprintf("%d %d %d", n.pid, n.from, n.until) }

// maxNotes limits how much of a lock file is read: 1 MiB.
const maxNotes = 1 << 20

// readNotes returns the commands that are noted in a lock file. A lock file from before the
// last boot of the host has none.
func readNotes(file *os.File) (holder, []note, error) {
	text, err := io.ReadAll(io.NewSectionReader(file, 0, maxNotes))
	if err != nil {
		return holder{}, nil, err
	}
	h, slots := parseHolder(text)
	if h.Boot != boot() {
		return h, nil, nil
	}
	var notes []note
	for i := 0; len(slots) >= slotSize; i++ {
		n := note{mark: mark(file, i)}
		if _, err := fmt.Sscanf(string(slots[:slotSize]), "%d %d %d", &n.pid, &n.from, &n.until); err == nil {
			notes = append(notes, n)
		}
		slots = slots[slotSize:]
	}
	return h, notes, nil
}

// A process is one that runs on the host.
type process struct {
	pid     int
	group   int
	session int
	start   uint64 // in ticks since the start of the host
	name    string // the process's own name; empty if the system does not report it
	dead    bool   // it has ended, and its parent has not waited for it
}

// orphans returns the processes of noted commands that run, one of each process group.
func orphans(notes []note) []process {
	if len(notes) == 0 {
		return nil
	}
	all, ok := processes()
	if !ok {
		return orphanGroups(notes)
	}
	var found []process
	for _, n := range notes {
		for _, p := range ofCommand(all, n) {
			if !slices.ContainsFunc(found, func(other process) bool { return other.group == p.group }) {
				found = append(found, p)
			}
		}
	}
	return found
}

// orphanGroups is for systems without a list of processes: every process group with a recorded number counts, whichever
// process created it.
func orphanGroups(notes []note) []process {
	var found []process
	for _, n := range notes {
		if n.pid > 1 && !errors.Is(syscall.Kill(-n.pid, 0), syscall.ESRCH) {
			found = append(found, process{pid: n.pid, group: n.pid})
		}
	}
	return found
}

// ofCommand returns the running processes of a command: all of its session, since a shell may have died of its closed
// output while its children still run.
func ofCommand(all []process, n note) []process {
	if n.pid == 0 {
		leader, ok := unnoted(all, n)
		if !ok {
			return nil
		}
		n.pid, n.until = leader.pid, leader.start
	}
	var found []process
	for _, p := range all {
		// While a session has processes, the system does not reuse its number. A process with that number and another
		// start time shows that the session is empty.
		if p.pid == n.pid && (p.start < n.from || p.start > n.until) {
			return nil
		}
		if p.session == n.pid && !p.dead {
			found = append(found, p)
		}
	}
	return found
}

// unnoted finds the process of a command that was about to be started. The first process with the marker is the command
// itself; later ones can be daemons that it has started. If the command died before it was recorded, neither it nor its
// children are found.
func unnoted(all []process, n note) (leader process, ok bool) {
	for _, p := range all {
		if p.pid == p.session && p.start >= n.from && (!ok || p.start < leader.start) && marked(p.pid, n.mark) {
			leader, ok = p, true
		}
	}
	return leader, ok
}

// parseStat reads /proc/PID/stat (proc(5)). The name may hold anything, also spaces
// and parentheses.
func parseStat(text string) (p process, ok bool) {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return process{}, false
	}
	fields := strings.Fields(text[end+1:])
	if len(fields) < 20 {
		return process{}, false
	}
	p.name, p.dead = text[open+1:end], fields[0] == "Z" || fields[0] == "X"
	var errs [4]error
	p.pid, errs[0] = strconv.Atoi(strings.TrimSpace(text[:open]))
	p.group, errs[1] = strconv.Atoi(fields[2])
	p.session, errs[2] = strconv.Atoi(fields[3])
	p.start, errs[3] = strconv.ParseUint(fields[19], 10, 64)
	return p, errs == [4]error{}
}

// hasMark reports whether an environment, in the form of /proc, belongs to the command with a mark.
func hasMark(environ []byte, mark string) bool {
	return slices.Contains(strings.Split(string(environ), "\x00"), mark)
}

// killLine is the command that ends the groups of processes.
func killLine(all []process) string {
	line := "kill --"
	for _, p := range all {
		line += " -" + strconv.Itoa(p.group)
	}
	return line
}
