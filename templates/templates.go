package templates

import (
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/expression"
	"github.com/ccm-push/ccm-push/templates/gotemplate"
	"github.com/ccm-push/ccm-push/templates/jettemplate"
	"github.com/ccm-push/ccm-push/templates/jinja"
	"github.com/ccm-push/ccm-push/templates/render"
)

type (
	// Position is the position where a text begins.
	Position = diag.Position
	// Error is an error in a file: its position, the problem, and a suggestion.
	Error = diag.Error
	// Files is the folder of a play.
	Files = render.Files
	// Env has the values that the expressions of one host can read.
	Env = render.Env
	// Inventory has the values of the inventory and the run that expressions can read.
	Inventory = render.Inventory
	// Lazy is a map of values that is built when it is first read.
	Lazy = render.Lazy
	// Refused replaces a value that cannot be used.
	Refused = render.Refused
	// Taint has the values, in addition to its facts, that a host has influenced.
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
	// KeyOrder returns the keys of a map in the order of its source.
	KeyOrder = render.KeyOrder
	// Marked is a document that a Jet template has written.
	Marked = render.Marked
	// NATS reads values from NATS.
	NATS = render.NATS
	// NATSCall is a NATS query in a text.
	NATSCall = render.NATSCall
	// Scaffold is a folder of templates of one language.
	Scaffold = render.Scaffold
)

const (
	// MaxOutput bounds one rendered text, in bytes.
	MaxOutput = render.MaxOutput
	// MaxFile limits the bytes read from one file of a play.
	MaxFile = render.MaxFileBytes
	// Roots that are the same for all hosts of a play, for [Inputs.Reads].
	EnvironRoot, GroupsRoot, HostsRoot, PlayRoot = render.EnvironRoot, render.GroupsRoot, render.HostsRoot, render.PlayRoot
	// Functions that query NATS, in [NATSCall].
	KVGetFunction, RegistrationsFunction = render.KVGetFunction, render.RegistrationsFunction
)

// Open opens the folder of a play. The caller closes it.
func Open(dir string) (*Files, error) { return render.OpenFiles(dir) }

// FactsKey is the key of the facts in a host of Hosts.
const FactsKey = render.FactsKey

// NewLazy returns a map that build makes, once.
func NewLazy(build func() map[string]any) *Lazy { return render.NewLazy(build) }

// WithData returns an environment with other data.
func WithData(env *Env, data map[string]any, order KeyOrder) *Env {
	return render.WithData(env, data, order)
}

// WithItem returns the environment of an element of an each.
func WithItem(env *Env, item any, order KeyOrder) *Env { return render.WithItem(env, item, order) }

// Unusable returns a replacement for a value that cannot be used; the hint suggests a fix.
func Unusable(hint, format string, args ...any) Refused {
	return Refused{Fault: diag.Faultf(format, args...).WithHint("%s", hint)}
}

// WithoutRefused returns a value for people: a text replaces each value that cannot be used.
func WithoutRefused(v any) any {
	switch v := v.(type) {
	case Refused:
		return "[no value here]"
	case map[string]any:
		shown := make(map[string]any, len(v))
		for key, value := range v {
			shown[key] = WithoutRefused(value)
		}
		return shown
	case []any:
		shown := make([]any, len(v))
		for i, value := range v {
			shown[i] = WithoutRefused(value)
		}
		return shown
	}
	return v
}

// Plain converts a value decoded from JSON to a plain value.
func Plain(v any) (any, error) { return render.PlainCopy(nil, v) }

// NoNATS returns the error for a call that queries NATS without a configured server.
func NoNATS(call NATSCall) error { return diag.At(call.At, render.NoNATS(call.Function)) }

// NATSFailed returns the error for a NATS query that failed.
func NATSFailed(call NATSCall, err error) error {
	return diag.At(call.At, diag.Faultf("%s: %v", call.Function, err))
}

// FromHost suggests how a property gets the content of a file on the host.
func FromHost(name string) string { return render.HostFileHint(name) }

// Escapes reports whether a path of an [os.Root] leads out of its folder.
func Escapes(err error) bool { return render.Escapes(err) }

// FolderName returns the name of a play's folder in errors.
func FolderName(dir string) string { return render.FolderName(dir) }

// Parse parses a string; pos is the position of its first character. All
// errors are [Error].
func Parse(s string, pos Position) (*Text, error) { return expression.Parse(s, pos, languages{}) }

// ParseExpr parses a bare expression, one without delimiters; pos is the
// position of its first character. All errors are [Error].
func ParseExpr(s string, pos Position) (*Expr, error) {
	return expression.ParseExpr(s, pos, languages{})
}

// ParseMarked parses a string of a document like [Parse], with the values instead of their marks; see
// [expression.ParseMarked].
func ParseMarked(m *Marked, s string, pos Position, quoted bool) (*Text, error) {
	return expression.ParseMarked(m, s, pos, quoted, languages{})
}

// HasExpr reports whether s holds an expression.
func HasExpr(s string) bool { return expression.HasExpr(s) }

// Unclosed returns the first {{ or ${ of s that does not begin an expression, or "".
func Unclosed(s string) string { return expression.Unclosed(s) }

// LeftoverStatement describes statements of Jinja in s, outside its expressions, or "".
func LeftoverStatement(s string) string {
	if l := diag.JinjaStatements(expression.WithoutExpressions(s, " ")); l != nil {
		return l.String()
	}
	return ""
}

// WithoutExpressions returns s with other in place of each expression.
func WithoutExpressions(s, other string) string { return expression.WithoutExpressions(s, other) }

// ParseJet parses a Jet template; see [jettemplate.Parse]. files may be nil.
func ParseJet(text string, pos Position, delims Delims, files *Files) (*Template, error) {
	return languages{}.ParseJet(text, pos, delims, files, nil)
}

// ParseGo parses a template of text/template; see [gotemplate.Parse].
func ParseGo(text string, pos Position, delims Delims) (*Template, error) {
	return languages{}.ParseGo(text, pos, delims, nil)
}

// JetFile returns a file that is a Jet template with Jet's own delimiters, parsed. Only an error in the template itself
// has a position.
func JetFile(files *Files, name string) (*Template, error) {
	return render.JetFile(files, languages{}, name, Delims{})
}

// Lookup finds a gjson path below the facts of a host, for a program that shows
// them. The error lists the keys that are there instead.
func Lookup(facts map[string]any, path string) (any, error) { return render.Fact(facts, path) }

// At returns the position of the text of a scalar.
func At(n *yamlpos.Node) Position { return diag.PositionOf(n) }

// Place adds the position of n to err, unless it has one already.
func Place(n *yamlpos.Node, err error) error { return diag.At(diag.PositionOf(n), err) }

// languages lets each language call the others.
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

// ParseJinjaValue parses the argument of jinja(): a condition, or a text with delimiters.
func (languages) ParseJinjaValue(text string, pos Position) (render.Value, error) {
	parse := jinja.ParseCondition
	if strings.Contains(text, "{{") || strings.Contains(text, "{%") || strings.Contains(text, "{#") {
		parse = jinja.ParseText
	}
	t, err := parse(text, pos)
	if err != nil {
		return nil, err // and no Value that holds a nil pointer
	}
	return t, nil
}

func (languages) ParseJinja(text string, pos Position, files *Files) (*Template, error) {
	return jinja.Parse(text, pos, files)
}
