package events_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/secret"
)

type kept struct{ all []events.Event }

func (k *kept) Report(e events.Event) { k.all = append(k.all, e) }

// TestStreamMasks puts a secret wherever a host can put a text.
func TestStreamMasks(t *testing.T) {
	const canary = "canary-123456"
	var mask secret.Mask
	mask.Add(canary)
	mask.Add("123456")
	var to kept
	stream := events.NewStream("r1", time.Now, &to).WithMask(&mask)
	changes := []events.Change{{Property: "content", Have: canary, Want: canary}}
	cause := errors.New("cause")
	stream.Report(
		events.Result{
			Host: "web1", Name: "n", Message: canary, Messages: []events.Note{{Level: "info", Text: canary}}, Error: canary, Because: canary, RefreshedBy: []string{canary},
			Changes: changes, Diff: "+" + canary, HealthChecks: []events.HealthCheck{{Name: "c", Output: canary}},
			State: &events.ResourceState{After: json.RawMessage(`{"a":"` + canary + `","b":123456}`)}, Restart: []json.RawMessage{json.RawMessage(`"` + canary + `"`)},
			Command: &events.Command{Stdout: canary, Stderr: canary},
		},
		events.Output{Host: "web1", Text: canary},
		events.Unreachable{Host: "web1", Error: canary},
		events.HostFailed{Host: "web1", Error: canary, Cause: cause},
	)
	text, err := json.Marshal(to.all)
	require.NoError(t, err)
	require.NotContains(t, string(text), "canary")
	require.NotContains(t, string(text), "123456")
	require.Equal(t, "[secret]", to.all[2].(events.Unreachable).Error)
	result := to.all[0].(events.Result)
	require.Equal(t, "[secret]", result.Command.Stdout)
	require.Equal(t, "[secret]", result.Changes[0].Want)
	require.Equal(t, canary, changes[0].Want, "what was reported has changed")
	require.Same(t, cause, to.all[3].(events.HostFailed).Cause)
}
