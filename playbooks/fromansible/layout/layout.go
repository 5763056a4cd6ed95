package layout

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// A Writer writes entries. What others refer to keeps its name in all manifests of a conversion.
type Writer struct {
	taken      map[string]bool
	firstNamed map[string]*Entry
}

// CCM is what shall be true: a failure ends the rest, as with Ansible.
func (l *Writer) CCM(entries []*Entry) *yaml.Node {
	l.NameTargets(entries)
	resources := l.resources(entries)
	if len(resources.Content) == 0 {
		resources.Style = yaml.FlowStyle
	}
	return yamlnode.Map("fail_on_error", yamlnode.Bool(true), "resources", resources)
}

// NameTargets gives aliases to entries that others refer to and whose names do not do.
func (l *Writer) NameTargets(entries []*Entry) {
	Walk(entries, func(e *Entry) {
		for _, target := range e.Subscribe {
			l.reference(target)
		}
	})
}

// reference is how others refer to an entry. All names of a conversion are counted, since
// references reach over all of a play.
func (l *Writer) reference(e *Entry) string {
	if l.taken == nil {
		l.taken = map[string]bool{}
	}
	typ := e.Type
	if e.IsBlock() {
		typ = "block"
	}
	if e.alias == "" && !e.IsBlock() && e.Get("each") == nil && !strings.Contains(e.Name, "{{") && !l.duplicate(e) {
		return typ + "#" + e.Name
	}
	if e.IsBlock() {
		if e.Name == "" {
			e.Name = l.unique("block", "block")
		}
		return "block#" + e.Name
	}
	if e.alias == "" {
		name := "changed by " + typ
		if len(e.Comments) > 0 {
			name = strings.TrimSpace(e.Comments[0])
		} else if !strings.Contains(e.Name, "{{") {
			name = e.Name
		}
		e.alias = l.unique(typ, name)
	}
	return typ + "#" + e.alias
}

func (l *Writer) unique(typ, name string) string {
	out := name
	for i := 2; l.taken[typ+"#"+out]; i++ {
		out = fmt.Sprintf("%s (%d)", name, i)
	}
	l.taken[typ+"#"+out] = true
	return out
}

// duplicate reports whether another entry that was referred to has the same name.
func (l *Writer) duplicate(e *Entry) bool {
	key := e.Type + "#" + e.Name
	first, there := l.firstNamed[key]
	if !there {
		if l.firstNamed == nil {
			l.firstNamed = map[string]*Entry{}
		}
		l.firstNamed[key] = e
		return false
	}
	return first != e
}

// resources writes entries; neighbours of one type stand in one list.
func (l *Writer) resources(entries []*Entry) *yaml.Node {
	out := yamlnode.List()
	var comments []string
	for i := 0; i < len(entries); i++ {
		e := entries[i]
		if e.Type == "" && !e.IsBlock() && e.Todo == "" {
			comments = append(comments, e.Comments...)
			continue
		}
		e.Comments = append(comments, e.Comments...)
		comments = nil
		switch {
		case e.Todo != "":
			n := yamlnode.Map("todo", yamlnode.Text(e.Todo))
			n.Content[1].Style = yaml.DoubleQuotedStyle
			if strings.Contains(e.Todo, `"`) {
				n.Content[1].Style = yaml.SingleQuotedStyle
			}
			out.Content = append(out.Content, commented(n, e.Comments))
		case e.IsBlock():
			out.Content = append(out.Content, commented(l.blockNode(e), e.Comments))
		default:
			group := []*Entry{e}
			for i+1 < len(entries) && entries[i+1].Type == e.Type && e.Type != "" && entries[i+1].Todo == "" {
				i++
				group = append(group, entries[i])
			}
			out.Content = append(out.Content, yamlnode.Map(e.Type, l.group(group)))
		}
	}
	if len(comments) > 0 {
		if len(out.Content) > 0 {
			out.Content[len(out.Content)-1].FootComment = commentText(comments)
		} else {
			out.HeadComment = commentText(comments)
		}
	}
	return out
}

func commentText(lines []string) string {
	var list []string
	for _, l := range lines {
		for _, part := range strings.Split(l, "\n") {
			list = append(list, strings.TrimRight("# "+part, " "))
		}
	}
	return strings.Join(list, "\n")
}

func commented(n *yaml.Node, comments []string) *yaml.Node {
	if len(comments) > 0 {
		n.HeadComment = commentText(comments)
	}
	return n
}

// blockNode writes a block: its keys, and then its lists.
func (l *Writer) blockNode(e *Entry) *yaml.Node {
	n := yamlnode.Map()
	add := func(key string, v *yaml.Node) { n.Content = append(n.Content, yamlnode.Text(key), v) }
	if e.Name != "" {
		add("name", yamlnode.Text(expression.Escape(e.Name)))
	}
	for _, p := range e.Props {
		add(p.Key, Flowed(p.Value))
	}
	add("block", l.resources(e.Block))
	if len(e.Rescue) > 0 {
		add("rescue", l.resources(e.Rescue))
	}
	if len(e.Always) > 0 {
		add("always", l.resources(e.Always))
	}
	return n
}

