package templates

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
)

// The delimiters of Jet templates where none are given.
const (
	jetLeft  = "[["
	jetRight = "]]"
)

// jetTemplate is a Jet template with all that it extends, imports and includes,
// each rewritten so that what can fail fails with a position.
type jetTemplate struct {
	start *jet.Template // executes the main one
	main  string        // the path that Jet knows that by
	sites []site
	units map[string]body // by the path that Jet knows them by

	holdsMark bool // a mark of [Marked] stands in a source

	scaffold *scaffolded // nil if it is of none

	idle    sync.Pool    // of *jetRun
	longest atomic.Int64 // bytes of the longest output so far, within bounds
}

// ParseJet parses a Jet template (github.com/CloudyKit/jet); pos is the position
// of its first character. What it extends, imports or includes is read from
// files, which may be nil. All errors are [Error].
//
// It differs from plain Jet: a missing key is an error, maps are ranged over in
// the order of their keys, nothing is escaped, only scalars can be printed, and
// a template neither changes its data nor includes what it computes.
func ParseJet(text string, pos Position, delims Delims, files *Files) (t *Template, err error) {
	return parseJet(text, pos, delims, files, nil)
}

func parseJet(text string, pos Position, delims Delims, files *Files, of *scaffolded) (t *Template, err error) {
	if delims.Left == "" || delims.Right == "" {
		delims = Delims{jetLeft, jetRight}
	}
	defer func() {
		if recover() != nil {
			t, err = nil, at(pos, faultf("the template cannot be parsed"))
		}
	}()
	l := newJetLoader(body{text, pos, delims}, files)
	l.scaffold = of
	l.rewriter.flows.part = of != nil && of.part
	start, err := l.load()
	if err != nil {
		return nil, at(pos, err)
	}
	parsed := &jetTemplate{start: start, main: l.main, sites: l.rewriter.sites, units: l.units, scaffold: of}
	for _, u := range l.units {
		parsed.holdsMark = parsed.holdsMark || strings.Contains(u.text, markEdge)
	}
	return &Template{engine: parsed, mentions: l.rewriter.mentions, at: pos}, nil
}

// A jetLoader reads the templates of one set for Jet and keeps them parsed: it
// is Jet's loader and its cache. Once loaded it does not change.
type jetLoader struct {
	files    *Files
	set      *jet.Set
	main     string
	units    map[string]body
	parsed   map[string]*jet.Template
	loading  []string // what is being parsed, outermost first
	sealed   bool
	rewriter *jetRewriter
	scaffold *scaffolded // nil if the templates are of none
}

func newJetLoader(main body, files *Files) *jetLoader {
	l := &jetLoader{
		files:  files,
		main:   path.Join("/", main.at.File),
		units:  map[string]body{},
		parsed: map[string]*jet.Template{},
	}
	if !main.at.Verbatim {
		l.main = "/·text"
	}
	l.units[l.main] = main
	l.rewriter = &jetRewriter{loader: l}
	l.set = jet.NewSet(l, jet.WithCache(l), jet.WithSafeWriter(nil), jet.WithDelims(main.delims.Left, main.delims.Right))
	return l
}

