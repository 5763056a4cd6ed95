package dsc

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVerify has a resource whose set does nothing, and who finds that out.
func TestVerify(t *testing.T) {
	needs(t, "python3")
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
		{"believed, and it says no", get + "," + set(`, "--lazy", "--also", "{\"_inDesiredState\": false}"`, `, "return": "state"`), size, believed, "set of Test/Thing says that the instance is not in the desired state", "get, set", `{"file":"$ROOT/x","size":1}`},
		{"believed, and it fails", get + "," + set(`, "--ends", "1"`, ""), size, believed, "set of Test/Thing has failed with exit code 1", "get, set", ""},
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
