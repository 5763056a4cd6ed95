package yamlnode

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"gopkg.in/yaml.v3"
)

// ErrVault is of a file that is encrypted as a whole.
var ErrVault = errors.New("a whole file that is encrypted")

// ReadFile reads the one document of a file, which errors call as is said; nil if it is empty.
func ReadFile(path, called string) (*yaml.Node, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
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
	return doc.Content[0], nil
}
