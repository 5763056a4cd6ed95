package main

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/system"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// ccmEvent is CCM's transaction event, with its fields in CCM's order.
type ccmEvent struct {
	Protocol          string          `json:"protocol"`
	EventID           string          `json:"event_id"`
	Timestamp         time.Time       `json:"timestamp"` // UTC, when the resource was begun
	Type              string          `json:"type"`
	Provider          string          `json:"provider"`
	Name              string          `json:"name"`
	Alias             string          `json:"alias,omitempty"`
	RequestedEnsure   string          `json:"requested_ensure"`
	FinalEnsure       string          `json:"final_ensure"` // "" if it failed
	Duration          time.Duration   `json:"duration"`     // ns
	Properties        json.RawMessage `json:"properties,omitempty"`
	Status            *ccmStatus      `json:"status"` // null if it cannot be read
	NoopMessage       string          `json:"noop_message,omitempty"`
	Error             []string        `json:"error"`
	Changed           bool            `json:"changed"`
	Refreshed         bool            `json:"refreshed"`
	Failed            bool            `json:"failed"`
	Skipped           bool            `json:"skipped"`
	Noop              bool            `json:"noop"`
	UnmetRequirements []string        `json:"unmet_requirements"`
}

// ccmStatus is the state of the resource after the run, or its current state in a check run.
type ccmStatus struct {
	Timestamp   time.Time `json:"timestamp"`
	Protocol    string    `json:"protocol"`
	Type        string    `json:"type"`
	Name        string    `json:"name"`
	Ensure      string    `json:"ensure"`
	Changed     bool      `json:"changed"`
	Refreshed   bool      `json:"refreshed"`
	Stable      bool      `json:"stable"` // no change remains to be made
	Noop        bool      `json:"noop"`
	NoopMessage string    `json:"noop_message,omitempty"`

	description modules.Description
	exitCode    *int // set if a command has run
}

// ccmMetadata is the state for types without a description.
type ccmMetadata struct {
	Name     string `json:"name"`
	Provider string `json:"provider"`
}

// MarshalJSON adds the state that the type describes.
func (s *ccmStatus) MarshalJSON() ([]byte, error) {
	type common ccmStatus
	text, err := json.Marshal((*common)(s))
	if err != nil || s.description.State == nil {
		return text, err
	}
	state, err := json.Marshal(s.description.State)
	if err != nil {
		return nil, err
	}
	var b objectWriter
	b.Write(text[1 : len(text)-1])
	switch {
	case !s.description.Inline:
		b.add("metadata", state)
	default:
		if s.exitCode != nil {
			code, _ := json.Marshal(*s.exitCode)
			b.add("exitcode", code)
		}
		if len(state) > len("{}") {
			b.WriteByte(',')
			b.Write(state[1 : len(state)-1])
		}
	}
	return b.object(), nil
}

// event carries out the request, or in a check run predicts it.
func (t *ccmTask) event(ctx context.Context, check bool) (*ccmEvent, error) {
	host := system.New()
	host.Contents = modules.LocalContents{}
	if t.provider != "" && t.describe(ctx, host).Provider != t.provider {
		return nil, errors.New("invalid resource: provider not found")
	}
	start := time.Now().UTC()
	result, err := runOne(ctx, host, t.entry, t.resource, check)
	if err != nil {
		return nil, err
	}
	described := t.describe(ctx, host)
	if _, ok := t.resource.(modules.Describer); !ok && check {
		described.Ensure = t.foundEnsure(result)
	}
	failed, changed := result.Status == wire.Failed, result.Status == wire.Changed
	event := &ccmEvent{
		Protocol:          ccmEventProtocol,
		EventID:           newKSUID(start),
		Timestamp:         start,
		Type:              t.entry.Type,
		Provider:          described.Provider,
		Name:              t.entry.Name,
		Alias:             t.entry.Alias,
		RequestedEnsure:   t.ensure,
		Duration:          result.Duration,
		Properties:        t.effective,
		Error:             []string{},
		Changed:           changed,
		Refreshed:         result.Refreshed,
		Failed:            failed,
		Noop:              check && !failed,
		UnmetRequirements: []string{},
	}
	if failed {
		event.Error = []string{result.Error}
	} else {
		event.FinalEnsure = described.Ensure
	}
	if check && changed {
		event.NoopMessage = result.Message
	}
	if described.Ensure != "" {
		event.Status = t.status(ctx, host, event, described, result)
	}
	return event, nil
}

// status returns the part of an event that describes the host.
func (t *ccmTask) status(ctx context.Context, host modules.Host, event *ccmEvent, described modules.Description, result *wire.Result) *ccmStatus {
	s := &ccmStatus{
		Timestamp:   time.Now().UTC(),
		Protocol:    ccmProtocols + "resource." + t.entry.Type + ".state",
		Type:        t.entry.Type,
		Name:        t.entry.Name,
		Ensure:      described.Ensure,
		Changed:     event.Changed,
		Refreshed:   event.Refreshed,
		Stable:      result.Status == wire.Stable,
		Noop:        event.Noop,
		NoopMessage: event.NoopMessage,
		description: described,
	}
	if event.Changed && !event.Noop { // a command without a guard would run again
		plan, err := modules.Compare(ctx, t.resource, modules.ReadOnly(host))
		s.Stable = err == nil && !plan.Pending()
	}
	if result.Exit != nil {
		s.exitCode = &result.Exit.Code
	}
	if t.entry.Sensitive {
		s.description.State = nil
	}
	return s
}

// describe returns the state of the resource on the host. If it cannot be read, only the provider is known. A type
// without a description is assumed to be in the desired state.
func (t *ccmTask) describe(ctx context.Context, host modules.Host) modules.Description {
	const usual = "posix"
	describer, ok := t.resource.(modules.Describer)
	if !ok {
		return modules.Description{Ensure: t.ensure, Provider: usual, State: ccmMetadata{t.entry.Name, usual}}
	}
	described, err := describer.Describe(ctx, modules.ReadOnly(host))
	if err != nil {
		return modules.Description{Provider: usual}
	}
	return described
}

// foundEnsure returns the value of ensure that a check run found.
func (t *ccmTask) foundEnsure(result *wire.Result) string {
	for _, c := range result.Changes {
		if c.Property == "ensure" && !t.entry.Sensitive {
			return c.Have
		}
	}
	return t.ensure
}

// ksuidEpoch is the start of time in KSUIDs, as Unix time in seconds (github.com/segmentio/ksuid).
const ksuidEpoch = 1_400_000_000

// newKSUID returns an id that sorts by time: 27 digits to the base 62 of 32 bits of seconds and 128 random ones.
func newKSUID(now time.Time) string {
	number := [5]uint32{uint32(now.Unix() - ksuidEpoch), rand.Uint32(), rand.Uint32(), rand.Uint32(), rand.Uint32()}
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	var id [27]byte
	for i := len(id) - 1; i >= 0; i-- {
		var rest uint64
		for j, part := range number {
			rest = rest<<32 | uint64(part)
			number[j], rest = uint32(rest/uint64(len(digits))), rest%uint64(len(digits))
		}
		id[i] = digits[rest]
	}
	return string(id[:])
}
