package spans

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// A Change replaces the bytes from Start to End by New.
type Change struct {
	Start, End int
	New        string
}

// Apply makes changes, which do not overlap, to a text.
func Apply(text []byte, changes []Change) []byte {
	changes = slices.SortedStableFunc(slices.Values(changes), func(a, b Change) int { return a.Start - b.Start })
	var out bytes.Buffer
	at := 0
	for _, c := range changes {
		out.Write(text[at:c.Start])
		out.WriteString(c.New)
		at = c.End
	}
	out.Write(text[at:])
	return out.Bytes()
}

// Written returns a value in the form in which it replaces s: with a tag and the anchor of s, in one line, or, if it
// has several lines and there is room for them, below a |.
func (s Scalar) Written(tag, value string) string {
	out := tag + " "
	if s.Anchor != "" {
		out = "&" + s.Anchor + " " + out
	}
	if block, ok := s.block(value); ok {
		return out + block
	}
	return out + Quoted(value)
}

// block returns a text of several lines below |.
func (s Scalar) block(value string) (string, bool) {
	lines := strings.Split(value, "\n")
	head := "|-"
	if lines[len(lines)-1] == "" {
		head, lines = "|", lines[:len(lines)-1]
	}
	if s.indent < 0 || len(lines) < 2 || !printable(strings.ReplaceAll(value, "\n", "")) {
		return "", false
	}
	for _, line := range lines {
		if line == "" || strings.Trim(line, " \t") != line {
			return "", false
		}
	}
	margin := "\n" + strings.Repeat(" ", s.indent)
	return head + margin + strings.Join(lines, margin), true
}

// simple are texts that mean themselves without quotes.
var simple = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9+/_][A-Za-z0-9+/_.=@-]*$`) })

// Quoted returns a value in one line, in quotes if it needs them where there is a tag before it.
func Quoted(value string) string {
	if simple().MatchString(value) {
		return value
	}
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // a text is always JSON
	var escaped strings.Builder
	for _, r := range strings.TrimSuffix(out.String(), "\n") {
		switch {
		case printable(string(r)):
			escaped.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&escaped, `\U%08x`, r)
		default:
			fmt.Fprintf(&escaped, `\u%04x`, r)
		}
	}
	return escaped.String()
}

// printable reports whether YAML allows a text without escapes.
func printable(text string) bool {
	return utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool {
		return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r == '\ufeff' || r == '\ufffe' || r == '\uffff' || !unicode.IsPrint(r) && !unicode.IsSpace(r)
	}) < 0
}

// reserved are words that mean something else than a text, if a key is one.
var reserved = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?i:true|false|yes|no|on|off|y|n|null|~|[0-9_.+-].*)$`)
})

// QuotedKey returns a key in its written form.
func QuotedKey(key string) string {
	if simple().MatchString(key) && !reserved().MatchString(key) && !strings.ContainsAny(key, "=@") {
		return key
	}
	if quoted := Quoted(key); quoted != key {
		return quoted
	}
	return `"` + key + `"`
}
