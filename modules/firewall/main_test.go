//go:build unix

package firewall

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestMain is nft, ufw and their like where a script of the tree runs it as these, and does not leave it to who runs the tests which modes new files have.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Getenv(called)) {
	case "nft":
		os.Exit(nft())
	case "ufw":
		os.Exit(ufwCmd())
	case "firewall-cmd":
		os.Exit(firewallCmd())
	case "iptables", "ip6tables":
		text, _ := os.ReadFile(below("live"))
		os.Stdout.Write(text)
		os.Exit(0)
	}
	syscall.Umask(0o022)
	os.Exit(m.Run())
}
