package templates

import (
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/checker"
	"github.com/expr-lang/expr/compiler"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"
)

// maxExpr bounds the source of one expression, in bytes: the parser recurses
// once for each parenthesis.
const maxExpr = 16 << 10

// scope is what an expression is compiled against and run with. Only Run is
// read: the rewriter turns the roots into calls, so that one that does not
// exist in a context is an error and not nil.
type scope struct {
	Facts, Data, Environ, Item any
	Run                        *run `expr:"·run"`
}

// compile parses, checks and rewrites an expression, and makes a program of it.
func compile(source string, from origin) (*Expr, error) {
	e := &Expr{source: source, origin: from}
	if err := e.compile(); err != nil {
		return nil, e.explain(err)
	}
	return e, nil
}

func (e *Expr) compile() error {
	if strings.TrimSpace(e.source) == "" {
		return faultf("an empty expression").withHint(`to write the delimiters themselves use {{ "{{ }}" }}`)
	}
	if len(e.source) > maxExpr {
		return faultf("an expression of more than %d KiB", maxExpr>>10)
	}
	config := newConfig()
	tree, err := parser.ParseWithConfig(e.source, config)
	if err != nil {
		return err
	}
	e.flow = exprFlow(tree.Node)
	rw := &rewriter{expr: e}
	tree.Node = rw.rewrite(tree.Node)
	if err := rw.finish(); err != nil {
		return err
	}
	if len(e.flow.variables) > 0 {
		e.flow.mentioned(&e.mentions)
	}
	if e.kind, err = checker.Check(tree, config); err != nil {
		return err
	}
	e.program, err = compiler.Compile(tree, config)
	return err
}

func newConfig() *conf.Config {
	config := conf.CreateNew()
	expr.Env(scope{})(config)
	expr.Optimize(false)(config) // it would rearrange what the rewriter has made
	for _, fn := range functions() {
		config.Functions[fn.Name] = fn
	}
	return config
}

// value runs the expression.
func (e *Expr) value(r *run) (any, error) {
	if err := r.alive(); err != nil {
		return nil, at(e.start(), err)
	}
	v, err := vm.Run(e.program, scope{Run: r})
	if err = r.final(err); err != nil {
		return nil, e.explain(err)
	}
	return v, nil
}
