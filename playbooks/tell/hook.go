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

// Bounds of what a hook may cost.
const (
	maxWaiting = 1000             // events that wait for it
	hookTime   = 30 * time.Second // of one call, from its start to its end
	drainTime  = 5 * time.Second  // for what waits at the end of the run
	maxSaid    = 4 << 10          // bytes of its output that are kept
)

// A Hook starts a command for what becomes of watched hosts: it gets the event on its standard input,
// as a line of JSON. One call ends before the next one begins. What a host has sent is nowhere but in
// that line: not in an argument, not in the environment.
type Hook struct {
	argv   []string
	warn   func(string) // may be called at any time
	queue  chan []byte
	cancel context.CancelFunc
	calls  sync.WaitGroup
	time   time.Duration // of one call
	drain  time.Duration

	// These belong to whoever reports.
	lost    map[string]bool // hosts that are not watched for now
	dropped int

	// These belong to the calls, until they have ended.
	failed int
	said   string // of the last failure
}

// NewHook reads a command as a shell would read its words, and no more of it than that: nothing is
// expanded, and no shell is started unless it is the command.
func NewHook(command string, warn func(string)) (*Hook, error) {
	argv, err := shellquote.Split(command)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q is not a command: %w", command, err)
	case len(argv) == 0 || argv[0] == "":
		return nil, errors.New("there is no command")
	}
	if _, err := exec.LookPath(argv[0]); err != nil {
		return nil, err
	}
	return &Hook{argv: argv, warn: warn, queue: make(chan []byte, maxWaiting), time: hookTime, drain: drainTime, lost: map[string]bool{}}, nil
}

// Start has the command be called for what is reported from then on, until [Hook.Close] or the end of
// ctx.
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
			h.warn(fmt.Sprintf("--on-drift %s is too slow: %d events wait for it, and more are not given to it", h.argv[0], maxWaiting))
		}
	}
}

// wants reports whether an event is for the hook: drift and its end, repairs, fights, hosts that are
// not watched any more, and those that are again.
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

// call starts the command once. Only the first failure in a row is told at once.
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
	if err == nil || errors.Is(err, exec.ErrWaitDelay) { // somebody whom it has started has its output still
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

// Close waits for the calls that are left, a few seconds at most, and then ends the one under way. The
// error says what was not given to the command, or failed; it is no reason for the run to fail.
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

// A tail keeps the end of what is written to it.
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

// lastLine is the last line that says something, harmless for a terminal.
func (t *tail) lastLine() string {
	lines := strings.Split(strings.TrimSpace(string(t.kept)), "\n")
	return printable.Line(lines[len(lines)-1])
}
