package templates

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/Masterminds/semver/v3"
)

// goTemplate is a template of Go's text/template, its trees rewritten so that
// loops count steps, only scalars are printed and all functions are ours.
type goTemplate struct {
	body     body
	parsed   *template.Template
	used     []string               // its functions
	calls    map[string]*renderCall // of jet, by its arguments
	literals map[string]bool        // literal texts of fail and lookup, which errors show
	roots    map[string]bool        // those that it can read
	changes  bool                   // it changes maps, and so gets copies of what it reads
	scaffold *scaffolded            // nil if it is of none
}

// goName is what the engine calls the template; it is not shown.
const goName = "·"

// ParseGo parses a template of Go's text/template with the functions lookup,
// file, readFile and jet, and those of Sprig ([sprigFunctions] tells how they
// differ); pos is the position of its first character. All errors are [Error].
//
// It differs from plain text/template: a missing key is an error unless a
// default follows, and only scalars can be printed.
func ParseGo(text string, pos Position, delims Delims) (*Template, error) {
	return parseGo(text, pos, delims, nil)
}

func parseGo(text string, pos Position, delims Delims, of *scaffolded) (*Template, error) {
	g := &goTemplate{body: body{text, pos, delims}, scaffold: of, calls: map[string]*renderCall{}, literals: map[string]bool{}}
	if len(text) > maxTemplate {
		return nil, at(pos, faultf("a template of more than %d MiB", maxTemplate>>20))
	}
	trees := map[string]*parse.Tree{}
	main := parse.New(goName)
	main.Mode = parse.SkipFuncCheck // the rewriter knows more about functions, and where they stand
	if _, err := main.Parse(text, delims.Left, delims.Right, trees); err != nil {
		return nil, g.explain(err)
	}
	g.parsed = template.New(goName).Option("missingkey=error")
	w := &goRewriter{template: g}
	for _, name := range sortedKeys(trees) {
		w.defined = name != goName || of != nil && of.part
		w.list(trees[name].Root)
		if _, err := g.parsed.AddParseTree(name, trees[name]); err != nil {
			return nil, g.explain(err)
		}
	}
	if err := w.finish(); err != nil {
		return nil, err
	}
	return &Template{engine: g, mentions: w.mentions, at: pos}, nil
}

// The functions that the rewriter puts into Go templates.
const (
	goStep  = "_ccm_step"  // a round of a loop
	goText  = "_ccm_text"  // the text of a value
	goMaybe = "_ccm_maybe" // a value and keys below it, or nil
)

// functions are those that the template uses, for one run.
func (g *goTemplate) functions(r *goRun) template.FuncMap {
	table := make(template.FuncMap, len(g.used))
	for _, name := range g.used {
		if fn, ok := goFunctions()[name]; ok {
			table[name] = r.bind(name, fn)
		}
	}
	table[goStep] = func() (string, error) { return "", r.step() }
	table[goText] = goPrintable
	table["jet"] = func(args ...string) (any, error) {
		call := g.calls[strings.Join(args, "\x00")]
		if call == nil {
			return nil, computedTemplate("jet")
		}
		return call.render(r.run)
	}
	if g.scaffold == nil {
		return table
	}
	table["write"] = r.bind("write", goFunction{scaffoldParams["write"], func(g *goRun, args []any) (any, error) { return g.run.write(args) }})
	table["render"] = func(name string, context any) (any, error) {
		call := g.calls[renderKey(name)]
		if call == nil {
			return nil, computedTemplate("render")
		}
		return call.renderWith(r.run, context)
	}
	return table
}

// goPrintable is the text of a value.
func goPrintable(v any) (string, error) {
	if s, ok := v.(*semver.Version); ok {
		return s.Original(), nil
	}
	s, err := text(v)
	var f *fault
	if errors.As(err, &f) {
		f.hint = "use range, join or toJson"
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
	state := &goRun{run: r, template: g}
	context, err := state.context()
	if err != nil {
		return "", at(g.body.at, err)
	}
	out := limited{r: r}
	err = r.final(t.Funcs(g.functions(state)).Execute(&out, context))
	if err != nil {
		return "", g.explain(err)
	}
	return out.b.String(), nil
}

// context is the dot: the values, or what render gives a part of a scaffold. A
// template that changes maps gets copies.
func (g *goRun) context() (any, error) {
	const why = "a template that changes maps"
	if of := g.template.scaffold; of != nil && of.part {
		context := g.run.dot
		if g.template.changes {
			var err error
			if context, err = g.copied(why, context); err != nil {
				return nil, err
			}
		}
		g.dot, _ = context.(map[string]any)
		return context, nil
	}
	g.dot = g.env.dot()
	for _, name := range g.env.available() {
		if !g.template.changes || !g.template.roots[name] {
			continue
		}
		value, err := g.copied(why, g.dot[name])
		if err != nil {
			return nil, err
		}
		g.dot[name], g.dot[strings.ToLower(name)] = value, value
	}
	return g.dot, nil
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
		return at(pos, faultf("%s", msg))
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

func goFault(context, msg string) *fault {
	if m := goMissing.FindStringSubmatch(msg); m != nil {
		return goMissingKey(strings.Trim(m[1], `"`), context)
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

// goMissingKey words a missing key of a chain; the first one is that of a root.
func goMissingKey(key, chain string) *fault {
	f := faultf("missing key %q in %s", key, chain)
	if first, _, _ := strings.Cut(strings.TrimLeft(chain, "$."), "."); first == key {
		names := []string{"facts", "data", "environ", "item", factsRoot, dataRoot, environRoot, itemRoot}
		if strings.ToLower(key) != key {
			slices.Reverse(names)
		}
		if slices.Contains(names, key) {
			return faultf("%s is not available here", chain)
		}
		if near := didYouMean(names, key); near != "" {
			return f.withHint("%s", near)
		}
	}
	return f.withHint(`give a default: %s | default "…"`, chain)
}
