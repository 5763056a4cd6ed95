package notes

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"
)

// A Store is where a host keeps notes of one kind. *system.Journal is one.
type Store interface {
	// Read returns the last written text, or nil. An error means that the content cannot be trusted.
	Read() ([]byte, error)
	// MayWrite returns an error if Replace or SetAside cannot work.
	MayWrite() error
	// Replace replaces the content by text, or removes it if text is empty: atomically, and so that it outlives a
	// crash.
	Replace(text []byte) error
	// SetAside moves invalid content away, and returns its new path.
	SetAside() (path string, err error)
}

const (
	maxName = 512     // bytes of a name or run id in a note
	maxText = 1 << 20 // bytes of all notes of one kind, unless the store has a bound of its own
)

// A document is the JSON object that holds all notes of a kind.
type document interface {
	// valid returns the fault of notes that were read.
	valid() error
}

// read reads all notes of a store, which may be empty.
func read(s Store, into document) error {
	text, err := s.Read()
	if err != nil {
		return err
	}
	return parse(text, into)
}

// parse reads one JSON object without unknown keys and without text after it.
func parse(text []byte, into document) error {
	if len(text) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("something follows the JSON object")
	}
	return into.valid()
}

// format is the text that [parse] reads.
func format(d document) ([]byte, error) {
	text, err := json.Marshal(d)
	return append(text, '\n'), err
}

// Clip cuts a name to at most n bytes, not within a character.
func Clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
