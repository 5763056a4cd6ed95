package brings

import (
	"slices"
	"strings"
)

// A command is a simple command of a shell script. In its texts, parts that only the shell knows have marks: see
// [variable] and [unknown].
type command struct {
	words  []string
	writes []string // targets of redirections of output
}

// Marks in texts of commands.
const (
	unknown = '\x00' // something that only the shell knows
	begin   = '\x01' // before the name of a variable
	end     = '\x02'
)

// A script has the commands of a shell script. Any of its branches may run.
type script struct {
	commands  []command
	functions map[string]bool
	values    map[string][]string // texts that a variable may have
	unclear   bool                // the lexer does not understand it
	work      int                 // texts that were put together
}

const (
	maxScript = 1 << 20 // bytes that are read
	maxDepth  = 50      // levels of nested commands
	maxWork   = 50_000
)

// parseScript reads a script of sh(1).
func parseScript(text string) *script {
	s := &script{functions: map[string]bool{}, values: map[string][]string{}}
	if len(text) > maxScript || strings.ContainsAny(text, "\x00\x01\x02") {
		s.unclear = true
		return s
	}
	l := &lexer{script: s, text: text}
	if l.list(0); l.at < len(text) {
		s.unclear = true
	}
	s.parameters(strings.Contains(text, "triggered"))
	return s
}

// parameters notes the texts of $1 and the following: arguments of the script itself (deb-postinst(5)), mostly versions,
// and arguments of calls of its functions. A script that handles triggers gets their names, too.
func (s *script) parameters(triggers bool) {
	s.values["1"] = []string{"configure", "install", "upgrade", "triggered", "reconfigure", "abort-upgrade"}
	for n := '2'; n <= '9'; n++ {
		if s.values[string(n)] = []string{"0"}; triggers {
			s.values[string(n)] = []string{string(unknown)}
		}
	}
	for _, c := range s.commands {
		if len(c.words) > 0 && c.words[0] == "shift" {
			for n := '1'; n <= '9'; n++ {
				s.values[string(n)] = []string{string(unknown)}
			}
			return
		}
	}
	for _, c := range s.commands {
		if len(c.words) == 0 || !s.functions[c.words[0]] {
			continue
		}
		for i, word := range c.words[1:min(10, len(c.words))] {
			if name := string(rune('1' + i)); !slices.Contains(s.values[name], word) {
				s.values[name] = append(s.values[name], word)
			}
		}
	}
}

// lexer reads simple commands, wherever they are nested.
type lexer struct {
	*script
	text    string
	at      int
	depth   int
	heredoc []string // ends of the documents that begin after this line
}

// draft is the simple command that is being read.
type draft struct {
	command
	word    strings.Builder
	inWord  bool
	target  byte // the word is the target of this redirection
	pattern bool // next comes a pattern of case
}

func (l *lexer) peek(n int) byte {
	if l.at+n < len(l.text) {
		return l.text[l.at+n]
	}
	return 0
}

// list reads commands up to a closing character, which it skips; 0 is the end of the text.
func (l *lexer) list(until byte) {
	if l.depth++; l.depth > maxDepth {
		l.unclear, l.at = true, len(l.text)
	}
	defer func() { l.depth-- }()
	var d draft
	for l.at < len(l.text) {
		if d.pattern {
			if l.skipPattern(); l.at >= len(l.text) {
				break
			}
			d.pattern = false
			continue
		}
		switch c := l.text[l.at]; {
		case c == until && until != 0:
			l.at++
			l.endCommand(&d)
			return
		case c == ' ' || c == '\t' || c == '\r':
			l.at++
			l.endWord(&d)
		case c == '\n':
			l.at++
			l.endCommand(&d)
			l.skipDocuments()
		case c == ';' && l.peek(1) == ';':
			l.at += 2
			l.endCommand(&d)
			d.pattern = true
		case c == ';' || c == '&' || c == '|':
			l.at++
			l.endCommand(&d)
		case c == '(':
			l.at++
			l.endWord(&d)
			rest := strings.TrimLeft(l.text[l.at:], " \t")
			if len(d.words) == 1 && strings.HasPrefix(rest, ")") {
				l.functions[d.words[0]] = true
				l.at = len(l.text) - len(rest) + 1
				d.words = nil
				continue
			}
			l.endCommand(&d)
			l.list(')')
		case c == ')':
			l.unclear = true
			l.at++
		case c == '#' && !d.inWord:
			if n := strings.IndexByte(l.text[l.at:], '\n'); n >= 0 {
				l.at += n
			} else {
				l.at = len(l.text)
			}
		case c == '<' || c == '>':
			l.redirection(&d, c)
		default:
			l.part(&d)
		}
	}
	l.endCommand(&d)
	if until != 0 || d.pattern {
		l.unclear = true
	}
}

