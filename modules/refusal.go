package modules

import (
	"cmp"
	"fmt"
)

// Refuse is the error of a Check that will not go on, as fmt.Errorf makes it. Its
// text is shown of a sensitive resource as well, so it holds paths, names and
// bounds only, never contents.
func Refuse(format string, args ...any) error { return refusal{fmt.Errorf(format, args...)} }

type refusal struct{ error }

// Redacted implements [Redactor].
func (r refusal) Redacted() string { return r.Error() }

func (r refusal) Unwrap() error { return r.error }

// Allowed gives a plan unless one of the rights it needs has been denied, which
// is a refusal too.
func Allowed(plan Plan, rights ...error) (Plan, error) {
	if err := cmp.Or(rights...); err != nil {
		return Plan{}, refusal{err}
	}
	return plan, nil
}
