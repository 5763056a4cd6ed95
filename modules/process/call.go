package process

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// Properties are the properties that a program manages, in the form of encoding/json. Numbers keep their text.
type Properties map[string]any

// UnmarshalJSON reads an object; its numbers are [json.Number].
func (p *Properties) UnmarshalJSON(b []byte) error {
	var v any
	if err := Decode(string(b), &v); err != nil {
		return err
	}
	object, ok := v.(map[string]any)
	if !ok && v != nil {
		return errors.New(`"properties" must be an object`)
	}
	*p = object
	return nil
}

// ExactNumbers makes a controller keep the digits of numbers, too.
func (Properties) ExactNumbers() {}

// JSON is a value in one line, without escapes for HTML characters.
func JSON(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// Show reports the whole output of a failed program, for troubleshooting. what is the call; text must not contain
// secrets any more.
func Show(to modules.Reporter, what, text string) {
	if text = strings.TrimSpace(text); text != "" {
		to.Message(modules.LevelDebug, what+" printed:\n"+text)
	}
}

// A Failure is the error of a failed program.
type Failure struct {
	Text  string // may contain parts of properties or of the program's output
	Safe  string // holds neither
	Cause error  // may be nil
	Class modules.ErrorKind
}

func (f *Failure) Error() string { return f.Text }

// Redacted implements [modules.Redactor].
func (f *Failure) Redacted() string { return f.Safe }

func (f *Failure) Unwrap() error { return f.Cause }

// Kind is the kind of the error from the program, for its result.
func (f *Failure) Kind() modules.ErrorKind {
	if f.Class == "" {
		return modules.ErrorFailed
	}
	return f.Class
}
