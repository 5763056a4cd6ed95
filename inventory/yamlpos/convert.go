package yamlpos

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// A converter turns the nodes of yaml.v3 into ours.
type converter struct {
	file    string
	nodes   int  // made so far, aliases counted in full
	full    bool // a bound is broken: the rest is not converted
	anchors map[*yaml.Node]*anchor
	errs    Errors

	keyText  string // the key whose value is converted
	plainTag string // see [PlainTag]; "" means no tag
	plain    int    // number of lists and maps around the value that have it

	keepSealed bool   // see [KeepSealed]
	opener     Opener // nil opens nothing
	wholeFiles bool   // it opens those too
	path       Path   // path of the current value
	source     []byte // the text, in clear
	allSecret  bool   // the file was encrypted as a whole

	secrets bool // see [Secrets]
	secret  int  // number of lists and maps around the value that have the tag

	copied     *int // see [MaxCopies]; nil does not count
	mostCopied int
}

// An anchor is the target of an alias. Its node is nil while it is being made, so an alias within its own anchor is
// detected.
type anchor struct {
	node   *Node
	size   int // nodes in it
	height int // levels in it; 0 for a scalar
}

func (c *converter) document(d *yaml.Node) *Node {
	n, _ := c.node(d.Content[0], 0)
	c.path.Document++
	return n
}

// node converts n, which is within depth lists and maps, and counts the levels below it. It never returns nil.
func (c *converter) node(n *yaml.Node, depth int) (_ *Node, height int) {
	if n.Kind == yaml.AliasNode {
		return c.alias(n, depth)
	}
	out := c.at(n)
	before := c.nodes
	c.nodes++
	if !c.within(out, depth) {
		return out, 0
	}
	var a anchor
	if n.Anchor != "" {
		c.anchors[n] = &a
	}
	if c.isPlain(n) {
		c.plain++
		defer func() { c.plain-- }()
	}
	if c.isSecret(n) {
		c.secret++
		defer func() { c.secret-- }()
	}
	switch n.Kind {
	case yaml.MappingNode:
		height = 1 + c.pairs(out, n, depth+1)
	case yaml.SequenceNode:
		height = 1 + c.items(out, n, depth+1)
	default:
		c.scalar(out, n)
	}
	out.Secret = out.Kind == Scalar && (c.secret > 0 || c.allSecret || out.Sealed != nil) ||
		slices.ContainsFunc(out.Items, func(item *Node) bool { return item.Secret }) ||
		slices.ContainsFunc(out.Pairs, func(p Pair) bool { return p.Value.Secret })
	a = anchor{out, c.nodes - before, height}
	return out, height
}

func (c *converter) at(n *yaml.Node) *Node {
	return &Node{File: c.file, Line: n.Line, Column: n.Column}
}

// within reports whether the tree is within its bounds. The first breach is an error, and
// the only one.
func (c *converter) within(at *Node, depth int) bool {
	switch {
	case c.full:
	case c.nodes > maxNodes:
		c.full = true
		c.errs.Add(at.Errorf("use fewer aliases (*name): each alias copies the value", "the YAML text has more than %d values", maxNodes))
	case depth > maxDepth:
		c.full = true
		c.errs.Add(at.Errorf("", "nested more than %d levels deep", maxDepth))
	}
	return !c.full
}

// copies counts values that aliases and merge keys copy, and reports whether they are
// within the bound.
func (c *converter) copies(at *Node, values int) bool {
	if c.copied == nil || c.full {
		return !c.full
	}
	if *c.copied += values; *c.copied > c.mostCopied {
		c.full = true
		c.errs.Add(at.Errorf("use fewer aliases (*name) and merge keys (<<): each use copies their values", "aliases and merge keys copy too many values"))
	}
	return !c.full
}

func (c *converter) alias(n *yaml.Node, depth int) (_ *Node, height int) {
	at := c.at(n)
	if c.full {
		return at, 0
	}
	a := c.anchors[n.Alias]
	if a.node == nil {
		c.errs.Add(at.Errorf("", "*%s is used within itself", n.Value))
		return at, 0
	}
	c.nodes += a.size
	if !c.within(at, depth+a.height) || !c.copies(at, a.size) {
		return at, 0
	}
	return a.node, a.height
}

