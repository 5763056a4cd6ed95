package expression

import (
	"context"
	"reflect"
	"strings"

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
	flow    render.Flow  // of the value
	kind    reflect.Type // of the value, as far as it can be told; nil is unknown
}

// origin is where the source of an expression begins.
type origin struct {
	pos    diag.Position // of whole
	whole  string        // the text it stands in
	offset int           // in whole, in bytes
}

// at is the position of byte offset of the expression.
func (o origin) at(offset int) diag.Position { return o.pos.Within(o.whole, o.offset+offset) }

// ParseExpr parses a bare expression, one without delimiters; pos is the
// position of its first character. All errors are [diag.Error].
func ParseExpr(s string, pos diag.Position, in render.Languages) (*Expr, error) {
	return compile(s, origin{pos: pos, whole: s}, in)
}

// Bool gives the value as a condition: nil counts as false, and anything else
// but a boolean is an error.
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

// Facts tells which facts the expression can read; see [Text.Facts].
func (e *Expr) Facts(files *render.Files) (paths []string, all bool) {
	return e.reads.Follow(files).Result()
}

// Check is that of [Text.Check].
func (e *Expr) Check(files *render.Files) error { return e.reads.Check(files) }

// CheckPaths is that of [Text.CheckPaths].
func (e *Expr) CheckPaths(files *render.Files, taint render.Taint) error {
	return e.reads.CheckPaths(files, taint)
}

// Mentions reports whether the expression can read a root; see [Text.Mentions].
func (e *Expr) Mentions(root string) bool { return e.reads.Roots[root] }

// start is the position of the first character that is not space.
func (e *Expr) start() diag.Position {
	return e.origin.at(len(e.source) - len(strings.TrimLeft(e.source, " \t\r\n")))
}

// text is the value as text.
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
