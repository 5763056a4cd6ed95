package dsc

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

// TestCompiled takes a compiled resource of the alpha dialect through its life. The
// application that it manages lies beside it, and it finds it on its PATH.
func TestCompiled(t *testing.T) {
	b := newBench(t)
	for _, program := range []string{"toy", "gotoy"} {
		build := exec.Command("go", "build", "-o", filepath.Join(b.resources, program), "./testdata/toy/"+program)
		out, err := build.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	b.write("gotoy.dsc.resource.json", mustRead(t, "testdata/toy/gotoy.dsc.resource.json"))
	d := b.instance("Toy.Example/gotoy", `{"folder": "$ROOT", "updateFrequency": 45}`)
	plan, err := b.check(d)
	require.NoError(t, err)
	require.Equal(t, []modules.Change{{Property: "updateFrequency", Have: "", Want: "45"}}, plan.Changes)
	require.NoError(t, b.run(d))
	require.Equal(t, `{"updates":{"checkFrequency":45}}`, b.kept("toy.json"))
	plan, err = b.check(d)
	require.NoError(t, err)
	require.False(t, plan.Pending())
	require.JSONEq(t, filepathed(`{"folder": "$ROOT", "ensure": "present", "updateFrequency": 45}`, b.root), string(b.state.Before))
	require.NoError(t, b.run(b.instance("Toy.Example/gotoy", `{"folder": "$ROOT", "ensure": "absent"}`)))
	require.Equal(t, "(absent)", b.kept("toy.json"))
	_, err = b.prepared(`{"name": "x", "type": "Toy.Example/gotoy", "properties": {"folder": "/", "updateFrequency": 91}}`)
	require.EqualError(t, err, "properties.updateFrequency: properties.updateFrequency is not allowed: maximum: got 91, want 90")
}
