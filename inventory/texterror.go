package inventory

import "fmt"

// A textError says what is wrong with a text by itself: a range, a value, a
// term. Whoever knows where the text comes from adds the position.
type textError struct{ msg, hint string }

func (e *textError) Error() string { return e.msg }

func badValue(hint, format string, args ...any) error {
	return &textError{fmt.Sprintf(format, args...), hint}
}
