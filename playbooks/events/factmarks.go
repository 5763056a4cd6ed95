package events

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// MinFactMark and MaxFactMark bound the length of a fact that is marked in a text, in bytes: shorter ones occur in
// words with other meanings, too.
const (
	MinFactMark = 2
	MaxFactMark = 64
)

// maxFactMarks bounds the facts of one result.
const maxFactMarks = 16

// factPath matches the path of a fact that may stand for its value. It is compiled at its first use.
var factPath = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`) })

// FactsIn returns the facts that a text contains as words, by path. found has the value of each path that is a string.
func FactsIn(text string, found map[string]string) map[string]string {
	var in map[string]string
	for _, path := range slices.Sorted(maps.Keys(found)) {
		if value := found[path]; isFactMark(path, value) && len(in) < maxFactMarks && replaceWord(text, value, "") != text {
			if in == nil {
				in = map[string]string{}
			}
			in[path] = value
		}
	}
	return in
}

// isFactMark reports whether a fact may be replaced by its path. An event of another machine can contain any path.
func isFactMark(path, value string) bool {
	return len(value) >= MinFactMark && len(value) <= MaxFactMark && factPath().MatchString(path)
}

func factMark(path string) string { return "{" + path + "}" }

// withoutFacts replaces facts in a text by their paths, the longest value first.
func withoutFacts(text string, facts map[string]string, except ...string) string {
	paths := slices.SortedFunc(maps.Keys(facts), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(facts[b]), len(facts[a])), strings.Compare(a, b))
	})
	for _, path := range paths[:min(len(paths), maxFactMarks)] {
		if value := facts[path]; isFactMark(path, value) && !slices.Contains(except, value) {
			text = replaceWord(text, value, factMark(path))
		}
	}
	return text
}
