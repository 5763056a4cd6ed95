package locale

import (
	"testing"

	"github.com/ccm-push/ccm-push/modules/modtest"
)

func TestEdits(t *testing.T) {
	modtest.Edits(t, modtest.Rooted(Type()), modtest.Editor{
		File: "etc/locale.conf", Tree: other(modtest.Node{Path: "usr/lib/locale/de_AT.utf8"}), Put: with(`"name":"de_AT.UTF-8","default":true`),
		Entry: []string{"LANG=de_AT.UTF-8"}, Drifted: []string{"LANG=C"}, Off: "#LANG=de_AT.UTF-8", Other: "LC_TIME=C", Unix: true,
	})
}
