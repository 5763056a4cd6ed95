package jinja

import (
	"github.com/ccm-push/ccm-push/templates/diag"
)

// A kind is the kind of a node of the syntax tree.
type kind int

const (
	constNode     kind = iota
	nameNode           // text
	tupleNode          // args
	listNode           // args
	dictNode           // args: keys and values in turn
	condNode           // args: condition, value, alternative or nil
	orNode             // args
	andNode            // args
	notNode            // args
	compareNode        // args, ops: an operator before each argument but the first
	binaryNode         // text, args
	negativeNode       // args
	positiveNode       // args
	concatNode         // args
	attributeNode      // args[0].text
	itemNode           // args[0][args[1]]
	sliceNode          // args: from, to, step, each or nil
	callNode           // args[0] is called with call
	filterNode         // args[0], or the body of a filter block if that is nil; call
	testNode           // args[0]; call

	textNode     // text
	printNode    // args[0]
	forNode      // target, args: list, condition or nil; body, orelse; flag: recursive
	ifNode       // args[0], body, orelse
	setNode      // target, args[0]
	setBlockNode // target, args: filters or nil; body
	withNode     // targets, args, body
	blockNode    // text, body; flag: scoped
	extendsNode  // args[0]
	includeNode  // args[0]; flag: with context; quiet: ignore missing
	importNode   // args[0], text; flag: with context
	fromNode     // args[0], names; flag: with context
	macroNode    // text, params, defaults, body
	callBlock    // args[0] is a callNode; params, defaults, body
	filterBlock  // args[0] is a filterNode without a value; body
	scopeNode    // body: autoescape
)

// A node is a node of the syntax tree.
type node struct {
	kind     kind
	unit     *unit
	at       int // offset in the source
	text     string
	value    any // value of a constant
	args     []*node
	ops      []string
	call     arguments
	target   *node
	params   []*node
	defaults []*node // defaults for the last params
	names    [][2]string
	body     []*node
	orelse   []*node
	flag     bool
	quiet    bool

	filter *filterDef
	test   *testDef
	files  []string // names of templates that an include, import or extends may mean
}

// arguments are the arguments of a call.
type arguments struct {
	args       []*node
	keywords   []keyword
	star, dict *node // *args, **kwargs
}

type keyword struct {
	name  string
	value *node
}

func (n *node) position() diag.Position { return n.unit.body.Position(n.at) }

// A parser reads the tokens of a unit. It panics with a [thrown].
type parser struct {
	unit   *unit
	tokens []token
	i      int
	depth  int
	blocks map[string]*node
}

// A thrown is an error that is on its way to the entry of this package: the parser and the evaluation recurse through
// hundreds of functions, none of which handles an error.
type thrown struct{ err error }

func catch(err *error) {
	switch p := recover().(type) {
	case nil:
	case thrown:
		*err = p.err
	default:
		panic(p)
	}
}

// parse returns the nodes of a unit.
func parse(u *unit) (body []*node, blocks map[string]*node, err error) {
	defer catch(&err)
	tokens, err := lex(u)
	if err != nil {
		return nil, nil, err
	}
	p := &parser{unit: u, tokens: tokens, blocks: map[string]*node{}}
	body = p.statements()
	return body, p.blocks, nil
}

// parseExpression returns the node of a unit that is one expression.
func parseExpression(u *unit) (n *node, err error) {
	defer catch(&err)
	l := &lexer{unit: u, text: u.body.Text}
	l.text += "\x00" // ends the tag
	if err := l.inside(printToken, printEndToken, "\x00", 0, 0); err != nil {
		return nil, err
	}
	p := &parser{unit: u, tokens: append(l.tokens, token{kind: endToken, at: len(u.body.Text)}), i: 1, blocks: map[string]*node{}}
	n = p.expression(true)
	p.expectKind(printEndToken)
	return n, nil
}

func (p *parser) fail(at int, format string, args ...any) {
	panic(thrown{diag.At(p.unit.body.Position(at), diag.Faultf(format, args...))})
}

