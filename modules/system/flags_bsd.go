//go:build darwin || freebsd

package system

import "golang.org/x/sys/unix"

// The flags of chflags(2), of the owner and of root.
const (
	immutable  = 0x00020002
	appendOnly = 0x00040004
)

// kernelFiles returns "": these systems have no such file systems.
func kernelFiles(string) string { return "" }

// flagOf returns the flag of a path that prevents changes by root, and the program that removes it, or "".
func flagOf(path string, follow bool) (flag, lift string) {
	var st unix.Stat_t
	stat := unix.Lstat
	if follow {
		stat = unix.Stat
	}
	if err := stat(path, &st); err != nil {
		return "", ""
	}
	switch {
	case st.Flags&immutable != 0:
		return "immutable", "chflags noschg,nouchg"
	case st.Flags&appendOnly != 0:
		return "append-only", "chflags nosappnd,nouappnd"
	}
	return "", ""
}
