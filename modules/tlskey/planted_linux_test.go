package tlskey

import (
	"testing"

	"github.com/ccm-push/ccm-push/modules/modtest"
)

func TestPlanted(t *testing.T) {
	modtest.Trapped(t, Type(), modtest.Trap{
		Name: "key", Properties: `{"name":"$ROOT/home/conf/k","algorithm":"ed25519"}`,
		Roots: []modtest.Node{modtest.Secret("x")},
	})
}
