package system

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/ccm-push/ccm-push/modules/engine/confirm"
)

// SinceStart is the time since the host was started, also while it was suspended.
func SinceStart() confirm.Clock {
	return confirm.Clock{Start: boot(), Since: func() time.Duration {
		var t unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
			return 0
		}
		return time.Duration(t.Nano())
	}}
}
