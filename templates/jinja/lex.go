package jinja

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// A tokenKind is the kind of a token.
type tokenKind int

const (
	endToken      tokenKind = iota // end of the source
	dataToken                      // literal text
	printToken                     // {{
	printEndToken                  // }}
	blockToken                     // {%
	blockEndToken                  // %}
	nameToken
	stringToken
	numberToken
	operatorToken
)

// A token is a part of a source.
type token struct {
	kind  tokenKind
	text  string // name, operator, or value of a string
	value any    // value of a number
	at    int    // offset in the source
}

// A syntax has the delimiters and the treatment of white space, as Ansible's template module sets them.
type syntax struct {
	block, blockEnd, print, printEnd, comment, commentEnd string
	trim, lstrip                                          bool // trim_blocks, lstrip_blocks
	rawStrings                                            bool // a backslash between {{ and }} is itself, as in variables
}

func ansibleSyntax() syntax {
	return syntax{block: "{%", blockEnd: "%}", print: "{{", printEnd: "}}", comment: "{#", commentEnd: "#}", trim: true}
}

// A unit is one source: a template file or a text.
type unit struct {
	body   render.Body
	syntax syntax
	start  int                 // offset of the first character that is not the header
	ends   int                 // newlines at the end of the source
	deps   map[string]*program // templates that it needs, by their names in the source
}

// headerMark begins a first line that changes the syntax.
const headerMark = "#jinja2:"

// newUnit reads the header of a source.
func newUnit(text string, at diag.Position, s syntax) (*unit, error) {
	fillTables()
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.ReplaceAll(text, "\r", "\n")
	u := &unit{body: render.Body{Text: text, At: at}, syntax: s}
	u.ends = len(text) - len(strings.TrimRight(text, "\n"))
	if len(text) > render.MaxTemplate {
		return nil, diag.At(at, diag.Faultf("a template of more than %d MiB", render.MaxTemplate>>20))
	}
	if strings.HasPrefix(text, headerMark) {
		line, _, found := strings.Cut(text, "\n")
		if !found {
			return nil, diag.At(at, diag.Faultf("nothing follows the line %q", headerMark))
		}
		u.start = len(line) + 1
		for pair := range strings.SplitSeq(line[len(headerMark):], ",") {
			key, value, ok := strings.Cut(pair, ":")
			if err := u.syntax.set(strings.TrimSpace(key), strings.TrimSpace(value)); err != nil || !ok {
				return nil, diag.At(at, diag.Faultf("%s is followed by KEY: VALUE, such as trim_blocks: False", headerMark))
			}
		}
	}
	return u, nil
}

func (s *syntax) set(key, value string) error {
	texts := map[string]*string{
		"block_start_string": &s.block, "block_end_string": &s.blockEnd, "variable_start_string": &s.print,
		"variable_end_string": &s.printEnd, "comment_start_string": &s.comment, "comment_end_string": &s.commentEnd,
	}
	if text := texts[key]; text != nil {
		if len(value) < 3 || value[0] != value[len(value)-1] || value[0] != '\'' && value[0] != '"' || strings.ContainsAny(value, "\\\n") {
			return diag.Faultf("a delimiter is a text in quotes")
		}
		*text = value[1 : len(value)-1]
		return nil
	}
	flag := map[string]*bool{"trim_blocks": &s.trim, "lstrip_blocks": &s.lstrip}[key]
	if flag == nil || value != "True" && value != "False" {
		return diag.Faultf("unknown option")
	}
	*flag = value == "True"
	return nil
}

// tagPatterns match the tokens between delimiters.
type tagPatterns struct{ float, integer, name *regexp.Regexp }

