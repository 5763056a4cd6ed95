package dsc

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"sync"

	"github.com/ccm-push/ccm-push/modules"
)

// session remembers the YAML that the controller has read for the instances of a host,
// each of which looks at all manifests there, for as long as the host program runs.
type session struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]document // by the text
}

// document is what a text came to.
type document struct {
	json json.RawMessage
	err  error
}

// yaml gives a YAML document as JSON.
func (s *session) yaml(ctx context.Context, h modules.Host, text string) (json.RawMessage, error) {
	if s == nil {
		return h.YAML(ctx, text)
	}
	key := sha256.Sum256([]byte(text))
	s.mu.Lock()
	d, known := s.known[key]
	s.mu.Unlock()
	if known {
		return d.json, d.err
	}
	d.json, d.err = h.YAML(ctx, text)
	if ctx.Err() == nil { // else the error may be that of the context
		s.mu.Lock()
		s.known[key] = d
		s.mu.Unlock()
	}
	return d.json, d.err
}
