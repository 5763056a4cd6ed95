package fromansible

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/inventory/yamlpos/layout"
)

// encode writes YAML as people do: by two, lists below their keys.
func encode(n *yaml.Node) []byte {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		return []byte("# " + err.Error() + "\n")
	}
	e.Close()
	if text, err := layout.Format(b.Bytes()); err == nil {
		return text
	}
	return b.Bytes()
}

func mapNode(pairs ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for i := 0; i < len(pairs); i += 2 {
		n.Content = append(n.Content, textNode(pairs[i].(string)), pairs[i+1].(*yaml.Node))
	}
	return n
}

// writeManifest writes the manifest of a file of tasks.
func (c *converter) writeManifest(path string, entries []*entry) {
	c.out.Files[path] = File{encode(mapNode("ccm", c.ccm(entries))), 0o644}
}

// ccm is what shall be true: a failure ends the rest, as with Ansible.
func (c *converter) ccm(entries []*entry) *yaml.Node {
	c.nameTargets(entries)
	resources := c.resources(entries)
	if len(resources.Content) == 0 {
		resources.Style = yaml.FlowStyle
	}
	return mapNode("fail_on_error", boolNode(true), "resources", resources)
}

// nameTargets gives aliases to entries that others refer to and whose names do not do.
func (c *converter) nameTargets(entries []*entry) {
	walk(entries, func(e *entry) {
		for _, target := range e.subscribe {
			c.reference(target)
		}
	})
}

// reference is how others refer to an entry. All names of a conversion are counted, since
// references reach over all of a play.
func (c *converter) reference(e *entry) string {
	if c.aliases == nil {
		c.aliases = map[*entry]string{}
		c.taken = map[string]bool{}
	}
	typ := e.typ
	if e.isBlock() {
		typ = "block"
	}
	if e.alias == "" && !e.isBlock() && e.get("each") == nil && !strings.Contains(e.name, "{{") && !c.duplicate(e) {
		return typ + "#" + e.name
	}
	if e.isBlock() {
		if e.name == "" {
			e.name = c.unique("block", "block")
		}
		return "block#" + e.name
	}
	if e.alias == "" {
		name := "changed by " + typ
		if len(e.comments) > 0 {
			name = strings.TrimSpace(e.comments[0])
		} else if !strings.Contains(e.name, "{{") {
			name = e.name
		}
		e.alias = c.unique(typ, name)
	}
	return typ + "#" + e.alias
}

func (c *converter) unique(typ, name string) string {
	out := name
	for i := 2; c.taken[typ+"#"+out]; i++ {
		out = fmt.Sprintf("%s (%d)", name, i)
	}
	c.taken[typ+"#"+out] = true
	return out
}

// duplicate reports whether another entry that was referred to has the same name.
func (c *converter) duplicate(e *entry) bool {
	key := e.typ + "#" + e.name
	first, there := c.firstNamed[key]
	if !there {
		if c.firstNamed == nil {
			c.firstNamed = map[string]*entry{}
		}
		c.firstNamed[key] = e
		return false
	}
	return first != e
}

// resources writes entries; neighbours of one type stand in one list.
func (c *converter) resources(entries []*entry) *yaml.Node {
	out := listNode()
	var comments []string
	for i := 0; i < len(entries); i++ {
		e := entries[i]
		if e.typ == "" && !e.isBlock() && e.todo == "" {
			comments = append(comments, e.comments...)
			continue
		}
		e.comments = append(comments, e.comments...)
		comments = nil
		switch {
		case e.todo != "":
			n := mapNode("todo", textNode(e.todo))
			n.Content[1].Style = yaml.DoubleQuotedStyle
			if strings.Contains(e.todo, `"`) {
				n.Content[1].Style = yaml.SingleQuotedStyle
			}
			out.Content = append(out.Content, commented(n, e.comments))
		case e.isBlock():
			out.Content = append(out.Content, commented(c.blockNode(e), e.comments))
		default:
			group := []*entry{e}
			for i+1 < len(entries) && entries[i+1].typ == e.typ && e.typ != "" && entries[i+1].todo == "" {
				i++
				group = append(group, entries[i])
			}
			out.Content = append(out.Content, mapNode(e.typ, c.group(group)))
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
func (c *converter) blockNode(e *entry) *yaml.Node {
	n := mapNode()
	add := func(key string, v *yaml.Node) { n.Content = append(n.Content, textNode(key), v) }
	if e.name != "" {
		add("name", textNode(escape(e.name)))
	}
	for _, p := range e.props {
		add(p.key, flowed(p.value))
	}
	add("block", c.resources(e.block))
	if len(e.rescue) > 0 {
		add("rescue", c.resources(e.rescue))
	}
	if len(e.always) > 0 {
		add("always", c.resources(e.always))
	}
	return n
}

// shared are properties that neighbours may have in common, gathered in defaults.
var shared = []string{"ensure", "owner", "group", "mode", "provider", "cwd", "user", "control", "tags", "readonly", "cache_valid", "sensitive", "on"}

// group writes resources of one type, with what they have in common as defaults.
func (c *converter) group(list []*entry) *yaml.Node {
	out := listNode()
	if len(list) > 1 {
		defaults := mapNode()
		for _, key := range shared {
			first := list[0].get(key)
			if first == nil || slices.ContainsFunc(list, func(e *entry) bool { return !sameNode(e.get(key), first) }) {
				continue
			}
			if key == "control" && len(list) < 3 {
				continue
			}
			defaults.Content = append(defaults.Content, textNode(key), flowed(first))
			for _, e := range list {
				e.drop(key)
			}
		}
		if len(defaults.Content) > 0 {
			defaults.Style = yaml.FlowStyle
			out.Content = append(out.Content, mapNode("defaults", defaults))
		}
	}
	for _, e := range list {
		out.Content = append(out.Content, commented(c.resource(e), e.comments))
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

func (c *converter) resource(e *entry) *yaml.Node {
	props := slices.Clone(e.props)
	if e.alias != "" {
		props = append(props, property{"alias", textNode(e.alias)})
	}
	if len(e.subscribe) > 0 {
		var refs []string
		for _, target := range e.subscribe {
			if ref := c.reference(target); !slices.Contains(refs, ref) {
				refs = append(refs, ref)
			}
		}
		props = append(props, property{"subscribe", flowed(textsNode(refs...))})
	}
	slices.SortStableFunc(props, func(a, b property) int { return rank(a.key) - rank(b.key) })
	if len(props) == 0 {
		return mapNode(e.name, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"})
	}
	body := mapNode()
	width, blocks := len(e.name)+6, false
	for _, p := range props {
		v := flowed(p.value)
		body.Content = append(body.Content, textNode(p.key), v)
		w := flowWidth(v)
		if w < 0 {
			blocks = true
		}
		width += len(p.key) + 4 + w
	}
	if !blocks && width < maxWidth {
		body.Style = yaml.FlowStyle
		for i := 1; i < len(body.Content); i += 2 {
			if v := body.Content[i]; v.Kind == yaml.ScalarNode && v.Style&yaml.LiteralStyle != 0 {
				v.Style = yaml.DoubleQuotedStyle
			}
		}
	}
	return mapNode(e.name, body)
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

// flowed has a list or a map stand on one line, if it is short.
func flowed(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.ScalarNode {
		return n
	}
	out := *n
	out.Content = make([]*yaml.Node, len(n.Content))
	for i, child := range n.Content {
		out.Content[i] = flowed(child)
	}
	out.Style &^= yaml.FlowStyle
	if w := flowWidth(&out); w >= 0 && w < 90 {
		out.Style |= yaml.FlowStyle
	}
	return &out
}
