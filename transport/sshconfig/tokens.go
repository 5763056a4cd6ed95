package sshconfig

import (
	"crypto/sha1" // %C is defined so; it protects nothing
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Tokens that ssh_config(5) allows in arguments.
const (
	commonTokens = "CdhijkLlnpru"
	proxyTokens  = "hnpr"
	hostTokens   = "h"
)

// tokens holds the values of the tokens.
type tokens struct {
	env                          Environment
	host, original, alias, login string
	port, jump                   string
}

func (t *tokens) value(token byte) string {
	switch token {
	case 'C':
		sum := sha1.Sum([]byte(t.env.LocalHost + t.host + t.port + t.login + t.jump))
		return hex.EncodeToString(sum[:])
	case 'd':
		return t.env.Home
	case 'h':
		return t.host
	case 'i':
		return strconv.Itoa(t.env.UID)
	case 'j':
		return t.jump
	case 'k':
		return t.alias
	case 'L':
		short, _, _ := strings.Cut(t.env.LocalHost, ".")
		return short
	case 'l':
		return t.env.LocalHost
	case 'n':
		return t.original
	case 'p':
		return t.port
	case 'r':
		return t.login
	case 'u':
		return t.env.LocalUser
	}
	panic("sshconfig: no token " + string(token))
}

// expand replaces the tokens of an argument, and ${NAME} if variables may stand
// there. In a command nothing may take a token's place that a shell would read as
// more than a word.
func (t *tokens) expand(at, what, arg, allowed string, variables, command bool) (string, error) {
	fail := func(format string, args ...any) (string, error) {
		return "", &Error{At: at, Msg: what + ": " + fmt.Sprintf(format, args...)}
	}
	if !strings.ContainsAny(arg, "%$") {
		return arg, nil
	}
	var b strings.Builder
	for i := 0; i < len(arg); i++ {
		switch {
		case variables && strings.HasPrefix(arg[i:], "${"):
			name, _, closed := strings.Cut(arg[i+2:], "}")
			if !closed || name == "" {
				return fail("%q: ${ is not closed, or has no name", arg)
			}
			value, found := t.env.lookup(name)
			if !found {
				return fail("${%s} is not set", name)
			}
			b.WriteString(value)
			i += len(name) + 2
		case arg[i] != '%':
			b.WriteByte(arg[i])
		case i+1 == len(arg):
			return fail("%q ends with %%", arg)
		case arg[i+1] == '%':
			b.WriteByte('%')
			i++
		case strings.IndexByte(allowed, arg[i+1]) < 0:
			return fail("%q has the token %%%c, which is not allowed here", arg, arg[i+1])
		default:
			value := t.value(arg[i+1])
			if command && !plain(value) {
				return fail("%%%c is %q, which a shell could read as more than a word", arg[i+1], value)
			}
			b.WriteString(value)
			i++
		}
	}
	return b.String(), nil
}

// plain reports whether a word is one for every shell, and no option.
func plain(word string) bool {
	return !strings.HasPrefix(word, "-") && !strings.ContainsAny(word, "'`\"$\\;&<>|(){}*?[]!#~") &&
		!strings.ContainsFunc(word, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
}
