package goss

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// A versionRange reports whether a version lies within it.
type versionRange func(*semver.Version) bool

// parseRange reads a constraint in goss's syntax (github.com/blang/semver). Blanks separate comparisons, which must all
// hold; || separates alternatives. A prerelease is a version like any other, unlike in Masterminds/semver.
func parseRange(text string) (versionRange, error) {
	var alternatives []versionRange
	for alternative := range strings.SplitSeq(text, "||") {
		var all []versionRange
		for comparison := range strings.FieldsSeq(joinOperators(alternative)) {
			one, err := parseComparison(comparison)
			if err != nil {
				return nil, err
			}
			all = append(all, one)
		}
		if len(all) == 0 {
			return nil, fmt.Errorf("the constraint %q has an empty part", text)
		}
		alternatives = append(alternatives, func(v *semver.Version) bool {
			for _, holds := range all {
				if !holds(v) {
					return false
				}
			}
			return true
		})
	}
	return func(v *semver.Version) bool {
		for _, holds := range alternatives {
			if holds(v) {
				return true
			}
		}
		return false
	}, nil
}

// joinOperators removes the blanks between an operator and its version.
func joinOperators(text string) string {
	for {
		shorter := text
		for _, operator := range []string{"<", ">", "=", "!"} {
			shorter = strings.ReplaceAll(shorter, operator+" ", operator)
		}
		if shorter == text {
			return text
		}
		text = shorter
	}
}

// parseComparison reads one comparison such as >=1.2.3 or 1.2.x.
func parseComparison(text string) (versionRange, error) {
	operand := strings.TrimLeft(text, "<>=!")
	operator := strings.TrimSuffix(text, operand)
	low, high, err := bounds(operand)
	if err != nil {
		return nil, fmt.Errorf("%q is not a comparison with a version such as >=1.2.3: %w", text, err)
	}
	within := func(v *semver.Version) bool { return v.Compare(low) >= 0 && v.Compare(high) < 0 }
	if high == nil {
		within = func(v *semver.Version) bool { return v.Compare(low) == 0 }
	}
	below := func(v *semver.Version) bool { return v.Compare(low) < 0 }
	switch operator {
	case "", "=", "==":
		return within, nil
	case "!", "!=":
		return func(v *semver.Version) bool { return !within(v) }, nil
	case "<":
		return below, nil
	case ">=":
		return func(v *semver.Version) bool { return !below(v) }, nil
	case "<=":
		return func(v *semver.Version) bool { return below(v) || within(v) }, nil
	case ">":
		return func(v *semver.Version) bool { return !below(v) && !within(v) }, nil
	}
	return nil, fmt.Errorf("%q is not a comparison with a version such as >=1.2.3: unknown operator %q", text, operator)
}

// bounds returns the lowest version that a text means, and for one with a wildcard the lowest version above it.
func bounds(text string) (low, high *semver.Version, err error) {
	parts := strings.Split(text, ".")
	var known []string
	for _, part := range parts {
		if part == "x" || part == "X" || part == "*" {
			break
		}
		known = append(known, part)
	}
	if len(known) == len(parts) {
		low, err = semver.StrictNewVersion(text)
		return low, nil, err
	}
	if len(known) == 0 || len(parts) > 3 {
		return nil, nil, fmt.Errorf("a wildcard follows one or two numbers, as in 1.x")
	}
	last, err := strconv.ParseUint(known[len(known)-1], 10, 32)
	if err != nil {
		return nil, nil, err
	}
	above := append(append([]string{}, known[:len(known)-1]...), strconv.FormatUint(last+1, 10))
	padded := func(numbers []string) string { return strings.Join(append(numbers, "0", "0")[:3], ".") }
	if low, err = semver.StrictNewVersion(padded(known)); err != nil {
		return nil, nil, err
	}
	high, err = semver.StrictNewVersion(padded(above))
	return low, high, err
}

// inRange reports whether a version, or each of several, lies within a range. Other texts do not.
func inRange(r versionRange, value any) bool {
	all := elementsOf(value)
	if one, ok := value.(string); ok {
		all = []any{strings.TrimSpace(one)}
	}
	for _, item := range all {
		text, ok := item.(string)
		if !ok {
			return false
		}
		if v, err := semver.StrictNewVersion(text); err != nil || !r(v) {
			return false
		}
	}
	return len(all) > 0
}
