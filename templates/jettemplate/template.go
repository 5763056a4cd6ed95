package jettemplate

import (
	"errors"
	"io"
	"path"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/CloudyKit/jet/v6"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// engine is a Jet template with all templates that it extends, imports and includes, each rewritten so that every error
// has a position.
type engine struct {
	start *jet.Template // executes the main one
	main  string        // the path that Jet knows that by
	sites []site
	units map[string]render.Body // bodies, by their paths in Jet
	roots map[string]bool        // roots that it can read

	holdsMark bool // a source contains a mark of [render.Marked]

	scaffold *render.Part // nil if it is of none

	sections []section // all its sections; nil if it has other parts

	idle    sync.Pool    // of *execution
	longest atomic.Int64 // bytes of the longest output so far, within bounds
}

// Parse parses a Jet template (github.com/CloudyKit/jet); pos is the position of its first character. Templates that it
// extends, imports or includes are read from files, which may be nil. All errors are [diag.Error].
//
// It differs from plain Jet: a missing key is an error, maps are ranged over in the order of their keys, nothing is
// escaped, only scalars can be printed, and a template neither changes its data nor includes a computed name.
func Parse(text string, pos diag.Position, delims render.Delims, files *render.Files, of *render.Part, in render.Languages) (t *render.Template, err error) {
	if delims.Left == "" || delims.Right == "" {
		delims = render.Delims{Left: render.JetLeft, Right: render.JetRight}
	}
	defer func() {
		if recover() != nil {
			t, err = nil, diag.At(pos, diag.Faultf("the template cannot be parsed"))
		}
	}()
	l := newLoader(render.Body{Text: text, At: pos, Delims: delims}, files, in)
	l.scaffold = of
	l.rewriter.flows.part = of != nil && of.Part
	start, err := l.load()
	if err != nil {
		return nil, diag.At(pos, err)
	}
	engine := &engine{start: start, main: l.main, sites: l.rewriter.sites, units: l.units, roots: l.rewriter.reads.Roots, scaffold: of}
	for _, u := range l.units {
		engine.holdsMark = engine.holdsMark || strings.Contains(u.Text, render.MarkEdge)
	}
	if engine.sections, err = l.sections(); err != nil {
		return nil, diag.At(pos, err)
	}
	return render.NewTemplate(engine, l.rewriter.reads, pos), nil
}

// A loader reads the templates of one set for Jet and keeps them parsed: it
// is Jet's loader and its cache. Once loaded it does not change.
type loader struct {
	languages render.Languages
	files     *render.Files
	set       *jet.Set
	main      string
	units     map[string]render.Body
	parsed    map[string]*jet.Template
	loading   []string // templates being parsed, outermost first
	sealed    bool
	rewriter  *rewriter
	scaffold  *render.Part // nil if the templates are of none
}

func newLoader(main render.Body, files *render.Files, in render.Languages) *loader {
	l := &loader{
		files:     files,
		languages: in,
		main:      path.Join("/", main.At.File),
		units:     map[string]render.Body{},
		parsed:    map[string]*jet.Template{},
	}
	if !main.At.Verbatim {
		l.main = "/·text"
	}
	l.units[l.main] = main
	l.rewriter = &rewriter{loader: l, stands: map[*jet.IfNode][]jet.Node{}}
	l.set = jet.NewSet(l, jet.WithCache(l), jet.WithSafeWriter(nil), jet.WithDelims(main.Delims.Left, main.Delims.Right))
	return l
}

// load parses the main template and all it needs, and returns the template that executes it.
func (l *loader) load() (*jet.Template, error) {
	_, err := l.template(l.main)
	l.sealed = true
	if err == nil {
		err = l.rewriter.finish()
	}
	if err != nil {
		return nil, err
	}
	return l.start()
}

// start returns a template that includes the main one from a block with an empty content. When an execution fails, Jet
// keeps the content of the block that it was in, with all values in scope. The next execution, for another host, would
// yield that content where it has none of its own (v6.3.3, eval.go, Runtime.recover). So each has an empty one.
func (l *loader) start() (*jet.Template, error) {
	const name = "/·start"
	t, err := l.set.Parse(name, "")
	if err != nil {
		return nil, err
	}
	node := func(kind jet.NodeType) jet.NodeBase { return jet.NodeBase{TemplatePath: name, NodeType: kind} }
	main := &jet.IncludeNode{NodeBase: node(jet.NodeInclude), Name: &jet.StringNode{NodeBase: node(jet.NodeString), Text: l.main}}
	t.Root.Nodes = []jet.Node{&jet.BlockNode{
		NodeBase: node(jet.NodeBlock), Name: "·start", Parameters: &jet.BlockParameterList{},
		List: &jet.ListNode{NodeBase: node(jet.NodeList), Nodes: []jet.Node{main}}, Content: &jet.ListNode{NodeBase: node(jet.NodeList)},
	}}
	return t, nil
}

// template parses the template at an absolute path, and all it needs.
func (l *loader) template(name string) (*jet.Template, error) {
	t, err := l.set.GetTemplate(name)
	switch {
	case l.rewriter.err != nil:
		return nil, l.rewriter.err
	case err != nil:
		return nil, l.explain(err)
	}
	return t, nil
}

// Exists implements Jet's loader: it reports whether a template exists.
func (l *loader) Exists(name string) bool {
	if _, known := l.units[name]; known {
		return true
	}
	if l.sealed {
		return false
	}
	_, err := l.files.Read(relative(name))
	return err == nil
}

// Open implements Jet's loader: it returns the source of a template.
func (l *loader) Open(name string) (io.ReadCloser, error) {
	for _, outer := range l.loading {
		if outer == name {
			return nil, diag.Faultf("%s extends or imports itself: %s → %s", relative(name),
				relative(strings.Join(l.loading, " → ")), relative(name))
		}
	}
	unit, known := l.units[name]
	if !known {
		content, err := l.files.Read(relative(name))
		if err != nil {
			return nil, err
		}
		unit = render.Body{Text: string(content), At: diag.WholeFile(relative(name)), Delims: l.units[l.main].Delims}
		l.units[name] = unit
	}
	if err := checkNesting(unit); err != nil {
		return nil, err
	}
	l.loading = append(l.loading, name)
	return io.NopCloser(strings.NewReader(unit.Text)), nil
}

// Get implements Jet's cache: it returns a parsed template.
func (l *loader) Get(name string) *jet.Template { return l.parsed[name] }

// Put implements Jet's cache: it stores a parsed template.
func (l *loader) Put(name string, t *jet.Template) {
	l.parsed[name] = t // before it is rewritten: it may include itself
	if n := len(l.loading); n > 0 {
		l.loading = l.loading[:n-1]
	}
	l.rewriter.template(t)
}

func relative(name string) string {
	return strings.ReplaceAll(strings.TrimPrefix(name, "/"), " /", " ")
}

var parseError = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)^template: (.*?):(\d+): (.*)$`) })

// explain places an error of Jet's parser. It knows lines only.
func (l *loader) explain(err error) error {
	var f *diag.Fault
	m := parseError().FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	line, _ := strconv.Atoi(m[2])
	pos := l.units[m[1]].At.StartOfLine(line)
	if errors.As(err, &f) {
		return diag.At(pos, f)
	}
	if inner := parseError().FindStringSubmatch(m[3]); inner != nil { // error in an extended template
		return l.explain(errors.New(m[3]))
	}
	return diag.At(pos, syntaxFault(m[3]))
}

// lexError matches an error of Jet's lexer, as its parser reports it.
var lexError = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`unexpected token '((?:unclosed|unterminated|unrecognized|unexpected|bad) .*)' \(expected`)
})

func syntaxFault(msg string) *diag.Fault {
	if m := lexError().FindStringSubmatch(msg); m != nil {
		return diag.Faultf("%s", m[1])
	}
	words := strings.NewReplacer("unexpected EOF", "unexpected end of the template: an end is missing", "token ", "", "{{", "", "}}", "")
	return diag.Faultf("%s", words.Replace(msg))
}

// TakesMarks reports whether no source holds what looks like a mark.
func (t *engine) TakesMarks() bool { return !t.holdsMark }

// Render returns the text of the template.
func (t *engine) Render(r *render.Run) (string, error) {
	if text, ok := t.joined(r); ok {
		return text, nil
	}
	x := t.begin(r)
	err := t.start.Execute(&x.out, x.vars, x.context())
	if err = r.FinalErr(err); err != nil {
		return "", t.explain(err)
	}
	text := x.out.String()
	x.end() // after a failure or a panic it is not used again
	return text, nil
}

var runtimeError = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)^Jet Runtime Error \("(.*?)":(\d+)\): (.*)$`) })

