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
	// kept is nil, or what an earlier call came to, before another Apply: then what it
	// brings back is what has to come back. nil says that it does so after this Apply,
	// too. What is given in its place must do so before and after it, since nobody knows
	// whether the run gets that far.
	Reversal(ctx context.Context, h Host, kept Resource) (map[string]any, error)
	// Subject names what the resource is about, so that nothing is undone that another
	// one looks after: an absolute path, or a kind and a name: "user app". What is a part
	// of a thing is written behind it, after a line feed: a line of a file.
	Subject() string
}

// Keeper is a type that is no [Reverser], and whose resources look after things that
// others can have undone.
type Keeper interface {
	// Subjects name what the resource is about, like those of a [Reverser].
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
