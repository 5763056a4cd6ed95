package wire

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

// TestKindsOfMessages writes and reads a message of each kind alone, as encoding/json does with all of them.
func TestKindsOfMessages(t *testing.T) {
	fields := reflect.VisibleFields(reflect.TypeFor[Message]())
	require.Len(t, kinds, len(fields))
	for i, f := range fields {
		m := new(Message)
		reflect.ValueOf(m).Elem().Field(i).Set(reflect.New(f.Type.Elem()))
		want, err := json.Marshal(m)
		require.NoError(t, err)
		line, err := m.encode()
		require.NoError(t, err)
		require.Equal(t, string(want), string(line))
		wanted, back := new(Message), new(Message)
		require.NoError(t, json.Unmarshal(line, wanted))
		require.NoError(t, back.decode(append(line, '\n')))
		require.Equal(t, wanted, back)
	}
}

// TestLinesThatAreWrittenOtherwise reads lines that no Conn writes in the same way as a whole message.
func TestLinesThatAreWrittenOtherwise(t *testing.T) {
	for _, line := range []string{
		``, `{}`, `null`, `[]`, `{"pong"}`, `{"pong":}`, `pong":{}}`, `{"pong":{}`, `{"pong":{}}}`, `{"pong":{}} {}`,
		`{"pong":null}`, `{"pong":{}, "done":{}}`, `{"done":{"stopped":true},"done":{}}`, `{"pang":{}}`, `{"pong":{"a":1}}`,
		` { "done" : { "stopped" : true } } `, `{"DONE":{"Stopped":true}}`, `{"a\":{}}`, `{"done":{"stopped":true}  }`,
	} {
		var want, got Message
		wantErr, err := modules.DecodeStrict([]byte(line), &want), got.decode([]byte(line))
		require.Equal(t, wantErr, err, line)
		require.Equal(t, want, got, line)
	}
}
