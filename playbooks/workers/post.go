package workers

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"time"

	"github.com/ccm-push/ccm-push/playbooks/workers/keyring"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
	"github.com/ccm-push/ccm-push/playbooks/workers/sealing"
)

const (
	// stampTime is the validity of a stamp, and the time for which a question with a stamp is remembered. A worker
	// stops repeating a question before this time ends.
	stampTime = 10 * time.Minute
	// stampAge is the length of the time within a stamp, in bytes.
	stampAge = 8
)

// A post signs messages of one run, and sends them through the queue. It recognizes its own stamps and keys without remembering them,
// because a run that watches hosts continues for weeks.
type post struct {
	run    queue.Run
	name   string // name of the run in the queue
	key    keyring.Key
	began  time.Time
	secret []byte // source of stamps, and of keys of assignments
}

func openPost(ctx context.Context, q queue.Queue, key keyring.Key) (p *post, err error) {
	var name [16]byte
	_, _ = rand.Read(name[:]) // it never fails
	p = &post{name: hex.EncodeToString(name[:]), key: key, began: time.Now(), secret: make([]byte, sha256.Size)}
	_, _ = rand.Read(p.secret)
	p.run, err = q.Open(ctx, p.name)
	return p, err
}

// code returns a code of a text that only this coordinator can make.
func (p *post) code(of string, text []byte) []byte {
	mac := hmac.New(sha256.New, p.secret)
	mac.Write(append([]byte(of+"\x00"), text...))
	return mac.Sum(nil)
}

// keyOf returns the key of an assignment. Only the worker that has the assignment gets it.
func (p *post) keyOf(id sealing.HandoutID) sealing.FrameKey { return p.code("handout", id[:]) }

// stamp returns a stamp with the current time of this coordinator.
func (p *post) stamp() []byte {
	made := binary.BigEndian.AppendUint64(nil, uint64(time.Since(p.began)))
	return append(made, p.code("stamp", made)...)
}

// isFresh reports whether this coordinator made a stamp less than [stampTime] ago.
func (p *post) isFresh(stamp []byte) bool {
	if len(stamp) < stampAge {
		return false
	}
	made := stamp[:stampAge]
	age := time.Since(p.began) - time.Duration(binary.BigEndian.Uint64(made))
	return hmac.Equal(stamp[stampAge:], p.code("stamp", made)) && age < stampTime
}

// upload stores an object in the queue.
func (p *post) upload(ctx context.Context, data []byte) (*object, error) {
	name, err := p.run.Put(ctx, data)
	sum := sha256.Sum256(data)
	return &object{name, sum[:]}, err
}

// submit puts the ticket of a shard into the queue.
func (p *post) submit(ctx context.Context, site, shard string, until time.Time) error {
	text, err := keyring.Sign(p.key, ticketKind, ticket{Run: p.name, Shard: shard, Until: until, Stamp: p.stamp()})
	if err != nil {
		return err
	}
	return p.run.Submit(ctx, site, text)
}

// order sends an order to all workers of the run.
func (p *post) order(ctx context.Context, o order) error {
	o.Run = p.name
	timed, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	text, err := keyring.Sign(p.key, orderKind, o)
	if err != nil {
		return err
	}
	return p.run.Order(timed, text)
}

// withdraw removes the tickets of the run from the queue.
func (p *post) withdraw(ctx context.Context) error {
	timed, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	return p.run.Withdraw(timed)
}

// delete deletes everything of the run from the queue.
func (p *post) delete(ctx context.Context) error {
	timed, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	return p.run.Close(timed)
}
