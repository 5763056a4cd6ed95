package repository

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// A source is a repository that a file of apt defines.
type source struct {
	file, kind, uri, suite, key string
	components                  []string
}

// amongOthers looks for another file that defines the same repository, which package managers merge. It returns a
// warning, and refuses what apt refuses: two keys for one repository, for which it reads no repository at all.
func (d definition) amongOthers(files modules.FileReader) (warning string, err error) {
	own, _ := d.at()
	if !d.enabled() || d.Restore != nil || d.Ensure == absent {
		return "", nil
	}
	if d.provider == apt {
		return d.amongSources(files, own)
	}
	for _, file := range list(files, path.Dir(own), ".repo") {
		for _, line := range edit.Lines(files, file) {
			if file == own || strings.TrimSpace(line) != "["+d.Name+"]" {
				continue
			}
			if d.provider == "dnf" && file < own {
				return fmt.Sprintf("%s also defines [%s], so dnf ignores the section in %s; remove the section from %s", file, d.Name, own, file), nil
			}
			return fmt.Sprintf("%s also defines [%s]; remove the section from that file", file, d.Name), nil
		}
	}
	return "", nil
}

func (d definition) amongSources(files modules.FileReader, own string) (warning string, err error) {
	mine := sources(own, d.settings())
	const dir = "/etc/apt/sources.list.d"
	all := append([]string{"/etc/apt/sources.list"}, list(files, dir, ".list", ".sources")...)
	for _, file := range all {
		if file == own {
			continue
		}
		for _, other := range sourcesIn(files, file) {
			same := func(s source) bool { return s.kind == other.kind && s.uri == other.uri && s.suite == other.suite }
			at := slices.IndexFunc(mine, same)
			switch {
			case at < 0:
			case conflict(mine[at], other):
				return "", modules.Refuse("the file %s also defines the repository %s %s, with another key (Signed-By %q); then apt would read no repository at all; first remove the repository from that file", file, other.uri, other.suite, other.key)
			case slices.ContainsFunc(mine[at].components, func(c string) bool { return slices.Contains(other.components, c) }) || len(other.components) == 0:
				warning = fmt.Sprintf("%s also defines the repository %s %s; remove it from that file", file, other.uri, other.suite)
			}
		}
	}
	return warning, nil
}

// conflict reports whether apt refuses two definitions. It lets a later one add a key, and nothing else.
func conflict(one, other source) bool {
	if other.first() || !one.first() && other.file < one.file {
		one, other = other, one
	}
	return one.key != "" && one.key != other.key
}

// first reports whether apt reads the file before the folder of the others.
func (s source) first() bool { return path.Base(s.file) == "sources.list" }

// list returns the files of a directory with one of the endings, sorted.
func list(files modules.FileReader, dir string, endings ...string) (all []string) {
	names, _ := files.List(dir)
	for _, name := range names {
		if slices.Contains(endings, path.Ext(name)) {
			all = append(all, path.Join(dir, name))
		}
	}
	return all
}

// sourcesIn reads a file of apt in either format (sources.list(5)).
func sourcesIn(files modules.FileReader, file string) (all []source) {
	lines := edit.Lines(files, file)
	if path.Ext(file) == ".sources" {
		for paragraph := range strings.SplitSeq(strings.ReplaceAll(strings.Join(lines, "\n"), "\r", ""), "\n\n") {
			all = append(all, sources(file, stanza(edit.Parse(paragraph).Lines, ":"))...)
		}
		return all
	}
	for _, line := range lines {
		line, _, _ = strings.Cut(line, "#")
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		options := ""
		if rest = strings.TrimSpace(rest); strings.HasPrefix(rest, "[") {
			options, rest, _ = strings.Cut(rest[1:], "]")
		}
		words := strings.Fields(rest)
		if kind != "deb" && kind != "deb-src" || len(words) < 2 {
			continue
		}
		s := source{file: file, kind: kind, uri: strings.TrimSuffix(words[0], "/"), suite: words[1], components: words[2:]}
		for option := range strings.FieldsSeq(options) {
			if name, value, _ := strings.Cut(option, "="); strings.EqualFold(name, "signed-by") {
				s.key = value
			}
		}
		all = append(all, s)
	}
	return all
}

// sources returns the repositories of a definition in the format deb822.
func sources(file string, settings []setting) (all []source) {
	fields := map[string][]string{}
	for _, s := range settings {
		fields[strings.ToLower(s.name)] = strings.Fields(s.value)
	}
	if slices.Equal(fields["enabled"], []string{"no"}) {
		return nil
	}
	for _, kind := range fields["types"] {
		for _, uri := range fields["uris"] {
			for _, suite := range fields["suites"] {
				all = append(all, source{file, kind, strings.TrimSuffix(uri, "/"), suite, strings.Join(fields["signed-by"], " "), fields["components"]})
			}
		}
	}
	return all
}
