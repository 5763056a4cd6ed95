package jettemplate

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/CloudyKit/jet/v6"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// maxBlocks is the depth to which the blocks of a template may yield to each other.
const maxBlocks = 1000

// An execution is one execution of a Jet template: the functions that the rewriter
// has put into it. They panic with a [diag.Error], which Jet hands back.
type execution struct {
	*render.Run
	template *engine
	out      render.Output
	printed  int // bytes, including discarded output of a try or exec
	blocks   int // being executed
	tries    []tryMark
	key      string // key of the current piece; "" if it is not remembered
	from     int    // where it begins in the output
	// vars has the names that the template can see: our functions, and during an execution the roots. The functions
	// refer to x, so they are made once for all executions with x.
	vars jet.VarMap
}

// A tryMark has the depth of blocks and templates at which a try began.
type tryMark struct {
	mark, blocks, chain int
}

// begin returns an execution of the template in r.
func (t *engine) begin(r *render.Run) *execution {
	x, _ := t.idle.Get().(*execution)
	if x == nil {
		x = &execution{template: t, vars: jet.VarMap{}}
		x.setFunctions()
	}
	x.Run, x.out = r, render.NewOutput(r)
	x.out.Grow(int(t.longest.Load()))
	for _, name := range r.Env.Seen(t.roots) {
		value, _ := r.Env.Root(name)
		x.vars[name] = reflected(value)
		x.vars[strings.ToLower(name)] = x.vars[name]
	}
	return x
}

// end clears x and returns it to the pool for later executions.
func (x *execution) end() {
	t, vars := x.template, x.vars
	t.hint(x.out.Len())
	for name := range vars {
		if !strings.HasPrefix(name, hiddenPrefix) {
			delete(vars, name)
		}
	}
	*x = execution{template: t, vars: vars}
	t.idle.Put(x)
}

// hint notes how long an output has become.
func (t *engine) hint(n int) {
	t.longest.Store(max(t.longest.Load(), int64(min(n, maxHint))))
}

// maxHint limits the buffer that is reserved for an output because an earlier one was as long, in bytes.
const maxHint = 64 << 10

func (x *execution) setFunctions() {
	for name, fn := range map[string]func(*site, jet.Arguments) (reflect.Value, error){
		atFunc:     x.at,
		memberFunc: x.memberOf,
		foundFunc:  x.found,
		issetFunc:  x.isset,
		callFunc:   x.call,
		rangeFunc:  x.rangeOver,
		printFunc:  x.print,
		deeperFunc: x.deeper,
		enterFunc:  x.enterSite,
		leaveFunc:  x.leaveSite,
		tryFunc:    x.try,
		caughtFunc: x.caught,
		knownFunc:  x.known,
		keepFunc:   x.keep,
	} {
		x.vars.SetFunc(name, x.function(fn))
	}
}

// context returns "." at the beginning of the template: in a scaffold, the values or the argument of render().
func (x *execution) context() any {
	switch of := x.template.scaffold; {
	case of == nil:
		return nil
	case of.Part:
		return x.Dot
	}
	return x.Env.Dot(render.AllRoots()) // it may be handed to parts
}

// function adds the position of the site to any error in fn.
func (x *execution) function(fn func(*site, jet.Arguments) (reflect.Value, error)) jet.Func {
	return func(a jet.Arguments) (v reflect.Value) {
		s := &x.template.sites[a.Get(0).Int()]
		defer func() {
			if p := recover(); p != nil {
				panic(x.placed(x.explain(s, p)))
			}
		}()
		if err := x.Step(); err != nil {
			panic(err)
		}
		v, err := fn(s, a)
		if err != nil {
			panic(err)
		}
		return v
	}
}

// placed keeps the first position of the error that has ended the run: a try or isset may
// catch the error, and only the end of the run shows it.
func (x *execution) placed(err error) error {
	if x.Dead != nil && errors.Is(err, x.Dead) {
		x.Dead = err
	}
	return err
}

