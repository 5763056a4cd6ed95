package workers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
	"github.com/ccm-push/ccm-push/playbooks/workers/sealing"
)

// Answer implements [playbooks.Controller].
func (s *shift) Answer(ctx context.Context, host string, q playbooks.Question) (playbooks.Answer, error) {
	text, err := playbooks.EncodeQuestion(q)
	if err != nil {
		return playbooks.Answer{}, err
	}
	text = s.rename(text)
	if r, is := q.(playbooks.Return); is { // the next one who borrows it may be of this shift, too
		s.loans.end(r.On)
	}
	number, done := s.asked.next()
	defer done()
	for offset := 0; ; {
		piece := text[offset:min(len(text), offset+maxAsked)]
		more := offset+len(piece) < len(text)
		a, err := s.askOnce(ctx, asked{Number: number, Host: host, Offset: offset, More: more, Text: piece})
		switch {
		case err != nil && ctx.Err() != nil:
			return playbooks.Answer{}, ctx.Err()
		case err != nil:
			s.silent(err)
			return playbooks.Answer{}, fmt.Errorf("request to the controller: %w", err)
		case a.Over:
			s.stop()
			return playbooks.Answer{Over: true}, nil
		case more:
			offset += len(piece)
		case !a.Later:
			if err := playbooks.CheckAnswer(q, &a.Answer); err != nil {
				s.breach(&breachError{fmt.Errorf("it %w", err)})
				return playbooks.Answer{Over: true}, nil
			}
			return a.Answer, nil
		}
	}
}

// minRenew is the shortest time between two requests for a certificate, whatever the coordinator demands.
const minRenew = time.Second

// keepCertified renews the certificate for the hosts of the shard, or for a lent host, until the end of ctx, and writes
// it to the files of name. Open connections are not affected.
func (s *shift) keepCertified(ctx context.Context, name, lent string, after time.Duration) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(after, minRenew)):
		}
		number, done := s.asked.next()
		q := asked{Number: number, Renew: true, Lent: lent}
		a, err := s.askOnce(ctx, q)
		for err == nil && a.Later {
			a, err = s.askOnce(ctx, q)
		}
		done()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && a.Over:
			s.stop()
			return
		case err == nil && a.Certificate == nil && a.Renew == 0:
			return
		case err == nil && a.Certificate != nil:
			_, err = s.job.write(name+certificateFile, a.Certificate)
		}
		if err != nil {
			s.silent(err)
			return
		}
		after = a.Renew
	}
}

// askOnce repeats the request until there is an answer. A coordinator that is away may come back while a lease lasts.
func (s *shift) askOnce(ctx context.Context, q asked) (a answered, err error) {
	q.Answered = s.asked.answered()
	sealed, err := s.sealer.Seal(sealing.ToCoordinator, q)
	if err != nil {
		return a, err
	}
	question := append(append([]byte{asks}, s.sealer.Handout[:]...), sealed...)
	limited, cancel := context.WithTimeout(ctx, queue.LeaseTime)
	defer cancel()
	for {
		err = again(limited, func(ctx context.Context) error {
			data, err := s.job.member.Ask(ctx, question)
			if err != nil {
				return err
			}
			a, err = s.opened(ctx, data)
			if wrong, is := errors.AsType[*breachError](err); is { // a second request does not help
				s.breach(wrong)
				a, err = answered{Over: true}, nil
			}
			return err
		})
		if !errors.Is(err, queue.ErrGone) {
			if a.Later {
				pause(ctx, minAsk/10)
			}
			return a, err
		}
		select {
		case <-time.After(time.Second):
		case <-limited.Done():
			return a, err
		}
	}
}

func (s *shift) opened(ctx context.Context, data []byte) (a answered, err error) {
	text, err := s.sealer.Open(sealing.ToWorker, data)
	if err == nil {
		err = receiveSent(text, &a)
	}
	if err != nil || a.Object == nil {
		return a, err
	}
	if data, err = s.job.member.Get(ctx, a.Object.Name); err != nil {
		return a, err
	}
	if text, err = s.sealer.Open(sealing.ToWorker, data); err != nil {
		return a, err
	}
	if err := sealing.Decode(text, &a.Answer); err != nil {
		return a, &breachError{err}
	}
	return a, nil
}

// numbers hands out the numbers of the questions of a shift, from 1.
type numbers struct {
	mu   sync.Mutex
	last int
	open []int // in order, which are not answered
}

// next returns a new number, which is open until done is called.
func (n *numbers) next() (number int, done func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last++
	number = n.last
	n.open = append(n.open, number)
	return number, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.open = slices.DeleteFunc(n.open, func(one int) bool { return one == number })
	}
}

// answered is the number before which all questions are.
func (n *numbers) answered() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.open) == 0 {
		return n.last + 1
	}
	return n.open[0]
}
