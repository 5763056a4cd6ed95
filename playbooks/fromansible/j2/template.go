package j2

import (
	"fmt"
	"strings"
)

// A Node is a part of a text.
type Node struct {
	Kind NodeKind
	Line int    // from 1
	Text string // source without delimiters; literal text of a Text
	Raw  string // the tag as it is written

	Expr     *Expr    // of Print
	Branches []Branch // of If
	Else     []*Node  // of If; nil without one
	Why      string   // reason of an Unknown
}

// A Branch is a condition of an if and the text that it chooses.
type Branch struct {
	If   *Expr
	Body []*Node
}

// A NodeKind is the kind of a node.
type NodeKind int

// The kinds of nodes.
const (
	Text    NodeKind = iota
	Print            // {{ Expr }}
	If               // Branches, Else
	Comment          // Text
	Unknown          // a tag that cannot be read, or whose expression cannot
)

// Options are settings of a text.
type Options struct {
	KeepLineBreaks bool // newlines after tags are kept: trim_blocks is off, as in texts of playbooks
	AsIs           bool // a backslash in a text between {{ and }} is a backslash, as in texts of playbooks
}

// ParseTemplate reads a text. Tags that do not match are an error, and statements other than if and raw: only templates have
// them.
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
		inner = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(inner, "+"), "-"))
		if trimLeft {
			cut = strings.TrimRight(cut, " \t\r\n")
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
		list = append(list, piece{kind: kind, inner: inner, raw: tag, line: line})
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
			list = append(list, &Node{Kind: Comment, Line: p.line, Text: p.inner, Raw: p.raw})
		case '%':
			word, rest, _ := strings.Cut(strings.ReplaceAll(p.inner, "\n", " "), " ")
			switch word {
			case "endif", "else", "elif":
				return list, p, nil
			}
			if word != "if" {
				return nil, nil, fmt.Errorf("line %d: the tag %s in a value", p.line, word)
			}
			n := &Node{Kind: If, Line: p.line, Raw: p.raw}
			if err := t.branches(n, p, strings.TrimSpace(rest)); err != nil {
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

func notClosed(p *piece) error { return fmt.Errorf("line %d: %s is not closed", p.line, p.raw) }

func (t *templateParser) branches(n *Node, p *piece, condition string) error {
	for {
		var b Branch
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
