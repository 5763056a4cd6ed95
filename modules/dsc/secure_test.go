package dsc

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/process"
)

func TestSecrets(t *testing.T) {
	v := process.Properties{}
	require.NoError(t, v.UnmarshalJSON([]byte(`{"a": {"secureString": "pass\"word"}, "b": [{"secureObject": {"pin": 4711, "deep": ["inner\nline"]}}], "c": "open", "d": {"secureString": "x", "more": 1}}`)))
	s := secretsIn(map[string]any(v))
	require.Equal(t, "a", secretAt(map[string]any(v), ""))
	require.Equal(t, "got <secureValue>, <secureValue>, <secureValue> and open", s.Hide(`got pass"word, pass\"word, 4711 and open`))
	require.Equal(t, "<secureValue>", s.Hide("inner\nline"))
	require.Equal(t, "<secureValue> of it", s.Hide("line of it"))
	require.Equal(t, map[string]any{
		"a": "<secureValue>", "b": []any{"<secureValue>"}, "c": "open", "d": map[string]any{"secureString": "x", "more": json.Number("1")},
	}, withholdState(s, v))
	require.Equal(t, "<secureValue>", withhold(s, json.Number("4711")))
}

// TestSecretsStayInside checks that a secret is in no message, state, change or error, whatever a resource does with
// it.
func TestSecretsStayInside(t *testing.T) {
	needs.ProgramIn(t, modules.DefaultPath, "python3")
	const secret = "hunter2-Kr\\u00e4he"
	b := newBench(t)
	leak := thing("set", `"--says", "password is hunter2-Krähe", "--says", "{\"error\": \"hunter2-Krähe\"}"`, `, "return": "state"`)
	b.resource(thing("get", "", "") + "," + leak + "," + anySchema)
	d := b.instance("Test/Thing", `{"file": "$ROOT/kept", "password": {"secureString": "`+secret+`"}, "size": 1}`)
	plan, err := d.Check(t.Context(), b.checking())
	require.NoError(t, err)
	require.Equal(t, []modules.Change{{Property: "_exist", Have: "false", Want: "true"}, {Property: "size", Have: "", Want: "1"}}, plan.Changes)
	require.NoError(t, d.Apply(t.Context(), b.host(), plan))
	require.NoError(t, d.Verify(t.Context(), b.checking(), plan))
	require.Contains(t, b.kept("kept"), "hunter2", "the resource itself has got it, on standard input")
	all, err := json.Marshal(map[string]any{"said": b.said, "state": b.state, "plan": plan.Changes})
	require.NoError(t, err)
	require.NotContains(t, string(all), "hunter2")
	require.Contains(t, string(all), "secureValue")

	b.resource(thing("get", `"--says", "no hunter2-Krähe", "--ends", "1"`, "") + "," + anySchema)
	_, err = b.instance("Test/Thing", `{"file": "$ROOT/kept", "password": {"secureString": "`+secret+`"}}`).Check(t.Context(), b.checking())
	require.EqualError(t, err, `the operation "get" of Test/Thing has failed with exit code 1: no <secureValue>`)
	b.resource(thing("get", `"--prints", "{\"a\": \"hunter2-Krähe\""`, "") + "," + anySchema)
	_, err = b.instance("Test/Thing", `{"file": "$ROOT/kept", "password": {"secureString": "`+secret+`"}}`).Check(t.Context(), b.checking())
	require.EqualError(t, err, "the operation \"get\" of Test/Thing has printed text that is not JSON: it ends too early: line 1 is `{\"a\": \"<secureValue>\"`")
}

