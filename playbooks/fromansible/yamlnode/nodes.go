package yamlnode

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/inventory/ansible"
	"github.com/ccm-push/ccm-push/inventory/yamlpos/layout"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
)

// Get is the value of a key of a map.
func Get(n *yaml.Node, key string) *yaml.Node {
	if n == nil {
		return nil
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Tag == "!!merge" && n.Content[i+1].Kind == yaml.AliasNode {
			return Get(n.Content[i+1], key)
		}
	}
	return nil
}

// Items are the elements of a list, or the one value in place of a list.
func Items(n *yaml.Node) []*yaml.Node {
	switch {
	case IsNull(n):
		return nil
	case n.Kind == yaml.AliasNode:
		return Items(n.Alias)
	case n.Kind == yaml.SequenceNode:
		return n.Content
	}
	return []*yaml.Node{n}
}

// Text is a text in YAML.
func Text(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	switch {
	case strings.Contains(s, "\n"):
		n.Style = yaml.LiteralStyle
		for _, line := range strings.Split(s, "\n") { // what a literal text cannot hold
			if strings.HasSuffix(line, " ") || strings.Contains(line, "\t") {
				n.Style = yaml.DoubleQuotedStyle
			}
		}
		if strings.HasPrefix(s, " ") || strings.HasPrefix(s, "\n") || strings.TrimSpace(s) == "" {
			n.Style = yaml.DoubleQuotedStyle
		}
	case mustQuote(s):
		n.Style = yaml.DoubleQuotedStyle
		if strings.ContainsAny(s, "\"\\") && !strings.Contains(s, "\t") {
			n.Style = yaml.SingleQuotedStyle
		}
	}
	return n
}

// mustQuote reports whether a text needs quotes, or is better read with them.
func mustQuote(s string) bool {
	switch strings.ToLower(s) {
	case "", "yes", "no", "on", "off", "y", "n", "true", "false", "null", "~":
		return true
	}
	if strings.ContainsAny(s, "{}[]#,&*!|>'\"%@`\\\t") || strings.Contains(s, ": ") || strings.HasSuffix(s, ":") || strings.HasPrefix(s, "- ") || strings.HasPrefix(s, "? ") || s == "-" || strings.TrimSpace(s) != s {
		return true
	}
	var n yaml.Node
	return yaml.Unmarshal([]byte(s), &n) != nil || len(n.Content) != 1 || n.Content[0].ShortTag() != "!!str"
}

func Bool(b bool) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: fmt.Sprint(b)}
}

func List(items ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: items}
}

func Texts(texts ...string) *yaml.Node {
	n := List()
	for _, s := range texts {
		n.Content = append(n.Content, Text(s))
	}
	return n
}

// BoolOf is the value of a node that YAML 1.1 takes for a boolean, as Ansible does.
func BoolOf(n *yaml.Node) (value, ok bool) {
	if n == nil || n.Kind != yaml.ScalarNode {
		return false, false
	}
	switch strings.ToLower(n.Value) {
	case "yes", "true", "on", "1":
		return true, true
	case "no", "false", "off", "0":
		return false, true
	}
	return false, false
}

// OddKey returns how Ansible reads a key that it takes for a boolean, a null or a number in base 60; "" of all others.
func OddKey(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode || n.Style != 0 {
		return ""
	}
	switch kind, value := ansible.YAML(n.Value); kind {
	case ansible.YAMLBool, ansible.YAMLNull, ansible.YAMLBase60:
		return value
	}
	return ""
}

// Printed returns a scalar as Python prints its value: yes is True, 0755 is 493.
func Printed(n *yaml.Node) string {
	if n.Style != 0 || n.Kind != yaml.ScalarNode {
		return n.Value
	}
	switch n.ShortTag() {
	case "!!bool":
		if b, _ := BoolOf(n); b {
			return "True"
		}
		return "False"
	case "!!int":
		var i int64
		if n.Decode(&i) == nil {
			return strconv.FormatInt(i, 10)
		}
	case "!!float":
		if _, value := ansible.YAML(n.Value); strings.ContainsAny(value, ".e") {
			return value
		}
	}
	return n.Value
}

// PlainBool reports whether a scalar without quotes is a boolean of YAML 1.1.
func PlainBool(n *yaml.Node) bool {
	if n.Kind != yaml.ScalarNode || n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return false
	}
	switch n.Value {
	case "yes", "Yes", "YES", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF", "true", "True", "TRUE", "false", "False", "FALSE":
		return true
	}
	return false
}

// IsNull reports whether nothing is given.
func IsNull(n *yaml.Node) bool {
	return n == nil || n.Kind == yaml.ScalarNode && (n.Tag == "!!null" || n.Value == "" && n.Style == 0 && n.Tag == "")
}

// HasJinja reports whether a scalar has anything of Jinja.
func HasJinja(n *yaml.Node) bool {
	return n != nil && n.Kind == yaml.ScalarNode && n.Tag != "!unsafe" && n.Tag != "!vault" && j2.HasTags(n.Value)
}

// Encode writes YAML as people do: by two, lists below their keys.
func Encode(n *yaml.Node) []byte {
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

func Map(pairs ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for i := 0; i < len(pairs); i += 2 {
		n.Content = append(n.Content, Text(pairs[i].(string)), pairs[i+1].(*yaml.Node))
	}
	return n
}

// Walk visits the scalars of a node.
func Walk(n *yaml.Node, visit func(*yaml.Node)) {
	if n.Kind == yaml.ScalarNode {
		visit(n)
	}
	for _, c := range n.Content {
		Walk(c, visit)
	}
}

// IsTrue reports whether a node is a literal true.
func IsTrue(n *yaml.Node) bool {
	b, literal := BoolOf(n)
	return literal && b
}
