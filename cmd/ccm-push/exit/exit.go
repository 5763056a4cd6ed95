package exit

import (
	"errors"
	"fmt"

	"github.com/ccm-push/ccm-push/playbooks/reach"
)

// Status is the exit status of a run whose reporters have printed the outcome.
type Status int

// Error implements error. The text is not printed.
func (e Status) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// ExitCode returns the status, for main.
func (e Status) ExitCode() int { return int(e) }

const (
	// Usage is the exit status if no host was contacted, for example because an argument or a file is not valid.
	Usage = 1
	// The next three are added.
	Failed      = 2
	Unreachable = 4
	Changed     = 8
	// Interrupted is the exit status after Ctrl-C.
	Interrupted = 130
)

// Error returns an exit status as an error, or nil for 0.
func Error(status int) error {
	if status == 0 {
		return nil
	}
	return Status(status)
}

// Join returns the status of two runs, one after the other, or both errors.
func Join(one, other error) error {
	first, isFirst := errors.AsType[Status](one)
	second, isSecond := errors.AsType[Status](other)
	switch {
	case other == nil:
		return one
	case one == nil:
		return other
	case isFirst && isSecond && second != Interrupted:
		return Status(first | second)
	}
	return errors.Join(other, one)
}

// Unwritten returns the error of a run whose outcome could not be written: hosts may have changed.
func Unwritten(err error) error { return unreported{err} }

// unreported is a run whose outcome could not be written.
type unreported struct{ error }

// ExitCode returns the status, for main.
func (unreported) ExitCode() int { return Failed }

// Prompted sets the exit status for Ctrl-C at a prompt.
func Prompted(err error) error {
	if errors.Is(err, reach.ErrInterrupted) {
		return Status(Interrupted)
	}
	return err
}
