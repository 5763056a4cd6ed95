package modules

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
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
	// several parts see [Plan.Foretold].
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
	// Refreshed is set by [Refresher] when the plan acts on a subscription.
	Refreshed bool
	// Steps is the type's own note from Check to Apply. It never leaves the
	// process.
	Steps any
}

// Foretold is what a check run says of the plan. An action of several parts has
// each of them begin behind a full stop and a space.
func (p Plan) Foretold() string {
	const would = "Would have "
	return would + strings.ReplaceAll(p.Action, ". ", ". "+would)
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

// Verifier is a type that knows better than a second Check whether its Apply
// has worked. Verify is called after Apply instead of Check.
type Verifier interface {
	Verify(ctx context.Context, h Host, p Plan) error
}

// Discreet is a type that hands what its resources are given to programs, and may have
// to refuse the places where other users could see it: arguments and the environment.
type Discreet interface {
	// Discreet says that the resource is sensitive. It is called before all other calls
	// on a host, and on the controller before Prepare where that is known.
	Discreet()
}

// Refresher is a type that reacts when a resource it subscribes to has changed.
// Only such types accept `subscribe`.
type Refresher interface {
	// Refresh turns p, which Check has just made, into a plan that also
	// refreshes, and sets Refreshed if it does. It changes nothing on the host.
	Refresh(ctx context.Context, h Host, p Plan) (Plan, error)
}

// FullBuilder is a type that some of its resources need the full host program
// for: what the lean one leaves out because most hosts never need it, such as
// an HTTP client (files behind the build tag "full"). NeedsFull looks at the
// values alone; for values that are not known yet it is asked with zero values.
type FullBuilder interface {
	NeedsFull() bool
}

// A Downloader is a type for some of whose resources the controller downloads
// something.
type Downloader interface {
	// Downloads names the properties that say what is downloaded; none if nothing is.
	// It is asked with zero values for properties that are not known yet.
	Downloads() (from []string)
}

// Batcher is a type that can carry out the plans of several resources in one go,
// which is faster than one after the other. Results do not change by it: what a
// batch has not brought about is applied again singly, so a batch may fail and
// says nothing about its members. It may not be a [Verifier] as well.
type Batcher interface {
	// BatchKey is the same for plans that may go together; "" goes with none.
	BatchKey(p Plan) string
	// ApplyBatch carries out the plans of neighbours in a catalog, in their order,
	// all of one type and with one key. The receiver is the first of them.
	ApplyBatch(ctx context.Context, h Host, batch []Planned) error
}

// Preloader is a type that can find out with one question to the host what the
// Checks of many resources would ask for one by one.
type Preloader interface {
	// Preload asks about all of them: resources of the receiver's type that are still
	// to be checked, the receiver first. It changes nothing. Their Checks get what it
	// returns from [Host.Preloaded], until something has been applied, and ask the
	// host by themselves for what is missing there; so after an error, too.
	Preload(ctx context.Context, h Host, all []Resource) (any, error)
}

// A Nester is a type whose resources stand for the resources of another manifest.
// A controller puts those into the catalog, right before an entry with a Scope;
// no host ever checks or applies a Nester.
type Nester interface {
	Nest() Nest
}

// A Nest is what a [Nester] asks the controller for.
type Nest struct {
	Manifest string         // a path, or the URL of an archive
	Checksum string         // SHA-256 of an archive, in lower-case hex; "" if none is given
	Data     map[string]any // for the nested manifest; nil gives it all that its parent has
	Monitor  bool           // only health checks
	Deny     bool           // the nested manifest may not nest others
}

// Planned is a resource with the plan that its Check has made.
type Planned struct {
	Resource Resource
	Plan     Plan
}

// Redactor is an error whose text may hold what a resource was given or a
// command printed. Redacted is the part that may be shown of a sensitive one.
type Redactor interface {
	error
	Redacted() string
}

// Preparer is a type that needs something from the controller before it is
// sent: the bytes of a file beside the manifest, for example. Prepare is called
// once per host, on the controller, after expressions are resolved and before
// Validate.
type Preparer interface {
	Prepare(ctx context.Context, src Source) error
}

// A Bringer is a [Preparer] that always looks into the folder resources/ of the play:
// see [Source].Resources. One that cannot be sent is then told of before any host is
// contacted.
type Bringer interface {
	Preparer
	BringsPrograms()
}

// Source is what the controller does for a [Preparer]. A program without a
// controller (one-shot `ccm-module run`) fills it from the local disk.
type Source struct {
	// File gives the bytes of a file of the play's folder. The path is relative
	// to the manifest; one that leads out of the folder is an error.
	File func(ctx context.Context, path string) (Content, error)
	// Text takes the bytes of a text that the play has rendered, which are here, and
	// gives what stands for them in the catalog.
	Text func(ctx context.Context, text Content) (Content, error)
	// Download gives what a web server has: a content that is promised, and got at
	// most once per run, when the first host asks for it. Where there is no
	// controller, it is nil.
	Download func(ctx context.Context, d Download) (Content, error)
	// Tree has a folder of the play rendered; see [TreeRenderer]. Where there is no
	// controller, it is nil.
	Tree func(ctx context.Context, r TreeRequest) (*Tree, error)
	// Resources opens the folder resources/ beside the manifest, and notes that hosts
	// need it; nil if the play has none.
	Resources func() fs.FS
	// YAML gives a YAML document as JSON; nil where there is no controller. Errors
	// have a line and a column.
	YAML func(text []byte) (json.RawMessage, error)
	// Memo gives what has been made of files of the play: at the first call with a key,
	// for all hosts of a run. It may be called by many goroutines; nil keeps nothing.
	Memo func(key string, make func() any) any
	// Partial says that not all properties are there: others will send them, or they
	// only choose what is asked about (see [Querier]).
	Partial bool
}

// Remember is Memo, or makes anew what nothing is kept of.
func (s Source) Remember(key string, make func() any) any {
	if s.Memo == nil {
		return make()
	}
	return s.Memo(key, make)
}

// A PropertyError says what is wrong with one property. The controller turns it
// into file:line:column.
type PropertyError struct {
	Path string // the property, with dots and indexes below it: "environment[2]"; "" is the resource itself
	Msg  string // lower case, values quoted with %q
	Hint string // what to write instead; may be empty
	// Unknown is a member of the property at Path that may not be there, if the error
	// is about that, and Known are those that may.
	Unknown string
	Known   []string
}

func (e *PropertyError) Error() string {
	s := e.Msg
	if e.Path != "" {
		s = e.Path + ": " + s
	}
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Errorf makes a [PropertyError] without a hint.
func Errorf(path, format string, args ...any) *PropertyError {
	return &PropertyError{Path: path, Msg: fmt.Sprintf(format, args...)}
}

// PropertyErrors takes apart what Validate, Prepare or [CheckTags] returned. An
// error that is no PropertyError becomes one about the whole resource.
func PropertyErrors(err error) []*PropertyError {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []*PropertyError
		for _, e := range joined.Unwrap() {
			all = append(all, PropertyErrors(e)...)
		}
		return all
	}
	if pe, ok := errors.AsType[*PropertyError](err); ok {
		return []*PropertyError{pe}
	}
	return []*PropertyError{{Msg: err.Error()}}
}

// Warner is a resource that knows what in its properties is valid, and looks like a
// mistake.
type Warner interface {
	Warnings() []*PropertyError
}

// A Type is an entry of the registry.
type Type struct {
	Name string          // as written in manifests: "file"
	Doc  string          // one paragraph for `ccm-push doc`
	New  func() Resource // a pointer to zero properties
	// Family, if set, gives types that nobody could list, by a name with a slash:
	// those of programs of others. r is the registry that is asked.
	Family func(r Registry, name string) (Type, bool)
	// Below, if set, is the property in which everything stands that a manifest
	// writes besides the keys that all types have.
	Below string
}

// A Registry lists the resource types a program knows. modules/builtin has the
// only one.
type Registry []Type

// Lookup finds a type by name.
func (r Registry) Lookup(name string) (Type, bool) {
	i := slices.IndexFunc(r, func(t Type) bool { return t.Name == name })
	if i >= 0 {
		return r[i], true
	}
	if !strings.Contains(name, "/") {
		return Type{}, false
	}
	for _, t := range r {
		if t.Family == nil {
			continue
		}
		if of, ok := t.Family(r, name); ok {
			return of, true
		}
	}
	return Type{}, false
}

// Names lists the types in the order of the registry.
func (r Registry) Names() []string {
	names := make([]string, len(r))
	for i, t := range r {
		names[i] = t.Name
	}
	return names
}

// Decode makes a resource of type name from JSON properties. Unknown properties
// are errors, defaults are filled in, tags and Validate are checked: nothing is
// trusted because it came over the wire.
func (r Registry) Decode(name string, properties json.RawMessage) (Resource, error) {
	t, ok := r.Lookup(name)
	if !ok {
		return nil, fmt.Errorf("unknown resource type %q (known: %s)", name, strings.Join(r.Names(), ", "))
	}
	res := t.New()
	if err := decodeResource(properties, res); err != nil {
		return nil, err
	}
	SetDefaults(res)
	if err := errors.Join(CheckTags(res), res.Validate()); err != nil {
		return nil, err
	}
	return res, nil
}
