package session

import (
	"strings"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// followWait is the time that lines wait for others to be sent together.
const followWait = 100 * time.Millisecond

// A follower sends the output of commands as it comes. It drops and counts output above [wire.MaxOutput] in a second,
// and output that would have to wait for a slow controller.
type follower struct {
	out *outbox
	now func() time.Time

	mu      sync.Mutex
	waiting []*wire.Message
	size    int       // size of the waiting lines
	room    int       // amount that may be sent at that time
	at      time.Time // zero before the first line
	timed   bool      // it will be sent
}

// line takes a line of an entry's command.
func (f *follower) line(index int, stderr bool, line string) {
	line = strings.ToValidUTF8(line, "\uFFFD") // as JSON would make it, which may be longer
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	if elapsed := now.Sub(f.at); f.at.IsZero() || elapsed >= time.Second {
		f.room, f.at = wire.MaxOutput, now
	} else if more := int(elapsed * wire.MaxOutput / time.Second); more > 0 {
		f.room, f.at = min(wire.MaxOutput, f.room+more), now
	}
	cost := len(line) + wire.OutputLine
	drop := cost > f.room || f.size+cost > wire.MaxOutput
	var last *wire.Output
	if n := len(f.waiting); n > 0 {
		last = f.waiting[n-1].Output
	}
	if last == nil || !drop && (last.Index != index || last.Stderr != stderr || last.Dropped > 0) {
		last = &wire.Output{Index: index, Stderr: stderr}
		f.waiting = append(f.waiting, &wire.Message{Output: last})
	}
	if drop {
		last.Dropped++
	} else {
		last.Text += line + "\n"
		f.room -= cost
		f.size += cost
	}
	if !f.timed {
		f.timed = true
		time.AfterFunc(followWait, f.send)
	}
}

// send sends what waits, unless something is on its way still: then a moment later.
func (f *follower) send() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.timed = !f.out.idle(); f.timed {
		time.AfterFunc(followWait, f.send)
		return
	}
	f.put()
}

// flush sends the waiting lines before the next message of the outbox.
func (f *follower) flush() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.put()
}

func (f *follower) put() {
	for _, m := range f.waiting {
		_ = f.out.put(m) // the next result finds out
	}
	f.waiting, f.size = nil, 0
}
