package pattern

import (
	"errors"
	"fmt"
)

// ErrNothing is wrapped by the error of a pattern that is understood but selects
// no host.
var ErrNothing = errors.New("no host is selected")

// An Error is the reason why a pattern is refused or selects nothing; errors.Is with [ErrNothing] distinguishes the
// two.
type Error struct {
	Pattern string // as typed
	Msg     string
	Hint    string // may be empty
	nothing bool
}

func (e *Error) Error() string {
	s := fmt.Sprintf("pattern %q: %s", e.Pattern, e.Msg)
	if e.Hint != "" {
		s += "\n  hint: " + e.Hint
	}
	return s
}

// Unwrap returns [ErrNothing] if the pattern only selects nothing.
func (e *Error) Unwrap() error {
	if e.nothing {
		return ErrNothing
	}
	return nil
}

// A TermError is an error in one term, node set or range itself. The caller knows the position of the text and adds it.
type TermError struct {
	Msg  string
	Hint string // may be empty
}

func (e *TermError) Error() string {
	if e.Hint == "" {
		return e.Msg
	}
	return e.Msg + "\n  hint: " + e.Hint
}

func termErrorf(hint, format string, args ...any) error {
	return &TermError{fmt.Sprintf(format, args...), hint}
}

// inTerm adds the term to an error, if the pattern has several terms.
func inTerm(terms []string, term string, err error) error {
	if te, ok := errors.AsType[*TermError](err); ok && len(terms) > 1 {
		return termErrorf(te.Hint, "%s: %s", term, te.Msg)
	}
	return err
}

// inPattern turns the error of a term into an [Error].
func inPattern(pattern string, err error) error {
	if te, ok := errors.AsType[*TermError](err); ok {
		return &Error{Pattern: pattern, Msg: te.Msg, Hint: te.Hint}
	}
	return &Error{Pattern: pattern, Msg: err.Error()}
}
