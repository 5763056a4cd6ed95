package expression

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/facts"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
)

// A Term is an expression as it is written here.
type Term struct {
	Text string
	prec int
	Kind Kind
}

// How strongly operators bind, in expressions.
const (
	CondPrec  = 1
	orPrec    = 10
	andPrec   = 15
	comparing = 20
	adding    = 30
	notPrec   = 50
	timesPrec = 60
	negating  = 90
	powering  = 100
	Whole     = 1000
)

// In gives the text of a term as an operand of an operator.
func (t Term) In(prec int) string {
	if t.prec < prec {
		return "(" + t.Text + ")"
	}
	return t.Text
}

// unknownError is something of Jinja or Ansible that has no counterpart.
type unknownError string

func (e unknownError) Error() string { return string(e) }

func Unknown(format string, args ...any) error { return unknownError(fmt.Sprintf(format, args...)) }

// A Writer writes expressions of Jinja as expressions of manifests.
type Writer struct {
	Scope *Scope
}

// A Binding is what a name means in a scope.
type Binding struct {
	Text string   // what is written for it
	Kind Kind     //
	Pair bool     // it is an element of toPairs(…): key and value are [0] and [1]
	Twin bool     // it is two: of a loop, and of one in it
	Expr *j2.Expr // it stands for this expression
	// Literal is the value of data that is the same for all hosts; nil of other names.
	Literal *j2.Expr
	// A result of a task: what its fields are called here.
	Result *Result
	Only   []string // the fields of it that are known; nil: all
}

// Surroundings are what the rest of the input says of names and files.
type Surroundings interface {
	RoleName() string                                                            // the name of the role that is read
	ResultOf(name string) (*Result, bool)                                        // of a task that registers it
	Sets(name string) bool                                                       // tasks set it
	KindOf(name string) Kind                                                     // of data
	Given(name string) bool                                                      // the inventory has it, so that its type is known
	Defines(name string) bool                                                    // data has it
	Optional(name string) bool                                                   // data has it, as nil on some hosts
	NodeOf(path *j2.Expr) *yaml.Node                                             // of data, where it is literal; else nil
	Ask(name string, q facts.Query) error                                        // has Facts.NAME be what plays ask for
	LocalFile(folder, name string) (path string, err error)                      // of the role or the play, copied
	Template(name, header string, s *Scope) (path string, vars []Var, err error) // copied, and the variables that it needs
}

// Scope is what names mean at a place. The zero value of a name is data.
type Scope struct {
	Outer *Scope
	Names map[string]Binding
	Files Surroundings
	depth int // of values that stand for expressions, so that circles end
}

func (s *Scope) Child() *Scope { return &Scope{Outer: s, Names: map[string]Binding{}, Files: s.Files} }

func (s *Scope) Find(name string) (Binding, bool) {
	for ; s != nil; s = s.Outer {
		if b, ok := s.Names[name]; ok {
			return b, true
		}
	}
	return Binding{}, false
}

func (w *Writer) Write(e *j2.Expr) (Term, error) {
	e, err := w.ofHosts(e)
	if err != nil {
		return Term{}, err
	}
	for _, by := range []func(*j2.Expr) (Term, bool, error){w.ofGathered, w.ofFact} {
		if t, done, err := by(e); done || err != nil {
			return t, err
		}
	}
	switch e.Op {
	case j2.Name:
		return w.name(e.Text)
	case j2.Literal:
		return w.Literal(e.Lit), nil
	case j2.List:
		return w.list(e)
	case j2.Dict:
		return w.dict(e)
	case j2.Attr, j2.Index:
		return w.member(e)
	case j2.Slice:
		return w.slice(e)
	case j2.Call:
		return w.call(e)
	case j2.Filter:
		return w.filter(e)
	case j2.Test:
		return w.test(e)
	case j2.Not:
		return w.negated(e.Args[0])
	case j2.Neg:
		x, err := w.Write(e.Args[0])
		return Term{"-" + x.In(negating), negating, NumberKind}, err
	case j2.Binary:
		return w.binary(e)
	}
	return w.cond(e)
}

