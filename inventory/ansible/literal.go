package ansible

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// Literal returns the value of text as Ansible's INI inventories read it: the value of a Python literal
// (ast.literal_eval), else the text itself. True, 1_000, 0x1f, 'quoted', [1, 2], (1, 2) and {'a': None} are literals;
// true, yes, 010 and 1.2.3 are text. Tuples and sets become lists, complex numbers stay text. The returned node has the
// same position as at.
func Literal(at *yamlpos.Node, text string) *yamlpos.Node {
	p := literalParser{at: at, rest: strings.TrimLeft(text, " \t")}
	if n, ok := p.expression(); ok {
		return n
	}
	n := *at
	n.Kind, n.Text, n.Value, n.Quoted = yamlpos.Scalar, text, text, true
	return &n
}

// maxLiteralDepth bounds brackets in brackets.
const maxLiteralDepth = 90

// A literalParser reads one literal. Its methods give false for any other text.
type literalParser struct {
	at    *yamlpos.Node
	rest  string
	depth int
}

// expression reads everything: a value, or several with commas, which are a tuple.
func (p *literalParser) expression() (*yamlpos.Node, bool) {
	n, ok := p.value()
	if !ok {
		return nil, false
	}
	if p.next(",") {
		items := []*yamlpos.Node{n}
		for p.skip(); p.rest != ""; p.skip() {
			item, ok := p.value()
			if !ok {
				return nil, false
			}
			items = append(items, item)
			if !p.next(",") {
				break
			}
		}
		n = p.list(items)
	}
	p.skip()
	return n, p.rest == ""
}

// skip drops blanks, and a comment.
func (p *literalParser) skip() {
	p.rest = strings.TrimLeft(p.rest, " \t\f")
	if strings.HasPrefix(p.rest, "#") {
		p.rest = ""
	}
}

// next consumes token and reports true if it comes next.
func (p *literalParser) next(token string) bool {
	p.skip()
	rest, ok := strings.CutPrefix(p.rest, token)
	if ok {
		p.rest = rest
	}
	return ok
}

func (p *literalParser) node() *yamlpos.Node {
	return &yamlpos.Node{File: p.at.File, Line: p.at.Line, Column: p.at.Column}
}

func (p *literalParser) list(items []*yamlpos.Node) *yamlpos.Node {
	n := p.node()
	n.Kind, n.Items = yamlpos.List, items
	return n
}

func (p *literalParser) scalar(text string, value any) *yamlpos.Node {
	n := p.node()
	n.Text, n.Value = text, value
	_, n.Quoted = value.(string)
	return n
}

func (p *literalParser) value() (*yamlpos.Node, bool) {
	p.skip()
	if p.rest == "" || p.depth > maxLiteralDepth {
		return nil, false
	}
	p.depth++
	defer func() { p.depth-- }()
	switch c := p.rest[0]; {
	case c == '[':
		p.rest = p.rest[1:]
		items, _, ok := p.items("]")
		return p.list(items), ok
	case c == '(':
		p.rest = p.rest[1:]
		items, comma, ok := p.items(")")
		if len(items) == 1 && !comma {
			return items[0], ok
		}
		return p.list(items), ok
	case c == '{':
		p.rest = p.rest[1:]
		return p.braces()
	case c == '+' || c == '-':
		return p.signed()
	case c >= '0' && c <= '9' || c == '.':
		return p.number("")
	}
	return p.word()
}

// items reads values up to a closing bracket; comma reports whether there was a comma between or after them.
func (p *literalParser) items(closing string) (items []*yamlpos.Node, comma, ok bool) {
	for !p.next(closing) {
		item, ok := p.value()
		if !ok {
			return nil, false, false
		}
		items = append(items, item)
		if p.next(",") {
			comma = true
			continue
		}
		if !p.next(closing) {
			return nil, false, false
		}
		break
	}
	return items, comma, true
}

