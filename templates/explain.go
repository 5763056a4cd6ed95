package templates

import (
	"errors"
	"regexp"
	"strings"

	"github.com/expr-lang/expr/file"
)

// explain turns an error of the engine into an [Error]: its position in the
// file, and a text in which no value appears.
func (e *Expr) explain(err error) error {
	var placed *Error
	if errors.As(err, &placed) {
		return placed
	}
	pos, msg := e.start(), err.Error()
	var engine *file.Error
	if errors.As(err, &engine) {
		pos, msg = e.origin.at(byteOffset(e.source, engine.From)), engine.Message
	}
	var f *fault
	if errors.As(err, &f) {
		return at(pos, f)
	}
	if e.program == nil {
		return at(pos, e.syntaxFault(msg))
	}
	return at(pos, runtimeFault(msg))
}

// byteOffset turns an offset in characters into one in bytes.
func byteOffset(s string, chars int) int {
	for i := range s {
		if chars == 0 {
			return i
		}
		chars--
	}
	return len(s)
}

var unknownName = regexp.MustCompile(`^unknown name (\S+)`)

// syntaxFault words an error of parser or checker. Those show source, not values.
func (e *Expr) syntaxFault(msg string) *fault {
	if m := unknownName.FindStringSubmatch(msg); m != nil {
		return e.unknownName(m[1])
	}
	msg, _, _ = strings.Cut(msg, "\n")
	msg = strings.NewReplacer("unexpected token EOF", "unexpected end", "unexpected token ", "unexpected ").Replace(goTypes().Replace(msg))
	return faultf("%s in the expression %q", msg, e.snippet()).withHint("%s", jinjaHint(e.source))
}

func (e *Expr) unknownName(name string) *fault {
	if f := leftOut(name); f != nil {
		return f
	}
	f := faultf("unknown name %q in the expression %q", name, e.snippet())
	if words, ok := foreign(name); ok && words.expression != "" {
		return f.withHint("%s", words.expression)
	}
	if f.hint = didYouMean(append(rootNames(), functionNames()...), name); f.hint != "" {
		return f
	}
	whole := strings.TrimSpace(e.source)
	if whole == name && strings.HasSuffix(e.origin.whole[:e.origin.offset], "${") {
		return f.withHint("write a shell variable as $%s, or as ${ '${%s}' }", name, name)
	}
	return f.withHint("a value is Data.%s, Facts.… or lookup('data.%s'); a text needs quotes", name, name)
}

// snippet is the expression, shortened.
func (e *Expr) snippet() string {
	s := []rune(strings.Join(strings.Fields(e.source), " "))
	if len(s) > 60 {
		return string(s[:57]) + "…"
	}
	return string(s)
}

// goTypes gives types the names that a manifest knows.
func goTypes() *strings.Replacer {
	return strings.NewReplacer(
		"map[string]interface {}", "map", "[]interface {}", "list", "interface {}", "any value",
		"map[string]any", "map", "[]any", "list", "[]string", "list", "[]int", "list",
		"float64", "number", "int64", "int", "<nil>", "nil", "time.Time", "time",
	)
}

var (
	conversion = regexp.MustCompile(`^interface conversion: interface \{\} is (.+), not (.+)$`)
	// harmless are the messages of the engine that hold types and names, no values.
	harmless = regexp.MustCompile(`^(invalid operation: [\w.\[\]{}<> ]+ [-+*/%<>=!.]+ [\w.\[\]{}<> ]+$|invalid operation: [-!] |invalid operation: cannot call|` +
		`invalid argument for \w+ \(type|invalid number of arguments|operator "in" not defined on|cannot (get|take|reverse|uniq|concat|flatten) |index out of range: )`)
)

// runtimeFault words an error of the machine. Some of its messages hold values
// (int("…"), dates, JSON), so only what is known to be harmless is kept.
func runtimeFault(msg string) *fault {
	if m := conversion.FindStringSubmatch(msg); m != nil {
		return faultf("found %s where %s is needed", goTypes().Replace(m[1]), goTypes().Replace(m[2]))
	}
	switch {
	case strings.HasPrefix(msg, "memory budget exceeded"):
		return faultf("the expression needs too much memory")
	case strings.Contains(msg, "divide by zero"):
		return faultf("division by zero")
	case strings.HasPrefix(msg, "invalid operation: int("):
		return faultf("the value is not an integer")
	case strings.HasPrefix(msg, "invalid operation: float("):
		return faultf("the value is not a number")
	case harmless.MatchString(msg):
		return faultf("%s", goTypes().Replace(msg))
	}
	return faultf("the expression cannot be evaluated with these values")
}
