package exec_test

import (
	"testing"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/exec"
	"github.com/ccm-push/ccm-push/modules/file"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// TestAffects has commands with known effects: predictions about the listed paths are unknown, others are likely.
func TestAffects(t *testing.T) {
	types := modules.Registry{exec.Type(), file.Type()}
	step := func(typ, properties string) modtest.Step { return modtest.Step{Type: typ, Properties: properties} }
	inside, outside := step("file", `{"name":"$ROOT/in/f","mode":"0640"}`), step("file", `{"name":"$ROOT/out/f","mode":"0640"}`)
	for _, s := range []modtest.Scenario{
		{
			Name: "unknown", Steps: []modtest.Step{step("exec", `{"name":"true"}`), inside, outside},
			Want: []string{"changed likely", "changed unknown", "changed unknown"},
		},
		{
			Name: "declared", Steps: []modtest.Step{step("exec", `{"name":"true","affects":["$ROOT/in"]}`), inside, outside},
			Want: []string{"changed likely", "changed unknown", "changed likely"},
		},
		{
			Name: "nothing", Steps: []modtest.Step{step("exec", `{"name":"true","affects":[]}`), inside, outside},
			Want: []string{"changed likely", "changed likely", "changed likely"},
		},
		{
			Name: "a guard that names its file", Steps: []modtest.Step{outside, step("exec", `{"name":"true","onlyif":"test -e $ROOT/in/f","affects":[]}`), step("exec", `{"name":"true","onlyif":"test -e $ROOT/out/f","affects":[]}`)},
			Want: []string{"changed", "changed likely", "changed unknown"},
		},
		{
			Name: "a guard whose directory changes", Steps: []modtest.Step{step("file", `{"name":"$ROOT/in","ensure":"directory","mode":"0700"}`), step("exec", `{"name":"true","onlyif":"test -e $ROOT/in/f","affects":[]}`)},
			Want: []string{"changed", "changed unknown"},
		},
		{
			Name: "a guard whose files are all missing in a new directory",
			Steps: []modtest.Step{
				step("file", `{"name":"$ROOT/new","ensure":"directory"}`),
				step("exec", `{"name":"true","unless":"grep -q x $ROOT/new/f","affects":[]}`),
				step("exec", `{"name":"true","onlyif":"test -e $ROOT/new/f","affects":[]}`),
				step("exec", `{"name":"true","unless":"test ! -e $ROOT/new/f","affects":[]}`),
				step("exec", `{"name":"true","unless":"grep -q x $ROOT/new/f $ROOT/in/f","affects":[]}`),
			},
			Want: []string{"changed", "changed likely", "stable likely", "stable unknown", "stable unknown"},
		},
	} {
		s.Tree = []modtest.Node{{Path: "in", Dir: true}, {Path: "in/f", Text: "x"}, {Path: "out", Dir: true}, {Path: "out/f", Text: "x"}}
		t.Run(s.Name, func(t *testing.T) { modtest.Predicts(t, types, s) })
	}
}
