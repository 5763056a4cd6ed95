package schema

import (
	"regexp"
	"regexp/syntax"
)

// A pattern is a regular expression of a schema. One that Go does not know, such as one
// that looks ahead, matches everything.
type pattern struct {
	text string
	re   *regexp.Regexp // nil matches everything
	size int
}

// maxPattern limits the parts of a pattern with its repetitions written out: (x{30}){30} has nine hundred, and Go
// accepts no repetition above a thousand. maxPatterns limits the total for all patterns of a schema; each part takes
// some fifty bytes.
const (
	maxPattern  = 20_000
	maxPatterns = 10 * maxPattern
)

// parsePattern reads a pattern of at most so many parts.
func parsePattern(text string, most int) (p pattern, understood bool) {
	p.text = text
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return p, false
	}
	if p.size = size(tree); p.size > min(most, maxPattern) {
		return p, false
	}
	p.re, err = regexp.Compile(text)
	return p, err == nil
}

// size counts the parts of a pattern.
func size(tree *syntax.Regexp) int {
	parts := 1
	if tree.Op == syntax.OpLiteral {
		parts = len(tree.Rune)
	}
	for _, sub := range tree.Sub {
		parts += size(sub)
	}
	if tree.Op == syntax.OpRepeat {
		parts *= max(1, tree.Min, tree.Max)
	}
	return min(parts, maxPattern+1)
}

// matches finds the pattern anywhere in a text. The time it takes is linear in both.
func (p pattern) matches(text string, b *budget) bool {
	return p.re == nil || b.spendEach(1+len(text)/16, p.size) && p.re.MatchString(text)
}
