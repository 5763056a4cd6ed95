package modules

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
)

// Refuse returns the error of a Check that cannot continue, formatted like fmt.Errorf. Its text is shown for sensitive
// resources, too, so it may contain paths, names and limits, but no contents.
func Refuse(format string, args ...any) error { return refusal{fmt.Errorf(format, args...)} }

type refusal struct{ error }

// Redacted implements [Redactor].
func (r refusal) Redacted() string { return r.Error() }

func (r refusal) Unwrap() error { return r.error }

// ErrKernelRefuses is an operation that the kernel refuses to every user, whatever the owner and the mode: a read-only
// file system, a flag such as "immutable", a mount point. It is an fs.ErrPermission as well.
var ErrKernelRefuses = errors.New("refused by the kernel")

// PermissionRefusal converts an error about missing read permission to a refusal with a next step. It returns other
// errors unchanged.
func PermissionRefusal(err error) error {
	if denied, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(denied, fs.ErrPermission) {
		return Refuse(`%w; use "become"`, err)
	}
	return err
}

// PlanIfPermitted returns a plan unless one of the permissions it needs is missing, which is a refusal, too.
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

// StateUnknownError is the error of a Check that needs the state of another resource, whose [Host].State is not known.
// If a check run would change that resource, the engine reports that the checked one would change, too; otherwise it is
// an ordinary error. Its value is the reference of the other resource.
type StateUnknownError string

func (n StateUnknownError) Error() string { return "nothing is known yet of " + string(n) }
