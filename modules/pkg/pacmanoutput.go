package pkg

import (
	"slices"
	"strings"
)

// pacmanInfo is the output of `pacman -Si` for packages.
type pacmanInfo struct {
	found      []namedSource
	repository string
	name       string
}

// namedSource is a source of the package of that name.
type namedSource struct {
	name string
	source
}

// line reads one line:
//
//	Repository      : extra
//	Name            : demo
//	Version         : 2.0-1
func (i *pacmanInfo) line(line string) {
	key, value, ok := strings.Cut(line, " : ")
	if !ok {
		return
	}
	switch strings.TrimSpace(key) {
	case "Repository":
		i.repository, i.name = value, ""
	case "Name":
		i.name = value
	case "Version":
		if i.name != "" && len(i.found) < maxConsequences && !strings.ContainsAny(i.repository+value, " /") {
			i.found = append(i.found, namedSource{i.name, source{version: value, repository: i.repository}})
		}
	}
}

// sources lists the sources of a package, in the order of the repositories.
func (i *pacmanInfo) sources(name string) []source {
	var list []source
	for _, f := range i.found {
		if f.name == name {
			list = append(list, f.source)
		}
	}
	return list
}

// cachedVersion reads the name of a file in the cache, which is
// NAME-VERSION-RELEASE-ARCHITECTURE.pkg.tar.COMPRESSION.
func cachedVersion(file, name string) (version string, ok bool) {
	rest, ok := strings.CutPrefix(file, name+"-")
	rest, compression, isPackage := strings.Cut(rest, ".pkg.tar")
	if !ok || !isPackage || strings.Count(compression, ".") > 1 { // the signature file of a package ends with .sig
		return "", false
	}
	parts := strings.Split(rest, "-")
	if len(parts) != 3 || slices.Contains(parts, "") || compression == ".part" {
		return "", false
	}
	return parts[0] + "-" + parts[1], true
}

// pacmanConsequence reads a line of a transaction that is only printed.
func pacmanConsequence(line string, v verb) (consequence, bool) {
	name, version, ok := strings.Cut(line, "\t")
	if !ok || name == "" || version == "" || strings.Contains(line, " ") {
		return consequence{}, false
	}
	if v == remove {
		version = ""
	}
	return consequence{name, version}, true
}
