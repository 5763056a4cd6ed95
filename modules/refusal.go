package modules

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
)

// Refuse is the error of a Check that will not go on, as fmt.Errorf makes it. Its
// text is shown of a sensitive resource as well, so it holds paths, names and
// bounds only, never contents.
func Refuse(format string, args ...any) error { return refusal{fmt.Errorf(format, args...)} }

type refusal struct{ error }

// Redacted implements [Redactor].
func (r refusal) Redacted() string { return r.Error() }

func (r refusal) Unwrap() error { return r.error }

// Barred words an error of not being allowed to look, as a refusal that says what to
// do. Any other one it returns as it is.
func Barred(err error) error {
	if denied, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(denied, fs.ErrPermission) {
		return Refuse("%w; use become", err)
	}
	return err
}

// Allowed gives a plan unless one of the rights it needs has been denied, which
// is a refusal too.
func Allowed(plan Plan, rights ...error) (Plan, error) {
	if err := cmp.Or(rights...); err != nil {
		return Plan{}, refusal{err}
	}
	return plan, nil
}
