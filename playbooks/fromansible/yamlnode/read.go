package yamlnode

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/inventory/ansible"
)

// ErrVault is of a file that is encrypted as a whole.
var ErrVault = errors.New("a whole file that is encrypted")

// Bounds of a document.
const (
	maxNodes = 250_000 // with every alias counted as often as it is used
	maxDepth = 200     // lists and maps within one another
)

// Parse reads the one document of a text, which errors call as is said; nil if it is empty.
func Parse(text []byte, called string) (*yaml.Node, error) {
	if strings.HasPrefix(string(text), "$ANSIBLE_VAULT;") {
		return nil, ErrVault
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("%s: %s", called, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" {
		return nil, nil
	}
	left := maxNodes
	if err := bounded(doc.Content[0], &left, 0); err != nil {
		return nil, fmt.Errorf("%s: %w", called, err)
	}
	asAnsible(doc.Content[0])
	return doc.Content[0], nil
}

// asAnsible sets the types and values of plain scalars to those of YAML 1.1, which Ansible reads: no is false, 1:30 is 90.
// Numbers that are equal in both versions keep their form.
func asAnsible(n *yaml.Node) {
	for i, child := range n.Content {
		if n.Kind != yaml.MappingNode || i%2 == 1 {
			asAnsible(child)
		}
	}
	if n.Kind != yaml.ScalarNode || n.Style != 0 || n.Tag == "!!null" {
		return
	}
	switch kind, value := ansible.YAML(n.Value); {
	case kind == ansible.YAMLBool:
		n.Tag, n.Value = "!!bool", value
	case kind == ansible.YAMLBase60 && strings.Contains(value, "."):
		n.Tag, n.Value = "!!float", value
	case kind == ansible.YAMLBase60:
		n.Tag, n.Value = "!!int", value
	case (kind == ansible.YAMLText || kind == ansible.YAMLDate) && n.Tag != "!!str":
		n.Tag, n.Style = "!!str", yaml.DoubleQuotedStyle
	}
}

// AsAnsible rewrites the plain values of a document that Ansible (YAML 1.1) reads in another way than YAML 1.2, in
// place; all other bytes stay. left holds the lines of values that it could not rewrite.
func AsAnsible(text []byte) (rewritten []byte, left []int) {
	var doc yaml.Node
	if strings.HasPrefix(string(text), "$ANSIBLE_VAULT;") || yaml.Unmarshal(text, &doc) != nil || len(doc.Content) == 0 {
		return text, nil
	}
	lines := strings.SplitAfter(string(text), "\n")
	var edits []*yaml.Node
	var values func(n *yaml.Node)
	values = func(n *yaml.Node) {
		if n.Kind == yaml.ScalarNode {
			edits = append(edits, n)
		}
		for i, child := range n.Content {
			if n.Kind != yaml.MappingNode || i%2 == 1 {
				values(child)
			}
		}
	}
	values(&doc)
	slices.SortStableFunc(edits, func(a, b *yaml.Node) int { return cmp.Or(b.Line-a.Line, b.Column-a.Column) })
	for _, n := range edits {
		was := *n
		asAnsible(n)
		if n.Value == was.Value && n.Style == was.Style || n.Line < 1 || n.Line > len(lines) {
			continue
		}
		now := n.Value
		if n.Style == yaml.DoubleQuotedStyle {
			now = strconv.Quote(n.Value)
		}
		line, at := lines[n.Line-1], was.Column-1
		if at < 0 || at > len(line) || !strings.HasPrefix(line[at:], was.Value) {
			left = append(left, n.Line)
			continue
		}
		lines[n.Line-1] = line[:at] + now + line[at+len(was.Value):]
	}
	return []byte(strings.Join(lines, "")), left
}

// bounded counts the nodes of a tree. One that holds itself by an alias is too deep.
func bounded(n *yaml.Node, left *int, depth int) error {
	if *left--; *left < 0 {
		return fmt.Errorf("line %d: more than %d values; use fewer aliases (*name): each use copies the value", n.Line, maxNodes)
	}
	if depth > maxDepth {
		return fmt.Errorf("line %d: values are more than %d deep, or an alias (*name) is within its own value", n.Line, maxDepth)
	}
	if n.Kind == yaml.AliasNode {
		return bounded(n.Alias, left, depth+1)
	}
	for _, child := range n.Content {
		if err := bounded(child, left, depth+1); err != nil {
			return err
		}
	}
	return nil
}
