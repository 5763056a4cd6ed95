package jettemplate

import (
	"strings"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// maxOpeners bounds what can nest in one action of a Jet template. Jet's parser
// and our rewriter recurse for each, and a stack that overflows cannot be
// recovered from.
const maxOpeners = 1000

// checkNesting refuses a source that could overflow the parser's stack.
func checkNesting(unit render.Body) error {
	if len(unit.Text) > render.MaxTemplate {
		return diag.Faultf("a template of more than %d MiB", render.MaxTemplate>>20)
	}
	rest := unit.Text
	for {
		_, action, found := strings.Cut(rest, unit.Delims.Left)
		if !found {
			return nil
		}
		var openers int
		openers, rest = countOpeners(action, unit.Delims.Right)
		if openers > maxOpeners {
			return diag.Faultf("an expression with more than %d parentheses and operators", maxOpeners)
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
			end := render.QuoteEnd(action, i)
			if end < 0 {
				return n, ""
			}
			i = end
		}
	}
	return n, ""
}
