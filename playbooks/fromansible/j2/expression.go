package j2

import "fmt"

// An Expr is a node of an expression.
type Expr struct {
	Op   Op
	Text string   // of Name, Attr, Filter, Test, Binary: what it is called
	Lit  any      // of Literal: nil, bool, int64, float64 or string
	Args []*Expr  // what it is made of, as its Op says
	Kw   []string // of Filter, Test and Call: names of the last arguments; "" before them
	Not  bool     // of Test
}

// An Op is the kind of a node.
type Op int

// The kinds, and what their Args are.
const (
	Name    Op = iota
	Literal    // none
	List       // its elements
	Dict       // key, value, key, value …
	Attr       // what Text is an attribute of
	Index      // what is indexed, the index
	Slice      // what is sliced, from, to; nil where one is left out
	Call       // what is called, its arguments
	Filter     // what is filtered, the arguments of the filter
	Test       // what is tested, the arguments of the test
	Not        // its operand
	Neg        // its operand
	Binary     // left, right
	Cond       // condition, then, else; nil without one
)

// ParseExpr reads an expression of a condition or a template, where a text in quotes has the escapes of Python.
func ParseExpr(text string) (*Expr, error) { return parseExpr(text, false) }

// parseExpr reads an expression; asIs says that a backslash in a text is one.
func parseExpr(text string, asIs bool) (*Expr, error) {
	tokens, err := lex(text, asIs)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	e, err := p.tuple()
	if err == nil && p.peek().kind != endToken {
		err = p.unexpected()
	}
	return e, err
}

// maxDepth bounds how deeply expressions, and tags of templates, nest.
const maxDepth = 200

type parser struct {
	tokens []token
	at     int
	depth  int
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) next() token {
	t := p.tokens[p.at]
	if t.kind != endToken {
		p.at++
	}
	return t
}

func (p *parser) takeOperator(text string) bool {
	if t := p.peek(); t.kind != operatorToken || t.text != text {
		return false
	}
	p.at++
	return true
}

func (p *parser) takeName(text string) bool {
	if t := p.peek(); t.kind != nameToken || t.text != text {
		return false
	}
	p.at++
	return true
}

func (p *parser) unexpected() error {
	switch t := p.peek(); t.kind {
	case endToken:
		return fmt.Errorf("an expression that does not end")
	case valueToken:
		return fmt.Errorf("%#v where nothing like it is expected", t.value)
	default:
		return fmt.Errorf("%q where nothing like it is expected", t.text)
	}
}

// tuple reads expressions with commas between: a list, if there are several.
func (p *parser) tuple() (*Expr, error) {
	first, err := p.condition()
	if err != nil || !p.takeOperator(",") {
		return first, err
	}
	list := &Expr{Op: List, Args: []*Expr{first}}
	for p.peek().kind != endToken && !p.ends() {
		e, err := p.condition()
		if err != nil {
			return nil, err
		}
		list.Args = append(list.Args, e)
		if !p.takeOperator(",") {
			break
		}
	}
	return list, nil
}

func (p *parser) ends() bool {
	t := p.peek()
	return t.kind == operatorToken && (t.text == ")" || t.text == "]" || t.text == "}")
}

// condition reads a if b else c.
func (p *parser) condition() (*Expr, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, fmt.Errorf("an expression that nests more than %d levels", maxDepth)
	}
	defer func() { p.depth-- }()
	then, err := p.binary(0)
	for err == nil && p.takeName("if") {
		c := &Expr{Op: Cond, Args: []*Expr{nil, then, nil}}
		if c.Args[0], err = p.binary(0); err != nil {
			return nil, err
		}
		if p.takeName("else") {
			if c.Args[2], err = p.condition(); err != nil {
				return nil, err
			}
		}
		then = c
	}
	return then, err
}

// levels are the binary operators, from those that bind least.
var levels = [][]string{{"or"}, {"and"}, nil, {"==", "!=", "<=", ">=", "<", ">", "in", "not in"}, {"+", "-"}, {"~"}, {"*", "//", "/", "%"}}

// notLevel is where not stands among them.
const notLevel = 2

func (p *parser) binary(level int) (*Expr, error) {
	switch {
	case level == len(levels):
		return p.unary()
	case level == notLevel && p.takeName("not"):
		x, err := p.binary(notLevel)
		return &Expr{Op: Not, Args: []*Expr{x}}, err
	case level == notLevel:
		return p.binary(level + 1)
	}
	left, err := p.binary(level + 1)
	for err == nil {
		op := p.takeAny(levels[level])
		if op == "" {
			return left, nil
		}
		var right *Expr
		right, err = p.binary(level + 1)
		left = &Expr{Op: Binary, Text: op, Args: []*Expr{left, right}}
		if level == notLevel+1 && err == nil && p.isAny(levels[level]) {
			return nil, fmt.Errorf("a chain of comparisons")
		}
	}
	return nil, err
}