// name writes a variable.
func (w *Writer) name(name string) (Term, error) {
	if b, ok := w.Scope.Find(name); ok {
		switch {
		case b.Expr != nil:
			return w.inlined(b.Expr, name)
		case b.Result != nil:
			return w.resultTerm(b.Result, nil)
		case b.Twin:
			return Term{}, Unknown("the element of a loop in a loop as a whole")
		case b.Pair:
			return Term{"({'key': " + b.Text + "[0], 'value': " + b.Text + "[1]})", Whole, MapKind}, nil
		}
		return Term{b.Text, Whole, b.Kind}, nil
	}
	if f, ok := magicNames[name]; ok {
		if strings.Contains(f.expr, "??") {
			return Term{f.expr, CondPrec, f.kind}, nil
		}
		return Term{f.expr, Whole, f.kind}, nil
	}
	if r, ok := w.Scope.Files.ResultOf(name); ok {
		return w.resultTerm(r, nil)
	}
	switch {
	case name == "omit":
		return Term{}, Unknown("omit outside of default()")
	case name == "mandatory" && !w.Scope.Files.Defines(name):
		return Term{}, Unknown("the variable mandatory, which is there so that the run fails without another value")
	case name == "ansible_managed":
		return Term{QuoteText("Ansible managed"), Whole, TextKind}, nil
	case name == "role_name":
		return Term{QuoteText(w.Scope.Files.RoleName()), Whole, TextKind}, nil
	case strings.HasPrefix(name, "ansible_") && !notFact(name) && !w.Scope.Files.Defines(name):
		return Term{}, Unknown("the fact %s", name)
	case name == "role_path", name == "playbook_dir", name == "inventory_dir", name == "inventory_file", name == "environment", name == "ansible_loop", name == "loop":
		return Term{}, Unknown("the variable %s", name)
	}
	return Term{"Data." + name, Whole, w.Scope.Files.KindOf(name)}, nil
}

// inlined writes an expression in the place of a name that stands for it.
func (w *Writer) inlined(e *j2.Expr, name string) (Term, error) {
	if w.Scope.depth > 20 {
		return Term{}, Unknown("the variable %s, which is made of itself", name)
	}
	inner := *w.Scope
	inner.depth++
	w2 := &Writer{Scope: &inner}
	return w2.Write(e)
}

func (w *Writer) Literal(v any) Term {
	switch v := v.(type) {
	case nil:
		return Term{"nil", Whole, AnyKind}
	case bool:
		return Term{strconv.FormatBool(v), Whole, boolKind}
	case int64:
		return Term{strconv.FormatInt(v, 10), Whole, NumberKind}
	case float64:
		return Term{strconv.FormatFloat(v, 'f', -1, 64), Whole, kindOfFloat(v, "")}
	}
	return Term{QuoteText(v.(string)), Whole, TextKind}
}

// QuoteText writes a text as a literal of an expression: in single quotes, since what is
// around it in YAML has double ones.
func QuoteText(s string) string {
	if strings.ContainsAny(s, "'\\\n\t\r") {
		return strconv.Quote(s)
	}
	return "'" + s + "'"
}

func (w *Writer) all(list []*j2.Expr) ([]string, error) {
	texts := make([]string, len(list))
	for i, e := range list {
		t, err := w.Write(e)
		if err != nil {
			return nil, err
		}
		texts[i] = t.Text
	}
	return texts, nil
}

func (w *Writer) list(e *j2.Expr) (Term, error) {
	items, err := w.all(e.Args)
	return Term{"[" + strings.Join(items, ", ") + "]", Whole, ListKind}, err
}

func (w *Writer) dict(e *j2.Expr) (Term, error) {
	items, err := w.all(e.Args)
	if err != nil {
		return Term{}, err
	}
	var pairs []string
	for i := 0; i < len(items); i += 2 {
		if _, isText := e.Args[i].Lit.(string); !isText {
			items[i] = "(" + items[i] + ")"
		}
		pairs = append(pairs, items[i]+": "+items[i+1])
	}
	return Term{"{" + strings.Join(pairs, ", ") + "}", Whole, MapKind}, nil
}

var wordForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

// IsWord reports whether a text is the name of a variable.
func IsWord(s string) bool { return wordForm().MatchString(s) }

