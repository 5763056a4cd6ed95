package events

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/registry"
)

func TestCarried(t *testing.T) {
	cause := yamlpos.Errors{{File: "site.yaml", Line: 3, Column: 4, Msg: "no such key", Hint: "look"}}
	for _, e := range []Event{
		Result{
			Play: "p", Host: "h", Type: "exec", Name: "n", Status: Failed, Error: "it failed", Index: 7, Kept: true, Sensitive: true, Killed: true,
			Duration: 1500 * time.Microsecond, Messages: []Note{}, Changes: []Change{}, Command: &Command{Stdout: "out", ExitCode: 3}, Registers: []registry.Registration{{Cluster: "eu", Service: "web", Protocol: "http", Address: "192.0.2.3", Priority: 1, TTL: registry.Never}}, Written: &Place{File: "site.yaml", Line: 2, Column: 5},
		},
		Message{Play: "p", Host: "h", Kind: Pre, Text: "<&> \x1b"},
		HostFailed{Play: "p", Host: "h", Phase: "compile", Error: cause.Error(), Cause: cause, Rest: Rest{NotReached: 2, Next: "exec#x"}},
		Unreachable{Play: "p", Host: "h", Error: "refused", Hint: "hint", UnknownKey: true},
		Output{Play: "p", Host: "h", Type: "exec", Name: "n", Stream: Stderr, Text: "line\n"},
	} {
		stamped := e.stamped(Stamp{Time: time.Now(), Run: "run1"})
		data, err := json.Marshal(Carried{stamped})
		require.NoError(t, err)
		var back Carried
		require.NoError(t, json.Unmarshal(data, &back))
		require.Equal(t, e, back.Event, "%s", data)
	}
	require.Nil(t, placesOf(errors.New("nowhere")))
	require.ErrorContains(t, json.Unmarshal([]byte(`{"e":{"event":"made_up"}}`), &Carried{}), "reading an event")
}
