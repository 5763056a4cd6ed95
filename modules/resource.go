package modules

import (
	"context"
	"strings"
)

// A Resource is one thing with a desired state on one host: the property struct of its type with every value resolved.
//
// Check compares and changes nothing. Apply carries out exactly the plan of Check. Neither knows whether the run is a
// check run: in one, Apply is not called and Check sees the predicted effects of earlier plans.
type Resource interface {
	// Validate reports faults that the tags of the struct cannot express, as PropertyErrors (joined when there are
	// several). It depends on the values alone, before and after Prepare, with zero values for properties that are not
	// known yet. A controller tries variants of unknown properties, and reports faults of all variants. So the verdict
	// about one property may depend on another property only by its presence, its enum or its boolean. If it depends on
	// more, the error names both properties.
	Validate() error
	Check(ctx context.Context, h Host) (Plan, error)
	Apply(ctx context.Context, h Host, p Plan) error
}

// A Plan is the result of Check: the differences, and the actions of Apply. The zero Plan means that nothing differs.
type Plan struct {
	// Action describes Apply, as the end of a sentence that begins with "Would have": "created the file". Empty means
	// no change. For several parts see [Plan.Predicted].
	Action string
	// Changes are the properties that differ, with both values. An action
	// without a comparable state (a command) has none.
	Changes []Change
	// Effects are the facts after a successful Apply; later resources of a check run see them. An action with unknown
	// further effects adds [Anything].
	Effects []Effect
	// Texts are the files whose text changes. The engine shows a unified diff of each if the run requests diffs.
	Texts []TextChange
	// Needs are the contents that Apply will open, so that the engine can request all missing ones of a catalog at
	// once.
	Needs []Content
	// MayFail declares that only Apply can find out whether the plan succeeds, so that a prediction of it is uncertain.
	MayFail bool
	// LikelySucceeds declares the same of a plan that succeeds in nearly all cases: a prediction of it is likely.
	LikelySucceeds bool
	// Listed declares that the manifest lists the effects. The engine verifies the list.
	Listed bool
	// Idle declares that Apply only waits, and changes nothing: the result of a run is stable.
	Idle bool
	// Command declares whether Apply starts a command, and whether that command may start again if its end was not
	// seen.
	Command Repeat
	// Refreshed is set by [Refresher] when the plan acts on a subscription.
	Refreshed bool
	// Serves is set by [Merger]: the action of a refresh that is no longer needed after the plan, see [Serves]. A start
	// makes a restart unnecessary.
	Serves string
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

// Predicted returns the text of a check run for the plan. Each part of an action of several parts begins after a full
// stop and a space.
func (p Plan) Predicted() string {
	const would = "Would have "
	return would + strings.ReplaceAll(p.Action, ". ", ". "+would)
}

// Add adds the changes of another plan, for a resource of several parts. The caller combines Action and Steps.
func (p *Plan) Add(part Plan) {
	p.Changes = append(p.Changes, part.Changes...)
	p.Effects = append(p.Effects, part.Effects...)
	p.Texts = append(p.Texts, part.Texts...)
	p.Needs = append(p.Needs, part.Needs...)
	p.MayFail = p.MayFail || part.MayFail
	p.LikelySucceeds = p.LikelySucceeds || part.LikelySucceeds
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

// MaxParts bounds the changes, and the notes, of one resource: the engine sends no more, and a controller accepts no
// more.
const MaxParts = 1000

// A TextChange names a text before and after: the file at Path as it is now
// (nothing, if it is absent or Path is empty) and Want (nothing, if it is zero).
type TextChange struct {
	Path string
	Want Content
}

// An Effect is one fact after a plan is applied. Kind defines the meaning of Key and State, so a new type may bring a
// kind of its own.
type Effect struct {
	Kind  EffectKind
	Key   string
	State any
	// Likely reports that the state is only likely: see [Likely]. With [DiffersEffect] or [BelowEffect] of a directory, existing paths
	// below it may differ, and likely no new ones appear.
	Likely bool
}

// Anywhere reports whether the effect may concern anything on the host: [AnyEffect] and [ElsewhereEffect].
func (e Effect) Anywhere() bool { return e.Kind == AnyEffect || e.Kind == ElsewhereEffect }

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
	// ElsewhereEffect has neither: what the other effects of the plan do not name may change, but likely does not.
	ElsewhereEffect EffectKind = "elsewhere"
	// KindEffect: Key is an [EffectKind]: everything of this kind may change.
	KindEffect EffectKind = "kind"
	// LiveEffect belongs to no plan. A type that examines what runs on the host, for example a port, looks it up. With an
	// empty key, the host is as wanted, or likely will be after the planned changes. With the key [NotYet], any planned change
	// may give another answer, so that the answer is unknown. The state is the [Grade] of the answer, which is also the
	// doubt that Lookup adds. Outside check runs it is not found.
	LiveEffect EffectKind = "live"
	// RereadEffect is the effect of a plan that reloads all unit files in systemd. It has neither key nor state. For Lookup,
	// Key is a list of paths, one per line: Lookup finds the effect if none of these paths changes after that plan.
	RereadEffect EffectKind = "reread"
	// KindOnly belongs to no plan. A reader that needs to know whether a path exists, and its [FileKind], but neither owner
	// nor mode, calls [Files.Knowing] with it.
	KindOnly EffectKind = "kind only"
	// ProbeEffect belongs to no plan. A type looks it up before it runs a program that may read anything, but most likely
	// reads certain paths. Key is these absolute paths, one per line, or empty; a directory includes everything in it. The state is
	// the [Grade] of the program's answer, which is also the doubt that Lookup adds. Outside check runs it is not found.
	ProbeEffect EffectKind = "probe"
)

// NotYet is a key of [LiveEffect].
const NotYet = "not yet"

// Kinds of types that the engine and lists of [Affects] name, too.
const (
	UnitEffect     EffectKind = "unit"
	PackageEffect  EffectKind = "package"
	FirewallEffect EffectKind = "firewall"
)

// OffersEffect changes the offers of package repositories. It has neither key nor state: the change cannot be
// predicted.
const OffersEffect EffectKind = "offers"

// Differ returns the effects of a plan whose changes of paths are not predicted. kind is the kind of effect that
// predicts the meaning of these files, or empty.
func Differ(kind EffectKind, paths ...string) []Effect {
	var effects []Effect
	for _, p := range paths {
		effects = append(effects, Effect{Kind: DiffersEffect, Key: p, State: kind})
	}
	return effects
}

// Anything is the effect of an action with unknown effects: a command, the installation of a package. Facts that were
// read before it may change, so later predictions are uncertain.
var Anything = Effect{Kind: AnyEffect}

// Elsewhere is the effect of an action that likely changes only what the other effects of its plan name: the restart of
// a service. Later predictions that read anything else are likely, not certain.
var Elsewhere = Effect{Kind: ElsewhereEffect}

// PathState is the predicted state of a path.
type PathState struct {
	FileInfo         // Kind Absent: nothing will be there, nor below
	Content  Content // content of a regular file; the zero Content means unknown
	// Partial reports that only Kind is certain, and Content if there is one: for example the file that a command declares
	// to create.
	Partial bool
	// Stays reports that an undo of the run need not keep the path: a copy by [FileWriter.Copy], or a path that Apply
	// has kept itself (see [Host.KeepAttributes]).
	Stays bool
	// Xattrs has the form of [Files].Xattrs.
	Xattrs []string
}

// AccountState is the predicted state of a user or group.
type AccountState struct {
	Exists bool
	ID     *int // nil if the host will choose it
}