func (p *parser) isAny(ops []string) bool {
	at := p.at
	defer func() { p.at = at }()
	return p.takeAny(ops) != ""
}

func (p *parser) takeAny(ops []string) string {
	for _, op := range ops {
		switch {
		case op == "not in":
			if t := p.peek(); t.kind == nameToken && t.text == "not" && p.tokens[p.at+1].text == "in" {
				p.at += 2
				return op
			}
		case isLetter(op[0]):
			if p.takeName(op) {
				return op
			}
		case p.takeOperator(op):
			return op
		}
	}
	return ""
}

func (p *parser) unary() (*Expr, error) {
	x, err := p.signed()
	if err != nil {
		return nil, err
	}
	return p.filters(x) // a filter is applied to the number with its sign
}

// signed reads an operand of a filter, with a sign and a power.
func (p *parser) signed() (*Expr, error) {
	if p.takeOperator("-") {
		x, err := p.signed()
		return &Expr{Op: Neg, Args: []*Expr{x}}, err
	}
	p.takeOperator("+")
	x, err := p.primary()
	if err != nil {
		return nil, err
	}
	if x, err = p.postfix(x); err != nil {
		return nil, err
	}
	if p.takeOperator("**") {
		power, err := p.unary()
		return &Expr{Op: Binary, Text: "**", Args: []*Expr{x, power}}, err
	}
	return x, nil
}

func (p *parser) primary() (*Expr, error) {
	switch t := p.peek(); {
	case t.kind == valueToken:
		p.at++
		for { // texts that stand beside each other are one
			s, isText := t.value.(string)
			more, alsoText := p.peek().value.(string)
			if !isText || !alsoText {
				return &Expr{Op: Literal, Lit: t.value}, nil
			}
			p.at++
			t.value = s + more
		}
	case t.kind == nameToken:
		p.at++
		switch t.text {
		case "true", "True":
			return &Expr{Op: Literal, Lit: true}, nil
		case "false", "False":
			return &Expr{Op: Literal, Lit: false}, nil
		case "none", "None":
			return &Expr{Op: Literal}, nil
		case "if", "else", "in", "is", "and", "or", "not":
			p.at--
			return nil, p.unexpected()
		}
		return &Expr{Op: Name, Text: t.text}, nil
	case p.takeOperator("("):
		if p.takeOperator(")") {
			return &Expr{Op: List}, nil
		}
		e, err := p.tuple()
		if err == nil && !p.takeOperator(")") {
			err = p.unexpected()
		}
		return e, err
	case p.takeOperator("["):
		list := &Expr{Op: List}
		err := p.until("]", func() error {
			e, err := p.condition()
			list.Args = append(list.Args, e)
			return err
		})
		return list, err
	case p.takeOperator("{"):
		dict := &Expr{Op: Dict}
		err := p.until("}", func() error {
			key, err := p.condition()
			if err != nil {
				return err
			}
			if !p.takeOperator(":") {
				return p.unexpected()
			}
			value, err := p.condition()
			dict.Args = append(dict.Args, key, value)
			return err
		})
		return dict, err
	}
	return nil, p.unexpected()
}

// until reads elements with commas between, up to a closing bracket.
func (p *parser) until(end string, element func() error) error {
	for !p.takeOperator(end) {
		if err := element(); err != nil {
			return err
		}
		if !p.takeOperator(",") {
			if p.takeOperator(end) {
				return nil
			}
			return p.unexpected()
		}
	}
	return nil
}

// postfix reads attributes, indexes and calls.
func (p *parser) postfix(x *Expr) (*Expr, error) {
	for {
		switch {
		case p.takeOperator("."):
			switch t := p.next(); {
			case t.kind == nameToken:
				x = &Expr{Op: Attr, Text: t.text, Args: []*Expr{x}}
			case t.kind == valueToken:
				i, ok := t.value.(int64)
				if !ok {
					return nil, p.unexpected()
				}
				x = &Expr{Op: Index, Args: []*Expr{x, {Op: Literal, Lit: i}}}
			default:
				p.at--
				return nil, p.unexpected()
			}
		case p.takeOperator("["):
			e, err := p.subscript(x)
			if err != nil {
				return nil, err
			}
			x = e
		case p.takeOperator("("):
			args, kw, err := p.arguments()
			if err != nil {
				return nil, err
			}
			x = &Expr{Op: Call, Args: append([]*Expr{x}, args...), Kw: append([]string{""}, kw...)}
		default:
			return x, nil
		}
	}
}

