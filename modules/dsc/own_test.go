package dsc

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
)

func TestEcho(t *testing.T) {
	b := newBench(t)
	d := b.instance("microsoft.dsc.debug/echo", `{"output": {"a": [1, {"secureString": "s3cret"}]}}`)
	plan, err := b.check(d)
	require.NoError(t, err)
	require.False(t, plan.Pending())
	require.JSONEq(t, `{"output": {"a": [1, "<secureValue>"]}}`, string(b.state.Before))
	_, err = b.check(b.instance("Test/Echo", `{"output": "by its old name"}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"output": "by its old name"}`, string(b.state.Before))
	_, err = b.check(b.instance("Microsoft.DSC.Debug/Echo", `{}`))
	require.EqualError(t, err, `the properties are not what Microsoft.DSC.Debug/Echo takes: properties lacks "output", which is required`)
}

func TestOSInfo(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("NOT TESTED: it is about Linux")
	}
	b := newBench(t)
	got, err := b.got(`{"name": "x", "type": "Microsoft/OSInfo"}`)
	require.NoError(t, err)
	var state map[string]string
	require.NoError(t, json.Unmarshal([]byte(got), &state))
	require.Equal(t, "Linux", state["family"])
	require.NotEmpty(t, state["architecture"])
	require.NotEmpty(t, state["version"])
	plan, err := b.check(b.instance("Microsoft/OSInfo", `{"family": "Linux", "version": ">= 0.1", "bitness": `+state["bitness"]+`}`))
	require.NoError(t, err)
	require.False(t, plan.Pending())
	_, err = b.check(b.instance("Microsoft/OSInfo", `{"family": "Windows"}`))
	require.EqualError(t, err, "Microsoft/OSInfo is not in the desired state: family is Linux, not Windows; and it has no set")
	d := b.instance("Microsoft/OSInfo", `{"family": "macOS"}`)
	d.Assert = true
	_, err = b.check(d)
	require.EqualError(t, err, "Microsoft/OSInfo is not in the desired state: family is Linux, not macOS")
}

func TestVersionFits(t *testing.T) {
	for wanted, want := range map[string]bool{
		">= 12": true, ">=12.4": true, "> 12.4": false, "<= 12.4": true, "< 12": false, "< 13": true, "= 12.4": true, "= 12.4.0": true, "= 12": false,
		"12.4": false, "~ 12": false, ">= x": false, ">": false,
	} {
		require.Equal(t, want, versionFits(wanted, "12.4"), wanted)
	}
	require.False(t, versionFits(">= 1", "rolling"))
	require.False(t, versionFits(1, "1"))
}

func TestRunCommandOnSet(t *testing.T) {
	b := newBench(t)
	d := b.instance("Microsoft.DSC.Transitional/RunCommandOnSet", `{"executable": "sh", "arguments": ["-c", "echo \"$1\" >$ROOT/ran; exit 3", "sh", "$(x)"], "exitCode": 3}`)
	plan, err := b.check(d)
	require.NoError(t, err)
	require.Equal(t, modules.Plan{LikelySucceeds: true, Action: "set Microsoft.DSC.Transitional/RunCommandOnSet", Command: modules.RunsOnce}, plan)
	require.Equal(t, "(absent)", b.kept("ran"))
	require.NoError(t, b.run(d))
	require.Equal(t, "$(x)\n", b.kept("ran"))
	require.Contains(t, string(b.state.After), `"exitCode":3`)
	d = b.instance("Microsoft.DSC.Transitional/RunCommandOnSet", `{"executable": "sh", "arguments": ["-c", "echo no >&2; exit 3"]}`)
	require.EqualError(t, b.run(d), "the command has ended with exit code 3, not 0: no")
}

