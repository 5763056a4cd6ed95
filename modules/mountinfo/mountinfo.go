// Package mountinfo reads what Linux tells of the file systems that are mounted:
// proc_pid_mountinfo(5).
package mountinfo

import (
	"iter"
	"strconv"
	"strings"
)

// File is where it is told. Other systems have no such file.
const File = "/proc/self/mountinfo"

// A Mount is one line. If a line is cut off, its last fields are missing.
type Mount struct {
	ID      int      // of the mount
	Parent  int      // ID of the mount that Point is in
	Device  string   // of the file system, as MAJOR:MINOR: the same for all its mounts
	Root    string   // what of the file system is mounted, as a path in it
	Point   string   // where it is mounted
	Options []string // of the mount, then of the file system
	OfType  []string // options of the file system alone
	Type    string   // of the file system
	Source  string   // such as a device

	on Place // where it is mounted; known of those in a [Table]
}

// Parse gives the mounts in the text, in its order: of several at one point, the
// last is seen.
func Parse(text string) iter.Seq[Mount] {
	return func(yield func(Mount) bool) {
		for line := range strings.Lines(text) {
			if m, ok := parse(line); ok && !yield(m) {
				return
			}
		}
	}
}

func parse(line string) (m Mount, ok bool) {
	head, tail, _ := strings.Cut(line, " - ")
	before, after := strings.Fields(head), strings.Fields(tail)
	if len(before) < 5 {
		return Mount{}, false
	}
	m.ID, _ = strconv.Atoi(before[0])
	m.Parent, _ = strconv.Atoi(before[1])
	m.Device, m.Root, m.Point = before[2], unescaped(before[3]), unescaped(before[4])
	if len(before) > 5 && len(after) > 2 {
		m.Type, m.Source = after[0], unescaped(after[1])
		m.OfType = strings.Split(after[2], ",")
		m.Options = append(strings.Split(before[5], ","), m.OfType...)
	}
	return m, true
}

// unescaped is a word without the octal escapes of blanks and backslashes.
func unescaped(word string) string {
	var b strings.Builder
	for i := 0; i < len(word); i++ {
		if word[i] == '\\' && i+3 < len(word) {
			if n, err := strconv.ParseUint(word[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(word[i])
	}
	return b.String()
}
