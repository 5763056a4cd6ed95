package modules

// An Effect is one thing that will hold after a plan is carried out. Kind says
// what Key names and what State is, so a new type may bring a kind of its own.
type Effect struct {
	Kind  EffectKind
	Key   string
	State any
}

// EffectKind is the namespace of an effect's key.
type EffectKind string

// The kinds the engine itself understands.
const (
	// PathEffect: Key is an absolute path, State a [PathState].
	PathEffect EffectKind = "path"
	// UserEffect and GroupEffect: Key is a name, State an [AccountState].
	UserEffect  EffectKind = "user"
	GroupEffect EffectKind = "group"
	// BelowEffect: Key is the absolute path of a directory, State is nil: anything
	// may change in it, at any depth.
	BelowEffect EffectKind = "below"
	// AnyEffect has neither: anything on the host may change.
	AnyEffect EffectKind = "any"
)

// Anything is the effect of an action that cannot say what it will do: a
// command, the installation of a package. What has been read from the host
// before it may be different after it, so predictions that follow it are
// uncertain.
var Anything = Effect{Kind: AnyEffect}

// PathState is how a path will be.
type PathState struct {
	FileInfo         // Kind Absent: nothing will be there, nor below
	Content  Content // of a regular file, where it is known (the zero Content means it is not)
	// Partial says that only Kind will hold for sure and the rest is unknown: a
	// file that a command is said to create.
	Partial bool
}

// AccountState is how a user or group will be.
type AccountState struct {
	Exists bool
	ID     *int // nil if the host will choose it
}
