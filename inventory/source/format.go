package source

import (
	"bytes"
	"path/filepath"
	"regexp"
	"sync"
)

// A Format is the format of an inventory.
type Format int

// The formats. The zero Format is YAML, in which JSON is written too.
const (
	YAML Format = iota
	INI
	TOML // recognized, and refused
)

var (
	// iniSection is a line that only INI has: in YAML it would be a list.
	iniSection = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\[[^\s\]:]+(:[a-z]+)?\]\s*(#.*)?$`)
	})
	// yamlLine matches the beginning of an inventory that is a YAML map.
	yamlLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:---|%YAML|\{|\?|"[^"]*"\s*:|'[^']*'\s*:|&\S+|[^\s=#]+:(?:\s|$)|!)`)
	})
)

// FormatOf detects the format of a file. Its extension decides, unless the file begins with a section of INI. Without
// such an extension, the first line that is neither empty nor a comment decides: Ansible tries YAML first, and then
// INI.
func FormatOf(file string, data []byte) Format {
	line := firstLine(data)
	switch filepath.Ext(file) {
	case ".ini":
		return INI
	case ".toml":
		return TOML
	case ".yml", ".yaml", ".json":
		if len(line) > 0 && line[0] == '[' && iniSection().Match(line) {
			return INI
		}
		return YAML
	}
	if len(line) == 0 || yamlLine().Match(line) {
		return YAML
	}
	if bytes.HasPrefix(line, []byte("- ")) { // the errors of YAML say more about it
		return YAML
	}
	return INI
}

// firstLine returns the first line that is neither empty nor a comment, without blanks around it.
func firstLine(data []byte) []byte {
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && line[0] != ';' {
			return line
		}
	}
	return nil
}
