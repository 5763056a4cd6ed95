package expression

import (
	"strings"

	"github.com/ccm-push/ccm-push/templates/render"
)

// A span is a part of a text: literal text, or the source of an expression
// without its delimiters.
type span struct {
	text   string
	offset int // offset of text in the whole, in bytes
	expr   bool
}

// scan splits s into literal text and expressions, `{{ … }}` and `${ … }`.
// Quotes (" ' `) are respected inside an expression, braces nest, `${{` is a
// literal $ before `{{`, and an opener that is never closed is text.
func scan(s string) []span {
	var spans []span
	literal := 0 // where the pending literal text begins
	last := strings.LastIndexByte(s, '}')
	for i := 0; i < last; {
		width, closing := opener(s[i:])
		if width == 0 {
			i++
			continue
		}
		end := exprEnd(s, i+width, closing)
		if end < 0 {
			i += width
			continue
		}
		if i > literal {
			spans = append(spans, span{text: s[literal:i], offset: literal})
		}
		spans = append(spans, span{text: s[i+width : end], offset: i + width, expr: true})
		i = end + len(closing)
		literal = i
	}
	if literal < len(s) {
		spans = append(spans, span{text: s[literal:], offset: literal})
	}
	return spans
}

// opener returns the width of the opening delimiter that s begins with, and the closing one, or 0.
func opener(s string) (width int, closing string) {
	switch {
	case strings.HasPrefix(s, "{{"):
		return 2, "}}"
	case strings.HasPrefix(s, "${{"): // a dollar sign before {{
		return 0, ""
	case strings.HasPrefix(s, "${"):
		return 2, "}"
	}
	return 0, ""
}

// exprEnd returns the offset of the closing delimiter of an expression that begins at from, or -1.
func exprEnd(s string, from int, closing string) int {
	depth := 0
	for i := from; i < len(s); i++ {
		switch s[i] {
		case '"', '\'', '`':
			if i = render.QuoteEnd(s, i); i < 0 {
				return -1
			}
		case '{':
			depth++
		case '}':
			if depth > 0 {
				depth--
			} else if strings.HasPrefix(s[i:], closing) {
				return i
			}
		}
	}
	return -1
}

// Unclosed returns the first {{ or ${ of s that does not begin an expression, or "". Such a text is not evaluated,
// which is usually a mistake.
func Unclosed(s string) string {
	for _, sp := range scan(s) {
		for i := 0; !sp.expr && i < len(sp.text); i++ {
			if width, _ := opener(sp.text[i:]); width > 0 {
				return sp.text[i : i+width]
			}
		}
	}
	return ""
}

// WithoutExpressions returns s with other in place of each expression.
func WithoutExpressions(s, other string) string {
	var b strings.Builder
	for _, sp := range scan(s) {
		if sp.expr {
			b.WriteString(other)
			continue
		}
		b.WriteString(sp.text)
	}
	return b.String()
}

// HasExpr reports whether s holds an expression.
func HasExpr(s string) bool {
	for _, sp := range scan(s) {
		if sp.expr {
			return true
		}
	}
	return false
}
