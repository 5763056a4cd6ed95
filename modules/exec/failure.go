package exec

import (
	"errors"

	"github.com/ccm-push/ccm-push/modules"
)

// failure is why a command did not do what it should.
type failure struct {
	text string // may hold parts of the command or of what it printed
	safe string // holds neither
	err  error  // may be nil
}

// notRun tells what became of the command in a property that could not be
// started or did not end by itself.
func notRun(property string, err error) error {
	safe := property + " could not be run"
	if errors.Is(err, modules.ErrTimeout) {
		safe = property + " " + modules.ErrTimeout.Error()
	}
	return &failure{text: property + ": " + err.Error(), safe: safe, err: err}
}

// cannot says what in a property keeps every command from being started.
func cannot(property string, err error) error {
	text := property + ": " + err.Error()
	return &failure{text: text, safe: text, err: err}
}

func (f *failure) Error() string { return f.text }

// Redacted implements [modules.Redactor].
func (f *failure) Redacted() string { return f.safe }

func (f *failure) Unwrap() error { return f.err }
