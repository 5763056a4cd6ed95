// Package layout formats YAML: indentation by two, one blank line at most, no blanks at the ends of lines. It does not
// change keys, quotes, comments or line breaks. The result is compared with the original: it must have the same
// characters except blanks, and the same meaning; otherwise it is refused.
package layout

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"
)

// ErrLeft is the error for a text that is not changed because its layout is not supported.
var ErrLeft = errors.New("its layout is not supported, so the file is not changed")

// Format formats a text. Invalid YAML is an error, too.
func Format(text []byte) ([]byte, error) {
	before, err := parse(text)
	switch {
	case err != nil:
		return nil, err
	case bytes.ContainsAny(bytes.ReplaceAll(text, []byte("\r\n"), nil), otherBreaks):
		return nil, ErrLeft
	}
	for _, indent := range []bool{true, false} {
		after, ok := format(text, before, indent)
		if !ok || !same(before, text, after) {
			continue
		}
		nodes, err := parse(after)
		if err != nil {
			continue
		}
		if again, ok := format(after, nodes, indent); ok && bytes.Equal(after, again) {
			return after, nil
		}
	}
	return nil, ErrLeft
}

// otherBreaks end lines in YAML too, but not in editors; the last one begins some texts from Windows.
const otherBreaks = "\r\u0085\u2028\u2029\ufeff"

// parse reads the documents of a text.
func parse(text []byte) ([]*yaml.Node, error) {
	var list []*yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var n yaml.Node
		switch err := decoder.Decode(&n); {
		case errors.Is(err, io.EOF):
			return list, nil
		case err != nil:
			return nil, err
		}
		list = append(list, &n)
	}
}

// same reports whether a text means what the nodes of another one do, and has its characters.
func same(want []*yaml.Node, before, after []byte) bool {
	got, err := parse(after)
	return err == nil && slices.EqualFunc(want, got, sameNode) && bytes.Equal(characters(before), characters(after))
}

func sameNode(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.Style == b.Style && a.Tag == b.Tag && a.Value == b.Value && a.Anchor == b.Anchor &&
		slices.EqualFunc(a.Content, b.Content, sameNode)
}

// characters returns a text without blanks and line breaks.
func characters(text []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\r\n", r) {
			return -1
		}
		return r
	}, text)
}

