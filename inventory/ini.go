package inventory

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/ccm-push/ccm-push/inventory/python"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// ini takes an inventory in Ansible's INI format.
func (b *builder) ini(file string, data []byte) error {
	if len(data) > maxINI {
		return &yamlpos.Error{File: file, Msg: "larger than 16 MiB"}
	}
	r := iniReader{builder: b, file: file, group: b.group(ungrouped, nil), pending: map[string]*pendingGroup{}}
	text := strings.TrimPrefix(string(data), "\ufeff")
	for line := range strings.Lines(text) {
		r.number++
		r.line(strings.TrimRight(line, "\r\n"))
	}
	for _, name := range r.waiting {
		if p := r.pending[name]; p != nil {
			b.errs.Add(p.at.Errorf("write ["+name+"] somewhere", "there is no group %s", name))
		}
	}
	return nil
}

// maxINI bounds a file in bytes, as yamlpos bounds those in YAML.
const maxINI = 16 << 20

// An iniReader goes through a file line by line.
type iniReader struct {
	*builder
	file   string
	number int // of the line

	group   *Group
	section string // "hosts", also if empty, "children", "vars", or "bad": not read

	pending map[string]*pendingGroup
	waiting []string // the names of all that were ever pending, in order
}

// A pendingGroup is one that is named and has no section yet. As in Ansible the
// order of groups is that of their sections.
type pendingGroup struct {
	at      *yamlpos.Node // where it is first named
	parents []edgeAt
}

// An edgeAt is a parent, and where the child is named as one of its children.
type edgeAt struct {
	parent *Group
	at     *yamlpos.Node
}

// at is a place in the line; offset counts bytes of raw.
func (r *iniReader) at(raw string, offset int) *yamlpos.Node {
	return &yamlpos.Node{File: r.file, Line: r.number, Column: 1 + utf8.RuneCountInString(raw[:offset])}
}

// named is a name that stands in the line.
func (r *iniReader) named(raw string, offset int, name string) *yamlpos.Node {
	n := r.at(raw, offset)
	n.Text, n.Value, n.Quoted = name, name, true
	return n
}

func (r *iniReader) line(raw string) {
	line := strings.TrimSpace(raw)
	if line == "" || line[0] == '#' || line[0] == ';' {
		return
	}
	start := strings.Index(raw, line)
	if odd := oddByte(raw); odd >= 0 {
		r.errs.Add(r.at(raw, odd).Errorf("save the file as UTF-8 text", "not a text file"))
		return
	}
	switch {
	case line[0] == '[' && r.header(raw, line, start):
	case r.section == "vars":
		r.variable(raw, line, start)
	case r.section == "children":
		r.child(raw, line, start)
	case r.section != "bad":
		r.host(raw, line, start)
	}
}

// oddByte finds what is in no line of text, and gives -1 if there is nothing.
func oddByte(line string) int {
	for i, c := range line {
		if c < ' ' && c != '\t' || c >= 0x7f && c < 0xa0 || c == utf8.RuneError && !strings.HasPrefix(line[i:], "\ufffd") {
			return i
		}
	}
	return -1
}

var (
	sectionLine = regexp.MustCompile(`^\[([^:\]\s]+)(?::(\w+))?\]\s*(?:#.*)?$`)
	groupLine   = regexp.MustCompile(`^([^:\]\s]+)\s*(?:#.*)?$`)
)

