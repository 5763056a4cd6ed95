package expr

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// documentFunctions query the document.
var documentFunctions = []*function{
	{name: "parameters", min: 1, max: 1, kinds: []kind{kString}, names: func(e *Evaluator, _ *call, args []any) (Result, error) {
		return lookUp("parameters", e.names.Parameter, args[0].(string))
	}},
	{name: "variables", min: 1, max: 1, kinds: []kind{kString}, names: func(e *Evaluator, _ *call, args []any) (Result, error) {
		return lookUp("variables", e.names.Variable, args[0].(string))
	}},
	{name: "copyIndex", min: 0, max: 2, kinds: []kind{kString | kInt, kInt}, names: copyIndex},
	{name: "lambda", min: 2, max: 3, special: lambdaValue},
	{name: "lambdaVariables", min: 1, max: 1, kinds: []kind{kString}, names: lambdaVariable},
	{name: "map", min: 2, max: 2, special: func(ctx context.Context, e *Evaluator, n *call) (Result, error) { return each(ctx, e, n, mapped) }},
	{name: "filter", min: 2, max: 2, special: func(ctx context.Context, e *Evaluator, n *call) (Result, error) { return each(ctx, e, n, filtered) }},
	{name: "utcNow", min: 0, max: 1, kinds: []kind{kString}, names: utcNow},
	pure("resourceId", 2, 2, resourceID, kString),
	{name: "secret", min: 1, max: 2, names: func(*Evaluator, *call, []any) (Result, error) {
		return Result{}, withHint("give it as a parameter of type secureString", "secret() has no vault here")
	}},
	{name: "stdout", min: 0, max: 0, names: func(*Evaluator, *call, []any) (Result, error) {
		return Result{}, errors.New("stdout() has no meaning in a document")
	}},
}

// hostFunctions query the host. For restartRequired, the host receives additional arguments: the resources to check.
var hostFunctions = []*function{
	{name: "reference", min: 1, max: 1, kinds: []kind{kString}, host: true},
	{name: "stateChanged", min: 1, max: 1, kinds: []kind{kString}, host: true},
	{name: "restartRequired", min: 1, max: -1, kinds: []kind{kString}, host: true},
	{name: "envvar", min: 1, max: 1, kinds: []kind{kString}, host: true},
	{name: "tryWhich", min: 1, max: 1, kinds: []kind{kString}, host: true},
	{name: "context", min: 0, max: 0, host: true},
	// Every host is a Unix system, so these need no query.
	pure("systemRoot", 0, 0, func([]any) (any, error) { return "/", nil }),
	pure("path", 2, -1, joinPath, kString),
}

func lookUp(what string, in func(string) (Result, error), name string) (Result, error) {
	if in == nil {
		return Result{}, fmt.Errorf("%s() cannot be used here", what)
	}
	return in(name)
}

// copyIndex implements copyIndex(), copyIndex(offset), copyIndex(loop) and copyIndex(loop, offset).
func copyIndex(e *Evaluator, _ *call, args []any) (Result, error) {
	if e.names.CopyIndex == nil {
		return Result{}, errors.New("copyIndex() can be used in a resource with copy only")
	}
	loop, offset := "", int64(0)
	for i, arg := range args {
		switch arg := arg.(type) {
		case string:
			loop = arg
		case int64:
			if i == 0 && len(args) == 2 {
				return Result{}, errors.New("copyIndex(): the name of the loop comes first")
			}
			offset = arg
		}
	}
	if offset < 0 {
		return Result{}, fmt.Errorf("copyIndex(): the offset %d is negative", offset)
	}
	i, err := e.names.CopyIndex(loop)
	if err != nil {
		return Result{}, err
	}
	return Result{value: i + offset}, nil
}

// resourceID names a resource: its type, a colon, and its name percent-encoded.
func resourceID(args []any) (any, error) {
	typeName, name := args[0].(string), args[1].(string)
	if strings.Count(typeName, "/") != 1 {
		return nil, fmt.Errorf("%q is not a resource type: a type has one slash", typeName)
	}
	return ResourceID(typeName, name), nil
}

// ResourceID returns the result of resourceId().
func ResourceID(typeName, name string) string { return typeName + ":" + percentEncode(name) }

