package nodeset

import (
	"errors"
	"fmt"
)

// An Error says what is wrong with a text by itself. Whoever knows where the text
// comes from adds the position.
type Error struct {
	Msg  string
	Hint string // may be empty
}

func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Msg
	}
	return e.Msg + "\n  hint: " + e.Hint
}

func failure(hint, format string, args ...any) error {
	return &Error{fmt.Sprintf(format, args...), hint}
}

// inText says which text an error is about.
func inText(text string, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return failure(e.Hint, "node set %q: %s", text, e.Msg)
	}
	return err
}
