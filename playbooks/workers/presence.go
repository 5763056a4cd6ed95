package workers

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"filippo.io/age"
	"filippo.io/age/agessh"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/workers/keyring"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
	"github.com/ccm-push/ccm-push/playbooks/workers/sealing"
)

// A worker announces itself to its coordinators: signed by its key, and sealed to theirs.

const (
	// presenceTime is the interval between a worker's announcements.
	presenceTime = 10 * time.Second
	// absentTime is the silence after which a worker counts as lost.
	absentTime = 3 * presenceTime
	// maxReaders bounds the coordinators that an announcement is sealed to.
	maxReaders = 100
)

// A presence is the announcement of a worker.
type presence struct {
	User     string    `json:"user"` // user of NATS: an announcement that another user copies is not accepted
	Site     string    `json:"site"`
	Version  string    `json:"version"`
	Host     string    `json:"host"`
	PID      int       `json:"pid"`
	Started  time.Time `json:"started"`
	Hosts    int       `json:"hosts"`    // in progress
	Busy     int       `json:"busy"`     // groups of hosts in progress
	Capacity int       `json:"capacity"` // groups of hosts at once
	Left     bool      `json:"left,omitempty"`
}

// progress counts what a worker has in progress.
type progress struct {
	mu          sync.Mutex
	hosts, busy int
	changed     chan struct{} // closed at the next change; nil until it is waited for
}

// add counts hosts that the worker has taken, until done.
func (l *progress) add(hosts int) (done func()) {
	change := func(hosts, busy int) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.hosts += hosts
		l.busy += busy
		if l.changed != nil {
			close(l.changed)
			l.changed = nil
		}
	}
	change(hosts, 1)
	return func() { change(-hosts, -1) }
}

func (l *progress) now() (hosts, busy int, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.hosts, l.busy, l.changed
}

// announce announces the worker until the end of ctx, and then that it has left.
func (w *Worker) announce(ctx context.Context) {
	host, _ := os.Hostname() // for people
	p := presence{
		User: w.Queue.User(), Site: w.Site, Version: w.Version, Host: host, PID: os.Getpid(), Started: time.Now(), Capacity: cmp.Or(w.Shards, defaultShards),
	}
	of := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%d", w.Key.PublicKey().Marshal(), host, w.Site, p.PID))
	name := hex.EncodeToString(of[:8])
	for over := false; ; {
		var changed <-chan struct{}
		p.Hosts, p.Busy, changed = w.load.now()
		p.Left = over
		data, err := w.seal(p)
		if err == nil && data != nil {
			err = w.Queue.Announce(context.WithoutCancel(ctx), name, data)
		}
		if err != nil && w.Queue.Connected() && w.outages.isNew(announcing, err) {
			w.Say(err.Error())
		}
		if over {
			return
		}
		select {
		case <-ctx.Done():
			over = true
		case <-time.After(presenceTime):
		case <-changed:
			select { // simultaneous changes are announced together
			case <-ctx.Done():
				over = true
			case <-time.After(presenceTime / 10):
			}
		}
	}
}

// seal signs an announcement, and seals it to the coordinators; without coordinators it returns nil.
func (w *Worker) seal(p presence) ([]byte, error) {
	var to []age.Recipient
	for key := range w.Coordinators.Ring() {
		public, err := ssh.ParsePublicKey([]byte(key))
		if err != nil {
			return nil, err
		}
		one, err := agessh.NewEd25519Recipient(public)
		if err != nil {
			return nil, err
		}
		if to = append(to, one); len(to) == maxReaders {
			break
		}
	}
	if len(to) == 0 {
		return nil, nil
	}
	text, err := keyring.Sign(w.Key, presenceKind, p)
	if err != nil {
		return nil, err
	}
	return sealing.Seal(text, to...)
}

// A Connected worker has announced itself in the last day.
type Connected struct {
	Name     string    `json:"name"` // in the list of workers; the fingerprint of its key if that is not on the list
	Listed   bool      `json:"listed"`
	Refused  bool      `json:"refused,omitempty"` // its line in the list does not allow its site
	Site     string    `json:"site"`
	Version  string    `json:"version"`
	Host     string    `json:"host"`
	PID      int       `json:"pid"`
	Started  time.Time `json:"started"`
	Hosts    int       `json:"hosts"`
	Busy     int       `json:"busy"`
	Capacity int       `json:"capacity"`
	Lost     bool      `json:"lost"`
	Heard    time.Time `json:"last_heard"`

	key string
	age time.Duration
}

