package workers

import (
	"context"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
)

// What a shift asks goes the way of the questions about tickets, and is sealed with the key of its frames, by
// which both ends know each other. A question that takes long is asked again and again, under its number.

// asks is the first byte of such a question: those about tickets are JSON.
const asks = 0

// asked is a question, or a piece of a long one.
type asked struct {
	Number int    `json:"number"` // in the shift
	Host   string `json:"host"`
	Offset int    `json:"offset,omitempty"`
	More   bool   `json:"more,omitempty"` // other pieces follow
	Text   []byte `json:"text"`           // a [playbooks.Question]
	// Renew asks for another certificate, for the hosts of the shift or for the one that is lent which Lent names, and Errands for what
	// there is to do behind the one of a number, which also says that the worker is there: they are about no host.
	Renew   bool   `json:"renew,omitempty"`
	Lent    string `json:"lent,omitempty"`
	Errands *int   `json:"errands,omitempty"`
	// Answered says that all questions before this number are.
	Answered int `json:"answered,omitempty"`
}

// answered is the answer. Later says that it is not known yet, and Over that the shift has lost its hosts.
type answered struct {
	Later  bool             `json:"later,omitempty"`
	Over   bool             `json:"over,omitempty"`
	Answer playbooks.Answer `json:"answer"`
	Object *object          `json:"object,omitempty"` // where an answer lies that is too long, sealed alike
	// Certificate is the one that there is by now, nil if it is still the last one, and Renew after which another one is to be asked for. A
	// host that is not lent any more has neither.
	Certificate []byte        `json:"certificate,omitempty"`
	Renew       time.Duration `json:"renew,omitempty"`
	Errands     []errand      `json:"errands,omitempty"`
}

const (
	// laterTime is the time after which a coordinator answers Later.
	laterTime = 3 * time.Second
	// maxAsked is how much of a text goes at once, in bytes: it grows by half in JSON.
	maxAsked = queue.MaxSaid / 4
	// maxQuestion bounds a question, in bytes, and maxPending how many a shift asks at once.
	maxQuestion = 64 << 20
	maxPending  = 10_000
)

// A sealer seals what a shift asks, and what is answered.
type sealer struct {
	aead    cipher.AEAD
	handout handoutID
}

func newSealer(key frameKey, h handoutID) (sealer, error) {
	own := sha256.Sum256(append([]byte("ask\x00"), key...)) // nonces of frames count
	aead, err := chacha20poly1305.NewX(own[:])
	return sealer{aead, h}, err
}

// The directions, so that no question is taken for an answer.
const (
	toCoordinator = "to the coordinator"
	toWorker      = "to the worker"
)

func (s sealer) seal(direction string, v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return s.sealText(direction, text), nil
}

func (s sealer) sealText(direction string, text []byte) []byte {
	nonce := make([]byte, chacha20poly1305.NonceSizeX)
	_, _ = rand.Read(nonce) // it never fails
	return s.aead.Seal(nonce, nonce, text, append(s.handout[:], direction...))
}

func (s sealer) open(direction string, data []byte) ([]byte, error) {
	if len(data) < chacha20poly1305.NonceSizeX {
		return nil, errors.New("it is cut")
	}
	nonce, sealed := data[:chacha20poly1305.NonceSizeX], data[chacha20poly1305.NonceSizeX:]
	return s.aead.Open(nil, nonce, sealed, append(s.handout[:], direction...))
}

// ask sends the coordinator a question about a host, and waits for the answer until ctx ends.
func (s *shift) ask(ctx context.Context, host string, q playbooks.Question) (playbooks.Answer, error) {
	text, err := json.Marshal(q)
	if err != nil {
		return playbooks.Answer{}, err
	}
	text = s.rename(text)
	if q.Return != nil { // the next one who borrows it may be of this shift, too
		s.loans.end(q.Return.On)
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
			if err := q.CheckAnswer(&a.Answer); err != nil {
				s.breach(&breachError{fmt.Errorf("it %w", err)})
				return playbooks.Answer{Over: true}, nil
			}
			if a.Answer.Lent != nil {
				err = s.borrow(ctx, q.Borrow.On, a.Answer.Lent)
			}
			return a.Answer, err
		}
	}
}

// minRenew is the shortest time between two requests for a certificate, whatever the coordinator says.
const minRenew = time.Second

// keepCertified has the certificate renewed by which hosts of the shard, or one that is lent, are logged in to, until the end of ctx:
// files of a name have it. Who is logged in already is not concerned.
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

// askOnce asks until there is some answer. A coordinator that is not there may come again while a lease lasts.
func (s *shift) askOnce(ctx context.Context, q asked) (a answered, err error) {
	q.Answered = s.asked.answered()
	sealed, err := s.sealer.seal(toCoordinator, q)
	if err != nil {
		return a, err
	}
	question := append(append([]byte{asks}, s.sealer.handout[:]...), sealed...)
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
	text, err := s.sealer.open(toWorker, data)
	if err == nil {
		err = receiveSent(text, &a)
	}
	if err != nil || a.Object == nil {
		return a, err
	}
	if data, err = s.job.member.Get(ctx, a.Object.Name); err != nil {
		return a, err
	}
	if text, err = s.sealer.open(toWorker, data); err != nil {
		return a, err
	}
	if err := decode(text, &a.Answer); err != nil {
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
