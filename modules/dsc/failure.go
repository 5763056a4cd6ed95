package dsc

import (
	"errors"
	"fmt"

	"github.com/ccm-push/ccm-push/modules"
)

// failure is why a resource could not be asked or changed.
type failure struct {
	text string // may hold parts of properties or of what a program printed
	safe string // holds neither
	err  error  // may be nil
	kind modules.ErrorKind
}

func (f *failure) Error() string { return f.text }

// Redacted implements [modules.Redactor].
func (f *failure) Redacted() string { return f.safe }

func (f *failure) Unwrap() error { return f.err }

// Kind implements [modules.Kinded].
func (f *failure) Kind() modules.ErrorKind {
	if f.kind == "" {
		return modules.ErrorFailed
	}
	return f.kind
}

// failed makes a failure whose evidence is shown only where everything may be.
func failed(evidence, format string, args ...any) *failure {
	safe := fmt.Sprintf(format, args...)
	f := &failure{text: safe, safe: safe}
	if evidence != "" {
		f.text += ": " + evidence
	}
	return f
}

// notRun tells what became of a program that could not be started or did not end by
// itself.
func notRun(what string, err error) error {
	safe := what + " could not be run"
	if errors.Is(err, modules.ErrTimeout) {
		safe = what + " " + modules.ErrTimeout.Error()
	}
	return &failure{text: what + ": " + err.Error(), safe: safe, err: err}
}
