package flight

import (
	"bufio"
	"bytes"
	"math"
	"os"
	"path"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
)

// Memory returns the memory that this process may use for hosts, in bytes: GOMEMLIMIT, or half of the memory of the
// system or its control group. 0 means unknown.
func Memory() int64 { return memory(os.ReadFile, debug.SetMemoryLimit(-1)) }

func memory(read func(string) ([]byte, error), goLimit int64) int64 {
	if goLimit < math.MaxInt64 {
		return goLimit
	}
	least := int64(math.MaxInt64)
	if text, err := read("/proc/meminfo"); err == nil {
		least = min(least, meminfo(text, "MemAvailable:"))
	}
	if text, err := read("/proc/self/cgroup"); err == nil {
		if _, own, found := strings.Cut(string(text), "0::"); found {
			own, _, _ = strings.Cut(own, "\n")
			for ; own != "/" && own != "."; own = path.Dir(own) { // a group above may have less
				least = min(least, number(read, "/sys/fs/cgroup"+own+"/memory.max"))
			}
		}
	}
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} { // of a container
		least = min(least, number(read, file))
	}
	if least == math.MaxInt64 {
		return 0
	}
	return least / 2
}

// Percentages of [debug.SetGCPercent]. The first one applies until the first collection: with the 4 MiB that a heap
// counts as live at least, the heap grows to 52, more than a run on a few hosts uses. Then the heap may grow to four
// times its live size. Before that, collections took a tenth of the processor time.
const (
	firstPercent = 1200
	laterPercent = 300
)

// CollectLate has this process, if it has a [Control], collect garbage seldom.
func CollectLate() {
	debug.SetGCPercent(firstPercent)
	runtime.AddCleanup(new([4]int), func(percent int) { debug.SetGCPercent(percent) }, laterPercent)
}

// muchLive is the live size at which growth by laterPercent would use much memory, in bytes.
const muchLive = 48 << 20

// spare lets the heap grow to at most twice its live size, once the live size is large. It changes only the GC
// percentage of [CollectLate]; a program with another percentage keeps it.
func spare(live int64, percent uint64) {
	if live > muchLive && percent == laterPercent {
		debug.SetGCPercent(100)
	}
}

// meminfo returns the value of a line of /proc/meminfo, in KiB.
func meminfo(text []byte, name string) int64 {
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) < 2 || words[0] != name {
			continue
		}
		if n, err := strconv.ParseInt(words[1], 10, 64); err == nil {
			return n << 10
		}
	}
	return math.MaxInt64
}

// number reads a file with a number in it; there may be none, or "max".
func number(read func(string) ([]byte, error), file string) int64 {
	text, err := read(file)
	if err != nil {
		return math.MaxInt64
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return math.MaxInt64
	}
	return n
}
