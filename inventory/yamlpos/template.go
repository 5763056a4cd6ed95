package yamlpos

import "strings"

// IsTemplate reports whether n is a text that Ansible would evaluate.
func IsTemplate(n *Node) bool {
	return n.Kind == Scalar && !n.Plain && !n.Encrypted && (strings.Contains(n.Text, "{{") || strings.Contains(n.Text, "{%"))
}
