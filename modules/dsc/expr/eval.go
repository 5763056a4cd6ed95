package expr

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Names is what expressions can refer to where a document is read. A function that
// is nil has nothing to give. An error that is no [Placed] is told with the column
// of the call.
type Names struct {
	Parameter func(name string) (Part, error)
	Variable  func(name string) (Part, error)
	Function  func(name string) (*Function, error) // of the user, as namespace.name
	CopyIndex func(loop string) (int64, error)     // "" is the innermost loop
	// Resource gives how the host knows the resource with an id that resourceId() gives.
	Resource func(id string) (ref string, err error)
	// Earlier are the resources that run before, as the host knows them.
	Earlier func() []string
	// Now is the time for utcNow(), which only defaults of parameters may call.
	Now func() time.Time
}

// A Function is one that a document defines. It sees its own parameters alone.
type Function struct {
	Name       string
	Parameters []string
	// Argument gives the value of the parameter with that number, from what the function
	// is called with; nil takes everything as it is.
	Argument func(i int, given Part) (Part, error)
	Value    func(*Evaluator) (Part, error)
}

// A Placed is an error that says itself where it stands.
type Placed struct{ Err error }

func (e *Placed) Error() string { return e.Err.Error() }
func (e *Placed) Unwrap() error { return e.Err }

// Environment answers what only the host knows.
type Environment interface {
	// Ask calls one of the functions reference, stateChanged, restartRequired, envvar,
	// tryWhich and context, whose arguments have been checked. Resources are named as
	// [Names].Resource says. The answer is in the form of encoding/json.
	Ask(ctx context.Context, function string, args []any) (any, error)
}

// A Part is what comes of an expression: a value, or what is left of it for the
// host.
type Part struct {
	value any
	rest  node
}

// Known makes the part of a value.
func Known(v any) Part { return Part{value: Normal(v)} }

// Value gives the value, if it is known.
func (p Part) Value() (v any, known bool) { return p.value, p.rest == nil }

// An Evaluator evaluates expressions, within bounds for all that it evaluates.
type Evaluator struct {
	ctx   context.Context // of one call of Eval
	names *Names
	host  Environment // nil leaves to the host what only it knows
	text  string      // of the expression, for columns
	vars  []binding   // of lambdas, the innermost last
	work  *work
	calls int // of user functions within each other
}

// work is what an evaluator has done so far.
type work struct{ steps, bytes int }

// Bounds of an evaluator: no document needs more, and no value that a host sends
// can make it do more.
const (
	maxSteps = 200_000
	maxBytes = 32 << 20 // of values that functions make, all together
)

type binding struct {
	name  string
	value any
	free  bool // nobody knows the value yet
}

// A lambda is the value of lambda().
type lambda struct {
	at     *call
	params []string
	body   node
	vars   []binding
}

// NewEvaluator makes an evaluator. Without a host, what only it knows is left in the
// parts.
func NewEvaluator(names *Names, host Environment) *Evaluator {
	return &Evaluator{names: names, host: host, work: &work{}}
}

// With is the evaluator for other names, with the same bounds.
func (e *Evaluator) With(names *Names) *Evaluator {
	inner := *e
	inner.names, inner.vars = names, nil
	return &inner
}

// Eval evaluates an expression. The error is an [*Error], a [*Placed], or that of
// ctx.
func (e *Evaluator) Eval(ctx context.Context, x *Expr) (Part, error) {
	inner := *e
	inner.ctx, inner.text = ctx, x.text
	return inner.eval(x.root)
}

// Context is that of the expression that calls a [Function].
func (e *Evaluator) Context() context.Context { return e.ctx }

func (e *Evaluator) errorAt(n node, err error) error {
	if own, ok := errors.AsType[*Error](err); ok {
		if own.Column > 0 || e.text == "" {
			return err
		}
		return &Error{Column: columnOf(e.text, n.column()), Msg: own.Msg, Hint: own.Hint, Err: own.Err}
	}
	if _, ok := errors.AsType[*Placed](err); ok || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	out := &Error{Msg: err.Error(), Err: err}
	if h, ok := errors.AsType[*hinted](err); ok {
		out.Hint = h.hint
	}
	if e.text != "" {
		out.Column = columnOf(e.text, n.column())
	}
	return out
}

// hinted is an error with what to write instead.
type hinted struct{ msg, hint string }

func (e *hinted) Error() string { return e.msg }

func withHint(hint, format string, args ...any) error {
	return &hinted{fmt.Sprintf(format, args...), hint}
}