// part reads a part of a word.
func (l *lexer) part(d *draft) {
	d.inWord = true
	c := l.text[l.at]
	l.at++
	switch c {
	case '\\':
		if l.at < len(l.text) {
			if l.text[l.at] != '\n' {
				d.word.WriteByte(l.text[l.at])
			} else if d.word.Len() == 0 {
				d.inWord = false
			}
			l.at++
		}
	case '\'':
		n := strings.IndexByte(l.text[l.at:], '\'')
		if n < 0 {
			l.unclear, n = true, len(l.text)-l.at-1
		}
		d.word.WriteString(l.text[l.at:max(l.at, l.at+n)])
		l.at += n + 1
	case '"':
		for l.at < len(l.text) && l.text[l.at] != '"' {
			switch c := l.text[l.at]; c {
			case '\\', '$', '`':
				l.part(d)
			default:
				d.word.WriteByte(c)
				l.at++
			}
		}
		l.unclear = l.unclear || l.at >= len(l.text)
		l.at++
	case '$':
		l.dollar(d)
	case '`':
		l.list('`')
		d.word.WriteByte(unknown)
	default:
		d.word.WriteByte(c)
	}
}

// dollar reads what follows a dollar sign.
func (l *lexer) dollar(d *draft) {
	switch c := l.peek(0); {
	case c == '(' && l.peek(1) == '(':
		n := strings.Index(l.text[l.at:], "))")
		if n < 0 {
			l.unclear, n = true, len(l.text)-l.at-2
		}
		l.at += n + 2
		d.word.WriteByte(unknown)
	case c == '(':
		l.at++
		l.list(')')
		d.word.WriteByte(unknown)
	case c == '{':
		n := closing(l.text[l.at:])
		if n < 0 {
			l.unclear, l.at = true, len(l.text)
			return
		}
		inner := l.text[l.at+1 : l.at+n]
		l.at += n + 1
		name := nameAt(inner)
		if len(inner) == 1 && inner >= "1" && inner <= "9" {
			name = inner
		}
		rest := inner[len(name):]
		fallback, isDefault := strings.CutPrefix(strings.TrimPrefix(rest, ":"), "-")
		if !isDefault {
			fallback, isDefault = strings.CutPrefix(strings.TrimPrefix(rest, ":"), "=")
		}
		if isDefault && !strings.ContainsAny(fallback, "$`\"'") {
			l.values[name], rest = append(l.values[name], fallback), ""
		}
		if name == "" || rest != "" {
			d.word.WriteByte(unknown)
			if strings.ContainsAny(rest, "$`") && strings.ContainsRune(rest, '(') {
				l.unclear = true // it may run a command
			}
			return
		}
		d.word.WriteString(string(begin) + name + string(end))
	default:
		name := nameAt(l.text[l.at:])
		if l.at += len(name); name != "" {
			d.word.WriteString(string(begin) + name + string(end))
			return
		}
		if c >= '1' && c <= '9' {
			l.at++
			d.word.WriteString(string(begin) + string(c) + string(end))
			return
		}
		if l.at < len(l.text) && strings.IndexByte("@*#?$!-0", c) >= 0 {
			l.at++
			d.word.WriteByte(unknown)
			return
		}
		d.word.WriteByte('$')
	}
}

