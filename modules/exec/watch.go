package exec

import (
	"context"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/ccm-push/ccm-push/modules"
)

// Watch implements [modules.Watcher].
func (e *Exec) Watch(context.Context, modules.Host) (from modules.Sources, err error) {
	for _, place := range []string{e.Creates, e.Cwd} {
		if place != "" && path.Clean(place) != "/" {
			from.Paths = append(from.Paths, path.Clean(place))
		}
	}
	from.AddOwner(e.User, "")
	for _, guard := range []string{e.OnlyIf, e.Unless} {
		from.Paths = append(from.Paths, named(guard)...)
	}
	switch {
	case e.OnlyIf != "" || e.Unless != "":
		from.Polled = "files and services that its guards read"
	case e.ReadOnly:
		from.Polled = "files and services that it reads"
	}
	return from, nil
}

// named are the paths that a guard contains. They are hints: a guard may also read other files. Targets of redirections
// are omitted.
func named(guard string) (paths []string) {
	writes := false
	for _, word := range strings.FieldsFunc(strings.ReplaceAll(guard, ">", " > "), isNoPath) {
		if strings.HasPrefix(word, "/") && !writes && !strings.ContainsAny(word, "*?[]$`\\>") {
			paths = append(paths, path.Clean(word))
		}
		writes = word == ">"
	}
	return slices.DeleteFunc(paths, func(p string) bool {
		return p == "/" || strings.HasPrefix(p, "/dev/") && !strings.HasPrefix(p, "/dev/shm/") || strings.HasPrefix(p, "/proc/") || strings.HasPrefix(p, "/sys/")
	})
}

// isNoPath reports whether a character ends a word of a shell, more or less.
func isNoPath(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`"'();&|<{},=`, r) }
