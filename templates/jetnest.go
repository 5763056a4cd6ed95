package templates

import "strings"

// maxOpeners bounds what can nest in one action of a Jet template. Jet's parser
// and our rewriter recurse for each, and a stack that overflows cannot be
// recovered from.
const maxOpeners = 1000

// checkNesting refuses a source that could overflow the parser's stack.
func checkNesting(unit body) error {
	if len(unit.text) > maxTemplate {
		return faultf("a template of more than %d MiB", maxTemplate>>20)
	}
	rest := unit.text
	for {
		_, action, found := strings.Cut(rest, unit.delims.Left)
		if !found {
			return nil
		}
		var openers int
		openers, rest = countOpeners(action, unit.delims.Right)
		if openers > maxOpeners {
			return faultf("an expression with more than %d parentheses and operators", maxOpeners)
		}
	}
}

// countOpeners counts what can nest up to the closing delimiter, outside of
// quotes, and returns what follows.
func countOpeners(action, right string) (n int, rest string) {
	for i := 0; i < len(action); i++ {
		if strings.HasPrefix(action[i:], right) {
			return n, action[i+len(right):]
		}
		switch action[i] {
		case '(', '[', '!', '?', '+', '-', '*', '/', '%', '<', '>', '=', '&', '|':
			n++
		case '"', '`':
			end := quoteEnd(action, i)
			if end < 0 {
				return n, ""
			}
			i = end
		}
	}
	return n, ""
}
