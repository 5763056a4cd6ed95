package gotemplate

import (
	"fmt"
	"strings"
	"text/template"

	"github.com/ccm-push/ccm-push/templates/render"
)

func htmlText(args ...any) string  { return template.HTMLEscaper(args...) }
func jsText(args ...any) string    { return template.JSEscaper(args...) }
func queryText(args ...any) string { return template.URLQueryEscaper(args...) }

// printFunctions are the language's own, bounded.
func printFunctions() map[string]function {
	table := map[string]function{}
	for name, write := range map[string]func(...any) string{
		"print": fmt.Sprint, "println": fmt.Sprintln, "html": htmlText, "js": jsText, "urlquery": queryText,
	} {
		table[name] = function{"a*", func(g *goRun, args []any) (any, error) {
			if err := g.weigh(name, 0, args...); err != nil {
				return nil, err
			}
			return write(args...), nil
		}}
	}
	table["printf"] = function{"sa*", (*goRun).printf}
	return table
}

// printf is that of fmt, unless its text would be too long: widths, and values
// that are named several times, make it long.
func (g *goRun) printf(args []any) (any, error) {
	format := args[0].(string)
	if err := g.weigh("printf", 0, args...); err != nil {
		return nil, err
	}
	size := len(format) + formatNumbers(format)
	for _, arg := range args[1:] {
		s, _ := arg.(string)
		size += len(s)
		if n, ok := wholeInt(arg); ok && strings.Contains(format, "*") {
			size += min(max(n, -n), render.MaxOutput)
		}
	}
	if strings.Contains(format, "[") { // %[1]s
		size *= 1 + strings.Count(format, "[")
	}
	if size > render.MaxOutput {
		return nil, render.TooLong("printf")
	}
	return fmt.Sprintf(format, args[1:]...), nil
}

// formatNumbers is the sum of the numbers in a format: widths and precisions.
func formatNumbers(format string) (sum int) {
	n := 0
	for _, c := range []byte(format) {
		if c < '0' || c > '9' {
			n = 0
			continue
		}
		sum, n = sum-n, min(n*10+int(c-'0'), render.MaxOutput)
		if sum += n; sum > render.MaxOutput {
			return sum
		}
	}
	return sum
}