// Present lists the workers that have announced themselves to the owner of a key, by site and name. Unreadable counts the connected
// ones that do not accept the key.
func Present(ctx context.Context, q queue.Queue, own keyring.Key, list keyring.Keyring) (all []Connected, unreadable int, err error) {
	found, since, err := q.Present(ctx)
	if wait := presenceTime + presenceTime/10 - since; err == nil && wait > 0 { // each worker announces itself again and again
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
		found, _, err = q.Present(ctx)
	}
	if err != nil {
		return nil, 0, err
	}
	for _, one := range found {
		c, readable := open(own, list, one)
		switch {
		case !readable && one.Age < absentTime:
			unreadable++
		case c != nil:
			all = append(all, *c)
		}
	}
	// A worker that was started again is there once.
	all = slices.DeleteFunc(all, func(c Connected) bool {
		return c.Lost && slices.ContainsFunc(all, func(other Connected) bool {
			return other.key == c.key && other.Host == c.Host && other.Site == c.Site && other.age < c.age
		})
	})
	slices.SortFunc(all, func(a, b Connected) int {
		return cmp.Or(strings.Compare(a.Site, b.Site), strings.Compare(a.Name, b.Name), strings.Compare(a.Host, b.Host), cmp.Compare(a.PID, b.PID))
	})
	return all, unreadable, nil
}

// open reads an announcement. c is nil if the announcement is not valid, or if the worker has left.
func open(own keyring.Key, list keyring.Keyring, one queue.Presence) (c *Connected, readable bool) {
	text, err := sealing.Unseal(own.Identity(), one.Data)
	if err != nil {
		return nil, false
	}
	key := keyring.SignerOf(text)
	entry, listed := list[key]
	name := entry.Name
	if public, err := ssh.ParsePublicKey([]byte(key)); err == nil && !listed {
		name = ssh.FingerprintSHA256(public)
	}
	var p presence
	if _, err := keyring.Verify(keyring.Keyring{key: {Name: name}}, presenceKind, text, &p); err != nil || p.User != one.User || p.Left {
		return nil, true
	}
	return &Connected{
		Name: name, Listed: listed, Refused: listed && !entry.Allows(p.Site), Site: p.Site, Version: p.Version, Host: p.Host, PID: p.PID, Started: p.Started,
		Hosts: p.Hosts, Busy: p.Busy, Capacity: p.Capacity, Lost: one.Age >= absentTime, Heard: time.Now().Add(-one.Age).Truncate(time.Second),
		key: key, age: one.Age,
	}, true
}

// served lists the sites that connected workers of the list serve.
func served(all []Connected) string {
	var sites []string
	for _, c := range all {
		site := cmp.Or(c.Site, "(none)")
		if !c.Lost && c.Listed && !slices.Contains(sites, site) {
			sites = append(sites, site)
		}
	}
	if len(sites) == 0 {
		return "no worker is connected"
	}
	return "workers are connected for: " + strings.Join(sites, ", ")
}

// took reports hosts that this worker has taken, and returns what reports their end.
func (w *Worker) took(run string, turns []playbooks.Turn) (ended func(left int)) {
	count := w.load.add(len(turns))
	began := time.Now()
	var hosts []string
	for _, t := range turns {
		hosts = append(hosts, t.Host)
	}
	slices.Sort(hosts)
	what := "run " + run + ": "
	w.trace(fmt.Sprintf("%stook %s: %s", what, counted(len(hosts)), named(hosts)))
	return func(left int) {
		count()
		text := fmt.Sprintf("%sended %s in %v", what, counted(len(hosts)-left), time.Since(began).Round(100*time.Millisecond))
		if left > 0 {
			text += fmt.Sprintf("; left %s to other workers", counted(left))
		}
		w.trace(text)
	}
}

func (w *Worker) trace(text string) {
	if w.Trace != nil {
		w.Trace(text)
	}
}
