package ansible

import (
	"iter"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/ccm-push/ccm-push/inventory/pattern"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// A LineKind is the kind of a line in an INI inventory.
type LineKind int

// The kinds of lines.
const (
	HostsSection    LineKind = iota // [group] or [group:hosts]
	ChildrenSection                 // [group:children]
	VarsSection                     // [group:vars]
	HostLine                        // a host, or a range of them, with variables
	ChildLine                       // the name of a group
	VarLine                         // NAME=VALUE
)

// An INILine is a line that is neither empty nor a comment.
type INILine struct {
	Kind LineKind
	Name *yamlpos.Node // group or host; nil for a [VarLine]
	// Vars is a map: of a [HostLine], nil if it has none; of a [VarLine], with one entry.
	Vars *yamlpos.Node
	// Cut is the position of a # inside a word of a host line, where the comment begins. It may be a mistake, or nil.
	Cut *yamlpos.Node
}

// maxINIBytes limits the size of a file, as yamlpos limits YAML files.
const maxINIBytes = 16 << 20

// INILines yields the lines of a file; a bad line yields an error instead. The lines before the first section are hosts
// without a group. file is only used in positions.
func INILines(file string, data []byte) iter.Seq2[INILine, error] {
	return func(yield func(INILine, error) bool) {
		if len(data) > maxINIBytes {
			yield(INILine{}, &yamlpos.Error{File: file, Msg: "larger than 16 MiB"})
			return
		}
		r := iniReader{file: file}
		text := strings.TrimPrefix(string(data), "\ufeff")
		for raw := range strings.Lines(text) {
			r.number++
			line, says, err := r.line(strings.TrimRight(raw, "\r\n"))
			if (says || err != nil) && !yield(line, err) {
				return
			}
		}
	}
}

// An iniReader reads a file line by line.
type iniReader struct {
	file    string
	number  int    // line number
	group   string // name of the section's group
	section LineKind
	bad     bool // something is wrong with the header: the section is not read
}

// at returns a position in the line; offset counts bytes of raw.
func (r *iniReader) at(raw string, offset int) *yamlpos.Node {
	return &yamlpos.Node{File: r.file, Line: r.number, Column: 1 + utf8.RuneCountInString(raw[:offset])}
}

// named returns the node of a name in the line; offset is in bytes of raw.
func (r *iniReader) named(raw string, offset int, name string) *yamlpos.Node {
	n := r.at(raw, offset)
	n.Text, n.Value, n.Quoted = name, name, true
	return n
}

// line reads one line. says is false if the line is empty or a comment.
func (r *iniReader) line(raw string) (l INILine, says bool, err error) {
	line := strings.TrimSpace(raw)
	if line == "" || line[0] == '#' || line[0] == ';' {
		return l, false, nil
	}
	start := strings.Index(raw, line)
	if odd := oddByte(raw); odd >= 0 {
		return l, false, r.at(raw, odd).Errorf("save the file as UTF-8 text", "the file is not UTF-8 text")
	}
	if line[0] == '[' {
		if m := sectionLine().FindStringSubmatch(line); m != nil {
			l, err = r.header(raw, start, m[1], m[2])
			r.bad = err != nil
			return l, true, err
		}
		switch {
		case !strings.Contains(line, "]"):
			r.bad = true
			return l, false, r.at(raw, start).Errorf("write [group], [group:children] or [group:vars]", "section %q has no ] at its end", line)
		case strings.HasSuffix(line, "]"):
			r.bad = true
			return l, false, r.at(raw, start).Errorf("write [group], [group:children] or [group:vars], without blanks", "%q is not a section", line)
		}
	}
	switch {
	case r.bad:
		return l, false, nil
	case r.section == VarsSection:
		l, err = r.variable(raw, line, start)
	case r.section == ChildrenSection:
		l, err = r.child(raw, line, start)
	default:
		l, err = r.host(raw, line, start)
	}
	return l, true, err
}

// oddByte returns the offset of the first byte that is not allowed in text, or -1.
func oddByte(line string) int {
	for i, c := range line {
		if c < ' ' && c != '\t' || c >= 0x7f && c < 0xa0 || c == utf8.RuneError && !strings.HasPrefix(line[i:], "\ufffd") {
			return i
		}
	}
	return -1
}

var (
	sectionLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\[([^:\]\s]+)(?::(\w+))?\]\s*(?:#.*)?$`)
	})
	groupLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^([^:\]\s]+)\s*(?:#.*)?$`)
	})
)

// header takes [group], [group:children] and [group:vars].
func (r *iniReader) header(raw string, start int, group, kind string) (l INILine, err error) {
	l.Name = r.named(raw, start+1, group)
	switch kind {
	case "", "hosts":
		l.Kind = HostsSection
	case "children":
		l.Kind = ChildrenSection
	case "vars":
		l.Kind = VarsSection
	default:
		return l, r.at(raw, start+2+len(group)).Errorf("sections are [group], [group:children] and [group:vars]", "section %q is unknown", kind)
	}
	if err := pattern.CheckGroupName(l.Name); err != nil {
		return l, err
	}
	r.group, r.section = group, l.Kind
	return l, nil
}

