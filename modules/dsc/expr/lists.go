package expr

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// listFunctions work on arrays and objects, and some of them on strings as lists of
// characters.
var listFunctions = []*function{
	moving(pure("length", 1, 1, length, kString|kArray|kObject)),
	moving(pure("empty", 1, 1, func(args []any) (any, error) {
		if args[0] == nil {
			return true, nil
		}
		n, err := length(args)
		return n == int64(0), err
	}, kNull|kString|kArray|kObject)),
	pure("contains", 2, 2, contains, kString|kArray|kObject, kString|kInt),
	moving(pure("first", 1, 1, firstOf, kString|kArray)),
	moving(pure("last", 1, 1, lastOf, kString|kArray)),
	moving(pure("take", 2, 2, func(args []any) (any, error) { return cut(args, true), nil }, kString|kArray, kInt)),
	moving(pure("skip", 2, 2, func(args []any) (any, error) { return cut(args, false), nil }, kString|kArray, kInt)),
	pure("range", 2, 2, numbersFrom, kInt),
	holding(pure("array", 1, 1, func(args []any) (any, error) { return slices.Clone(args), nil }, anything)),
	holding(pure("createArray", 0, -1, func(args []any) (any, error) { return append([]any{}, args...), nil }, anything)),
	holding(pure("createObject", 0, -1, createObject, anything)),
	moving(pure("objectKeys", 1, 1, func(args []any) (any, error) { return anyList(keys(args[0].(map[string]any))), nil }, kObject)),
	moving(pure("items", 1, 1, items, kObject)),
	{name: "intersection", min: 2, max: -1, kinds: []kind{kArray | kObject}, do: intersection},
	moving(&function{name: "union", min: 2, max: -1, kinds: []kind{kArray | kObject}, do: union}),
	moving(pure("shallowMerge", 1, 1, shallowMerge, kArray)),
	moving(pure("tryGet", 2, 2, tryGet, kArray|kObject, kInt|kString)),
	moving(pure("tryIndexFromEnd", 2, 2, func(args []any) (any, error) {
		list, n := args[0].([]any), args[1].(int64)
		if n < 1 || n > int64(len(list)) {
			return nil, nil
		}
		return list[int64(len(list))-n], nil
	}, kArray, kInt)),
	pure("indexOf", 2, 2, func(args []any) (any, error) { return indexIn(args, false) }, kArray|kString, anything),
	pure("lastIndexOf", 2, 2, func(args []any) (any, error) { return indexIn(args, true) }, kArray|kString, anything),
}

func anyList(texts []string) []any {
	list := make([]any, len(texts))
	for i, s := range texts {
		list[i] = s
	}
	return list
}

func length(args []any) (any, error) {
	switch v := args[0].(type) {
	case string:
		return int64(utf8.RuneCountInString(v)), nil
	case []any:
		return int64(len(v)), nil
	case map[string]any:
		return int64(len(v)), nil
	}
	return int64(0), nil
}

// contains looks for an element, the name of a member, or a part of a string.
func contains(args []any) (any, error) {
	switch in := args[0].(type) {
	case []any:
		return slices.ContainsFunc(in, func(item any) bool { return equal(item, args[1]) }), nil
	case map[string]any:
		key, _ := text(args[1])
		_, there := in[key]
		return there, nil
	}
	part, _ := text(args[1])
	return strings.Contains(args[0].(string), part), nil
}

// firstOf returns the first element. There must be one, unlike for [lastOf], as in dsc.
func firstOf(args []any) (any, error) {
	switch v := args[0].(type) {
	case []any:
		if len(v) == 0 {
			return nil, errors.New("the array is empty")
		}
		return v[0], nil
	case string:
		if v == "" {
			return nil, errors.New("the string is empty")
		}
		_, size := utf8.DecodeRuneInString(v)
		return v[:size], nil
	}
	return nil, nil
}

// lastOf returns the last element: null of an empty array, an empty string of an empty string.
func lastOf(args []any) (any, error) {
	switch v := args[0].(type) {
	case []any:
		if len(v) > 0 {
			return v[len(v)-1], nil
		}
	case string:
		_, size := utf8.DecodeLastRuneInString(v)
		return v[len(v)-size:], nil
	}
	return nil, nil
}

