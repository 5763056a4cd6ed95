package templates

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/CloudyKit/jet/v6"
)

// maxBlocks is how deep the blocks of a template may yield to each other.
const maxBlocks = 1000

// A jetRun is one execution of a Jet template: the functions that the rewriter
// has put into it. They panic with an [Error], which Jet hands back.
type jetRun struct {
	*run
	template *jetTemplate
	out      limited
	printed  int // bytes, also of what a try or exec threw away
	blocks   int // being executed
	tries    []tryMark
	key      string // of the piece that is being executed; "" if it is not remembered
	from     int    // where it begins in the output
	// vars is what the template can see: our functions, which know x and so are
	// made once for all executions that x serves, and during one the roots.
	vars jet.VarMap
}

// A tryMark is how deep things were when a try began.
type tryMark struct {
	mark, blocks, chain int
}

// begin gives an execution of the template in r.
func (t *jetTemplate) begin(r *run) *jetRun {
	x, _ := t.idle.Get().(*jetRun)
	if x == nil {
		x = &jetRun{template: t, vars: jet.VarMap{}}
		x.setFunctions()
	}
	x.run, x.out = r, limited{r: r}
	x.out.b.Grow(int(t.longest.Load()))
	for _, name := range rootNames() {
		if value, ok := r.env.root(name); ok {
			x.vars[name] = reflected(value)
			x.vars[strings.ToLower(name)] = x.vars[name]
		}
	}
	return x
}

// end gives x back, with nothing in it that came from this execution.
func (x *jetRun) end() {
	t, vars := x.template, x.vars
	t.longest.Store(max(t.longest.Load(), int64(min(x.out.b.Len(), maxHint))))
	for name := range vars {
		if !strings.HasPrefix(name, jetHidden) {
			delete(vars, name)
		}
	}
	*x = jetRun{template: t, vars: vars}
	t.idle.Put(x)
}

// maxHint bounds what is reserved for an output because another one took it, in
// bytes.
const maxHint = 64 << 10

func (x *jetRun) setFunctions() {
	for name, fn := range map[string]func(*site, jet.Arguments) (reflect.Value, error){
		jetAt:     x.at,
		jetMember: x.memberOf,
		jetFound:  x.found,
		jetIsset:  x.isset,
		jetCall:   x.call,
		jetRange:  x.rangeOver,
		jetPrint:  x.print,
		jetDeeper: x.deeper,
		jetEnter:  x.enterSite,
		jetLeave:  x.leaveSite,
		jetTry:    x.try,
		jetCaught: x.caught,
		jetKnown:  x.known,
		jetKeep:   x.keep,
	} {
		x.vars.SetFunc(name, x.function(fn))
	}
}

// context is "." where the template begins: of a scaffold, the values or what
// render() gives.
func (x *jetRun) context() any {
	switch of := x.template.scaffold; {
	case of == nil:
		return nil
	case of.part:
		return x.dot
	}
	return x.env.dot()
}

// function gives whatever goes wrong in fn the position of its site.
func (x *jetRun) function(fn func(*site, jet.Arguments) (reflect.Value, error)) jet.Func {
	return func(a jet.Arguments) (v reflect.Value) {
		s := &x.template.sites[a.Get(0).Int()]
		defer func() {
			if p := recover(); p != nil {
				panic(x.placed(x.explain(s, p)))
			}
		}()
		if err := x.step(); err != nil {
			panic(err)
		}
		v, err := fn(s, a)
		if err != nil {
			panic(err)
		}
		return v
	}
}

// placed keeps the first position of what has ended the run: a try or isset may
// catch it, and only the end of the run shows it.
func (x *jetRun) placed(err error) error {
	if x.dead != nil && errors.Is(err, x.dead) {
		x.dead = err
	}
	return err
}

// explain turns a panic into an [Error]. Messages of Jet may hold values, so
// only their kind is looked at.
func (x *jetRun) explain(s *site, p any) error {
	err, ok := p.(error)
	if !ok {
		err = fmt.Errorf("%v", p)
	}
	var placed *Error
	if errors.As(err, &placed) {
		return placed
	}
	var f *fault
	if !errors.As(err, &f) {
		err = s.fault(x.env, err.Error())
	}
	return at(s.in(x.template.units), err)
}

func (s *site) fault(env *Env, msg string) error {
	switch {
	case s.kind == identifierSite:
		if _, err := env.needRoot(jetRoot(s.text)); jetRoot(s.text) != "" && err != nil {
			return err
		}
		return undefined(s.text, nil)
	case strings.Contains(msg, "by zero"):
		return faultf("division by zero in %q", s.text)
	case s.kind == arithmeticSite:
		return faultf("the two sides of %q do not fit together", s.text)
	}
	return faultf("%q cannot be evaluated with these values", s.text)
}

// at evaluates an expression.
func (x *jetRun) at(s *site, a jet.Arguments) (reflect.Value, error) {
	v := a.Get(1)
	switch {
	case !v.IsValid() && s.text == ".":
		return v, faultf("there is no context here").withHint("use Data, Facts or a variable")
	case v.Kind() == reflect.String:
		return v, x.fits(v.Len())
	}
	return v, nil
}

