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
	// Read gives what was last written; nil if there is nothing. An error means
	// that what is there cannot be trusted.
	Read() ([]byte, error)
	// MayWrite tells beforehand that Replace or SetAside cannot work.
	MayWrite() error
	// Replace puts text, or nothing if it is empty, in the place of what was there:
	// at once, and so that it outlives a crash.
	Replace(text []byte) error
	// SetAside moves what cannot be trusted away, and tells where it is now.
	SetAside() (path string, err error)
}

const (
	maxName = 512     // bytes of a name or run id in a note
	maxText = 1 << 20 // bytes of all notes of one kind, unless the store has a bound of its own
)

// A document is the JSON object that holds all notes of a kind.
type document interface {
	// valid says what is wrong with notes that were read.
	valid() error
}

// read reads all notes of a store; none if there is nothing.
func read(s Store, into document) error {
	text, err := s.Read()
	if err != nil {
		return err
	}
	return parse(text, into)
}

// parse reads one JSON object with nothing behind it and no key that is not known.
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