// closing returns the index of the brace that closes the first one; -1 if it is missing.
func closing(text string) int {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

func isNameByte(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// nameAt returns the name of a variable at the begin of a text.
func nameAt(text string) string {
	n := 0
	for n < len(text) && isNameByte(text[n]) && !(n == 0 && text[n] <= '9') {
		n++
	}
	return text[:n]
}

// redirection reads the operator; the next word is its target.
func (l *lexer) redirection(d *draft, c byte) {
	if text := d.word.String(); d.inWord && strings.Trim(text, "0123456789") == "" { // a descriptor
		d.word.Reset()
		d.inWord = false
	}
	l.endWord(d)
	l.at++
	switch {
	case c == '<' && l.peek(0) == '<':
		l.at++
		if l.peek(0) == '-' {
			l.at++
		}
		c = 'h'
	case l.peek(0) == '&':
		l.at++
		c = '&'
	case l.peek(0) == '>' || l.peek(0) == '|':
		l.at++
	}
	for l.peek(0) == ' ' || l.peek(0) == '\t' {
		l.at++
	}
	d.target = c
}

// skipDocuments skips the documents that begin after a line.
func (l *lexer) skipDocuments() {
	for _, stop := range l.heredoc {
		for {
			if l.at >= len(l.text) {
				l.unclear = true
				return
			}
			line, _, _ := strings.Cut(l.text[l.at:], "\n")
			l.at = min(len(l.text), l.at+len(line)+1)
			if strings.TrimLeft(line, "\t") == stop {
				break
			}
			if strings.Contains(line, "$(") || strings.Contains(line, "`") {
				l.unclear = true
			}
		}
	}
	l.heredoc = nil
}

// skipPattern skips a pattern of case with its parenthesis, or the end of case.
func (l *lexer) skipPattern() {
	for l.at < len(l.text) {
		switch c := l.text[l.at]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			l.at++
		case c == '#':
			if n := strings.IndexByte(l.text[l.at:], '\n'); n >= 0 {
				l.at += n
			} else {
				l.at = len(l.text)
			}
		case strings.HasPrefix(l.text[l.at:], "esac") && (l.at+4 == len(l.text) || !isNameByte(l.text[l.at+4])):
			return
		default:
			n := strings.IndexByte(l.text[l.at+1:], ')') // the first character may open the pattern
			if n < 0 {
				l.unclear, l.at = true, len(l.text)
				return
			}
			l.at += n + 2
			return
		}
	}
}

func (l *lexer) endWord(d *draft) {
	if !d.inWord {
		return
	}
	word, target := d.word.String(), d.target
	d.word.Reset()
	d.inWord, d.target = false, 0
	switch target {
	case 'h':
		l.heredoc = append(l.heredoc, word)
	case '>':
		d.writes = append(d.writes, word)
	case '<', '&':
	default:
		if len(d.words) == 0 && slices.Contains(keywords, word) {
			return
		}
		d.words = append(d.words, word)
		if len(d.words) == 3 && d.words[0] == "case" && word == "in" {
			d.words, d.pattern = nil, true
		}
	}
}

// keywords begin or end compound commands.
var keywords = []string{"if", "then", "else", "elif", "fi", "do", "done", "while", "until", "!", "{", "}", "esac", "time"}

// endCommand adds a command, without assignments.
func (l *lexer) endCommand(d *draft) {
	l.endWord(d)
	d.target = 0
	words, writes := d.words, d.writes
	d.words, d.writes = nil, nil
	if len(words) > 0 && words[0] == "for" {
		if len(words) > 3 && words[2] == "in" {
			l.values[words[1]] = append(l.values[words[1]], words[3:]...)
		}
		words = nil
	}
	for len(words) > 0 && l.assigns(words[0]) {
		words = words[1:]
	}
	if len(words) > 0 && slices.Contains([]string{"export", "local", "readonly", "declare"}, words[0]) {
		for _, word := range words[1:] {
			l.assigns(word)
		}
		words = nil
	}
	if len(words) > 0 || len(writes) > 0 {
		l.commands = append(l.commands, command{words, writes})
	}
}

// assigns notes an assignment, and reports whether the word is one.
func (l *lexer) assigns(word string) bool {
	name := nameAt(word)
	value, ok := strings.CutPrefix(word[len(name):], "=")
	if name == "" || !ok {
		return false
	}
	l.values[name] = append(l.values[name], value)
	return true
}

// A text is a possible expansion of a word. Only its begin is known if exact is not set.
type text struct {
	begin string
	exact bool
}

// maxTexts bounds the texts of a word.
const maxTexts = 64

// expand returns the texts that a word may be.
func (s *script) expand(word string) []text { return s.expandAt(word, 0) }

func (s *script) expandAt(word string, depth int) []text {
	if s.work++; s.work > maxWork {
		s.unclear = true
		return []text{{}}
	}
	all := []text{{exact: true}}
	for word != "" {
		at := strings.IndexAny(word, "\x00\x01")
		if at < 0 {
			at = len(word)
		}
		next := []text{{word[:at], true}}
		if at > 0 {
			all = joined(all, next)
		}
		if word = word[at:]; word == "" {
			break
		}
		if word[0] == unknown {
			all, word = joined(all, []text{{}}), word[1:]
			continue
		}
		name, rest, _ := strings.Cut(word[1:], string(end))
		word = rest
		next = nil
		if depth < 5 {
			for _, value := range s.values[name] {
				next = append(next, s.expandAt(value, depth+1)...)
			}
		}
		if len(next) == 0 || len(next) > maxTexts {
			next = []text{{}}
		}
		all = joined(all, next)
	}
	return all
}

func joined(all, next []text) []text {
	var list []text
	for _, a := range all {
		if !a.exact {
			list = append(list, a)
			continue
		}
		for _, b := range next {
			if t := (text{a.begin + b.begin, b.exact}); !slices.Contains(list, t) {
				list = append(list, t)
			}
		}
	}
	if len(list) > maxTexts {
		return []text{{}}
	}
	return list
}