// load parses the main template and all it needs, and gives what executes it.
func (l *jetLoader) load() (*jet.Template, error) {
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

// start is a template that includes the main one from a block with an empty content.
// When an execution fails, Jet keeps the content of the block that it was in, with all
// that it could see, and what it executes next would yield that where it is given
// none: to another host (v6.3.3, eval.go, Runtime.recover). So none is left without.
func (l *jetLoader) start() (*jet.Template, error) {
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

// template parses what stands at an absolute path, and all it needs.
func (l *jetLoader) template(name string) (*jet.Template, error) {
	t, err := l.set.GetTemplate(name)
	switch {
	case l.rewriter.err != nil:
		return nil, l.rewriter.err
	case err != nil:
		return nil, l.explain(err)
	}
	return t, nil
}

// Exists is for Jet: whether there is a template.
func (l *jetLoader) Exists(name string) bool {
	if _, known := l.units[name]; known {
		return true
	}
	if l.sealed {
		return false
	}
	_, err := l.files.Read(relative(name))
	return err == nil
}

// Open is for Jet: the source of a template.
func (l *jetLoader) Open(name string) (io.ReadCloser, error) {
	for _, outer := range l.loading {
		if outer == name {
			return nil, faultf("%s extends or imports itself: %s → %s", relative(name),
				relative(strings.Join(l.loading, " → ")), relative(name))
		}
	}
	unit, known := l.units[name]
	if !known {
		content, err := l.files.Read(relative(name))
		if err != nil {
			return nil, err
		}
		unit = body{string(content), wholeFile(relative(name)), l.units[l.main].delims}
		l.units[name] = unit
	}
	if err := checkNesting(unit); err != nil {
		return nil, err
	}
	l.loading = append(l.loading, name)
	return io.NopCloser(strings.NewReader(unit.text)), nil
}

// Get is for Jet: a parsed template.
func (l *jetLoader) Get(name string) *jet.Template { return l.parsed[name] }

// Put is for Jet: it has parsed a template.
func (l *jetLoader) Put(name string, t *jet.Template) {
	l.parsed[name] = t // before it is rewritten: it may include itself
	if n := len(l.loading); n > 0 {
		l.loading = l.loading[:n-1]
	}
	l.rewriter.template(t)
}

func relative(name string) string {
	return strings.ReplaceAll(strings.TrimPrefix(name, "/"), " /", " ")
}

var jetParseError = regexp.MustCompile(`(?s)^template: (.*?):(\d+): (.*)$`)

// explain places an error of Jet's parser. It knows lines only.
func (l *jetLoader) explain(err error) error {
	var f *fault
	m := jetParseError.FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	line, _ := strconv.Atoi(m[2])
	pos := linePosition(l.units[m[1]].at, line)
	if errors.As(err, &f) {
		return at(pos, f)
	}
	if inner := jetParseError.FindStringSubmatch(m[3]); inner != nil { // of what it extends
		return l.explain(errors.New(m[3]))
	}
	return at(pos, jetSyntaxFault(m[3]))
}

// jetLexError is what Jet's lexer found, as its parser reports it.
var jetLexError = regexp.MustCompile(`unexpected token '((?:unclosed|unterminated|unrecognized|unexpected|bad) .*)' \(expected`)

func jetSyntaxFault(msg string) *fault {
	if m := jetLexError.FindStringSubmatch(msg); m != nil {
		return faultf("%s", m[1])
	}
	words := strings.NewReplacer("unexpected EOF", "unexpected end of the template: an end is missing", "token ", "", "{{", "", "}}", "")
	return faultf("%s", words.Replace(msg))
}

// linePosition is the beginning of line number line of a text at p; the column
// is unknown.
func linePosition(p Position, line int) Position {
	if p.Verbatim {
		p.Line, p.Column = p.Line+line-1, 0
	}
	return p
}

// render executes the template.
func (t *jetTemplate) render(r *run) (string, error) {
	x := t.begin(r)
	err := t.start.Execute(&x.out, x.vars, x.context())
	if err = r.final(err); err != nil {
		return "", t.explain(err)
	}
	text := x.out.b.String()
	x.end() // after a failure or a panic it is not used again
	return text, nil
}

var jetRuntimeError = regexp.MustCompile(`(?s)^Jet Runtime Error \("(.*?)":(\d+)\): (.*)$`)

// explain places an error that did not come through one of our functions. Its
// text may hold values, so it is replaced.
func (t *jetTemplate) explain(err error) error {
	pos := t.units[t.main].at
	m := jetRuntimeError.FindStringSubmatch(err.Error())
	var placed *Error
	var f *fault
	switch {
	case errors.As(err, &placed):
		return placed
	case errors.As(err, &f):
		return at(pos, f)
	case m == nil:
		return at(pos, faultf("the template cannot be rendered with these values"))
	}
	line, _ := strconv.Atoi(m[2])
	return at(linePosition(t.units[m[1]].at, line), jetFault(m[3]))
}

var (
	notDeclared = regexp.MustCompile(`^could not assign ("[^"]*")`)
	noBlock     = regexp.MustCompile(`^unresolved block ("[^"]*")`)
)

func jetFault(msg string) *fault {
	if m := notDeclared.FindStringSubmatch(msg); m != nil {
		return faultf("variable %s is not declared", m[1]).withHint("declare it with := first")
	}
	if m := noBlock.FindStringSubmatch(msg); m != nil {
		return faultf("block %s is not defined", m[1])
	}
	return faultf("the template cannot be rendered with these values")
}

// anyType is what nil is a value of.
var anyType = reflect.TypeFor[any]()

// reflected is v as Jet handles values.
func reflected(v any) reflect.Value {
	if v == nil {
		return reflect.Zero(anyType)
	}
	return reflect.ValueOf(v)
}

// unreflected is the inverse.
func unreflected(v reflect.Value) any {
	if !v.IsValid() {
		return nil
	}
	return v.Interface()
}
