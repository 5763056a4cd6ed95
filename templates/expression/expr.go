package expression

import (
	"context"
	"reflect"
	"regexp"
	"strings"
	"sync"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/checker"
	"github.com/expr-lang/expr/compiler"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// Expr is one expression. It is parsed once and safe for concurrent use.
type Expr struct {
	source  string
	origin  origin
	program *vm.Program
	reads   render.Reads
	flow    render.Flow  // flow of the value
	kind    reflect.Type // type of the value if known; nil means unknown
}

var onlyData = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*Data((?:\.[A-Za-z_]\w*)+)\s*$`) })

// dataPath returns the path in the data if the expression consists only of that; else nil.
func (e *Expr) dataPath() []string {
	m := onlyData().FindStringSubmatch(e.source)
	if m == nil {
		return nil
	}
	return strings.Split(m[1][1:], ".")
}

// origin is the position where the source of an expression begins.
type origin struct {
	pos    diag.Position // of whole
	whole  string        // the text that contains it
	offset int           // in whole, in bytes
}

// at returns the position of byte offset of the expression.
func (o origin) at(offset int) diag.Position { return o.pos.Within(o.whole, o.offset+offset) }

// ParseExpr parses a bare expression, one without delimiters; pos is the
// position of its first character. All errors are [diag.Error].
func ParseExpr(s string, pos diag.Position, in render.Languages) (*Expr, error) {
	return compile(s, origin{pos: pos, whole: s}, in)
}

// Bool returns the value as a condition: nil counts as false, and any other value that is not a boolean is an error.
func (e *Expr) Bool(ctx context.Context, env *render.Env) (bool, error) {
	r, err := render.Begin(ctx, env)
	if err != nil {
		return false, diag.At(e.start(), err)
	}
	v, err := e.value(r)
	if err != nil {
		return false, err
	}
	switch v := v.(type) {
	case nil:
		return false, nil
	case bool:
		return v, nil
	}
	return false, diag.At(e.start(), notBool(render.KindName(v)))
}

// CheckBool reports an expression whose value can never be a condition.
func (e *Expr) CheckBool() error {
	if e.kind == nil || e.kind.Kind() == reflect.Interface || e.kind.Kind() == reflect.Bool {
		return nil
	}
	return diag.At(e.start(), notBool(render.KindName(reflect.Zero(e.kind).Interface())))
}

func notBool(kind string) *diag.Fault {
	return diag.Faultf("expected a boolean, got %s", kind).WithHint(`write a comparison, such as Data.x == "y"`)
}

// Facts returns the facts that the expression can read; see [Text.Facts].
func (e *Expr) Facts(files *render.Files) (paths []string, all bool) {
	return e.reads.Follow(files).Result()
}

// Check works like [Text.Check].
func (e *Expr) Check(files *render.Files) error { return e.reads.Check(files) }

// CheckPaths works like [Text.CheckPaths].
func (e *Expr) CheckPaths(files *render.Files, taint render.Taint) error {
	return e.reads.CheckPaths(files, taint)
}

// Mentions reports whether the expression can read a root; see [Text.Mentions].
func (e *Expr) Mentions(root string) bool { return e.reads.Roots[root] }

// String returns the source of the expression, without space around it.
func (e *Expr) String() string { return strings.TrimSpace(e.source) }

// At returns the position where the expression begins.
func (e *Expr) At() diag.Position { return e.start() }

// start returns the position of the first character that is not space.
func (e *Expr) start() diag.Position {
	return e.origin.at(len(e.source) - len(strings.TrimLeft(e.source, " \t\r\n")))
}

// text returns the value as text.
func (e *Expr) text(r *render.Run) (string, error) {
	v, err := e.value(r)
	if err != nil {
		return "", err
	}
	if v == nil && r.Lenient {
		return "", nil
	}
	s, err := render.TextOf(v)
	if err != nil {
		return "", diag.At(e.start(), err)
	}
	return s, nil
}

// MaxExpr bounds the source of one expression, in bytes: the parser recurses
// once for each parenthesis.
const MaxExpr = 16 << 10

// environment is the environment for compiling and running an expression. Only Run is read: the rewriter turns the
// roots into calls, so that a root that does not exist in a context is an error and not nil.
type environment struct {
	Facts, Data, Environ, Item, Outer, Host, Groups, Hosts, Play, Results any

	RunRoot any         `expr:"Run"`
	Run     *render.Run `expr:"·run"`
}

// compile parses, checks and rewrites an expression, and makes a program of it.
func compile(source string, from origin, in render.Languages) (*Expr, error) {
	e := &Expr{source: source, origin: from}
	if err := e.compile(in); err != nil {
		return nil, e.explain(err)
	}
	return e, nil
}

func (e *Expr) compile(in render.Languages) error {
	if strings.TrimSpace(e.source) == "" {
		return diag.Faultf("an empty expression").WithHint(`to write the delimiters themselves use {{ "{{ }}" }}`)
	}
	if len(e.source) > MaxExpr {
		return diag.Faultf("an expression of more than %d KiB", MaxExpr>>10)
	}
	config := configs.Get().(*conf.Config)
	defer configs.Put(config)
	tree, err := parser.ParseWithConfig(e.source, config)
	if err != nil {
		return err
	}
	e.flow = flowOf(tree.Node)
	rw := &rewriter{expr: e, languages: in}
	tree.Node = rw.rewrite(tree.Node)
	if err := rw.finish(); err != nil {
		return err
	}
	if len(e.flow.Variables) > 0 {
		e.flow.AddReads(&e.reads)
	}
	if e.kind, err = checker.Check(tree, config); err != nil {
		return err
	}
	e.program, err = compiler.Compile(tree, config)
	return err
}

// configs are the configurations not in use. Each notes types that it has seen, so two
// expressions may not share one at a time; making one takes longer than most expressions.
var configs = sync.Pool{New: func() any { return newConfig() }}

func newConfig() *conf.Config {
	config := conf.CreateNew()
	expr.Env(environment{})(config)
	expr.Optimize(false)(config) // it would rearrange what the rewriter has made
	for _, fn := range functions() {
		config.Functions[fn.Name] = fn
	}
	return config
}

// value runs the expression.
func (e *Expr) value(r *render.Run) (any, error) {
	if err := r.CheckDeadline(); err != nil {
		return nil, diag.At(e.start(), err)
	}
	v, err := vm.Run(e.program, environment{Run: r})
	if err = r.FinalErr(err); err != nil {
		return nil, e.explain(err)
	}
	return v, nil
}
