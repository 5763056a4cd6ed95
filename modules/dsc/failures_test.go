package dsc

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/process"
)

// TestErrors checks the messages for errors of resources.
func TestErrors(t *testing.T) {
	needs.ProgramIn(t, modules.DefaultPath, "python3")
	get, set := thing("get", "", ""), thing("set", "", "")
	for _, test := range []struct {
		name, members, properties, want string
	}{
		{"exit code without a meaning", thing("get", `"--ends", "3", "--says", "no such thing"`, "") + "," + anySchema, "", `the operation "get" of Test/Thing has failed with exit code 3: no such thing`},
		{"exit code with one", thing("get", `"--ends", "3", "--says", "no such thing"`, "") + `, "exitCodes": {"3": "Not found"},` + anySchema, "", `the operation "get" of Test/Thing has failed with exit code 3: Not found`},
		{"exit code of another meaning", thing("get", `"--ends", "4", "--says", "no such thing"`, "") + `, "exitCodes": {"3": "Not found"},` + anySchema, "", `the operation "get" of Test/Thing has failed with exit code 4: no such thing`},
		{"the usual meanings say nothing", thing("get", `"--ends", "1", "--says", "it is locked"`, "") + `, "exitCodes": {"0": "Success", "1": "Failure"},` + anySchema, "", `the operation "get" of Test/Thing has failed with exit code 1: it is locked`},
		{"others of these codes do", thing("get", `"--ends", "1", "--says", "it is locked"`, "") + `, "exitCodes": {"0": "Success", "1": "Invalid parameter"},` + anySchema, "", `the operation "get" of Test/Thing has failed with exit code 1: Invalid parameter`},
		{"an error without a plain line", thing("get", `"--ends", "1", "--says", "{\"error\": \"structured\"}"`, "") + "," + anySchema, "", `the operation "get" of Test/Thing has failed with exit code 1: structured`},
		{"a test that fails is no verdict", get + "," + thing("test", `"--ends", "1"`, `, "return": "state"`) + "," + anySchema, "", `the operation "test" of Test/Thing has failed with exit code 1`},
		{"nothing printed", thing("get", `"--silent"`, "") + "," + anySchema, "", `the operation "get" of Test/Thing has printed nothing where a state was expected`},
		{"no JSON", thing("get", `"--prints", "hello"`, "") + "," + anySchema, "", `the operation "get" of Test/Thing has printed text that is not JSON: line 1 is "hello"`},
		{"a line before the state", thing("get", `"--prints", "Warning: please upgrade\n{}"`, "") + "," + anySchema, "", `the operation "get" of Test/Thing has printed text that is not JSON: line 1 is "Warning: please upgrade"`},
		{"a line after the state", thing("get", `"--prints", "{}\nDone."`, "") + "," + anySchema, "", `the operation "get" of Test/Thing has printed text that is not JSON: line 2 is "Done."`},
		{"what a terminal would obey", thing("get", `"--prints", "\u001b[31mred"`, "") + "," + anySchema, "", `the operation "get" of Test/Thing has printed text that is not JSON: line 1 is "\x1b[31mred"`},
		{"no UTF-8", `"get": {"executable": "printf", "args": ["{\n\\377"]},` + anySchema, "", `the operation "get" of Test/Thing has printed text that is not UTF-8: line 2 is "\xff"`},
		{"an exit code, and text on standard output", `"get": {"executable": "./fails.sh"},` + anySchema, "", `the operation "get" of Test/Thing has failed with exit code 2: it printed "Error: no such bus"`},
		{"schema is no JSON", get + `, "schema": {"command": {"executable": "echo", "args": ["Warning: old"]}}`, "", `the operation "schema" of Test/Thing has printed text that is not JSON: line 1 is "Warning: old"`},
		{"schema is nothing", get + `, "schema": {"command": {"executable": "true"}}`, "", `the operation "schema" of Test/Thing has printed 0 JSON values where a schema was expected`},
		{"a list", thing("get", `"--prints", "[]"`, "") + "," + anySchema, "", "the operation \"get\" of Test/Thing has printed a list where a state was expected: line 1 is \"[]\""},
		{"more than a state", thing("get", `"--prints", "{} {}"`, "") + "," + anySchema, "", "the operation \"get\" of Test/Thing has printed more than a state: line 1 is \"{} {}\""},
		{"no differences", get + "," + thing("test", "", `, "return": "stateAndDiff"`) + "," + anySchema, "", `the operation "test" of Test/Thing has printed no list of properties after the state`},
		{"differences that are none", get + "," + thing("test", `"--prints", "{}\n[1]"`, `, "return": "stateAndDiff"`) + "," + anySchema, "", "the operation \"test\" of Test/Thing has printed a list where a list of properties was expected: line 2 is \"[1]\""},
		{"a verdict that is none", thing("get", `"--also", "{\"_inDesiredState\": \"yes\"}"`, "") + "," + anySchema, "", `the operation "get" of Test/Thing has given a text as _inDesiredState, which must be true or false`},
		{"not there", `"get": {"executable": "no-such-program"},` + anySchema, "", `the operation "get" of Test/Thing: "no-such-program" is not found in $PATH`},
		{"no set", get + "," + anySchema, `{"file": "$ROOT/x", "size": 2}`, "Test/Thing is not in the desired state: _exist is false, not true; size is (none), not 2; and it has no set"},
		{"no delete", get + "," + set + "," + anySchema, `{"file": "$ROOT/x", "_exist": false, "size": 2}`, ""},
		{"no schema", get, "", "type: Test/Thing has neither a schema nor validate, so its valid properties are not known"},
		{"the schema is wrong", get + `, "schema": {"embedded": {"type": 7}}`, "", "type: Test/Thing: the schema cannot be used: "},
		{"validate refuses", get + "," + thing("validate", "", ""), `{"file": "$ROOT/x", "size": 13}`, "Test/Thing reports that the properties are not valid: 13 brings bad luck"},
		{"validate says nothing", get + "," + thing("validate", `"--prints", "{}"`, ""), "", "the operation \"validate\" of Test/Thing has not said whether the properties are valid: line 1 is \"{}\""},
		{"validate is no JSON", get + "," + thing("validate", `"--prints", "all is well"`, ""), "", `the operation "validate" of Test/Thing has printed text that is not JSON: line 1 is "all is well"`},
		{"validate prints nothing", get + "," + thing("validate", `"--silent"`, ""), "", `the operation "validate" of Test/Thing has printed nothing where one JSON object was expected`},
		{"validate prints two", get + "," + thing("validate", `"--prints", "{}\n{\"valid\": true}"`, ""), "", "the operation \"validate\" of Test/Thing has printed more than one JSON object: line 2 is `{\"valid\": true}`"},
		{"validate gives no reason", get + "," + thing("validate", `"--prints", "{\"valid\": false, \"code\": 7}"`, ""), "", "Test/Thing reports that the properties are not valid: it gives no reason: line 1 is `{\"valid\": false, \"code\": 7}`"},
		{"the schema comes from a command", get + `, "schema": {"command": {"executable": "python3", "args": ["thing.py", "schema"]}}`, `{"size": "x"}`, `the properties are not what Test/Thing takes: properties lacks "file", which is required; properties.size must be integer, not string`},
		{"a state against the schema", thing("get", `"--also", "{\"size\": []}"`, "") + `, "schema": {"embedded": {"properties": {"size": {"type": "integer"}}}}`, "", `the operation "get" of Test/Thing has given a state that its schema does not allow: size must be integer, not array`},
		{"an adapter", get + `, "adapter": {"inputKind": "single"},` + anySchema, "", "Test/Thing is an adapter, which runs resources and is not a resource itself"},
		{"a group", get + `, "kind": "group",` + anySchema, "", "Test/Thing is of the kind group, and only resources can be run"},
		{"condition", get + `, "condition": "[equals(1, 2)]",` + anySchema, "", "unknown DSC resource Test/Thing; found $RES/thing.dsc.resource.json, but its condition is false here"},
		{"bad condition", get + `, "condition": "[nope()]",` + anySchema, "", "$RES/thing.dsc.resource.json: condition: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			b.resource(test.members)
			b.write("fails.sh", "#!/bin/sh\necho trying\necho 'Error: no such bus'\nexit 2\n")
			require.NoError(t, os.Chmod(filepath.Join(b.resources, "fails.sh"), 0o700))
			if test.properties == "" {
				test.properties = `{"file": "$ROOT/x"}`
			}
			d, err := b.prepared(`{"name": "x", "type": "Test/Thing", "properties": ` + test.properties + `}`)
			if err == nil {
				_, err = b.check(d)
			}
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			want := strings.ReplaceAll(test.want, "$RES", b.resources)
			want = strings.ReplaceAll(want, "$PATH", strings.Join(safePath(b.host()), ":")+":"+b.resources)
			if strings.HasSuffix(want, ": ") {
				require.ErrorContains(t, err, want)
				return
			}
			require.EqualError(t, err, want)
		})
	}
}

