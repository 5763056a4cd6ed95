package session

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"

	"github.com/ccm-push/ccm-push/modules/engine/notes"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// begin reports unreported results of earlier runs, and loads the results of this catalog from before its connection
// was lost, or from the run that this one resumes. ended reports that they are complete. The error is
// [notes.ErrResumed] if another run has resumed this one.
func (s *serving) begin(ctx context.Context, cat *wire.Catalog, out *outbox) (ended bool, err error) {
	s.engine.Finished, s.engine.Cut, s.engine.Keep, s.engine.Begins, s.engine.Forgotten, s.anew = nil, nil, nil, nil, false, ""
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
	begun, err := s.results.Begin(*cat.Once, *cat.Lock, hash, s.Now())
	if errors.Is(err, notes.ErrResumed) {
		return false, err
	}
	if openErr != nil {
		err = openErr
	}
	if begun.New { // no program had begun it before
		cat.Lock.Again = false
	}
	s.engine.Keep = func(f *notes.Finished) error {
		if first := err; first != nil {
			err = nil
			return first
		}
		f.Epoch, f.Before = cat.Lock.Epoch, s.engine.Failed[f.Result.Index]
		return s.results.Finish(f)
	}
	s.engine.Begins = s.results.Attempt
	s.engine.Forgotten = begun.Forgotten
	if cat.From == 0 {
		if err := s.tellUntold(out); err != nil {
			return false, err
		}
		if s.begun = begun; begun.Changed {
			s.anew = "the manifest or the facts have changed since the run that this one resumes; starting this play over"
		}
	}
	err = cmp.Or(err, s.cut(cat))
	if cat.From == 0 {
		s.engine.Failed, s.again = map[int][]string{}, map[int]bool{}
	}
	kept, dropped := staying(s.begun, s.again, cat)
	if len(dropped) > 0 {
		dropped = s.runAgain(cat, dropped)
	}
	if s.begun.By != "" && err == nil {
		err = s.results.Drop(dropped)
	}
	s.engine.Finished = map[int]*notes.Finished{}
	stay := s.ran(cat, kept)
	for _, f := range stay {
		err = cmp.Or(err, s.results.Finish(f))
	}
	for _, f := range slices.Concat(kept, stay) {
		s.engine.Finished[f.Result.Index] = f
		told := *f.Result
		told.Kept, told.Earlier = true, f.Epoch < cat.Lock.Epoch
		if err := out.put(&wire.Message{Result: &told}); err != nil {
			return false, err
		}
	}
	one := cat.From == 0 && cat.Until == 0 // otherwise the engine needs the earlier stages
	return one && begun.Ended && len(kept) == len(begun.Finished), nil
}

// runAgain records that the results with these indices are dropped. It returns them with the results of later stages
// that are dropped, too.
func (s *serving) runAgain(cat *wire.Catalog, dropped []int) []int {
	for _, f := range s.begun.Finished {
		r := f.Result
		if cat.Until > 0 && r.Index >= cat.Until && !s.again[r.Index] && !outlivesStage(f) {
			dropped = append(dropped, r.Index)
		}
		if !slices.Contains(dropped, r.Index) {
			continue
		}
		if f.MustStay() { // it may have another index now
			s.begun.Ran = append(s.begun.Ran, f)
		}
		if failed := f.Failures(); len(failed) > 0 {
			s.engine.Failed[r.Index] = failed
		}
	}
	for _, index := range dropped {
		s.again[index] = true
	}
	return dropped
}

// cut finds the entries whose command was cut. Those that must not start again have failed, and their outcome is
// unknown.
func (s *serving) cut(cat *wire.Catalog) (err error) {
	s.engine.Cut = map[int]*notes.Attempt{}
	for _, a := range s.begun.Attempts {
		if a.Index < cat.From || a.Index >= len(cat.Entries) { // in another stage
			continue
		}
		e := &cat.Entries[a.Index]
		switch {
		case a.Type != e.Type || a.Name != e.Name:
		case a.Running && !a.Repeatable && !e.Rerun:
			f := a.Unknown()
			err = cmp.Or(err, s.results.Finish(f))
			s.begun.Finished = append(slices.DeleteFunc(s.begun.Finished, func(f *notes.Finished) bool { return f.Result.Index == a.Index }), f)
		default:
			s.engine.Cut[a.Index] = a
		}
	}
	return err
}

// ran returns the results of entries whose command has run in another catalog of the play, such as before the manifest or
// the facts of the host changed.
func (s *serving) ran(cat *wire.Catalog, kept []*notes.Finished) (list []*notes.Finished) {
	if len(s.begun.Ran) == 0 {
		return nil
	}
	has := map[int]bool{}
	for _, f := range kept {
		has[f.Result.Index] = true
	}
	end := len(cat.Entries)
	if cat.Until > 0 {
		end = min(end, cat.Until)
	}
	for i := cat.From; i < end; i++ {
		e := &cat.Entries[i]
		if has[i] || e.Ran != "" || e.Excluded || e.Hidden || e.Check || e.Monitor || e.On != "" || len(e.Subscribe)+len(e.Receive)+len(e.Awaits) > 0 {
			continue
		}
		command := notes.CommandOf(e.Type, e.Name, e.Properties)
		at := slices.IndexFunc(s.begun.Ran, func(f *notes.Finished) bool {
			return f.Command == command && !(f.Result.Unknown && e.Rerun)
		})
		if at < 0 {
			continue
		}
		f, result := *s.begun.Ran[at], *s.begun.Ran[at].Result
		result.Index, f.Result = i, &result
		s.begun.Ran = slices.Delete(s.begun.Ran, at, at+1)
		list = append(list, &f)
	}
	return list
}