// member writes x.y and x[y].
func (w *Writer) member(e *j2.Expr) (Term, error) {
	base := e.Args[0]
	if base.Op == j2.Name {
		if b, ok := w.Binding(base.Text); ok {
			switch {
			case b.Result != nil:
				return w.resultTerm(b.Result, e)
			case b.Expr != nil && b.Expr.Op == j2.Dict && literalField(b.Expr, fieldOf(e)) != nil:
				return w.inlined(literalField(b.Expr, fieldOf(e)), base.Text)
			case b.Only != nil && !slices.Contains(b.Only, fieldOf(e)):
				return Term{}, Unknown("%s of a file that find has found", fieldOf(e))
			case b.Pair && e.Op == j2.Attr && (e.Text == "key" || e.Text == "value"):
				return Term{b.Text + map[string]string{"key": "[0]", "value": "[1]"}[e.Text], Whole, AnyKind}, nil
			case b.Twin:
				return w.twin(e)
			}
		}
		if base.Text == "ansible_facts" {
			if fieldOf(e) == "" {
				return Term{}, Unknown("a fact whose name is an expression")
			}
			return Term{}, Unknown("the fact %s", fieldOf(e))
		}
	}
	if r, rest := w.resultBelow(e); r != nil {
		return w.resultTerm(r, rest)
	}
	x, err := w.Write(base)
	if err != nil {
		return x, err
	}
	text := x.Text
	if x.prec < Whole {
		text = "(" + text + ")"
	}
	k := KindOfNode(w.Scope.Files.NodeOf(e))
	if e.Op == j2.Attr {
		return Term{text + "." + e.Text, Whole, memberKind(text, k)}, nil
	}
	index := e.Args[1]
	if s, ok := index.Lit.(string); ok && IsWord(s) {
		return Term{text + "." + s, Whole, memberKind(text, k)}, nil
	}
	i, err := w.Write(index)
	return Term{text + "[" + i.Text + "]", Whole, memberKind(text, k)}, err
}

// fieldOf is the name of the field that a member is; "" of one that is no literal name.
func fieldOf(e *j2.Expr) string {
	if e.Op == j2.Attr {
		return e.Text
	}
	name, _ := e.Args[1].Lit.(string)
	return name
}

// literalField is the value of a key of a map that is written out; nil if it is not there.
func literalField(dict *j2.Expr, key string) *j2.Expr {
	for i := 0; i+1 < len(dict.Args); i += 2 {
		if dict.Args[i].Lit == key {
			return dict.Args[i+1]
		}
	}
	return nil
}

// twin writes the two elements of a loop in a loop.
func (w *Writer) twin(e *j2.Expr) (Term, error) {
	if e.Op == j2.Index {
		switch e.Args[1].Lit {
		case int64(0):
			return Term{"Outer", Whole, AnyKind}, nil
		case int64(1):
			return Term{"Item", Whole, AnyKind}, nil
		}
	}
	return Term{}, Unknown("the element of a loop in a loop as a whole")
}

func memberKind(base string, k Kind) Kind {
	if base == "Groups" {
		return ListKind
	}
	if base == "Hosts" {
		return MapKind
	}
	return k
}

func (w *Writer) Binding(name string) (Binding, bool) {
	if b, ok := w.Scope.Find(name); ok {
		return b, true
	}
	if r, ok := w.Scope.Files.ResultOf(name); ok {
		return Binding{Result: r}, true
	}
	return Binding{}, false
}

// resultBelow finds the result that a longer path such as x.stat.exists begins with.
func (w *Writer) resultBelow(e *j2.Expr) (*Result, *j2.Expr) {
	base := e
	for base.Op == j2.Attr || base.Op == j2.Index {
		base = base.Args[0]
	}
	if base.Op != j2.Name {
		return nil, nil
	}
	b, ok := w.Binding(base.Text)
	if !ok || b.Result == nil {
		return nil, nil
	}
	return b.Result, e
}

