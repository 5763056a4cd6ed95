package workers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"filippo.io/age"
	"filippo.io/age/agessh"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/playbooks/record"
	"github.com/ccm-push/ccm-push/playbooks/workers/keyring"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
	"github.com/ccm-push/ccm-push/playbooks/workers/sealing"
)

// A Handover lets a run continue on another machine. The coordinator holds a lease ([Lease]), and copies each event to
// the shared record of the run ([Copy]). Both are sealed to the keys of operators, and signed by one operator.
type Handover struct {
	Queue     *queue.JetStream
	Records   *queue.Records
	Key       keyring.Key  // our own
	Operators keyring.Keys // other keys that may continue runs; our own key need not be among them
	Holder    string       // name of this process, for others: USER@HOST (pid N)
	Warn      func(text string)
}

// A Shared run can be followed, or continued, from other machines.
type Shared struct {
	Run     string
	What    string // for people
	Started time.Time
	Holder  string    // current or last coordinator
	Since   time.Time // when that began
	Heard   time.Time // when something was last heard of that, by the clock of NATS
	Held    bool      // no other machine may continue it
	Over    bool      // it has ended, or was given back

	said  lease
	claim queue.Claim
}

// lease is the stored description of a run's coordinator.
type lease struct {
	Run     string           `json:"run"`
	What    string           `json:"what"`
	Started time.Time        `json:"started"`
	Holder  string           `json:"holder"`
	Since   time.Time        `json:"since"`
	Queue   string           `json:"queue"`             // name of the run in the queue of its workers
	Key     sealing.FrameKey `json:"key"`               // key of the copy of its record
	Resumes string           `json:"resumes,omitempty"` // run that it resumes
	Over    bool             `json:"over,omitempty"`    // it was given back
}

// readers returns the keys that sealed data are for.
func (h *Handover) readers() ([]age.Recipient, error) {
	keys := map[string]bool{string(h.Key.PublicKey().Marshal()): true}
	for key := range h.Operators.Ring() {
		keys[key] = true
	}
	var all []age.Recipient
	for key := range keys {
		public, err := ssh.ParsePublicKey([]byte(key))
		if err != nil {
			return nil, err
		}
		to, err := agessh.NewEd25519Recipient(public)
		if err != nil {
			return nil, err
		}
		all = append(all, to)
	}
	return all, nil
}

func (h *Handover) seal(l lease) ([]byte, error) {
	text, err := keyring.Sign(h.Key, leaseKind, l)
	if err != nil {
		return nil, err
	}
	to, err := h.readers()
	if err != nil {
		return nil, err
	}
	return sealing.Seal(text, to...)
}

// open reads a lease; readable reports whether it is sealed to our key.
func (h *Handover) open(data []byte) (l lease, readable bool, err error) {
	text, err := sealing.Unseal(h.Key.Identity(), data)
	if _, others := errors.AsType[*age.NoIdentityMatchError](err); others {
		return l, false, nil
	}
	if err != nil {
		return l, true, err
	}
	ring := keyring.Keyring{string(h.Key.PublicKey().Marshal()): {Name: "this machine"}}
	for key, who := range h.Operators.Ring() {
		ring[key] = who
	}
	_, err = keyring.Verify(ring, leaseKind, text, &l)
	return l, true, err
}

// All returns the runs that are shared with us, the newest first.
func (h *Handover) All(ctx context.Context) ([]Shared, error) {
	claims, now, err := h.Records.Claims(ctx)
	if err != nil {
		return nil, err
	}
	var all []Shared
	for _, c := range claims {
		l, readable, err := h.open(c.Data)
		switch {
		case !readable:
		case err != nil:
			h.Warn(fmt.Sprintf("a run in NATS is ignored because its claim is not valid: %v", err))
		default:
			all = append(all, Shared{
				Run: l.Run, What: l.What, Started: l.Started, Holder: l.Holder, Since: l.Since, Heard: c.Since(),
				Held: !l.Over && h.Records.Holds(c, now), Over: l.Over, said: l, claim: c,
			})
		}
	}
	slices.SortFunc(all, func(a, b Shared) int { return strings.Compare(b.Run, a.Run) })
	return all, nil
}