func (e *Evaluator) eval(n node) (Part, error) {
	if e.work.steps++; e.work.steps > maxSteps {
		return Part{}, e.errorAt(n, fmt.Errorf("the expressions take more than %d steps", maxSteps))
	}
	if e.work.steps%1024 == 0 && e.ctx.Err() != nil {
		return Part{}, context.Cause(e.ctx)
	}
	switch n := n.(type) {
	case *literal:
		return Part{value: n.value}, nil
	case *member:
		return e.member(n)
	case *index:
		return e.index(n)
	case *call:
		p, err := e.call(n)
		if err != nil {
			return Part{}, e.errorAt(n, err)
		}
		return p, nil
	}
	return Part{}, e.errorAt(n, errors.New("an expression of no kind"))
}

func (e *Evaluator) member(n *member) (Part, error) {
	of, err := e.eval(n.of)
	switch {
	case err != nil:
		return Part{}, err
	case of.rest != nil:
		return e.left(&member{at: n.at, of: of.rest, name: n.name, rest: around(of.rest)})
	}
	v, err := memberOf(of.value, n.name, isReference(n.of))
	if err != nil {
		return Part{}, e.errorAt(n, err)
	}
	return Part{value: v}, nil
}

func isReference(n node) bool {
	c, ok := n.(*call)
	return ok && strings.EqualFold(c.name, "reference")
}

// memberOf takes a member of an object. A reference is the state itself; documents
// of the first releases of DSC took that from members of it.
func memberOf(v any, name string, ofState bool) (any, error) {
	switch v := v.(type) {
	case Secure:
		if _, isText := v.Reveal().(string); isText && name == secureString || name == secureObject {
			return v, nil
		}
		inner, err := memberOf(v.Reveal(), name, false)
		if err != nil {
			return nil, errors.New("the secure value has no such member")
		}
		return NewSecure(inner), nil
	case map[string]any:
		if inner, ok := v[name]; ok {
			return inner, nil
		}
		if ofState && (name == "actualState" || name == "afterState") {
			return v, nil
		}
		return nil, withHint(suggestion(name, keys(v)), "the object has no member %q", name)
	}
	return nil, fmt.Errorf("%s has no member %q", Kind(v), name)
}

func (e *Evaluator) index(n *index) (Part, error) {
	of, err := e.eval(n.of)
	if err != nil {
		return Part{}, err
	}
	by, err := e.eval(n.by)
	if err != nil {
		return Part{}, err
	}
	if of.rest != nil || by.rest != nil {
		left, err := e.toNodes(of, by)
		if err != nil {
			return Part{}, err
		}
		return e.left(&index{at: n.at, of: left[0], by: left[1], rest: around(left...)})
	}
	v, err := elementOf(of.value, by.value)
	if err != nil {
		return Part{}, e.errorAt(n, err)
	}
	return Part{value: v}, nil
}

func elementOf(v, by any) (any, error) {
	if s, ok := v.(Secure); ok {
		inner, err := elementOf(s.Reveal(), Revealed(by))
		if err != nil {
			return nil, errors.New("the secure value has no such element")
		}
		return NewSecure(inner), nil
	}
	if s, ok := by.(Secure); ok {
		inner, err := elementOf(v, s.Reveal())
		if err != nil {
			return nil, errors.New("there is no such element")
		}
		return NewSecure(inner), nil
	}
	switch by := by.(type) {
	case string:
		return memberOf(v, by, false)
	case int64:
		list, ok := v.([]any)
		switch {
		case !ok:
			return nil, fmt.Errorf("%s has no element %d", Kind(v), by)
		case by < 0 || by >= int64(len(list)):
			return nil, fmt.Errorf("the index %d is outside an array of %d", by, len(list))
		}
		return list[by], nil
	}
	return nil, fmt.Errorf("an index is an integer or a string, not %s", Kind(by))
}

// call evaluates a call.
func (e *Evaluator) call(n *call) (Part, error) {
	if strings.Contains(n.name, ".") {
		return e.callUser(n)
	}
	name := strings.ToLower(n.name)
	f := functions[name]
	if f == nil {
		return Part{}, withHint(suggestion(n.name, functionNames()), "unknown function %q", n.name)
	}
	if err := f.checkCount(len(n.args)); err != nil {
		return Part{}, err
	}
	if f.special != nil {
		return f.special(e, n)
	}
	args, err := e.args(n)
	if err != nil {
		return Part{}, err
	}
	if f.names != nil {
		return e.callNames(n, f, args)
	}
	if f.host {
		return e.askHost(n, f, args)
	}
	if anyRest(args) {
		return e.remaining(n, args)
	}
	v, err := e.apply(f, values(args))
	return Part{value: v}, err
}

