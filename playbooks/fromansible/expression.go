package fromansible

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
)

// A term is an expression as it is written here.
type term struct {
	text string
	prec int
	kind kind
}

// How strongly operators bind, in expressions and in Jet.
const (
	condPrec  = 1
	orPrec    = 10
	andPrec   = 15
	comparing = 20
	adding    = 30
	notPrec   = 50
	timesPrec = 60
	negating  = 90
	powering  = 100
	whole     = 1000
)

// in gives the text of a term as an operand of an operator.
func (t term) in(prec int) string {
	if t.prec < prec {
		return "(" + t.text + ")"
	}
	return t.text
}

// unknownError is something of Jinja or Ansible that has no counterpart.
type unknownError string

func (e unknownError) Error() string { return string(e) }

func unknownf(format string, args ...any) error { return unknownError(fmt.Sprintf(format, args...)) }

// A writer writes expressions of Jinja as expressions of manifests or of Jet.
type writer struct {
	scope *scope
	jet   bool
	local bool // something was written that only this template knows
}

// A binding is what a name means in a scope.
type binding struct {
	text string   // what is written for it
	kind kind     //
	pair bool     // it is an element of toPairs(…): key and value are [0] and [1]
	twin bool     // it is two: of a loop, and of one in it
	expr *j2.Expr // it stands for this expression
	// A result of a task: what its fields are called here.
	result   *result
	jetVar   bool
	pairKey  string // of an element that is a key and a value: what its key is called
	loopOver string // of loop: what is looped over
	loopMap  bool
}

// scope is what names mean at a place. The zero value of a name is data.
type scope struct {
	outer *scope
	names map[string]binding
	files *converter // what all of the input says: kinds of data, results, values that tasks set
	depth int        // of values that stand for expressions, so that circles end
}

func (s *scope) child() *scope { return &scope{outer: s, names: map[string]binding{}, files: s.files} }

func (s *scope) find(name string) (binding, bool) {
	for ; s != nil; s = s.outer {
		if b, ok := s.names[name]; ok {
			return b, true
		}
	}
	return binding{}, false
}

func (w *writer) write(e *j2.Expr) (term, error) {
	if t, done, err := w.ofFact(e); done || err != nil {
		return t, err
	}
	switch e.Op {
	case j2.Name:
		return w.name(e.Text)
	case j2.Literal:
		return w.literal(e.Lit), nil
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
		x, err := w.write(e.Args[0])
		return term{"-" + x.in(negating), negating, numberKind}, err
	case j2.Binary:
		return w.binary(e)
	}
	return w.cond(e)
}

// name writes a variable.
func (w *writer) name(name string) (term, error) {
	if b, ok := w.scope.find(name); ok {
		switch {
		case b.expr != nil:
			return w.inlined(b.expr, name)
		case b.result != nil:
			return w.resultTerm(b.result, nil)
		case b.twin:
			return term{}, unknownf("the element of a loop in a loop as a whole")
		case b.pair:
			return term{"({'key': " + b.text + "[0], 'value': " + b.text + "[1]})", whole, mapKind}, nil
		}
		w.local = w.local || b.jetVar
		return term{b.text, whole, b.kind}, nil
	}
	if f, ok := magicNames[name]; ok {
		if strings.Contains(f.expr, "??") {
			if w.jet {
				return term{}, unknownf("the variable %s in a template", name)
			}
			return term{f.expr, condPrec, f.kind}, nil
		}
		return w.ours(f)
	}
	if v, ok := w.scope.files.values[name]; ok {
		return w.inlined(v, name)
	}
	if r, ok := w.scope.files.results[name]; ok {
		return w.resultTerm(r, nil)
	}
	switch {
	case name == "omit":
		return term{}, unknownf("omit outside of default()")
	case name == "ansible_managed":
		return term{w.quote("Ansible managed"), whole, textKind}, nil
	case name == "role_name":
		return term{w.quote(w.scope.files.role.name), whole, textKind}, nil
	case strings.HasPrefix(name, "ansible_") && !notFact(name):
		return term{}, unknownf("the fact %s", name)
	case name == "role_path", name == "playbook_dir", name == "inventory_dir", name == "inventory_file", name == "environment", name == "ansible_loop", name == "loop":
		return term{}, unknownf("the variable %s", name)
	}
	w.scope.files.use(name)
	return term{"Data." + name, whole, w.scope.files.kindOf(name)}, nil
}

