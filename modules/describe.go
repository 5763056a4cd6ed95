package modules

import (
	"context"
	"encoding/json"
	"slices"
)

// Describer is a type that can describe the current state of its resource in more detail than a difference: in CCM's
// words, its status. Of a type without it, only name and provider are known.
type Describer interface {
	// Describe reads the host and changes nothing. It sees the real host, never a forecast. The error is the reason if
	// the resource cannot be examined.
	Describe(ctx context.Context, h Host) (Description, error)
}

// A Description is the state of a resource on a host.
type Description struct {
	Ensure   string // in the words of the property, or the version of a package
	Provider string // manager of the resource: "posix", "apt", "systemd"
	// State is a struct with json tags, or nil. CCM's names are used where it has
	// the same things.
	State any
	// Inline reports that CCM has the fields of State next to Ensure, not below "metadata".
	Inline bool
}

// StatusQuery requests the present state of a resource from its [Describer].
const StatusQuery = "status"

// StatusOf returns the answer of a resource to [StatusQuery]: its Ensure, and next to it the fields of its State.
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

// StatusArguments returns the properties for a query of a resource's status, from words in the form of
// [Type.Arguments]. If the name alone does not suffice, the resource is queried with ensure: absent.
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

// TellsStatus reports whether the status of the type's resources can be queried by their names. The effect of a command
// is not a status.
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
