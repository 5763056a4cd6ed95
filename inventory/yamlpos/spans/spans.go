package spans

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// A Text is a YAML text, and the positions of its values.
type Text struct {
	Bytes       []byte
	Documents   int
	Scalars     []Scalar     // in the order of the text, except empty ones without a tag
	Collections []Collection // a map or list precedes its content
}

// A Scalar is one scalar that is neither a key nor an alias.
type Scalar struct {
	Path         yamlpos.Path
	Tag          string // as written; "" if none
	Around       string // the tag of the innermost map or list around it that has one of its own
	Value        string // without quotes
	Quoted       bool   // or below | or >
	Anchor       string
	Line, Column int
	Start, End   int // tag and anchor included

	indent int // indentation of the lines below |, if written that way
}

// A Collection is a map or a list.
type Collection struct {
	Path             yamlpos.Path
	IsMap, Flow      bool
	Keys             []string // keys of a map
	Tag              string   // its own tag, such as !secret; "" if none
	TagStart, TagEnd int
	First            int // where its first key or item begins; -1 if it is empty
	Start            int // offset of {} or [] if it is empty
	Column           int // column of its keys or dashes
}

// Find finds the values of a text. If the text is not YAML it returns the error of [yamlpos.Parse].
func Find(file string, text []byte) (*Text, error) {
	f := &finder{file: file, text: &Text{Bytes: text}, lines: lineStarts(text)}
	documents, err := decode(text)
	if err != nil {
		if _, err := yamlpos.Parse(file, text); err != nil {
			return nil, err
		}
		return nil, &yamlpos.Error{File: file, Msg: err.Error()}
	}
	f.text.Documents = len(documents)
	for i, d := range documents {
		f.node(d.Content[0], yamlpos.Path{Document: i}, place{})
	}
	if err := f.errs.Err(); err != nil {
		return nil, err
	}
	return f.text, nil
}

// decode reads the documents of a text.
func decode(text []byte) (documents []*yaml.Node, err error) {
	// Malformed input has made yaml.v3 panic before (CVE-2022-28948).
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("yaml: %v", p)
		}
	}()
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		d := new(yaml.Node)
		switch err := decoder.Decode(d); {
		case errors.Is(err, io.EOF):
			return documents, nil
		case err != nil:
			return nil, err
		}
		documents = append(documents, d)
	}
}

// A finder visits the nodes of a text.
type finder struct {
	file  string
	text  *Text
	lines []int // where they begin
	errs  yamlpos.Errors
}

// A place is the surroundings of a value.
type place struct {
	column int    // column of the keys or dashes next to it, from 1; 0 at the top of a document
	flow   bool   // within [] or {}
	tag    string // see [Scalar.Around]
}

// maxDepth is far above what [yamlpos.Parse] takes.
const maxDepth = 1000

func (f *finder) node(n *yaml.Node, path yamlpos.Path, in place) {
	switch {
	case len(path.Steps) > maxDepth:
		f.fail(n, "nested more than %d levels deep", maxDepth)
	case n.Kind == yaml.ScalarNode:
		f.scalar(n, path, in)
	case n.Kind == yaml.MappingNode, n.Kind == yaml.SequenceNode:
		f.collection(n, path, in)
	}
}

func (f *finder) collection(n *yaml.Node, path yamlpos.Path, in place) {
	at := f.offset(n)
	c := Collection{
		Path: path, IsMap: n.Kind == yaml.MappingNode, Flow: n.Style&yaml.FlowStyle != 0,
		First: -1, Start: at, Column: n.Column,
	}
	if ownTag(n) {
		c.Tag, c.TagStart = n.Tag, at
		if f.text.Bytes[at] == '&' {
			c.TagStart = f.property(at)
		}
		c.TagEnd = c.TagStart + propertyLength(f.text.Bytes[c.TagStart:])
		in.tag = n.Tag
	}
	if len(n.Content) > 0 {
		c.First = f.offset(n.Content[0])
		if c.IsMap || c.Flow { // else it is the column of the dash
			c.Column = n.Content[0].Column
		}
	}
	if len(n.Content) == 0 || c.Flow {
		for start := f.property(at); start > c.Start; start = f.property(start) {
			c.Start = start
		}
	}
	in.flow = in.flow || c.Flow
	in.column = c.Column
	if !c.IsMap && !c.Flow && len(n.Content) > 0 {
		in.column = f.dash(n.Content[0], c.First)
		c.Column = in.column
	}
	i := len(f.text.Collections)
	f.text.Collections = append(f.text.Collections, c)
	if !c.IsMap {
		for k, item := range n.Content {
			f.node(item, path.Item(k), in)
		}
		return
	}
	for k := 0; k+1 < len(n.Content); k += 2 {
		key := n.Content[k]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		f.text.Collections[i].Keys = append(f.text.Collections[i].Keys, key.Value)
		f.node(n.Content[k+1], path.Key(key.Value), in)
	}
}

// dash returns the column of the dash in front of an item.
func (f *finder) dash(item *yaml.Node, at int) int {
	line := f.lines[min(max(item.Line, 1), len(f.lines))-1]
	before := f.text.Bytes[line:at]
	if i := bytes.LastIndexByte(before, '-'); i >= 0 {
		return 1 + utf8.RuneCount(before[:i])
	}
	return item.Column
}

// ownTag reports whether a node has a tag that is not one of YAML's.
func ownTag(n *yaml.Node) bool { return n.Tag != "" && !strings.HasPrefix(n.Tag, "!!") }

