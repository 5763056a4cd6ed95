package jinja

import (
	"slices"
	"strings"
)

// statements reads up to a block with one of the names, which it does not consume.
func (p *parser) statements(ends ...string) (body []*node) {
	defer p.deeper()()
	for {
		t := p.current()
		switch t.kind {
		case endToken:
			if len(ends) > 0 {
				p.fail(t.at, "the template ends where %q is missing", ends[len(ends)-1])
			}
			return body
		case dataToken:
			p.next()
			n := p.new(textNode, t.at)
			n.text = t.text
			body = append(body, n)
		case printToken:
			p.next()
			body = append(body, p.new(printNode, t.at, p.tuple(true, false, "")))
			p.expectKind(printEndToken)
		case blockToken:
			p.next()
			if slices.Contains(ends, p.current().text) && p.current().kind == nameToken {
				return body
			}
			body = append(body, p.statement(t.at, ends))
		default:
			p.unexpected()
		}
	}
}

// block reads statements after the end of a tag, and consumes the name that ends them.
func (p *parser) block(ends ...string) (body []*node, end string) {
	p.takeOp(":")
	p.expectKind(blockEndToken)
	body = p.statements(ends...)
	return body, p.next().text
}

// statement reads the statement whose name is next.
func (p *parser) statement(at int, ends []string) *node {
	name := p.expectKind(nameToken)
	n := p.new(textNode, at)
	switch name.text {
	case "for":
		p.loop(n)
	case "if":
		p.condition(n)
	case "set":
		p.assignment(n)
	case "with":
		p.with(n)
	case "block":
		p.namedBlock(n)
	case "print":
		n.kind, n.args = printNode, []*node{p.tuple(true, false, "")}
	case "extends":
		n.kind, n.args = extendsNode, []*node{p.expression(true)}
		n.files = p.names(n)
	case "include":
		n.kind, n.args = includeNode, []*node{p.expression(true)}
		if p.isName("ignore") && p.look().is(nameToken, "missing") {
			p.next()
			p.next()
			n.quiet = true
		}
		n.flag = p.context(true)
		n.files = p.names(n)
	case "import":
		n.kind, n.args = importNode, []*node{p.expression(true)}
		p.expectName("as")
		n.text = p.plainName().text
		n.flag = p.context(false)
		n.files = p.names(n)
	case "from":
		p.from(n)
		n.files = p.names(n)
	case "macro":
		n.kind, n.text = macroNode, p.plainName().text
		p.signature(n)
		n.body, _ = p.block("endmacro")
	case "call":
		n.kind = callBlock
		if p.isOp("(") {
			p.signature(n)
		}
		call := p.expression(true)
		if call.kind != callNode {
			p.fail(call.at, "\"call\" needs a call, such as macro()")
		}
		n.args = []*node{call}
		n.body, _ = p.block("endcall")
	case "filter":
		n.kind = filterBlock
		n.args = []*node{p.chain()}
		n.body, _ = p.block("endfilter")
	case "autoescape":
		p.expression(true)
		n.kind = scopeNode
		n.body, _ = p.block("endautoescape")
	default:
		if len(ends) > 0 && strings.HasPrefix(name.text, "end") {
			p.fail(name.at, "unexpected %q; %q is expected", name.text, ends[len(ends)-1])
		}
		p.fail(name.at, "unknown statement %q", name.text)
	}
	p.expectKind(blockEndToken)
	return n
}

// chain reads filters, the first without a value.
func (p *parser) chain() *node {
	n := p.filter(nil)
	for p.takeOp("|") {
		n = p.filter(n)
	}
	return n
}

func (p *parser) plainName() *node {
	t := p.expectKind(nameToken)
	if slices.Contains([]string{"true", "false", "none", "True", "False", "None"}, t.text) {
		p.fail(t.at, "cannot assign to %q", t.text)
	}
	n := p.new(nameNode, t.at)
	n.text = t.text
	return n
}

// targets reads the left side of an assignment: a name, or a tuple of names.
func (p *parser) targets(stop string) *node {
	at := p.current().at
	var list []*node
	isTuple := false
	for {
		if p.takeOp("(") {
			list = append(list, p.targets(""))
			p.expectOp(")")
		} else {
			list = append(list, p.plainName())
		}
		if !p.takeOp(",") {
			break
		}
		if isTuple = true; stop != "" && p.isName(stop) || p.isOp("=") || p.isOp(")") {
			break
		}
	}
	if !isTuple {
		return list[0]
	}
	return p.new(tupleNode, at, list...)
}

