package templates

import (
	"context"
	"reflect"
	"strings"

	"github.com/expr-lang/expr/vm"
)

// Expr is one expression. It is parsed once and safe for concurrent use.
type Expr struct {
	source   string
	origin   origin
	program  *vm.Program
	mentions mentions
	flow     flow         // of the value
	kind     reflect.Type // of the value, as far as it can be told; nil is unknown
}

// origin is where the source of an expression begins.
type origin struct {
	pos    Position // of whole
	whole  string   // the text it stands in
	offset int      // in whole, in bytes
}

// at is the position of byte offset of the expression.
func (o origin) at(offset int) Position { return o.pos.within(o.whole, o.offset+offset) }

// ParseExpr parses a bare expression, one without delimiters; pos is the
// position of its first character. All errors are [Error].
func ParseExpr(s string, pos Position) (*Expr, error) {
	return compile(s, origin{pos: pos, whole: s})
}

// Bool gives the value as a condition: nil counts as false, and anything else
// but a boolean is an error.
func (e *Expr) Bool(ctx context.Context, env *Env) (bool, error) {
	r, err := newRun(ctx, env)
	if err != nil {
		return false, at(e.start(), err)
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
	return false, at(e.start(), notBool(kindOf(v)))
}

// CheckBool reports an expression whose value can never be a condition.
func (e *Expr) CheckBool() error {
	if e.kind == nil || e.kind.Kind() == reflect.Interface || e.kind.Kind() == reflect.Bool {
		return nil
	}
	return at(e.start(), notBool(kindOf(reflect.Zero(e.kind).Interface())))
}

func notBool(kind string) *fault {
	return faultf("expected a boolean, got %s", kind).withHint(`write a comparison, such as Data.x == "y"`)
}

// Facts tells which facts the expression can read; see [Text.Facts].
func (e *Expr) Facts(files *Files) (paths []string, all bool) {
	return e.mentions.follow(files).result()
}

// Check is that of [Text.Check].
func (e *Expr) Check(files *Files) error { return e.mentions.check(files) }

// CheckPaths is that of [Text.CheckPaths].
func (e *Expr) CheckPaths(files *Files, taint Taint) error {
	return e.mentions.checkPaths(files, taint)
}

// Mentions reports whether the expression can read a root; see [Text.Mentions].
func (e *Expr) Mentions(root string) bool { return e.mentions.roots[root] }

// start is the position of the first character that is not space.
func (e *Expr) start() Position {
	return e.origin.at(len(e.source) - len(strings.TrimLeft(e.source, " \t\r\n")))
}

// text is the value as text.
func (e *Expr) text(r *run) (string, error) {
	v, err := e.value(r)
	if err != nil {
		return "", err
	}
	if v == nil && r.env.lenient {
		return "", nil
	}
	s, err := text(v)
	if err != nil {
		return "", at(e.start(), err)
	}
	return s, nil
}
