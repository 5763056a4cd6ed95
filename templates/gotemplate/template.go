package gotemplate

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"text/template"
	"text/template/parse"

	"github.com/Masterminds/semver/v3"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// engine is a template of Go's text/template, its trees rewritten so that
// loops count steps, only scalars are printed and all functions are ours.
type engine struct {
	body     render.Body
	parsed   *template.Template
	used     []string                // its functions
	calls    map[string]*render.Call // calls of jet, by arguments
	literals map[string]bool         // literal texts of fail and lookup, which errors show
	roots    map[string]bool         // roots that it can read
	changes  bool                    // it changes maps, and so receives copies of the values that it reads
	scaffold *render.Part            // nil if it is of none
}

// templateName is the engine's name of the template; it is not shown.
const templateName = "·"

// Parse parses a template of Go's text/template with the functions lookup, file, readFile and jet, and the functions of
// Sprig (sprig.go lists the differences); pos is the position of its first character. All errors are [diag.Error].
//
// It differs from plain text/template: a missing key is an error without a default, and only scalars can be printed.
func Parse(text string, pos diag.Position, delims render.Delims, of *render.Part, in render.Languages) (*render.Template, error) {
	g := &engine{body: render.Body{Text: text, At: pos, Delims: delims}, scaffold: of, calls: map[string]*render.Call{}, literals: map[string]bool{}}
	if len(text) > render.MaxTemplate {
		return nil, diag.At(pos, diag.Faultf("a template of more than %d MiB", render.MaxTemplate>>20))
	}
	trees := map[string]*parse.Tree{}
	main := parse.New(templateName)
	main.Mode = parse.SkipFuncCheck // the rewriter knows more about functions, and their positions
	if _, err := main.Parse(text, delims.Left, delims.Right, trees); err != nil {
		return nil, g.explain(err)
	}
	g.parsed = template.New(templateName).Option("missingkey=error")
	w := &rewriter{template: g, languages: in}
	for _, name := range render.SortedKeys(trees) {
		w.defined = name != templateName || of != nil && of.Part
		w.list(trees[name].Root)
		if _, err := g.parsed.AddParseTree(name, trees[name]); err != nil {
			return nil, g.explain(err)
		}
	}
	if err := w.finish(); err != nil {
		return nil, err
	}
	return render.NewTemplate(g, w.reads, pos), nil
}

// The functions that the rewriter puts into Go templates. People cannot write them.
const (
	stepFunc  = "_ccm_step"  // a round of a loop
	textFunc  = "_ccm_text"  // the text of a value
	maybeFunc = "_ccm_maybe" // a value and keys below it, or nil
)

// functions returns the functions that the template uses, for one run.
func (g *engine) functions(r *goRun) template.FuncMap {
	table := make(template.FuncMap, len(g.used))
	for _, name := range g.used {
		if fn, ok := allFunctions()[name]; ok {
			table[name] = r.Bind(name, fn)
		}
	}
	table[stepFunc] = func() (string, error) { return "", r.Step() }
	table[textFunc] = printable
	table["jet"] = func(args ...string) (any, error) {
		call := g.calls[strings.Join(args, "\x00")]
		if call == nil {
			return nil, render.NotLiteral("jet")
		}
		return call.Render(r.Run)
	}
	if g.scaffold == nil {
		return table
	}
	table["write"] = r.Bind("write", writeFunction())
	table["render"] = func(name string, context any) (any, error) {
		call := g.calls[renderKey(name)]
		if call == nil {
			return nil, render.NotLiteral("render")
		}
		return call.RenderWith(r.Run, context)
	}
	return table
}

// printable returns the text of a value.
func printable(v any) (string, error) {
	if s, ok := v.(*semver.Version); ok {
		return s.Original(), nil
	}
	s, err := render.TextOf(v)
	var f *diag.Fault
	if errors.As(err, &f) {
		f.Hint = `use "range", "join" or "toJson"`
		if v == nil {
			f.Hint = `test it with "if", or give a default with "or"`
		}
	}
	return s, err
}

// TakesMarks is false: only Jet has marks.
func (g *engine) TakesMarks() bool { return false }

