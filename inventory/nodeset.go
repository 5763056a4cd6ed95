package inventory

import "strings"

// nodeSet expands what stands between the brackets of a folded node set, as
// ClusterShell writes it: 1-3, 09-11, 1,3-5, 1-10/2. Leading zeros are part of a
// name, so both ends of a range must have them in the same width.
func nodeSet(spec string) ([]string, error) {
	var list []string
	for item := range strings.SplitSeq(spec, ",") {
		values, err := nodeRange(spec, item)
		if err != nil {
			return nil, err
		}
		if list = append(list, values...); len(list) > maxExpansion {
			return nil, tooMany()
		}
	}
	return list, nil
}

func nodeRange(spec, item string) ([]string, error) {
	bounds, step, stepped := strings.Cut(item, "/")
	begin, end, isRange := strings.Cut(bounds, "-")
	if !isRange {
		end = begin
	}
	if !stepped {
		step = "1"
	}
	const hint = "a node set is written [1-3,7], or [1-9/2] with a step"
	switch {
	case !isDigits(begin) || !isDigits(end) || !isDigits(step) || atoi(step) < 1:
		return nil, badValue(hint, "[%s]: %q is no number or range of numbers", spec, item)
	case len(begin) != len(end) && (isPadded(begin) || isPadded(end)):
		return nil, badValue("write leading zeros at both ends or at none", "[%s]: %s and %s differ in width", spec, begin, end)
	case atoi(begin) > atoi(end):
		return nil, badValue(hint, "[%s]: %s is greater than %s", spec, begin, end)
	}
	return numberRange(spec, begin, end, atoi(step))
}

func isPadded(number string) bool { return len(number) > 1 && number[0] == '0' }
