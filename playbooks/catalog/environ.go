package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"

	"github.com/ccm-push/ccm-push/templates"
)

// envFile has more variables of Environ, beside the manifest.
const envFile = ".env"

// withEnvFile is Environ for a play: what the file beside its manifest has goes over the
// environment of the controller.
func withEnvFile(environ map[string]any, files *templates.Files) (map[string]any, error) {
	text, err := files.Read(envFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return environ, nil
	case err != nil:
		return nil, fmt.Errorf("more variables for Environ: %w\n  hint: --no-read-env leaves that file out", err)
	}
	all := maps.Clone(environ)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, envVariables(string(text)))
	return all, nil
}

// envVariables reads lines NAME=VALUE, with export before them or without. Quotes around
// a whole value do not belong to it; nothing else has a meaning. Other lines are left
// out, as CCM does: the file may be there for another program.
func envVariables(text string) map[string]any {
	variables := map[string]any{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		name, value, ok := strings.Cut(line, "=")
		name = strings.TrimSpace(strings.TrimPrefix(name, "export "))
		if !ok || name == "" || strings.HasPrefix(line, "#") {
			continue
		}
		variables[name] = unquoted(strings.TrimSpace(value))
	}
	return variables
}

func unquoted(value string) string {
	if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		return value[1 : n-1]
	}
	return value
}
