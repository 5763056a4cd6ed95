package session

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// A watched is a catalog for which the host keeps reporting changes, see [wire.Watch].
type watched struct {
	entries int
	health  map[int]int         // number of health checks, by entry that has some
	told    func(*wire.Watched) // nil while another one takes its place
	window  time.Time           // start of the current counting window
	results int                 // results in the current window
}

// Limits of a host's reports about a watched catalog.
const (
	maxWriter = 256 // size of the data about a writer, and of other reasons, in bytes
	// watchWindow is the time in which a host may report maxTold results per entry on average, and maxMoreTold more: a
	// file that changes all the time is reported once per settling time.
	watchWindow = time.Minute
	maxTold     = 100
	maxMoreTold = 10_000
)

// replaceWatch ends the reports about a catalog that another one of the same play replaces.
func (s *Session) replaceWatch(w *wire.Watch) {
	if w == nil {
		return
	}
	if old := s.watches[w.Play]; old != nil {
		old.told = nil
	}
}

// watch accepts the host's reports about a catalog that has ended.
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

// Hear forwards reports about watched catalogs until ctx ends. The error is the session's error, as for
// [Session.Apply], which must not run at the same time.
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

// watched checks a host's report about a watched catalog, and forwards it.
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
