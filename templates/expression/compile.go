package expression

import (
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

// MaxExpr bounds the source of one expression, in bytes: the parser recurses
// once for each parenthesis.
const MaxExpr = 16 << 10

// environment is what an expression is compiled against and run with. Only Run is
// read: the rewriter turns the roots into calls, so that one that does not
// exist in a context is an error and not nil.
type environment struct {
	Facts, Data, Environ, Item any
	Run                        *render.Run `expr:"·run"`
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

// configs are those not in use at the moment: each notes types that it has
// seen, so no two may share one, and to make one takes longer than most expressions.
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
	if err := r.Alive(); err != nil {
		return nil, diag.At(e.start(), err)
	}
	v, err := vm.Run(e.program, environment{Run: r})
	if err = r.Final(err); err != nil {
		return nil, e.explain(err)
	}
	return v, nil
}
