package scaffold_test

import (
	"testing"

	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/scaffold"
)

func TestPlanted(t *testing.T) {
	const tree = `"tree":{"mode":493,"nodes":[{"path":"d","mode":493},{"path":"d/x","mode":420,"content":"new\n"}]}}`
	modtest.Trapped(t, scaffold.Type(),
		modtest.Trap{Name: "new", Properties: `{"name":"$ROOT/home/conf/t",` + tree},
		modtest.Trap{Name: "there", Properties: `{"name":"$ROOT/home/conf",` + tree,
			Own:   []modtest.Node{{Path: "d", Dir: true}, {Path: "d/x", Text: "old\n"}},
			Roots: []modtest.Node{{Path: "d", Dir: true}, modtest.Secret("d/x")}},
	)
}
