//go:build full

package main

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/session"
	"github.com/ccm-push/ccm-push/modules/health/judge"
	"github.com/ccm-push/ccm-push/modules/treestore"
)

// rules judges by rules of goss.
var rules = judge.Rules

// folders keeps the folders resources/ of plays beside this program.
func folders(dir string) session.Folders {
	store := &treestore.Store{Dir: dir} // what it holds is let go when the process ends
	return func(ctx context.Context, listing modules.Content, want func([]modules.Content) error, from modules.Contents) (string, error) {
		return store.Put(ctx, listing, treestore.Source{Contents: from, Want: want})
	}
}
