package start

import (
	"regexp"
	"strings"
	"sync"
)

// What words look like that are told to a host, or told by it.

// pattern gives a regular expression that is compiled when it is first needed: most
// runs need none of them.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

const (
	hexDigits = "0123456789abcdef"
	alnum     = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
)

// consists reports whether a text has nothing but the characters in chars, all of
// which are ASCII.
func consists(text, chars string) bool { return strings.Trim(text, chars) == "" }

// isNonce reports whether s is 8 to 64 letters and digits.
func isNonce(s string) bool { return len(s) >= 8 && len(s) <= 64 && consists(s, alnum) }

// isDigest reports whether s is a SHA-256 in lower-case hex.
func isDigest(s string) bool { return len(s) == 64 && consists(s, hexDigits) }
