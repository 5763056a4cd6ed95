package dsc

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/dsc/manifest"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/exec"
	"github.com/ccm-push/ccm-push/modules/process"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// catalog runs one on the host of the bench, the instances as they are prepared.
func (b *bench) catalog(check bool, entries ...wire.Entry) []*wire.Result {
	b.Helper()
	registry := modules.Registry{Type(), exec.Type()}
	e := &engine.Engine{
		Decode: func(e *wire.Entry) (modules.Resource, error) { return registry.Decode(e.Type, e.Properties) },
		Host:   b.host(), Now: time.Now,
	}
	var all []*wire.Result
	_, err := e.Run(b.Context(), &wire.Catalog{Check: check, Entries: entries}, func(one *wire.Result) error {
		all = append(all, one)
		return nil
	})
	require.NoError(b, err)
	return all
}

// entry returns the catalog entry of an instance.
func (b *bench) entry(typ, properties string) wire.Entry {
	b.Helper()
	text, err := json.Marshal(b.instance(typ, properties))
	require.NoError(b, err)
	return wire.Entry{Type: "dsc", Name: "x", Properties: text}
}

// TestSensitiveInput checks that secrets are only passed on standard input.
func TestSensitiveInput(t *testing.T) {
	needs.ProgramIn(t, modules.DefaultPath, "python3")
	const byArgs = ", where other users can see secrets; the operation must read standard input"
	get, jsonArg := thing("get", "", ""), `{"jsonInputArg": "--input", "mandatory": true}`
	for _, test := range []struct {
		name, members, want string
	}{
		{"standard input", get + "," + thing("set", "", ""), ""},
		{"get takes an argument", `"get": {"executable": "python3", "args": ["thing.py", "get", ` + jsonArg + `]}`,
			`the resource is sensitive, and the operation "get" of Test/Thing takes its input from its arguments` + byArgs},
		{"set takes an argument", get + `, "set": {"executable": "python3", "args": ["thing.py", "set", ` + jsonArg + `]}`,
			`the resource is sensitive, and the operation "set" of Test/Thing takes its input from its arguments` + byArgs},
		{"set takes the environment", get + `, "set": {"executable": "python3", "args": ["thing.py", "set", "--env"], "input": "env"}`,
			`the resource is sensitive, and the operation "set" of Test/Thing takes its input from the environment` + byArgs},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			b.resource(test.members + "," + anySchema)
			entry := b.entry("Test/Thing", `{"file": "$ROOT/kept", "name": "s3cret"}`)
			entry.Sensitive = true
			for _, check := range []bool{true, false} {
				result := b.catalog(check, entry)[0]
				require.Equal(t, test.want, result.Error)
				require.Equal(t, test.want == "", result.Status == wire.Changed)
			}
			if test.want != "" {
				require.NoFileExists(t, filepath.Join(b.root, "kept"))
			}
			d := &DSC{Name: "x", TypeName: "Test/Thing", Properties: process.Properties{"name": "s3cret"}}
			d.Inform(modules.Circumstances{Sensitive: true})
			err := d.Prepare(t.Context(), b.source())
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.want)
		})
	}
}

// TestSensitiveFirstDesign checks input as --name value.
func TestSensitiveFirstDesign(t *testing.T) {
	o := &manifest.Operation{Executable: "x", Input: manifest.InputArgs}
	_, err := exposed(o, `the operation "set" of X`, map[string]any{"a": "b"}, true)
	require.EqualError(t, err, `the resource is sensitive, and the operation "set" of X takes its input from its arguments, where other users can see secrets; the operation must read standard input`)
	_, err = exposed(o, `the operation "set" of X`, nil, true)
	require.NoError(t, err)
}