// Render executes the template.
func (g *engine) Render(r *render.Run) (string, error) {
	t, err := g.parsed.Clone() // the functions belong to this run
	if err != nil {
		return "", err
	}
	state := &goRun{Run: r, Literals: g.literals, Changes: g.changes}
	context, err := g.context(state)
	if err != nil {
		return "", diag.At(g.body.At, err)
	}
	out := render.NewOutput(r)
	err = r.FinalErr(t.Funcs(g.functions(state)).Execute(&out, context))
	if err != nil {
		return "", g.explain(err)
	}
	return out.String(), nil
}

// context returns the dot: the values, or the argument of render for a part of a scaffold. A template that changes maps
// receives copies.
func (g *engine) context(r *goRun) (any, error) {
	const why = "a template that changes maps"
	if of := g.scaffold; of != nil && of.Part {
		context := r.Run.Dot
		if g.changes {
			var err error
			if context, err = r.Copied(why, context); err != nil {
				return nil, err
			}
		}
		r.Dot, _ = context.(map[string]any)
		return context, nil
	}
	seen := g.roots
	if g.scaffold != nil { // it may hand its context to parts
		seen = render.AllRoots()
	}
	r.Dot = r.Env.Dot(seen)
	for _, name := range r.Env.Available() {
		if !g.changes || !g.roots[name] {
			continue
		}
		value, err := r.Copied(why, r.Dot[name])
		if err != nil {
			return nil, err
		}
		r.Dot[name], r.Dot[strings.ToLower(name)] = value, value
	}
	return r.Dot, nil
}

var (
	engineError = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?s)^template: ` + templateName + `:(\d+)(?::(\d+))?: (.*)$`)
	})
	failedAt   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)^executing .*? at <(.*?)>: (.*)$`) })
	noField    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^can't evaluate field (\w+) in type`) })
	callFailed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^error calling (\w+): `) })
	harmless   = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(wrong number of args for \w+|wrong type for value; expected|exceeded maximum template depth|` +
			`template \S+ not defined|can't give argument to non-function|error calling \w+: (incompatible types for comparison|invalid type for comparison|error calling))`)
	})
)

// explain adds a position to an error of the engine. While a template runs its messages may contain values, so only
// known harmless parts are kept.
func (g *engine) explain(err error) error {
	var placed *diag.Error
	if errors.As(err, &placed) {
		return placed
	}
	pos, msg := g.body.At, err.Error()
	if m := engineError().FindStringSubmatch(msg); m != nil {
		pos, msg = g.position(m[1], m[2]), m[3]
	}
	var f *diag.Fault
	if errors.As(err, &f) {
		return diag.At(pos, f)
	}
	m := failedAt().FindStringSubmatch(msg)
	if m == nil {
		return diag.At(pos, diag.Faultf("%s", msg))
	}
	return diag.At(pos, runtimeFault(m[1], m[2]))
}

// position returns the position of a line and a byte in it, as the engine counts them; the byte may be unknown.
func (g *engine) position(line, column string) diag.Position {
	n, _ := strconv.Atoi(line)
	if column == "" {
		return g.body.At.StartOfLine(n)
	}
	start := 0
	for range n - 1 {
		start += strings.IndexByte(g.body.Text[start:], '\n') + 1
	}
	offset, _ := strconv.Atoi(column)
	return g.body.Position(start + offset)
}

func runtimeFault(context, msg string) *diag.Fault {
	if key, missing := strings.CutPrefix(msg, "map has no entry for key "); missing {
		return missingKey(strings.Trim(key, `"`), context)
	}
	if m := noField().FindStringSubmatch(msg); m != nil {
		return diag.Faultf("%s: unknown key %q", context, m[1])
	}
	if harmless().MatchString(msg) {
		return diag.Faultf("%s: %s", context, render.TypeNames().Replace(msg))
	}
	if m := callFailed().FindStringSubmatch(msg); m != nil {
		return diag.Faultf("%s: %q cannot be called with these values", context, m[1])
	}
	return diag.Faultf("%s cannot be evaluated with these values", context)
}
