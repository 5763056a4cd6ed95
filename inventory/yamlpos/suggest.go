package yamlpos

import "strings"

// Suggest finds the known word that word was probably meant to be: the closest
// by edit distance, at most two edits away (one for words of up to three
// letters), whatever the case. It is "" if there is none.
func Suggest(word string, known []string) string {
	if len(word) <= 3 {
		return SuggestWithin(word, known, 1)
	}
	return SuggestWithin(word, known, 2)
}

// SuggestWithin is [Suggest] with so many edits at most.
func SuggestWithin(word string, known []string, limit int) string {
	best, closest := "", limit+1
	for _, k := range known {
		if gap := len(k) - len(word); gap >= closest || -gap >= closest {
			continue
		}
		if d := distance(strings.ToLower(word), strings.ToLower(k)); d < closest {
			best, closest = k, d
		}
	}
	return best
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbouring bytes that turn a into b.
func distance(a, b string) int {
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next := make([]int, len(b)+1)
		next[0] = i
		for j := 1; j <= len(b); j++ {
			replace := row[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			next[j] = min(replace, row[j]+1, next[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
