package knownhost

import (
	"testing"

	"github.com/ccm-push/ccm-push/modules/modtest"
)

func TestPlanted(t *testing.T) {
	modtest.Trapped(t, Type(), modtest.Trap{
		Name: "known_hosts", Properties: `{"name":"web1","path":"$ROOT/home/conf/known_hosts","keys":["` + one + `"]}`,
		Own: []modtest.Node{{Path: "known_hosts", Text: "web2 " + two + "\n"}}, Roots: []modtest.Node{modtest.Secret("known_hosts")},
	})
}
