package confirm

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

const watchName = "confirm.watch"

// watchPoll is the interval at which a watchdog checks whether another one has ended.
const watchPoll = 50 * time.Millisecond

// Watch makes its caller the only watchdog, until end is called. If there is another one, it waits for that to end.
func (f *Files) Watch(ctx context.Context) (end func(), err error) {
	for {
		end, err := f.tryWatch()
		if end != nil || err != nil {
			return end, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(watchPoll):
		}
	}
}

// tryWatch returns nil if there is another watchdog.
func (f *Files) tryWatch() (end func(), err error) {
	err = f.in(true, func(dir *os.Root) error {
		file, err := dir.OpenFile(f.Prefix+watchName, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
		if err != nil {
			return err
		}
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			file.Close()
			if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
				return nil
			}
			return err
		}
		end = func() { file.Close() }
		return nil
	})
	return end, err
}

// Watched reports whether a watchdog runs.
func (f *Files) Watched() bool {
	end, err := f.tryWatch()
	if end != nil {
		end()
	}
	return err == nil && end == nil
}
