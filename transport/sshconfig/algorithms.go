package sshconfig

import (
	"errors"
	"slices"
	"strings"
)

// checkAlgorithms checks the form of a list. The known names differ between versions, so [Assemble] reports unknown
// ones.
func checkAlgorithms(list string) error {
	list = strings.TrimLeft(list[:1], "+-^") + list[1:]
	if list == "" {
		return errors.New("the list is empty")
	}
	for name := range strings.SplitSeq(list, ",") {
		if name == "" || strings.HasPrefix(name, "!") {
			return errors.New("the list has an empty or a negated name")
		}
	}
	return nil
}

// Assemble returns the algorithms of a list of ssh_config(5): its names, or, if the list begins with +, - or ^, the
// defaults with the names added, removed or moved to the front. A name with wildcards means each matching name in all.
// unknown has the names without wildcards that all does not have; they are left out.
func Assemble(list string, defaults, all []string) (names, unknown []string) {
	sign, patterns := byte(0), list
	if list != "" && strings.IndexByte("+-^", list[0]) >= 0 {
		sign, patterns = list[0], list[1:]
	}
	var given []string
	for pattern := range strings.SplitSeq(patterns, ",") {
		matched := false
		for _, name := range all {
			if matchPattern(name, pattern) {
				given, matched = append(given, name), true
			}
		}
		if !matched && sign != '-' && !strings.ContainsAny(pattern, "*?") {
			unknown = append(unknown, pattern)
		}
	}
	switch sign {
	case '+':
		given = slices.Concat(defaults, given)
	case '^':
		given = slices.Concat(given, defaults)
	case '-':
		removed := given
		given = slices.DeleteFunc(slices.Clone(defaults), func(name string) bool { return slices.Contains(removed, name) })
	}
	for _, name := range given {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, unknown
}
