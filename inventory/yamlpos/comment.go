package yamlpos

import (
	"strings"

	"gopkg.in/yaml.v3"
)

// keyComments are the comments of a key: its own, and the stray ones near it.
func keyComments(key, value *yaml.Node) (own, apart string) {
	above, apart := attached(key.HeadComment)
	beside := key.LineComment
	if key.Line == value.Line && (value.Tag != "!!null" || value.Value != "") {
		// With a value on its line no comment can stand right behind the key: yaml.v3
		// has it from behind the anchor or tag of the map that the key is the first of.
		beside = ""
		apart += "\n\n" + key.LineComment
	}
	return comment(above, beside, value.LineComment), stray(apart, key.FootComment)
}

// attached cuts the comment above a node at its last blank line: only what is
// below it belongs to the node. yaml.v3 ends a comment with a newline if a blank
// line follows.
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
