package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// Memory is where a host keeps what its resources have sent, for runs in which they have
// nothing to do. It holds secrets. *system.Journal is one.
type Memory interface {
	// Read gives what was last written; nil if there is nothing. An error means that
	// what is there cannot be trusted.
	Read() ([]byte, error)
	// Replace puts text in the place of what was there.
	Replace(text []byte) error
}

// maxSentText bounds what is kept in a [Memory], in bytes: what is oldest is forgotten.
const maxSentText = 1 << 20

// sentText is what a [Memory] holds, by [sentKey].
type sentText map[string]sentValues

type sentValues struct {
	Time   time.Time                  `json:"time"`
	Values map[string]json.RawMessage `json:"values"`
}

// sentKey stands for a resource with all of its properties: what another one of that
// name has sent is not meant.
func sentKey(e *modules.Entry, properties json.RawMessage) string {
	if properties == nil {
		properties = e.Properties
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %s", e.Type, e.Name, properties))
	return hex.EncodeToString(sum[:])
}

// remember keeps what an entry has sent, if it has run. If it has not, it gives what was
// kept of the last time.
func (r *run) remember(i int, notes *notes) {
	if r.Engine.Sent == nil {
		return
	}
	if r.memory.sent == nil {
		r.memory.sent = sentText{}
		text, err := r.Engine.Sent.Read()
		if err == nil && text != nil {
			err = json.Unmarshal(text, &r.memory.sent)
		}
		if err != nil {
			notes.Message("warning", fmt.Sprintf("what was sent in earlier runs cannot be read: %v", err))
		}
		if err != nil || r.memory.sent == nil { // a part of it, or null
			r.memory.sent = sentText{}
		}
	}
	out := &r.results[i]
	key := sentKey(&r.cat.Entries[i], out.properties)
	if !out.changed || r.checked(i) {
		for name, value := range r.memory.sent[key].Values {
			if _, here := out.sent[name]; !here && r.traffic.wanted[i][name] {
				out.sent[name] = value
			}
		}
		return
	}
	r.memory.sent[key] = sentValues{r.Now().UTC(), maps.Clone(out.sent)}
	if err := r.saveSent(); err != nil {
		notes.Message("warning", fmt.Sprintf("what it has sent is not kept for runs in which it has nothing to do: %v", err))
	}
}

// saveSent writes what was sent, as far as there is room.
func (r *run) saveSent() error {
	text, err := json.Marshal(r.memory.sent)
	if err == nil && len(text) >= maxSentText {
		r.memory.sent.forget(len(text) - maxSentText)
		text, err = json.Marshal(r.memory.sent)
	}
	if err != nil {
		return err
	}
	if len(r.memory.sent) == 0 {
		err = fmt.Errorf("it is more than %d bytes of JSON", maxSentText)
	}
	return errors.Join(err, r.Engine.Sent.Replace(text))
}

// forget drops what is oldest, so that the text gets shorter by more than so many bytes.
func (s sentText) forget(bytes int) {
	oldest := slices.SortedFunc(maps.Keys(s), func(a, b string) int { return s[a].Time.Compare(s[b].Time) })
	for _, key := range oldest {
		if bytes < 0 {
			return
		}
		text, _ := json.Marshal(s[key]) // as it has been before
		bytes -= len(key) + len(text) + len(`"":,`)
		delete(s, key)
	}
}