// TestCannotBeAbsent checks a resource that can create things and not remove them.
func TestCannotBeAbsent(t *testing.T) {
	needs.ProgramIn(t, modules.DefaultPath, "python3")
	b := newBench(t)
	b.keep("x", "{}")
	b.resource(thing("get", "", "") + "," + thing("set", "", "") + "," + anySchema)
	_, err := b.check(b.instance("Test/Thing", `{"file": "$ROOT/x", "_exist": false}`))
	require.EqualError(t, err, `Test/Thing has no operation "delete", and its operation "set" does not handle _exist: false`)
}

// TestUnknownInAState checks that a property that the schema does not know is dropped from a state, and refused among
// the wanted properties.
func TestUnknownInAState(t *testing.T) {
	needs.ProgramIn(t, modules.DefaultPath, "python3")
	b := newBench(t)
	b.keep("kept", `{"size": 1}`)
	b.resource(thing("get", `"--also", "{\"Version\": \"\"}"`, "") + `, "schema": {"embedded": {"additionalProperties": false, "properties": {"file": {}, "size": {}, "_exist": {}}}}`)
	plan, err := b.check(b.instance("Test/Thing", `{"file": "$ROOT/kept", "size": 1}`))
	require.NoError(t, err)
	require.False(t, plan.Pending())
	require.Equal(t, []string{`info: the operation "get" of Test/Thing: the state has "Version", which is not known; it is ignored`}, b.said)
	require.NotContains(t, string(b.state.Before), "Version")
	_, err = b.prepared(`{"name": "x", "type": "Test/Thing", "properties": {"Version": ""}}`)
	require.EqualError(t, err, `properties: properties has "Version", which is not known`)
}

