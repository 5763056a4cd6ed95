package role

import (
	"path/filepath"
	"strings"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/repository"
)

// Is reports whether a folder is a role.
func Is(from *repository.Folder, path string) bool {
	for _, part := range []string{"tasks", "handlers", "defaults", "meta"} {
		if from.YAMLFile(filepath.Join(path, part, "main")) != "" {
			return true
		}
	}
	return false
}

// TaskFiles are the files of YAML in a folder, in all depths.
func TaskFiles(from *repository.Folder, dir string) (list []string) {
	for _, path := range from.Files(dir) {
		if strings.HasSuffix(path, ".yml") || strings.HasSuffix(path, ".yaml") {
			list = append(list, path)
		}
	}
	return list
}