// explain places an error that did not come through one of our functions. Its
// text may hold values, so it is replaced.
func (t *engine) explain(err error) error {
	pos := t.units[t.main].At
	m := runtimeError().FindStringSubmatch(err.Error())
	var placed *diag.Error
	var f *diag.Fault
	switch {
	case errors.As(err, &placed):
		return placed
	case errors.As(err, &f):
		return diag.At(pos, f)
	case m == nil:
		return diag.At(pos, diag.Faultf("the template cannot be rendered with these values"))
	}
	line, _ := strconv.Atoi(m[2])
	return diag.At(t.units[m[1]].At.StartOfLine(line), runtimeFault(m[3]))
}

func runtimeFault(msg string) *diag.Fault {
	if name, ok := quotedAfter(msg, "could not assign "); ok {
		return diag.Faultf("the variable %s is not declared", name).WithHint("declare it with := first")
	}
	if name, ok := quotedAfter(msg, "unresolved block "); ok {
		return diag.Faultf("the block %s is not defined", name)
	}
	return diag.Faultf("the template cannot be rendered with these values")
}

// quotedAfter returns the text in quotes, with them, that follows the beginning of a message.
func quotedAfter(msg, beginning string) (quoted string, ok bool) {
	rest, ok := strings.CutPrefix(msg, beginning+`"`)
	if name, _, closed := strings.Cut(rest, `"`); ok && closed {
		return `"` + name + `"`, true
	}
	return "", false
}