// ours writes what is the same path here.
func (w *writer) ours(f fact) (term, error) {
	return term{w.requoted(f.expr), whole, f.kind}, nil
}

// requoted has the quotes of the language around texts without quotes.
func (w *writer) requoted(text string) string {
	if w.jet {
		return text
	}
	return strings.ReplaceAll(text, `"`, "'")
}

// inlined writes an expression in the place of a name that stands for it.
func (w *writer) inlined(e *j2.Expr, name string) (term, error) {
	if w.scope.depth > 20 {
		return term{}, unknownf("the variable %s, which is made of itself", name)
	}
	inner := *w.scope
	inner.depth++
	w2 := &writer{scope: &inner, jet: w.jet}
	t, err := w2.write(e)
	w.local = w.local || w2.local
	return t, err
}

func (w *writer) literal(v any) term {
	switch v := v.(type) {
	case nil:
		return term{"nil", whole, anyKind}
	case bool:
		return term{strconv.FormatBool(v), whole, boolKind}
	case int64:
		return term{strconv.FormatInt(v, 10), whole, numberKind}
	case float64:
		return term{strconv.FormatFloat(v, 'f', -1, 64), whole, numberKind}
	}
	if w.jet {
		return term{strconv.Quote(v.(string)), whole, textKind}
	}
	return term{quoteText(v.(string)), whole, textKind}
}

// quoteText writes a text as a literal of an expression: in single quotes, since what is
// around it in YAML has double ones.
func quoteText(s string) string {
	if strings.ContainsAny(s, "'\\\n\t\r") {
		return strconv.Quote(s)
	}
	return "'" + s + "'"
}

// quote writes a text as a literal of the language.
func (w *writer) quote(s string) string {
	if w.jet {
		return strconv.Quote(s)
	}
	return quoteText(s)
}

func (w *writer) all(list []*j2.Expr) ([]string, error) {
	texts := make([]string, len(list))
	for i, e := range list {
		t, err := w.write(e)
		if err != nil {
			return nil, err
		}
		texts[i] = t.text
	}
	return texts, nil
}

func (w *writer) list(e *j2.Expr) (term, error) {
	items, err := w.all(e.Args)
	if w.jet {
		return term{"slice(" + strings.Join(items, ", ") + ")", whole, listKind}, err
	}
	return term{"[" + strings.Join(items, ", ") + "]", whole, listKind}, err
}

func (w *writer) dict(e *j2.Expr) (term, error) {
	items, err := w.all(e.Args)
	if err != nil {
		return term{}, err
	}
	if w.jet {
		return term{"map(" + strings.Join(items, ", ") + ")", whole, mapKind}, nil
	}
	var pairs []string
	for i := 0; i < len(items); i += 2 {
		if _, isText := e.Args[i].Lit.(string); !isText {
			items[i] = "(" + items[i] + ")"
		}
		pairs = append(pairs, items[i]+": "+items[i+1])
	}
	return term{"{" + strings.Join(pairs, ", ") + "}", whole, mapKind}, nil
}

var wordForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func isWord(s string) bool { return wordForm.MatchString(s) }

