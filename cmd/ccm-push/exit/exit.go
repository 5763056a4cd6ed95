package exit

import (
	"errors"
	"fmt"

	"github.com/ccm-push/ccm-push/playbooks/reach"
)

// Status is the status of a run that could be carried out: its reporters have printed the text.
type Status int

// Error implements error. The text is not printed.
func (e Status) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// ExitCode returns the status, for main.
func (e Status) ExitCode() int { return int(e) }

const (
	// Usage is the exit status when nothing was begun: wrong words, or
	// files that make no sense.
	Usage = 1
	// These three are added up.
	Failed      = 2
	Unreachable = 4
	Changed     = 8
	// Interrupted is the one after Ctrl-C.
	Interrupted = 130
)

// Error returns an exit status as an error, or nil for 0.
func Error(status int) error {
	if status == 0 {
		return nil
	}
	return Status(status)
}

// Join is the status of two runs, one after the other.
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