// anyType is the type of nil.
var anyType = reflect.TypeFor[any]()

// reflected returns v in the form that Jet uses for values.
func reflected(v any) reflect.Value {
	if v == nil {
		return reflect.Zero(anyType)
	}
	return reflect.ValueOf(v)
}

// unreflected is the inverse of reflected.
func unreflected(v reflect.Value) any {
	if !v.IsValid() {
		return nil
	}
	return v.Interface()
}

// maxOpeners bounds what can nest in one action of a Jet template. Jet's parser
// and our rewriter recurse for each, and a stack that overflows cannot be
// recovered from.
const maxOpeners = 1000

// checkNesting refuses a source that could overflow the stack of the parser.
func checkNesting(unit render.Body) error {
	if len(unit.Text) > render.MaxTemplate {
		return diag.Faultf("a template of more than %d MiB", render.MaxTemplate>>20)
	}
	rest := unit.Text
	for {
		_, action, found := strings.Cut(rest, unit.Delims.Left)
		if !found {
			return nil
		}
		var openers int
		openers, rest = countOpeners(action, unit.Delims.Right)
		if openers > maxOpeners {
			return diag.Faultf("an expression with more than %d parentheses and operators", maxOpeners)
		}
	}
}

// countOpeners counts what can nest up to the closing delimiter, outside of
// quotes, and returns what follows.
func countOpeners(action, right string) (n int, rest string) {
	for i := 0; i < len(action); i++ {
		if strings.HasPrefix(action[i:], right) {
			return n, action[i+len(right):]
		}
		switch action[i] {
		case '(', '[', '!', '?', '+', '-', '*', '/', '%', '<', '>', '=', '&', '|':
			n++
		case '"', '`':
			end := render.QuoteEnd(action, i)
			if end < 0 {
				return n, ""
			}
			i = end
		}
	}
	return n, ""
}
