package ral

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

func TestConverges(t *testing.T) {
	needs.ProgramIn(t, modules.DefaultPath, "python3")
	host, err := filepath.Abs("testdata/host")
	require.NoError(t, err)
	t.Setenv("RALSH_DATA_DIR", host)
	node := func(text string) []modtest.Node { return []modtest.Node{{Path: "f", Text: text}} }
	text := func(properties string) string {
		return `{"name":"$ROOT/f","type":"text","properties":{` + properties + `}}`
	}
	modtest.Converges(t, Type(), []modtest.Fixture{
		{Name: "as it shall be", Tree: node("x"), Properties: text(`"ensure":"present","text":"x"`)},
		{Name: "absent, as it shall be", Properties: text(`"ensure":"absent"`)},
		{
			Name: "created", Properties: text(`"ensure":"present","text":"x"`), Action: "created it through text::text",
			Changes: []modules.Change{{Property: "ensure", Have: "absent", Want: "present"}, {Property: "text", Have: "unset", Want: "x"}},
		},
		{
			Name: "changed", Tree: node("x"), Properties: text(`"text":"y"`), Action: "set text through text::text",
			Changes: []modules.Change{{Property: "text", Have: "x", Want: "y"}},
		},
		{
			Name: "removed", Tree: node("x"), Properties: text(`"ensure":"absent","text":"y"`), Action: "removed it through text::text",
			Changes: []modules.Change{{Property: "ensure", Have: "present", Want: "absent"}},
		},
		{
			Name: "an error", Tree: []modtest.Node{{Path: "f", Dir: true}}, Properties: text(`"text":"y"`),
			Err: "provider text::text: Is a directory",
		},
		{
			Name: "no provider", Properties: `{"name":"$ROOT/f","provider":"none"}`,
			Err: `no provider "none"; known: text::text (` + host + `/providers/text.prov)`,
		},
	}...)
}

// TestPredicts holds what a check run is certain of against the run that follows.
func TestPredicts(t *testing.T) {
	needs.ProgramIn(t, modules.DefaultPath, "python3")
	host, err := filepath.Abs("testdata/host")
	require.NoError(t, err)
	t.Setenv("RALSH_DATA_DIR", host)
	step := func(name, properties string) modtest.Step {
		return modtest.Step{Type: "ral", Properties: `{"name":"$ROOT/` + name + `","type":"text","properties":{` + properties + `}}`}
	}
	for _, s := range []modtest.Scenario{
		{
			Name: "nothing to do", Tree: []modtest.Node{{Path: "f", Text: "x"}},
			Steps: []modtest.Step{step("f", `"text":"x"`), step("g", `"ensure":"absent"`)},
			Want:  []string{"stable", "stable"},
		},
		{
			// Other effects of a provider are unknown.
			Name: "after a change all is uncertain", Tree: []modtest.Node{{Path: "f", Text: "x"}},
			Steps: []modtest.Step{step("f", `"text":"y"`), step("f", `"text":"y"`), step("g", `"ensure":"absent"`)},
			Want:  []string{"changed likely", "stable unknown", "stable unknown"},
		},
	} {
		t.Run(s.Name, func(t *testing.T) { modtest.Predicts(t, modules.Registry{Type()}, s) })
	}
}
