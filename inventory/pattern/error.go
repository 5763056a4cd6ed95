package pattern

import (
	"errors"
	"fmt"
)

// ErrNothing is wrapped by the error of a pattern that is understood but selects
// no host.
var ErrNothing = errors.New("no host is selected")

// An Error says why a pattern is refused or selects nothing; errors.Is with
// [ErrNothing] tells the one from the other.
type Error struct {
	Pattern string // as it was typed
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

// Unwrap gives [ErrNothing] if the pattern only selects nothing.
func (e *Error) Unwrap() error {
	if e.nothing {
		return ErrNothing
	}
	return nil
}

// A termError says what is wrong with a term by itself.
type termError struct{ msg, hint string }

func (e *termError) Error() string { return e.msg }

// inTerm says which of several terms an error is about.
func inTerm(terms []string, term string, err error) error {
	te, ok := errors.AsType[*termError](err)
	if !ok || len(terms) < 2 {
		return err
	}
	return &termError{fmt.Sprintf("%s: %s", term, te.msg), te.hint}
}

// inPattern turns what is wrong with a term into an Error.
func inPattern(pattern string, err error) error {
	e := &Error{Pattern: pattern, Msg: err.Error()}
	if te, ok := errors.AsType[*termError](err); ok {
		e.Hint = te.hint
	}
	return e
}
