package ini_test

import (
	"testing"

	"github.com/ccm-push/ccm-push/modules/ini"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

func TestPlanted(t *testing.T) {
	modtest.Trapped(t, ini.Type(), modtest.Trap{
		Name: "ini", Properties: `{"name":"x","path":"$ROOT/home/conf/x","option":"a","value":"b"}`,
		Own: []modtest.Node{{Path: "x", Text: "old\n"}}, Roots: []modtest.Node{modtest.Secret("x")},
	})
}
