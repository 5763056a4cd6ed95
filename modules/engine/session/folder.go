package session

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
)

// Folders keeps the folders resources/ of plays. It gives the directory of the one
// with that listing (see [wire.Catalog]), whose files are opened with from, once
// they have been asked for with want.
type Folders func(ctx context.Context, listing modules.Content, want func([]modules.Content) error, from modules.Contents) (dir string, err error)

// folder gives [modules.Host].Resources for a catalog.
func (s *serving) folder(listing modules.Content) func(context.Context) (string, error) {
	if s.Folders == nil {
		return nil
	}
	return func(ctx context.Context) (string, error) {
		if listing.IsZero() {
			return "", nil
		}
		return s.Folders(ctx, listing, s.spool.want, s.spool)
	}
}
