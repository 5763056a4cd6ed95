//go:build unix

package ral

import (
	"os"
	"syscall"
	"testing"
)

// TestMain sets the umask, so that modes of new files do not depend on the user.
func TestMain(m *testing.M) {
	syscall.Umask(0o022)
	os.Exit(m.Run())
}
