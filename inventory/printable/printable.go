package printable

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// isHostile reports whether a terminal could obey r instead of showing it: the
// control characters of ASCII (C0 and DEL) and of Latin-1 (C1, which xterm and
// others take for escape sequences), line separators, and the marks that reorder
// the text around them (Unicode Bidirectional Algorithm, UAX #9).
func isHostile(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r <= 0x9f:
		return true
	case r == 0x061c, r == 0x200e, r == 0x200f:
		return true
	case r >= 0x2028 && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return true
	}
	return false
}

// Line makes s harmless as a part of one line: what a terminal could obey, and
// bytes that are not UTF-8, become visible escapes such as \x1b, \u202e, \n.
func Line(s string) string { return escape(s, "") }

// Block is like [Line] for text of several lines: newlines and tabs stay.
func Block(s string) string { return escape(s, "\n\t") }

// escape escapes everything hostile but the characters in keep.
func escape(s, keep string) string {
	bad := func(r rune) bool { return isHostile(r) && !strings.ContainsRune(keep, r) }
	if utf8.ValidString(s) && strings.IndexFunc(s, bad) < 0 {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case bad(r):
			b.WriteString(visible(r))
		default:
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

func visible(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\t':
		return `\t`
	case r == '\r':
		return `\r`
	case r < 0x80:
		return fmt.Sprintf(`\x%02x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// JSON returns v as JSON on one line without a newline; <, > and & are not escaped. Invalid UTF-8 becomes U+FFFD, and
// characters that a terminal could obey become escapes, which mean the same to a JSON parser. The error is the error of
// [json.Encoder].
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return escapeJSON(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), err
}

// escapeJSON escapes the characters of a JSON text that JSON allows but a terminal may obey. In JSON they can only
// occur in strings.
func escapeJSON(b []byte) []byte {
	if bytes.IndexFunc(b, isHostile) < 0 {
		return b
	}
	out := make([]byte, 0, len(b)+32)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if isHostile(r) {
			out = fmt.Appendf(out, `\u%04x`, r)
		} else {
			out = append(out, b[:n]...)
		}
		b = b[n:]
	}
	return out
}

// secretWords matches words that are typical for names of secrets.
var secretWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)pass|secret|token|credential|private|!vault|key\b`)
})

// MaySecret reports whether a line may hold a secret, by the names that are in it. It errs to
// the safe side.
func MaySecret(line string) bool { return secretWords().MatchString(line) }
