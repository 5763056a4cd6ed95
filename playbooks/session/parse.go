package session

import (
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
)

// Limits of the YAML that the controller reads for one session.
const (
	maxParses     = 10_000
	maxParseBytes = 8 << 20  // size of all documents together
	maxParsedJSON = 64 << 20 // bytes of all answers together: aliases make much of little
	maxCopied     = 1 << 20  // values that aliases and merge keys of all documents copy together
	maxParsesOpen = 256      // documents whose answers are not sent yet
	maxParseError = 2 << 10  // size of an error message, in bytes
)

// parses is the YAML of a host that the controller reads for it.
type parses struct {
	asked int
	bytes int
	work  catalog.YAMLWork

	mu    sync.Mutex
	ready []*wire.Message // answers that are not sent yet; all of them are sent together
}

// parse reads a YAML document of the host. A syntax error is an answer: the host fails only if it breaks a limit.
func (c *catalogRun) parse(p *wire.Parse) error {
	s := &c.session.parses
	switch {
	case p.ID <= 0:
		return breach("the host sends a YAML document with the invalid number %d", p.ID)
	case s.asked == maxParses:
		return breach("the host sends more than %d YAML documents", maxParses)
	case len(p.Text) > modules.MaxParse:
		return breach("the host sends a YAML document of %d bytes, more than %d", len(p.Text), modules.MaxParse)
	case s.bytes+len(p.Text) > maxParseBytes:
		return breach("the host sends more than %d MiB of YAML documents", maxParseBytes>>20)
	}
	s.asked, s.bytes = s.asked+1, s.bytes+len(p.Text)
	answer := &wire.Parsed{ID: p.ID}
	text, err := s.work.JSONOfYAML("", []byte(p.Text))
	switch {
	case s.work.Copied > maxCopied:
		return breach("the host sends YAML documents whose aliases and merge keys copy more than %d values", maxCopied)
	case s.work.JSON > maxParsedJSON:
		return breach("the host sends YAML documents that are larger than %d MiB as JSON", maxParsedJSON>>20)
	}
	if answer.JSON = text; err != nil {
		answer.Error = clipped(err.Error(), maxParseError)
	}
	return c.answerParse(&wire.Message{Parsed: answer})
}

// answerParse queues an answer. Answers that arrive while the sender is busy are sent together, so that the number of
// requests of a host stays limited.
func (c *catalogRun) answerParse(m *wire.Message) error {
	s := &c.session.parses
	s.mu.Lock()
	s.ready = append(s.ready, m)
	waiting := len(s.ready)
	s.mu.Unlock()
	switch {
	case waiting > maxParsesOpen:
		return breach("the host sends requests faster than it reads answers")
	case waiting > 1: // sending them is queued already
		return nil
	}
	return c.session.queue(func() error {
		s.mu.Lock()
		all := s.ready
		s.ready = nil
		s.mu.Unlock()
		return c.session.conn.Send(all...)
	})
}

// clipped cuts a text to at most n bytes, not within a character.
func clipped(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "")
}
