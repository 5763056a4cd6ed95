package pattern

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxNames bounds the names that one text stands for.
const MaxNames = 1_000_000

const rangeHint = "write a range as [begin:end] or [begin:end:step], such as web[01:20]"

func badRange(spec, format string, args ...any) error {
	return termErrorf(rangeHint, "[%s]: %s", spec, fmt.Sprintf(format, args...))
}

// ExpandRanges expands text into names. parse turns the text between two brackets into its replacements, as [HostRange]
// and [NodeSet] do; the leftmost pair is the outer loop. The error is a [TermError], or an error from parse.
func ExpandRanges(text string, parse func(spec string) ([]string, error)) ([]string, error) {
	names := []string{""}
	for {
		before, rest, open := strings.Cut(text, "[")
		if strings.Contains(before, "]") {
			return nil, termErrorf(rangeHint, "the bracket ] has no opening [")
		}
		if !open {
			return product(names, []string{text})
		}
		spec, after, closed := strings.Cut(rest, "]")
		if !closed {
			return nil, termErrorf(rangeHint, "the bracket [ has no closing ]")
		}
		values, err := parse(spec)
		if err != nil {
			return nil, err
		}
		for i, v := range values {
			values[i] = before + v
		}
		if names, err = product(names, values); err != nil {
			return nil, err
		}
		text = after
	}
}

func product(heads, tails []string) ([]string, error) {
	if len(heads)*len(tails) > MaxNames {
		return nil, tooMany()
	}
	all := make([]string, 0, len(heads)*len(tails))
	for _, head := range heads {
		for _, tail := range tails {
			all = append(all, head+tail)
		}
	}
	return all, nil
}

func tooMany() error {
	return termErrorf("", "more than %d names", MaxNames)
}

// HostRange expands the text in the brackets of an Ansible range: begin:end or begin:end:step, both ends included, of
// numbers or of single letters. The leading zeros of begin set a width. The error is [TermError].
func HostRange(spec string) ([]string, error) {
	bounds := strings.Split(spec, ":")
	if len(bounds) < 2 {
		hint := rangeHint
		if begin, end, ok := strings.Cut(spec, "-"); ok && isDigits(begin) && isDigits(end) {
			hint = "write [" + begin + ":" + end + "]"
		}
		return nil, termErrorf(hint, "[%s] is not a range", spec)
	}
	if len(bounds) > 3 {
		return nil, badRange(spec, "too many colons")
	}
	step := 1
	if len(bounds) == 3 {
		if step = atoi(bounds[2]); step < 1 || !isDigits(bounds[2]) {
			return nil, badRange(spec, "step %q is not a number from 1 on", bounds[2])
		}
	}
	begin, end := bounds[0], bounds[1]
	if isLetter(begin) && isLetter(end) {
		return letterRange(spec, begin, end, step)
	}
	if begin == "" {
		begin = "0"
	}
	return numberRange(spec, begin, end, step)
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

func isLetter(s string) bool { return len(s) == 1 && strings.Contains(letters, s) }

func letterRange(spec, begin, end string, step int) ([]string, error) {
	first, last := strings.Index(letters, begin), strings.Index(letters, end)
	if first > last {
		return nil, badRange(spec, "%s comes after %s", begin, end)
	}
	var list []string
	for i := first; i <= last; i += step {
		list = append(list, letters[i:i+1])
	}
	return list, nil
}

func numberRange(spec, begin, end string, step int) ([]string, error) {
	if !isDigits(begin) || !isDigits(end) {
		return nil, badRange(spec, "begin and end must be numbers or single letters")
	}
	width := 0
	if isPadded(begin) {
		if width = len(begin); width != len(end) {
			return nil, badRange(spec, "begin and end must have the same number of digits")
		}
	}
	first, last := atoi(begin), atoi(end)
	switch {
	case first < 0 || last < 0 || width > MaxName:
		return nil, badRange(spec, "a number is too large")
	case first > last:
		return nil, badRange(spec, "%s is greater than %s", begin, end)
	case (last-first)/step >= MaxNames:
		return nil, tooMany()
	}
	list := make([]string, 0, (last-first)/step+1)
	for n := first; n <= last && n >= first; n += step {
		list = append(list, padded(n, width))
	}
	return list, nil
}

// padded writes n with zeros in front, at least width digits wide.
func padded(n, width int) string {
	s := strconv.Itoa(n)
	if missing := width - len(s); missing > 0 {
		s = strings.Repeat("0", missing) + s
	}
	return s
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// atoi parses an int; it returns -1 for a number that does not fit.
func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}
