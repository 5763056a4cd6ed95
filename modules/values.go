package modules

import (
	"context"
	"encoding/json"
)

// A State is the state of a resource before and after its turn: JSON documents in the words of its type. A nil part is
// unknown.
type State struct {
	Before json.RawMessage `json:"before,omitempty"` // as Check found it; the answer to a query
	After  json.RawMessage `json:"after,omitempty"`  // once it was applied
	// Restart names objects to restart before the resource takes effect, like {"service": "sshd"}, in the form of DSC's
	// _restartRequired.
	Restart []json.RawMessage `json:"restart,omitempty"`
}

// Last returns After, or Before without After.
func (s State) Last() json.RawMessage {
	if s.After != nil {
		return s.After
	}
	return s.Before
}

// ErrorKind is the kind of a failure, in the words of libral.
type ErrorKind string

// The kinds of error.
const (
	ErrorUnknown   ErrorKind = "unknown"   // there is no such thing, and it cannot be made
	ErrorForbidden ErrorKind = "forbidden" // the user may not
	ErrorFailed    ErrorKind = "failed"    // anything else
)

// Querier is a type whose resources answer queries: "get", "export", "list". An entry of a catalog with a Query is
// neither checked nor applied; the answer is the Before of its result's state.
type Querier interface {
	// Queries are the questions that the type knows.
	Queries() []string
	// Query looks and changes nothing.
	Query(ctx context.Context, h Host, query string) (json.RawMessage, error)
}

// Sender is a type with values that other resources can receive, such as what a
// command printed. Where [Type].ReportsState is set, its state can be received as well.
type Sender interface {
	// Sends names the values.
	Sends() []string
	// Sent returns the values as JSON, after the resource has had its turn without a failure. A resource that did
	// nothing may have none: then the engine uses the host's notes of the last time.
	Sent(ctx context.Context, h Host) (map[string]json.RawMessage, error)
}
