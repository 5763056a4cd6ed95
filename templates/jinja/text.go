package jinja

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// str returns str(v) of Python.
func (x *exec) str(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case *undefined:
		if v.soft {
			return ""
		}
		x.use(v)
	}
	return x.repr(v)
}

// repr returns repr(v) of Python.
func (x *exec) repr(v any) string {
	var b strings.Builder
	x.writeRepr(&b, v)
	x.length(b.Len())
	return b.String()
}

func (x *exec) writeRepr(b *strings.Builder, v any) {
	x.step(1)
	switch v := v.(type) {
	case nil:
		b.WriteString("None")
	case bool:
		b.WriteString(map[bool]string{true: "True", false: "False"}[v])
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case *big.Int:
		b.WriteString(v.String())
	case float64:
		b.WriteString(floatText(v))
	case string:
		writeQuoted(b, v)
	case *list:
		if v.view != "" {
			b.WriteString(v.view + "(")
		}
		x.writeItems(b, "[", v.items, "]")
		if v.view != "" {
			b.WriteString(")")
		}
	case tuple:
		if len(v) == 1 {
			x.writeItems(b, "(", v, ",)")
		} else {
			x.writeItems(b, "(", v, ")")
		}
	case span:
		fmt.Fprintf(b, "range(%d, %d", v.start, v.stop)
		if v.step != 1 {
			fmt.Fprintf(b, ", %d", v.step)
		}
		b.WriteString(")")
	case *dict:
		defer x.deeper()()
		b.WriteByte('{')
		first := true
		v.each(x, func(key, value any) {
			if !first {
				b.WriteString(", ")
			}
			first = false
			x.writeRepr(b, key)
			b.WriteString(": ")
			x.writeRepr(b, value)
			x.length(b.Len())
		})
		b.WriteByte('}')
	case *undefined:
		if !v.soft {
			x.use(v)
		}
		b.WriteString("Undefined")
	default:
		x.failf("%s cannot be printed", typeName(v))
	}
}

func (x *exec) writeItems(b *strings.Builder, left string, items []any, right string) {
	defer x.deeper()()
	b.WriteString(left)
	for i, item := range items {
		if i > 0 {
			b.WriteString(", ")
		}
		x.writeRepr(b, item)
		x.length(b.Len())
	}
	b.WriteString(right)
}

// floatText writes a float as Python does.
func floatText(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	text := strconv.FormatFloat(f, 'e', -1, 64)
	mantissa, exponent, _ := strings.Cut(text, "e")
	if n, _ := strconv.Atoi(exponent); n >= -4 && n < 16 {
		text = strconv.FormatFloat(f, 'f', -1, 64)
		if !strings.Contains(text, ".") {
			text += ".0"
		}
		return text
	}
	return mantissa + "e" + exponent
}

func writeQuoted(b *strings.Builder, s string) {
	quote := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	b.WriteByte(quote)
	for i, c := range s {
		switch {
		case c == rune(quote) || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(b, `\udc%02x`, s[i])
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(b, `\x%02x`, c)
		case c < 0x7f || unicode.IsPrint(c):
			b.WriteRune(c)
		case c <= 0xff:
			fmt.Fprintf(b, `\x%02x`, c)
		case c <= 0xffff:
			fmt.Fprintf(b, `\u%04x`, c)
		default:
			fmt.Fprintf(b, `\U%08x`, c)
		}
	}
	b.WriteByte(quote)
}

// printed returns the text that {{ v }} writes: nothing for None, and lists for iterators.
func (x *exec) printed(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case *list:
		if v.view != "" {
			return x.str(&list{items: v.items})
		}
	case span:
		return x.str(x.newList(x.iterate(v)))
	}
	return x.str(v)
}

// runes has the characters of a text: offsets of Python count them.
func runes(s string) []rune { return []rune(s) }

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
