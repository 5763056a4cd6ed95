package transport

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// An sshd that has too many logins under way (sshd_config, MaxStartups) closes
// further connections before it says its version: old ones without a word, newer
// ones with the name of the setting. A bastion does that to a fleet's worth of
// logins, and there is room again as soon as some of them are through.
const (
	maxDrops  = 6                      // dials of one host that may be dropped so
	firstWait = 100 * time.Millisecond // doubled with every drop, give or take a half
)

// A crowdedError is a host that has closed the connection instead of saying its
// version.
type crowdedError struct{ error }

// patiently dials until the host has room for one more login.
func (d *Dialer) patiently(ctx context.Context, dial func() (*Client, error)) (*Client, error) {
	wait := firstWait
	for drops := 1; ; drops++ {
		c, err := dial()
		crowded, ok := errors.AsType[crowdedError](err)
		if !ok {
			return c, err
		}
		if drops == maxDrops || !sleep(ctx, wait/2+rand.N(wait)) {
			return nil, tries(crowded.error, drops)
		}
		wait *= 2
	}
}

// sleep returns false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func tries(err error, n int) error {
	if e, ok := errors.AsType[*HostError](err); ok && n > 1 {
		e.Err = fmt.Errorf("%w (%d times in a row)", e.Err, n)
	}
	return err
}

// crowded marks an error of the handshake as one that is worth another dial.
func (l *login) crowded(err error, final error) error {
	if *l.stage.Load() != opHandshake || !isHangUp(err) {
		return final
	}
	switch said := l.banner.beforeVersion(); {
	case l.banner.silent(), strings.Contains(said, "MaxStartups"):
		return crowdedError{final}
	}
	return final
}