// TestTimeout ends a resource and all its child processes.
func TestTimeout(t *testing.T) {
	b := newBench(t)
	b.write("slow.sh", "#!/bin/sh\nsleep 600 & echo $! >\"$ROOT/pid\"; wait\n")
	require.NoError(t, os.Chmod(b.resources+"/slow.sh", 0o700))
	b.resource(`"get": {"executable": "slow.sh"},` + anySchema)
	d := b.instance("Test/Thing", `{}`)
	d.Timeout = "200ms"
	_, err := d.Check(t.Context(), b.checking())
	require.EqualError(t, err, `the operation "get" of Test/Thing: "slow.sh" timed out after 200ms and was killed`)
	require.ErrorIs(t, err, modules.ErrTimeout)
	pid := strings.TrimSpace(b.kept("pid"))
	// The program is killed before the call returns, and disappears a little later.
	for range 1_000_000 {
		status, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil || strings.Contains(string(status), ") Z ") {
			return
		}
	}
	t.Fatal("what the resource has started is still running")
}

// TestLies checks that a set that does nothing is a failure, whatever it prints.
func TestLies(t *testing.T) {
	needs.ProgramIn(t, modules.DefaultPath, "python3")
	for name, set := range map[string]string{
		"it prints nothing":      thing("set", `"--lazy"`, ""),
		"it prints how it is":    thing("set", `"--lazy"`, `, "return": "state"`),
		"it prints what is not":  thing("set", `"--lazy", "--prints", "{\"size\": 1, \"_exist\": false}"`, `, "return": "state"`),
		"it repeats the request": thing("set", `"--lazy", "--prints", "{\"size\": 2, \"_exist\": true}"`, `, "return": "state"`),
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.resource(thing("get", "", "") + "," + set + "," + anySchema)
			require.EqualError(t, b.run(b.instance("Test/Thing", `{"file": "$ROOT/x", "size": 2}`)),
				"_exist mismatch: state=false requested=true, size mismatch: state=(none) requested=2")
		})
	}
}

func TestSecurityContext(t *testing.T) {
	b := newBench(t)
	context, want := "restricted", `the operation "get" of Test/Thing refuses to run as root`
	if os.Geteuid() != 0 {
		context, want = "elevated", `the operation "get" of Test/Thing needs root; use "become"`
	}
	b.resource(`"get": {"executable": "true", "requireSecurityContext": "` + context + `"},` + anySchema)
	_, err := b.check(b.instance("Test/Thing", `{}`))
	require.EqualError(t, err, want)
}

