package exec

import (
	"errors"

	"github.com/ccm-push/ccm-push/modules"
)

// failure is the error of a failed command.
type failure struct {
	text string // may contain parts of the command or of its output
	safe string // holds neither
	err  error  // may be nil
}

// notRun explains why the command of a property could not be started or did not end by itself.
func notRun(property string, err error) error {
	safe := property + " could not be run"
	if errors.Is(err, modules.ErrTimeout) {
		safe = property + " " + modules.ErrTimeout.Error()
	}
	return &failure{text: property + ": " + err.Error(), safe: safe, err: err}
}

// cannot returns the error of a property that prevents every command from being started.
func cannot(property string, err error) error {
	text := property + ": " + err.Error()
	return &failure{text: text, safe: text, err: err}
}

func (f *failure) Error() string { return f.text }

// Redacted implements [modules.Redactor].
func (f *failure) Redacted() string { return f.safe }

func (f *failure) Unwrap() error { return f.err }
