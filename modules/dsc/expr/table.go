package expr

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A kind is a set of types that an argument may have.
type kind uint

const (
	kNull kind = 1 << iota
	kBool
	kInt
	kFloat
	kString
	kArray
	kObject
	kLambda
)

const anything = kNull | kBool | kInt | kFloat | kString | kArray | kObject

var kindNames = []struct {
	kind kind
	name string
}{
	{kNull, "null"}, {kBool, "a boolean"}, {kInt, "an integer"}, {kFloat, "a number"},
	{kString, "a string"}, {kArray, "an array"}, {kObject, "an object"}, {kLambda, "a lambda"},
}

func kindOf(v any) kind {
	switch v.(type) {
	case nil:
		return kNull
	case bool:
		return kBool
	case int64:
		return kInt
	case float64:
		return kFloat
	case string:
		return kString
	case []any:
		return kArray
	case map[string]any:
		return kObject
	case *lambda:
		return kLambda
	}
	return 0
}

// A function of the language. One of special, names, host and do evaluates it.
type function struct {
	name     string // as it is written
	min, max int    // arguments; max -1 is any number
	kinds    []kind // kinds of the arguments; the last one applies to all further ones

	special func(context.Context, *Evaluator, *call) (Result, error) // evaluates the arguments itself
	names   func(*Evaluator, *call, []any) (Result, error)           // queries the document
	host    bool                                                     // queries the host
	do      func(*Evaluator, []any) (any, error)

	moves bool // it moves parts of its arguments without looking at them
	holds bool // it moves arguments as a whole
}

func (f *function) checkCount(n int) error {
	if n >= f.min && (f.max < 0 || n <= f.max) {
		return nil
	}
	switch {
	case f.max < 0:
		return fmt.Errorf("%s() takes at least %s, not %d", f.name, plural(f.min, "argument"), n)
	case f.min == f.max:
		return fmt.Errorf("%s() takes %s, not %d", f.name, plural(f.min, "argument"), n)
	}
	return fmt.Errorf("%s() takes %d to %s, not %d", f.name, f.min, plural(f.max, "argument"), n)
}

func (f *function) checkKind(i int, v any) error {
	if len(f.kinds) == 0 {
		return nil
	}
	wanted := f.kinds[min(i, len(f.kinds)-1)]
	if kindOf(v)&wanted != 0 {
		return nil
	}
	var names []string
	for _, k := range kindNames {
		if wanted&k.kind != 0 {
			names = append(names, k.name)
		}
	}
	return fmt.Errorf("argument %d of %s() must be %s, not %s", i+1, f.name, strings.Join(names, " or "), Kind(v))
}

// functions are the functions of the language, by their names in lower case.
var functions map[string]*function

func init() { // table refers to evaluating, which refers to functions
	functions = map[string]*function{}
	for _, f := range slices.Concat(documentFunctions, hostFunctions, logicFunctions, numberFunctions, textFunctions, codeFunctions, listFunctions, netFunctions) {
		functions[strings.ToLower(f.name)] = f
	}
}

// functionNames returns the names of the functions as written, sorted.
func functionNames() []string {
	var names []string
	for _, key := range slices.Sorted(maps.Keys(functions)) {
		names = append(names, functions[key].name)
	}
	return names
}

// pure makes a function of one or more values.
func pure(name string, least, most int, do func([]any) (any, error), kinds ...kind) *function {
	return &function{name: name, min: least, max: most, kinds: kinds, do: func(_ *Evaluator, args []any) (any, error) { return do(args) }}
}

// moving marks a pure function that does not read the parts that it moves.
func moving(f *function) *function { f.moves = true; return f }

// holding marks a moving function that does not read its arguments either.
func holding(f *function) *function { f.moves, f.holds = true, true; return f }