func (c *converter) items(out *Node, n *yaml.Node, depth int) (height int) {
	out.Kind = List
	c.checkTag(out, n, "!!seq")
	out.Items = make([]*Node, 0, len(n.Content))
	for i, item := range n.Content {
		c.path.Steps = append(c.path.Steps, Step{Item: i + 1})
		node, h := c.node(item, depth)
		c.path.Steps = c.path.Steps[:len(c.path.Steps)-1]
		if c.full {
			break
		}
		if item.Kind != yaml.AliasNode { // that node belongs to its anchor
			above, apart := attached(item.HeadComment)
			node.Comment, node.Stray = comment(above, item.LineComment), stray(apart, item.FootComment)
		}
		out.Items = append(out.Items, node)
		height = max(height, h)
	}
	return height
}

func (c *converter) pairs(out *Node, n *yaml.Node, depth int) (height int) {
	out.Kind = Map
	c.checkTag(out, n, "!!map")
	set := pairSet{pairs: make([]Pair, 0, len(n.Content)/2)}
	var merge *Node // the << key
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := c.key(n.Content[i], depth)
		c.keyText = key.Text
		c.path.Steps = append(c.path.Steps, Step{Key: key.Text})
		value, h := c.node(n.Content[i+1], depth)
		c.path.Steps = c.path.Steps[:len(c.path.Steps)-1]
		height = max(height, h)
		if c.full {
			break
		}
		switch {
		case key.Kind != Scalar:
			c.errs.Add(key.Errorf(keyHint(key), "a key must be a text, not %s", key.Describe()))
		case n.Content[i].Tag != "!!merge":
			key.Comment, key.Stray = keyComments(n.Content[i], n.Content[i+1])
			c.errs.Add(set.write(key, value))
		case merge != nil:
			c.errs.Add(key.Errorf("write <<: [*a, *b]", "key << is given twice, first at line %d", merge.Line))
		case !c.copies(key, mergeable(value)):
		default:
			merge = key
			c.errs.Add(set.merge(value))
		}
	}
	out.Pairs = set.pairs
	c.program(out)
	return height
}

// key converts a key. If the key is an alias it is copied, since its position and comment are its own.
func (c *converter) key(n *yaml.Node, depth int) *Node {
	node, _ := c.node(n, depth)
	if node.Sealed != nil || c.isSecret(n) {
		c.refuseTag(node, n)
	}
	if n.Kind != yaml.AliasNode {
		node.Secret = false // only the values in the map are marked
		return node
	}
	if node.Secret {
		c.errs.Add(c.at(n).Errorf("only values are", "a key cannot be a secret"))
	}
	key := *node
	key.Secret = false
	key.Line, key.Column = n.Line, n.Column
	return &key
}

// keyHint recognizes key: {{ x }}, which YAML reads as a map within a map.
func keyHint(key *Node) string {
	if key.Kind == Map {
		return `put quotes around the expression: "{{ … }}"`
	}
	return ""
}

// keyComments returns the comments of a key: its own, and the stray ones near it.
func keyComments(key, value *yaml.Node) (own, apart string) {
	if key.HeadComment == "" && key.LineComment == "" && key.FootComment == "" && value.LineComment == "" {
		return "", "" // as nearly all of a large inventory
	}
	above, apart := attached(key.HeadComment)
	beside := key.LineComment
	if key.Line == value.Line && (value.Tag != "!!null" || value.Value != "") {
		// With a value on its line no comment can directly follow the key: yaml.v3 reports the comment after the anchor
		// or tag of the map whose first key it is.
		beside = ""
		apart += "\n\n" + key.LineComment
	}
	return comment(above, beside, value.LineComment), stray(apart, key.FootComment)
}

// attached splits the comment above a node at its last blank line: only the part below it belongs to the node. yaml.v3
// ends a comment with a newline if a blank line follows.
func attached(head string) (above, apart string) {
	if i := strings.LastIndex(head, "\n\n"); i >= 0 {
		head, apart = head[i+2:], head[:i]
	}
	if strings.HasSuffix(head, "\n") {
		return "", apart + "\n\n" + head
	}
	return head, apart
}

// stray joins comments with blank lines between them.
func stray(parts ...string) string {
	return strings.Trim(comment(strings.Join(parts, "\n\n")), "\n")
}

// comment joins YAML comments, each line without its # and the blank after it.
func comment(parts ...string) string {
	var lines []string
	for _, part := range parts {
		for line := range strings.Lines(part) {
			line = strings.TrimLeft(strings.TrimSpace(line), "#")
			lines = append(lines, strings.TrimPrefix(line, " "))
		}
	}
	return strings.Join(lines, "\n")
}