func (p *parser) new(k kind, at int, args ...*node) *node {
	return &node{kind: k, unit: p.unit, at: at, args: args}
}

func (p *parser) current() token { return p.tokens[p.i] }

func (p *parser) look() token {
	if p.i+1 < len(p.tokens) {
		return p.tokens[p.i+1]
	}
	return p.current()
}

func (p *parser) next() token {
	t := p.tokens[p.i]
	if p.i+1 < len(p.tokens) {
		p.i++
	}
	return t
}

func (t token) is(k tokenKind, text string) bool { return t.kind == k && t.text == text }

func (p *parser) isOp(text string) bool   { return p.current().is(operatorToken, text) }
func (p *parser) isName(text string) bool { return p.current().is(nameToken, text) }

func (p *parser) takeOp(text string) bool {
	if p.isOp(text) {
		p.next()
		return true
	}
	return false
}

func (p *parser) takeName(text string) bool {
	if p.isName(text) {
		p.next()
		return true
	}
	return false
}

// describe names a token in an error.
func (t token) describe() string {
	switch t.kind {
	case endToken:
		return "end of the template"
	case dataToken:
		return "text"
	case printToken, blockToken:
		return "beginning of a tag"
	case printEndToken, blockEndToken:
		return "end of the tag"
	case stringToken:
		return "text in quotes"
	case numberToken:
		return "number"
	}
	return `"` + t.text + `"`
}

func (p *parser) unexpected() {
	p.fail(p.current().at, "unexpected %s", p.current().describe())
}

func (p *parser) expectOp(text string) token {
	if !p.isOp(text) {
		p.fail(p.current().at, "unexpected %s; %q is expected", p.current().describe(), text)
	}
	return p.next()
}

func (p *parser) expectKind(k tokenKind) token {
	if p.current().kind != k {
		p.unexpected()
	}
	return p.next()
}

func (p *parser) expectName(text string) token {
	if !p.isName(text) {
		p.fail(p.current().at, "unexpected %s; %q is expected", p.current().describe(), text)
	}
	return p.next()
}

// maxNesting bounds the nesting of expressions and statements.
const maxNesting = 200

func (p *parser) deeper() func() {
	if p.depth++; p.depth > maxNesting {
		p.fail(p.current().at, "the template nests more than %d levels deep", maxNesting)
	}
	return func() { p.depth-- }
}

func (p *parser) expression(conditional bool) *node {
	defer p.deeper()()
	if !conditional {
		return p.or()
	}
	at := p.current().at
	value := p.or()
	for p.takeName("if") {
		condition := p.or()
		var other *node
		if p.takeName("else") {
			other = p.expression(true)
		}
		value = p.new(condNode, at, condition, value, other)
	}
	return value
}

func (p *parser) or() *node {
	n := p.and()
	for at := p.current().at; p.takeName("or"); {
		n = p.new(orNode, at, n, p.and())
	}
	return n
}

func (p *parser) and() *node {
	n := p.not()
	for at := p.current().at; p.takeName("and"); {
		n = p.new(andNode, at, n, p.not())
	}
	return n
}

func (p *parser) not() *node {
	if at := p.current().at; p.takeName("not") {
		defer p.deeper()()
		return p.new(notNode, at, p.not())
	}
	return p.compare()
}

func (p *parser) compare() *node {
	first := p.math1()
	n := p.new(compareNode, first.at, first)
	for {
		at := p.current()
		switch {
		case at.kind == operatorToken && (at.text == "==" || at.text == "!=" || at.text == "<" || at.text == "<=" || at.text == ">" || at.text == ">="):
			p.next()
			n.ops = append(n.ops, at.text)
		case p.takeName("in"):
			n.ops = append(n.ops, "in")
		case p.isName("not") && p.look().is(nameToken, "in"):
			p.next()
			p.next()
			n.ops = append(n.ops, "not in")
		default:
			if len(n.ops) == 0 {
				return first
			}
			return n
		}
		if len(n.ops) == 1 {
			n.at = at.at
		}
		n.args = append(n.args, p.math1())
	}
}

