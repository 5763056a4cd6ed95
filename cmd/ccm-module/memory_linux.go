//go:build full

package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"golang.org/x/sys/unix"
)

// giveBack returns memory to the system that an idle watch does not need: memory of the heap, and pages of the program
// itself. Most of this code will not run again. The system reads pages again when they are needed.
func giveBack() {
	debug.FreeOSMemory()
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, _ := os.ReadFile("/proc/self/maps") // the part that could be read counts
	for line := range strings.Lines(string(maps)) {
		var from, to uintptr
		var rights string
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &from, &to, &rights); n == 3 && rights[1] == '-' && strings.HasSuffix(line, " "+self+"\n") {
			unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED) // these pages are never written, so they can be read from the file again
		}
	}
}
