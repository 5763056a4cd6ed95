package yamlnode

import (
	"errors"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
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
	return doc.Content[0], nil
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
