package gotemplate

import (
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

const (
	// maxPattern bounds a regular expression, in bytes.
	maxPattern = 1 << 10
	// maxPasses bounds the bytes of a text times the instructions of a pattern:
	// the work of one search, which nothing can stop.
	maxPasses = 200_000_000
	// maxPatterns is the number of compiled patterns that one rendering keeps.
	maxPatterns = 100
	// unrehearsed is the length of a text, in bytes, that is searched for all
	// matches without a rehearsal.
	unrehearsed = 4 << 10
)

// A pattern is a compiled regular expression.
type pattern struct {
	*regexp.Regexp
	size int // instructions
}

func (g *goRun) pattern(name, source string) (*pattern, error) {
	if p := g.patterns[source]; p != nil {
		return p, nil
	}
	if len(source) > maxPattern {
		return nil, diag.Faultf("%s: a pattern of more than %d bytes", name, maxPattern)
	}
	re, err := regexp.Compile(source)
	if err != nil {
		return nil, diag.Faultf("%s: the pattern is not a regular expression", name).WithHint("use the RE2 syntax")
	}
	p := &pattern{re, 1}
	if tree, err := syntax.Parse(source, syntax.Perl); err == nil {
		if prog, err := syntax.Compile(tree.Simplify()); err == nil {
			p.size = len(prog.Inst)
		}
	}
	if g.patterns == nil {
		g.patterns = map[string]*pattern{}
	}
	if len(g.patterns) < maxPatterns {
		g.patterns[source] = p
	}
	return p, nil
}

// search prepares a search in s, and counts its work.
func (g *goRun) search(name, source, s string) (*pattern, error) {
	p, err := g.pattern(name, source)
	if err != nil {
		return nil, err
	}
	if len(s) > maxPasses/p.size {
		return nil, diag.Faultf("%s: the text is too long for this pattern", name)
	}
	return p, g.AddSteps(len(s) / bytesPerStep * p.size / 10)
}

// searchAll prepares a search for all matches in s, and counts them. Such a search can take
// the square of the length of s, and nothing stops it. So a first walk over the matches,
// which the deadline does stop, shows whether there is enough time.
func (g *goRun) searchAll(name, source, s string) (p *pattern, matches int, err error) {
	if p, err = g.search(name, source, s); err != nil {
		return nil, 0, err
	}
	if len(s) <= unrehearsed {
		return p, len(s) + 1, nil
	}
	p.ReplaceAllStringFunc(s, func(string) string {
		if matches++; g.CheckDeadline() != nil {
			panic(g.Dead) // leaves the walk; invoke returns it
		}
		return ""
	})
	return p, matches, boundedCount(name, matches)
}

func regexFunctions() map[string]function {
	table := map[string]function{
		"regexMatch": {"ss", func(g *goRun, args []any) (any, error) {
			p, err := g.search("regexMatch", args[0].(string), args[1].(string))
			if err != nil {
				return nil, err
			}
			return p.MatchString(args[1].(string)), nil
		}},
		"regexFind": {"ss", func(g *goRun, args []any) (any, error) {
			p, err := g.search("regexFind", args[0].(string), args[1].(string))
			if err != nil {
				return nil, err
			}
			return p.FindString(args[1].(string)), nil
		}},
		"regexFindAll": {"ssi", func(g *goRun, args []any) (any, error) {
			p, _, err := g.searchAll("regexFindAll", args[0].(string), args[1].(string))
			if err != nil {
				return nil, err
			}
			return p.FindAllString(args[1].(string), args[2].(int)), nil
		}},
		"regexSplit": {"ssi", func(g *goRun, args []any) (any, error) {
			p, _, err := g.searchAll("regexSplit", args[0].(string), args[1].(string))
			if err != nil {
				return nil, err
			}
			return p.Split(args[1].(string), args[2].(int)), nil
		}},
		"regexReplaceAll": {"sss", func(g *goRun, args []any) (any, error) {
			p, err := g.replacing("regexReplaceAll", args, strings.Count(args[2].(string), "$"))
			if err != nil {
				return nil, err
			}
			return p.ReplaceAllString(args[1].(string), args[2].(string)), nil
		}},
		"regexReplaceAllLiteral": {"sss", func(g *goRun, args []any) (any, error) {
			p, err := g.replacing("regexReplaceAllLiteral", args, 0)
			if err != nil {
				return nil, err
			}
			return p.ReplaceAllLiteralString(args[1].(string), args[2].(string)), nil
		}},
	}
	for _, name := range render.SortedKeys(table) {
		table[must(name)] = table[name]
	}
	return table
}

// replacing prepares a replacement of pattern, text and replacement. references is the number of times that a
// replacement can refer to the match.
func (g *goRun) replacing(name string, args []any, references int) (*pattern, error) {
	s, replacement := args[1].(string), args[2].(string)
	p, matches, err := g.searchAll(name, args[0].(string), s)
	if err != nil {
		return nil, err
	}
	if len(s)+matches*len(replacement)+references*len(s) > render.MaxOutput {
		return nil, render.TooLong(name)
	}
	return p, nil
}
