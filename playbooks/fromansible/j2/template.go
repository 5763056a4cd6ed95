package j2

import (
	"fmt"
	"strings"
)

// A Node is a part of a template.
type Node struct {
	Kind NodeKind
	Line int    // from 1
	Text string // of Text; of Set, For, Macro and Include the names, the name or the file; of Unknown its source
	Raw  string // the tag as it is written

	Expr     *Expr // what is printed, set, looped over or included
	Filter   *Expr // of For: its if
	Branches []Branch
	Body     []*Node // of For and Macro
	Else     []*Node // of If and For
	Names    []string
	Defaults []*Expr // of Macro: of its last parameters
	Why      string  // of Unknown: what is not known

	Alone bool // a tag that has its line for itself, whose line break is not printed
}

// A Branch is a condition of an if and what it leads to.
type Branch struct {
	If    *Expr
	Body  []*Node
	Alone bool
}

// A NodeKind is what a node is.
type NodeKind int

// The kinds of nodes.
const (
	Text    NodeKind = iota
	Print            // {{ Expr }}
	If               // Branches, Else
	For              // Names in Expr, if Filter: Body, Else
	Set              // Names = Expr
	Macro            // Text(Names): Body
	Include          // Expr
	Comment          // Text
	Unknown          // a tag that is not known, or whose expression is not
)

// Options are settings of a template.
type Options struct {
	KeepLineBreaks bool // those behind tags: trim_blocks is off, as in texts of playbooks
	StripIndent    bool // lstrip_blocks
	AsIs           bool // a backslash in a text between {{ and }} is one, as in texts of playbooks
}

// ParseTemplate reads a template. What is not known in it is a node; the error is for what
// leaves the rest without meaning: tags that do not match.
func ParseTemplate(text string, o Options) ([]*Node, error) {
	pieces, err := split(text, o)
	if err != nil {
		return nil, err
	}
	t := &templateParser{pieces: pieces, asIs: o.AsIs}
	nodes, end, err := t.nodes()
	if err == nil && end != nil {
		err = fmt.Errorf("line %d: {%% %s %%} closes nothing", end.line, end.inner)
	}
	return nodes, err
}

// HasTags reports whether a text has anything of Jinja.
func HasTags(text string) bool {
	return strings.Contains(text, "{{") || strings.Contains(text, "{%") || strings.Contains(text, "{#")
}

// A piece is a literal text or a tag.
type piece struct {
	kind  byte // 0 for a text, '{', '%', '#'
	inner string
	raw   string
	line  int
	alone bool
}

// split takes a template apart, and does away with the white space that tags take.
func split(text string, o Options) ([]piece, error) {
	var list []piece
	line := 1
	literal := func(s string) {
		if s != "" {
			list = append(list, piece{inner: s, line: line})
		}
	}
	strip, skipBreak := false, false // what the tag before does to the text behind it
	for {
		begin := tagAt(text)
		before := text
		if begin >= 0 {
			before = text[:begin]
		}
		cut := before
		if strip {
			cut = strings.TrimLeft(cut, " \t\r\n")
		} else if skipBreak {
			cut = strings.TrimPrefix(strings.TrimPrefix(cut, "\r"), "\n")
		}
		lineStart := strings.HasSuffix(before, "\n") || before == "" && (len(list) == 0 || skipBreak && list[len(list)-1].alone)
		if begin < 0 {
			literal(cut)
			return list, nil
		}
		line += strings.Count(before, "\n")
		kind := text[begin+1]
		end := tagEnd(text[begin:], kind)
		if end < 0 {
			return nil, fmt.Errorf("line %d: %s is not closed", line, text[begin:min(len(text), begin+20)])
		}
		tag := text[begin : begin+end]
		inner := tag[2 : len(tag)-2]
		trimLeft, trimRight := strings.HasPrefix(inner, "-"), strings.HasSuffix(inner, "-")
		inner = strings.TrimPrefix(inner, "-")
		keepLeft := strings.HasPrefix(inner, "+")
		inner = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(inner, "+"), "-"))
		if trimLeft {
			cut = strings.TrimRight(cut, " \t\r\n")
		} else if o.StripIndent && kind != '{' && !keepLeft {
			if trimmed := strings.TrimRight(cut, " \t"); trimmed == "" || strings.HasSuffix(trimmed, "\n") {
				cut = trimmed
			}
		}
		textLine := line - strings.Count(before, "\n")
		if cut != "" {
			list = append(list, piece{inner: cut, line: textLine})
		}
		rest := text[begin+end:]
		if kind == '%' && inner == "raw" {
			body, after, lines, err := rawBody(rest, line)
			if err != nil {
				return nil, err
			}
			if !o.KeepLineBreaks {
				body = strings.TrimPrefix(body, "\n")
			}
			literal(body)
			line += lines
			text, strip, skipBreak = after, false, !o.KeepLineBreaks
			continue
		}
		skipBreak = kind != '{' && !o.KeepLineBreaks
		strip = trimRight
		broken := strings.HasPrefix(rest, "\n")
		list = append(list, piece{kind: kind, inner: inner, raw: tag, line: line, alone: kind != '{' && lineStart && skipBreak && broken && !trimLeft && !trimRight})
		line += strings.Count(tag, "\n")
		text = rest
	}
}