// TestInputs checks the ways in which a resource receives its properties, with texts that a shell would interpret.
func TestInputs(t *testing.T) {
	needs.ProgramIn(t, modules.DefaultPath, "python3")
	const odd = `a "b" 'c' $(touch x) \n ;|& é`
	quoted, err := json.Marshal(odd)
	require.NoError(t, err)
	for name, members := range map[string]string{
		"standard input":    `"input": "stdin", "args": ["thing.py", "set"]`,
		"an argument":       `"args": ["thing.py", "set", {"jsonInputArg": "--input", "mandatory": true}]`,
		"both":              `"input": "stdin", "args": ["thing.py", "set", {"jsonInputArg": "--input"}]`,
		"the environment":   `"input": "env", "args": ["thing.py", "set", "--env"]`,
		"a program by path": `"input": "stdin", "args": ["./thing.py", "set"]`,
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.resource(`"get": {"executable": "python3", "args": ["thing.py", "get"], "input": "stdin"}, "set": {"executable": "python3", ` + members + `},` + anySchema)
			require.NoError(t, b.run(b.instance("Test/Thing", `{"file": "$ROOT/kept", "name": `+string(quoted)+`}`)))
			require.NoError(t, b.run(b.instance("Test/Thing", `{"file": "$ROOT/kept", "name": `+string(quoted)+`}`)))
			var kept map[string]string
			require.NoError(t, json.Unmarshal([]byte(b.kept("kept")), &kept))
			require.Equal(t, map[string]string{"name": odd}, kept)
		})
	}
}

func TestEnvironment(t *testing.T) {
	properties := process.Properties{}
	require.NoError(t, properties.UnmarshalJSON([]byte(`{"s": "x y", "b": true, "n": 1.50, "none": null, "list": ["a", 2]}`)))
	env, err := environment(properties)
	require.NoError(t, err)
	require.Equal(t, []string{"b=true", "list=a,2", "n=1.50", "s=x y"}, env)
	for text, want := range map[string]string{
		`{"o": {}}`:       "the resource takes its properties from the environment, which cannot hold o: it is an object",
		`{"l": [true]}`:   "the resource takes its properties from the environment, which cannot hold l: an element of the list is a boolean",
		`{"a=b": "x"}`:    "the resource takes its properties from the environment, which cannot hold a=b",
		`{"a": "\u0000"}`: "the resource takes its properties from the environment, which cannot hold a",
		`{"a": "` + strings.Repeat("x", maxArgument) + `"}`: "a is 131072 bytes, but an argument or variable of a program can have only 128 KiB; pass it on standard input",
	} {
		properties := process.Properties{}
		require.NoError(t, properties.UnmarshalJSON([]byte(text)))
		_, err := environment(properties)
		require.EqualError(t, err, want)
	}
}

// TestLongInput checks that input that is too long for one argument is an error, and that standard input accepts it.
func TestLongInput(t *testing.T) {
	needs.ProgramIn(t, modules.DefaultPath, "python3")
	b := newBench(t)
	long := strings.Repeat("x", 200_000)
	b.resource(`"get": {"executable": "python3", "args": ["thing.py", "get", {"jsonInputArg": "--input"}]},` + anySchema)
	_, err := b.check(b.instance("Test/Thing", `{"file": "`+long+`"}`))
	require.EqualError(t, err, "the input is 200011 bytes, but an argument or variable of a program can have only 128 KiB; pass it on standard input")
	b.resource(thing("get", "", "") + "," + thing("set", "", `, "return": "state"`) + "," + anySchema)
	require.NoError(t, b.run(b.instance("Test/Thing", `{"file": "$ROOT/kept", "name": "`+long+`"}`)))
	require.Contains(t, b.kept("kept"), long)
}

// TestArguments checks the arguments that a resource receives.
func TestArguments(t *testing.T) {
	needs.ProgramIn(t, modules.DefaultPath, "python3")
	b := newBench(t)
	b.write("sub/thing.py", mustRead(t, "testdata/thing.py"))
	b.write("sub/thing.dsc.resource.json", `{"$schema": "https://aka.ms/dsc/schemas/v3/bundled/resource/manifest.json", "type": "Test/Thing", "version": "1.2.3",
		"get": {"executable": "python3", "args": ["thing.py", "seen", {"resourceTypeArg": "--type"}, {"resourceVersionArg": "--version"}, {"resourcePathArg": "--path", "includeQuotes": true}], "input": "stdin"}, `+anySchema+`}`)
	d := b.instance("test/thing", `{"file": "f"}`)
	state, err := d.Query(t.Context(), b.checking(), "get")
	require.NoError(t, err)
	require.JSONEq(t, `{"file": "f", "type": "Test/Thing", "version": "1.2.3", "path": "\"`+b.resources+`/sub/thing.dsc.resource.json\"", "content": null, "cwd": "`+b.resources+`/sub", "trace": "warn"}`, string(state))
}

func mustRead(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}