func (r *iniReader) child(raw, line string, start int) (l INILine, err error) {
	m := groupLine().FindStringSubmatch(line)
	if m == nil {
		return l, r.at(raw, start).Errorf("write one name on each line", "[%s:children] contains names of groups", r.group)
	}
	l = INILine{Kind: ChildLine, Name: r.named(raw, start, m[1])}
	return l, pattern.CheckGroupName(l.Name)
}

// variable takes NAME=VALUE below [group:vars]. The value is everything to the end
// of the line. No error shows it: it may be a password.
func (r *iniReader) variable(raw, line string, start int) (l INILine, err error) {
	name, value, found := strings.Cut(line, "=")
	key := r.named(raw, start, strings.TrimSpace(name))
	if !found || key.Text == "" {
		return l, key.Errorf("write NAME=VALUE", "[%s:vars] contains variables", r.group)
	}
	blanks := len(value) - len(strings.TrimLeft(value, " \t"))
	at := r.at(raw, start+len(name)+1+blanks)
	return INILine{Kind: VarLine, Vars: &yamlpos.Node{
		File: r.file, Line: key.Line, Column: key.Column,
		Kind: yamlpos.Map, Pairs: []yamlpos.Pair{{Key: key, Value: Literal(at, strings.TrimSpace(value))}},
	}}, nil
}

// host takes a line with a host, or a range of them, and variables.
func (r *iniReader) host(raw, line string, start int) (l INILine, err error) {
	words, cut, problem := SplitWords(line)
	if problem != "" {
		return l, r.at(raw, start).Errorf("quote as in a shell", "%s", problem)
	}
	l = INILine{Kind: HostLine, Name: r.named(raw, start+words[0].Column, words[0].Text)}
	if cut >= 0 {
		l.Cut = r.at(raw, start+cut)
	}
	vars := &yamlpos.Node{File: r.file, Line: r.number, Column: l.Name.Column, Kind: yamlpos.Map}
	for _, word := range words[1:] {
		at := r.at(raw, start+word.Column)
		name, value, found := strings.Cut(word.Text, "=")
		if !found || name == "" {
			return l, at.Errorf("quote a value that has blanks: NAME=\"a b\"", "write variables after a host as NAME=VALUE")
		}
		if word.ValueAt >= 0 {
			at = r.at(raw, start+word.ValueAt)
		}
		vars.Pairs = setPair(vars.Pairs, yamlpos.Pair{Key: r.named(raw, start+word.Column, name), Value: Literal(at, value)})
	}
	if len(vars.Pairs) > 0 {
		l.Vars = vars
	}
	return l, nil
}

// setPair adds an entry or replaces the one with the same key.
func setPair(pairs []yamlpos.Pair, p yamlpos.Pair) []yamlpos.Pair {
	for i := range pairs {
		if pairs[i].Key.Text == p.Key.Text {
			pairs[i] = p
			return pairs
		}
	}
	return append(pairs, p)
}

// A Word is one word of a line.
type Word struct {
	Text   string
	Column int // bytes from the beginning of the line to the first of its source
	// ValueAt is the offset of the source after the first =, or -1.
	ValueAt int
}

// SplitWords splits a line like Python's shlex, which Ansible uses for the host lines of INI inventories: quotes and
// backslashes work as in a shell, and a # outside quotes begins a comment anywhere. cut is the offset of a # that ended
// a word, or -1. problem describes the error, or "".
func SplitWords(line string) (words []Word, cut int, problem string) {
	var text strings.Builder
	cut = -1
	within := false // a word
	word := Word{}
	end := func() {
		if within {
			word.Text = text.String()
			words = append(words, word)
		}
		text.Reset()
		within = false
	}
	begin := func(i int) {
		if !within {
			within, word = true, Word{Column: i, ValueAt: -1}
		}
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch c {
		case ' ', '\t', '\r', '\n':
			end()
			continue
		case '#':
			if within {
				cut = i
			}
			end()
			return words, cut, ""
		}
		begin(i)
		switch c {
		case '\'', '"':
			stop := quoted(line, i, &text)
			if stop < 0 {
				return nil, -1, "a quote is opened and not closed"
			}
			i = stop
		case '\\':
			if i++; i == len(line) {
				return nil, -1, "a backslash is at the end"
			}
			text.WriteByte(line[i])
		default:
			text.WriteByte(c)
			if c == '=' && word.ValueAt < 0 {
				word.ValueAt = i + 1
			}
		}
	}
	end()
	return words, cut, ""
}

// quoted appends the text between the quote at i and the next quote to text, and returns the offset of the second
// quote, or -1. A backslash escapes itself and the quote, in double quotes only.
func quoted(line string, i int, text *strings.Builder) int {
	quote := line[i]
	for i++; i < len(line); i++ {
		c := line[i]
		switch {
		case c == quote:
			return i
		case c == '\\' && quote == '"' && i+1 < len(line) && (line[i+1] == '"' || line[i+1] == '\\'):
			i++
			c = line[i]
		}
		text.WriteByte(c)
	}
	return -1
}