func (x *jetRun) memberOf(s *site, a jet.Arguments) (reflect.Value, error) {
	v := unreflected(a.Get(1))
	for i, path := range s.keys {
		var err error
		if v, err = x.member(v, unreflected(a.Get(2+i)), strict, path); err != nil {
			return reflect.Value{}, jetHint(err, path)
		}
	}
	return reflected(v), nil
}

// jetHint replaces what a hint says about `??`, which Jet does not have.
func jetHint(err error, path string) error {
	var f *fault
	if errors.As(err, &f) {
		f.hint = strings.ReplaceAll(f.hint, defaultHint(path), "ask with isset("+path+")")
	}
	return err
}

// found is `v, ok := m[key]`: no value where there is no such key.
func (x *jetRun) found(_ *site, a jet.Arguments) (reflect.Value, error) {
	v, err := x.member(unreflected(a.Get(1)), unreflected(a.Get(2)), optional, "")
	if err != nil || v == absent {
		return reflect.Value{}, err
	}
	return reflected(v), nil
}

func (x *jetRun) isset(_ *site, a jet.Arguments) (reflect.Value, error) {
	if a.NumOfArguments() < 2 {
		return reflect.Value{}, faultf("isset needs an argument")
	}
	for i := 1; i < a.NumOfArguments(); i++ {
		if set, err := x.isSet(a, i); err != nil || !set {
			return reflect.ValueOf(false), err
		}
	}
	return reflect.ValueOf(true), nil
}

func (x *jetRun) isSet(a jet.Arguments, i int) (set bool, err error) {
	defer func() {
		if recover() != nil {
			set, err = false, x.dead
		}
	}()
	return unreflected(a.Get(i)) != nil, nil
}

func (x *jetRun) call(s *site, a jet.Arguments) (reflect.Value, error) {
	if s.call != nil {
		var dot any
		if s.call.scaffold != nil {
			dot = unreflected(a.Get(2))
		}
		v, err := s.call.renderWith(x.run, dot)
		return reflected(v), err
	}
	args := make([]any, 0, a.NumOfArguments())
	for i := 2; i < a.NumOfArguments(); i++ {
		args = append(args, unreflected(a.Get(i)))
	}
	v, err := callJet(x.run, s.text, args)
	return reflected(v), err
}

func (x *jetRun) rangeOver(_ *site, a jet.Arguments) (reflect.Value, error) {
	r, err := newRanger(x.run, unreflected(a.Get(1)))
	return reflect.ValueOf(r), err
}

// print writes a value. It is the only way into the output.
func (x *jetRun) print(at *site, a jet.Arguments) (reflect.Value, error) {
	v := a.Get(1)
	if !v.IsValid() {
		return v, nil // of a function that gives nothing
	}
	s, err := x.output(at, v)
	if err != nil {
		return reflect.Value{}, err
	}
	x.printed += len(s)
	if err := x.fits(x.printed); err != nil {
		return reflect.Value{}, err
	}
	_, err = io.WriteString(a.Runtime().Writer, s)
	return reflect.Value{}, err
}

// output is what is written for a value: its text, or in a document its mark.
func (x *jetRun) output(at *site, value reflect.Value) (string, error) {
	if x.marked == nil || at.kind == literalSite {
		switch value.Type() { // most of what is printed; as printable has it, without a copy
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
	return x.marked.mark(x.run, v, at.flow)
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
		return "", faultf("a range in a text").withHint("use range")
	case error: // of catch
		return v.Error(), nil
	}
	s, err := text(v)
	var f *fault
	if errors.As(err, &f) {
		f.hint = "use range, or json(…)"
		if v == nil {
			f.hint = "ask with isset(…), or give another value"
		}
	}
	return s, err
}

// deeper evaluates an expression that executes a template.
func (x *jetRun) deeper(s *site, a jet.Arguments) (reflect.Value, error) {
	leave, err := x.enter(s.text)
	if err != nil {
		return reflect.Value{}, err
	}
	defer leave()
	return a.Get(1), nil
}

func (x *jetRun) enterSite(s *site, _ jet.Arguments) (reflect.Value, error) {
	if s.kind != blockSite {
		_, err := x.enter(s.text)
		return reflect.Value{}, err
	}
	if x.blocks++; x.blocks > maxBlocks {
		x.dead = faultf("block %q yields more than %d levels deep", s.text, maxBlocks)
	}
	return reflect.Value{}, x.dead
}

func (x *jetRun) leaveSite(s *site, _ jet.Arguments) (reflect.Value, error) {
	if s.kind == blockSite {
		x.blocks--
	} else if len(x.chain) > 0 {
		x.chain = x.chain[:len(x.chain)-1]
	}
	return reflect.Value{}, nil
}

func (x *jetRun) try(s *site, _ jet.Arguments) (reflect.Value, error) {
	x.tries = append(x.tries, tryMark{mark: s.mark, blocks: x.blocks, chain: len(x.chain)})
	return reflect.Value{}, nil
}

// caught goes back to how deep things were, and does not let a try hide that
// the run has ended.
func (x *jetRun) caught(s *site, _ jet.Arguments) (reflect.Value, error) {
	for n := len(x.tries) - 1; n >= 0; n-- {
		t := x.tries[n]
		x.tries = x.tries[:n]
		if t.mark == s.mark {
			x.blocks, x.chain = t.blocks, x.chain[:min(t.chain, len(x.chain))]
			break
		}
	}
	return reflect.Value{}, x.alive()
}
