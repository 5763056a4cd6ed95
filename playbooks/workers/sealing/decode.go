package sealing

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/ccm-push/ccm-push/playbooks/workers/keyring"
)

// Decode reads a message. Coordinator and worker are the same build, so an unknown field is an error.
func Decode(text []byte, v any) error {
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

// Receive reads a message of the other side, and checks it.
func Receive(text []byte, m keyring.Message) error {
	if err := Decode(text, m); err != nil {
		return err
	}
	if err := m.Check(); err != nil {
		return fmt.Errorf("it sent %w", err)
	}
	return nil
}
