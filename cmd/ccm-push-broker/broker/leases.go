package broker

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
)

// leases holds the user of each ticket, because the server lets each worker acknowledge any ticket. A file keeps them
// over a restart.
type leases struct {
	file string

	mu  sync.Mutex
	all map[string]lessee // lessees by ticket; nil until the file is read
}

type lessee struct {
	Key   string    `json:"key"`
	Since time.Time `json:"since"`
}

// ticketOf returns the ticket of an acknowledgement, by its subject: $JS.ACK.STREAM.CONSUMER.DELIVERED.SEQUENCE.….
func ticketOf(subject string) string {
	tokens := strings.Split(subject, ".")
	if len(tokens) != 9 || !strings.HasPrefix(subject, "$JS.ACK."+queue.WorkStream+".") {
		return ""
	}
	return tokens[3] + " " + tokens[5]
}

// given records the user of a ticket, if the reply subject of a message belongs to one.
func (l *leases) given(reply, key string) error {
	ticket := ticketOf(reply)
	if ticket == "" {
		return nil
	}
	return l.change(func() {
		l.all[ticket] = lessee{key, time.Now()}
		for old, one := range l.all {
			if time.Since(one.Since) > queue.KeptTime { // the stream drops tickets after that
				delete(l.all, old)
			}
		}
	})
}

// holder returns the key of the user that has the ticket of an acknowledgement; empty means none.
func (l *leases) holder(subject string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.read() != nil {
		return ""
	}
	return l.all[ticketOf(subject)].Key
}

func (l *leases) ended(subject string) error {
	return l.change(func() { delete(l.all, ticketOf(subject)) })
}

func (l *leases) read() error {
	if l.all != nil {
		return nil
	}
	text, err := os.ReadFile(l.file)
	all := map[string]lessee{}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	l.all = all
	return nil
}

func (l *leases) change(do func()) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.read(); err != nil {
		return err
	}
	do()
	text, err := json.Marshal(l.all)
	if err == nil {
		err = writeWhole(l.file, text)
	}
	return err
}