// header takes [group], [group:children] and [group:vars]. It reports whether the
// line is one, or nothing else it could be.
func (r *iniReader) header(raw, line string, start int) bool {
	m := sectionLine.FindStringSubmatch(line)
	if m == nil {
		if !strings.HasSuffix(line, "]") {
			return false
		}
		r.section = "bad"
		r.errs.Add(r.at(raw, start).Errorf("write [group], [group:children] or [group:vars], without blanks", "%q is no section", line))
		return true
	}
	key := r.named(raw, start+1, m[1])
	r.section = m[2]
	switch m[2] {
	case "", "hosts", "children", "vars":
	default:
		r.section = "bad"
		r.errs.Add(r.at(raw, start+2+len(m[1])).Errorf("sections are [group], [group:children] and [group:vars]", "section %q is unknown", m[2]))
		return true
	}
	if err := checkGroupName(key); err != nil {
		r.section = "bad"
		r.errs.Add(err)
		return true
	}
	known := r.inv.groupOf[m[1]] != nil
	r.group = r.builder.group(m[1], key)
	switch waiting := r.pending[m[1]]; {
	case m[2] == "vars" && !known:
		r.await(key)
	case m[2] != "vars" && waiting != nil:
		delete(r.pending, m[1])
		for _, e := range waiting.parents {
			r.link(e.parent, r.group, e.at)
		}
	}
	return true
}

// await notes a group that needs a section of its own.
func (r *iniReader) await(key *yamlpos.Node) *pendingGroup {
	p := r.pending[key.Text]
	if p == nil {
		p = &pendingGroup{at: key}
		r.pending[key.Text] = p
		r.waiting = append(r.waiting, key.Text)
	}
	return p
}

func (r *iniReader) child(raw, line string, start int) {
	m := groupLine.FindStringSubmatch(line)
	if m == nil {
		r.errs.Add(r.at(raw, start).Errorf("write one name on each line", "below [%s:children] stand names of groups", r.group.Name))
		return
	}
	key := r.named(raw, start, m[1])
	if err := checkGroupName(key); err != nil {
		r.errs.Add(err)
		return
	}
	if child := r.inv.groupOf[m[1]]; child != nil {
		r.link(r.group, child, key)
		return
	}
	p := r.await(key)
	p.parents = append(p.parents, edgeAt{r.group, key})
}

// variable takes NAME=VALUE below [group:vars]. The value is everything to the end
// of the line. No error shows it: it may be a password.
func (r *iniReader) variable(raw, line string, start int) {
	name, value, found := strings.Cut(line, "=")
	key := r.named(raw, start, strings.TrimSpace(name))
	if !found || key.Text == "" {
		r.errs.Add(key.Errorf("write NAME=VALUE", "below [%s:vars] stand variables", r.group.Name))
		return
	}
	blanks := len(value) - len(strings.TrimLeft(value, " \t"))
	at := r.at(raw, start+len(name)+1+blanks)
	r.groupVars(r.group, &yamlpos.Node{
		File: r.file, Line: key.Line, Column: key.Column,
		Kind: yamlpos.Map, Pairs: []yamlpos.Pair{{Key: key, Value: python.Literal(at, strings.TrimSpace(value))}},
	}, connectNowhere)
}

// host takes a line with a host, or a range of them, and variables.
func (r *iniReader) host(raw, line string, start int) {
	words, cut, problem := python.Words(line)
	if problem != "" {
		r.errs.Add(r.at(raw, start).Errorf("quote as in a shell", "%s", problem))
		return
	}
	if cut >= 0 {
		r.notes.add(r.at(raw, start+cut), "a comment begins within a word, as in Ansible; quote a value that holds #")
	}
	key := r.named(raw, start+words[0].Column, words[0].Text)
	body := &yamlpos.Node{File: r.file, Line: r.number, Column: key.Column, Kind: yamlpos.Map}
	for _, word := range words[1:] {
		at := r.at(raw, start+word.Column)
		name, value, found := strings.Cut(word.Text, "=")
		if !found || name == "" {
			r.errs.Add(at.Errorf("quote a value that has blanks: NAME=\"a b\"", "behind a host stand variables, as NAME=VALUE"))
			return
		}
		if word.ValueAt >= 0 {
			at = r.at(raw, start+word.ValueAt)
		}
		body.Pairs = setPair(body.Pairs, yamlpos.Pair{Key: r.named(raw, start+word.Column, name), Value: python.Literal(at, value)})
	}
	if len(body.Pairs) == 0 {
		body = nil
	}
	r.hosts(r.group, key, body)
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
