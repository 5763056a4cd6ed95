package modules

import (
	"context"
	"strings"
)

// A Resource is one thing that shall be in a certain state on one host: the
// property struct of its type with every value resolved.
//
// Check compares and changes nothing. Apply carries out exactly the plan that
// Check made. Neither knows whether the run is a check run: in one, Apply is
// not called and Check sees what earlier plans would have done.
type Resource interface {
	// Validate reports what the tags of the struct cannot say, as PropertyErrors
	// (joined when there are several). It looks at the values alone, before and
	// after Prepare, and at zero values for properties that are not known yet: a
	// controller tries variants of those, and reports what is wrong with all of
	// them. So the verdict about one property may depend on whether another one is
	// given, on its enum or its boolean; if it depends on more, it names both.
	Validate() error
	Check(ctx context.Context, h Host) (Plan, error)
	Apply(ctx context.Context, h Host, p Plan) error
}

// A Plan is what Check found: what differs, and what Apply would do about it.
// The zero Plan means that nothing differs.
type Plan struct {
	// Action says what Apply does, as the end of a sentence that begins with
	// "Would have": "created the file". Empty means that there is nothing to do. For
	// several parts see [Plan.Predicted].
	Action string
	// Changes are the properties that differ, with both values. An action
	// without a comparable state (a command) has none.
	Changes []Change
	// Effects are what will hold once Apply has succeeded; later resources of a
	// check run see them. An action that may do more than it can say adds
	// [Anything].
	Effects []Effect
	// Texts are the files whose text changes, so that the engine can show a unified
	// diff of each if the run asks for diffs.
	Texts []TextChange
	// Needs are the contents that Apply will open, so that the engine can ask
	// for all that a catalog lacks at once.
	Needs []Content
	// MayFail says that only Apply finds out whether the plan can be carried out, so that
	// a prediction of it is uncertain.
	MayFail bool
	// Command says whether Apply starts a command, and whether that may start again when its end was not seen.
	Command Repeat
	// Refreshed is set by [Refresher] when the plan acts on a subscription.
	Refreshed bool
	// Steps is the type's own note from Check to Apply. It never leaves the
	// process.
	Steps any
}

// Repeat says whether Apply starts a command of the manifest.
type Repeat int

const (
	NoCommand  Repeat = iota // what Apply does is safe to repeat: Check finds what is left to do
	Repeatable               // a command, and something makes it safe to repeat: a guard, or that it waits for refreshes
	RunsOnce                 // a command that nothing makes safe to repeat
)

// Predicted is what a check run says of the plan. An action of several parts has
// each of them begin behind a full stop and a space.
func (p Plan) Predicted() string {
	const would = "Would have "
	return would + strings.ReplaceAll(p.Action, ". ", ". "+would)
}

// Add adds what another plan changes, of a resource that is made of several parts. Action and
// Steps are left to who puts them together.
func (p *Plan) Add(part Plan) {
	p.Changes = append(p.Changes, part.Changes...)
	p.Effects = append(p.Effects, part.Effects...)
	p.Texts = append(p.Texts, part.Texts...)
	p.Needs = append(p.Needs, part.Needs...)
	p.MayFail = p.MayFail || part.MayFail
}

// Pending reports whether there is anything to do.
func (p Plan) Pending() bool { return p.Action != "" }

// A Change is one property that differs. Have and Want are short texts: a mode,
// an owner, "sha256:…" for contents.
type Change struct {
	Property string `json:"property"`
	Have     string `json:"have"`
	Want     string `json:"want"`
}

// MaxParts bounds the changes, and the notes, of one resource: the engine says no more,
// and a controller takes no more.
const MaxParts = 1000

// A TextChange names a text before and after: the file at Path as it is now
// (nothing, if it is absent or Path is empty) and Want (nothing, if it is zero).
type TextChange struct {
	Path string
	Want Content
}

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
	// DiffersEffect: Key is an absolute path that will differ in a way that this effect does not
	// predict: it may be new or gone, or have other content. State is the [EffectKind] by which the
	// plan predicts the meaning of the file, if there is one: readers that use it call [Files.Knowing].
	DiffersEffect EffectKind = "differs"
	// MountEffect: Key is the absolute path of a mount point, State has the method Mounted() bool.
	MountEffect EffectKind = "mount"
	// AnyEffect has neither: anything on the host may change.
	AnyEffect EffectKind = "any"
	// LiveEffect is no plan's. A type that looks at the host by itself, such as at its
	// network, asks the forecast for it: its answer is then in doubt as that of a probe is.
	LiveEffect EffectKind = "live"
)

// OffersEffect is of what changes what repositories of packages offer. It has neither key nor state:
// nobody knows beforehand what.
const OffersEffect EffectKind = "offers"

// Differ returns the effects of a plan that changes paths in a way that it does not predict. kind is
// the kind of effect that predicts the meaning of these files; empty if there is none.
func Differ(kind EffectKind, paths ...string) []Effect {
	var effects []Effect
	for _, p := range paths {
		effects = append(effects, Effect{Kind: DiffersEffect, Key: p, State: kind})
	}
	return effects
}

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
	// Stays says that it need not be kept for undoing the run: a copy by [FileWriter.Copy],
	// or what Apply has kept itself (see [Host.KeepAttributes]).
	Stays bool
	// Xattrs are as [Files].Xattrs gives them.
	Xattrs []string
}

// AccountState is how a user or group will be.
type AccountState struct {
	Exists bool
	ID     *int // nil if the host will choose it
}
