package expression

import (
	"errors"
	"regexp"
	"strings"
	"sync"

	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/file"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// explain turns an error of the engine into a [diag.Error]: its position in the
// file, and a text in which no value appears.
func (e *Expr) explain(err error) error {
	var placed *diag.Error
	if errors.As(err, &placed) {
		return placed
	}
	pos, msg := e.start(), err.Error()
	var engine *file.Error
	if errors.As(err, &engine) {
		pos, msg = e.origin.at(byteOffset(e.source, engine.From)), engine.Message
	}
	var f *diag.Fault
	if errors.As(err, &f) {
		return diag.At(pos, f)
	}
	if e.program == nil {
		return diag.At(pos, e.syntaxFault(msg))
	}
	return diag.At(pos, runtimeFault(msg))
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

// syntaxFault words an error of parser or checker. Those show source, not values.
func (e *Expr) syntaxFault(msg string) *diag.Fault {
	if rest, unknown := strings.CutPrefix(msg, "unknown name "); unknown {
		name, _, _ := strings.Cut(rest, "\n")
		name, _, _ = strings.Cut(name, " ")
		return e.unknownName(name)
	}
	msg, _, _ = strings.Cut(msg, "\n")
	msg = strings.NewReplacer("unexpected token EOF", "unexpected end", "unexpected token ", "unexpected ").Replace(render.TypeNames().Replace(msg))
	return diag.Faultf("%s in the expression %q", msg, e.snippet()).WithHint("%s", diag.JinjaHint(e.source))
}

// todoText matches the text of a todo.
var todoText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`todo\(\s*['"]([^'"]*)['"]\s*\)`) })

func (e *Expr) unknownName(name string) *diag.Fault {
	if m := todoText().FindStringSubmatch(e.source); name == "todo" && m != nil {
		return diag.Todo(m[1])
	}
	if f := diag.RefusedFunction(name); f != nil {
		return f
	}
	f := diag.Faultf("unknown name %q in the expression %q", name, e.snippet())
	if words, ok := diag.ForeignFunction(name); ok && words.Expression != "" {
		return f.WithHint("%s", words.Expression)
	}
	if f.Hint = diag.AnsibleVariable(name); f.Hint != "" {
		return f
	}
	inShell := strings.TrimSpace(e.source) == name && strings.HasSuffix(e.origin.whole[:e.origin.offset], "${")
	if inShell && strings.ToUpper(name) == name {
		return f.WithHint("%s", shellHint(name))
	}
	names := append(render.RootNames(), functionNames()...)
	if strings.Contains(e.source, name+"(") {
		names = append(names, builtin.Names...)
	}
	if f.Hint = diag.DidYouMean(names, name); f.Hint != "" {
		return f
	}
	if inShell {
		return f.WithHint("%s", shellHint(name))
	}
	return f.WithHint("for data write Data.%s or lookup('data.%s'), for a fact Facts.…; put quotes around a text", name, name)
}

func shellHint(name string) string {
	return "write a shell variable as $" + name + ", or as ${ '${" + name + "}' }"
}

// snippet returns the expression, shortened.
func (e *Expr) snippet() string {
	s := []rune(strings.Join(strings.Fields(e.source), " "))
	if len(s) > 60 {
		return string(s[:57]) + "…"
	}
	return string(s)
}

var (
	conversion = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^interface conversion: interface \{\} is (.+), not (.+)$`)
	})
	// textAndNumber is the message about an operator between a text and a number.
	textAndNumber = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^invalid operation: (string [-+*/%<>=]+ (int|float64)|(int|float64) [-+*/%<>=]+ string)$`)
	})
	// harmless are the messages of the engine that hold types and names, no values.
	harmless = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(invalid operation: [\w.\[\]{}<> ]+ [-+*/%<>=!.]+ [\w.\[\]{}<> ]+$|invalid operation: [-!] |invalid operation: cannot call|` +
			`invalid argument for \w+ \(type|invalid number of arguments|operator "in" not defined on|cannot (get|take|reverse|uniq|concat|flatten) |index out of range: )`)
	})
)

// runtimeFault words an error of the machine. Some of its messages contain values (int("…"), dates, JSON), so only
// known harmless parts are kept.
func runtimeFault(msg string) *diag.Fault {
	if m := conversion().FindStringSubmatch(msg); m != nil {
		return diag.Faultf("found %s where %s is needed", render.TypeNames().Replace(m[1]), render.TypeNames().Replace(m[2]))
	}
	switch {
	case strings.HasPrefix(msg, "memory budget exceeded"):
		return diag.Faultf("the expression needs too much memory")
	case strings.Contains(msg, "divide by zero"):
		return diag.Faultf("division by zero")
	case strings.HasPrefix(msg, "invalid operation: int("):
		return diag.Faultf("the value is not an integer")
	case strings.HasPrefix(msg, "invalid operation: float("):
		return diag.Faultf("the value is not a number")
	case textAndNumber().MatchString(msg):
		return diag.Faultf("%s", render.TypeNames().Replace(msg)).WithHint("use two texts or two numbers: string(…) makes a text of a number, and int(…) a number of a text")
	case harmless().MatchString(msg):
		return diag.Faultf("%s", render.TypeNames().Replace(msg))
	}
	return diag.Faultf("the expression cannot be evaluated with these values")
}
