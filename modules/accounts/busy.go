package accounts

import (
	"path"

	"github.com/ccm-push/ccm-push/modules"
)

// Process finds a process of a user: userdel and usermod refuse to remove or
// renumber a user who has one. A host without /proc has none.
func Process(files modules.FileReader, uid int) (pid string, ok bool) {
	names, err := files.List("/proc")
	if err != nil {
		return "", false
	}
	for _, name := range names {
		if _, number := ID(name); !number {
			continue
		}
		if info, err := files.Stat(path.Join("/proc", name)); err == nil && info.UID == uid {
			return name, true
		}
	}
	return "", false
}
