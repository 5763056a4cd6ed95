package dsc

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
)

// log is the arguments that have thing.py write down its calls.
const log = `"--log", "$ROOT/log"`

// TestCalls checks the calls for every combination of operations: in a check, in an applying run, and in a second one.
func TestCalls(t *testing.T) {
	needs.ProgramIn(t, modules.DefaultPath, "python3")
	get, getLogged := thing("get", "", ""), thing("get", log, "")
	_ = get
	for _, test := range []struct {
		name       string
		members    string
		have       string // stored state; "" if none
		properties string
		check      string // calls of a check
		apply      string // calls of a run
		again      string // calls of a second run
		after      string // stored state after that
	}{
		{"no test: get decides", getLogged + "," + thing("set", log+`,"--silent"`, ""), `{"size": 1}`, `{"size": 2}`,
			"get", "get set get", "get", `{"size": 2}`},
		{"set prints the state", getLogged + "," + thing("set", log, `, "return": "state"`), `{"size": 1}`, `{"size": 2}`,
			"get", "get set get", "get", `{"size": 2}`},
		{"set prints state and differences", getLogged + "," + thing("set", log+`,"--diff"`, `, "return": "stateAndDiff"`), `{"size": 1}`, `{"size": 2}`,
			"get", "get set get", "get", `{"size": 2}`},
		{"it tests by itself", getLogged + "," + thing("set", log, `, "return": "state"`) + "," + thing("test", log, `, "return": "state"`), `{"size": 1}`, `{"size": 2}`,
			"test", "test set test", "test", `{"size": 2}`},
		{"a test with differences", getLogged + "," + thing("set", log, `, "return": "state"`) + "," + thing("test", log+`,"--diff"`, `, "return": "stateAndDiff"`), `{"size": 1}`, `{"size": 2}`,
			"test", "test set test", "test", `{"size": 2}`},
		{"a test that prints nothing", getLogged + "," + thing("set", log, "") + "," + thing("test", log+`,"--silent"`, ""), `{"size": 1}`, `{"size": 2}`,
			"test get", "test get set test get", "test get", `{"size": 2}`},
		{"set tests by itself", getLogged + "," + thing("set", log, `, "implementsPretest": true`), `{"size": 1}`, `{"size": 2}`,
			"get", "get set get", "get", `{"size": 2}`},
		{"validate comes first", getLogged + "," + thing("set", log, `, "return": "state"`) + "," + thing("validate", log, ""), `{"size": 1}`, `{"size": 2}`,
			"validate get", "validate get set get", "validate get", `{"size": 2}`},
		{"delete", getLogged + "," + thing("set", log, "") + "," + thing("delete", log, ""), `{"size": 1}`, `{"_exist": false}`,
			"get", "get delete get", "get", "(absent)"},
		{"set handles absence", getLogged + "," + thing("set", log, `, "handlesExist": true, "return": "state"`) + "," + thing("delete", log, ""), `{"size": 1}`, `{"_exist": false}`,
			"get", "get set get", "get", "(absent)"},
		{"absent already", getLogged + "," + thing("delete", log, ""), "", `{"_exist": false, "size": 3}`,
			"get", "get", "get", "(absent)"},
		{"it is made", getLogged + "," + thing("set", log, `, "return": "state"`), "", `{"size": 1}`,
			"get", "get set get", "get", `{"size": 1}`},
		{"as it shall be", getLogged + "," + thing("set", log, ""), `{"size": 1}`, `{"size": 1}`,
			"get", "get", "get", `{"size": 1}`},
		{"set that can tell", getLogged + "," + thing("set", log+`,{"whatIfArg": "--what-if"}`, `, "return": "state"`), `{"size": 1}`, `{"size": 2}`,
			"get set what-if", "get set what-if set get", "get", `{"size": 2}`},
		{"delete that can tell", getLogged + "," + thing("delete", log+`,{"whatIfArg": "--what-if"}`, ``), `{"size": 1}`, `{"_exist": false}`,
			"get delete what-if", "get delete what-if delete get", "get", "(absent)"},
		{"an operation that tells", getLogged + "," + thing("set", log, `, "return": "state"`) + `, "whatIf": {"executable": "python3", "args": ["thing.py", "set", "--what-if", ` + log + `], "input": "stdin", "return": "state"}`, `{"size": 1}`, `{"size": 2}`,
			"get set what-if", "get set what-if set get", "get", `{"size": 2}`},
		{"neither get nor test", thing("set", log, ""), "", `{"size": 2}`,
			"", "set", "set", `{"size": 2}`},
		{"what it printed was not the end", getLogged + "," + thing("set", log+`,"--prints","{}"`, `, "return": "state"`), `{"size": 1}`, `{"size": 1, "_exist": true}`,
			"get", "get", "get", `{"size": 1}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			b.resource(test.members + "," + anySchema)
			if test.have != "" {
				b.keep("kept", test.have)
			}
			d := b.instance("Test/Thing", strings.Replace(test.properties, "{", `{"file": "$ROOT/kept", `, 1))
			_, err := d.Check(t.Context(), b.checking())
			require.NoError(t, err)
			require.Equal(t, test.check, strings.Join(b.calls(), " "))
			have := test.have
			if have == "" {
				have = "(absent)"
			}
			require.Equal(t, have, b.kept("kept"), "the check has changed it")
			require.NoError(t, b.run(d))
			require.Equal(t, test.apply, strings.Join(b.calls(), " "))
			require.Equal(t, test.after, b.kept("kept"))
			require.NoError(t, b.run(d))
			require.Equal(t, test.again, strings.Join(b.calls(), " "))
			require.Equal(t, test.after, b.kept("kept"))
		})
	}
}

// TestVerify checks a resource whose set does nothing, and which verification detects that.
func TestVerify(t *testing.T) {
	needs.ProgramIn(t, modules.DefaultPath, "python3")
	const log = `"--log", "$ROOT/log"`
	get, set := thing("get", log, ""), func(args, more string) string { return thing("set", log+args, more) }
	const size, believed = `{"file": "$ROOT/x", "size": 2}`, `, "verify": false`
	for _, test := range []struct {
		name, members, properties, also string
		want, calls, after              string
	}{
		{"tested again", get + "," + set(`, "--lazy"`, ""), size, "", "size mismatch: state=1 requested=2", "get, set, get", `{"file":"$ROOT/x","size":1}`},
		{"as by default", get + "," + set(`, "--lazy"`, ""), size, `, "verify": true`, "size mismatch: state=1 requested=2", "get, set, get", `{"file":"$ROOT/x","size":1}`},
		{"it decides by itself", get + "," + set(`, "--lazy"`, `, "implementsPretest": true`), size, "", "size mismatch: state=1 requested=2", "get, set, get", `{"file":"$ROOT/x","size":1}`},
		{"it decides by itself, and is believed", get + "," + set(`, "--lazy"`, `, "implementsPretest": true`), size, believed, "", "get, set, get", `{"file":"$ROOT/x","size":1}`},
		{"believed with what it prints", get + "," + set(`, "--lazy", "--also", "{\"size\": 3}"`, `, "return": "state"`), size, believed, "", "get, set", `{"file":"$ROOT/x","size":3}`},
		{"believed, and it has changed nothing", get + "," + set(`, "--lazy", "--prints", "{\"size\": 1}\n[]"`, `, "return": "stateAndDiff"`), size, believed, "", "get, set", `{"size":1}`},
		{"believed, and it says no", get + "," + set(`, "--lazy", "--also", "{\"_inDesiredState\": false}"`, `, "return": "state"`), size, believed, `set of Test/Thing reports that the instance is not in the desired state`, "get, set", `{"file":"$ROOT/x","size":1}`},
		{"believed, and it fails", get + "," + set(`, "--ends", "1"`, ""), size, believed, `the operation "set" of Test/Thing has failed with exit code 1`, "get, set", ""},
		{"nothing to do", get + "," + set(`, "--lazy"`, ""), `{"file": "$ROOT/x", "size": 1}`, believed, "", "get", ""},
		{"deleted", get + "," + thing("delete", log, ""), `{"file": "$ROOT/x", "_exist": false}`, believed, "", "get, delete, get", `{"_exist":false,"file":"$ROOT/x"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			b.keep("x", `{"size": 1}`)
			b.resource(strings.ReplaceAll(test.members, "$ROOT", b.root) + "," + anySchema)
			d, err := b.prepared(`{"name": "x", "type": "Test/Thing", "properties": ` + test.properties + test.also + `}`)
			require.NoError(t, err)
			if err = b.run(d); test.want == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, test.want)
			}
			require.Equal(t, test.calls, strings.Join(b.calls(), ", "))
			require.Equal(t, strings.ReplaceAll(test.after, "$ROOT", b.root), string(b.state.After))
		})
	}
}
