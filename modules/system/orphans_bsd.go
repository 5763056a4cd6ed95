//go:build !linux

package system

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// Here nothing tells when a process was started without asking another program: what
// has got the number of a noted command counts as that.

const ticksPerSecond = 100

func ticks() uint64 { return 0 }

// boot names this start of the host.
func boot() string {
	t, err := unix.SysctlTimeval("kern.boottime")
	if err != nil {
		return ""
	}
	return strconv.FormatInt(int64(t.Sec), 10)
}

func processes() ([]process, bool) { return nil, false }

func marked(int, string) bool { return false }
