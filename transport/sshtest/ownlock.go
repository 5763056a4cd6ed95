package sshtest

import (
	"os"
	"testing"

	"github.com/ccm-push/ccm-push/e2e/needs"
)

// NeedsOwnLock skips a test for root: the host program of root has one lock for the whole machine, and other tests hold it.
// In CI, where such tests run as an ordinary user, root fails.
func NeedsOwnLock(tb testing.TB) {
	tb.Helper()
	if os.Getuid() != 0 {
		return
	}
	needs.Skip(tb, "the lock of root is for the whole machine; run this test as an ordinary user")
}
