package templates

import (
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/expression"
	"github.com/ccm-push/ccm-push/templates/gotemplate"
	"github.com/ccm-push/ccm-push/templates/jettemplate"
	"github.com/ccm-push/ccm-push/templates/render"
)

type (
	// Position is where a text begins.
	Position = diag.Position
	// Error says where in a file something is wrong, what, and what to write instead.
	Error = diag.Error
	// Files is the folder of a play.
	Files = render.Files
	// Env is what the expressions of one host can see.
	Env = render.Env
	// Inventory is what expressions see of the inventory and the run.
	Inventory = render.Inventory
	// Lazy is a map of values that is built when it is first asked for.
	Lazy = render.Lazy
	// Refused stands in the place of a value that cannot be used.
	Refused = render.Refused
	// Taint says which values besides its facts a host has had a say in.
	Taint = render.Taint
	// Inputs are the parts of an environment that a text can read.
	Inputs = render.Inputs
	// Text is a string that may hold expressions.
	Text = expression.Text
	// Expr is one expression.
	Expr = expression.Expr
	// Template is a Jet or Go template.
	Template = render.Template
	// Delims are the delimiters of a template.
	Delims = render.Delims
	// Marked is a document that a Jet template has written.
	Marked = render.Marked
	// NATS gives what is kept in NATS.
	NATS = render.NATS
	// NATSCall is where a text asks it.
	NATSCall = render.NATSCall
	// Scaffold is a folder of templates of one language.
	Scaffold = render.Scaffold
)

const (
	// MaxOutput bounds one rendered text, in bytes.
	MaxOutput = render.MaxOutput
	// MaxFile bounds what is read from one file of a play, in bytes.
	MaxFile = render.MaxFileBytes
	// Roots that are the same for all hosts of a play, for [Inputs.Reads].
	EnvironRoot, GroupsRoot, HostsRoot, PlayRoot = render.EnvironRoot, render.GroupsRoot, render.HostsRoot, render.PlayRoot
	// The functions that ask NATS, in [NATSCall].
	KVGetFunction, RegistrationsFunction = render.KVGetFunction, render.RegistrationsFunction
)

// Open opens the folder of a play. The caller closes it.
func Open(dir string) (*Files, error) { return render.OpenFiles(dir) }

// FactsKey is where a host of Hosts has its facts.
const FactsKey = render.FactsKey

// NewLazy gives a map that build makes, once.
func NewLazy(build func() map[string]any) *Lazy { return render.NewLazy(build) }

// Unusable stands in the place of a value that cannot be used; the hint says what to do
// about it.
func Unusable(hint, format string, args ...any) Refused {
	return Refused{Fault: diag.Faultf(format, args...).WithHint("%s", hint)}
}

// Plain makes a plain value of what was decoded from JSON.
func Plain(v any) (any, error) { return render.PlainCopy(nil, v) }

// NoNATS is the error for a call that asks NATS where none is given.
func NoNATS(call NATSCall) error { return diag.At(call.At, render.NoNATS(call.Function)) }

// NATSFailed is the error for a call that asks NATS, which cannot be asked.
func NATSFailed(call NATSCall, err error) error {
	return diag.At(call.At, diag.Faultf("%s: %v", call.Function, err))
}

// FromHost says how a property gets what a file of the host holds.
func FromHost(name string) string { return render.HostFileHint(name) }

// FolderName is how errors call the folder of a play.
func FolderName(dir string) string { return render.FolderName(dir) }

// Parse parses a string; pos is the position of its first character. All
// errors are [Error].
func Parse(s string, pos Position) (*Text, error) { return expression.Parse(s, pos, languages{}) }

// ParseExpr parses a bare expression, one without delimiters; pos is the
// position of its first character. All errors are [Error].
func ParseExpr(s string, pos Position) (*Expr, error) {
	return expression.ParseExpr(s, pos, languages{})
}

// ParseMarked parses a string of a document as [Parse] does, with the values in
// the place of their marks; see [expression.ParseMarked].
func ParseMarked(m *Marked, s string, pos Position, quoted bool) (*Text, error) {
	return expression.ParseMarked(m, s, pos, quoted, languages{})
}

// HasExpr reports whether s holds an expression.
func HasExpr(s string) bool { return expression.HasExpr(s) }

// Unclosed returns the first {{ or ${ of s that begins no expression, or "" if there is none.
func Unclosed(s string) string { return expression.Unclosed(s) }

// LeftoverStatement says that there are statements of Jinja in s, outside its expressions;
// "" if there are none.
func LeftoverStatement(s string) string {
	if l := diag.JinjaStatements(expression.WithoutExpressions(s, " ")); l != nil {
		return l.String()
	}
	return ""
}

// WithoutExpressions gives s with other in place of each expression.
func WithoutExpressions(s, other string) string { return expression.WithoutExpressions(s, other) }

// ParseJet parses a Jet template; see [jettemplate.Parse]. files may be nil.
func ParseJet(text string, pos Position, delims Delims, files *Files) (*Template, error) {
	return languages{}.ParseJet(text, pos, delims, files, nil)
}

// ParseGo parses a template of text/template; see [gotemplate.Parse].
func ParseGo(text string, pos Position, delims Delims) (*Template, error) {
	return languages{}.ParseGo(text, pos, delims, nil)
}

// JetFile gives a file that is a Jet template with Jet's own delimiters, parsed. Only
// an error in the template itself has a position.
func JetFile(files *Files, name string) (*Template, error) {
	return render.JetFile(files, languages{}, name, Delims{})
}

// Lookup finds a gjson path below the facts of a host, for a program that shows
// them. The error lists the keys that are there instead.
func Lookup(facts map[string]any, path string) (any, error) { return render.Fact(facts, path) }

// At is the position of the text of a scalar.
func At(n *yamlpos.Node) Position { return diag.PositionOf(n) }

// Place gives err the position of n, unless it has one already.
func Place(n *yamlpos.Node, err error) error { return diag.At(diag.PositionOf(n), err) }

// languages hands each language what it can call of the others.
type languages struct{}

var _ render.Languages = languages{}

func (languages) ParseText(text string, pos Position) (render.Source, error) {
	t, err := expression.Parse(text, pos, languages{})
	if err != nil {
		return nil, err // and no Source that holds a nil pointer
	}
	return t, nil
}

func (languages) ParseJet(text string, pos Position, delims Delims, files *Files, of *render.Part) (*Template, error) {
	return jettemplate.Parse(text, pos, delims, files, of, languages{})
}

func (languages) ParseGo(text string, pos Position, delims Delims, of *render.Part) (*Template, error) {
	return gotemplate.Parse(text, pos, delims, of, languages{})
}
