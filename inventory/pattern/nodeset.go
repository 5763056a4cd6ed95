package pattern

import (
	"strings"
)

// IsNodeSet reports whether the text between two brackets looks like a node set of more than one number. [NodeSet] may
// still refuse it.
func IsNodeSet(spec string) bool {
	numbers, digits := 1, 0
	for i := range len(spec) {
		switch c := spec[i]; {
		case c >= '0' && c <= '9':
			digits++
		case digits > 0 && strings.IndexByte("-,/", c) >= 0:
			numbers, digits = numbers+1, 0
		default:
			return false
		}
	}
	return digits > 0 && numbers > 1
}

// NodeSet expands the text between the brackets of a folded node set, as ClusterShell writes it: 1-3, 09-11, 1,3-5,
// 1-10/2. Leading zeros are part of a name, so both ends of a range must have them in the same width. The error is
// [TermError].
func NodeSet(spec string) ([]string, error) {
	var list []string
	for item := range strings.SplitSeq(spec, ",") {
		values, err := nodeRange(spec, item)
		if err != nil {
			return nil, err
		}
		if list = append(list, values...); len(list) > MaxNames {
			return nil, tooMany()
		}
	}
	return list, nil
}

const setHint = "a node set is written [1-3,7], or [1-9/2] with a step"

func nodeRange(spec, item string) ([]string, error) {
	bounds, step, stepped := strings.Cut(item, "/")
	begin, end, isRange := strings.Cut(bounds, "-")
	if !isRange {
		end = begin
	}
	if !stepped {
		step = "1"
	}
	switch {
	case !isDigits(begin) || !isDigits(end) || !isDigits(step) || atoi(step) < 1:
		return nil, termErrorf(setHint, "[%s]: %q is not a number or a range of numbers", spec, item)
	case len(begin) != len(end) && (isPadded(begin) || isPadded(end)):
		return nil, termErrorf("write leading zeros at both ends or at none", "[%s]: %s and %s differ in width", spec, begin, end)
	case atoi(begin) > atoi(end):
		return nil, termErrorf(setHint, "[%s]: %s is greater than %s", spec, begin, end)
	}
	return numberRange(spec, begin, end, atoi(step))
}

func isPadded(number string) bool { return len(number) > 1 && number[0] == '0' }