func (f *finder) scalar(n *yaml.Node, path yamlpos.Path, in place) {
	s := Scalar{
		Path: path, Around: in.tag, Value: n.Value, Anchor: n.Anchor, Line: n.Line, Column: n.Column,
		Quoted: n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0,
		Start:  f.offset(n),
	}
	if n.Style&yaml.TaggedStyle != 0 || ownTag(n) {
		s.Tag = n.Tag
	}
	if s.Tag == "" && s.Anchor == "" && !s.Quoted && n.Value == "" {
		return
	}
	var ok bool
	if s.End, ok = f.end(n, s.Start); !ok {
		f.fail(n, "the end of this value is not clear; write it in quotes, on one line")
		return
	}
	s.indent = in.column + 1
	if in.column == 0 {
		s.indent = 2
	}
	rest := f.text.Bytes[s.End:]
	if line := rest[:lineLength(rest)]; in.flow || len(line) == len(rest) || len(bytes.Trim(line, " \t\r")) > 0 {
		s.indent = -1
	}
	f.text.Scalars = append(f.text.Scalars, s)
}

// end returns the end of a scalar that begins at start; ok is false if it cannot be determined.
func (f *finder) end(n *yaml.Node, start int) (end int, ok bool) {
	text, at := f.text.Bytes, start
	end = start
	for at < len(text) && (text[at] == '!' && (n.Style&yaml.TaggedStyle != 0 || ownTag(n)) || text[at] == '&' && n.Anchor != "") {
		end = at + propertyLength(text[at:])
		at = f.property(at)
	}
	quoted := n.Style & (yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle)
	switch {
	case quoted == 0 && n.Value == "":
		return end, end > start
	case at >= len(text):
		return 0, false
	case quoted&yaml.DoubleQuotedStyle != 0:
		return closing(text, at, '"', '\\')
	case quoted&yaml.SingleQuotedStyle != 0:
		return closing(text, at, '\'', '\'')
	case quoted != 0:
		if text[at] != '|' && text[at] != '>' {
			return 0, false
		}
		head := at
		at += lineLength(text[at:])
		if strings.Trim(n.Value, blanks) == "" {
			return head + len(bytes.TrimRight(text[head:at], " \t\r")), true
		}
	}
	return alongside(text, at, n.Value)
}

// closing finds the end of a text in quotes; escape makes the next character mean itself.
func closing(text []byte, at int, quote, escape byte) (end int, ok bool) {
	if text[at] != quote {
		return 0, false
	}
	for i := at + 1; i < len(text); i++ {
		switch {
		case text[i] == escape && escape != quote, text[i] == quote && escape == quote && i+1 < len(text) && text[i+1] == quote:
			i++
		case text[i] == quote:
			return i + 1, true
		}
	}
	return 0, false
}

// blanks are the characters that may differ between the value and its text.
const blanks = " \t\r\n\u0085\u2028\u2029"

// alongside compares text and value, which differ only in blanks, and returns the offset in text where the value ends.
func alongside(text []byte, at int, value string) (end int, ok bool) {
	for _, r := range value {
		if strings.ContainsRune(blanks, r) {
			continue
		}
		for {
			if at >= len(text) {
				return 0, false
			}
			found, size := utf8.DecodeRune(text[at:])
			at += size
			if found == r {
				break
			}
			if !strings.ContainsRune(blanks, found) {
				return 0, false
			}
		}
	}
	return at, true
}

// propertyLength returns the length of a tag or an anchor.
func propertyLength(text []byte) int {
	if bytes.HasPrefix(text, []byte("!<")) {
		if end := bytes.IndexByte(text, '>'); end >= 0 {
			return end + 1
		}
	}
	if end := bytes.IndexAny(text, " \t\r\n,[]{}"); end >= 0 {
		return end
	}
	return len(text)
}

// property returns the offset after a tag or an anchor and the blanks that follow; at, if there is none.
func (f *finder) property(at int) int {
	text := f.text.Bytes
	if at >= len(text) || text[at] != '!' && text[at] != '&' {
		return at
	}
	at += propertyLength(text[at:])
	for at < len(text) {
		switch text[at] {
		case ' ', '\t', '\r', '\n':
			at++
		case '#':
			at += lineLength(text[at:])
		default:
			return at
		}
	}
	return at
}

func (f *finder) fail(n *yaml.Node, format string, args ...any) {
	f.errs.Add(&yamlpos.Error{File: f.file, Line: n.Line, Column: n.Column, Msg: fmt.Sprintf(format, args...)})
}

// offset returns the offset of a node.
func (f *finder) offset(n *yaml.Node) int {
	at := f.lines[min(max(n.Line, 1), len(f.lines))-1]
	for range n.Column - 1 {
		if at >= len(f.text.Bytes) {
			break
		}
		_, size := utf8.DecodeRune(f.text.Bytes[at:])
		at += size
	}
	return min(at, len(f.text.Bytes))
}

// lineLength returns the number of bytes before the next line break.
func lineLength(text []byte) int {
	if i := bytes.IndexAny(text, "\n\r\u0085\u2028\u2029"); i >= 0 {
		return i
	}
	return len(text)
}

// lineStarts returns the offsets of lines, as YAML counts them.
func lineStarts(text []byte) []int {
	at := 0
	if bytes.HasPrefix(text, []byte("\ufeff")) {
		at = len("\ufeff")
	}
	starts := []int{at}
	for at < len(text) {
		at += lineLength(text[at:])
		if at >= len(text) {
			break
		}
		if bytes.HasPrefix(text[at:], []byte("\r\n")) {
			at++
		}
		_, size := utf8.DecodeRune(text[at:])
		at += size
		starts = append(starts, at)
	}
	return starts
}
