package gather

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

// A releaseTree has the system's values from os-release(5); a missing value is "".
type releaseTree struct {
	ID       string `json:"id"`
	Version  string `json:"version_id"`
	Codename string `json:"codename"`
}

// release reads os-release. A system without it, such as macOS, has none.
func release(paths ...string) (*releaseTree, error) {
	for _, path := range paths {
		text, err := os.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, err
		}
		return parseRelease(string(text)), nil
	}
	return nil, nil
}

// parseRelease reads lines KEY=value, with the quotes of a shell.
func parseRelease(text string) *releaseTree {
	var r releaseTree
	version, named := "", false
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		switch key {
		case "ID":
			r.ID = value
		case "VERSION_ID":
			r.Version = value
		case "VERSION_CODENAME":
			r.Codename, named = value, true
		case "VERSION":
			version = value
		}
	}
	if _, name, ok := strings.Cut(version, "("); ok && !named { // Red Hat's: 8.6 (Ootpa)
		r.Codename, _, _ = strings.Cut(name, ")")
	}
	return &r
}
