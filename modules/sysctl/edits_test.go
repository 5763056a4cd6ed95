package sysctl

import (
	"testing"

	"github.com/ccm-push/ccm-push/modules/modtest"
)

func TestEdits(t *testing.T) {
	modtest.Edits(t, Type(), modtest.Editor{
		Put:    `{"name":"vm.swappiness","value":"1","runtime":false,"path":"$ROOT/f"}`,
		Remove: `{"name":"vm.swappiness","ensure":"absent","path":"$ROOT/f"}`,
		Entry:  []string{"vm.swappiness = 1"}, Drifted: []string{"vm/swappiness=2"}, Off: "#vm.swappiness = 1", Other: "vm.overcommit_memory = 1", Unix: true,
	})
}
