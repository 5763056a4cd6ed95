package process

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ccm-push/ccm-push/modules/excerpt"
)

// Line is "line 3 is …", with the number and a quotation of the line of text that contains byte at. hide is as in
// [Fault.Hiding].
func Line(text string, at int, hide func(string) string) string {
	number, line, column := find(text, at)
	return fmt.Sprintf("line %d is %s", number, quoteAt(line, column, hide))
}

// find returns the line with a byte, its number, and the index of the byte in it.
func find(text string, at int) (number int, line string, column int) {
	at = max(0, min(at, len(text)))
	start := strings.LastIndexByte(text[:at], '\n') + 1
	line, _, _ = strings.Cut(text[start:], "\n")
	line = strings.TrimRight(line, "\r")
	return strings.Count(text[:start], "\n") + 1, line, min(at-start, len(line))
}

// First is the first line of text that is not blank.
func First(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(line)
}

// Last is the last line of text that is not blank.
func Last(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}

// maxQuote is how many bytes of a line are quoted.
const maxQuote = 200

// Quote puts a line in the most readable quotation marks, with escapes for characters that a terminal would not show.
// It shortens a long line to an excerpt.
func Quote(line string) string {
	line = excerpt.Of(line, maxQuote)
	plain := !strings.Contains(line, "`") && utf8.ValidString(line) &&
		strings.IndexFunc(line, func(r rune) bool { return !strconv.IsPrint(r) }) < 0
	if plain && strings.ContainsAny(line, `"\`) {
		return "`" + line + "`"
	}
	return strconv.Quote(line)
}

// quoteAt quotes a line, or if that is long from a little before a byte on.
func quoteAt(line string, column int, hide func(string) string) string {
	shown := hide(line)
	from := len(hide(line[:column])) - maxQuote/4
	if len(shown) <= maxQuote || from <= 0 {
		return Quote(strings.TrimSpace(shown))
	}
	from = min(from, len(shown))
	for from < len(shown) && !utf8.RuneStart(shown[from]) {
		from++
	}
	return Quote("…" + strings.TrimSpace(shown[from:]))
}

// Clip returns the beginning of a text that is longer than most bytes.
func Clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
