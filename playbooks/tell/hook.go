package tell

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	shellquote "github.com/kballard/go-shellquote"

	"github.com/ccm-push/ccm-push/inventory/printable"
	"github.com/ccm-push/ccm-push/playbooks/events"
)

// Limits of the cost of a hook.
const (
	maxWaiting = 1000             // events that wait for it
	hookTime   = 30 * time.Second // limit of one call, from its start to its end
	drainTime  = 5 * time.Second  // time for the waiting events at the end of the run
	maxSaid    = 4 << 10          // bytes of its output that are kept
)

// A Hook starts a command for each change of a watched host: it gets the event on its standard input, as a line of
// JSON. One call ends before the next one begins. Data of a host are only in that line: not in an argument, not in the
// environment.
type Hook struct {
	argv   []string
	warn   func(string) // may be called at any time
	queue  chan []byte
	cancel context.CancelFunc
	calls  sync.WaitGroup
	time   time.Duration // limit of one call
	drain  time.Duration

	// Used by the reporting goroutine:
	lost    map[string]bool // hosts that are not watched for now
	dropped int

	// These belong to the calls, until they have ended.
	failed int
	said   string // output of the last failure
}

// NewHook reads a command as a shell would read its words, and no more of it than that: nothing is
// expanded, and no shell is started unless it is the command.
func NewHook(command string, warn func(string)) (*Hook, error) {
	argv, err := shellquote.Split(command)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q is not a command: %w", command, err)
	case len(argv) == 0 || argv[0] == "":
		return nil, errors.New("no command")
	}
	if _, err := exec.LookPath(argv[0]); err != nil {
		return nil, err
	}
	return &Hook{argv: argv, warn: warn, queue: make(chan []byte, maxWaiting), time: hookTime, drain: drainTime, lost: map[string]bool{}}, nil
}

// Start begins to call the command for reported events, until [Hook.Close] or the end of ctx.
func (h *Hook) Start(ctx context.Context) {
	ctx, h.cancel = context.WithCancel(ctx)
	h.calls.Go(func() {
		for line := range h.queue {
			h.call(ctx, line)
		}
	})
}

// Report takes an event. It does not wait.
func (h *Hook) Report(e events.Event) {
	if !h.wants(e) {
		return
	}
	var line bytes.Buffer
	events.NewJSON(&line).Report(e)
	select {
	case h.queue <- line.Bytes():
	default:
		if h.dropped++; h.dropped == 1 {
			h.warn(fmt.Sprintf("--on-drift %s is too slow: %d events wait for the command, and ccm-push drops further events", h.argv[0], maxWaiting))
		}
	}
}

// wants reports whether an event is for the hook: drift and its end, repairs, fights, and hosts whose watch ends or
// begins again.
func (h *Hook) wants(e events.Event) bool {
	switch e := e.(type) {
	case events.Drifted, events.Repaired, events.Fighting:
		return true
	case events.Unwatched:
		h.lost[e.Host] = true
		return true
	case events.Watched:
		again := h.lost[e.Host]
		delete(h.lost, e.Host)
		return again
	}
	return false
}

// call starts the command once. It reports only the first failure in a row at once.
func (h *Hook) call(ctx context.Context, line []byte) {
	ctx, cancel := context.WithTimeoutCause(ctx, h.time, fmt.Errorf("it took longer than %s", h.time))
	defer cancel()
	if ctx.Err() != nil {
		h.failed++
		h.said = "the run has ended before"
		return
	}
	said := &tail{most: maxSaid}
	c := exec.CommandContext(ctx, h.argv[0], h.argv[1:]...)
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(line), said, said
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = time.Second
	err := c.Run()
	if err == nil || errors.Is(err, exec.ErrWaitDelay) { // one of its children still holds its output
		h.said = ""
		return
	}
	h.failed++
	why := err.Error()
	if cause := context.Cause(ctx); cause != nil {
		why = cause.Error()
	}
	if last := said.lastLine(); last != "" {
		why += ": " + last
	}
	if h.said == "" {
		h.warn(fmt.Sprintf("--on-drift %s: %s", h.argv[0], why))
	}
	h.said = why
}

// Close waits for the remaining calls, at most a few seconds, and then ends the current one. The error has the counts
// of dropped events and failures. The run must not fail because of this error.
func (h *Hook) Close() error {
	close(h.queue)
	stop := time.AfterFunc(h.drain, h.cancel)
	h.calls.Wait()
	stop.Stop()
	h.cancel()
	if h.failed+h.dropped == 0 {
		return nil
	}
	text := fmt.Sprintf("--on-drift %s: %d events were not given to it", h.argv[0], h.dropped)
	if h.failed > 0 {
		text = fmt.Sprintf("--on-drift %s: %d calls failed, and %d events were not given to it; last: %s", h.argv[0], h.failed, h.dropped, cmp.Or(h.said, "it went well"))
	}
	return errors.New(text)
}

// A tail keeps the end of the written text.
type tail struct {
	most int
	kept []byte
}

// Write implements [io.Writer].
func (t *tail) Write(b []byte) (int, error) {
	t.kept = append(t.kept, b...)
	if over := len(t.kept) - t.most; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(b), nil
}

// lastLine returns the last line that is not empty, safe for a terminal.
func (t *tail) lastLine() string {
	lines := strings.Split(strings.TrimSpace(string(t.kept)), "\n")
	return printable.Line(lines[len(lines)-1])
}