// TestSecretsInWhatNobodyParses checks that quotes of a program's output, and the full output for debugging, contain no
// secrets, in any notation.
func TestSecretsInWhatNobodyParses(t *testing.T) {
	needs.ProgramIn(t, modules.DefaultPath, "python3")
	for _, test := range []struct{ prints, err, said string }{
		{"Warning: old\n{}", `line 1 is "Warning: old"`, "Warning: old\n{}"},
		{"token hunter2-Krähe\n{}", `line 1 is "token <secureValue>"`, "token <secureValue>\n{}"},
		{`{"a": "hunter2-Kr\u00e4he"` + "\nlast", `line 2 is "last"`, "<secureValue>\nlast"},
		{`{"a": "hunter2-Kr\u00E4he" x`, `line 1 is wrong at column 28: "<secureValue>"`, "<secureValue>"},
	} {
		b := newBench(t)
		prints, err := json.Marshal(test.prints)
		require.NoError(t, err)
		b.resource(thing("get", `"--prints", `+string(prints), "") + "," + anySchema)
		_, err = b.instance("Test/Thing", `{"file": "$ROOT/x", "password": {"secureString": "hunter2-Krähe"}}`).Check(t.Context(), b.checking())
		require.EqualError(t, err, `the operation "get" of Test/Thing has printed text that is not JSON: `+test.err)
		require.Equal(t, []string{"debug: the operation \"get\" of Test/Thing printed:\n" + test.said}, b.said)
	}
}

// TestSecretsNeedStandardInput checks that every way in which others could see a secret is refused, before anything
// runs.
func TestSecretsNeedStandardInput(t *testing.T) {
	for _, test := range []struct{ name, input, want string }{
		{"environment", `"args": ["thing.py", "get"], "input": "env"`, `properties.a[0]: properties.a[0] is secure, and the operation "get" of Test/Thing takes its input from the environment, where other users can see secrets; the operation must read standard input`},
		{"argument", `"args": ["thing.py", "get", {"jsonInputArg": "--input"}], "input": "stdin"`, `properties.a[0]: properties.a[0] is secure, and the operation "get" of Test/Thing takes its input from its arguments, where other users can see secrets; the operation must read standard input`},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			b.resource(`"get": {"executable": "python3", ` + test.input + `},` + anySchema)
			const properties = `{"name": "x", "type": "Test/Thing", "properties": {"a": [{"secureString": "s"}]}}`
			_, err := b.prepared(properties)
			require.EqualError(t, err, test.want)

			// The host refuses it as well: it may have found the manifest by itself.
			t.Setenv("DSC_RESOURCE_PATH", b.resources)
			res, err := modules.Registry{Type()}.Decode("dsc", []byte(properties))
			require.NoError(t, err)
			_, err = res.Check(t.Context(), b.checking())
			require.EqualError(t, err, test.want[strings.Index(test.want, ": ")+2:])
		})
	}
}

func TestNothingInheritsSecrets(t *testing.T) {
	needs.ProgramIn(t, modules.DefaultPath, "python3")
	t.Setenv("CCM_PUSH_SECRET", "x")
	b := newBench(t)
	b.write("env.sh", "#!/bin/sh\nenv >\"$ROOT/env\"; echo '{}'\n")
	require.NoError(t, os.Chmod(b.resources+"/env.sh", 0o700))
	b.resource(`"get": {"executable": "env.sh"},` + anySchema)
	_, err := b.instance("Test/Thing", `{"a": 1}`).Check(t.Context(), b.checking())
	require.Error(t, err) // it has no set
	require.NotContains(t, b.kept("env"), "CCM_PUSH_SECRET")
	require.Contains(t, b.kept("env"), "DSC_TRACE_LEVEL=warn\n")
	require.Contains(t, b.kept("env"), "\nHOME=")
}

// TestSecretsWithinWhatHidesThem checks secrets that consist of letters of their replacement text.
func TestSecretsWithinWhatHidesThem(t *testing.T) {
	s := secretsIn(map[string]any{"key": map[string]any{"secureString": "se\ns\ne\ncure"}})
	require.Equal(t, "<secureValue> <secureValue><secureValue>", s.Hide("se cures"))
}
