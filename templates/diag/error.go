package diag

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// Position is the position where a text begins.
type Position struct {
	File   string
	Line   int // from 1; 0 is unknown
	Column int // in characters, from 1; 0 is unknown

	// Verbatim reports that File contains the text unchanged, so that lines below the first can be counted: a whole
	// file. For other texts (YAML folds, indents and escapes) only positions on the first line are computed. A text
	// with several lines gets none.
	Verbatim bool
}

// String returns file:line:column, without unknown parts.
func (p Position) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Within returns the position of byte offset of text, which begins at p.
func (p Position) Within(text string, offset int) Position {
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

// Error is an error in a file: its position, the problem, and a suggestion. It never contains a value of a host or of
// the data. To errors.As it is a [yamlpos.Error] too, to errors.Is also its cause: context.DeadlineExceeded,
// fs.ErrNotExist.
type Error struct {
	File   string
	Line   int // from 1; 0 is unknown
	Column int // in characters, from 1; 0 is unknown
	Msg    string
	Hint   string // may be empty

	cause error // may be nil
}

// Error returns "file:line:column: message" and, on a second line, the hint.
func (e *Error) Error() string { return e.positioned().Error() }

func (e *Error) positioned() *yamlpos.Error {
	return &yamlpos.Error{File: e.File, Line: e.Line, Column: e.Column, Msg: e.Msg, Hint: e.Hint}
}

// Unwrap returns the error in the type of YAML errors, so that all can be collected and sorted together.
func (e *Error) Unwrap() []error { return []error{e.positioned()} }

// Is reports whether target is the cause.
func (e *Error) Is(target error) bool { return errors.Is(e.cause, target) }

// A Fault is an error that does not know its position yet.
type Fault struct {
	Msg, Hint string
	Err       error
}

func (f *Fault) Error() string { return f.Msg }
func (f *Fault) Unwrap() error { return f.Err }

// Faultf returns a fault with a message, without a hint.
func Faultf(format string, args ...any) *Fault { return &Fault{Msg: fmt.Sprintf(format, args...)} }

// WithHint sets the hint of f, and returns f.
func (f *Fault) WithHint(format string, args ...any) *Fault {
	f.Hint = fmt.Sprintf(format, args...)
	return f
}

// At adds the position p to err unless err has a position.
func At(p Position, err error) error {
	var placed *Error
	if errors.As(err, &placed) {
		return placed
	}
	e := &Error{File: p.File, Line: p.Line, Column: p.Column, Msg: err.Error(), cause: err}
	var f *Fault
	if errors.As(err, &f) {
		e.Msg, e.Hint, e.cause = f.Msg, f.Hint, f
	}
	return e
}

// Message returns the message of an error without its position and its hint.
func Message(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Msg
	}
	return err.Error()
}

// StartOfLine returns the beginning of line number line of a text at p; the column is unknown.
func (p Position) StartOfLine(line int) Position {
	if p.Verbatim {
		p.Line, p.Column = p.Line+line-1, 0
	}
	return p
}

// WholeFile returns the start position of a file that is a template as a whole.
func WholeFile(name string) Position {
	return Position{File: name, Line: 1, Column: 1, Verbatim: true}
}

// PositionOf returns the position of the text of a scalar.
func PositionOf(n *yamlpos.Node) Position {
	pos := Position{File: n.File, Line: n.Line, Column: n.Column}
	if n.Quoted && !n.Computed && n.Column > 0 {
		pos.Column++ // the opening quote
	}
	return pos
}

// WithCause makes the error wrap err, whose text is not shown.
func (f *Fault) WithCause(err error) *Fault {
	f.Err = err
	return f
}

// maxNames is the number of names that a hint lists.
const maxNames = 8

// DidYouMean returns a hint for a name that is not among names; "" if none of them is close.
func DidYouMean(names []string, name string) string {
	if near := yamlpos.Suggest(name, names); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}

// ListNames writes names for an error: the first few, and how many more there are.
func ListNames(names []string) string {
	if len(names) > maxNames {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNames], ", "), len(names)-maxNames)
	}
	return strings.Join(names, ", ")
}