func (p *parser) loop(n *node) {
	n.kind = forNode
	n.target = p.targets("in")
	p.expectName("in")
	list := p.tuple(false, false, "recursive")
	var condition *node
	if p.takeName("if") {
		condition = p.expression(true)
	}
	n.args = []*node{list, condition}
	n.flag = p.takeName("recursive")
	end := ""
	if n.body, end = p.block("else", "endfor"); end == "else" {
		n.orelse, _ = p.block("endfor")
	}
}

func (p *parser) condition(n *node) {
	n.kind = ifNode
	n.args = []*node{p.tuple(false, false, "")}
	end := ""
	n.body, end = p.block("elif", "else", "endif")
	for last := n; end != "endif"; {
		if end == "else" {
			last.orelse, end = p.block("endif")
			continue
		}
		other := p.new(ifNode, p.current().at, p.tuple(false, false, ""))
		other.body, end = p.block("elif", "else", "endif")
		last.orelse = []*node{other}
		last = other
	}
}

func (p *parser) assignment(n *node) {
	if p.look().is(operatorToken, ".") {
		space := p.plainName()
		p.next()
		n.target = p.new(attributeNode, space.at, space)
		n.target.text = p.expectKind(nameToken).text
	} else {
		n.target = p.targets("")
	}
	if p.takeOp("=") {
		n.kind, n.args = setNode, []*node{p.tuple(true, false, "")}
		return
	}
	n.kind = setBlockNode
	if p.takeOp("|") {
		n.args = []*node{p.chain()}
	}
	n.body, _ = p.block("endset")
}

func (p *parser) with(n *node) {
	n.kind = withNode
	for p.current().kind != blockEndToken {
		if len(n.params) > 0 {
			p.expectOp(",")
		}
		n.params = append(n.params, p.targets(""))
		p.expectOp("=")
		n.args = append(n.args, p.expression(true))
	}
	n.body, _ = p.block("endwith")
}

func (p *parser) namedBlock(n *node) {
	name := p.expectKind(nameToken)
	n.kind, n.text = blockNode, name.text
	if p.isOp("-") {
		p.fail(p.current().at, "the name of a block has no hyphens")
	}
	n.flag = p.takeName("scoped")
	required := p.takeName("required")
	if p.blocks[n.text] != nil {
		p.fail(name.at, "the block %q is defined twice", n.text)
	}
	p.blocks[n.text] = n
	n.body, _ = p.block("endblock")
	if n.quiet = required; required {
		for _, part := range n.body {
			if part.kind != textNode || strings.TrimFunc(part.text, isSpace) != "" {
				p.fail(part.at, "a required block has no content")
			}
		}
	}
	p.takeName(n.text)
}

// context reads `with context`.
func (p *parser) context(usual bool) bool {
	if (p.isName("with") || p.isName("without")) && p.look().is(nameToken, "context") {
		with := p.next().text == "with"
		p.next()
		return with
	}
	return usual
}

func (p *parser) from(n *node) {
	n.kind, n.args = fromNode, []*node{p.expression(true)}
	p.expectName("import")
	for {
		if p.isName("with") || p.isName("without") {
			break
		}
		name := p.plainName()
		if strings.HasPrefix(name.text, "_") {
			p.fail(name.at, "names that begin with _ cannot be imported")
		}
		alias := name.text
		if p.takeName("as") {
			alias = p.plainName().text
		}
		n.names = append(n.names, [2]string{name.text, alias})
		if !p.takeOp(",") {
			break
		}
	}
	if n.flag = p.context(false); len(n.names) == 0 {
		p.unexpected()
	}
}

func (p *parser) signature(n *node) {
	p.expectOp("(")
	for !p.isOp(")") {
		if len(n.params) > 0 {
			p.expectOp(",")
		}
		n.params = append(n.params, p.plainName())
		if p.takeOp("=") {
			n.defaults = append(n.defaults, p.expression(true))
		} else if len(n.defaults) > 0 {
			p.fail(p.current().at, "an argument without a default follows one with a default")
		}
	}
	p.expectOp(")")
}

// names returns the files that an include, import or extends may mean. All files must be known before a template is
// rendered.
func (p *parser) names(n *node) (list []string) {
	var walk func(*node)
	walk = func(name *node) {
		switch {
		case name == nil:
		case name.kind == constNode:
			if s, ok := name.value.(string); ok {
				list = append(list, s)
			}
		case name.kind == condNode:
			walk(name.args[1])
			walk(name.args[2])
		case name.kind == listNode || name.kind == tupleNode:
			for _, one := range name.args {
				walk(one)
			}
		default:
			p.fail(name.at, "the name of a template must be a text in quotes, not a computed value")
		}
	}
	walk(n.args[0])
	return list
}
