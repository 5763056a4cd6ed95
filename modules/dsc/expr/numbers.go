package expr

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
)

// numberFunctions calculate with integers of 64 bits.
var numberFunctions = []*function{
	pure("add", 2, 2, calculation((*big.Int).Add), kInt),
	pure("sub", 2, 2, calculation((*big.Int).Sub), kInt),
	pure("mul", 2, 2, calculation((*big.Int).Mul), kInt),
	pure("div", 2, 2, division((*big.Int).Quo), kInt),
	pure("mod", 2, 2, division((*big.Int).Rem), kInt),
	pure("min", 1, -1, extreme(-1), kInt|kArray),
	pure("max", 1, -1, extreme(1), kInt|kArray),
	pure("int", 1, 1, toInt, kString|kInt|kFloat),
}

var errTooLarge = errors.New("the result is not a 64-bit integer")

func calculation(do func(z, x, y *big.Int) *big.Int) func([]any) (any, error) {
	return func(args []any) (any, error) {
		z := do(new(big.Int), big.NewInt(args[0].(int64)), big.NewInt(args[1].(int64)))
		if !z.IsInt64() {
			return nil, errTooLarge
		}
		return z.Int64(), nil
	}
}

func division(do func(z, x, y *big.Int) *big.Int) func([]any) (any, error) {
	calculate := calculation(do)
	return func(args []any) (any, error) {
		if args[1].(int64) == 0 {
			return nil, errors.New("division by zero")
		}
		return calculate(args)
	}
}

// extreme returns min() or max(), of integers or of one array of them.
func extreme(sign int) func([]any) (any, error) {
	return func(args []any) (any, error) {
		list := args
		if array, ok := args[0].([]any); ok {
			if len(args) > 1 {
				return nil, errors.New("give integers, or one array of them")
			}
			list = array
		}
		if len(list) == 0 {
			return nil, errors.New("the array is empty")
		}
		var best int64
		for i, item := range list {
			n, ok := item.(int64)
			if !ok {
				return nil, fmt.Errorf("element %d is %s, not an integer", i, Kind(item))
			}
			if i == 0 || cmp.Compare(n, best) == sign {
				best = n
			}
		}
		return best, nil
	}
}

// toInt returns an integer; fractions are cut off.
func toInt(args []any) (any, error) {
	var f float64
	switch v := args[0].(type) {
	case int64:
		return v, nil
	case float64:
		f = v
	case string:
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			return n, nil
		}
		var err error
		if f, err = strconv.ParseFloat(v, 64); err != nil {
			return nil, fmt.Errorf("%q is not a number", v)
		}
	}
	if f = math.Trunc(f); !(f >= -(1<<63) && f < 1<<63) { // so that NaN is refused too
		return nil, errTooLarge
	}
	return int64(f), nil
}

func compareNumbers(a, b any) int {
	x, isInt := a.(int64)
	y, both := b.(int64)
	if isInt && both {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(float(a), float(b))
}

func float(v any) float64 {
	if n, ok := v.(int64); ok {
		return float64(n)
	}
	f, _ := v.(float64)
	return f
}