var patterns = sync.OnceValue(func() tagPatterns {
	return tagPatterns{
		float:   regexp.MustCompile(`(?i)^(\d+_)*\d+((\.(\d+_)*\d+)?e[+\-]?(\d+_)*\d+|\.(\d+_)*\d+)`),
		integer: regexp.MustCompile(`(?i)^(0b(_?[0-1])+|0o(_?[0-7])+|0x(_?[\da-f])+|[1-9](_?\d)*|0(_?0)*)`),
		name:    regexp.MustCompile(`^[\p{L}\p{Nl}\p{Mn}\p{Mc}\p{Nd}\p{Pc}]+`),
	}
})

// operators, longer ones first.
var operators = []string{"//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}", ">", "<", "=", ".", ":", "|", ",", ";"}

// A lexer splits a unit into tokens.
type lexer struct {
	*unit
	text   string // without the newline at its end
	at     int
	tokens []token
	fresh  bool   // the character before the current position ends a line
	found  [3]int // offsets of the next comment, block and print; -1 means none, one before the current position that it is unknown
}

func (l *lexer) fail(at int, format string, args ...any) error {
	return diag.At(l.body.Position(at), diag.Faultf(format, args...))
}

func (l *lexer) open(at int, what, end string) error {
	return diag.At(l.body.Position(at), diag.Faultf("%s does not end", what).WithHint("write %s", end))
}

// lex returns the tokens of a unit.
func lex(u *unit) ([]token, error) {
	l := &lexer{unit: u, text: strings.TrimSuffix(u.body.Text, "\n"), at: u.start, fresh: true}
	if len(l.text) < l.at {
		l.text = u.body.Text[:l.at]
	}
	for l.at < len(l.text) {
		if err := l.tag(); err != nil {
			return nil, err
		}
	}
	return append(l.tokens, token{kind: endToken, at: len(l.text)}), nil
}

// tag reads literal text, and the tag that follows it.
func (l *lexer) tag() error {
	begin, left := l.next()
	if begin < 0 {
		l.data(l.text[l.at:], l.at)
		l.at = len(l.text)
		return nil
	}
	data, from := l.text[l.at:begin], l.at
	inside := begin + len(left)
	sign := byte(0)
	if inside < len(l.text) && (l.text[inside] == '-' || l.text[inside] == '+') {
		sign = l.text[inside]
		inside++
	}
	switch {
	case sign == '-':
		data = strings.TrimRightFunc(data, isSpace)
	case sign == 0 && l.syntax.lstrip && left != l.syntax.print:
		data = l.stripped(data)
	}
	l.data(data, from)
	switch left {
	case l.syntax.comment:
		return l.skipComment(begin, inside)
	case l.syntax.print:
		return l.inside(printToken, printEndToken, l.syntax.printEnd, begin, inside)
	}
	if end, ok := l.rawBegin(inside); ok {
		return l.raw(begin, end)
	}
	return l.inside(blockToken, blockEndToken, l.syntax.blockEnd, begin, inside)
}

// stripped returns data without blanks between the beginning of its last line and a tag.
func (l *lexer) stripped(data string) string {
	line := strings.LastIndexByte(data, '\n') + 1
	if (line > 0 || l.fresh) && strings.TrimFunc(data[line:], isSpace) == "" {
		return data[:line]
	}
	return data
}

// next finds the next tag.
func (l *lexer) next() (at int, left string) {
	at = -1
	for n, delimiter := range [...]string{l.syntax.comment, l.syntax.block, l.syntax.print} {
		if found := l.found[n]; found >= 0 && found <= l.at { // else it is what another call has found
			l.found[n] = -1
			if i := strings.Index(l.text[l.at:], delimiter); i >= 0 {
				l.found[n] = l.at + i
			}
		}
		if i := l.found[n]; i >= 0 && (at < 0 || i < at || i == at && len(delimiter) > len(left)) {
			at, left = i, delimiter
		}
	}
	return at, left
}

func (l *lexer) data(text string, at int) {
	if text != "" {
		l.tokens = append(l.tokens, token{kind: dataToken, text: text, at: at})
	}
}

