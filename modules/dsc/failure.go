package dsc

import (
	"errors"
	"fmt"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/process"
)

// failed makes a failure whose evidence is shown only where everything may be.
func failed(evidence, format string, args ...any) *process.Failure {
	safe := fmt.Sprintf(format, args...)
	f := &process.Failure{Text: safe, Safe: safe}
	if evidence != "" {
		f.Text += ": " + evidence
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
	return &process.Failure{Text: what + ": " + err.Error(), Safe: safe, Cause: err}
}