func (w *Writer) slice(e *j2.Expr) (Term, error) {
	x, err := w.Write(e.Args[0])
	if err != nil {
		return x, err
	}
	bounds := [2]string{}
	for i, arg := range e.Args[1:] {
		if arg == nil {
			continue
		}
		t, err := w.Write(arg)
		if err != nil {
			return t, err
		}
		bounds[i] = t.Text
	}
	return Term{x.In(Whole) + "[" + bounds[0] + ":" + bounds[1] + "]", Whole, x.Kind}, nil
}

// cond writes a if b else c.
func (w *Writer) cond(e *j2.Expr) (Term, error) {
	if x := folded(w.Scope, e); x != e {
		return w.Write(x)
	}
	c, err := w.Condition(e.Args[0])
	if err != nil {
		return c, err
	}
	then, err := w.Write(e.Args[1])
	if err != nil {
		return then, err
	}
	otherwise := Term{QuoteText(""), Whole, TextKind}
	if e.Args[2] != nil {
		if otherwise, err = w.Write(e.Args[2]); err != nil {
			return otherwise, err
		}
	}
	k := then.Kind
	if k == AnyKind {
		k = otherwise.Kind
	}
	return Term{c.In(CondPrec+1) + " ? " + then.In(CondPrec+1) + " : " + otherwise.In(CondPrec), CondPrec, k}, nil
}

// Condition writes an expression as a boolean, as Jinja takes it for one.
func (w *Writer) Condition(e *j2.Expr) (Term, error) {
	switch e.Op {
	case j2.Not:
		return w.negated(e.Args[0])
	case j2.Binary:
		if e.Text == "and" || e.Text == "or" {
			return w.junction(e)
		}
	case j2.Filter:
		if e.Text == "regex_search" && len(e.Args) == 2 {
			return matchTest(w, &j2.Expr{Op: j2.Test, Text: "search", Args: e.Args, Kw: e.Kw}, form{})
		}
	}
	t, err := w.Write(e)
	if err != nil {
		return t, err
	}
	switch t.Kind {
	case TextKind:
		return Term{t.In(comparing+1) + " != " + QuoteText(""), comparing, boolKind}, nil
	case ListKind, MapKind:
		return Term{"len(" + t.Text + ") > 0", comparing, boolKind}, nil
	case NumberKind, floatKind, fractKind:
		return Term{t.In(comparing+1) + " != 0", comparing, boolKind}, nil
	}
	return t, nil
}

func (w *Writer) junction(e *j2.Expr) (Term, error) {
	if x := folded(w.Scope, e); x != e {
		return w.Condition(x)
	}
	left, err := w.Condition(e.Args[0])
	if err != nil {
		return left, err
	}
	right, err := w.Condition(e.Args[1])
	op, prec := "and", andPrec
	if e.Text == "or" {
		op, prec = "or", orPrec
	}
	return Term{left.In(prec) + " " + op + " " + right.In(prec+1), prec, boolKind}, err
}

func (w *Writer) negated(e *j2.Expr) (Term, error) {
	if x := folded(w.Scope, e); x != e {
		return w.negated(x)
	}
	switch {
	case e == never || e == always:
		return w.Literal(e == never), nil
	case e.Op == j2.Test:
		opposite := *e
		opposite.Not = !e.Not
		return w.Write(&opposite)
	case e.Op == j2.Binary && e.Text == "in":
		opposite := *e
		opposite.Text = "not in"
		return w.Write(&opposite)
	case e.Op == j2.Not:
		return w.Condition(e.Args[0])
	}
	x, err := w.Condition(e)
	if err != nil {
		return x, err
	}
	return w.not(x), nil
}

func (w *Writer) not(x Term) Term {
	if x.Text == "nil" {
		return w.Literal(true)
	}
	return Term{"not " + x.In(notPrec), notPrec, boolKind}
}