// Find returns the run with a name: its id, or at least four characters of its begin or end; "" means the newest run
// with a coordinator, and last the newest of all. The error wraps [record.ErrNone] if there is none.
func (h *Handover) Find(ctx context.Context, name string) (*Shared, error) {
	all, err := h.All(ctx)
	if err != nil {
		return nil, err
	}
	var newest *Shared
	if len(all) > 0 {
		one := all[0]
		newest = &one
	}
	const shortest = 4
	id := strings.ToUpper(name)
	all = slices.DeleteFunc(all, func(s Shared) bool {
		switch {
		case name == "":
			return !s.Held
		case name == "last":
			return false
		case len(id) < shortest:
			return true
		}
		return !strings.HasPrefix(s.Run, id) && !strings.HasSuffix(s.Run, id)
	})
	switch {
	case len(all) == 0 && name == "":
		return nil, fmt.Errorf("%w under way in NATS", record.ErrNone)
	case len(all) == 0:
		const kept = "NATS keeps runs in progress, and failed runs for a week; this machine can read a run of another machine if operators.keys of that machine contained the key of this machine when the run began"
		if name == "last" || newest == nil {
			return nil, fmt.Errorf("%w in NATS that this machine can read\n  hint: %s", record.ErrNone, kept)
		}
		return nil, fmt.Errorf("%w in NATS has the id %s\n  hint: the last run in NATS is %s of %s; %s", record.ErrNone, name, newest.Run, newest.Holder, kept)
	case len(all) > 1 && name != "" && name != "last":
		return nil, fmt.Errorf("the id %s is ambiguous, because it begins or ends the ids of %d runs in NATS: write the whole id", name, len(all))
	}
	return &all[0], nil
}

// held returns why a run cannot be continued.
func (s *Shared) held() error {
	return fmt.Errorf("run %s is coordinated by %s since %s\n  hint: to follow the run: ccm-push attach %s; to continue the run here, press Ctrl-C on that machine, or wait half a minute after its last message; then: ccm-push resume",
		s.Run, s.Holder, s.Since.Local().Format("2006-01-02 15:04:05"), s.Run)
}

// Take takes the lease of a run that is not held. It deletes the data of its coordinator, ends its workers, and closes
// its record.
func (h *Handover) Take(ctx context.Context, s *Shared) (*Lease, error) {
	if s.Held {
		return nil, s.held()
	}
	l := s.said
	l.Holder, l.Since, l.Over = h.Holder, time.Now(), false
	taken, err := h.claim(ctx, l, &s.claim, newLoss())
	if errors.Is(err, queue.ErrTaken) {
		return nil, fmt.Errorf("run %s: another controller has just continued it", s.Run)
	}
	if err != nil {
		return nil, err
	}
	if err := h.Records.End(ctx, s.Run); err != nil {
		return nil, errors.Join(err, taken.GiveBack(ctx))
	}
	if err := h.bury(ctx, s.said.Queue); err != nil {
		h.Warn(fmt.Sprintf("the data of the lost controller of run %s stays in NATS, encrypted, for up to a week: %v", s.Run, err))
	}
	return taken, nil
}

// bury ends the workers of a lost coordinator, and deletes its data.
func (h *Handover) bury(ctx context.Context, name string) error {
	text, err := keyring.Sign(h.Key, orderKind, order{Run: name, Stop: true})
	if err == nil {
		err = h.Queue.Order(ctx, name, text)
	}
	return errors.Join(err, h.Queue.Discard(ctx, name))
}

// Share begins to share a run, with a lease of our own. resumes is the lease of the run that it resumes, or nil.
func (h *Handover) Share(ctx context.Context, run, what, queueName string, resumes *Lease) (*Copy, error) {
	l := lease{Run: run, What: what, Started: time.Now(), Holder: h.Holder, Since: time.Now(), Queue: queueName, Key: sealing.NewFrameKey()}
	if resumes != nil {
		l.Resumes = resumes.said.Run
	}
	writer, err := sealing.NewFrameWriter(l.Key, sealing.NewHandoutID())
	if err != nil {
		return nil, err
	}
	if err := h.Records.Make(ctx, run); err != nil {
		return nil, err
	}
	lost := newLoss()
	if resumes != nil {
		lost = resumes.lost
	}
	own, err := h.claim(ctx, l, nil, lost)
	if err != nil {
		return nil, errors.Join(err, h.Records.Forget(ctx, run))
	}
	c := &Copy{handover: h, own: own, resumes: resumes, writer: writer, more: make(chan struct{}, 1), done: make(chan struct{})}
	sending, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	c.giveUp = giveUp
	c.working.Go(func() { c.send(sending) })
	return c, nil
}

