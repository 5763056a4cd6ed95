package notes

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// Sent has the values that resources sent to others when they last ran, for runs in which they have nothing to do. It
// contains secrets.
type Sent struct {
	store Store
	text  sentText // nil before it was read
}

// sentText is the document of sent values, by [SentKey].
type sentText map[string]sentValues

type sentValues struct {
	Time   time.Time                  `json:"time"`
	Values map[string]json.RawMessage `json:"values"`
}

func (*sentText) valid() error { return nil }

// NewSent returns the values in a store, which is read at the first use. Without a store nothing is kept.
func NewSent(store Store) *Sent { return &Sent{store: store} }

// SentKey stands for a resource with all of its properties: what another one of that
// name has sent is not meant.
func SentKey(e *wire.Entry, properties json.RawMessage) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %s", e.Type, e.Name, properties))
	return hex.EncodeToString(sum[:])
}

// Open reads the store, unless it was read. After an error there are no values.
func (s *Sent) Open() error {
	if s.store == nil || s.text != nil {
		return nil
	}
	err := read(s.store, &s.text)
	if err != nil || s.text == nil { // a part of it, or nothing
		s.text = sentText{}
	}
	return err
}

// Last returns the values of the last time; the caller has called Open.
func (s *Sent) Last(key string) map[string]json.RawMessage { return s.text[key].Values }

// Note records sent values, as far as there is room: the oldest are dropped. The caller has called Open.
func (s *Sent) Note(key string, values map[string]json.RawMessage, now time.Time) error {
	if s.store == nil {
		return nil
	}
	s.text[key] = sentValues{now.UTC(), maps.Clone(values)}
	text, err := format(&s.text)
	if err == nil && len(text) > maxText {
		s.text.forget(len(text) - maxText)
		text, err = format(&s.text)
	}
	if err != nil {
		return err
	}
	if len(s.text) == 0 {
		err = fmt.Errorf("it is more than %d bytes of JSON", maxText)
	}
	return errors.Join(err, s.store.Replace(text))
}

// forget drops the oldest values, so that the text gets shorter by more than bytes.
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
