package templates

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"text/template"
)

// goTemplate is a template of Go's text/template, its trees rewritten so that
// loops count steps and only scalars are printed.
type goTemplate struct {
	body   body
	parsed *template.Template
	calls  map[string]*renderCall // of jet, by its arguments
}

// goName is what the engine calls the template; it is not shown.
const goName = "t"

// ParseGo parses a template of Go's text/template with the functions lookup,
// file, readFile and jet; pos is the position of its first character. All errors
// are [Error].
//
// It differs from plain text/template: a missing key is an error, and only
// scalars can be printed.
func ParseGo(text string, pos Position, delims Delims) (*Template, error) {
	g := &goTemplate{body: body{text, pos, delims}, calls: map[string]*renderCall{}}
	if len(text) > maxTemplate {
		return nil, at(pos, faultf("a template of more than %d MiB", maxTemplate>>20))
	}
	var err error
	g.parsed, err = template.New(goName).Delims(delims.Left, delims.Right).
		Option("missingkey=error").Funcs(goFunctions(nil, nil)).Parse(text)
	if err != nil {
		return nil, g.explain(err)
	}
	w := &goRewriter{template: g}
	for _, t := range g.parsed.Templates() {
		if t.Tree != nil {
			w.list(t.Tree.Root)
		}
	}
	if err := w.finish(); err != nil {
		return nil, err
	}
	return &Template{engine: g, mentions: w.mentions, at: pos}, nil
}

// The functions that the rewriter puts into Go templates.
const (
	goStep = "_ccm_step" // a round of a loop
	goText = "_ccm_text" // the text of a value
)

// goFunctions are the functions of one run; without one they serve parsing.
func goFunctions(r *run, calls map[string]*renderCall) template.FuncMap {
	file := func(name any) (any, error) { return r.file([]any{name}) }
	return template.FuncMap{
		"lookup": func(args ...any) (any, error) {
			if len(args) < 1 || len(args) > 2 {
				return nil, faultf("lookup takes a path and perhaps a default, not %d arguments", len(args))
			}
			return r.lookup(args)
		},
		"file":     file,
		"readFile": file,
		"jet": func(args ...string) (any, error) {
			call := calls[strings.Join(args, "\x00")]
			if call == nil {
				return nil, computedTemplate("jet")
			}
			return call.render(r)
		},
		goStep: func() (string, error) { return "", r.step() },
		goText: goPrintable,
	}
}

// goPrintable is the text of a value.
func goPrintable(v any) (string, error) {
	s, err := text(v)
	var f *fault
	if errors.As(err, &f) {
		f.hint = "use range"
		if v == nil {
			f.hint = "ask with if, or give another value with or"
		}
	}
	return s, err
}

func (g *goTemplate) render(r *run) (string, error) {
	t, err := g.parsed.Clone() // the functions are those of this run
	if err != nil {
		return "", err
	}
	dot := r.env.roots()
	for _, name := range r.env.available() {
		dot[name], _ = r.env.root(name)
	}
	out := limited{r: r}
	err = r.final(t.Funcs(goFunctions(r, g.calls)).Execute(&out, dot))
	if err != nil {
		return "", g.explain(err)
	}
	return string(out.b), nil
}

var (
	goError      = regexp.MustCompile(`(?s)^template: ` + goName + `:(\d+)(?::(\d+))?: (.*)$`)
	goContext    = regexp.MustCompile(`(?s)^executing .*? at <(.*?)>: (.*)$`)
	goMissing    = regexp.MustCompile(`^map has no entry for key (".*")$`)
	goField      = regexp.MustCompile(`^can't evaluate field (\w+) in type`)
	goCallFailed = regexp.MustCompile(`^error calling (\w+): `)
	goHarmless   = regexp.MustCompile(`^(wrong number of args for \w+|wrong type for value; expected|exceeded maximum template depth|` +
		`template \S+ not defined|can't give argument to non-function|error calling \w+: (incompatible types for comparison|invalid type for comparison|error calling))`)
)

// explain places an error of the engine. While a template runs its messages may
// hold values, so only what is known to be harmless is kept.
func (g *goTemplate) explain(err error) error {
	var placed *Error
	if errors.As(err, &placed) {
		return placed
	}
	pos, msg := g.body.at, err.Error()
	if m := goError.FindStringSubmatch(msg); m != nil {
		pos, msg = g.position(m[1], m[2]), m[3]
	}
	var f *fault
	if errors.As(err, &f) {
		return at(pos, f)
	}
	m := goContext.FindStringSubmatch(msg)
	if m == nil {
		return at(pos, goSyntaxFault(msg))
	}
	return at(pos, goFault(m[1], m[2]))
}

// position is that of a line and a byte in it, as the engine counts them; the
// byte may be unknown.
func (g *goTemplate) position(line, column string) Position {
	n, _ := strconv.Atoi(line)
	if column == "" {
		return linePosition(g.body.at, n)
	}
	start := 0
	for range n - 1 {
		start += strings.IndexByte(g.body.text[start:], '\n') + 1
	}
	offset, _ := strconv.Atoi(column)
	return g.body.position(start + offset)
}

func goSyntaxFault(msg string) *fault {
	if name, found := strings.CutPrefix(msg, "function "); found {
		name, _, _ = strings.Cut(name, " ")
		return faultf("function %s is not defined", name)
	}
	return faultf("%s", msg)
}

func goFault(context, msg string) *fault {
	if m := goMissing.FindStringSubmatch(msg); m != nil {
		return faultf("missing key %s in %s", m[1], context).withHint(`give a default with lookup "data.key" "…"`)
	}
	if m := goField.FindStringSubmatch(msg); m != nil {
		return faultf("%s: there is no %q in it", context, m[1])
	}
	if goHarmless.MatchString(msg) {
		return faultf("%s: %s", context, goTypes().Replace(msg))
	}
	if m := goCallFailed.FindStringSubmatch(msg); m != nil {
		return faultf("%s: %s cannot be called with these values", context, m[1])
	}
	return faultf("%s cannot be evaluated with these values", context)
}
