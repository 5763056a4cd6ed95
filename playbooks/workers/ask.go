package workers

import (
	"cmp"
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
	handout handout
}

func newSealer(key frameKey, h handout) (sealer, error) {
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

// A pending question has its answer once done is closed.
type pending struct {
	text   []byte // as far as it has come
	begun  bool
	done   chan struct{}
	answer answered
}

// object returns the name of the object with a long answer; empty means none.
func (p *pending) object() string {
	select {
	case <-p.done:
		if p.answer.Object != nil {
			return p.answer.Object.Name
		}
	default:
	}
	return ""
}

// questions holds the questions of a handout.
type questions struct {
	sealer sealer

	mu       sync.Mutex
	answered int // its worker has the answers to all before this number
	byNumber map[int]*pending
	spent    []string // objects with answers that the worker has
}

// spentObjects removes and returns the objects that are not needed any more: all of them if the handout is over.
func (all *questions) spentObjects(over bool) []string {
	all.mu.Lock()
	defer all.mu.Unlock()
	if over {
		all.drop(func(int) bool { return true })
	}
	spent := all.spent
	all.spent = nil
	return spent
}

// drop forgets questions, with the lock held.
func (all *questions) drop(which func(number int) bool) {
	for number, p := range all.byNumber {
		if !which(number) {
			continue
		}
		if name := p.object(); name != "" {
			all.spent = append(all.spent, name)
		}
		delete(all.byNumber, number)
	}
}

// answerShift answers a shift. What nobody can have asked has no answer.
func (c *Coordinator) answerShift(ctx context.Context, data []byte) []byte {
	var of handout
	if len(data) < 1+handoutSize {
		return nil
	}
	copy(of[:], data[1:])
	sealer, err := newSealer(c.keyOf(of), of)
	if err != nil {
		c.Warn(err.Error())
		return nil
	}
	c.mu.Lock()
	h := c.handed[of]
	c.mu.Unlock()
	text, err := sealer.open(toCoordinator, data[1+handoutSize:])
	if err != nil {
		if h != nil {
			c.Warn(fmt.Sprintf("a request of the worker %s was changed in transit", h.worker))
		}
		return nil
	}
	var q asked
	a := answered{Over: true} // what it was handed is over, and forgotten
	if wrong := receive(text, &q); wrong != nil && h != nil {
		c.exclude(ctx, h, wrong)
	} else if wrong == nil && h != nil && c.isExcluded(h.key) == nil {
		a = c.answerOne(ctx, h, q)
	}
	if text, err = sealer.seal(toWorker, a); err != nil {
		c.Warn(err.Error())
		return nil
	}
	return text
}

// answerOne waits for an answer a while.
func (c *Coordinator) answerOne(ctx context.Context, h *handed, q asked) answered {
	c.mu.Lock()
	t := h.shard.turns[q.Host]
	lost := h.shard.current != h || len(h.shard.turns) == 0 // then the worker needs no certificate either
	c.mu.Unlock()
	switch {
	case q.Errands != nil:
		return c.answerErrands(ctx, h, *q.Errands)
	case t == nil && !q.Renew || lost:
		return answered{Over: true}
	}
	p, err := h.asks.take(q)
	if err != nil {
		c.exclude(ctx, h, err)
		return answered{Over: true}
	}
	if p == nil || q.More {
		return answered{}
	}
	h.asks.mu.Lock()
	begin := !p.begun
	p.begun = true
	h.asks.mu.Unlock()
	if begin {
		c.answering.Go(func() {
			defer close(p.done)
			if q.Renew {
				p.answer = c.renew(context.WithoutCancel(ctx), h, q.Lent)
				return
			}
			p.answer = c.short(context.WithoutCancel(ctx), h, c.answerTurn(context.WithoutCancel(ctx), h, t, p.text))
			p.text = nil // pieces of files are large
		})
	}
	timer := time.NewTimer(laterTime)
	defer timer.Stop()
	select {
	case <-p.done:
		return p.answer
	case <-c.gone:
		return answered{Over: true}
	case <-timer.C:
		return answered{Later: true}
	}
}

// short has an answer that is too long lie in the queue.
func (c *Coordinator) short(ctx context.Context, h *handed, a playbooks.Answer) answered {
	text, err := json.Marshal(a)
	if err == nil && len(text) > maxAsked {
		var o *object
		if o, err = c.put(ctx, h.asks.sealer.sealText(toWorker, text)); err == nil {
			return answered{Object: o}
		}
	}
	if err != nil {
		c.Warn(err.Error())
		a = playbooks.Answer{Error: err.Error()}
	}
	return answered{Answer: a}
}

// answerTurn answers what is asked about a host. It may wait for others.
func (c *Coordinator) answerTurn(ctx context.Context, h *handed, t *turn, text []byte) playbooks.Answer {
	var question playbooks.Question
	if err := decode(text, &question); err != nil {
		c.exclude(ctx, h, err)
		return playbooks.Answer{Over: true}
	}
	if question.Return != nil { // the next one who borrows it may be of the same handout
		c.mu.Lock()
		delete(h.lent, question.Return.On)
		c.mu.Unlock()
	}
	if w := question.Watched; w != nil && w.Lost != nil && w.Lost.Refused {
		authority, _ := c.certifies()
		w.Lost.Failure = *refused(&w.Lost.Failure, authority)
	}
	a, err := t.handler.Answer(question)
	if err != nil {
		c.exclude(ctx, h, err)
		return playbooks.Answer{Over: true}
	}
	if a.Lend == "" {
		return a
	}
	lent, err := c.lend(ctx, h, a.Lend)
	if err != nil {
		_, wrong := t.handler.Answer(playbooks.Question{Return: &playbooks.Return{Borrow: *question.Borrow}})
		c.warnOf(wrong)
		return playbooks.Answer{Error: err.Error()}
	}
	a.Lent = lent
	return a
}

// renew gives a worker the certificate that there is by now for its hosts, or for one that is lent. Without one the run stops, unless
// hosts are only watched.
func (c *Coordinator) renew(ctx context.Context, h *handed, lent string) answered {
	of := h.certified
	if lent != "" {
		c.mu.Lock()
		its, still := h.lent[lent]
		c.mu.Unlock()
		if !still {
			return answered{}
		}
		of = its
	}
	of, err := c.renewable(ctx, h, of, lent)
	switch {
	case err != nil && lent != "":
		return answered{}
	case err != nil:
		return answered{Over: true}
	}
	made, err := c.certificate(ctx, of)
	if err != nil && c.isWatching() {
		return answered{Renew: cmp.Or(made.valid/16, time.Minute)}
	}
	if err != nil {
		c.halt(err)
		return answered{Over: true}
	}
	return answered{Certificate: made.text, Renew: time.Until(made.renew)}
}

// take takes a piece of a question. One that has come before is left out, and those are forgotten of which the answers have come: it
// is nil if this is one of them, which comes late.
func (all *questions) take(q asked) (*pending, error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.answered = max(all.answered, q.Answered)
	all.drop(func(number int) bool { return number < all.answered })
	if q.Number < all.answered {
		return nil, nil
	}
	p := all.byNumber[q.Number]
	if p == nil {
		if len(all.byNumber) == maxPending {
			return nil, fmt.Errorf("it sends more than %d requests at once", maxPending)
		}
		p = &pending{done: make(chan struct{})}
		all.byNumber[q.Number] = p
	}
	if !p.begun && q.Offset == len(p.text) {
		if len(p.text)+len(q.Text) > maxQuestion {
			return nil, fmt.Errorf("it sends a request of more than %d MiB", maxQuestion>>20)
		}
		p.text = append(p.text, q.Text...)
	}
	return p, nil
}
