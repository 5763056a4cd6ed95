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

// ErrKernelRefuses is what the kernel refuses every user, whatever owner and mode are: a read-only file
// system, a flag such as "immutable", a mount point. It is an fs.ErrPermission as well.
var ErrKernelRefuses = errors.New("refused by the kernel")

// PermissionRefusal words an error of not being allowed to look, as a refusal that says what to
// do. Any other one it returns as it is.
func PermissionRefusal(err error) error {
	if denied, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(denied, fs.ErrPermission) {
		return Refuse("%w; use become", err)
	}
	return err
}

// PlanIfPermitted gives a plan unless one of the rights it needs has been denied, which
// is a refusal too.
func PlanIfPermitted(plan Plan, rights ...error) (Plan, error) {
	if err := cmp.Or(rights...); err != nil {
		return Plan{}, refusal{err}
	}
	return plan, nil
}

// Redactor is an error whose text may hold what a resource was given or a
// command printed. Redacted is the part that may be shown of a sensitive one.
type Redactor interface {
	error
	Redacted() string
}

// SkipError is the error of a Check that finds out that the resource is not wanted on
// this host at all, such as by a condition that only the host can answer. The engine
// reports it as skipped, for this reason; what depends on it runs all the same.
type SkipError string

func (u SkipError) Error() string { return string(u) }

// StateUnknownError is the error of a Check that has to know how another resource was left, and
// cannot: its [Host].State is not known. In a check run in which that resource would
// be changed, the engine reports that the checked one would be, too; otherwise it is
// an error as any other. It holds the reference of the other one.
type StateUnknownError string

func (n StateUnknownError) Error() string { return "nothing is known yet of " + string(n) }