func (p *parser) binary(operand func() *node, ops ...string) *node {
	n := operand()
	for {
		t := p.current()
		found := false
		for _, op := range ops {
			found = found || t.is(operatorToken, op)
		}
		if !found {
			return n
		}
		p.next()
		left := n
		n = p.new(binaryNode, t.at, left, operand())
		n.text = t.text
	}
}

func (p *parser) math1() *node { return p.binary(p.concat, "+", "-") }

func (p *parser) concat() *node {
	n := p.new(concatNode, p.current().at, p.math2())
	for p.takeOp("~") {
		n.args = append(n.args, p.math2())
	}
	if len(n.args) == 1 {
		return n.args[0]
	}
	return n
}

func (p *parser) math2() *node { return p.binary(p.pow, "*", "/", "//", "%") }
func (p *parser) pow() *node {
	return p.binary(func() *node { return p.unary(true) }, "**")
}

func (p *parser) unary(filters bool) *node {
	defer p.deeper()()
	var n *node
	switch at := p.current().at; {
	case p.takeOp("-"):
		n = p.new(negativeNode, at, p.unary(false))
	case p.takeOp("+"):
		n = p.new(positiveNode, at, p.unary(false))
	default:
		n = p.primary()
	}
	n = p.postfix(n)
	if filters {
		n = p.filters(n)
	}
	return n
}

func (p *parser) primary() *node {
	t := p.current()
	n := p.new(constNode, t.at)
	switch {
	case t.kind == nameToken:
		p.next()
		switch t.text {
		case "true", "True":
			n.value = true
		case "false", "False":
			n.value = false
		case "none", "None":
		default:
			n.kind, n.text = nameNode, t.text
		}
	case t.kind == stringToken:
		text := ""
		for p.current().kind == stringToken {
			text += p.next().text
		}
		n.value = text
	case t.kind == numberToken:
		p.next()
		n.value = t.value
	case p.takeOp("("):
		n = p.tuple(true, true, "")
		p.expectOp(")")
	case p.isOp("["):
		p.next()
		n.kind = listNode
		n.args = p.elements("]")
	case p.takeOp("{"):
		n.kind = dictNode
		for !p.isOp("}") {
			if len(n.args) > 0 {
				if p.expectOp(","); p.isOp("}") {
					break
				}
			}
			key := p.expression(true)
			p.expectOp(":")
			n.args = append(n.args, key, p.expression(true))
		}
		p.expectOp("}")
	default:
		p.unexpected()
	}
	return n
}

func (p *parser) elements(end string) (list []*node) {
	for !p.isOp(end) {
		if len(list) > 0 {
			if p.expectOp(","); p.isOp(end) {
				break
			}
		}
		list = append(list, p.expression(true))
	}
	p.expectOp(end)
	return list
}

// tuple reads expressions with commas between them. stop is a name that ends them.
func (p *parser) tuple(conditional, parentheses bool, stop string) *node {
	at := p.current().at
	var args []*node
	isTuple := false
	for {
		if len(args) > 0 {
			p.expectOp(",")
		}
		if t := p.current(); t.kind == blockEndToken || t.kind == printEndToken || t.is(operatorToken, ")") || stop != "" && t.is(nameToken, stop) {
			break
		}
		args = append(args, p.expression(conditional))
		if !p.isOp(",") {
			break
		}
		isTuple = true
	}
	if !isTuple {
		if len(args) > 0 {
			return args[0]
		}
		if !parentheses {
			p.fail(p.current().at, "an expression is expected, not %s", p.current().describe())
		}
	}
	return p.new(tupleNode, at, args...)
}

