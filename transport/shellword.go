package transport

import "strings"

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
