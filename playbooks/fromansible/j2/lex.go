package j2

import (
	"fmt"
	"strconv"
	"strings"
)

// A token is a word of an expression.
type token struct {
	kind  tokenKind
	text  string // of a name or an operator
	value any    // of a text or a number
	at    int    // byte offset
}

type tokenKind int

const (
	endToken tokenKind = iota
	nameToken
	valueToken
	operatorToken
)

// operators, the longer ones first.
var operators = []string{"**", "//", "==", "!=", "<=", ">=", "+", "-", "*", "/", "%", "~", "<", ">", "=", "(", ")", "[", "]", "{", "}", ",", ":", ".", "|"}

// lex takes an expression apart; asIs says that a backslash in a text is one.
func lex(text string, asIs bool) ([]token, error) {
	var list []token
	for at := 0; at < len(text); {
		c := text[at]
		switch {
		case strings.IndexByte(" \t\r\n", c) >= 0:
			at++
		case c == '\'' || c == '"':
			s, n, err := quoted(text[at:], asIs)
			if err != nil {
				return nil, err
			}
			list = append(list, token{kind: valueToken, value: s, at: at})
			at += n
		case c >= '0' && c <= '9':
			v, n, err := number(text[at:])
			if err != nil {
				return nil, err
			}
			list = append(list, token{kind: valueToken, value: v, at: at})
			at += n
		case isLetter(c):
			n := 1
			for at+n < len(text) && (isLetter(text[at+n]) || text[at+n] >= '0' && text[at+n] <= '9') {
				n++
			}
			list = append(list, token{kind: nameToken, text: text[at : at+n], at: at})
			at += n
		default:
			op := operatorAt(text[at:])
			if op == "" {
				return nil, fmt.Errorf("the character %q", []rune(text[at:])[0])
			}
			list = append(list, token{kind: operatorToken, text: op, at: at})
			at += len(op)
		}
	}
	return append(list, token{kind: endToken, at: len(text)}), nil
}

func isLetter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }

func operatorAt(text string) string {
	for _, op := range operators {
		if strings.HasPrefix(text, op) {
			return op
		}
	}
	return ""
}

// number reads an integer or a float; a dot that no digit follows belongs to what comes next.
func number(text string) (value any, n int, err error) {
	digits := func() {
		for n < len(text) && (text[n] >= '0' && text[n] <= '9' || text[n] == '_') {
			n++
		}
	}
	digits()
	if n+1 < len(text) && text[n] == '.' && text[n+1] >= '0' && text[n+1] <= '9' {
		n++
		digits()
		value, err = strconv.ParseFloat(strings.ReplaceAll(text[:n], "_", ""), 64)
		return value, n, err
	}
	value, err = strconv.ParseInt(strings.ReplaceAll(text[:n], "_", ""), 10, 64)
	return value, n, err
}

// quoted reads a text in quotes, with the escapes of Python or as it is.
func quoted(text string, asIs bool) (s string, n int, err error) {
	var b strings.Builder
	for n = 1; n < len(text); n++ {
		switch c := text[n]; {
		case c == text[0]:
			return b.String(), n + 1, nil
		case c != '\\' || n+1 == len(text):
			b.WriteByte(c)
		case asIs:
			n++
			if text[n] == text[0] { // Ansible would take it for the end
				return "", n, fmt.Errorf("a quote behind a backslash")
			}
			b.WriteString(text[n-1 : n+1])
		default:
			n++
			switch e := text[n]; e {
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			case 'r':
				b.WriteByte('\r')
			case '\\', '\'', '"':
				b.WriteByte(e)
			case '\n':
			case 'x', 'u', 'U', 'N', '0', 'a', 'b', 'f', 'v':
				return "", n, fmt.Errorf("the escape \\%c", e)
			default: // as Python, a backslash before anything else is one
				b.WriteByte('\\')
				b.WriteByte(e)
			}
		}
	}
	return "", n, fmt.Errorf("a text whose quote is not closed")
}
