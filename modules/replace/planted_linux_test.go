package replace_test

import (
	"testing"

	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/replace"
)

func TestPlanted(t *testing.T) {
	modtest.Trapped(t, replace.Type(), modtest.Trap{
		Name: "replace", Properties: `{"name":"x","path":"$ROOT/home/conf/x","regexp":"[a-z]+","replace":"NEW"}`,
		Own: []modtest.Node{{Path: "x", Text: "old\n"}}, Roots: []modtest.Node{modtest.Secret("x")},
	})
}
