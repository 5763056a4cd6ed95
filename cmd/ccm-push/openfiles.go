package main

import (
	"fmt"
	"syscall"
)

// reservedFiles are what a run has open besides one connection per host.
const reservedFiles = 64

// affordable gives how many hosts may be worked on and how many connections kept,
// of those that the flags ask for, so that together they do not need more open
// files than the system allows this process: a host would then look unreachable.
func (a *app) affordable(forks, keep int) (int, int) {
	room := openFiles() - reservedFiles
	if forks+max(keep, 0) <= room {
		return forks, keep
	}
	affordable := min(forks, max(1, room))
	if keep = min(keep, room-affordable); keep <= 0 {
		keep = -1 // none; 0 would be the usual number
	}
	if affordable < forks {
		a.warn(fmt.Sprintf("this process may have %d files open, so %d hosts are worked on at once; raise ulimit -n for more", room+reservedFiles, affordable))
	}
	return affordable, keep
}

// openFiles is how many files this process may have open. Go raises the limit to
// what it may be at most.
func openFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 1024
	}
	const enough = 1 << 20
	return int(min(uint64(limit.Cur), enough))
}
