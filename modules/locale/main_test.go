//go:build unix

package locale

import (
	"os"
	"syscall"
	"testing"
)

// TestMain sets the umask, so that the modes of new files do not depend on the caller.
func TestMain(m *testing.M) {
	syscall.Umask(0o022)
	os.Exit(m.Run())
}