// outlivesStage reports whether a result counts although an entry of an earlier stage runs again. The results of that
// stage may change later entries, so most of them run again. A command that must not start again does not, and a failure
// that was rescued is not tried again.
func outlivesStage(f *notes.Finished) bool { return f.MustStay() || f.Result.Status == wire.Rescued }

// staying returns the entries of a stage whose results stay when the catalog is continued; the others are dropped.
// Predicted entries are predicted again, for later ones; so are entries whose state others may read, and entries that
// were killed. Undone resources are not entries of the catalog, and the host has dropped their records. Another run
// also tries failed entries again, with all that depend on them. before contains the entries that were dropped with
// earlier stages.
func staying(begun notes.Begun, before map[int]bool, cat *wire.Catalog) (kept []*notes.Finished, dropped []int) {
	again, unmet := make([]bool, len(cat.Entries)), make([]bool, len(cat.Entries))
	came := map[int]wire.Status{}
	end := len(cat.Entries)
	if cat.Until > 0 {
		end = min(end, cat.Until)
	}
	var stage []*notes.Finished
	for _, f := range begun.Finished {
		r := f.Result
		if r.Index >= end {
			continue
		}
		came[r.Index] = cmp.Or(r.Status, wire.Stable)
		if before[r.Index] {
			again[r.Index] = true
			continue
		}
		if r.Index < cat.From {
			continue
		}
		e := &cat.Entries[r.Index]
		other := e.Type != f.Type || e.Name != f.Name
		failed := begun.By != "" && r.Status == wire.Failed
		switch {
		case other, e.Ran != "": // an undo came after it
			again[r.Index] = true
		case r.Unknown:
			again[r.Index] = failed && e.Rerun
		default:
			again[r.Index] = r.Check || r.Killed || r.State != nil && !f.RunsOnce || failed
		}
		unmet[r.Index] = f.Unmet
		stage = append(stage, f)
	}
	if begun.By != "" {
		follow(again, unmet, cat)
	}
	for _, f := range stage {
		e := &cat.Entries[f.Result.Index]
		switch same := e.Type == f.Type && e.Name == f.Name; {
		case e.Ran != "":
		case same && f.Result.Unknown:
			again[f.Result.Index] = again[f.Result.Index] && e.Rerun
		case same && f.RunsOnce && f.Result.Status == wire.Changed && !mayRefresh(e, came, again): // its command has run
			again[f.Result.Index] = false
		}
	}
	for _, f := range stage {
		if again[f.Result.Index] {
			dropped = append(dropped, f.Result.Index)
		} else {
			kept = append(kept, f)
		}
	}
	return kept, dropped
}

// mayRefresh reports whether an entry subscribes to one that has its turn now and may change. came has the former
// results; a stable or changed one has its desired state.
func mayRefresh(e *wire.Entry, came map[int]wire.Status, again []bool) bool {
	return slices.ContainsFunc(e.Subscribe, func(on int) bool {
		status, known := came[on]
		return !known || again[on] && (status.HasFailed() || status == wire.Skipped)
	})
}

// follow adds to the repeated entries: the entries that depend on one of them, the manifests and blocks that contain
// them, and the entries that were skipped because of one of them.
func follow(again, unmet []bool, cat *wire.Catalog) {
	failed := slices.Clone(again)
	within := func(list []bool, scope int) bool {
		return slices.Contains(list[max(0, scope-cat.Entries[scope].Scope.Entries):scope], true)
	}
	for i := range cat.Entries {
		e := &cat.Entries[i]
		again[i] = again[i] || slices.ContainsFunc(sources(e), func(on int) bool { return on >= 0 && again[on] }) || e.Scope != nil && within(again, i)
		if again[i] || !unmet[i] {
			continue
		}
		again[i] = cat.FailOnError && slices.Contains(failed, true)
		for n := i + 1; n < len(cat.Entries) && !again[i]; n++ {
			s := cat.Entries[n].Scope
			again[i] = s != nil && n-s.Entries <= i && (s.FailOnError || s.Block != nil) && within(failed, n)
		}
	}
}

// sources returns the entries whose results or changes another one uses; -1 is an entry outside of the catalog.
func sources(e *wire.Entry) []int {
	list := slices.Concat(e.Require, e.Subscribe, e.Awaits)
	for _, r := range e.Receive {
		list = append(list, r.From)
	}
	return list
}

// hashOf returns the hash of a catalog's entries, in hex: of the entries that all of its stages have.
func hashOf(cat *wire.Catalog) (string, error) {
	entries := cat.Entries
	if cat.Fixed > 0 {
		entries = entries[:min(cat.Fixed, len(entries))]
	}
	entries = slices.Clone(entries)
	for i := range entries {
		entries[i].Rerun, entries[i].Ran = false, "" // they may be set to continue the run
	}
	text, err := json.Marshal(entries)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// tellUntold reports changes of earlier runs that were not reported.
func (s *serving) tellUntold(out *outbox) error {
	told := 0
	for _, u := range s.results.Untold() {
		if len(u.Results) == 0 {
			_ = s.results.Acknowledge(wire.Ack{Run: u.Run, Play: u.Play, For: u.For}) // or the next run does
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

// tellWithoutLock is tellUntold for a catalog that changes nothing. If the lock is held, the results belong to a run in
// progress.
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

// acknowledge records which results the controller has. It takes the lock, unless this session holds it, if it is free;
// otherwise the next run reports the results again.
func (s *serving) acknowledge(ctx context.Context, ack wire.Ack) {
	if ack.Reverted {
		if s.Confirms != nil {
			_ = s.Confirms.Files.Acknowledge(ack.Run, ack.Play) // if it fails, the next run reports it again
		}
		return
	}
	if s.held.Load() {
		_ = s.results.Acknowledge(ack) // if it fails, the next run reports it again
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
