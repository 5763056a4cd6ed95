package transport

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/ccm-push/ccm-push/modules/excerpt"
)

// MaxQuoted bounds the host's text in an error, in bytes.
const MaxQuoted = 200

// QuoteExcerpt quotes what a host or a program said, at length its two ends.
func QuoteExcerpt(text string) string { return strconv.Quote(excerpt.Of(text, MaxQuoted)) }

// printable escapes what could draw on a terminal.
func printable(s string) string {
	if strings.IndexFunc(s, unprintable) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unprintable(r) {
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) && r != ' ' }

const (
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	alnum   = letters + "0123456789"
)

// IsPlainWord reports whether every shell passes s on unchanged without quotes: zsh
// expands a leading =, fish a leading %.
func IsPlainWord(s string) bool {
	const first = alnum + "_./-"
	return s != "" && strings.IndexByte(first, s[0]) >= 0 && strings.Trim(s[1:], first+",:=@%+") == ""
}

// ShellWord quotes s for a shell if it needs that.
func ShellWord(s string) string {
	if IsPlainWord(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