// joinPath joins paths like Rust's PathBuf::push on Unix: an absolute one replaces the path before it.
func joinPath(args []any) (any, error) {
	path := ""
	for _, arg := range args {
		part := arg.(string)
		switch {
		case strings.HasPrefix(part, "/"), path == "":
			path = part
		case strings.HasSuffix(path, "/"):
			path += part
		default:
			path += "/" + part
		}
	}
	return path, nil
}

// logicFunctions compare and choose.
var logicFunctions = []*function{
	{name: "if", min: 3, max: 3, special: choose},
	pure("and", 2, -1, func(args []any) (any, error) { return count(args, true) == len(args), nil }, kBool),
	pure("or", 2, -1, func(args []any) (any, error) { return count(args, true) > 0, nil }, kBool),
	pure("not", 1, 1, func(args []any) (any, error) { return !args[0].(bool), nil }, kBool),
	pure("true", 0, 0, func([]any) (any, error) { return true, nil }),
	pure("false", 0, 0, func([]any) (any, error) { return false, nil }),
	pure("null", 0, 0, func([]any) (any, error) { return nil, nil }),
	pure("bool", 1, 1, toBool, kBool|kString|kInt),
	pure("equals", 2, 2, func(args []any) (any, error) { return equal(args[0], args[1]), nil }, anything),
	holding(pure("coalesce", 1, -1, func(args []any) (any, error) {
		for _, arg := range args {
			if s, ok := arg.(Secure); arg != nil && !(ok && s.Reveal() == nil) {
				return arg, nil
			}
		}
		return nil, nil
	}, anything)),
	pure("greater", 2, 2, ordered(func(c int) bool { return c > 0 }), kInt|kFloat|kString),
	pure("less", 2, 2, ordered(func(c int) bool { return c < 0 }), kInt|kFloat|kString),
	pure("greaterOrEquals", 2, 2, ordered(func(c int) bool { return c >= 0 }), kInt|kFloat|kString),
	pure("lessOrEquals", 2, 2, ordered(func(c int) bool { return c <= 0 }), kInt|kFloat|kString),
}

// choose implements if(). Only the chosen branch is evaluated; both, if the choice remains for the host.
func choose(ctx context.Context, e *Evaluator, n *call) (Result, error) {
	condition, err := e.eval(ctx, n.args[0])
	if err != nil {
		return Result{}, err
	}
	if condition.residual != nil {
		args := []Result{condition} // not again: ifs in conditions of ifs would double the work each
		for _, arg := range n.args[1:] {
			branch, err := e.eval(ctx, arg)
			if err != nil {
				return Result{}, err
			}
			args = append(args, branch)
		}
		return e.residualCall(ctx, n, args)
	}
	switch chosen := condition.value.(type) {
	case bool:
		if chosen {
			return e.eval(ctx, n.args[1])
		}
		return e.eval(ctx, n.args[2])
	case Secure:
		return Result{}, errors.New("if(): the condition is secure, and the choice would reveal it")
	}
	return Result{}, fmt.Errorf("argument 1 of if() must be a boolean, not %s", Kind(condition.value))
}

func count(args []any, wanted bool) (n int) {
	for _, arg := range args {
		if arg.(bool) == wanted {
			n++
		}
	}
	return n
}

func toBool(args []any) (any, error) {
	switch v := args[0].(type) {
	case bool:
		return v, nil
	case int64:
		return v != 0, nil
	case string:
		switch strings.ToLower(v) {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
		return nil, fmt.Errorf("%q is neither true nor false", v)
	}
	return nil, nil
}

// ordered compares two numbers or two strings, those byte by byte.
func ordered(accept func(int) bool) func([]any) (any, error) {
	return func(args []any) (any, error) {
		if a, ok := args[0].(string); ok {
			b, ok := args[1].(string)
			if !ok {
				return nil, fmt.Errorf("a string cannot be compared with %s", Kind(args[1]))
			}
			return accept(strings.Compare(a, b)), nil
		}
		if _, ok := args[1].(string); ok {
			return nil, fmt.Errorf("%s cannot be compared with a string", Kind(args[0]))
		}
		return accept(compareNumbers(args[0], args[1])), nil
	}
}
