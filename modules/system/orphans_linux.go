package system

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// ticksPerSecond is USER_HZ, which is the same on every system that Go supports.
const ticksPerSecond = 100

// ticks returns the time since the host was started, in the unit of start times in /proc.
func ticks() uint64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0
	}
	return uint64(t.Nano()) / (1e9 / ticksPerSecond)
}

// boot names this start of the host, or of the container: process ids mean nothing
// in another one.
func boot() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	namespace, _ := os.Readlink("/proc/self/ns/pid")
	return fmt.Sprintf("%.36s %s", id, namespace)
}

// processes returns all running processes; ok is false without /proc.
func processes() ([]process, bool) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, false
	}
	var all []process
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		text, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it has ended
		}
		if p, ok := parseStat(string(text)); ok {
			all = append(all, p)
		}
	}
	return all, len(all) > 0
}

// marked reports whether a process was started as the command with a mark.
func marked(pid int, mark string) bool {
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && hasMark(environ, mark)
}
