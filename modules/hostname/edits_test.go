package hostname

import (
	"testing"

	"github.com/ccm-push/ccm-push/modules/modtest"
)

func TestEdits(t *testing.T) {
	modtest.Edits(t, modtest.Rooted(Type()), modtest.Editor{
		File: "etc/machine-info", Tree: tree("web1\n", "web1"), Put: `{"root":"$ROOT","name":"web1","pretty":"Web 1"}`,
		Entry: []string{`PRETTY_HOSTNAME="Web 1"`}, Drifted: []string{"PRETTY_HOSTNAME=web"}, Off: `#PRETTY_HOSTNAME="Web 1"`, Other: "ICON_NAME=computer", Unix: true,
	})
}
