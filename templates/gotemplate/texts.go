package gotemplate

import (
	"encoding/base32"
	"encoding/base64"
	"fmt"
	"os"
	"strconv"
	"strings"
	"text/template"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// boundedTexts returns the text functions whose result grows, or whose errors are less clear in Sprig.
func boundedTexts() map[string]function {
	wrap := sprigFunction(sprigs()["wrap"], "is")
	wrapWith := sprigFunction(sprigs()["wrapWith"], "iss")
	return map[string]function{
		"repeat": {"is", func(_ *goRun, args []any) (any, error) { return repeated("repeat", args[1].(string), args[0].(int)) }},
		"indent": {"is", func(_ *goRun, args []any) (any, error) { return indented("indent", args) }},
		"nindent": {"is", func(_ *goRun, args []any) (any, error) {
			s, err := indented("nindent", args)
			return "\n" + s, err
		}},
		"replace": {"sss", func(_ *goRun, args []any) (any, error) { return render.ReplaceText([]any{args[2], args[0], args[1]}) }},
		"wrap": {"is", func(g *goRun, args []any) (any, error) {
			if err := wrappable("wrap", args[0].(int), "\n", args[1].(string)); err != nil {
				return nil, err
			}
			return wrap.call(g, args)
		}},
		"wrapWith": {"iss", func(g *goRun, args []any) (any, error) {
			if err := wrappable("wrapWith", args[0].(int), args[1].(string), args[2].(string)); err != nil {
				return nil, err
			}
			return wrapWith.call(g, args)
		}},
		"quote":     {"a*", func(_ *goRun, args []any) (any, error) { return spaced("quote", args, strconv.Quote) }},
		"squote":    {"a*", func(_ *goRun, args []any) (any, error) { return spaced("squote", args, singleQuoted) }},
		"cat":       {"a*", func(_ *goRun, args []any) (any, error) { return spaced("cat", args, strings.Clone) }},
		"toString":  {"s", func(_ *goRun, args []any) (any, error) { return args[0], nil }},
		"split":     {"ss", func(_ *goRun, args []any) (any, error) { return splitMap("split", args[0], -1, args[1]) }},
		"splitn":    {"sis", func(_ *goRun, args []any) (any, error) { return splitMap("splitn", args[0], args[1].(int), args[2]) }},
		"splitList": {"ss", func(_ *goRun, args []any) (any, error) { return splitText("splitList", args[0], -1, args[1]) }},
		"b64dec": {"s", func(_ *goRun, args []any) (any, error) {
			return decoded("b64dec", "base64", base64.StdEncoding, args[0])
		}},
		"b32dec": {"s", func(_ *goRun, args []any) (any, error) {
			return decoded("b32dec", "base32", base32.StdEncoding, args[0])
		}},
	}
}

func repeated(name, s string, n int) (string, error) {
	switch {
	case n < 0:
		return "", diag.Faultf("%s: the number of times must not be negative", name)
	case len(s) > 0 && n > render.MaxOutput/len(s):
		return "", render.TooLong(name)
	}
	return strings.Repeat(s, n), nil
}

func indented(name string, args []any) (string, error) {
	pad, err := repeated(name, " ", args[0].(int))
	if err != nil {
		return "", err
	}
	s := args[1].(string)
	if lines := strings.Count(s, "\n") + 1; len(pad) > (render.MaxOutput-len(s))/lines {
		return "", render.TooLong(name)
	}
	return pad + strings.ReplaceAll(s, "\n", "\n"+pad), nil
}

func wrappable(name string, width int, separator, s string) error {
	if lines := len(s)/max(width, 1) + strings.Count(s, " ") + 1; len(separator) > render.MaxOutput/lines {
		return render.TooLong(name)
	}
	return nil
}

func singleQuoted(s string) string { return "'" + s + "'" }

// spaced joins the texts of all arguments but nil with spaces.
func spaced(name string, args []any, write func(string) string) (any, error) {
	var b strings.Builder
	space := ""
	for i, arg := range args {
		if arg == nil {
			continue
		}
		s, err := render.TextOf(arg)
		if err != nil {
			return nil, diag.Faultf("%s: argument %d must be a text, not %s", name, i+1, render.KindName(arg)).WithHint(`"toJson" writes lists and maps`)
		}
		b.WriteString(space + write(s))
		space = " "
		if b.Len() > render.MaxOutput {
			return nil, render.TooLong(name)
		}
	}
	return b.String(), nil
}

func splitText(name string, separator any, n int, s any) ([]string, error) {
	if n < 0 || n > maxElements+1 {
		n = maxElements + 1
	}
	parts := strings.SplitN(s.(string), separator.(string), n)
	return parts, boundedCount(name, len(parts))
}

// splitMap has the parts under the keys _0, _1 …
func splitMap(name string, separator any, n int, s any) (any, error) {
	parts, err := splitText(name, separator, n, s)
	if err != nil {
		return nil, err
	}
	m := make(map[string]any, len(parts))
	for i, part := range parts {
		m["_"+strconv.Itoa(i)] = part
	}
	return m, nil
}

func decoded(name, what string, encoding interface{ DecodeString(string) ([]byte, error) }, s any) (any, error) {
	content, err := encoding.DecodeString(s.(string))
	if err != nil {
		return nil, diag.Faultf("%s: the text is not %s", name, what)
	}
	return string(content), nil
}

// environment returns a variable of [render.Env].Environ; "" if it is not set.
func (g *goRun) environment(args []any) (any, error) {
	if _, err := g.Env.Need(render.EnvironRoot); err != nil {
		return nil, err
	}
	value, _ := g.Env.Environ[args[0].(string)].(string)
	return value, nil
}

// expandEnvironment replaces $NAME and ${NAME}.
func (g *goRun) expandEnvironment(args []any) (any, error) {
	if _, err := g.Env.Need(render.EnvironRoot); err != nil {
		return nil, err
	}
	left := render.MaxOutput
	s := os.Expand(args[0].(string), func(name string) string {
		value, _ := g.Env.Environ[name].(string)
		if left -= len(value); left < 0 {
			return ""
		}
		return value
	})
	if left < 0 {
		return nil, render.TooLong("expandenv")
	}
	return s, nil
}

// fail ends the rendering. Only a literal text of the template is shown: any other may contain text from a host.
func (g *goRun) fail(args []any) (any, error) {
	if s := args[0].(string); g.Literals[s] {
		return nil, diag.Faultf("%s", s)
	}
	return nil, diag.Faultf(`the template stopped with "fail"`).
		WithHint("ccm-push does not print the text, because it is computed and may contain secrets; write the text as a literal")
}

func htmlText(args ...any) string  { return template.HTMLEscaper(args...) }
func jsText(args ...any) string    { return template.JSEscaper(args...) }
func queryText(args ...any) string { return template.URLQueryEscaper(args...) }

// printFunctions returns the language's own print functions, with limits.
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

// printf is fmt's, unless its text would be too long: widths, and values that are named several times, make it long.
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

// formatNumbers returns the sum of the numbers in a format: widths and precisions.
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
