package system

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// Times that a host program has to end its command after each of two signals.
const (
	evictAsked = 2 * time.Second
	evictPoll  = 20 * time.Millisecond
)

// Evict takes the lock from a run: its host program is ended, if it runs, and whatever it has
// started. Another holder is waited for.
func (r *RunLock) Evict(ctx context.Context, run string, l wire.Lock) (unlock func(), err error) {
	var told time.Time
	for sig := syscall.SIGTERM; ; {
		unlock, err := r.Take(ctx, wire.Lock{}) // which does not wait
		if err == nil {
			unlock()
			unlock, err = r.Take(ctx, l)
		}
		locked, ok := errors.AsType[*LockedError](err)
		if !ok {
			return unlock, err
		}
		switch {
		case locked.Run != run:
		case len(locked.Running) > 0:
			for _, o := range locked.Running {
				_ = syscall.Kill(-o.group, syscall.SIGKILL) // if it has ended, so much the better
			}
		case time.Since(told) > evictAsked && isLikeThis(locked.pid):
			_ = syscall.Kill(locked.pid, sig)
			told, sig = time.Now(), syscall.SIGKILL
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(evictPoll):
		}
	}
}

// isLikeThis reports whether a process is a host program, too.
func isLikeThis(pid int) bool {
	own, err := os.Executable()
	theirs, theirsErr := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return pid > 0 && err == nil && theirsErr == nil && filepath.Base(strings.TrimSuffix(theirs, " (deleted)")) == filepath.Base(own)
}
