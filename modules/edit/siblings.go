package edit

import (
	"cmp"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// Siblings returns the files *.conf that a program merges from several directories, in the order in which it reads
// them: by base name. Of files with one name, the one in the first directory counts (sysctl.d(5), modprobe.d(5)).
func Siblings(files modules.FileReader, dirs ...string) []string {
	var list []string
	for _, dir := range dirs {
		names, _ := files.List(dir)
		for _, name := range names {
			hidden := slices.ContainsFunc(list, func(have string) bool { return path.Base(have) == name })
			if strings.HasSuffix(name, ".conf") && !hidden {
				list = append(list, path.Join(dir, name))
			}
		}
	}
	slices.SortFunc(list, func(a, b string) int { return cmp.Compare(path.Base(a), path.Base(b)) })
	return list
}

// ReadBefore reports whether a file is one of siblings, and returns the siblings that are read after it. A sibling can
// be a link to the file.
func ReadBefore(files modules.FileReader, file string, siblings []string) (after []string, read bool) {
	at := slices.IndexFunc(siblings, func(sibling string) bool {
		info, err := files.Stat(sibling)
		target := info.Target
		if !path.IsAbs(target) {
			target = path.Join(path.Dir(sibling), target)
		}
		return sibling == file || err == nil && info.Kind == modules.Symlink && target == file
	})
	if at < 0 {
		return nil, false
	}
	return siblings[at+1:], true
}

// Lines returns the lines of a small file; none if it cannot be read.
func Lines(files modules.FileReader, name string) []string {
	file, err := files.Open(name)
	if err != nil {
		return nil
	}
	defer file.Close()
	const most = 1 << 20
	text, _ := io.ReadAll(io.LimitReader(file, most))
	return strings.Split(string(text), "\n")
}