// tagAt returns where the next tag begins; -1 if there is none. It reads no further than that: a text
// may have many tags.
func tagAt(text string) int {
	for at := 0; ; at++ {
		next := strings.IndexByte(text[at:], '{')
		if next < 0 || at+next+1 >= len(text) {
			return -1
		}
		if at += next; strings.IndexByte("{%#", text[at+1]) >= 0 {
			return at
		}
	}
}

// tagEnd gives the length of a tag; quotes are respected, and so are braces of maps.
func tagEnd(text string, kind byte) int {
	if kind == '#' {
		if i := strings.Index(text[2:], "#}"); i >= 0 { // {#} begins a comment, and does not end it
			return i + 4
		}
		return -1
	}
	closing := map[byte]string{'{': "}}", '%': "%}"}[kind]
	depth := 0
	for i := 2; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\'' || c == '"':
			_, n, err := quoted(text[i:], false)
			if err != nil {
				return -1
			}
			i += n - 1
		case depth == 0 && strings.HasPrefix(text[i:], closing):
			return i + 2
		case c == '{':
			depth++
		case c == '}' && depth > 0:
			depth--
		}
	}
	return -1
}

// rawBody is what stands up to {% endraw %}, and what comes behind that.
func rawBody(text string, line int) (body, after string, lines int, err error) {
	for at := 0; ; {
		i := strings.Index(text[at:], "{%")
		if i < 0 {
			return "", "", 0, fmt.Errorf("line %d: {%% raw %%} is not closed", line)
		}
		at += i
		tag, rest, closed := strings.Cut(text[at+2:], "%}") // {%} begins a tag, and does not end it
		if !closed {
			return "", "", 0, fmt.Errorf("line %d: {%% raw %%} is not closed", line)
		}
		if strings.Trim(tag, "-+ \t\n") == "endraw" {
			return text[:at], rest, strings.Count(text[:at], "\n"), nil
		}
		at += 2
	}
}

type templateParser struct {
	pieces []piece
	asIs   bool
	at     int
	depth  int
}

// nodes reads up to the end, or a tag that ends or goes on with what is around.
func (t *templateParser) nodes() (list []*Node, end *piece, err error) {
	if t.depth++; t.depth > maxDepth {
		return nil, nil, fmt.Errorf("line %d: tags are within one another more than %d deep", t.pieces[max(t.at-1, 0)].line, maxDepth)
	}
	defer func() { t.depth-- }()
	for t.at < len(t.pieces) {
		p := &t.pieces[t.at]
		t.at++
		switch p.kind {
		case 0:
			list = append(list, &Node{Kind: Text, Line: p.line, Text: p.inner})
		case '{':
			n := &Node{Kind: Print, Line: p.line, Raw: p.raw}
			if n.Expr, err = parseExpr(p.inner, t.asIs); err != nil {
				n = unknown(p, err.Error())
			}
			list = append(list, n)
		case '#':
			list = append(list, &Node{Kind: Comment, Line: p.line, Text: p.inner, Raw: p.raw, Alone: p.alone})
		case '%':
			word, rest, _ := strings.Cut(strings.ReplaceAll(p.inner, "\n", " "), " ")
			switch word {
			case "endif", "endfor", "endmacro", "else", "elif", "endset", "endcall", "endfilter", "endblock":
				return list, p, nil
			}
			n, err := t.statement(p, word, strings.TrimSpace(rest))
			if err != nil {
				return nil, nil, err
			}
			list = append(list, n)
		}
	}
	return list, nil, nil
}

func unknown(p *piece, why string) *Node {
	return &Node{Kind: Unknown, Line: p.line, Raw: p.raw, Text: p.inner, Why: why}
}

