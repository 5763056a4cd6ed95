package line_test

import (
	"testing"

	"github.com/ccm-push/ccm-push/modules/line"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

func TestEdits(t *testing.T) {
	block := `"name":"$ROOT/f","marker":"# {mark} n"`
	modtest.Edits(t, line.Type(),
		modtest.Editor{
			Name: "a line", Put: `{"name":"$ROOT/f","line":"x=1","regexp":"^x="}`, Remove: `{"name":"$ROOT/f","ensure":"absent","regexp":"^x="}`,
			Entry: []string{"x=1"}, Drifted: []string{"x=2"}, Off: "#x=1", Other: "y=1", Twice: modtest.Each,
		},
		modtest.Editor{
			Name: "a block", Put: `{` + block + `,"block":"x=1\nz=1"}`, Remove: `{` + block + `,"ensure":"absent"}`,
			Entry: []string{"# BEGIN n", "x=1", "z=1", "# END n"}, Drifted: []string{"# BEGIN n", "x=2", "# END n"}, Off: "## BEGIN n", Other: "y=1", Twice: modtest.Refused,
		})
}
