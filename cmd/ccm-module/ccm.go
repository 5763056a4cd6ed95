package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
)

// isCCM reports whether an input is a request of CCM, be it a bad one: ours has
// no protocol.
func isCCM(input []byte) bool {
	var r struct{ Protocol *json.RawMessage }
	if err := json.Unmarshal(input, &r); err == nil {
		return r.Protocol != nil
	}
	return bytes.Contains(input, []byte(ccmProtocols))
}

// ccmResponse is the response of CCM's ensure API: one of Error and State is set.
type ccmResponse struct {
	Protocol string    `json:"protocol"`
	Error    string    `json:"error,omitempty"`
	State    *ccmEvent `json:"state,omitempty"`
}

// ensure answers a request of CCM. As in CCM, a failure of any kind is only in the answer: the returned error is an
// error of writing it.
func ensure(ctx context.Context, input []byte, check bool, out io.Writer) error {
	answer := ccmResponse{Protocol: ccmResponseProtocol}
	task, err := readCCM(ctx, input)
	if err == nil {
		answer.State, err = task.event(ctx, check)
	}
	if err != nil {
		answer.Error = err.Error()
	}
	text, err := json.MarshalIndent(answer, "", "  ")
	if err != nil {
		return err
	}
	_, err = out.Write(append(text, '\n'))
	return err
}
