package templates

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// Position is where a text begins.
type Position struct {
	File   string
	Line   int // from 1; 0 is unknown
	Column int // in characters, from 1; 0 is unknown

	// Verbatim says that the text stands in File exactly as it is, so that lines
	// below the first can be counted: a whole file. Of other texts (YAML folds,
	// indents and escapes) only positions on the first line are computed, and
	// those of a text with several lines not at all.
	Verbatim bool
}

// String is file:line:column, without the parts that are unknown.
func (p Position) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// within is the position of byte offset of text, which begins at p.
func (p Position) within(text string, offset int) Position {
	if p.Line == 0 || p.Column == 0 || !p.Verbatim && strings.Contains(text, "\n") {
		return p
	}
	before := text[:min(max(offset, 0), len(text))]
	if lines := strings.Count(before, "\n"); lines > 0 {
		p.Line += lines
		p.Column = 1
		before = before[strings.LastIndexByte(before, '\n')+1:]
	}
	p.Column += utf8.RuneCountInString(before)
	return p
}

// Error says where in a file something is wrong, what, and what to write
// instead. It never holds a value of a host or of the data. To errors.As it is
// a [yamlpos.Error] too, to errors.Is also its cause: context.DeadlineExceeded,
// fs.ErrNotExist.
type Error struct {
	File   string
	Line   int // from 1; 0 is unknown
	Column int // in characters, from 1; 0 is unknown
	Msg    string
	Hint   string // may be empty

	cause error // may be nil
}

// Error is "file:line:column: message" and, on a second line, the hint.
func (e *Error) Error() string { return e.positioned().Error() }

func (e *Error) positioned() *yamlpos.Error {
	return &yamlpos.Error{File: e.File, Line: e.Line, Column: e.Column, Msg: e.Msg, Hint: e.Hint}
}

// Unwrap gives the same error as those of YAML files are, so that all can be
// collected and sorted together.
func (e *Error) Unwrap() []error { return []error{e.positioned()} }

// Is reports whether target is the cause.
func (e *Error) Is(target error) bool { return errors.Is(e.cause, target) }

// A fault is an error that does not know its position yet.
type fault struct {
	msg, hint string
	err       error
}

func (f *fault) Error() string { return f.msg }
func (f *fault) Unwrap() error { return f.err }

func faultf(format string, args ...any) *fault { return &fault{msg: fmt.Sprintf(format, args...)} }

func (f *fault) withHint(format string, args ...any) *fault {
	f.hint = fmt.Sprintf(format, args...)
	return f
}

// Place gives an error of a file that n names the position of n, unless it has
// one already.
func Place(n *yamlpos.Node, err error) error { return at(At(n), err) }

// at gives err the position p unless it has one already.
func at(p Position, err error) error {
	var placed *Error
	if errors.As(err, &placed) {
		return placed
	}
	e := &Error{File: p.File, Line: p.Line, Column: p.Column, Msg: err.Error(), cause: err}
	var f *fault
	if errors.As(err, &f) {
		e.Msg, e.Hint, e.cause = f.msg, f.hint, f
	}
	return e
}
