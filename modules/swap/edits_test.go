package swap

import (
	"testing"

	"github.com/ccm-push/ccm-push/modules/modtest"
)

func TestEdits(t *testing.T) {
	modtest.Edits(t, modtest.Rooted(Type()), modtest.Editor{
		File: "etc/fstab", Tree: tree("", modtest.Node{Path: "swap", Text: area(10), Mode: fileMode}),
		Put:   with(`"name":"/swap","size":"40K","ensure":"present"`), // ensure: absent removes the file, too
		Entry: []string{"/swap none swap sw 0 0"}, Drifted: []string{"/swap\tnone\tswap\tpri=1\t0\t0"}, Off: "#/swap none swap sw 0 0", Other: "/swap.old none swap sw 0 0", Unix: true,
	})
}
