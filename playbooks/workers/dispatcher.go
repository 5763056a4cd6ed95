package workers

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/workers/keyring"
	"github.com/ccm-push/ccm-push/playbooks/workers/sealing"
)

// A dispatcher answers workers that have a ticket: it hands out hosts, with everything that the worker needs for them.
type dispatcher struct {
	runner    *playbooks.Runner
	post      *post
	ledger    *ledger
	transfers *transfers
	admission *admission
	routes    *routes
	parcels   *parcels
	inbox     *inbox
	errands   *errands
	waste     *waste
	tasks     *tasks
	halt      func(error)
	warn      func(string)

	mu    sync.Mutex
	asked map[[sha256.Size]byte]*askedTicket // tickets, by the hash of the question
}

// An askedTicket is a question about a ticket. The answer is there once done is closed.
type askedTicket struct {
	done     chan struct{}
	answer   []byte
	answered time.Time // zero means not yet; the lock of the dispatcher protects it
}

// answer answers a question about a ticket. A worker whose connection was lost repeats its question, and gets the same answer.
func (d *dispatcher) answer(ctx context.Context, text []byte) []byte {
	of := sha256.Sum256(text)
	d.mu.Lock()
	one := d.asked[of]
	if one == nil {
		one = &askedTicket{done: make(chan struct{})}
		d.asked[of] = one
		begun := d.tasks.start(func() {
			defer close(one.done)
			var given bool
			one.answer, given = d.answerOnce(context.WithoutCancel(ctx), text)
			d.mu.Lock()
			defer d.mu.Unlock()
			if one.answered = time.Now(); !given {
				delete(d.asked, of) // the next answer may differ, and unknown machines can send any number of questions
			}
		})
		if !begun {
			d.mu.Unlock()
			return nil
		}
	}
	d.mu.Unlock()
	select {
	case <-one.done:
		return one.answer
	case <-ctx.Done():
	case <-d.inbox.closed:
	}
	return nil
}

// answerOnce returns the signed answer to a question about a ticket, and reports whether the worker got hosts.
func (d *dispatcher) answerOnce(ctx context.Context, text []byte) (out []byte, given bool) {
	var q question
	who, err := keyring.Verify(d.admission.workers.Ring(), questionKind, text, &q)
	a := answer{Nonce: q.Nonce}
	switch {
	case err != nil:
		if a.Refused = err.Error(); keyring.IsStranger(err) {
			a.Refused = "its key is not on the list of workers there (--workers-list)"
		}
		d.admission.warnOnce(fmt.Sprintf("a worker was refused: %v%s", err, keyring.AdmitHint(err, d.admission.workers, "--workers-list", "get hosts")))
	case q.Build != d.runner.BuildID || q.Version != d.runner.Options.Version:
		a.Refused = fmt.Sprintf("it has another version of ccm-push (%s) than the controller (%s)", q.Version, d.runner.Options.Version)
		d.admission.warnOnce(fmt.Sprintf("the worker %s was refused: %s", who, a.Refused))
	case !keyring.ValidAddresses(q.Addresses):
		a.Refused = fmt.Sprintf("it names more than %d addresses (--worker-address), or an invalid address", keyring.MaxAddresses)
		d.admission.warnOnce(fmt.Sprintf("the worker %s was refused: %s", who, a.Refused))
	case !d.post.isFresh(q.Stamp) && !d.post.isFresh(q.Ticket.Stamp):
		a.Stale = true
	default:
		if err := d.handOut(ctx, who, keyring.SignerOf(text), q, &a); err != nil {
			d.warn(fmt.Sprintf("the worker %s: %v", who, err))
			a.Refused = err.Error()
		}
	}
	if a.Refused == "" {
		a.Stamp = d.post.stamp()
	}
	out, err = keyring.Sign(d.post.key, answerKind, a)
	warnOf(d.warn, err)
	return out, a.Shard != nil
}

// handOut sends a worker the unfinished hosts of a shard.
func (d *dispatcher) handOut(ctx context.Context, who, key string, q question, a *answer) error {
	if what := d.transfers.violation(key); what != nil {
		a.Refused = brokeProtocol(what)
		return nil
	}
	s, turns, again := d.remaining(q.Ticket)
	if again { // its hosts may have ended
		if err := d.inbox.catchUp(ctx); err != nil {
			return err
		}
		s, turns, _ = d.remaining(q.Ticket)
	}
	if s == nil {
		a.Over = true
		return nil
	}
	if !d.admission.limit(who, key, turns, &q, a) {
		return nil
	}
	if again && d.transfers.mayHaveRun(turns) {
		d.ledger.abandon(s)
		a.Over = true
		return nil
	}
	slices.SortFunc(turns, func(a, b playbooks.Turn) int { return strings.Compare(a.Host, b.Host) })
	content, certified, err := d.shardContent(ctx, q, turns)
	if errors.Is(err, errNotRenewed) {
		d.notRenewed(s, err)
		a.Over = true
		return nil
	}
	if err == nil && !q.Prepared {
		if a.Run, err = d.parcels.forWorker(ctx, q.Recipient); err != nil && d.parcels.failure() != nil { // the run reports it
			d.ledger.fail(s, err.Error())
			a.Over = true
			return nil
		}
	}
	if err != nil {
		d.ledger.fail(s, err.Error())
		return err
	}
	h, err := d.assignment(who, key, q, content)
	if err != nil {
		return err
	}
	h.shard, h.certified = s, certified
	if a.Shard, err = d.seal(ctx, s, q.Recipient, content); err != nil {
		return err
	}
	h.object = a.Shard.Name
	return d.assign(ctx, h, content.Handout, a)
}

