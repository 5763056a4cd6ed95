package events

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/registry"
)

// A Carried is an event on its way from a worker to the controller. It includes the parts that are in no JSON for other
// programs, and lacks its stamp, which the controller adds.
type Carried struct{ Event }

// carried is a Carried in JSON.
type carried struct {
	Line      json.RawMessage  `json:"e"`
	Index     int              `json:"n,omitempty"`
	Number    int              `json:"play,omitempty"`
	Kept      bool             `json:"kept,omitempty"`
	Earlier   bool             `json:"earlier,omitempty"`
	Sensitive bool             `json:"sensitive,omitempty"`
	Cause     []*yamlpos.Error `json:"cause,omitempty"`

	Registers []registry.Registration `json:"registers,omitempty"`
}

// MarshalJSON implements [json.Marshaler].
func (c Carried) MarshalJSON() ([]byte, error) {
	var line bytes.Buffer
	NewShortJSON(&line).Report(c.Event)
	out := carried{Line: bytes.TrimSpace(line.Bytes())}
	switch e := c.Event.(type) {
	case Result:
		out.Index, out.Kept, out.Earlier, out.Sensitive, out.Registers = e.Index, e.Kept, e.Earlier, e.Sensitive, e.Registers
	case Untold:
		out.Number = e.Number
	case HostFailed:
		out.Cause = placesOf(e.Cause)
	}
	return json.Marshal(out)
}

// placesOf are the errors with a place that an error is made of.
func placesOf(err error) []*yamlpos.Error {
	var several yamlpos.Errors
	if errors.As(err, &several) {
		return several
	}
	if one, ok := errors.AsType[*yamlpos.Error](err); ok {
		return []*yamlpos.Error{one}
	}
	return nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (c *Carried) UnmarshalJSON(text []byte) error {
	var in carried
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	e, err := Decode(in.Line)
	if err != nil {
		return err
	}
	switch one := e.(type) {
	case Result:
		one.Index, one.Kept, one.Earlier, one.Sensitive, one.Registers = in.Index, in.Kept, in.Earlier, in.Sensitive, in.Registers
		e = one
	case Untold:
		one.Number = in.Number
		e = one
	case HostFailed:
		if len(in.Cause) > 0 {
			one.Cause = yamlpos.Errors(in.Cause)
		}
		e = one
	}
	c.Event = e.stamped(Stamp{})
	return nil
}
