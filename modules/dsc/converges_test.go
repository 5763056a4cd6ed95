package dsc

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// TestConverges runs the suite that every type passes, for a resource found on the host.
func TestConverges(t *testing.T) {
	needs.ProgramIn(t, modules.DefaultPath, "python3")
	b := newBench(t)
	b.resource(thing("get", "", "") + "," + thing("set", "", `, "return": "state"`) + "," + thing("delete", "", "") + "," + anySchema)
	t.Setenv("DSC_RESOURCE_PATH", b.resources)
	there := []modtest.Node{{Path: "kept", Text: `{"size": 1}`}}
	modtest.Converges(t, Type(),
		modtest.Fixture{
			Name: "as it shall be", Tree: there,
			Properties: `{"name": "x", "type": "Test/Thing", "properties": {"file": "$ROOT/kept", "size": 1}}`,
		},
		modtest.Fixture{
			Name: "another size", Tree: there, Action: "set Test/Thing",
			Properties: `{"name": "x", "type": "Test/Thing", "properties": {"file": "$ROOT/kept", "size": 2}}`,
			Changes:    []modules.Change{{Property: "size", Have: "1", Want: "2"}},
		},
		modtest.Fixture{
			Name: "new", Action: "set Test/Thing",
			Properties: `{"name": "x", "type": "Test/Thing", "properties": {"file": "$ROOT/kept"}}`,
			Changes:    []modules.Change{{Property: "_exist", Have: "false", Want: "true"}},
		},
		modtest.Fixture{
			Name: "gone", Tree: there, Action: "deleted Test/Thing",
			Properties: `{"name": "x", "type": "Test/Thing", "properties": {"file": "$ROOT/kept", "_exist": false}}`,
			Changes:    []modules.Change{{Property: "_exist", Have: "", Want: "false"}},
		},
		modtest.Fixture{
			Name:       "not what it takes",
			Properties: `{"name": "x", "type": "Test/Nothing"}`,
			Err:        "unknown DSC resource Test/Nothing (did you mean Test/Thing?); searched resources/ next to the manifest and " + b.resources,
		},
	)
}

// TestPredicts compares check runs with the runs that follow them.
func TestPredicts(t *testing.T) {
	needs.ProgramIn(t, modules.DefaultPath, "python3")
	b := newBench(t)
	b.resource(thing("get", "", "") + "," + thing("set", "", "") + "," + anySchema)
	t.Setenv("DSC_RESOURCE_PATH", b.resources)
	step := func(file, size string) modtest.Step {
		return modtest.Step{Type: "dsc", Properties: `{"name": "x", "type": "Test/Thing", "properties": {"file": "$ROOT/` + file + `", "size": ` + size + `}}`}
	}
	modtest.Predicts(t, modules.Registry{Type()}, modtest.Scenario{
		Name:  "two changes around one that is right",
		Tree:  []modtest.Node{{Path: "b", Text: `{"size": 1}`}},
		Steps: []modtest.Step{step("b", "1"), step("a", "1"), step("b", "1"), step("a", "1")},
		Want:  []string{"stable", "changed likely", "stable unknown", "changed unknown"},
	})
}

func TestValidate(t *testing.T) {
	modtest.Decodes(t, Type(), map[string]string{
		`{"name": "x"}`:                                                          "type: type is required",
		`{"name": "x", "type": "nonsense"}`:                                      `type: type "nonsense" is not of the form Owner/Thing (copy the type name from the resource manifest; the type names of *.dscresource.json files have the form Owner.Thing)`,
		`{"name": "x", "type": "A/B/C"}`:                                         `type: type "A/B/C" is not of the form Owner/Thing (copy the type name from the resource manifest; the type names of *.dscresource.json files have the form Owner.Thing)`,
		`{"name": "x", "type": "A/B", "adapter": "C"}`:                           `adapter: adapter "C" is not of the form Owner/Thing`,
		`{"name": "x", "type": "A/B", "version": "x"}`:                           `version: version: "x" is no range of versions, such as ^1.2 or >=1.0, <2.0`,
		`{"name": "x", "type": "A/B", "timeout": "0s"}`:                          `timeout: timeout "0s" is not a duration (write it as 30s, 5m or 1h)`,
		`{"name": "x", "type": "A/B", "properties": {"a": {"secureString": 1}}}`: "properties.a: properties.a: secureString must be a text",
		`{"name": "x", "type": "A/B", "properties": []}`:                         `"properties" must be an object`,
		`{"name": "x", "type": "A.B"}`:                                           "",
		`{"name": "x", "type": "A.B.C/D", "version": "^1", "properties": null}`:  "",
	})
}

// TestFamily checks that a type can have the name of its resources, and that types of the registry have names in DSC's
// form.
func TestFamily(t *testing.T) {
	own := modules.Type{Name: "file", New: func() modules.Resource { return nil }}
	r := modules.Registry{own, Type()}
	found, ok := r.Lookup("Test.Area/Thing")
	require.True(t, ok)
	require.Equal(t, "Test.Area/Thing", found.Name)
	require.Equal(t, "properties", found.Below)
	require.Equal(t, "Test.Area/Thing", found.New().(*DSC).TypeName)
	found, ok = r.Lookup("Ccm/File")
	require.True(t, ok)
	require.Equal(t, "file", found.Name)
	for _, name := range []string{"Ccm/Nothing", "Thing", "a/b/c", "/x", "x/", "../x"} {
		_, ok := r.Lookup(name)
		require.False(t, ok, name)
	}
}

// TestCompiled runs a compiled resource of the alpha dialect through its life cycle. The application that it manages is
// in the same folder, which is on the PATH of the resource.
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