func brokeProtocol(what error) string { return "it broke the protocol of this run: " + what.Error() }

// remaining returns the shard of a ticket with its unfinished hosts, and whether a worker had it before; nil if it has ended.
func (d *dispatcher) remaining(t ticket) (s *shard, turns []playbooks.Turn, again bool) {
	if t.Run != d.post.name {
		return nil, nil, false
	}
	return d.ledger.remaining(t)
}

// notRenewed stops the run, or only fails the hosts of a shard if they are watched: these are tried again.
func (d *dispatcher) notRenewed(s *shard, err error) {
	if d.ledger.isWatching() {
		d.ledger.fail(s, err.Error())
		return
	}
	d.ledger.conclude(s, notBegun)
	d.halt(err)
}

// seal stores the content of a shard, sealed to a worker.
func (d *dispatcher) seal(ctx context.Context, s *shard, recipient string, content *shardContent) (*object, error) {
	d.ledger.mu.Lock()
	s.taken++
	again := s.taken > 1
	d.ledger.mu.Unlock()
	for i := range content.Turns {
		content.Turns[i].Again = again
	}
	sealed, err := sealing.SealJSON(recipient, content)
	if err != nil {
		return nil, err
	}
	return d.post.upload(ctx, sealed)
}

// assignment returns a new assignment. Its hosts, shard, object and certificate are still missing.
func (d *dispatcher) assignment(who, key string, q question, content *shardContent) (*assignment, error) {
	reader, err := sealing.NewFrameReader(content.Key)
	sealer, sealErr := sealing.NewSealer(content.Key, content.Handout)
	return &assignment{
		reader: reader, worker: who, key: key, hosts: map[string]bool{}, sshKey: q.SSHKey, recipient: q.Recipient, addresses: q.Addresses,
		lent: map[string]Certificate{}, asks: questions{sealer: sealer, byNumber: map[int]*pending{}},
	}, errors.Join(err, sealErr)
}

// assign assigns a shard to a worker, unless its last host has ended or the worker was excluded since.
func (d *dispatcher) assign(ctx context.Context, h *assignment, id sealing.HandoutID, a *answer) error {
	s := h.shard
	h.since, h.errands = time.Now(), newErrandList()
	d.ledger.mu.Lock()
	before, left := s.current, len(s.turns)
	happened := "was lost"
	if before != nil && !before.returned.IsZero() {
		happened = "was stopped"
	}
	if what := d.transfers.violation(h.key); left == 0 || what != nil {
		d.ledger.mu.Unlock()
		d.waste.add(h.object)
		a.Run, a.Shard = nil, nil
		if a.Over = left == 0; !a.Over {
			a.Refused = brokeProtocol(what)
		}
		return nil
	}
	if before != nil { // its later reports are late
		before.closed = time.Now()
		for host := range s.turns {
			d.ledger.history(s.turns[host].Turn).again()
		}
	}
	for host := range s.turns {
		h.hosts[host] = true
	}
	s.current, s.lost, d.ledger.assigned[id] = h, false, h
	for _, t := range s.turns {
		t.at("at worker " + h.worker)
	}
	watched, stopped := s.watched(), d.ledger.stopped
	d.ledger.mu.Unlock()
	if before != nil {
		d.warn(fmt.Sprintf("worker %s %s before %s ended; worker %s continues with them", before.worker, happened, counted(left), h.worker))
		d.transfers.reportUnwatched(watched, "its worker was lost", "", before.errands.lastRequest())
	}
	if len(watched) > 0 {
		d.tasks.start(func() { d.errands.awaitSilence(h) })
	}
	if stopped { // this worker did not get the order
		warnOf(d.warn, d.post.order(ctx, order{Stop: true}))
	}
	return nil
}

// counted returns a number of hosts for messages.
func counted(hosts int) string {
	if hosts == 1 {
		return "1 host"
	}
	return fmt.Sprintf("%d hosts", hosts)
}

// shardContent returns what a worker needs for hosts, and the limits of its certificate.
func (d *dispatcher) shardContent(ctx context.Context, q question, turns []playbooks.Turn) (content *shardContent, certified Certificate, err error) {
	id := sealing.NewHandoutID()
	content = &shardContent{Handout: id, Key: d.post.keyOf(id), Turns: turns}
	var hosts []*inventory.Host
	for _, t := range turns {
		hosts = append(hosts, d.runner.Inventory.Host(t.Host))
	}
	w, err := d.routes.to(ctx, Certificate{SSHKey: q.SSHKey, Sources: q.Addresses}, hosts)
	content.Inventory, content.Targets, content.KnownHosts = w.inventory, w.targets, w.knownHosts
	content.Certificate, content.Renew = w.certificate.text, time.Until(w.certificate.renew)
	return content, w.certified, err
}

// forget forgets questions whose stamps have expired.
func (d *dispatcher) forget(now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for of, one := range d.asked {
		if !one.answered.IsZero() && now.Sub(one.answered) > stampTime {
			delete(d.asked, of)
		}
	}
}