// cut returns the first elements if take is set, or else the elements after them.
func cut(args []any, take bool) any {
	n := max(args[1].(int64), 0)
	if list, ok := args[0].([]any); ok {
		at := min(n, int64(len(list)))
		if take {
			return slices.Clone(list[:at])
		}
		return slices.Clone(list[at:])
	}
	s, at := args[0].(string), 0
	for ; n > 0 && at < len(s); n-- {
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	if take {
		return s[:at]
	}
	return s[at:]
}

// maxRange is the maximum length of a range() result, and maxRangeEnd the limit of its last number: both as in Azure
// Resource Manager.
const (
	maxRange    = 10_000
	maxRangeEnd = 1<<31 - 1
)

func numbersFrom(args []any) (any, error) {
	start, n := args[0].(int64), args[1].(int64)
	switch {
	case n < 0 || n > maxRange:
		return nil, fmt.Errorf("the count %d is outside 0-%d", n, maxRange)
	case start > maxRangeEnd-n:
		return nil, fmt.Errorf("it counts beyond %d", maxRangeEnd)
	}
	list := make([]any, n)
	for i := range n {
		list[i] = start + i
	}
	return list, nil
}

func createObject(args []any) (any, error) {
	if len(args)%2 != 0 {
		return nil, errors.New("write names and values in turn: the last name has no value")
	}
	m := make(map[string]any, len(args)/2)
	for i := 0; i < len(args); i += 2 {
		key, ok := args[i].(string)
		if !ok {
			return nil, fmt.Errorf("argument %d is a name: it must be a string, not %s", i+1, Kind(args[i]))
		}
		m[key] = args[i+1]
	}
	return m, nil
}

func items(args []any) (any, error) {
	m := args[0].(map[string]any)
	list := make([]any, 0, len(m))
	for _, key := range keys(m) {
		list = append(list, map[string]any{"key": key, "value": m[key]})
	}
	return list, nil
}

var errMixed = errors.New("the arguments must be all arrays or all objects")

// sameKind reports whether all arguments are of the kind of the first.
func sameKind(args []any) bool {
	return !slices.ContainsFunc(args, func(v any) bool { return kindOf(v) != kindOf(args[0]) })
}

// maxPairs bounds how many pairs of elements are compared, pairsPerStep how many
// count as one step.
const (
	maxPairs     = 10_000_000
	pairsPerStep = 100
)

func checkPairs(args []any) (pairs int, err error) {
	pairs = 1
	for _, arg := range args {
		if list, ok := arg.([]any); ok {
			if pairs *= max(len(list), 1); pairs > maxPairs {
				return 0, errors.New("the arrays are too long")
			}
		}
	}
	return pairs, nil
}

func intersection(e *Evaluator, args []any) (any, error) {
	if !sameKind(args) {
		return nil, errMixed
	}
	if m, ok := args[0].(map[string]any); ok {
		out := map[string]any{}
		for key, value := range m {
			if !slices.ContainsFunc(args[1:], func(other any) bool {
				v, there := other.(map[string]any)[key]
				return !there || !equal(v, value)
			}) {
				out[key] = value
			}
		}
		return out, nil
	}
	pairs, err := checkPairs(args)
	if err != nil {
		return nil, err
	}
	e.work.steps += pairs / pairsPerStep
	out := []any{}
	for _, item := range args[0].([]any) {
		inAll := !slices.ContainsFunc(args[1:], func(other any) bool { return !has(other.([]any), item) })
		if inAll && !has(out, item) {
			out = append(out, item)
		}
	}
	return out, nil
}

func has(list []any, item any) bool {
	return slices.ContainsFunc(list, func(other any) bool { return equal(other, item) })
}

// union returns all elements, each once; or all members, where later members win.
func union(e *Evaluator, args []any) (any, error) {
	if !sameKind(args) {
		return nil, errMixed
	}
	if _, ok := args[0].(map[string]any); ok {
		return shallowMerge([]any{args})
	}
	out, pairs := []any{}, 0
	for _, arg := range args {
		for _, item := range arg.([]any) {
			if pairs += len(out); pairs > maxPairs {
				return nil, errors.New("the arrays are too long")
			}
			if !has(out, item) {
				out = append(out, item)
			}
		}
	}
	e.work.steps += pairs / pairsPerStep
	return out, nil
}

func shallowMerge(args []any) (any, error) {
	out := map[string]any{}
	for i, item := range args[0].([]any) {
		m, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("element %d is %s, not an object", i, Kind(item))
		}
		maps.Copy(out, m)
	}
	return out, nil
}

func tryGet(args []any) (any, error) {
	if m, ok := args[0].(map[string]any); ok {
		key, ok := args[1].(string)
		if !ok {
			return nil, errors.New("a member is named by a string")
		}
		return m[key], nil
	}
	list := args[0].([]any)
	i, ok := args[1].(int64)
	switch {
	case !ok:
		return nil, errors.New("an element is chosen by an integer")
	case i < 0 || i >= int64(len(list)):
		return nil, nil
	}
	return list[i], nil
}

// indexIn returns the index of an element, or of a part of a string, or -1.
func indexIn(args []any, last bool) (any, error) {
	if list, ok := args[0].([]any); ok {
		found := int64(-1)
		for i, item := range list {
			if equal(item, args[1]) {
				found = int64(i)
				if !last {
					break
				}
			}
		}
		return found, nil
	}
	s := args[0].(string)
	part, ok := args[1].(string)
	if !ok {
		return nil, fmt.Errorf("a string is searched for a string, not for %s", Kind(args[1]))
	}
	at := strings.Index(s, part)
	if last {
		at = strings.LastIndex(s, part)
	}
	if at < 0 {
		return int64(-1), nil
	}
	return int64(utf8.RuneCountInString(s[:at])), nil
}
