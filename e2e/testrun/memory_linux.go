package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	tmpfs   = 0x01021994 // magic number of statfs(2)
	noExec  = 8          // flag of statfs(2)
	enough  = 4 << 30    // bytes: many times what go test and all tests need at once
	outdate = 24 * time.Hour
)

// inMemory returns a folder for temporary files that is in memory. It returns an empty string if the machine has no such folder
// with enough room from which programs run. Tests make and remove many small files, which costs up to ten times as much on a
// disk. The name is the same for all runs of a user, because go test caches a result only for equal variables. Root's tests
// mount file systems and set quotas, so they use the disk.
func inMemory() string {
	const parent = "/dev/shm"
	var fs syscall.Statfs_t
	if os.Getuid() == 0 || syscall.Statfs(parent, &fs) != nil || fs.Type != tmpfs || fs.Flags&noExec != 0 || fs.Bavail*uint64(fs.Bsize) < enough {
		return ""
	}
	dir := filepath.Join(parent, fmt.Sprint("ccm", os.Getuid()))
	_ = os.Mkdir(dir, 0o755) // the next line finds out
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || info.Sys().(*syscall.Stat_t).Uid != uint32(os.Getuid()) || os.Chmod(dir, 0o755) != nil {
		return ""
	}
	// A killed run has left its files, which take memory.
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > outdate {
			os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
	return dir
}