// TestFirstInPerl takes a resource of the first design through its life.
func TestFirstInPerl(t *testing.T) {
	needs.ProgramIn(t, modules.DefaultPath, "perl")
	b := newBench(t)
	b.write("first.dscresource.json", `{"manifestVersion": "1.0", "dscresource": {"name": "Example.Colour", "version": "0.1.0",
		"get": {"executable": "first.pl", "args": ["get"], "inputAsArgs": true},
		"set": {"executable": "first.pl", "args": ["set"], "inputViaStdin": true, "returnState": true},
		"test": {"executable": "perl", "args": ["first.pl", "test"], "inputAsArgs": true},
		"requires": [{"resource": "perl", "resourceType": "executable"}], "exitCodes": {"1": "differs"}}}`)
	d := b.instance("Example.Colour", `{"file": "$ROOT/kept", "colour": "Red", "_purge": false}`)
	plan, err := b.check(d)
	require.NoError(t, err)
	require.Equal(t, []modules.Change{{Property: "colour", Have: "null", Want: "Red"}}, plan.Changes)
	require.NoError(t, b.run(d))
	require.Equal(t, `{"colour":"Red"}`, b.kept("kept"))
	require.Equal(t, []string{"warning: colours fade", "verbose: read " + b.root + "/kept"}, b.said)
	plan, err = b.check(b.instance("Example/Colour", `{"file": "$ROOT/kept", "colour": "RED"}`))
	require.NoError(t, err)
	require.False(t, plan.Pending(), "case does not count")
	_, err = b.check(b.instance("Example.Colour", `{"file": "$ROOT/kept", "colour": "broken"}`))
	require.EqualError(t, err, `the operation "test" of Example.Colour has reported an error: there is no such colour (code 7)`)
	require.NoError(t, b.run(b.instance("Example.Colour", `{"file": "$ROOT/kept", "_ensure": "absent"}`)))
	require.Equal(t, "(absent)", b.kept("kept"))
	require.NoError(t, b.run(b.instance("Example.Colour", `{"file": "$ROOT/kept", "_ensure": "absent"}`)))
}

// TestLineInSh takes a resource in sh through its life: its properties are variables,
// and it prints texts for booleans.
func TestLineInSh(t *testing.T) {
	b := newBench(t)
	b.write("line.dsc.resource.yaml", `
$schema: https://aka.ms/dsc/schemas/v3/bundled/resource/manifest.json
type: Example.Sh/Line
version: 1.0.0
get: {executable: line.sh, args: [get], input: env}
set: {executable: line.sh, args: [set], input: env, handlesExist: true, implementsPretest: true}
export: {executable: line.sh, args: [export, $ROOT]}
exitCodes: {"0": Success, "2": Invalid parameter}
schema:
  embedded:
    type: object
    additionalProperties: false
    properties: {file: {type: string}, text: {type: string}, _exist: {type: boolean}}
`)
	const quirk = "the operation \"get\" of Example.Sh/Line: _exist is a text where the schema has boolean; it is taken for one"
	d := b.instance("Example.Sh/Line", `{"file": "$ROOT/kept", "text": "a b"}`)
	require.NoError(t, b.run(d))
	require.Equal(t, "a b", b.kept("kept"))
	require.Equal(t, []string{"warning: " + quirk, "info: wrote " + b.root + "/kept"}, b.said)
	b.said = nil
	require.NoError(t, b.run(d))
	require.Equal(t, []string{"info: " + quirk}, b.said, "who changes nothing is not warned")
	require.JSONEq(t, `{"file": "`+b.root+`/kept", "text": "a b", "_exist": true}`, string(b.state.Before))
	_, err := b.check(b.instance("Example.Sh/Line", `{"text": "x"}`))
	require.EqualError(t, err, `the operation "get" of Example.Sh/Line has failed with exit code 2: Invalid parameter`)
	require.Contains(t, b.said, "error: file is missing")

	b.keep("other", "[c")
	for filter, want := range map[string]string{
		`{}`: `{"$schema": "` + configurationSchema + `", "resources": [
			{"type": "Example.Sh/Line", "name": "Line-0", "properties": {"file": "$ROOT/kept", "text": "a b", "_exist": true}},
			{"type": "Example.Sh/Line", "name": "Line-1", "properties": {"file": "$ROOT/other", "text": "[[c", "_exist": true}}]}`,
		`{"file": "*/OTH*"}`: `{"$schema": "` + configurationSchema + `", "resources": [
			{"type": "Example.Sh/Line", "name": "Line-0", "properties": {"file": "$ROOT/other", "text": "[[c", "_exist": true}}]}`,
	} {
		doc, err := b.instance("Example.Sh/Line", filter).Query(t.Context(), b.checking(), "export")
		require.NoError(t, err)
		require.JSONEq(t, strings.ReplaceAll(want, "$ROOT", b.root), string(doc))
	}
	doc, err := b.instance("Example.Sh/Line", `{"file": "$ROOT/kept", "text": "x"}`).Query(t.Context(), b.checking(), "test")
	require.NoError(t, err)
	require.JSONEq(t, filepathed(`{"desiredState": {"file": "$ROOT/kept", "text": "x"}, "actualState": {"file": "$ROOT/kept", "text": "a b", "_exist": true},
		"inDesiredState": false, "differingProperties": ["text"]}`, b.root), string(doc))

	require.NoError(t, b.run(b.instance("Example.Sh/Line", `{"file": "$ROOT/kept", "_exist": false}`)))
	require.Equal(t, "(absent)", b.kept("kept"))
}

