package links

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"sync"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
	"github.com/ccm-push/ccm-push/playbooks/record"
	"github.com/ccm-push/ccm-push/playbooks/workers"
	"github.com/ccm-push/ccm-push/playbooks/workers/keyring"
)

// Sharing shares a run with workers, so that other machines can follow and resume it. It writes the copy of the record.
type Sharing struct {
	What    string // the run is about, for people
	copied  *workers.Copy
	resumed *workers.Lease // lease of the run to resume, until the resuming run takes it
}

// Handover returns the store of shared runs.
func (f *Workers) Handover(ctx context.Context) (*workers.Handover, error) {
	a := f.App
	key, err := keyring.ReadKey(cmp.Or(f.Flags.Workers.Key, a.Configuration(CoordinatorKey)))
	if err != nil {
		return nil, fmt.Errorf("--workers: the key of this machine: %w", err)
	}
	open := keyring.OpenOptionalKeyFile
	if f.Flags.Workers.Operators != "" {
		open = keyring.OpenKeyFile
	}
	ring, err := open(cmp.Or(f.Flags.Workers.Operators, a.Configuration(operatorsList)), a.Say)
	if err != nil {
		return nil, fmt.Errorf("--workers: the keys of operators: %w", err)
	}
	account, err := user.Current()
	if err != nil {
		return nil, fmt.Errorf("finding out who runs this: %w", err)
	}
	q, err := f.Queue(ctx)
	if err != nil {
		return nil, err
	}
	records, err := q.Records(ctx)
	return &workers.Handover{Queue: q, Records: records, Key: key, Operators: ring, Holder: app.Holder(account), Warn: a.Warn}, err
}

// Fetch takes the lease of a run that was begun elsewhere, and copies its record into the store. It returns the run's
// id.
func (f *Workers) Fetch(ctx context.Context, store record.Store, name string) (string, error) {
	h, err := f.Handover(ctx)
	if err != nil {
		return "", err
	}
	s, err := h.Find(ctx, cmp.Or(name, "last"))
	if err != nil {
		return "", err
	}
	if f.Shared.resumed, err = h.Take(ctx, s); err != nil {
		return "", err
	}
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	return s.Run, h.Fetch(ctx, s, store, here)
}

// Take takes the lease of a run whose record is here, if it is shared. Its program has ended.
func (f *Workers) Take(ctx context.Context, run *record.Run) error {
	if f.Flags.Workers.URL == "" || f.Shared.resumed != nil {
		return nil
	}
	h, err := f.Handover(ctx)
	if err != nil {
		return err
	}
	s, err := h.Find(ctx, run.Run)
	if errors.Is(err, record.ErrNone) { // it had no workers, or has ended too long ago
		return nil
	}
	if err != nil {
		return err
	}
	if s.Holder == fmt.Sprintf("%s@%s (pid %d)", run.User, run.Header.Host, run.PID) {
		s.Held = false
	}
	f.Shared.resumed, err = h.Take(ctx, s)
	return err
}

// Share begins to share a run, of which the queue has a name.
func (s *Sharing) Share(ctx context.Context, h *workers.Handover, run, name string) (lost <-chan struct{}, err error) {
	copied, err := h.Share(ctx, run, s.What, name, s.resumed)
	if err != nil {
		return nil, err
	}
	s.copied, s.resumed = copied, nil
	return copied.Lost(), nil
}

// Lost returns a channel that is closed when another machine resumes the run; nil if the run is not shared.
func (s *Sharing) Lost() <-chan struct{} {
	if s.copied == nil {
		return nil
	}
	return s.copied.Lost()
}

// FirstOf returns a channel that is closed when the first of three is, until end.
func FirstOf(one, two, three <-chan struct{}) (first <-chan struct{}, end func()) {
	closed, over := make(chan struct{}), make(chan struct{})
	var waiting sync.WaitGroup
	waiting.Go(func() {
		select {
		case <-one:
		case <-two:
		case <-three:
		case <-over:
			return
		}
		close(closed)
	})
	return closed, func() {
		close(over)
		waiting.Wait()
	}
}

// Finish stops sharing the run, or releases it so that other machines can resume it.
func (s *Sharing) Finish(ctx context.Context, warn func(string)) {
	if s.copied == nil {
		return
	}
	if err := s.copied.Close(ctx); err != nil {
		warn("data of the run stays in NATS, encrypted, for up to a week: " + err.Error())
	}
	s.copied = nil
}

// giveBack releases a run that was not resumed here, so that others can resume it.
func (s *Sharing) giveBack(ctx context.Context, warn func(string)) {
	if s.resumed == nil {
		return
	}
	if err := s.resumed.GiveBack(ctx); err != nil {
		warn("the run can be resumed in half a minute: " + err.Error())
	}
	s.resumed = nil
}

// Begin implements [record.Copy].
func (s *Sharing) Begin(h record.Header) {
	if s.copied != nil {
		s.copied.Begin(h)
	}
}

// Lines implements [record.Copy].
func (s *Sharing) Lines(text []byte) {
	if s.copied != nil {
		s.copied.Lines(text)
	}
}

// End implements [record.Copy].
func (s *Sharing) End(e record.End) {
	if s.copied != nil {
		s.copied.End(e)
	}
}