// TestReceivedSecret checks that a resource that receives values from a sensitive one is sensitive.
func TestReceivedSecret(t *testing.T) {
	needs.ProgramIn(t, modules.DefaultPath, "python3")
	b := newBench(t)
	b.resource(thing("get", "", "") + `, "set": {"executable": "python3", "args": ["thing.py", "set", {"jsonInputArg": "--input"}]},` + anySchema)
	receiver := b.entry("Test/Thing", `{"file": "$ROOT/kept"}`)
	receiver.Receive = []wire.Receive{{Property: "properties.name", From: 0, Key: "stdout"}}
	sender := wire.Entry{Type: "exec", Name: "echo s3cret", Properties: json.RawMessage(`{"name": "echo s3cret"}`)}
	require.Equal(t, wire.Changed, b.catalog(false, sender, receiver)[1].Status)
	require.Contains(t, b.kept("kept"), "s3cret")

	sender.Sensitive = true
	b.keep("kept", "{}")
	result := b.catalog(false, sender, receiver)[1]
	require.Equal(t, `the resource is sensitive, and the operation "set" of Test/Thing takes its input from its arguments, where other users can see secrets; the operation must read standard input`, result.Error)
	require.Equal(t, "{}", b.kept("kept"))
}

// TestSensitiveCommand checks the built-in type whose properties are a command.
func TestSensitiveCommand(t *testing.T) {
	b := newBench(t)
	entry := b.entry("Microsoft.DSC.Transitional/RunCommandOnSet", `{"executable": "touch", "arguments": ["$ROOT/kept"]}`)
	entry.Sensitive = true
	require.Equal(t, "the resource is sensitive, and Microsoft.DSC.Transitional/RunCommandOnSet passes its properties as arguments, which other users can see; use a type that passes them on standard input",
		b.catalog(false, entry)[0].Error)
	require.NoFileExists(t, filepath.Join(b.root, "kept"))
}

// TestAllThatWasPrinted checks that the full output is reported next to an error, for debugging, except for a sensitive
// resource.
func TestAllThatWasPrinted(t *testing.T) {
	needs.ProgramIn(t, modules.DefaultPath, "python3")
	for _, test := range []struct {
		name, get, err, safe string
		said                 []modules.Note
	}{
		{"no state", thing("get", `"--prints", "Warning: s3cret\n{}", "--says", "trying"`, ""),
			`the operation "get" of Test/Thing has printed text that is not JSON: line 1 is "Warning: s3cret"`, `the operation "get" of Test/Thing has printed text that is not JSON`,
			[]modules.Note{{Level: "info", Text: "trying"}, {Level: "debug", Text: "the operation \"get\" of Test/Thing printed:\nWarning: s3cret\n{}"}}},
		{"an exit code", `"get": {"executable": "sh", "args": ["-c", "echo one; echo s3cret; exit 3"], "input": "stdin"}`,
			`the operation "get" of Test/Thing has failed with exit code 3: it printed "s3cret"`, `the operation "get" of Test/Thing has failed with exit code 3`,
			[]modules.Note{{Level: "debug", Text: "the operation \"get\" of Test/Thing printed:\none\ns3cret"}}},
		{"nothing to tell", thing("get", `"--ends", "3"`, ""), `the operation "get" of Test/Thing has failed with exit code 3`, `the operation "get" of Test/Thing has failed with exit code 3`, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			b.resource(test.get + "," + anySchema)
			entry := b.entry("Test/Thing", `{"file": "$ROOT/kept"}`)
			result := b.catalog(true, entry)[0]
			require.Equal(t, test.err, result.Error)
			require.Equal(t, test.said, result.Messages)
			entry.Sensitive = true
			result = b.catalog(true, entry)[0]
			require.Equal(t, test.safe, result.Error)
			require.Empty(t, result.Messages)
		})
	}
}

// TestExportOfNoInstances checks the message for an export whose output has no instances.
func TestExportOfNoInstances(t *testing.T) {
	for text, want := range map[string]string{
		"{}\n7\n":     "has printed a number where an instance was expected: line 2 is \"7\"",
		"{}\nDone.\n": `has printed text that is not JSON: line 2 is "Done."`,
	} {
		b := newBench(t)
		b.write("lines", text)
		b.resource(`"get": {"executable": "true"}, "export": {"executable": "cat", "args": ["lines"]},` + anySchema)
		_, err := b.instance("Test/Thing", `{}`).Query(t.Context(), b.checking(), "export")
		require.EqualError(t, err, `the operation "export" of Test/Thing `+want)
		require.Equal(t, []string{"debug: the operation \"export\" of Test/Thing printed:\n" + text[:len(text)-1]}, b.said)
	}
}
