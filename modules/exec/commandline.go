package exec

import (
	"errors"

	shellquote "github.com/kballard/go-shellquote"
)

// CommandLine implements [modules.Commander]. One word is a line for the shell,
// as with ssh; several are a program and its arguments, which no shell sees.
func (e *Exec) CommandLine(words []string) (map[string]any, error) {
	switch len(words) {
	case 0:
		return nil, errors.New("exec takes a command: exec 'systemctl reload nginx'")
	case 1:
		return map[string]any{"name": words[0], "provider": shell}, nil
	}
	return map[string]any{"name": shellquote.Join(words...)}, nil
}
