package process

import "github.com/ccm-push/ccm-push/modules"

// A Failure is why a program could not do what it was asked for.
type Failure struct {
	Text  string // may hold parts of properties or of what the program printed
	Safe  string // holds neither
	Cause error  // may be nil
	Class modules.ErrorKind
}

func (f *Failure) Error() string { return f.Text }

// Redacted implements [modules.Redactor].
func (f *Failure) Redacted() string { return f.Safe }

func (f *Failure) Unwrap() error { return f.Cause }

// Kind implements [modules.Kinded].
func (f *Failure) Kind() modules.ErrorKind {
	if f.Class == "" {
		return modules.ErrorFailed
	}
	return f.Class
}
