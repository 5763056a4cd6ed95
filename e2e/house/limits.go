package house

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/e2e/ratchet"
)

// limitsFile is the list of offenders: a rule, a place and a number per line.
const (
	limitsFile    = "limits.txt"
	limitsComment = "Offenders that exceed a rule of e2e/house. `go test ./e2e/house -update` writes this file; it may only get shorter."
)

// Offenders are the numbers above what a rule allows, by rule and place, as in "methods playbooks.Runner".
type Offenders map[string]int

// readLimits reads the list.
func readLimits() (Offenders, error) {
	text, err := os.ReadFile(limitsFile)
	if err != nil {
		return nil, err
	}
	limits, err := ratchet.Decode(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", limitsFile, err)
	}
	return limits, nil
}

// writeLimits replaces the offenders of some rules in the list.
func writeLimits(found Offenders, rules ...string) error {
	limits, err := readLimits()
	if err != nil {
		return err
	}
	maps.DeleteFunc(limits, func(key string, _ int) bool { return slices.Contains(rules, ruleOf(key)) })
	maps.Copy(limits, found)
	return os.WriteFile(limitsFile, ratchet.Encode(limitsComment, limits), 0o644)
}

func ruleOf(key string) string {
	rule, _, _ := strings.Cut(key, " ")
	return rule
}

// Compare returns a sentence for each offender of some rules that is new or larger than its limit, and for each limit that
// is larger than needed.
func Compare(found, limits Offenders, rules ...string) (wrong []string) {
	for _, key := range slices.Sorted(maps.Keys(found)) {
		if limit, listed := limits[key]; !listed {
			wrong = append(wrong, fmt.Sprintf("%s: %d: make it smaller", key, found[key]))
		} else if found[key] > limit {
			wrong = append(wrong, fmt.Sprintf("%s: %d, which was %d: make it smaller", key, found[key], limit))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(limits)) {
		if slices.Contains(rules, ruleOf(key)) && found[key] < limits[key] {
			wrong = append(wrong, fmt.Sprintf("%s: the list allows %d, and it is %d: go test ./e2e/house -update", key, limits[key], found[key]))
		}
	}
	return wrong
}
