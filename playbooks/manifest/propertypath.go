package manifest

import (
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// pathParts returns the property of a path such as "environment[2]" and the index below it; -1 means no index.
func pathParts(path string) (property string, index int) {
	path, _, _ = strings.Cut(path, ".")
	property, rest, ok := strings.Cut(path, "[")
	digits, closed := strings.CutSuffix(rest, "]")
	i, err := strconv.Atoi(digits)
	if !ok || !closed || err != nil {
		return property, -1
	}
	return property, i
}

// deeper follows the rest of a property path after the property itself, such as ".user.name[2]", as far as nodes exist.
func deeper(n *yamlpos.Node, rest string) *yamlpos.Node {
	for rest != "" {
		next, after := step(n, rest)
		if next == nil {
			return n
		}
		n, rest = next, after
	}
	return n
}

// step follows one part of a path. Keys may have dots and brackets themselves: the
// longest one that fits is taken.
func step(n *yamlpos.Node, rest string) (next *yamlpos.Node, after string) {
	if rest[0] == '[' {
		digits, after, closed := strings.Cut(rest[1:], "]")
		for i := range n.Items {
			if closed && digits == strconv.Itoa(i) {
				return n.Items[i], after
			}
		}
		return nil, ""
	}
	rest = rest[1:]
	longest := -1
	for i, pair := range n.Pairs {
		key := pair.Key.Text
		tail, ok := strings.CutPrefix(rest, key)
		if ok && (tail == "" || tail[0] == '.' || tail[0] == '[' || tail[0] == ' ') && (longest < 0 || len(key) > len(n.Pairs[longest].Key.Text)) {
			longest, after = i, tail
		}
	}
	if longest < 0 {
		return nil, ""
	}
	return n.Pairs[longest].Value, after
}
