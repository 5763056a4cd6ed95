package expr

import (
	"fmt"
	"strings"
)

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// suggestion is the hint with the known name that is nearest to one; "" if none is
// near.
func suggestion(name string, known []string) string {
	if best := Nearest(name, known); best != "" {
		return "did you mean " + best + "?"
	}
	return ""
}

// Nearest finds the first of the known names that are the least edits away from one, at
// most two, whatever the case; "" if there is none.
func Nearest(name string, known []string) string {
	best, least := "", 3
	if len(name) > 64 {
		return ""
	}
	for _, k := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(k), least); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance is the edit distance of two words, or something not below most.
func distance(a, b string, most int) int {
	if len(a)-len(b) >= most || len(b)-len(a) >= most {
		return most
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost = 1 + min(before, row[j], row[j+1])
			}
			before, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
