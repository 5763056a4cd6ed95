package accounts

import "github.com/ccm-push/ccm-push/modules"

// Allowed tells why the accounts of the host may not be changed, or nil.
func Allowed(rights modules.FileRights) error {
	if err := rights.MayReplace(PasswdFile); err != nil {
		return modules.Refuse("%w", err)
	}
	return nil
}
