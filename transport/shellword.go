package transport

import "strings"

// shellWord quotes s for a shell if it needs that.
func shellWord(s string) string {
	if isPlainWord(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
