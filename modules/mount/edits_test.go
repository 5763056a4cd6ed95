package mount

import (
	"testing"

	"github.com/ccm-push/ccm-push/modules/modtest"
)

func TestEdits(t *testing.T) {
	modtest.Edits(t, Type(), modtest.Editor{
		Put:    `{"name":"/srv/a","ensure":"present","device":"tmpfs","fstype":"tmpfs","fstab":"$ROOT/f"}`,
		Remove: `{"name":"/srv/a","ensure":"absent","fstab":"$ROOT/f"}`,
		Entry:  []string{"tmpfs /srv/a tmpfs defaults 0 0"}, Drifted: []string{"tmpfs\t/srv/a\ttmpfs\tnoexec\t0 0"},
		Off: "#tmpfs /srv/a tmpfs defaults 0 0", Other: "tmpfs /srv/b tmpfs defaults 0 0", Unix: true,
	})
}
