package accounts

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ccm-push/ccm-push/modules"
)

// xattrs holds the extended attributes of the files of accounts, by path, without files that have none. Programs of shadow-utils
// write a new file in place of the old one, and do not copy access control lists and other attributes.
type xattrs map[string][]string

func readXattrs(files modules.Files) (xattrs, error) {
	all := xattrs{}
	if files.Xattrs == nil {
		return all, nil
	}
	for _, path := range RecordFiles() {
		is, err := files.Stat(path)
		if err != nil || is.Kind != modules.Regular {
			continue
		}
		list, err := files.Xattrs(path, is)
		if err != nil {
			return nil, fmt.Errorf("reading the attributes of %s: %w", path, err)
		}
		if len(list) > 0 {
			all[path] = list
		}
	}
	return all, nil
}

// keep restores the attributes that the files have lost.
func (all xattrs) keep(ctx context.Context, files modules.Files) error {
	var errs []error
	for path, want := range all {
		is, err := files.Stat(path)
		if err != nil || is.Kind != modules.Regular {
			continue
		}
		if now, err := files.Xattrs(path, is); err != nil || slices.Equal(now, want) {
			continue
		}
		if err := files.SetAttributes(ctx, path, modules.Attributes{UID: is.UID, GID: is.GID, Mode: is.Mode.Perm(), Of: modules.Regular, Xattrs: want}); err != nil {
			errs = append(errs, fmt.Errorf("giving %s its access control list and attributes back: %w", path, err))
		}
	}
	return errors.Join(errs...)
}
