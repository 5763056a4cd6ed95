package kmod

import (
	"testing"

	"github.com/ccm-push/ccm-push/modules/modtest"
)

func TestEdits(t *testing.T) {
	loaded := tree(modtest.Node{Path: "sys/module/br_x", Dir: true}, modtest.Node{Path: "sys/module/br_x/initstate", Text: "live\n"})
	bare := `{"root":"$ROOT","name":"br-x","persist":false}`
	modtest.Edits(t, modtest.Rooted(Type()), modtest.Editor{
		Name: "options", File: "etc/modprobe.d/ccm-push.conf", Tree: loaded,
		Put: `{"root":"$ROOT","name":"br-x","persist":false,"parameters":["a=1"]}`, Remove: bare,
		Entry: []string{"options br-x a=1"}, Drifted: []string{"options br_x  a=2"}, Off: "#options br-x a=1", Other: "options br a=1", Unix: true, LineFeed: true,
	}, modtest.Editor{
		Name: "modules to load", File: "etc/modules-load.d/ccm-push.conf", Tree: loaded, Put: `{"root":"$ROOT","name":"br-x"}`, Remove: bare,
		Entry: []string{"br-x"}, Drifted: []string{"br_x"}, Off: "#br-x", Other: "br", Unix: true,
	})
}