func (p *parser) subscript(x *Expr) (*Expr, error) {
	var bounds [2]*Expr
	var err error
	if !p.takeOperator(":") {
		if bounds[0], err = p.condition(); err != nil {
			return nil, err
		}
		if p.takeOperator("]") {
			return &Expr{Op: Index, Args: []*Expr{x, bounds[0]}}, nil
		}
		if !p.takeOperator(":") {
			return nil, p.unexpected()
		}
	}
	if !p.takeOperator("]") {
		if bounds[1], err = p.condition(); err != nil {
			return nil, err
		}
		if !p.takeOperator("]") {
			return nil, p.unexpected()
		}
	}
	return &Expr{Op: Slice, Args: []*Expr{x, bounds[0], bounds[1]}}, nil
}

// arguments reads those of a call, whose bracket is open.
func (p *parser) arguments() (args []*Expr, kw []string, err error) {
	err = p.until(")", func() error {
		name := ""
		if t := p.peek(); t.kind == nameToken && p.tokens[p.at+1].kind == operatorToken && p.tokens[p.at+1].text == "=" {
			name = t.text
			p.at += 2
		}
		if t := p.peek(); t.kind == operatorToken && (t.text == "*" || t.text == "**") {
			return fmt.Errorf("an argument with %s", t.text)
		}
		e, err := p.condition()
		args, kw = append(args, e), append(kw, name)
		return err
	})
	return args, kw, err
}

// filters reads | filter and is test.
func (p *parser) filters(x *Expr) (*Expr, error) {
	for {
		switch {
		case p.takeOperator("|"):
			name, err := p.dotted()
			if err != nil {
				return nil, err
			}
			f := &Expr{Op: Filter, Text: name, Args: []*Expr{x}, Kw: []string{""}}
			if p.takeOperator("(") {
				args, kw, err := p.arguments()
				if err != nil {
					return nil, err
				}
				f.Args, f.Kw = append(f.Args, args...), append(f.Kw, kw...)
			}
			if x, err = p.postfix(f); err != nil {
				return nil, err
			}
		case p.takeName("is"):
			t := &Expr{Op: Test, Args: []*Expr{x}, Kw: []string{""}, Not: p.takeName("not")}
			if p.peek().kind == nameToken && (p.peek().text == "in") {
				p.at++
				t.Text = "in"
			} else {
				name, err := p.dotted()
				if err != nil {
					return nil, err
				}
				t.Text = name
			}
			switch {
			case p.takeOperator("("):
				args, kw, err := p.arguments()
				if err != nil {
					return nil, err
				}
				t.Args, t.Kw = append(t.Args, args...), append(t.Kw, kw...)
			case p.beginsOperand():
				arg, err := p.primary()
				if err == nil {
					arg, err = p.postfix(arg)
				}
				if err != nil {
					return nil, err
				}
				t.Args, t.Kw = append(t.Args, arg), append(t.Kw, "")
			}
			x = t
		default:
			return x, nil
		}
	}
}

// beginsOperand reports whether an argument of a test without brackets comes next.
func (p *parser) beginsOperand() bool {
	switch t := p.peek(); t.kind {
	case valueToken:
		return true
	case nameToken:
		switch t.text {
		case "else", "or", "and", "is", "not", "in", "if":
			return false
		}
		return true
	case operatorToken:
		return t.text == "[" || t.text == "{"
	}
	return false
}

// dotted reads the name of a filter or test; of one of a collection the last part.
func (p *parser) dotted() (string, error) {
	t := p.next()
	if t.kind != nameToken {
		p.at--
		return "", p.unexpected()
	}
	name := t.text
	for p.takeOperator(".") {
		t := p.next()
		if t.kind != nameToken {
			p.at--
			return "", p.unexpected()
		}
		name = t.text
	}
	return name, nil
}

// Walk visits a node and all below it, until visit returns false for one.
func (e *Expr) Walk(visit func(*Expr) bool) {
	if e == nil || !visit(e) {
		return
	}
	for _, arg := range e.Args {
		arg.Walk(visit)
	}
}

// Mentions reports whether the expression reads a variable for whose name is reports true.
func (e *Expr) Mentions(is func(name string) bool) (found bool) {
	e.Walk(func(x *Expr) bool {
		found = found || x.Op == Name && is(x.Text)
		return true
	})
	return found
}

// Map gives the tree with each node replaced by what f makes of it, from the leaves up.
func (e *Expr) Map(f func(*Expr) *Expr) *Expr {
	if e == nil {
		return nil
	}
	out := *e
	out.Args = make([]*Expr, len(e.Args))
	for i, arg := range e.Args {
		out.Args[i] = arg.Map(f)
	}
	return f(&out)
}
