package jinja

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ccm-push/ccm-push/templates/diag"
)

// A pattern is a regular expression of Python, as one of Go: what Go does not have is an error.
type pattern struct {
	*regexp.Regexp
	end bool // has a $, which Python also finds before a newline at the end
}

var patternCache sync.Map // *pattern by patternKey

// maxPatterns bounds the cache.
const maxPatterns = 1000

var patternCount atomic.Int64

type patternKey struct {
	text                  string
	ignoreCase, multiline bool
}

// regex compiles a regular expression of Python.
func (c *call) regex(text string, ignoreCase, multiline bool) *pattern {
	key := patternKey{text, ignoreCase, multiline}
	if found, ok := patternCache.Load(key); ok {
		return found.(*pattern)
	}
	p, err := newPattern(key)
	if err != nil {
		c.x.throw(err)
	}
	if patternCount.Add(1) <= maxPatterns {
		patternCache.Store(key, p)
	}
	return p
}

func newPattern(key patternKey) (*pattern, error) {
	translated, end := translate(key.text, key.multiline)
	flags := ""
	if key.ignoreCase {
		flags += "i"
	}
	if key.multiline {
		flags += "m"
	}
	if flags != "" {
		translated = "(?" + flags + ")" + translated
	}
	r, err := regexp.Compile(translated)
	if err != nil {
		return nil, diag.Faultf("the regular expression is not valid, or has what Go does not have").
			WithHint("Go has no lookahead ((?=…), (?!…)), no lookbehind and no backreferences (\\1) in patterns")
	}
	return &pattern{r, end}, nil
}

// translate writes a pattern of Python in the syntax of Go: \d, \w and \s are of all scripts, \Z is \z.
func translate(s string, multiline bool) (translated string, end bool) {
	var b strings.Builder
	class := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\' && i+1 < len(s):
			i++
			switch e := s[i]; {
			case e == 'Z':
				b.WriteString(`\z`)
			case e == 'd':
				b.WriteString(`\p{Nd}`)
			case e == 'D':
				b.WriteString(`\P{Nd}`)
			case e == 'w' && class:
				b.WriteString(`\p{L}\p{N}_`)
			case e == 'w':
				b.WriteString(`[\p{L}\p{N}_]`)
			case e == 'W' && !class:
				b.WriteString(`[^\p{L}\p{N}_]`)
			case e == 's' && class:
				b.WriteString(`\s\x0b\x1c-\x1f\x85\p{Z}`)
			case e == 's':
				b.WriteString(`[\s\x0b\x1c-\x1f\x85\p{Z}]`)
			case e == 'S' && !class:
				b.WriteString(`[^\s\x0b\x1c-\x1f\x85\p{Z}]`)
			case strings.IndexByte(`/'"<>=!@%&,:;#~ `+"`\n", e) >= 0:
				b.WriteString(regexp.QuoteMeta(string(e)))
			default:
				b.WriteByte('\\')
				b.WriteByte(e)
			}
			continue
		case class && c == ']':
			class = false
		case class && c == '[':
			b.WriteByte('\\')
		case !class && c == '[':
			class = true
			b.WriteByte(c)
			if i+1 < len(s) && s[i+1] == '^' {
				i++
				b.WriteByte('^')
			}
			if i+1 < len(s) && s[i+1] == ']' {
				i++
				b.WriteString(`\]`)
			}
			continue
		case !class && c == '$' && !multiline:
			end = true
		case !class && c == '{' && !isCount(s[i:]):
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String(), end
}

var countPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\{\d*(,\d*)?\}`) })

// isCount reports whether s begins with a count such as {2,3}.
func isCount(s string) bool {
	m := countPattern().FindString(s)
	return m != "" && m != "{}" && m != "{,}"
}

// matches returns all matches, as Python finds them: an empty match may follow another one at once.
func (p *pattern) matches(s string, most int) [][]int {
	if p.end && strings.HasSuffix(s, "\n") {
		if found := p.FindAllStringSubmatchIndex(strings.TrimSuffix(s, "\n"), -1); len(found) > 0 {
			return found
		}
	}
	found := p.FindAllStringSubmatchIndex(s, most)
	if !p.MatchString("") {
		return found
	}
	var all [][]int
	empty := p.FindStringSubmatchIndex("")
	for i, m := range found {
		all = append(all, m)
		follows := i+1 < len(found) && found[i+1][0] == m[1]
		if m[1] == m[0] || follows {
			continue
		}
		if m[1] < len(s) && p.FindStringIndex(s[m[1]:]) != nil && p.FindStringIndex(s[m[1]:])[1] != 0 && p.FindStringIndex(s[m[1]:])[0] == 0 {
			continue
		}
		after := make([]int, len(empty))
		for j, at := range empty {
			if after[j] = at; at >= 0 {
				after[j] = m[1]
			}
		}
		all = append(all, after)
	}
	return all
}

// search returns the first match; nil means no match.
func (p *pattern) search(s string) []int {
	if p.end && strings.HasSuffix(s, "\n") {
		if m := p.FindStringSubmatchIndex(strings.TrimSuffix(s, "\n")); m != nil {
			return m
		}
	}
	return p.FindStringSubmatchIndex(s)
}

// replaced replaces all matches like re.sub.
func (c *call) replaced(p *pattern, s, with string) string {
	var b strings.Builder
	at := 0
	for _, m := range p.matches(s, -1) {
		b.WriteString(s[at:m[0]])
		c.expand(&b, p, s, m, with)
		at = m[1]
		c.x.step(1)
		c.x.length(b.Len())
	}
	b.WriteString(s[at:])
	return c.x.text(b.String())
}

// expand writes a replacement, with its references to groups.
func (c *call) expand(b *strings.Builder, p *pattern, s string, m []int, with string) {
	group := func(n int) {
		if n < 0 || 2*n+1 >= len(m) {
			c.failf("the replacement has a group that the pattern does not have")
		}
		if m[2*n] >= 0 {
			b.WriteString(s[m[2*n]:m[2*n+1]])
		}
	}
	for i := 0; i < len(with); i++ {
		if with[i] != '\\' || i+1 == len(with) {
			b.WriteByte(with[i])
			continue
		}
		i++
		switch e := with[i]; {
		case e == 'g' && strings.HasPrefix(with[i:], "g<"):
			name, _, ok := strings.Cut(with[i+2:], ">")
			if !ok {
				c.failf("the replacement has a group that does not end")
			}
			i += len(name) + 2
			n, err := strconv.Atoi(name)
			if err != nil {
				n = p.SubexpIndex(name)
			}
			group(n)
		case e == '0':
			b.WriteByte(0)
		case e >= '1' && e <= '9':
			n := int(e - '0')
			if i+1 < len(with) && with[i+1] >= '0' && with[i+1] <= '9' {
				i++
				n = n*10 + int(with[i]-'0')
			}
			group(n)
		case strings.IndexByte("abfnrtv", e) >= 0:
			b.WriteByte("\a\b\f\n\r\t\v"[strings.IndexByte("abfnrtv", e)])
		case e == '\\':
			b.WriteByte(e)
		case e >= 'a' && e <= 'z' || e >= 'A' && e <= 'Z':
			c.failf("the replacement has an unknown escape \\%c", e)
		default:
			b.WriteByte('\\')
			b.WriteByte(e)
		}
	}
}

// escapeRegex is re.escape of Python.
func escapeRegex(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte("()[]{}?*+-|^$\\.&~# \t\n\r\v\f", s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
