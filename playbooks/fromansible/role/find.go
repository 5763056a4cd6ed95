package role

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// IsFolder reports whether a path is a folder.
func IsFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// IsFile reports whether a path is a file.
func IsFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// YAMLFile finds a file with one of the endings of YAML, or as it is called; "" if there is none.
func YAMLFile(path string) string {
	for _, ending := range []string{"", ".yml", ".yaml", ".json"} {
		if IsFile(path + ending) {
			return path + ending
		}
	}
	return ""
}

// Is reports whether a folder is a role.
func Is(path string) bool {
	for _, part := range []string{"tasks", "handlers", "defaults", "meta"} {
		if YAMLFile(filepath.Join(path, part, "main")) != "" {
			return true
		}
	}
	return false
}

// TaskFiles are the files of YAML in a folder, in all depths.
func TaskFiles(dir string) (list []string) {
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && (strings.HasSuffix(path, ".yml") || strings.HasSuffix(path, ".yaml")) {
			list = append(list, path)
		}
		return nil
	})
	return list
}