// forget deletes all data of a run and of the runs that it resumes.
func (h *Handover) forget(ctx context.Context, run, resumes string) error {
	err := h.Records.Forget(ctx, run)
	if resumes == "" {
		return err
	}
	all, listErr := h.All(ctx)
	for _, s := range all {
		if s.Run == resumes {
			return errors.Join(err, h.forget(ctx, s.Run, s.said.Resumes))
		}
	}
	return errors.Join(err, listErr)
}

// First bytes of the texts in the copy of a record, which are their kinds.
const (
	copiedHeader = 'h'
	copiedLines  = 'l'
	copiedEnd    = 'e'
)

// A Part is some of the copy of a record; one of its fields is set.
type Part struct {
	Header *record.Header
	Lines  []byte // whole lines of events
	End    *record.End
}

// Read reads the record of a run, up to its end; without follow as far as it exists. The error is [queue.ErrGone] if
// there is none, or none any more: the run has ended well, and was deleted.
func (h *Handover) Read(ctx context.Context, s *Shared, follow bool, take func(Part) error) error {
	reader, err := sealing.NewFrameReader(s.said.Key)
	if err != nil {
		return err
	}
	err = h.Records.Read(ctx, s.Run, follow, func(frame []byte) (more bool, err error) {
		if len(frame) < sealing.HeadSize {
			return true, nil
		}
		text, err := reader.Read(frame)
		if err != nil || len(text) == 0 {
			return err == nil, err
		}
		var p Part
		switch text[0] {
		case copiedHeader:
			err = json.Unmarshal(text[1:], &p.Header)
		case copiedLines:
			p.Lines = text[1:]
		case copiedEnd:
			err = json.Unmarshal(text[1:], &p.End)
		}
		if err == nil {
			err = take(p)
		}
		return err == nil && p.End == nil, err
	})
	if errors.Is(err, queue.ErrCut) {
		return fmt.Errorf("run %s: %w\n  hint: run ccm-push attach %[1]s on the machine where it began: %[3]s", s.Run, err, s.Holder)
	}
	return err
}

// Fetch copies the record of a run, and the records of the runs that it resumes, into a store. directory is the folder
// with the same files on this machine.
func (h *Handover) Fetch(ctx context.Context, s *Shared, to record.Store, directory string) error {
	if s.said.Resumes != "" {
		if _, err := to.Find(s.said.Resumes); errors.Is(err, record.ErrNone) {
			earlier, err := h.Find(ctx, s.said.Resumes)
			if err != nil {
				return fmt.Errorf("run %s resumes another run: %w", s.Run, err)
			}
			if err := h.Fetch(ctx, earlier, to, directory); err != nil {
				return err
			}
		}
	}
	var in *record.Incoming
	err := h.Read(ctx, s, false, func(p Part) error {
		switch {
		case p.Header != nil:
			var err error
			in, err = to.TakeIn(*p.Header, directory)
			return err
		case in == nil:
			return errors.New("the record of the run has no beginning")
		case p.End != nil:
			in.End(*p.End)
			return nil
		}
		return in.Lines(p.Lines)
	})
	switch {
	case err != nil && in != nil:
		return errors.Join(err, in.Drop())
	case err != nil:
		return err
	case in == nil:
		return fmt.Errorf("run %s had not begun when its controller was lost: no host was changed; start the run again", s.Run)
	}
	return in.Keep()
}

// sweep deletes the data of old runs that were not continued.
func (h *Handover) sweep(ctx context.Context) error {
	_, now, err := h.Records.Claims(ctx)
	if err != nil {
		return err
	}
	return h.Queue.Sweep(ctx, now)
}

// lasts returns the validity of a lease.
func (h *Handover) lasts() time.Duration { return cmp.Or(h.Records.Lasts(), queue.LeaseTime) }