// explain turns a panic into a [diag.Error]. Messages of Jet may contain values, so only their kind is used.
func (x *execution) explain(s *site, p any) error {
	err, ok := p.(error)
	if !ok {
		err = fmt.Errorf("%v", p)
	}
	var placed *diag.Error
	if errors.As(err, &placed) {
		return placed
	}
	var f *diag.Fault
	if !errors.As(err, &f) {
		err = s.fault(x.Env, err.Error())
	}
	return diag.At(s.in(x.template.units), err)
}

func (s *site) fault(env *render.Env, msg string) error {
	switch {
	case s.kind == identifierSite:
		if _, err := env.Need(render.RootNamed(s.text)); render.RootNamed(s.text) != "" && err != nil {
			return err
		}
		return undefined(s.text, nil)
	case strings.Contains(msg, "by zero"):
		return diag.Faultf("division by zero in %q", s.text)
	case s.kind == arithmeticSite:
		return diag.Faultf("the two sides of %q do not fit together", s.text)
	}
	return diag.Faultf("%q cannot be evaluated with these values", s.text)
}

// at evaluates an expression.
func (x *execution) at(s *site, a jet.Arguments) (reflect.Value, error) {
	v := a.Get(1)
	switch {
	case !v.IsValid() && s.text == ".":
		return v, diag.Faultf("no context here").WithHint("use Data, Facts or a variable")
	case v.Kind() == reflect.String:
		return v, x.CheckLength(v.Len())
	}
	return v, nil
}

func (x *execution) memberOf(s *site, a jet.Arguments) (reflect.Value, error) {
	v := unreflected(a.Get(1))
	for i, path := range s.keys {
		var err error
		how := render.Strict
		if i == len(s.keys)-1 {
			how = s.last
		}
		if v, err = x.Member(v, unreflected(a.Get(2+i)), how, path); err != nil {
			return reflect.Value{}, withIsset(err, path)
		}
	}
	return reflected(v), nil
}

// withIsset replaces the part of a hint about `??`, which Jet does not have.
func withIsset(err error, path string) error {
	var f *diag.Fault
	if errors.As(err, &f) {
		f.Hint = strings.ReplaceAll(f.Hint, render.DefaultHint(path), "to test whether the key exists, write isset("+path+")")
	}
	return err
}

// found implements `v, ok := m[key]`: no value if the key is missing.
func (x *execution) found(_ *site, a jet.Arguments) (reflect.Value, error) {
	v, err := x.Member(unreflected(a.Get(1)), unreflected(a.Get(2)), render.Optional, "")
	if err != nil || v == render.Absent {
		return reflect.Value{}, err
	}
	return reflected(v), nil
}

func (x *execution) isset(_ *site, a jet.Arguments) (reflect.Value, error) {
	if a.NumOfArguments() < 2 {
		return reflect.Value{}, diag.Faultf(`"isset" needs an argument`)
	}
	for i := 1; i < a.NumOfArguments(); i++ {
		if set, err := x.isSet(a, i); err != nil || !set {
			return reflect.ValueOf(false), err
		}
	}
	return reflect.ValueOf(true), nil
}

func (x *execution) isSet(a jet.Arguments, i int) (set bool, err error) {
	defer func() {
		if recover() != nil {
			set, err = false, x.Dead
		}
	}()
	return unreflected(a.Get(i)) != nil, nil
}

func (x *execution) call(s *site, a jet.Arguments) (reflect.Value, error) {
	if s.call != nil {
		var dot any
		if s.call.Scaffold != nil {
			dot = unreflected(a.Get(2))
		}
		v, err := s.call.RenderWith(x.Run, dot)
		return reflected(v), err
	}
	args := make([]any, 0, a.NumOfArguments())
	for i := 2; i < a.NumOfArguments(); i++ {
		args = append(args, unreflected(a.Get(i)))
	}
	v, err := callFunction(x.Run, s.text, args)
	return reflected(v), err
}

