package pattern

import (
	"regexp"
	"strings"
)

// globRegex translates a shell glob: *, ?, [set] and [!set], case-sensitive,
// matching the whole name.
func globRegex(glob string) (*regexp.Regexp, error) {
	var re strings.Builder
	re.WriteString(`(?s)\A`)
	for glob != "" {
		end := strings.IndexByte(glob, ']')
		switch c := glob[0]; {
		case c == '*':
			re.WriteString(`.*`)
		case c == '?':
			re.WriteString(`.`)
		case c == '[' && end > 1:
			re.WriteString(setRegex(glob[1:end]))
			glob = glob[end:]
		default:
			re.WriteString(regexp.QuoteMeta(glob[:1]))
		}
		glob = glob[1:]
	}
	re.WriteString(`\z`)
	return regexp.Compile(re.String())
}

// setRegex translates what is between the brackets of a glob.
func setRegex(set string) string {
	negated := ""
	if set[0] == '!' && len(set) > 1 {
		negated, set = "^", set[1:]
	}
	return "[" + negated + strings.NewReplacer(`\`, `\\`, `[`, `\[`, `^`, `\^`, `&`, `\&`, `~`, `\~`).Replace(set) + "]"
}