func (t *templateParser) statement(p *piece, word, rest string) (*Node, error) {
	n := &Node{Line: p.line, Raw: p.raw, Alone: p.alone}
	var err error
	switch word {
	case "if":
		n.Kind = If
		return n, t.branches(n, p, rest)
	case "for":
		n.Kind = For
		problem := n.forHead(rest)
		if err := t.loop(n, p); err != nil {
			return nil, err
		}
		if problem != nil {
			return unknown(p, problem.Error()), nil
		}
		return n, nil
	case "set":
		name, value, isSet := strings.Cut(rest, "=")
		if !isSet {
			return t.whole(p, "endset", "a block of set")
		}
		n.Kind, n.Names = Set, []string{strings.TrimSpace(name)}
		if n.Expr, err = ParseExpr(value); err != nil {
			return unknown(p, err.Error()), nil
		}
		if strings.ContainsAny(n.Names[0], ".,") {
			return unknown(p, "set of "+n.Names[0]), nil
		}
		return n, nil
	case "include":
		n.Kind = Include
		head, _, _ := strings.Cut(rest, " with context")
		head, _, missing := strings.Cut(head, " ignore missing")
		if n.Expr, err = ParseExpr(head); err != nil || missing {
			return unknown(p, "the tag include with what stands behind it"), nil
		}
		return n, nil
	case "macro":
		n.Kind = Macro
		problem := n.macroHead(rest)
		body, end, err := t.nodes()
		if err != nil {
			return nil, err
		}
		if end == nil || !strings.HasPrefix(end.inner, "endmacro") {
			return nil, notClosed(p)
		}
		n.Body = body
		if problem != nil {
			return unknown(p, problem.Error()), nil
		}
		return n, nil
	case "call":
		return t.whole(p, "endcall", "the tag call")
	case "filter":
		return t.whole(p, "endfilter", "the tag filter")
	case "block":
		return t.whole(p, "endblock", "the tag block")
	}
	return unknown(p, "the tag "+word), nil
}

func notClosed(p *piece) error { return fmt.Errorf("line %d: %s is not closed", p.line, p.raw) }

// whole reads over a tag with a body, all of which is unknown.
func (t *templateParser) whole(p *piece, closing, what string) (*Node, error) {
	_, end, err := t.nodes()
	if err != nil {
		return nil, err
	}
	if end == nil || !strings.HasPrefix(end.inner, closing) {
		return nil, notClosed(p)
	}
	return unknown(p, what), nil
}

func (t *templateParser) branches(n *Node, p *piece, condition string) error {
	for {
		b := Branch{Alone: p.alone}
		var err error
		if b.If, err = ParseExpr(condition); err != nil {
			b.If = nil
			n.Why = err.Error()
		}
		body, end, err := t.nodes()
		if err != nil {
			return err
		}
		if end == nil {
			return notClosed(p)
		}
		b.Body = body
		n.Branches = append(n.Branches, b)
		n.Alone = n.Alone && end.alone
		word, rest, _ := strings.Cut(end.inner, " ")
		switch word {
		case "elif":
			condition = rest
		case "else":
			body, last, err := t.nodes()
			if err != nil {
				return err
			}
			if last == nil || last.inner != "endif" {
				return notClosed(p)
			}
			n.Else = append(body, &Node{Kind: Text})
			n.Alone = n.Alone && last.alone
			return n.known(p)
		case "endif":
			return n.known(p)
		default:
			return notClosed(p)
		}
	}
}

// known makes an if of which a condition is not known an unknown tag.
func (n *Node) known(p *piece) error {
	if n.Why != "" {
		*n = *unknown(p, n.Why)
	}
	return nil
}

func (t *templateParser) loop(n *Node, p *piece) error {
	body, end, err := t.nodes()
	if err != nil {
		return err
	}
	n.Body = body
	if end != nil && end.inner == "else" {
		n.Alone = n.Alone && end.alone
		if n.Else, end, err = t.nodes(); err != nil {
			return err
		}
		n.Else = append(n.Else, &Node{Kind: Text})
	}
	if end == nil || end.inner != "endfor" {
		return notClosed(p)
	}
	n.Alone = n.Alone && end.alone
	return nil
}

// forHead reads names in expression if condition.
func (n *Node) forHead(text string) error {
	names, rest, ok := strings.Cut(text, " in ")
	if !ok {
		return fmt.Errorf("a for without in")
	}
	for _, name := range strings.Split(strings.Trim(names, "() "), ",") {
		n.Names = append(n.Names, strings.TrimSpace(name))
	}
	tokens, err := lex(rest, false)
	if err != nil {
		return err
	}
	p := &parser{tokens: tokens}
	if n.Expr, err = p.binary(0); err != nil {
		return err
	}
	if p.takeName("if") {
		if n.Filter, err = p.condition(); err != nil {
			return err
		}
	}
	if p.takeName("recursive") {
		return fmt.Errorf("a recursive for")
	}
	if p.peek().kind != endToken {
		return p.unexpected()
	}
	return nil
}

// macroHead reads name(a, b=1).
func (n *Node) macroHead(text string) error {
	tokens, err := lex(text, false)
	if err != nil {
		return err
	}
	p := &parser{tokens: tokens}
	name := p.next()
	if name.kind != nameToken || !p.takeOperator("(") {
		return fmt.Errorf("a macro without a name and parameters")
	}
	n.Text = name.text
	return p.until(")", func() error {
		t := p.next()
		if t.kind != nameToken {
			return fmt.Errorf("a parameter of a macro without a name")
		}
		var value *Expr
		if p.takeOperator("=") {
			var err error
			if value, err = p.condition(); err != nil {
				return err
			}
		}
		n.Names, n.Defaults = append(n.Names, t.text), append(n.Defaults, value)
		return nil
	})
}