func (w *Writer) binary(e *j2.Expr) (Term, error) {
	left, err := w.Write(e.Args[0])
	if err != nil {
		return left, err
	}
	right, err := w.Write(e.Args[1])
	if err != nil {
		return right, err
	}
	switch e.Text {
	case "and", "or":
		return w.operand(e, left, right)
	case "~":
		return w.joined(left, right)
	case "+":
		if left.Kind == ListKind || right.Kind == ListKind {
			return Term{"concat(" + left.Text + ", " + right.Text + ")", Whole, ListKind}, nil
		}
		k := left.Kind
		switch {
		case k == AnyKind:
			k = right.Kind
		case k == NumberKind, k == floatKind, k == fractKind:
			k = numberOf(left, right)
		}
		return Term{left.In(adding) + " + " + right.In(adding+1), adding, k}, nil
	case "-":
		return Term{left.In(adding) + " - " + right.In(adding+1), adding, numberOf(left, right)}, nil
	case "%":
		if left.Kind == TextKind {
			return Term{}, unknownError("a text with a percent sign behind it")
		}
		return Term{left.In(timesPrec) + " % " + right.In(timesPrec+1), timesPrec, NumberKind}, nil
	case "*":
		if slices.Contains([]Kind{ListKind, TextKind}, left.Kind) || slices.Contains([]Kind{ListKind, TextKind}, right.Kind) {
			return Term{}, Unknown("a list or a text that is repeated with *")
		}
		return Term{left.In(timesPrec) + " * " + right.In(timesPrec+1), timesPrec, numberOf(left, right)}, nil
	case "/":
		return Term{left.In(timesPrec) + " / " + right.In(timesPrec+1), timesPrec, floatKind}, nil
	case "//":
		return Term{"int(floor(" + left.In(timesPrec) + " / " + right.In(timesPrec+1) + "))", Whole, NumberKind}, nil
	case "**":
		return Term{left.In(powering+1) + " ** " + right.In(powering), powering, NumberKind}, nil
	case "in", "not in":
		return w.contained(left, right, e.Text == "not in")
	}
	return Term{left.In(comparing+1) + " " + e.Text + " " + right.In(comparing+1), comparing, boolKind}, nil
}

// numberOf is the kind of what comes of two numbers.
func numberOf(left, right Term) Kind {
	switch {
	case slices.Contains([]Kind{floatKind, fractKind}, left.Kind), slices.Contains([]Kind{floatKind, fractKind}, right.Kind):
		return floatKind
	case left.Kind == NumberKind && right.Kind == NumberKind:
		return NumberKind
	}
	return AnyKind
}

// operand writes a value that is one of the two operands of and or or.
func (w *Writer) operand(e *j2.Expr, left, right Term) (Term, error) {
	if left.Kind == boolKind && right.Kind == boolKind {
		return w.junction(e)
	}
	k := left.Kind
	if k != right.Kind {
		k = AnyKind
	}
	then, otherwise := right, left
	if e.Text == "or" {
		then, otherwise = left, right
	}
	if left.Kind == AnyKind {
		return Term{left.In(comparing+1) + falsy + " ? " + otherwise.In(CondPrec+1) + " : " + then.In(CondPrec+1), CondPrec, k}, nil
	}
	c, err := w.Condition(e.Args[0])
	return Term{c.In(CondPrec+1) + " ? " + then.In(CondPrec+1) + " : " + otherwise.In(CondPrec+1), CondPrec, k}, err
}

// falsy compares with all that Python takes for false.
const falsy = " in [nil, false, 0, '', [], {}]"

// joined writes texts that are put together with ~.
func (w *Writer) joined(left, right Term) (Term, error) {
	var errs error
	text := func(t Term) string {
		t, err := w.Printed(t)
		errs = errors.Join(errs, err)
		if t.Kind == TextKind {
			return t.In(adding)
		}
		return "string(" + t.Text + ")"
	}
	return Term{text(left) + " + " + text(right), adding, TextKind}, errs
}

// contained writes x in y.
func (w *Writer) contained(x, in Term, not bool) (Term, error) {
	op := "in"
	if in.Kind == TextKind {
		op = "contains"
	}
	switch {
	case not && op == "in":
		op = "not in"
	case not:
		return w.not(Term{in.In(comparing+1) + " contains " + x.In(comparing+1), comparing, boolKind}), nil
	case op == "contains":
		return Term{in.In(comparing+1) + " contains " + x.In(comparing+1), comparing, boolKind}, nil
	}
	return Term{x.In(comparing+1) + " " + op + " " + in.In(comparing+1), comparing, boolKind}, nil
}