func (p *parser) postfix(n *node) *node {
	for {
		t := p.current()
		switch {
		case p.takeOp("."):
			name := p.next()
			switch name.kind {
			case nameToken:
				n = p.new(attributeNode, t.at, n)
				n.text = name.text
			case numberToken:
				key := p.new(constNode, name.at)
				key.value = name.value
				n = p.new(itemNode, t.at, n, key)
			default:
				p.fail(name.at, "a name or a number is expected, not %s", name.describe())
			}
		case p.takeOp("["):
			var keys []*node
			for !p.isOp("]") {
				if len(keys) > 0 {
					p.expectOp(",")
				}
				keys = append(keys, p.subscript())
			}
			p.expectOp("]")
			key := p.new(tupleNode, t.at, keys...)
			if len(keys) == 1 {
				key = keys[0]
			}
			n = p.new(itemNode, t.at, n, key)
		case p.isOp("("):
			n = p.callOf(n)
		default:
			return n
		}
	}
}

func (p *parser) callOf(n *node) *node {
	call := p.new(callNode, p.current().at, n)
	call.call = p.arguments()
	return call
}

func (p *parser) subscript() *node {
	at := p.current().at
	var parts [3]*node
	if !p.isOp(":") {
		parts[0] = p.expression(true)
		if !p.isOp(":") {
			return parts[0]
		}
	}
	for i := 1; i < 3 && p.takeOp(":"); i++ {
		if !p.isOp(":") && !p.isOp("]") && !p.isOp(",") {
			parts[i] = p.expression(true)
		}
	}
	return p.new(sliceNode, at, parts[:]...)
}

func (p *parser) arguments() (a arguments) {
	open := p.expectOp("(")
	ensure := func(ok bool) {
		if !ok {
			p.fail(open.at, "the arguments of the call are in a wrong order")
		}
	}
	for comma := false; !p.isOp(")"); comma = true {
		if comma {
			if p.expectOp(","); p.isOp(")") {
				break
			}
		}
		switch {
		case p.takeOp("*"):
			ensure(a.star == nil && a.dict == nil)
			a.star = p.expression(true)
		case p.takeOp("**"):
			ensure(a.dict == nil)
			a.dict = p.expression(true)
		case p.current().kind == nameToken && p.look().is(operatorToken, "="):
			ensure(a.dict == nil)
			name := p.next()
			for _, k := range a.keywords {
				if k.name == name.text {
					p.fail(name.at, "the argument %q is given twice", name.text)
				}
			}
			p.next()
			a.keywords = append(a.keywords, keyword{name.text, p.expression(true)})
		default:
			ensure(a.star == nil && a.dict == nil && len(a.keywords) == 0)
			a.args = append(a.args, p.expression(true))
		}
	}
	p.expectOp(")")
	return a
}

func (p *parser) filters(n *node) *node {
	for {
		switch {
		case p.isOp("|"):
			p.next()
			n = p.filter(n)
		case p.isName("is"):
			n = p.test(n)
		case p.isOp("("):
			n = p.callOf(n)
		default:
			return n
		}
	}
}

func (p *parser) dotted() token {
	t := p.expectKind(nameToken)
	for p.takeOp(".") {
		t.text += "." + p.expectKind(nameToken).text
	}
	return t
}

// filter reads a filter that is applied to n, which is nil for the body of a block.
func (p *parser) filter(n *node) *node {
	name := p.dotted()
	f := p.new(filterNode, name.at, n)
	f.text = name.text
	if p.isOp("(") {
		f.call = p.arguments()
	}
	if f.filter = filterNamed(name.text); f.filter == nil {
		panic(thrown{diag.At(f.position(), noFilter(name.text))})
	}
	return f
}

func (p *parser) test(n *node) *node {
	at := p.next().at
	negated := p.takeName("not")
	name := p.dotted()
	t := p.new(testNode, name.at, n)
	t.text = name.text
	switch c := p.current(); {
	case p.isOp("("):
		t.call = p.arguments()
	case c.kind == nameToken && c.text != "else" && c.text != "or" && c.text != "and",
		c.kind == stringToken, c.kind == numberToken, p.isOp("["), p.isOp("{"):
		if p.isName("is") {
			p.fail(c.at, "a test follows another test")
		}
		t.call.args = []*node{p.postfix(p.primary())}
	}
	if t.test = testNamed(name.text); t.test == nil {
		panic(thrown{diag.At(t.position(), noTest(name.text))})
	}
	if negated {
		return p.new(notNode, at, t)
	}
	return t
}
