//go:build unix

package mount

import (
	"os"
	"syscall"
	"testing"
)

// TestMain sets the umask, so that new files have the same modes on every machine.
func TestMain(m *testing.M) {
	syscall.Umask(0o022)
	os.Exit(m.Run())
}
