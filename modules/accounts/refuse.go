package accounts

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/ccm-push/ccm-push/modules"
)

// refusal is an error whose text holds names only, never a secret.
type refusal struct{ error }

// Redacted implements [modules.Redactor].
func (r refusal) Redacted() string { return r.Error() }

func (r refusal) Unwrap() error { return r.error }

// Refuse makes an error that may be shown of a sensitive resource, so it must
// hold nothing secret.
func Refuse(format string, args ...any) error { return refusal{fmt.Errorf(format, args...)} }

// Allowed tells why the accounts of the host may not be changed, or nil.
func Allowed(rights modules.FileRights) error {
	if err := rights.MayReplace(PasswdFile); err != nil {
		return refusal{err}
	}
	return nil
}

// Unreadable words an error of reading the accounts.
func Unreadable(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return Refuse("%w; use become", err)
	}
	return err
}
