package process

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// Properties are what a program is to look after, in the form of encoding/json. Numbers
// keep their text.
type Properties map[string]any

// UnmarshalJSON reads an object; its numbers are [json.Number].
func (p *Properties) UnmarshalJSON(b []byte) error {
	var v any
	if err := Decode(string(b), &v); err != nil {
		return err
	}
	object, ok := v.(map[string]any)
	if !ok && v != nil {
		return errors.New("properties must be an object")
	}
	*p = object
	return nil
}

// ExactNumbers has a controller keep the digits of numbers, too.
func (Properties) ExactNumbers() {}

// JSON is a value in one line, with characters as they are.
func JSON(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// Show tells whoever looks for a fault all that a program has printed to no avail. what
// is the call; text has no secrets any more.
func Show(to modules.Reporter, what, text string) {
	if text = strings.TrimSpace(text); text != "" {
		to.Message(modules.LevelDebug, what+" printed:\n"+text)
	}
}

// A Failure is why a program could not do what it was asked for.
type Failure struct {
	Text  string // may hold parts of properties or of what the program printed
	Safe  string // holds neither
	Cause error  // may be nil
	Class modules.ErrorKind
}

func (f *Failure) Error() string { return f.Text }

// Redacted implements [modules.Redactor].
func (f *Failure) Redacted() string { return f.Safe }

func (f *Failure) Unwrap() error { return f.Cause }

// Kind is what the program has said of the error, for its result.
func (f *Failure) Kind() modules.ErrorKind {
	if f.Class == "" {
		return modules.ErrorFailed
	}
	return f.Class
}
