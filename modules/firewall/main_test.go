//go:build unix

package firewall

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestMain is nft where it is called so, and does not leave it to who runs the tests which modes new files have.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "nft" {
		os.Exit(nft())
	}
	syscall.Umask(0o022)
	os.Exit(m.Run())
}
