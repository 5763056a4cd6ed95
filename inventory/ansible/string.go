package ansible

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// strings reads one or several string literals, which Python joins.
func (p *literalParser) strings() (*yamlpos.Node, bool) {
	var all strings.Builder
	kind := ""
	for first := true; ; first = false {
		p.skip()
		prefix, quote := stringPrefix(p.rest)
		if quote == "" {
			text := all.String()
			return p.scalar(text, text), !first && utf8.ValidString(text)
		}
		bytes := strings.Contains(prefix, "b")
		if !first && kind != strconv.FormatBool(bytes) {
			return nil, false // bytes and text do not join
		}
		kind = strconv.FormatBool(bytes)
		text, length, ok := stringBody(p.rest[len(prefix)+len(quote):], quote, strings.Contains(prefix, "r"), bytes)
		if !ok {
			return nil, false
		}
		all.WriteString(text)
		p.rest = p.rest[len(prefix)+len(quote)+length:]
	}
}

// stringPrefix returns the letters before a string in lower case, and its quotes. Both are "" if there is no string, or
// a string with expressions (f"").
func stringPrefix(s string) (prefix, quote string) {
	end := strings.IndexAny(s, `"'`)
	if end < 0 || end > 2 {
		return "", ""
	}
	prefix = strings.ToLower(s[:end])
	switch prefix {
	case "", "r", "u", "b", "br", "rb":
	default:
		return "", ""
	}
	quote = s[end : end+1]
	if strings.HasPrefix(s[end:], strings.Repeat(quote, 3)) {
		quote = strings.Repeat(quote, 3)
	}
	return prefix, quote
}

// stringBody reads up to the closing quote; length counts the source including that quote.
func stringBody(s, quote string, raw, bytes bool) (text string, length int, ok bool) {
	var out strings.Builder
	for i := 0; i < len(s); {
		switch {
		case strings.HasPrefix(s[i:], quote):
			return out.String(), i + len(quote), true
		case s[i] == '\n':
			return "", 0, false
		case bytes && s[i] >= utf8.RuneSelf:
			return "", 0, false
		case s[i] != '\\':
			out.WriteByte(s[i])
			i++
		case i+1 == len(s):
			return "", 0, false
		case raw:
			out.WriteString(s[i : i+2])
			i += 2
		default:
			text, length, ok := escape(s[i+1:], bytes)
			if !ok {
				return "", 0, false
			}
			out.WriteString(text)
			i += 1 + length
		}
	}
	return "", 0, false
}

// escape reads the characters after a backslash. An unknown escape is kept.
func escape(s string, bytes bool) (text string, length int, ok bool) {
	if i := strings.IndexByte(`abfnrtv\'"`, s[0]); i >= 0 {
		return "\a\b\f\n\r\t\v\\'\""[i : i+1], 1, true
	}
	switch c := s[0]; {
	case c == 'x':
		return codePoint(s, 2, bytes)
	case c == 'u' && !bytes:
		return codePoint(s, 4, false)
	case c == 'U' && !bytes:
		return codePoint(s, 8, false)
	case c == 'N' && !bytes: // a name from the Unicode tables: such a value stays text
		return "", 0, false
	case c >= '0' && c <= '7':
		end := 1
		for end < min(3, len(s)) && s[end] >= '0' && s[end] <= '7' {
			end++
		}
		n, _ := strconv.ParseUint(s[:end], 8, 16)
		return character(rune(n), bytes), end, true
	}
	_, size := utf8.DecodeRuneInString(s)
	return `\` + s[:size], size, true
}

// codePoint reads the digits of \x, \u and \U.
func codePoint(s string, digits int, bytes bool) (text string, length int, ok bool) {
	if len(s) < 1+digits {
		return "", 0, false
	}
	n, err := strconv.ParseUint(s[1:1+digits], 16, 32)
	if err != nil || n > utf8.MaxRune || n >= 0xd800 && n < 0xe000 {
		return "", 0, false
	}
	return character(rune(n), bytes), 1 + digits, true
}

// character returns the character with the number n, or the byte.
func character(n rune, bytes bool) string {
	if bytes {
		return string([]byte{byte(n)})
	}
	return string(n)
}
