//go:build full

package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/session"
	"github.com/ccm-push/ccm-push/modules/engine/watch"
	"github.com/ccm-push/ccm-push/modules/health/judge"
	"github.com/ccm-push/ccm-push/modules/listen"
	"github.com/ccm-push/ccm-push/modules/system"
	"github.com/ccm-push/ccm-push/modules/treestore"
)

// rules judges by rules of goss.
var rules = judge.Rules

// folders stores the folders resources/ of plays next to this program.
func folders(dir string) session.Folders {
	store := &treestore.Store{Dir: dir} // its locks are held until the process ends
	return func(ctx context.Context, listing modules.Content, want func([]modules.Content) error, from modules.Contents) (string, error) {
		return store.Put(ctx, listing, treestore.Source{Contents: from, Want: want})
	}
}

// watching keeps catalogs under watch, and leaves the host alone while others have its lock.
func watching(lock *system.RunLock) func(*session.Controller) session.Watching {
	return func(c *session.Controller) session.Watching {
		return watch.New(watch.Config{
			Listen:    listener,
			Look:      func() watch.Look { return look(lock) },
			PackageOf: listen.PackageOf,
			Tell:      c.Tell,
			Rest:      giveBack,
			Now:       time.Now,
		})
	}
}

// listener listens to changes on the host, and reports problems on standard error.
func listener() (watch.Listener, error) {
	return listen.New(func(line string) { fmt.Fprintln(os.Stderr, "ccm-module:", line) })
}

// look reads the lock of the host. A lock that cannot be read does not delay anything.
func look(lock *system.RunLock) watch.Look {
	holder, held, turn, err := lock.Look()
	if err != nil {
		return watch.Look{}
	}
	return watch.Look{Held: held, Holder: holder, Turn: turn}
}