// braces reads the rest of a dict or a set. Keys become text.
func (p *literalParser) braces() (*yamlpos.Node, bool) {
	n := p.node()
	n.Kind = yamlpos.Map
	index := map[string]int{}
	for !p.next("}") {
		key, ok := p.value()
		if !ok {
			return nil, false
		}
		if !p.next(":") {
			if len(n.Pairs) > 0 {
				return nil, false
			}
			return p.set(key)
		}
		value, ok := p.value()
		if !ok || key.Kind != yamlpos.Scalar {
			return nil, false
		}
		pair := yamlpos.Pair{Key: p.scalar(key.Text, key.Text), Value: value}
		if i, known := index[key.Text]; known {
			n.Pairs[i] = pair
		} else {
			index[key.Text] = len(n.Pairs)
			n.Pairs = append(n.Pairs, pair)
		}
		if p.next(",") {
			continue
		}
		if !p.next("}") {
			return nil, false
		}
		break
	}
	return n, true
}

func (p *literalParser) set(first *yamlpos.Node) (*yamlpos.Node, bool) {
	items := []*yamlpos.Node{first}
	if p.next(",") {
		more, _, ok := p.items("}")
		return p.list(append(items, more...)), ok
	}
	return p.list(items), p.next("}")
}

// signed reads a number with a sign. Only one sign makes a literal.
func (p *literalParser) signed() (*yamlpos.Node, bool) {
	sign := p.rest[:1]
	p.rest = p.rest[1:]
	p.skip()
	open := 0
	for p.next("(") {
		open++
	}
	p.skip()
	n, ok := p.number(strings.TrimPrefix(sign, "+"))
	for ; ok && open > 0; open-- {
		ok = p.next(")")
	}
	return n, ok
}

var (
	floatForm = regexpOnce(`^(?:(?:[0-9](?:_?[0-9])*)?\.[0-9](?:_?[0-9])*|[0-9](?:_?[0-9])*\.?)(?:[eE][+-]?[0-9](?:_?[0-9])*)?`)
	intForm   = regexpOnce(`^(?:0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+|0(?:_?0)*|[1-9](?:_?[0-9])*)`)
)

// regexpOnce compiles an expression when it is first needed.
func regexpOnce(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// number reads a number after its sign. The next character must not continue the number.
func (p *literalParser) number(sign string) (*yamlpos.Node, bool) {
	float, integer := floatForm().FindString(p.rest), intForm().FindString(p.rest)
	source := float
	isFloat := len(float) > len(integer)
	if !isFloat {
		source = integer
	}
	if source == "" {
		return nil, false
	}
	p.rest = p.rest[len(source):]
	if r, _ := utf8.DecodeRuneInString(p.rest); p.rest != "" && (r == '.' || isWord(r)) {
		return nil, false // 1.2.3, 010, 1j
	}
	if isFloat && !strings.ContainsAny(float, ".eE") {
		return nil, false // 0123 is not a number
	}
	digits := strings.ReplaceAll(source, "_", "")
	if isFloat {
		f, _ := strconv.ParseFloat(sign+digits, 64) // infinite if it is too large
		return p.scalar(sign+source, f), true
	}
	i, ok := new(big.Int).SetString(sign+digits, 0)
	if !ok { // 00
		i, ok = new(big.Int), strings.Trim(digits, "0") == ""
	}
	if !ok {
		return nil, false
	}
	if i.IsInt64() {
		return p.scalar(sign+source, i.Int64()), true
	}
	f, _ := new(big.Float).SetInt(i).Float64()
	return p.scalar(sign+source, f), true
}

// isWord reports whether r can be part of a name or a number in Python.
func isWord(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= utf8.RuneSelf
}

// word reads True, False, None, set() or strings.
func (p *literalParser) word() (*yamlpos.Node, bool) {
	end := strings.IndexFunc(p.rest, func(r rune) bool { return !isWord(r) })
	if end < 0 {
		end = len(p.rest)
	}
	name, rest := p.rest[:end], p.rest[end:]
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		return p.strings()
	}
	p.rest = rest
	switch name {
	case "True":
		return p.scalar(name, true), true
	case "False":
		return p.scalar(name, false), true
	case "None":
		return p.scalar(name, nil), true
	case "set":
		return p.list(nil), p.next("(") && p.next(")")
	}
	return nil, false
}
