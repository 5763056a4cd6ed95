package engine

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzWith puts values into objects, and finds them there.
func FuzzWith(f *testing.F) {
	for _, seed := range [][3]string{
		{`{}`, "a", `1`}, {`{"a":{"b":1},"c":[2]}`, "a.b", `"x"`}, {`{"a":[1]}`, "a.b", `1`}, {`null`, "a.b.c", `{"d":null}`},
		{``, "a", `[]`}, {`{"a":null}`, "a.", `1`}, {`[]`, "0", `1`}, {`{"a":1,"a":2}`, "a", `"<&>"`}, {`{`, "", `{`},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, object, path, value string) {
		var compact bytes.Buffer
		if json.Compact(&compact, []byte(value)) != nil || !json.Valid(compact.Bytes()) {
			return
		}
		before := kindOf([]byte(object), path) // does not panic, whatever it is
		out, err := with([]byte(object), strings.Split(path, "."), compact.Bytes())
		if err != nil {
			return
		}
		require.True(t, json.Valid(out), "%s %s", out, before)
		at := json.RawMessage(out)
		for _, name := range strings.Split(path, ".") {
			var ok bool
			if at, ok = element(at, strings.ToValidUTF8(name, "\uFFFD")); !ok {
				return // two invalid names may have become one
			}
		}
		require.JSONEq(t, value, string(at))
	})
}
