//go:build unix

package firewall

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestMain acts as nft, ufw and similar programs if a script of the tree runs it under their names. It sets the umask,
// so that the modes of new files do not depend on the caller.
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
