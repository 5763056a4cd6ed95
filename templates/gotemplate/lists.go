package gotemplate

import (
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// boundedLists returns the functions of lists whose work or result grows.
func boundedLists() map[string]function {
	unique, without, has := function{"l", (*goRun).unique}, function{"la*", (*goRun).without}, function{"aa", (*goRun).has}
	return map[string]function{
		"uniq": unique, "mustUniq": unique,
		"without": without, "mustWithout": without,
		"has": has, "mustHas": has,
		"deepEqual": {"aa", func(g *goRun, args []any) (any, error) { return g.equal("deepEqual", args[0], args[1]) }},
		"until": {"i", func(_ *goRun, args []any) (any, error) {
			return countFrom("until", 0, args[0].(int), unitTo(0, args[0].(int)))
		}},
		"untilStep": {"iii", func(_ *goRun, args []any) (any, error) {
			return countFrom("untilStep", args[0].(int), args[1].(int), args[2].(int))
		}},
		"seq":       {"i*", sequence},
		"sortAlpha": {"l", func(_ *goRun, args []any) (any, error) { return sorted(args[0]) }},
		"toStrings": {"a", func(_ *goRun, args []any) (any, error) { return texts("toStrings", args[0]) }},
		"join":      {"sa", func(_ *goRun, args []any) (any, error) { return joinTexts(args[0].(string), args[1]) }},
	}
}

func elements(list any) []any {
	rv := reflect.ValueOf(list)
	values := make([]any, rv.Len())
	for i := range values {
		values[i] = rv.Index(i).Interface()
	}
	return values
}

// equal is the comparison of Sprig: types matter.
func (g *goRun) equal(name string, a, b any) (bool, error) {
	if err := g.weigh(name, 0, a, b); err != nil {
		return false, err
	}
	return reflect.DeepEqual(a, b), nil
}

// holds reports whether a list holds a value. Every comparison is a step.
func (g *goRun) holds(name string, list []any, value any) (bool, error) {
	for _, element := range list {
		if same, err := g.equal(name, value, element); same || err != nil {
			return same, err
		}
	}
	return false, nil
}

func (g *goRun) unique(args []any) (any, error) {
	list := []any{}
	for _, value := range elements(args[0]) {
		switch known, err := g.holds("uniq", list, value); {
		case err != nil:
			return nil, err
		case !known:
			list = append(list, value)
		}
	}
	return list, nil
}

func (g *goRun) without(args []any) (any, error) {
	list := []any{}
	for _, value := range elements(args[0]) {
		switch unwanted, err := g.holds("without", args[1:], value); {
		case err != nil:
			return nil, err
		case !unwanted:
			list = append(list, value)
		}
	}
	return list, nil
}

func (g *goRun) has(args []any) (any, error) {
	if args[1] == nil {
		return false, nil
	}
	if !render.IsList(args[1]) {
		return nil, diag.Faultf("has: argument 2 must be a list, not %s", render.KindName(args[1]))
	}
	return g.holds("has", elements(args[1]), args[0])
}

// maxCount bounds the numbers that can be counted to, so that no sum overflows.
const maxCount = math.MaxInt / 4

// countFrom returns a list of integers from start to before stop.
func countFrom(name string, start, stop, step int) (any, error) {
	for _, n := range []int{start, stop, step} {
		if n > maxCount || n < -maxCount {
			return nil, diag.Faultf("%s: a number is beyond %d", name, maxCount)
		}
	}
	if step != 0 {
		if err := boundedCount(name, (stop-start)/step); err != nil {
			return nil, err
		}
	}
	list := []int{}
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		list = append(list, i)
	}
	return list, nil
}

func unitTo(start, stop int) int {
	if stop < start {
		return -1
	}
	return 1
}

// sequence implements seq like the shell's: last; first, last; first, step, last.
func sequence(_ *goRun, args []any) (any, error) {
	first, last := 1, 0
	switch len(args) {
	case 0:
		return "", nil
	case 1:
		last = args[0].(int)
	default:
		first, last = args[0].(int), args[len(args)-1].(int)
	}
	if len(args) > 3 {
		return nil, diag.Faultf(`"seq" takes at most 3 arguments, not %d`, len(args))
	}
	unit := unitTo(first, last)
	step := unit
	if len(args) == 3 {
		step = args[1].(int)
	}
	if _, err := countFrom("seq", first, last+unit, step); err != nil {
		return nil, err
	}
	return sprigSequence(args), nil
}

func sprigSequence(args []any) string {
	numbers := make([]int, len(args))
	for i, arg := range args {
		numbers[i] = arg.(int)
	}
	return sprigs()["seq"].(func(...int) string)(numbers...)
}

// texts returns the texts of the elements of a list, without nil.
func texts(name string, v any) ([]string, error) {
	values := []any{v}
	if v != nil && render.IsList(v) {
		values = elements(v)
	}
	list := make([]string, 0, len(values))
	for i, value := range values {
		if value == nil {
			continue
		}
		s, err := render.TextOf(value)
		if err != nil {
			return nil, diag.Faultf("%s: element %d is %s", name, i, render.KindName(value))
		}
		list = append(list, s)
	}
	return list, nil
}

func sorted(list any) (any, error) {
	all, err := texts("sortAlpha", list)
	slices.Sort(all)
	return all, err
}

func joinTexts(separator string, list any) (any, error) {
	all, err := texts("join", list)
	if err != nil {
		return nil, err
	}
	total := len(separator) * len(all)
	for _, s := range all {
		if total += len(s); total > render.MaxOutput {
			return nil, render.TooLong("join")
		}
	}
	return strings.Join(all, separator), nil
}