// end returns the offset after a closing delimiter at an offset, with the white space that it removes; -1 if it is not
// there.
func (l *lexer) end(at int, right string, trims bool) int {
	rest := l.text[at:]
	switch {
	case strings.HasPrefix(rest, "-"+right):
		rest = strings.TrimLeftFunc(rest[1+len(right):], isSpace)
	case trims && strings.HasPrefix(rest, "+"+right):
		rest = rest[1+len(right):]
	case strings.HasPrefix(rest, right):
		rest = rest[len(right):]
		if trims && l.syntax.trim {
			rest = strings.TrimPrefix(rest, "\n")
		}
	default:
		return -1
	}
	return len(l.text) - len(rest)
}

// closed continues after a tag.
func (l *lexer) closed(at int) {
	l.at, l.fresh = at, strings.HasSuffix(l.text[:at], "\n")
}

func (l *lexer) skipComment(begin, at int) error {
	for ; at < len(l.text); at++ {
		if end := l.end(at, l.syntax.commentEnd, true); end >= 0 {
			l.closed(end)
			return nil
		}
	}
	return l.open(begin, "the comment", l.syntax.commentEnd)
}

// rawBegin returns the offset after `raw %}`.
func (l *lexer) rawBegin(at int) (int, bool) {
	rest := strings.TrimLeftFunc(l.text[at:], isSpace)
	if !strings.HasPrefix(rest, "raw") {
		return 0, false
	}
	rest = strings.TrimLeftFunc(rest[3:], isSpace)
	end := l.end(len(l.text)-len(rest), l.syntax.blockEnd, false)
	return end, end >= 0
}

// raw reads text up to endraw.
func (l *lexer) raw(begin, from int) error {
	for at := from; ; at++ {
		i := strings.Index(l.text[at:], l.syntax.block)
		if i < 0 {
			return l.open(begin, `the block "raw"`, l.syntax.block+" endraw "+l.syntax.blockEnd)
		}
		at += i
		inside := at + len(l.syntax.block)
		sign := byte(0)
		if inside < len(l.text) && (l.text[inside] == '-' || l.text[inside] == '+') {
			sign = l.text[inside]
			inside++
		}
		rest := strings.TrimLeftFunc(l.text[inside:], isSpace)
		if !strings.HasPrefix(rest, "endraw") {
			continue
		}
		rest = strings.TrimLeftFunc(rest[len("endraw"):], isSpace)
		end := l.end(len(l.text)-len(rest), l.syntax.blockEnd, true)
		if end < 0 {
			continue
		}
		data := l.text[from:at]
		switch {
		case sign == '-':
			data = strings.TrimRightFunc(data, isSpace)
		case sign == 0 && l.syntax.lstrip:
			data = l.stripped(data)
		}
		l.data(data, from)
		l.closed(end)
		return nil
	}
}

// maxBrackets bounds the brackets that are open at once; the parser recurses for each.
const maxBrackets = 100

// inside reads the tokens between two delimiters.
func (l *lexer) inside(first, last tokenKind, right string, begin, at int) error {
	l.tokens = append(l.tokens, token{kind: first, at: begin})
	var open []byte
	for {
		if at >= len(l.text) {
			return l.open(begin, "the tag", right)
		}
		if len(open) == 0 {
			if end := l.end(at, right, last == blockEndToken); end >= 0 {
				l.tokens = append(l.tokens, token{kind: last, at: at})
				l.closed(end)
				return nil
			}
		}
		c, size := utf8.DecodeRuneInString(l.text[at:])
		if isSpace(c) {
			at += size
			continue
		}
		t, n, err := l.one(at, first == printToken)
		if err != nil {
			return err
		}
		if t.kind == operatorToken {
			switch t.text {
			case "(", "[", "{":
				if open = append(open, t.text[0]); len(open) > maxBrackets {
					return l.fail(at, "more than %d brackets are open", maxBrackets)
				}
			case ")", "]", "}":
				pair := map[string]byte{")": '(', "]": '[', "}": '{'}[t.text]
				if len(open) == 0 || open[len(open)-1] != pair {
					return l.fail(at, "unexpected %q", t.text)
				}
				open = open[:len(open)-1]
			}
		}
		l.tokens = append(l.tokens, t)
		at += n
	}
}

