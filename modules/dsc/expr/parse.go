package expr

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Is reports whether a string of a document is an expression: it begins with one
// bracket. Two are an escaped one.
func Is(text string) bool {
	return strings.HasPrefix(text, "[") && !strings.HasPrefix(text, "[[")
}

// Plain returns the text of a string that is not an expression: itself, without the first of two brackets.
func Plain(text string) string {
	if strings.HasPrefix(text, "[[") {
		return text[1:]
	}
	return text
}

// Escape is the inverse of [Plain]: it returns the string for text in a document.
func Escape(text string) string {
	if strings.HasPrefix(text, "[") {
		return "[" + text
	}
	return text
}

// An Error is an error in an expression, with its position.
type Error struct {
	Column int // in characters, from 1; 0 if it is not known
	Msg    string
	Hint   string // suggestion; may be empty
	Err    error  // cause, such as the answer of the host; may be nil
}

func (e *Error) Unwrap() error { return e.Err }

func (e *Error) Error() string {
	s := e.Msg
	if e.Column > 0 {
		s = fmt.Sprintf("column %d: %s", e.Column, e.Msg)
	}
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Bounds of one expression.
const (
	maxText  = 256 << 10 // bytes
	maxDepth = 100       // calls and accesses within each other
)

// parse reads an expression with its brackets. The error is an [*Error].
func parse(text string) (node, error) {
	p := &parser{text: strings.TrimRight(text, " \t\r\n")} // a block of YAML ends with a newline
	if len(text) > maxText {
		return nil, &Error{Msg: fmt.Sprintf("an expression is longer than %d KiB", maxText>>10)}
	}
	if !utf8.ValidString(text) {
		return nil, &Error{Msg: "an expression must be UTF-8"}
	}
	return p.whole()
}

// A node is a part of an expression: a literal, a call, or an access.
type node interface{ column() int }

type (
	literal struct {
		at    int // offset in bytes
		value any
	}
	call struct {
		at           int
		name         string // as written, with the namespace of a user function
		args         []node
		residualSize // size of the part that remains for a host
	}
	member struct { // of.name
		at   int
		of   node
		name string
		residualSize
	}
	index struct { // of[by]
		at     int
		of, by node
		residualSize
	}
	// A residualSize is the size of a part that remains for a host: the number of calls, accesses and literals, and
	// their nesting depth.
	residualSize struct{ size, depth int }
)

func (n *literal) column() int { return n.at }
func (n *call) column() int    { return n.at }
func (n *member) column() int  { return n.at }
func (n *index) column() int   { return n.at }

type parser struct {
	text  string
	pos   int // bytes
	depth int
}

func (p *parser) errorAt(pos int, hint, format string, args ...any) error {
	return &Error{Column: columnOf(p.text, pos), Msg: fmt.Sprintf(format, args...), Hint: hint}
}

// columnOf turns an offset in bytes into a column in characters.
func columnOf(text string, pos int) int {
	return utf8.RuneCountInString(text[:min(pos, len(text))]) + 1
}

func (p *parser) whole() (node, error) {
	if !Is(p.text) {
		return nil, p.errorAt(0, "write [ and ] around it", "this is not an expression")
	}
	p.pos = 1
	p.blanks()
	if p.peek() == ']' {
		return nil, p.errorAt(p.pos, "write [[ for text that begins with a bracket", "the expression is empty")
	}
	if c := p.peek(); c == '\'' || c == '-' || isDigit(c) {
		return nil, p.errorAt(p.pos, "write a literal without brackets, and [[ for text that begins with one", "an expression begins with a function")
	}
	root, err := p.expression()
	if err != nil {
		return nil, err
	}
	p.blanks()
	if p.peek() != ']' {
		return nil, p.unexpected("] at the end")
	}
	p.pos++
	if p.pos < len(p.text) {
		return nil, p.errorAt(p.pos, "write [[ for text that begins with a bracket", "text after the ] that ends the expression")
	}
	return root, nil
}

// expression parses a literal, or a call with the accesses to its result.
func (p *parser) expression() (node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.errorAt(p.pos, "", "the expression is more than %d levels deep", maxDepth)
	}
	defer func() { p.depth-- }()
	p.blanks()
	switch c := p.peek(); {
	case c == '\'':
		return p.quoted()
	case c == '-', isDigit(c):
		return p.number()
	case !isLetter(c):
		return nil, p.unexpected("a function or a literal")
	}
	at := p.pos
	name := p.name()
	for p.peek() == '.' && p.pos+1 < len(p.text) && isLetter(p.text[p.pos+1]) {
		p.pos++
		name += "." + p.name()
	}
	p.blanks()
	if p.peek() != '(' {
		if name == "true" || name == "false" {
			return &literal{at, name == "true"}, nil
		}
		return nil, p.errorAt(at, "call a function with (), write text in 'single quotes'", "%q stands alone", name)
	}
	args, err := p.arguments()
	if err != nil {
		return nil, err
	}
	return p.accesses(&call{at: at, name: name, args: args})
}

