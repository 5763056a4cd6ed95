package load

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestArrows holds the order in which the packages of manifests know each other: each
// imports those above it only.
func TestArrows(t *testing.T) {
	const root = "github.com/ccm-push/ccm-push/playbooks/manifest"
	order := []string{"/keys", "/ansible", "/property", "/reference", "/source", "", "/resource", "/load"}
	allowed := map[string]bool{}
	for _, name := range order {
		allowed[root+name] = true
		out, err := exec.Command("go", "list", "-deps", root+name).Output()
		require.NoError(t, err)
		for _, pkg := range strings.Fields(string(out)) {
			if strings.HasPrefix(pkg, root) {
				require.True(t, allowed[pkg], "%s imports %s", root+name, pkg)
			}
		}
	}
}