// ofFact writes facts, and what compares one with literals whose values are called
// otherwise here.
func (w *Writer) ofFact(e *j2.Expr) (t Term, done bool, err error) {
	if e.Op == j2.Name || e.Op == j2.Attr || e.Op == j2.Index {
		if e.Op == j2.Name {
			if _, ok := w.Scope.Find(e.Text); ok {
				return t, false, nil
			}
			if _, ok := magicNames[e.Text]; ok {
				return t, false, nil
			}
		}
		f, ok := factOf(e)
		if !ok {
			return t, false, nil
		}
		t, err = w.fact(f, e)
		return t, true, err
	}
	if e.Op != j2.Binary || len(e.Args) != 2 {
		return t, false, nil
	}
	if x := foldedComparison(w.Scope, e); x != e {
		t, err = w.Write(x)
		return t, true, err
	}
	left, lower := withoutLower(e.Args[0])
	if left, err = w.ofHosts(left); err != nil {
		return t, false, err
	}
	f, ok := factOf(left)
	if !ok || f.values == nil {
		return t, false, nil
	}
	var names []string
	switch {
	case e.Text == "==" || e.Text == "!=":
		s, isText := e.Args[1].Lit.(string)
		if !isText {
			return t, false, nil
		}
		names = []string{s}
	case (e.Text == "in" || e.Text == "not in") && e.Args[1].Op == j2.List:
		for _, item := range e.Args[1].Args {
			s, isText := item.Lit.(string)
			if !isText {
				return t, false, nil
			}
			names = append(names, s)
		}
	default:
		return t, false, nil
	}
	t, err = w.oneOf(f, names, lower, strings.HasPrefix(e.Text, "!") || strings.HasPrefix(e.Text, "not"))
	return t, true, err
}

func withoutLower(e *j2.Expr) (of *j2.Expr, lower bool) {
	if e.Op == j2.Filter && e.Text == "lower" {
		return e.Args[0], true
	}
	return e, false
}

// kernelOf returns the operating system that is also a family of its own; "" if a value is not one.
func kernelOf(f fact, name string, lower bool) string {
	if f.of != "Facts.host.info.platformFamily" && f.of != "Facts.host.info.platform" {
		return ""
	}
	for theirs, ours := range kernels {
		if theirs != "Linux" && (theirs == name && !lower || strings.ToLower(theirs) == name && lower) {
			return ours
		}
	}
	return ""
}

// oneOf writes that a fact has one of some values.
func (w *Writer) oneOf(f fact, names []string, lower, not bool) (Term, error) {
	var values []string
	for _, name := range names {
		value := f.values[name]
		if lower {
			value = ""
			for theirs, ours := range f.values {
				if strings.ToLower(theirs) == name {
					value = ours
				}
			}
		}
		if kernel := kernelOf(f, name, lower); value == "" && kernel != "" && len(names) == 1 {
			op := " == "
			if not {
				op = " != "
			}
			return Term{"Facts.host.info.os" + op + QuoteText(kernel), comparing, boolKind}, nil
		}
		if value == "" {
			return Term{}, Unknown("the value %q of %s", name, f.of)
		}
		values = append(values, strings.Fields(value)...)
	}
	if len(values) == 1 {
		op := " == "
		if not {
			op = " != "
		}
		return Term{f.of + op + QuoteText(values[0]), comparing, boolKind}, nil
	}
	for i, value := range values {
		values[i] = QuoteText(value)
	}
	op := " in "
	if not {
		op = " not in "
	}
	return Term{f.of + op + "[" + strings.Join(values, ", ") + "]", comparing, boolKind}, nil
}

// fact writes a fact by itself.
func (w *Writer) fact(f fact, e *j2.Expr) (Term, error) {
	if f.values == nil {
		return Term{f.expr, Whole, f.kind}, nil
	}
	var pairs []string
	for _, theirs := range slices.Sorted(maps.Keys(f.values)) {
		for _, ours := range strings.Fields(f.values[theirs]) {
			pairs = append(pairs, QuoteText(ours)+": "+QuoteText(theirs))
		}
	}
	return Term{"{" + strings.Join(pairs, ", ") + "}[" + f.of + "]", Whole, TextKind}, nil
}
