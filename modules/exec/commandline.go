//go:build !host

package exec

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	shellquote "github.com/kballard/go-shellquote"

	"github.com/ccm-push/ccm-push/modules"
)

// commandLine implements [modules.Type].CommandLine. One word is a line for the shell, as with ssh; several are a
// program and its arguments, which no shell interprets. Flags of this program and properties are refused: they make no
// sense on a host.
func commandLine(words []string) (map[string]any, error) {
	if len(words) == 0 {
		return nil, errors.New("exec takes a command: exec 'systemctl reload nginx'")
	}
	if strings.HasPrefix(words[0], "-") {
		return nil, fmt.Errorf("%q is not a command\n  hint: write flags of ccm-push before the hosts: ccm-push FLAGS HOSTS exec COMMAND; for help run: ccm-push doc exec", words[0])
	}
	if name, _, ok := strings.Cut(words[0], "="); ok && hasProperty(name) {
		return nil, fmt.Errorf("%q is a property of exec, and properties of exec work only in manifests\n  hint: write only the command, such as: exec 'systemctl reload nginx'", words[0])
	}
	if len(words) == 1 {
		return map[string]any{"name": words[0], "provider": shell}, nil
	}
	return map[string]any{"name": shellquote.Join(words...)}, nil
}

func hasProperty(name string) bool {
	return slices.ContainsFunc(modules.Fields(&Exec{}), func(f modules.Field) bool {
		return f.Name == name || slices.Contains(f.Also, name)
	})
}
