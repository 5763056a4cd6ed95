package system

import (
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// room implements Room of [modules.Files]. It uses the nearest existing directory above path.
func room(path string) (in uint64, free int64, ok bool) {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil && dir != "/" {
			continue
		}
		var fs unix.Statfs_t
		if err != nil || unix.Statfs(dir, &fs) != nil {
			return 0, 0, false
		}
		if fs.Files == 0 || fs.Ffree > 0 { // some file systems count no inodes
			free = int64(fs.Bavail) * int64(fs.Bsize)
		}
		return uint64(info.Sys().(*syscall.Stat_t).Dev), free, fs.Blocks > 0
	}
}
