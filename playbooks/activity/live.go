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
	// drawEvery is how often a terminal is drawn at most, but for text that is printed.
	drawEvery = 100 * time.Millisecond
	// showAfter is how long a run takes at least of which anything is shown.
	showAfter = 500 * time.Millisecond
	// maxPending is how many bytes of text may wait for the terminal; who writes more waits
	// as well.
	maxPending = 4 << 20
	// maxRows is how many lines are drawn at most.
	maxRows = 5
)

// Escapes of terminals (ECMA-48; the modes 7 and 2026 are private ones of DEC and of
// https://github.com/contour-terminal/vt-extensions, which others ignore).
const (
	beginUpdate = "\x1b[?2026h" // what follows is shown at once, when it ends
	endUpdate   = "\x1b[?2026l"
	eraseBelow  = "\r\x1b[J" // from the beginning of the line to the end of the screen
	noWrap      = "\x1b[?7l" // a line that is too long after all is cut
	wrap        = "\x1b[?7h"
)

// A Terminal is where a [Live] is shown.
type Terminal struct {
	io.Writer
	// Size gives its columns and rows at the moment; 0 columns are not to be drawn on now.
	Size func() (columns, rows int)
	// Stopping gives a value when the program shall stop, by Ctrl-Z: the lines are removed, and
	// Stop is called. nil gives none.
	Stopping <-chan os.Signal
	Stop     func()
	// Continued gives a value when the program goes on after it was stopped: what had been
	// drawn then is not below the cursor any more. nil gives none.
	Continued <-chan os.Signal
}

// A Live shows what hosts are at, at the bottom of a terminal. It is the writer of what is
// printed above that: text is queued, so that whoever writes it does not wait for the
// terminal.
//
// The cursor rests at the beginning of the lines, and not behind them: a terminal that is
// resized may break lines anew, and then nobody knows how far up they begin.
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

	// Of the one that draws:
	drawn  []string // what is below the cursor
	size   [2]int   // of the terminal, when lines were last made
	midway bool     // the last text did not end its line
	usual  time.Duration
	asked  bool // for usual
}

// NewLive begins to show what look gives. expected, which may be nil, says once how long a
// run of so many hosts will take; 0 is not known. The Live must be closed.
func NewLive(t Terminal, look func() Snapshot, expected func(hosts int) time.Duration) *Live {
	l := &Live{terminal: t, look: look, expected: expected, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	l.taken.L = &l.mu
	go l.run() // Close waits for it
	return l
}

// Write prints text above the lines, soon. An error is that of an earlier one.
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

// lastWait is how long the end waits for what nobody reads.
const lastWait = time.Second

// Close removes the lines, and returns when all text is printed. A terminal that takes
// nothing, such as one that Ctrl-S has stopped, is waited for until ctx has ended, and a moment
// longer. The error is the first one of the terminal, or that of ctx.
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
		again := false // with what is drawn already
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

// take gives the text that is to be printed next, and whether it is the last.
func (l *Live) take() (text []byte, last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text, l.pending, l.over = l.pending, nil, l.ending
	l.taken.Broadcast()
	return text, l.over
}

// lines are what is to be shown now; none in the first moments of a run. Between two looks
// they are what they were, if the terminal still has the size for that.
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
	// The last column stays free: some terminals go on to the next line when it is written.
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
			// Ctrl-C has terminals drop what they have not shown yet, such as this mode.
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