// member writes x.y and x[y].
func (w *writer) member(e *j2.Expr) (term, error) {
	base := e.Args[0]
	if base.Op == j2.Name {
		if b, ok := w.binding(base.Text); ok {
			switch {
			case b.result != nil:
				return w.resultTerm(b.result, e)
			case b.pair && e.Op == j2.Attr && (e.Text == "key" || e.Text == "value"):
				return term{b.text + map[string]string{"key": "[0]", "value": "[1]"}[e.Text], whole, anyKind}, nil
			case b.twin:
				return w.twin(e)
			case b.loopOver != "":
				w.local = true
				return w.loopField(b, e.Text)
			case b.pairKey != "" && e.Text == "key":
				w.local = true
				return term{b.pairKey, whole, textKind}, nil
			case b.pairKey != "" && e.Text == "value":
				w.local = true
				return term{b.text, whole, anyKind}, nil
			}
		}
		if base.Text == "ansible_facts" {
			return term{}, unknownf("the fact %s", e.Text)
		}
	}
	if r, rest := w.resultBelow(e); r != nil {
		return w.resultTerm(r, rest)
	}
	x, err := w.write(base)
	if err != nil {
		return x, err
	}
	text := x.text
	if x.prec < whole {
		text = "(" + text + ")"
	}
	k := w.scope.files.kindOfPath(e)
	if e.Op == j2.Attr {
		return term{text + "." + e.Text, whole, memberKind(text, k)}, nil
	}
	index := e.Args[1]
	if s, ok := index.Lit.(string); ok && isWord(s) {
		return term{text + "." + s, whole, memberKind(text, k)}, nil
	}
	i, err := w.write(index)
	if n, ok := index.Lit.(int64); ok && n < 0 && w.jet {
		return term{}, unknownf("an index from the end in a template")
	}
	if index.Op == j2.Neg && w.jet {
		return term{}, unknownf("an index from the end in a template")
	}
	return term{text + "[" + i.text + "]", whole, memberKind(text, k)}, err
}

// twin writes the two elements of a loop in a loop.
func (w *writer) twin(e *j2.Expr) (term, error) {
	if e.Op == j2.Index {
		switch e.Args[1].Lit {
		case int64(0):
			return term{"Outer", whole, anyKind}, nil
		case int64(1):
			return term{"Item", whole, anyKind}, nil
		}
	}
	return term{}, unknownf("the element of a loop in a loop as a whole")
}

func memberKind(base string, k kind) kind {
	if base == "Groups" {
		return listKind
	}
	if base == "Hosts" {
		return mapKind
	}
	return k
}

func (w *writer) binding(name string) (binding, bool) {
	if b, ok := w.scope.find(name); ok {
		return b, true
	}
	if r, ok := w.scope.files.results[name]; ok {
		return binding{result: r}, true
	}
	return binding{}, false
}

// resultBelow finds the result that a longer path such as x.stat.exists begins with.
func (w *writer) resultBelow(e *j2.Expr) (*result, *j2.Expr) {
	base := e
	for base.Op == j2.Attr || base.Op == j2.Index {
		base = base.Args[0]
	}
	if base.Op != j2.Name {
		return nil, nil
	}
	b, ok := w.binding(base.Text)
	if !ok || b.result == nil {
		return nil, nil
	}
	return b.result, e
}

func (w *writer) slice(e *j2.Expr) (term, error) {
	if w.jet {
		return term{}, unknownf("a part of a list in a template")
	}
	x, err := w.write(e.Args[0])
	if err != nil {
		return x, err
	}
	bounds := [2]string{}
	for i, arg := range e.Args[1:] {
		if arg == nil {
			continue
		}
		t, err := w.write(arg)
		if err != nil {
			return t, err
		}
		bounds[i] = t.text
	}
	return term{x.in(whole) + "[" + bounds[0] + ":" + bounds[1] + "]", whole, x.kind}, nil
}

