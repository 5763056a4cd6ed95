package workers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// decode reads a message. Coordinator and worker are the same build, so a field that is not known is an error.
func decode(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("a message of it is not readable: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more follows a message of it")
	}
	return nil
}

// receive reads a message of a worker, and checks it.
func receive(text []byte, m message) error {
	if err := decode(text, m); err != nil {
		return err
	}
	if err := m.Check(); err != nil {
		return fmt.Errorf("it sent %w", err)
	}
	return nil
}

// maxWarnings bounds the warnings of one message.
const maxWarnings = 1000
