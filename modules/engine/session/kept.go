package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/ccm-push/ccm-push/modules/engine/notes"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// begin tells what earlier runs could not, and what has been finished of this catalog before
// its connection was lost. ended says that this is all of it.
func (s *serving) begin(ctx context.Context, cat *wire.Catalog, out *outbox) (ended bool, err error) {
	s.engine.Finished, s.engine.Keep = nil, nil
	if cat.From > 0 && s.Results != nil && cat.Once != nil && cat.Lock == nil {
		return false, nil
	}
	if s.Results == nil || cat.Once == nil {
		return false, nil
	}
	if cat.Lock == nil {
		return false, s.tellWithoutLock(ctx, out)
	}
	var openErr error
	s.opened.Do(func() { openErr = s.results.Open(s.Results) })
	hash, err := hashOf(cat)
	if err != nil {
		return false, err
	}
	finished, ended, err := s.results.Begin(*cat.Once, hash, cat.Lock.Holder, s.Now())
	if openErr != nil {
		err = openErr
	}
	s.engine.Keep = func(f *notes.Finished) error {
		if first := err; first != nil {
			err = nil
			return first
		}
		return s.results.Finish(f)
	}
	if cat.From > 0 { // the engine knows, and the controller too
		return false, nil
	}
	if err := s.tellUntold(out); err != nil {
		return false, err
	}
	s.engine.Finished = map[int]*notes.Finished{}
	for _, f := range finished {
		if !stays(f, len(cat.Entries)) {
			ended = false
			continue
		}
		s.engine.Finished[f.Result.Index] = f
		told := *f.Result
		told.Kept = true
		if err := out.put(&wire.Message{Result: &told}); err != nil {
			return false, err
		}
	}
	return ended, nil
}

// stays reports whether what an entry came to still counts when the catalog is gone on with.
// What was only predicted is predicted again, for those behind it; so is what others may ask
// the state of, and what was killed. What was undone is no entry of the catalog, and the host
// has forgotten it.
func stays(f *notes.Finished, entries int) bool {
	r := f.Result
	return r.Index < entries && !r.Check && !r.Killed && r.State == nil
}

// hashOf is that of the entries of a catalog, in hex: of those that all of its stages have.
func hashOf(cat *wire.Catalog) (string, error) {
	entries := cat.Entries
	if cat.Fixed > 0 {
		entries = entries[:min(cat.Fixed, len(entries))]
	}
	text, err := json.Marshal(entries)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// tellUntold tells what earlier runs have changed and could not tell.
func (s *serving) tellUntold(out *outbox) error {
	told := 0
	for _, u := range s.results.Untold() {
		if len(u.Results) == 0 {
			_ = s.results.Acknowledge(wire.Ack{Run: u.Run, Play: u.Play}) // or the next run does
			continue
		}
		if told++; told > wire.MaxUntoldCatalogs {
			break
		}
		if err := out.put(&wire.Message{Untold: u}); err != nil {
			return err
		}
	}
	return nil
}

// tellWithoutLock is for a catalog that changes nothing. If the lock is held, the results are
// those of a run that is at work.
func (s *serving) tellWithoutLock(ctx context.Context, out *outbox) error {
	var err error
	s.opened.Do(func() {
		text, readErr := s.Results.Read()
		if readErr != nil || notes.AllTold(text) {
			return
		}
		free, lockErr := s.Lock(ctx, wire.Lock{})
		if lockErr != nil {
			return
		}
		defer free()
		if s.results.Open(s.Results) == nil {
			err = s.tellUntold(out)
		}
	})
	return err
}

// acknowledge notes which results the controller has. It takes the lock, if this session
// does not hold it and it is free; else they are told again by the next run.
func (s *serving) acknowledge(ctx context.Context, ack wire.Ack) {
	if ack.Reverted {
		if s.Confirms != nil {
			_ = s.Confirms.Files.Acknowledge(ack.Run, ack.Play) // or the next run tells it again
		}
		return
	}
	if s.held.Load() {
		_ = s.results.Acknowledge(ack) // or the next run tells it again
		return
	}
	free, err := s.Lock(ctx, wire.Lock{})
	if err != nil {
		return
	}
	defer free()
	if s.results.Open(s.Results) == nil {
		_ = s.results.Acknowledge(ack)
	}
}
