package line_test

import (
	"testing"

	"github.com/ccm-push/ccm-push/modules/line"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

func TestPlanted(t *testing.T) {
	modtest.Trapped(t, line.Type(), modtest.Trap{
		Name: "line", Properties: `{"name":"x","path":"$ROOT/home/conf/x","line":"more"}`,
		Own: []modtest.Node{{Path: "x", Text: "old\n"}}, Roots: []modtest.Node{modtest.Secret("x")},
	})
}