// TestRestart checks that a restart required by set is in the report, and that _metadata about a predicted change is
// among the messages.
func TestRestart(t *testing.T) {
	needs.ProgramIn(t, modules.DefaultPath, "python3")
	b := newBench(t)
	b.resource(thing("get", "", "") + "," + thing("set", `"--also", "{\"_restartRequired\": [{\"service\": \"sshd\"}, {\"process\": {\"name\": \"x\", \"id\": 7}}], \"_metadata\": {\"whatIf\": [\"will do it\"]}}", {"whatIfArg": "--what-if"}`, `, "return": "state"`) + "," + anySchema)
	d := b.instance("Test/Thing", `{"file": "$ROOT/kept", "size": 1}`)
	plan, err := b.check(d)
	require.NoError(t, err)
	require.Equal(t, []modules.Change{{Property: "_exist", Have: "false"}, {Property: "size", Want: "1"}}, plan.Changes)
	require.Equal(t, []string{"info: will do it"}, b.said)
	require.NoError(t, b.run(d))
	require.Equal(t, []json.RawMessage{json.RawMessage(`{"service":"sshd"}`), json.RawMessage(`{"process":{"id":7,"name":"x"}}`)}, b.state.Restart)
	require.JSONEq(t, filepathed(`{"file": "$ROOT/kept", "size": 1}`, b.root), string(b.state.After))
	require.JSONEq(t, filepathed(`{"file": "$ROOT/kept", "_exist": false}`, b.root), string(b.state.Before))
}

// TestVerdictOfTheState checks that the verdict of a test takes precedence over the comparison.
func TestVerdictOfTheState(t *testing.T) {
	needs.ProgramIn(t, modules.DefaultPath, "python3")
	b := newBench(t)
	b.resource(thing("get", "", "") + "," + thing("test", `"--also", "{\"_inDesiredState\": true}"`, `, "return": "state"`) + "," + anySchema)
	plan, err := b.check(b.instance("Test/Thing", `{"file": "$ROOT/kept", "size": 1}`))
	require.NoError(t, err)
	require.False(t, plan.Pending())
	b.resource(thing("get", "", "") + "," + thing("set", "", "") + "," + thing("test", `"--also", "{\"_inDesiredState\": false, \"size\": 1, \"_exist\": true}"`, `, "return": "state"`) + "," + anySchema)
	plan, err = b.check(b.instance("Test/Thing", `{"file": "$ROOT/kept", "size": 1}`))
	require.NoError(t, err)
	require.Equal(t, []modules.Change{{Property: "_inDesiredState", Have: "false", Want: "true"}}, plan.Changes)
}
