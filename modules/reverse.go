package modules

import "context"

// Reverser is a type whose resources can be undone: when one that says `reverse` has
// left the manifest, what was there before is put back.
type Reverser interface {
	// Reversal gives the properties, but for the name, of a resource of this type and
	// name that brings back what h has now. It is called after a Check that has found
	// something to do, and before the Apply; it changes nothing. An error says why that
	// could not be brought back, and keeps the resource from being applied.
	//
	// kept is the resource that an earlier call gave, before another Apply, or nil. What it
	// brings back is what has to come back. The answer nil says that kept still does so
	// after this Apply. An answer that takes its place must do so before and after this
	// Apply, since the run may end in between.
	Reversal(ctx context.Context, h Host, kept Resource) (map[string]any, error)
	// Subject names what the resource is about, so that nothing is undone that another
	// one looks after: an absolute path, or a kind and a name: "user app". What is a part
	// of a thing is written behind it, after a line feed: a line of a file.
	Subject() string
}

// Lasting is a [Reverser] whose changes stay when a run is undone: they are named, with what
// would bring back what was there.
type Lasting interface {
	// Lasts says why they stay.
	Lasts() string
}

// SubjectNamer is a type that is no [Reverser], and whose resources look after things
// that reversals of others could undo.
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