// format lays a text out. ok is false if that is not known how. Without indent, lines keep
// their indentation.
func format(text []byte, documents []*yaml.Node, indent bool) (after []byte, ok bool) {
	lines := strings.Split(strings.TrimSuffix(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n"), "\n")
	l := &layout{lines: lines, starts: map[int]start{}, texts: map[int]textBelow{}}
	for _, d := range documents {
		if len(d.Content) == 1 {
			l.node(d.Content[0], 0, "")
		}
	}
	if l.unknown && indent {
		return nil, false
	}
	return l.write(indent), true
}

// A start is the beginning of a line in which a node begins.
type start struct {
	prefix string // indentation and dashes
	rest   int    // offset of the rest in the original line
}

// A textBelow is one of | or >, by the line above it.
type textBelow struct {
	to     int // its indentation
	parent int // original indentation of the text's parent
}

type layout struct {
	lines   []string
	starts  map[int]start // line starts with a node, by line index
	texts   map[int]textBelow
	unknown bool
}

// line returns the line with an index, or "" for a node without a line, such as an empty document.
func (l *layout) line(i int) string {
	if i < 0 || i >= len(l.lines) {
		return ""
	}
	return l.lines[i]
}

func spaces(n int) string { return strings.Repeat(" ", n) }

// inBlock reports whether a node is a map or a list of its own lines.
func inBlock(n *yaml.Node) bool {
	return (n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode) && n.Style&yaml.FlowStyle == 0 && len(n.Content) > 0
}

// isText reports whether a node is a text below | or >.
func isText(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
}

// node places a node with an indentation. prefix, if there is one, precedes it on its first line.
func (l *layout) node(n *yaml.Node, indent int, prefix string) {
	switch {
	case inBlock(n) && n.Kind == yaml.MappingNode:
		l.mapping(n, indent, prefix)
	case inBlock(n):
		l.sequence(n, indent, prefix)
	case !strings.HasPrefix(l.line(n.Line-1), "---"):
		l.begin(n.Line-1, prefixOr(prefix, indent), n.Column-1)
		l.text(n, indent, -1)
	default:
		l.text(n, indent, -1)
	}
}

func prefixOr(prefix string, indent int) string {
	if prefix != "" {
		return prefix
	}
	return spaces(indent)
}

// begin sets the beginning of a line. Before rest there are only blanks and dashes.
func (l *layout) begin(line int, prefix string, rest int) {
	text := l.line(line)
	if rest < 0 || rest > len(text) || strings.Trim(text[:rest], " -") != "" {
		l.unknown = true
		return
	}
	l.starts[line] = start{prefix, rest}
}

var explicitIndent = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[|>][-+]?[0-9][-+]?[ \t]*(#.*)?$`) })

// text notes how far lines below | or > are indented.
func (l *layout) text(n *yaml.Node, to, parent int) {
	if !isText(n) {
		return
	}
	l.unknown = l.unknown || explicitIndent().MatchString(l.line(n.Line-1))
	l.texts[n.Line-1] = textBelow{to, parent}
}

func (l *layout) mapping(n *yaml.Node, indent int, prefix string) {
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if i > 0 {
			prefix = ""
		}
		if inBlock(key) || isText(key) || key.Anchor != "" {
			l.unknown = true
			return
		}
		l.begin(key.Line-1, prefixOr(prefix, indent), key.Column-1)
		switch {
		case value.Line > key.Line:
			l.node(value, indent+2, "")
		case inBlock(value):
			l.unknown = true // after an anchor or a tag
		default:
			l.text(value, indent+2, key.Column-1)
		}
	}
}

func (l *layout) sequence(n *yaml.Node, indent int, prefix string) {
	dash := n.Column - 1
	for i, item := range n.Content {
		if i > 0 {
			prefix = ""
		}
		line := item.Line - 1
		if !l.dashAt(line, dash) {
			l.unknown = true
			return
		}
		begin := prefixOr(prefix, indent) + "- "
		rest := dash + 1 + blanks(l.line(line)[dash+1:])
		if inBlock(item) {
			if item.Column-1 != rest {
				l.unknown = true // after an anchor or a tag
				return
			}
			l.node(item, len(begin), begin)
			continue
		}
		l.begin(line, begin, rest)
		l.text(item, len(begin), dash)
	}
}

func (l *layout) dashAt(line, column int) bool {
	text := l.line(line)
	return column >= 0 && column < len(text) && text[column] == '-' && strings.Trim(text[:column], " -") == ""
}

// blanks counts the blanks at the beginning of a text.
func blanks(text string) int { return len(text) - len(strings.TrimLeft(text, " ")) }

// write puts the lines together.
func (l *layout) write(indent bool) []byte {
	var out []string
	empty, shift := 0, 0
	add := func(line string) {
		if empty > 0 && len(out) > 0 {
			out = append(out, "")
		}
		empty = 0
		out = append(out, line)
	}
	for i := 0; i < len(l.lines); i++ {
		line := strings.TrimRight(l.lines[i], " \t")
		begin, starts := l.starts[i]
		switch {
		case line == "":
			empty++
			continue
		case starts && indent:
			shift = len(begin.prefix) - begin.rest
			add(strings.TrimRight(begin.prefix+line[min(begin.rest, len(line)):], " "))
		case starts, strings.HasPrefix(line, "---"), strings.HasPrefix(line, "..."), strings.HasPrefix(line, "%"):
			add(line)
		case strings.HasPrefix(strings.TrimLeft(line, " "), "#"):
			add(spaces(l.commentIndent(i, indent)) + strings.TrimLeft(line, " "))
		default: // continues a value from a line above, in which empty lines may have a meaning
			out = append(out, slices.Repeat([]string{""}, empty)...)
			empty = 0
			if by := blanks(line) + shift; indent {
				line = spaces(max(by, 0)) + strings.TrimLeft(line, " ")
			}
			out = append(out, line)
		}
		if t, ok := l.texts[i]; ok {
			var text []string
			text, i, empty = l.below(i, t, indent)
			out = append(out, text...)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return []byte(strings.Join(out, "\n") + "\n")
}

var keepsEnd = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[|>][0-9]?\+[0-9]?[ \t]*(#.*)?$`) })

// below returns the lines of a text below | or >, the index of its last line, and the number of empty lines after it
// that do not belong to it.
func (l *layout) below(header int, t textBelow, indent bool) (text []string, last, empty int) {
	was := -1 // its indentation: the indentation of its first line that is not empty
	last = header
	for i := header + 1; i < len(l.lines); i++ {
		line := l.lines[i]
		by := blanks(line)
		if by == len(line) && (was < 0 || by <= was) {
			empty++
			last = i
			continue
		}
		if was < 0 {
			was = by
		}
		if by < was || was <= t.parent {
			break
		}
		text = append(text, slices.Repeat([]string{""}, empty)...)
		empty = 0
		if indent {
			line = spaces(t.to) + line[was:]
		}
		text = append(text, line)
		last = i
	}
	if keepsEnd().MatchString(l.lines[header]) {
		text, empty = append(text, slices.Repeat([]string{""}, empty)...), 0
	}
	return text, last, empty
}

// commentIndent returns the new indentation of a line that has only a comment: it stays aligned with a line of the same
// indentation, the next one or else one before it.
func (l *layout) commentIndent(i int, indent bool) int {
	was := blanks(l.lines[i])
	if !indent {
		return was
	}
	begins := func(j int) bool { return blanks(l.lines[j]) == was }
	for j := i + 1; j < len(l.lines); j++ {
		if s, ok := l.starts[j]; ok {
			if begins(j) {
				return blanks(s.prefix)
			}
			break
		}
	}
	for j := i - 1; j >= 0; j-- {
		if s, ok := l.starts[j]; ok && begins(j) {
			return blanks(s.prefix)
		}
	}
	return was
}