// cond writes a if b else c.
func (w *writer) cond(e *j2.Expr) (term, error) {
	c, err := w.condition(e.Args[0])
	if err != nil {
		return c, err
	}
	then, err := w.write(e.Args[1])
	if err != nil {
		return then, err
	}
	otherwise := term{w.quote(""), whole, textKind}
	if e.Args[2] != nil {
		if otherwise, err = w.write(e.Args[2]); err != nil {
			return otherwise, err
		}
	}
	k := then.kind
	if k == anyKind {
		k = otherwise.kind
	}
	return term{c.in(condPrec+1) + " ? " + then.in(condPrec+1) + " : " + otherwise.in(condPrec), condPrec, k}, nil
}

// condition writes an expression as a boolean, as Jinja takes it for one.
func (w *writer) condition(e *j2.Expr) (term, error) {
	switch e.Op {
	case j2.Not:
		return w.negated(e.Args[0])
	case j2.Binary:
		if e.Text == "and" || e.Text == "or" {
			return w.junction(e)
		}
	}
	t, err := w.write(e)
	if err != nil {
		return t, err
	}
	switch t.kind {
	case textKind:
		return term{t.in(comparing+1) + " != " + w.quote(""), comparing, boolKind}, nil
	case listKind, mapKind:
		return term{"len(" + t.text + ") > 0", comparing, boolKind}, nil
	case numberKind:
		return term{t.in(comparing+1) + " != 0", comparing, boolKind}, nil
	}
	return t, nil
}

func (w *writer) junction(e *j2.Expr) (term, error) {
	left, err := w.condition(e.Args[0])
	if err != nil {
		return left, err
	}
	right, err := w.condition(e.Args[1])
	op, prec := map[bool]string{true: "&&", false: "and"}[w.jet], andPrec
	if e.Text == "or" {
		op, prec = map[bool]string{true: "||", false: "or"}[w.jet], orPrec
	}
	return term{left.in(prec) + " " + op + " " + right.in(prec+1), prec, boolKind}, err
}

func (w *writer) negated(e *j2.Expr) (term, error) {
	switch {
	case e.Op == j2.Test:
		opposite := *e
		opposite.Not = !e.Not
		return w.write(&opposite)
	case e.Op == j2.Binary && e.Text == "in":
		opposite := *e
		opposite.Text = "not in"
		return w.write(&opposite)
	case e.Op == j2.Not:
		return w.condition(e.Args[0])
	}
	x, err := w.condition(e)
	if err != nil {
		return x, err
	}
	return w.not(x), nil
}

func (w *writer) not(x term) term {
	if w.jet {
		return term{"!" + x.in(notPrec), notPrec, boolKind}
	}
	return term{"not " + x.in(notPrec), notPrec, boolKind}
}

func (w *writer) binary(e *j2.Expr) (term, error) {
	if e.Text == "and" || e.Text == "or" {
		return w.junction(e)
	}
	left, err := w.write(e.Args[0])
	if err != nil {
		return left, err
	}
	right, err := w.write(e.Args[1])
	if err != nil {
		return right, err
	}
	switch e.Text {
	case "~":
		return w.joined(left, right), nil
	case "+":
		if left.kind == listKind || right.kind == listKind {
			if w.jet {
				return term{}, unknownf("lists that are added in a template")
			}
			return term{"concat(" + left.text + ", " + right.text + ")", whole, listKind}, nil
		}
		k := left.kind
		if k == anyKind {
			k = right.kind
		}
		return term{left.in(adding) + " + " + right.in(adding+1), adding, k}, nil
	case "-":
		return term{left.in(adding) + " - " + right.in(adding+1), adding, numberKind}, nil
	case "%":
		if left.kind == textKind {
			return term{}, unknownError("a text with a percent sign behind it")
		}
		return term{left.in(timesPrec) + " % " + right.in(timesPrec+1), timesPrec, numberKind}, nil
	case "*", "/":
		return term{left.in(timesPrec) + " " + e.Text + " " + right.in(timesPrec+1), timesPrec, numberKind}, nil
	case "//":
		if w.jet {
			return term{}, unknownf("the operator // in a template")
		}
		return term{"int(" + left.in(timesPrec) + " / " + right.in(timesPrec+1) + ")", whole, numberKind}, nil
	case "**":
		if w.jet {
			return term{}, unknownf("the operator ** in a template")
		}
		return term{left.in(powering+1) + " ** " + right.in(powering), powering, numberKind}, nil
	case "in", "not in":
		return w.contained(left, right, e.Text == "not in")
	}
	return term{left.in(comparing+1) + " " + e.Text + " " + right.in(comparing+1), comparing, boolKind}, nil
}

