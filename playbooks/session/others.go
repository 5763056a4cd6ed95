package session

import (
	"context"
	"slices"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/semaphore"
)

// turn lets an entry stand in line for its semaphores, or gives them back. The answer
// comes when it holds them all, which may take as long as other hosts do.
func (a *answers) turn(m *modules.Turn) error {
	entries := a.Catalog.Entries
	switch {
	case m.Index < 0 || m.Index >= len(entries) || len(entries[m.Index].Sema) == 0:
		return breach("the host asks for semaphores of resource %d, which has none", m.Index)
	case m.Over:
		a.giveBack(m.Index)
		return nil
	case a.seen[m.Index]:
		return breach("the host asks for semaphores of resource %d, which it has reported", m.Index)
	case a.turns[m.Index] != nil:
		return breach("the host asks for the semaphores of resource %d twice", m.Index)
	}
	claims, err := semaphore.Parse(entries[m.Index].Sema)
	if err != nil {
		return err
	}
	t := a.Semaphores.Ask(claims)
	a.turns[m.Index] = t
	a.waits.note(1, 0)
	a.work.Go(func() {
		select {
		case <-t.Granted():
		case <-t.Gone():
			a.waits.note(-1, 0)
			return
		}
		a.waits.note(-1, 1)
		a.answer(&modules.Message{Granted: &modules.Granted{Index: m.Index}}, t.Gone())
		<-t.Gone()
		a.waits.note(0, -1)
	})
	return nil
}

// answer sends what the host has waited for, unless that is gone by then.
func (s *Session) answer(m *modules.Message, gone <-chan struct{}) {
	select {
	case s.outgoing <- func() error { return s.conn.Send(m) }:
	case <-gone:
	case <-s.over:
	}
}

// giveBack ends the turn of an entry, if it has one.
func (a *answers) giveBack(index int) {
	if t := a.turns[index]; t != nil {
		delete(a.turns, index)
		t.GiveBack()
	}
}

// giveAllBack ends what is left when a host is done with a catalog, however it is.
func (a *answers) giveAllBack() {
	for _, t := range a.turns {
		t.GiveBack()
	}
}

// need finds what an entry receives from other hosts. The answer comes when they
// have sent it, or when it is known that they never will.
func (a *answers) need(ctx context.Context, m *modules.Need) error {
	switch {
	case m.Index < 0 || m.Index >= len(a.seen) || len(a.Imports[m.Index]) == 0 || a.Exchange == nil:
		return breach("the host asks for values of resource %d, which receives none from other hosts", m.Index)
	case a.seen[m.Index]:
		return breach("the host asks for values of resource %d, which it has reported", m.Index)
	case a.needs[m.Index]:
		return breach("the host asks for the values of resource %d twice", m.Index)
	}
	a.needs[m.Index] = true
	a.waits.note(1, 0)
	ctx, cancel := context.WithCancel(ctx)
	participant, ended := a.Exchange, a.ended
	a.work.Go(func() {
		defer cancel()
		given := participant.Import(ctx, m.Index)
		a.waits.note(-1, 0)
		a.answer(&modules.Message{Given: given}, ended)
	})
	a.work.Go(func() {
		select {
		case <-ended:
			cancel()
		case <-ctx.Done():
		}
	})
	return nil
}

// handles reports whether an entry has received what is sensitive, so that it is
// sensitive itself, and so is what it gives to others.
func (a *answers) handles(index int) bool {
	entries := a.Catalog.Entries
	return a.Exchange != nil && a.Exchange.ImportedSensitive(index) ||
		slices.ContainsFunc(entries[index].Receive, func(from modules.Receive) bool { return from.From >= 0 && entries[from.From].Sensitive })
}

// sent takes what an entry gives to other hosts out of its result.
func (a *answers) sent(r *modules.Result) error {
	entry := &a.Catalog.Entries[r.Index]
	for key := range r.Sent {
		if !slices.Contains(entry.Export, key) {
			return breach("the host sends the value %.64q of resource %d, which does not export it", key, r.Index)
		}
	}
	entry.Sensitive = entry.Sensitive || a.handles(r.Index)
	if a.Exchange != nil {
		a.Exchange.Export(r, &a.Catalog)
	}
	r.Sent = nil
	return nil
}