func (x *execution) rangeOver(_ *site, a jet.Arguments) (reflect.Value, error) {
	r, err := newRanger(x.Run, unreflected(a.Get(1)))
	return reflect.ValueOf(r), err
}

// print writes a value. It is the only way into the output.
func (x *execution) print(at *site, a jet.Arguments) (reflect.Value, error) {
	v := a.Get(1)
	if !v.IsValid() {
		return v, nil // the function has no result
	}
	s, err := x.output(at, v)
	if err != nil {
		return reflect.Value{}, err
	}
	x.printed += len(s)
	if err := x.CheckLength(x.printed); err != nil {
		return reflect.Value{}, err
	}
	_, err = io.WriteString(a.Runtime().Writer, s)
	return reflect.Value{}, err
}

// output returns the text to write for a value: its text, or in a document its mark.
func (x *execution) output(at *site, value reflect.Value) (string, error) {
	if x.Marked == nil || at.kind == literalSite {
		switch value.Type() { // the usual types; same result as printable, without a copy
		case stringType:
			return value.String(), nil
		case intType, int64Type:
			return strconv.FormatInt(value.Int(), 10), nil
		}
		return printable(value.Interface())
	}
	v := value.Interface()
	switch caught := v.(type) {
	case jet.Renderer, *ranger:
		return printable(v)
	case error:
		v = caught.Error()
	}
	return x.Marked.Mark(x.Run, v, at.flow)
}

var (
	stringType = reflect.TypeFor[string]()
	intType    = reflect.TypeFor[int]()
	int64Type  = reflect.TypeFor[int64]()
)

func printable(v any) (string, error) {
	switch v := v.(type) {
	case jet.Renderer: // the result of includeIfExists
		return "", nil
	case *ranger:
		return "", diag.Faultf("a range in a text").WithHint(`use "range"`)
	case error: // of catch
		return v.Error(), nil
	}
	s, err := render.TextOf(v)
	var f *diag.Fault
	if errors.As(err, &f) {
		f.Hint = `use "range", or json(…)`
		if v == nil {
			f.Hint = "isset(…) tests for it, or give a default"
		}
	}
	return s, err
}

// deeper evaluates an expression that executes a template.
func (x *execution) deeper(s *site, a jet.Arguments) (reflect.Value, error) {
	leave, err := x.EnterTemplate(s.text)
	if err != nil {
		return reflect.Value{}, err
	}
	defer leave()
	return a.Get(1), nil
}

func (x *execution) enterSite(s *site, _ jet.Arguments) (reflect.Value, error) {
	if s.kind != blockSite {
		_, err := x.EnterTemplate(s.text)
		return reflect.Value{}, err
	}
	if x.blocks++; x.blocks > maxBlocks {
		x.Dead = diag.Faultf("block %q yields more than %d levels deep", s.text, maxBlocks)
	}
	return reflect.Value{}, x.Dead
}

func (x *execution) leaveSite(s *site, _ jet.Arguments) (reflect.Value, error) {
	if s.kind == blockSite {
		x.blocks--
	} else if len(x.Chain) > 0 {
		x.Chain = x.Chain[:len(x.Chain)-1]
	}
	return reflect.Value{}, nil
}

func (x *execution) try(s *site, _ jet.Arguments) (reflect.Value, error) {
	x.tries = append(x.tries, tryMark{mark: s.mark, blocks: x.blocks, chain: len(x.Chain)})
	return reflect.Value{}, nil
}

// caught returns to the depth at which the try began. A try cannot hide that the run has ended.
func (x *execution) caught(s *site, _ jet.Arguments) (reflect.Value, error) {
	for n := len(x.tries) - 1; n >= 0; n-- {
		t := x.tries[n]
		x.tries = x.tries[:n]
		if t.mark == s.mark {
			x.blocks, x.Chain = t.blocks, x.Chain[:min(t.chain, len(x.Chain))]
			break
		}
	}
	return reflect.Value{}, x.CheckDeadline()
}
