package modules

import "context"

// Reverser is a type whose resources can be undone: when a resource with `reverse` has left the manifest, the former
// state is restored.
type Reverser interface {
	// Reversal returns the properties, except the name, of a resource of this type and name that restores the current
	// state of h. It is called after a Check that has found something to do, and before the Apply; it changes nothing.
	// After an error, which is the reason why the state could not be restored, the resource is not applied.
	//
	// kept is the resource of an earlier call, before another Apply, or nil. Its state is the one to restore. The
	// result nil means that kept still restores it after this Apply. A result that replaces kept must restore it before
	// and after this Apply, since the run may end in between.
	Reversal(ctx context.Context, h Host, kept Resource) (map[string]any, error)
	// Subject names the thing of the resource, so that an undo does not touch a thing that another resource manages: an
	// absolute path, or a kind and a name: "user app". The part of a thing, such as a line of a file, follows after a
	// line feed.
	Subject() string
}

// Lasting is a [Reverser] whose changes stay when a run is undone: the report names them, with a resource that would
// restore the former state.
type Lasting interface {
	// Lasts returns the reason why they stay.
	Lasts() string
}

// SubjectNamer is a type that is not a [Reverser], and whose resources manage things that reversals of others could
// undo.
type SubjectNamer interface {
	// Subjects name what the resource is about, as Subject of a [Reverser] does.
	Subjects() []string
}

// MaxKept bounds, in bytes, the text that a [Reverser] brings back: 64 KiB.
const MaxKept = 64 << 10

// Reversers names the types of a registry that are [Reverser]s.
func (r Registry) Reversers() []string {
	var names []string
	for _, t := range r {
		if _, ok := t.New().(Reverser); ok {
			names = append(names, t.Name)
		}
	}
	return names
}
