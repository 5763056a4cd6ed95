package dsc

import (
	"os"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// safePath is [programPath] as far as it is [safe].
func safePath(h modules.Host, env environ) string {
	dirs, _ := safe(h, os.Geteuid(), strings.Split(programPath(env), ":"))
	return strings.Join(dirs, ":")
}

// safe keeps, for root, the paths at which nobody else can put something: it would be
// run. Directories that every program of root trusts are the host's own affair, and
// other users may trust whom they like. What is not there is left out without an error.
func safe(h modules.Host, uid int, paths []string) (kept []string, unsafe []error) {
	if uid != 0 || h.Files.FileReader == nil {
		return paths, nil
	}
	usual := strings.Split(modules.DefaultPath, ":")
	for _, p := range paths {
		var err error
		if !slices.Contains(usual, p) {
			err = modules.OthersMayChange(h.Files, p, uid)
		}
		switch {
		case err == nil:
			kept = append(kept, p)
		case !modules.NotThere(err):
			unsafe = append(unsafe, err)
		}
	}
	return kept, unsafe
}