func (p *parser) arguments() ([]node, error) {
	open := p.pos
	p.pos++ // (
	p.blanks()
	if p.peek() == ')' {
		p.pos++
		return nil, nil
	}
	var args []node
	for {
		arg, err := p.expression()
		if err != nil {
			return nil, err
		}
		args = append(args, arg)
		p.blanks()
		switch p.peek() {
		case ',':
			p.pos++
		case ')':
			p.pos++
			return args, nil
		case 0:
			return nil, p.errorAt(open, "", "this ( is not closed")
		default:
			return nil, p.unexpected(", or )")
		}
	}
}

// accesses parses .member and [index] after a call.
func (p *parser) accesses(of node) (node, error) {
	for count := 0; ; count++ {
		if count > maxDepth {
			return nil, p.errorAt(p.pos, "", "more than %d accesses in a row", maxDepth)
		}
		before := p.pos
		p.blanks()
		at := p.pos
		switch p.peek() {
		case '.':
			p.pos++
			start := p.pos
			for isName(p.peek()) || p.peek() == '-' || p.peek() == '$' {
				p.pos++
			}
			if p.pos == start {
				return nil, p.unexpected("the name of a member")
			}
			of = &member{at: at, of: of, name: p.text[start:p.pos]}
		case '[':
			p.pos++
			by, err := p.expression()
			if err != nil {
				return nil, err
			}
			if p.blanks(); p.peek() != ']' {
				return nil, p.unexpected("] after the index")
			}
			p.pos++
			of = &index{at: at, of: of, by: by}
		default:
			p.pos = before
			return of, nil
		}
	}
}

// quoted reads text in single quotes, in which two stand for one.
func (p *parser) quoted() (node, error) {
	at := p.pos
	var b strings.Builder
	for rest := p.text[at+1:]; ; {
		end := strings.IndexByte(rest, '\'')
		if end < 0 {
			return nil, p.errorAt(at, "write two single quotes for one within the text", "this text is not closed")
		}
		b.WriteString(rest[:end])
		rest = rest[end+1:]
		if !strings.HasPrefix(rest, "'") {
			p.pos = len(p.text) - len(rest)
			return &literal{at, b.String()}, nil
		}
		b.WriteByte('\'')
		rest = rest[1:]
	}
}

func (p *parser) number() (node, error) {
	at := p.pos
	p.pos++
	for isDigit(p.peek()) {
		p.pos++
	}
	if c := p.peek(); c == '.' || isName(c) {
		return nil, p.errorAt(at, "there are only integers; put another number into a variable or a parameter", "this is not an integer")
	}
	n, err := strconv.ParseInt(p.text[at:p.pos], 10, 64)
	if err != nil {
		return nil, p.errorAt(at, "", "%s is not a 64-bit integer", p.text[at:p.pos])
	}
	return &literal{at, n}, nil
}

func (p *parser) name() string {
	start := p.pos
	for isName(p.peek()) {
		p.pos++
	}
	return p.text[start:p.pos]
}

// peek returns the byte at the position; 0 at the end.
func (p *parser) peek() byte {
	if p.pos >= len(p.text) {
		return 0
	}
	return p.text[p.pos]
}

func (p *parser) blanks() {
	for strings.IndexByte(" \t\r\n", p.peek()) >= 0 && p.peek() != 0 {
		p.pos++
	}
}

func (p *parser) unexpected(wanted string) error {
	if p.pos >= len(p.text) {
		return p.errorAt(p.pos, "", "the expression ends where there should be %s", wanted)
	}
	r, _ := utf8.DecodeRuneInString(p.text[p.pos:])
	return p.errorAt(p.pos, "", "%q where there should be %s", r, wanted)
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }
func isName(c byte) bool   { return isLetter(c) || isDigit(c) }