// joined writes texts that are put together with ~.
func (w *writer) joined(left, right term) term {
	text := func(t term) string {
		if t.kind == textKind {
			return t.in(adding)
		}
		if w.jet {
			return `"" + ` + t.in(adding+1)
		}
		return "string(" + t.text + ")"
	}
	return term{text(left) + " + " + text(right), adding, textKind}
}

// contained writes x in y.
func (w *writer) contained(x, in term, not bool) (term, error) {
	if w.jet {
		return term{}, unknownf("the operator in, in a template")
	}
	op := "in"
	if in.kind == textKind {
		op = "contains"
	}
	switch {
	case not && op == "in":
		op = "not in"
	case not:
		return w.not(term{in.in(comparing+1) + " contains " + x.in(comparing+1), comparing, boolKind}), nil
	case op == "contains":
		return term{in.in(comparing+1) + " contains " + x.in(comparing+1), comparing, boolKind}, nil
	}
	return term{x.in(comparing+1) + " " + op + " " + in.in(comparing+1), comparing, boolKind}, nil
}

// ofFact writes facts, and what compares one with literals whose values are called
// otherwise here.
func (w *writer) ofFact(e *j2.Expr) (t term, done bool, err error) {
	if e.Op == j2.Name || e.Op == j2.Attr || e.Op == j2.Index {
		if e.Op == j2.Name {
			if _, ok := w.scope.find(e.Text); ok {
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
	left, lower := withoutLower(e.Args[0])
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

// oneOf writes that a fact has one of some values.
func (w *writer) oneOf(f fact, names []string, lower, not bool) (term, error) {
	var values []string
	for _, name := range names {
		value := f.values[name]
		if lower {
			for theirs, ours := range f.values {
				if strings.ToLower(theirs) == name {
					value = ours
				}
			}
		}
		if value == "" {
			return term{}, unknownf("the value %q of %s", name, f.of)
		}
		values = append(values, strings.Fields(value)...)
	}
	if len(values) == 1 {
		op := " == "
		if not {
			op = " != "
		}
		return term{f.of + op + w.quote(values[0]), comparing, boolKind}, nil
	}
	if w.jet {
		op, joint := " == ", " || "
		if not {
			op, joint = " != ", " && "
		}
		for i, value := range values {
			values[i] = f.of + op + w.quote(value)
		}
		return term{strings.Join(values, joint), orPrec, boolKind}, nil
	}
	for i, value := range values {
		values[i] = quoteText(value)
	}
	op := " in "
	if not {
		op = " not in "
	}
	return term{f.of + op + "[" + strings.Join(values, ", ") + "]", comparing, boolKind}, nil
}

// fact writes a fact by itself.
func (w *writer) fact(f fact, e *j2.Expr) (term, error) {
	if f.values == nil {
		if w.jet && strings.HasPrefix(f.expr, "int(") {
			return term{}, unknownf("this fact in a template")
		}
		return term{w.requoted(f.expr), whole, f.kind}, nil
	}
	if w.jet {
		return term{}, unknownf("this fact in a template")
	}
	var pairs []string
	for _, theirs := range sortedKeys(f.values) {
		for _, ours := range strings.Fields(f.values[theirs]) {
			pairs = append(pairs, quoteText(ours)+": "+quoteText(theirs))
		}
	}
	return term{"{" + strings.Join(pairs, ", ") + "}[" + f.of + "]", whole, textKind}, nil
}
