package modules

import (
	"context"
	"encoding/json"
	"slices"
)

// Describer is a type that can say how its resource is on the host now, with more
// than whether something differs: what CCM calls its status. A type without it is
// known by name and provider only.
type Describer interface {
	// Describe looks and changes nothing. It is asked about the host as it is, never
	// about a forecast. An error says why the resource cannot be looked at.
	Describe(ctx context.Context, h Host) (Description, error)
}

// A Description is how a resource is on a host.
type Description struct {
	Ensure   string // in the words of the property, or the version of a package
	Provider string // who looks after it: "posix", "apt", "systemd"
	// State is a struct with json tags, or nil. CCM's names are used where it has
	// the same things.
	State any
	// Inline says that CCM has the fields of State beside Ensure, not below
	// "metadata".
	Inline bool
}

// StatusQuery requests the present state of a resource from its [Describer].
const StatusQuery = "status"

// StatusOf is the answer of a resource to [StatusQuery]: its Ensure, and beside that the
// fields of its State.
func StatusOf(ctx context.Context, r Resource, h Host) (json.RawMessage, error) {
	d, ok := r.(Describer)
	if !ok {
		return nil, Refuse("the type does not report the state of its resources")
	}
	found, err := d.Describe(ctx, h)
	if err != nil {
		return nil, err
	}
	answer, err := json.Marshal(struct {
		Ensure string `json:"ensure"`
	}{found.Ensure})
	if err != nil || found.State == nil {
		return answer, err
	}
	state, err := json.Marshal(found.State)
	if err != nil || string(state) == "{}" {
		return answer, err
	}
	return slices.Concat(answer[:len(answer)-1], []byte(","), state[1:]), nil
}

// StatusArguments gives the properties of a resource that is asked for its status, from
// words as [Type.Arguments] has them. One of which more than the name would have to be
// known is asked as if it should be absent.
func (t Type) StatusArguments(words []string) (map[string]any, error) {
	properties, err := t.Arguments(words)
	if err != nil || len(properties) > 1 || t.valid(properties) {
		return properties, err
	}
	if gone := map[string]any{"name": properties["name"], "ensure": "absent"}; t.valid(gone) {
		return gone, nil
	}
	return properties, nil
}

// TellsStatus reports whether the resources of a type can be asked for their status by
// their names. What a command would do is no status.
func (t Type) TellsStatus() bool {
	r := t.New()
	_, describes := r.(Describer)
	if t.CommandLine != nil || !describes {
		return false
	}
	return slices.ContainsFunc([]string{"name", "/name.tar"}, func(name string) bool {
		properties, err := t.StatusArguments([]string{name})
		return err == nil && t.valid(properties)
	})
}

// valid reports whether a resource may have these properties.
func (t Type) valid(properties map[string]any) bool {
	r := t.New()
	text, err := json.Marshal(properties)
	if err != nil || json.Unmarshal(text, r) != nil {
		return false
	}
	SetDefaults(r)
	return CheckTags(r) == nil && r.Validate() == nil
}
