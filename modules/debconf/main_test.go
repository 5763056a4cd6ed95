//go:build unix

package debconf

import (
	"os"
	"syscall"
	"testing"
)

// TestMain does not leave it to who runs the tests which modes new files have.
func TestMain(m *testing.M) {
	syscall.Umask(0o022)
	os.Exit(m.Run())
}
