//go:build !linux

package system

import (
	"time"

	"github.com/ccm-push/ccm-push/modules/engine/confirm"
)

// SinceStart is the time of day: nothing else counts while the host is suspended.
func SinceStart() confirm.Clock {
	return confirm.Clock{Start: boot(), Since: func() time.Duration { return time.Duration(time.Now().UnixNano()) }}
}