// one reads one token inside a tag.
func (l *lexer) one(at int, printed bool) (token, int, error) {
	rest := l.text[at:]
	t := token{at: at}
	if m := patterns().float.FindString(rest); m != "" && (at == 0 || l.text[at-1] != '.') {
		f, err := strconv.ParseFloat(strings.ReplaceAll(m, "_", ""), 64)
		if err != nil {
			return t, 0, l.fail(at, "a number is out of range")
		}
		t.kind, t.value = numberToken, f
		return t, len(m), nil
	}
	if m := patterns().integer.FindString(rest); m != "" {
		n, ok := new(big.Int).SetString(strings.ReplaceAll(m, "_", ""), 0)
		if !ok || n.BitLen() > maxBits {
			return t, 0, l.fail(at, "a number is out of range")
		}
		t.kind, t.value = numberToken, whole(n)
		return t, len(m), nil
	}
	if m := patterns().name.FindString(rest); m != "" {
		if c, _ := utf8.DecodeRuneInString(m); unicode.IsDigit(c) {
			return t, 0, l.fail(at, "%q is not a name", m)
		}
		t.kind, t.text = nameToken, m
		return t, len(m), nil
	}
	if rest[0] == '\'' || rest[0] == '"' {
		end := render.QuoteEnd(rest, 0)
		if end < 0 {
			return t, 0, l.fail(at, "a text whose quote is not closed")
		}
		text, err := unescaped(rest[1:end], printed && l.syntax.rawStrings)
		if err != nil {
			return t, 0, l.fail(at, "%v", err)
		}
		t.kind, t.text = stringToken, text
		return t, end + 1, nil
	}
	for _, op := range operators {
		if strings.HasPrefix(rest, op) {
			t.kind, t.text = operatorToken, op
			return t, len(op), nil
		}
	}
	c, _ := utf8.DecodeRuneInString(rest)
	return t, 0, l.fail(at, "unexpected character %q", c)
}

// unescaped returns the value of a text between quotes, by Python's rules.
func unescaped(s string, raw bool) (string, error) {
	if raw || !strings.Contains(s, `\`) {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		digits, base := 0, 16
		switch c := s[i]; c {
		case '\n':
		case '\\', '\'', '"':
			b.WriteByte(c)
		case 'a', 'b', 'f', 'n', 'r', 't', 'v':
			b.WriteByte("\a\b\f\n\r\t\v"[strings.IndexByte("abfnrtv", c)])
		case 'x':
			digits = 2
		case 'u':
			digits = 4
		case 'U':
			digits = 8
		case 'N':
			return "", diag.Faultf(`the escape \N{…}`).WithHint("write the character itself")
		default:
			if c < '0' || c > '7' {
				b.WriteByte('\\')
				b.WriteByte(c)
				continue
			}
			base, i = 8, i-1
			for digits < 3 && i+1+digits < len(s) && s[i+1+digits] >= '0' && s[i+1+digits] <= '7' {
				digits++
			}
		}
		if digits == 0 {
			continue
		}
		if i+digits >= len(s) {
			return "", diag.Faultf("an escape that does not end")
		}
		n, err := strconv.ParseUint(s[i+1:i+1+digits], base, 32)
		if err != nil || n > unicode.MaxRune || n >= 0xd800 && n < 0xe000 {
			return "", diag.Faultf("an escape that is not a character")
		}
		b.WriteRune(rune(n))
		i += digits
	}
	return b.String(), nil
}

// isSpace reports whether Python takes c as white space.
func isSpace(c rune) bool { return unicode.IsSpace(c) || c >= 0x1c && c <= 0x1f }