// callNames calls what the document defines; an argument that only the host knows
// cannot choose it.
func (e *Evaluator) callNames(n *call, f *function, args []Part) (Part, error) {
	for i, a := range args {
		if a.rest != nil {
			return Part{}, withHint("", "what %s() is asked for depends on the host", f.name)
		}
		if IsSecure(a.value) {
			return Part{}, fmt.Errorf("%s() is asked for by a secure value", f.name)
		}
		if err := f.checkKind(i, a.value); err != nil {
			return Part{}, err
		}
	}
	return f.names(e, n, values(args))
}

func (e *Evaluator) args(n *call) ([]Part, error) {
	parts := make([]Part, len(n.args))
	for i, arg := range n.args {
		var err error
		if parts[i], err = e.eval(arg); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

func anyRest(args []Part) bool {
	return slices.ContainsFunc(args, func(a Part) bool { return a.rest != nil })
}

// remaining is a call that is left for the host.
func (e *Evaluator) remaining(n *call, args []Part) (Part, error) {
	left, err := e.toNodes(args...)
	if err != nil {
		return Part{}, err
	}
	return e.left(&call{at: n.at, name: n.name, args: left, rest: around(left...)})
}

// maxRest bounds what is left of one expression for a host, in calls, accesses and
// literals: it is a tree there, even if its parts are the same.
const maxRest = 10_000

// maxRestDepth leaves room below maxDepth for [And], one level per group around.
const maxRestDepth = 80

// left gives what is left for a host as a part. The host parses it within the bounds
// of every expression.
func (e *Evaluator) left(n node) (Part, error) {
	switch r := restOf(n); {
	case r.size > maxRest:
		return Part{}, e.errorAt(n, fmt.Errorf("what depends on the host comes to more than %d calls", maxRest))
	case r.depth > maxRestDepth:
		return Part{}, e.errorAt(n, fmt.Errorf("what depends on the host comes to more than %d calls within each other", maxRestDepth))
	}
	return Part{rest: n}, nil
}

// restOf is how large a part of what is left for a host is.
func restOf(n node) rest {
	switch n := n.(type) {
	case *call:
		return n.rest
	case *member:
		return n.rest
	case *index:
		return n.rest
	}
	return rest{size: 1, depth: 1}
}

// around is how large something is with parts that are left for a host.
func around(parts ...node) rest {
	sum := rest{size: 1}
	for _, n := range parts {
		r := restOf(n)
		sum.size += r.size
		sum.depth = max(sum.depth, r.depth)
	}
	sum.depth++
	return sum
}

// toNodes gives parts as expressions again.
func (e *Evaluator) toNodes(parts ...Part) ([]node, error) {
	nodes := make([]node, len(parts))
	for i, p := range parts {
		l, isLambda := p.value.(*lambda)
		switch {
		case p.rest != nil:
			nodes[i] = p.rest
		case isLambda:
			var err error
			if nodes[i], err = e.foldLambda(l); err != nil {
				return nil, err
			}
		default:
			nodes[i] = &literal{value: p.value}
		}
	}
	return nodes, nil
}

func values(parts []Part) []any {
	all := make([]any, len(parts))
	for i, p := range parts {
		all[i] = p.value
	}
	return all
}

// apply calls a function with values. What it makes of a secure one is secure.
func (e *Evaluator) apply(f *function, args []any) (any, error) {
	if err := e.ctx.Err(); err != nil {
		return nil, context.Cause(e.ctx)
	}
	for _, a := range args {
		e.work.steps += lengthOf(a) / elementsPerStep
	}
	tainted := false
	for i, a := range args {
		_, whole := a.(Secure)
		if f.moves && !whole || !IsSecure(a) {
			continue
		}
		if f.holds && whole {
			continue
		}
		tainted = true
		args[i] = Revealed(a)
	}
	for i, a := range args {
		if _, whole := a.(Secure); whole {
			continue
		}
		if err := f.checkKind(i, a); err != nil {
			return nil, err
		}
	}
	v, err := f.do(e, args)
	switch {
	case err != nil && tainted:
		return nil, fmt.Errorf("%s() fails; the details are withheld because a value is secure", f.name)
	case err != nil:
		return nil, fmt.Errorf("%s(): %w", f.name, err)
	}
	if !f.free {
		if err := e.made(v); err != nil {
			return nil, err
		}
	}
	if tainted {
		return NewSecure(v), nil
	}
	return v, nil
}

// elementsPerStep is how many elements of a list, or bytes of a text, that a function
// may have to look at count as one step.
const elementsPerStep = 256

func lengthOf(v any) int {
	switch v := v.(type) {
	case Secure:
		return lengthOf(v.Reveal())
	case string:
		return len(v)
	case []any:
		return len(v)
	case map[string]any:
		return len(v)
	}
	return 0
}

// made counts a value that a function has made. What it shares with others counts
// each time: who writes it out, as join() does, makes it as large as that.
func (e *Evaluator) made(v any) error {
	if e.work.bytes += sizeOf(v, maxBytes); e.work.bytes > maxBytes {
		return fmt.Errorf("the values of the expressions grow beyond %d MiB", maxBytes>>20)
	}
	return nil
}

// askHost calls a function that only the host can answer.
func (e *Evaluator) askHost(n *call, f *function, args []Part) (Part, error) {
	for i, a := range args {
		if a.rest != nil {
			continue
		}
		if IsSecure(a.value) {
			return Part{}, fmt.Errorf("%s() cannot be asked about a secure value", f.name)
		}
		if err := f.checkKind(i, a.value); err != nil {
			return Part{}, err
		}
	}
	switch {
	case e.host == nil:
		return e.leave(n, f, args)
	case anyRest(args):
		return e.remaining(n, args)
	}
	answer, err := e.host.Ask(e.ctx, f.name, values(args))
	if err != nil {
		return Part{}, fmt.Errorf("%s(): %w", f.name, err)
	}
	return Part{value: Normal(answer)}, nil
}

// leave leaves a call to the host, which knows resources by other names.
func (e *Evaluator) leave(n *call, f *function, args []Part) (Part, error) {
	args = append([]Part(nil), args...)
	switch f.name {
	case "reference", "stateChanged":
		if args[0].rest != nil {
			return Part{}, fmt.Errorf("which resource %s() is about depends on the host", f.name)
		}
		if e.names.Resource == nil {
			return Part{}, fmt.Errorf("%s() cannot be used here", f.name)
		}
		ref, err := e.names.Resource(args[0].value.(string))
		if err != nil {
			return Part{}, err
		}
		args[0].value = ref
	case "restartRequired":
		if e.names.Earlier == nil {
			return Part{}, errors.New("restartRequired() cannot be used here")
		}
		if len(args) == 1 {
			args = append(args, Part{value: ""})
		}
		for _, ref := range e.names.Earlier() {
			args = append(args, Part{value: ref})
		}
	}
	return e.remaining(n, args)
}

// maxCalls is how deep user functions may stand in each other's arguments and
// values.
const maxCalls = 16

// callUser calls a function that the document defines.
func (e *Evaluator) callUser(n *call) (Part, error) {
	if e.names.Function == nil {
		return Part{}, withHint("a function that a document defines sees its own parameters alone", "%s() cannot be called here", n.name)
	}
	f, err := e.names.Function(n.name)
	if err != nil {
		return Part{}, err
	}
	if len(n.args) != len(f.Parameters) {
		return Part{}, fmt.Errorf("%s() takes %s, not %d", f.Name, plural(len(f.Parameters), "argument"), len(n.args))
	}
	if e.calls >= maxCalls {
		return Part{}, fmt.Errorf("functions are called more than %d levels deep", maxCalls)
	}
	args, err := e.args(n)
	if err != nil {
		return Part{}, err
	}
	for i := range args {
		if f.Argument == nil {
			break
		}
		if args[i], err = f.Argument(i, args[i]); err != nil {
			return Part{}, err
		}
	}
	inner := e.With(&Names{Parameter: func(name string) (Part, error) {
		for i, known := range f.Parameters {
			if strings.EqualFold(known, name) {
				return args[i], nil
			}
		}
		return Part{}, withHint(suggestion(name, f.Parameters), "%s() has no parameter %q", f.Name, name)
	}})
	inner.calls++
	return f.Value(inner)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// suggestion is the hint with the known name that is nearest to one; "" if none is
// near.
func suggestion(name string, known []string) string {
	if best := Nearest(name, known); best != "" {
		return "did you mean " + best + "?"
	}
	return ""
}

// Nearest finds the first of the known names that are the least edits away from one, at
// most two, whatever the case; "" if there is none.
func Nearest(name string, known []string) string {
	best, least := "", 3
	if len(name) > 64 {
		return ""
	}
	for _, k := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(k), least); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance is the edit distance of two words, or something not below most.
func distance(a, b string, most int) int {
	if len(a)-len(b) >= most || len(b)-len(a) >= most {
		return most
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost = 1 + min(before, row[j], row[j+1])
			}
			before, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
