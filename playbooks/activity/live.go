package activity

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// drawEvery is the least time between two updates of a terminal, except for printed text.
	drawEvery = 100 * time.Millisecond
	// showAfter is the time after which a run shows its progress.
	showAfter = 500 * time.Millisecond
	// maxPending bounds the text that may wait for the terminal, in bytes; further writes wait, too.
	maxPending = 4 << 20
	// maxRows bounds the lines.
	maxRows = 5
)

// Escapes of terminals (ECMA-48; the modes 7 and 2026 are private ones of DEC and of
// https://github.com/contour-terminal/vt-extensions, which others ignore).
const (
	beginUpdate = "\x1b[?2026h" // the terminal shows the output up to endUpdate at once
	endUpdate   = "\x1b[?2026l"
	eraseBelow  = "\r\x1b[J" // from the beginning of the line to the end of the screen
	noWrap      = "\x1b[?7l" // a line that is too long after all is cut
	wrap        = "\x1b[?7h"
)

// A Terminal is where a [Live] is shown.
type Terminal struct {
	io.Writer
	// Size returns the current columns and rows; with 0 columns nothing is drawn now.
	Size func() (columns, rows int)
	// Stopping has a value when Ctrl-Z stops the program: the lines are removed, and Stop is called. It may be nil.
	Stopping <-chan os.Signal
	Stop     func()
	// Continued has a value when the program continues after a stop: the earlier lines are no longer below the cursor.
	// It may be nil.
	Continued <-chan os.Signal
}

// A Live shows the current steps of hosts at the bottom of a terminal. Its Write prints text above them: text is
// queued, so that writers do not wait for the terminal.
//
// The cursor stays at the begin of the lines, and not after them: a resized terminal may wrap lines again, and then
// their begin would be unknown.
type Live struct {
	terminal Terminal
	look     func() Snapshot
	expected func(hosts int) time.Duration

	mu      sync.Mutex
	taken   sync.Cond // pending has been taken, or everything has ended
	pending []byte
	ending  bool
	over    bool // nothing is taken any more
	err     error

	wake  chan struct{} // holds one
	ended chan struct{}

	// Used by the drawing goroutine alone:
	drawn  []string // lines below the cursor
	size   [2]int   // size of the terminal when the lines were last made
	midway bool     // the last text did not end its line
	usual  time.Duration
	asked  bool // for usual
}

// NewLive begins to show the snapshots of look. expected, which may be nil, is called once and returns the expected
// time of a run of so many hosts; 0 means unknown. The caller must close the Live.
func NewLive(t Terminal, look func() Snapshot, expected func(hosts int) time.Duration) *Live {
	l := &Live{terminal: t, look: look, expected: expected, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	l.taken.L = &l.mu
	go l.run() // Close waits for it
	return l
}

// Write prints text above the lines, soon. It returns the error of an earlier write.
func (l *Live) Write(p []byte) (int, error) {
	l.mu.Lock()
	for len(l.pending) > 0 && len(l.pending)+len(p) > maxPending && !l.over {
		l.taken.Wait()
	}
	if l.over {
		l.mu.Unlock()
		<-l.ended
		return l.terminal.Write(p)
	}
	defer l.mu.Unlock()
	if l.err != nil {
		return 0, l.err
	}
	l.pending = append(l.pending, p...)
	l.signal()
	return len(p), nil
}

func (l *Live) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// lastWait limits the wait at the end for a terminal that is not read.
const lastWait = time.Second

// Close removes the lines, and returns when all text is printed. If the terminal takes no text, for example after
// Ctrl-S, Close waits until ctx has ended, and a moment longer. It returns the first error of the terminal, or the
// error of ctx.
func (l *Live) Close(ctx context.Context) error {
	l.mu.Lock()
	l.ending = true
	l.signal()
	l.mu.Unlock()
	select {
	case <-l.ended:
	case <-ctx.Done():
		select {
		case <-l.ended:
		case <-time.After(lastWait):
			return ctx.Err()
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

func (l *Live) run() {
	defer close(l.ended)
	tick := time.NewTicker(drawEvery)
	defer tick.Stop()
	for {
		again := false // with the lines that are drawn already
		select {
		case <-tick.C:
		case <-l.wake:
			again = true
		case <-l.terminal.Stopping:
			l.draw(nil, nil)
			l.terminal.Stop()
			continue
		case <-l.terminal.Continued:
			l.drawn = nil
		}
		text, last := l.take()
		var lines []string
		if !last {
			lines = l.lines(again)
		}
		l.draw(text, lines)
		if last {
			return
		}
	}
}

// take returns the next text to print, and whether it is the last.
func (l *Live) take() (text []byte, last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text, l.pending, l.over = l.pending, nil, l.ending
	l.taken.Broadcast()
	return text, l.over
}

// lines returns the lines to show now; none in the first moments of a run. Between two snapshots they stay the same,
// unless the terminal has another size.
func (l *Live) lines(again bool) []string {
	columns, rows := l.terminal.Size()
	size := [2]int{columns, rows}
	if again && size == l.size {
		return l.drawn
	}
	l.size = size
	s := l.look()
	if !s.Begun || s.Elapsed < showAfter {
		return nil
	}
	if !l.asked && l.expected != nil {
		l.usual = l.expected(s.Hosts)
	}
	l.asked = true
	if columns < 2 || rows == 1 {
		return nil
	}
	if rows <= 0 {
		rows = maxRows + 1
	}
	// The last column stays free: some terminals wrap when it is written.
	return s.lines(l.usual, columns-1, min(maxRows, rows-1))
}

// draw prints text and has lines below it, in one write.
func (l *Live) draw(text []byte, lines []string) {
	if len(text) > 0 {
		l.midway = !bytes.HasSuffix(text, []byte("\n"))
	}
	if l.midway {
		lines = nil
	}
	if len(text) == 0 && slices.Equal(lines, l.drawn) {
		return
	}
	var b bytes.Buffer
	if len(l.drawn) == 0 && len(lines) == 0 {
		b.Write(text)
	} else {
		b.WriteString(beginUpdate)
		if len(l.drawn) > 0 {
			// After Ctrl-C, terminals drop output that they have not shown yet, such as this mode.
			b.WriteString(wrap + eraseBelow)
		}
		b.Write(text)
		b.WriteString(below(lines))
		b.WriteString(endUpdate)
	}
	l.drawn = lines
	if _, err := l.terminal.Write(b.Bytes()); err != nil {
		l.fail(err)
	}
}

// below draws lines and goes back to where they begin.
func below(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	text := noWrap + strings.Join(lines, "\r\n") + wrap + "\r"
	if len(lines) > 1 {
		text += fmt.Sprintf("\x1b[%dA", len(lines)-1)
	}
	return text
}

func (l *Live) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
	}
}
