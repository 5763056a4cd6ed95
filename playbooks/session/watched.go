package session

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// A watched catalog is one of which the host tells what becomes of it, see [wire.Watch].
type watched struct {
	entries int
	health  map[int]int         // how many health checks an entry has, of those that have some
	told    func(*wire.Watched) // nil while another one takes its place
	window  time.Time           // since when is counted what is told
	results int                 // that were told since
}

// Bounds of what a host says of a catalog under watch.
const (
	maxWriter = 256 // bytes of what is known of who has changed something, and of other reasons
	// watchWindow is the time in which each entry may be told so often on average, and so many
	// more: a file that flaps all the time is told once in each settling time.
	watchWindow = time.Minute
	maxTold     = 100
	maxMoreTold = 10_000
)

// replaceWatch has nothing more told of the catalog that another one of the same play replaces.
func (s *Session) replaceWatch(w *wire.Watch) {
	if w == nil {
		return
	}
	if old := s.watches[w.Play]; old != nil {
		old.told = nil
	}
}

// watch has the host's word taken for what becomes of a catalog, which has ended.
func (s *Session) watch(c *wire.Catalog, told func(*wire.Watched)) {
	if c.Watch == nil {
		return
	}
	if s.watches == nil {
		s.watches = map[int]*watched{}
	}
	w := &watched{entries: len(c.Entries), told: told, window: time.Now()}
	for i := range c.Entries {
		if n := len(c.Entries[i].Health); n > 0 {
			if w.health == nil {
				w.health = map[int]int{}
			}
			w.health[i] = n
		}
	}
	s.watches[c.Watch.Play] = w
}

// Hear hands on what becomes of catalogs under watch until ctx ends. The error is that of the session,
// as of [Session.Apply], which must not be at work meanwhile.
func (s *Session) Hear(ctx context.Context) error {
	err := s.hear(ctx)
	if errors.Is(err, io.EOF) {
		err = s.ending()
	}
	return err
}

func (s *Session) hear(ctx context.Context) error {
	for {
		early := s.early
		s.early = nil
		for _, m := range early {
			err := breach("the host sends a message about a catalog, but none is running")
			if m.Watched != nil {
				err = s.watched(m.Watched)
			}
			if err != nil {
				s.end(err)
				return err
			}
		}
		select {
		case s.early = <-s.incoming:
		case <-ctx.Done():
			return nil
		case <-s.over:
			return s.err
		}
	}
}

// watched checks what a host tells of a catalog under watch, and hands it on.
func (s *Session) watched(m *wire.Watched) error {
	w := s.watches[m.Play]
	if w == nil {
		return breach("the host reports play %d, which it does not watch", m.Play)
	}
	if err := w.check(m); err != nil {
		return err
	}
	if w.told != nil {
		w.told(m)
	}
	return nil
}

func (w *watched) check(m *wire.Watched) error {
	inBounds := func(i int) error {
		if i < 0 || i >= w.entries {
			return breach("the host reports resource %d of a play with %d resources", i, w.entries)
		}
		return nil
	}
	if now := time.Now(); now.Sub(w.window) > watchWindow {
		w.window, w.results = now, 0
	}
	if w.results += max(1, len(m.Results)); w.results > maxTold*w.entries+maxMoreTold {
		return breach("the host sends more than %d reports within %v about %d resources", maxTold*w.entries+maxMoreTold, watchWindow, w.entries)
	}
	told := make(map[int]bool, len(m.Results))
	for _, r := range m.Results {
		if err := inBounds(r.Index); err != nil {
			return err
		}
		if told[r.Index] {
			return breach("the host reports resource %d twice in one message", r.Index)
		}
		told[r.Index] = true
		if r.Registered != nil || len(r.Sent) > 0 {
			return breach("the host sends more about resource %d than its status", r.Index)
		}
		if err := checkResult(r, w.health[r.Index], false); err != nil {
			return err
		}
	}
	for i := range m.Writers {
		one := &m.Writers[i]
		if !told[one.Index] || one.PID < 0 {
			return breach("the host names what changed resource %d without a report about it", one.Index)
		}
		for _, text := range []*string{&one.Run, &one.Holder, &one.Program, &one.User, &one.Package} {
			*text = clipped(*text, maxWriter)
		}
	}
	for i := range m.Polled {
		if err := inBounds(m.Polled[i].Index); err != nil {
			return err
		}
		m.Polled[i].Why = clipped(m.Polled[i].Why, maxWriter)
	}
	m.Missed = clipped(m.Missed, maxWriter)
	return nil
}
