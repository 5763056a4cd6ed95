package inventory

import (
	"bytes"
	"path/filepath"
	"regexp"
)

// A textFormat is how an inventory is written.
type textFormat int

const (
	yamlFormat textFormat = iota
	iniFormat
	tomlFormat
)

var (
	// iniSection is a line that only INI has: in YAML it would be a list.
	iniSection = regexp.MustCompile(`^\[[^\s\]:]+(:[a-z]+)?\]\s*(#.*)?$`)
	// yamlLine is how the map of an inventory begins.
	yamlLine = regexp.MustCompile(`^(?:---|%YAML|\{|\?|"[^"]*"\s*:|'[^']*'\s*:|&\S+|[^\s=#]+:(?:\s|$)|!)`)
)

// format finds out how a file is written. Its name says it, unless a section of
// INI is what the file begins with. Without a telling name its first line that is
// neither empty nor a comment says it: Ansible tries YAML first, and then INI.
func format(file string, data []byte) textFormat {
	line := firstLine(data)
	switch filepath.Ext(file) {
	case ".ini":
		return iniFormat
	case ".toml":
		return tomlFormat
	case ".yml", ".yaml", ".json":
		if iniSection.Match(line) {
			return iniFormat
		}
		return yamlFormat
	}
	if len(line) == 0 || yamlLine.Match(line) {
		return yamlFormat
	}
	if bytes.HasPrefix(line, []byte("- ")) { // of which YAML has more to say
		return yamlFormat
	}
	return iniFormat
}

// firstLine gives the first line that says something, without blanks around it.
func firstLine(data []byte) []byte {
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && line[0] != ';' {
			return line
		}
	}
	return nil
}