// shared are properties that neighbours may have in common, gathered in defaults.
var shared = []string{"ensure", "owner", "group", "mode", "provider", "cwd", "user", "control", "tags", "readonly", "cache_valid", "sensitive", "on"}

// group writes resources of one type, with what they have in common as defaults.
func (l *Writer) group(list []*Entry) *yaml.Node {
	out := yamlnode.List()
	if len(list) > 1 {
		defaults := yamlnode.Map()
		for _, key := range shared {
			first := list[0].Get(key)
			if first == nil || slices.ContainsFunc(list, func(e *Entry) bool { return !sameNode(e.Get(key), first) }) {
				continue
			}
			if key == "control" && len(list) < 3 {
				continue
			}
			defaults.Content = append(defaults.Content, yamlnode.Text(key), Flowed(first))
			for _, e := range list {
				e.Drop(key)
			}
		}
		if len(defaults.Content) > 0 {
			defaults.Style = yaml.FlowStyle
			out.Content = append(out.Content, yamlnode.Map("defaults", defaults))
		}
	}
	for _, e := range list {
		out.Content = append(out.Content, commented(l.resource(e), e.Comments))
	}
	return out
}

func sameNode(a, b *yaml.Node) bool {
	if a == nil || b == nil || a.Kind != b.Kind || a.Value != b.Value || len(a.Content) != len(b.Content) {
		return false
	}
	for i := range a.Content {
		if !sameNode(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}

// rank is the order of properties: what decides first, then what the thing is, then what is done with it.
func rank(key string) int {
	switch key {
	case "alias":
		return 0
	case "each":
		return 1
	case "control":
		return 3
	case "register":
		return 4
	case "subscribe":
		return 9
	case "retry", "delay", "timeout", "on", "once", "sema":
		return 5
	case "sensitive", "noop", "tags":
		return 6
	}
	return 2
}

// maxWidth is how wide a resource on one line may be.
const maxWidth = 110

func (l *Writer) resource(e *Entry) *yaml.Node {
	props := slices.Clone(e.Props)
	if e.alias != "" {
		props = append(props, Property{"alias", yamlnode.Text(e.alias)})
	}
	if len(e.Subscribe) > 0 {
		var refs []string
		for _, target := range e.Subscribe {
			if ref := l.reference(target); !slices.Contains(refs, ref) {
				refs = append(refs, ref)
			}
		}
		props = append(props, Property{"subscribe", Flowed(yamlnode.Texts(refs...))})
	}
	slices.SortStableFunc(props, func(a, b Property) int { return rank(a.Key) - rank(b.Key) })
	if len(props) == 0 {
		return yamlnode.Map(e.Name, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"})
	}
	body := yamlnode.Map()
	width, blocks := len(e.Name)+6, false
	for _, p := range props {
		v := Flowed(p.Value)
		body.Content = append(body.Content, yamlnode.Text(p.Key), v)
		w := flowWidth(v)
		if w < 0 {
			blocks = true
		}
		width += len(p.Key) + 4 + w
	}
	if !blocks && width < maxWidth {
		body.Style = yaml.FlowStyle
		for i := 1; i < len(body.Content); i += 2 {
			if v := body.Content[i]; v.Kind == yaml.ScalarNode && v.Style&yaml.LiteralStyle != 0 {
				v.Style = yaml.DoubleQuotedStyle
			}
		}
	}
	return yamlnode.Map(e.Name, body)
}

// flowWidth is the width of a value on one line; less than 0 if it has several.
func flowWidth(n *yaml.Node) int {
	if n.Kind == yaml.ScalarNode {
		if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
			if strings.Count(n.Value, "\n") == 1 && strings.HasSuffix(n.Value, "\n") && !strings.ContainsAny(n.Value, "\"\\") {
				return len(n.Value) + 3
			}
			return -1
		}
		return len(n.Value) + 2
	}
	width := 2
	for _, child := range n.Content {
		w := flowWidth(child)
		if w < 0 || child.HeadComment != "" || child.LineComment != "" {
			return -1
		}
		width += w + 2
	}
	return width
}

// Flowed has a list or a map stand on one line, if it is short.
func Flowed(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.ScalarNode {
		return n
	}
	out := *n
	out.Content = make([]*yaml.Node, len(n.Content))
	for i, child := range n.Content {
		out.Content[i] = Flowed(child)
	}
	out.Style &^= yaml.FlowStyle
	if w := flowWidth(&out); w >= 0 && w < 90 {
		out.Style |= yaml.FlowStyle
	}
	return &out
}
