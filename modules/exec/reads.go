package exec

import (
	"path"
	"slices"
	"strings"
)

// readers are programs that read only the paths in their arguments.
var readers = []string{"[", "cat", "cmp", "egrep", "fgrep", "grep", "ls", "readlink", "stat", "test", "wc"}

// readPaths returns the paths that a program with these arguments reads; nil if they are not known.
func readPaths(argv []string) []string {
	if len(argv) == 0 || !slices.Contains(readers, path.Base(argv[0])) {
		return nil
	}
	pattern := strings.HasSuffix(path.Base(argv[0]), "grep") // its first operand
	var paths []string
	for _, word := range argv[1:] {
		switch {
		case strings.HasPrefix(word, "-") && strings.Contains(word, "/"), pattern && (word == "-e" || word == "-f"):
			return nil
		case strings.HasPrefix(word, "-"), slices.Contains([]string{"!", "(", ")", "]"}, word):
		case pattern:
			pattern = false
		case path.IsAbs(word):
			paths = append(paths, path.Clean(word))
		default: // such as a relative path
			return nil
		}
	}
	return paths
}
